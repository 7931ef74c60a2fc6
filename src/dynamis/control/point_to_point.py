"""Point-to-point control by inverse dynamics (Rosillo 2010)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import checked
from ..compile.arm import Arm
from .controller import FRICTION, Controller, Sample, Step, clipped, friction_compensation

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class PointToPoint(Controller):
    """tau = M(q) a + C(q, qd) qd + g(q) (+ friction), a = -Kd qd - Kp e, e = q - q_d.

    With the exact model e'' + Kd e' + Kp e = 0 for a reference at rest: only its position counts.
    `friction` is compensated at the "measured" or the "desired" velocity, or not ("none"); `limit`
    clips the torque.
    """

    kp: Any  # 1/s^2
    kd: Any  # 1/s
    model: "Robot | None" = None
    friction: str = "none"
    limit: Any = None
    sample_time: float | None = None
    GAINS = ("kp", "kd", "limit")
    CHOICES = {"friction": FRICTION}  # noqa: RUF012

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    @checked
    def from_bandwidth(cls, bandwidth: Any, damping: Any = 1.0, **options: Any) -> "PointToPoint":
        """Both poles of every joint at `bandwidth` (rad/s); `options` are the other fields."""
        return cls._designed(options, bandwidth, damping)

    def step(self, arm: Arm, sample: Sample) -> Step:
        """One sample."""
        gains, e = sample.gains, sample.e
        a = [-gains.kd[i] * sample.qd[i] - gains.kp[i] * e[i] for i in range(arm.n)]
        rigid = arm.frictionless_torque(sample.q, sample.qd, a)
        friction = friction_compensation(arm, self.friction, sample)
        tau = [clipped(arm, rigid[i] + friction[i], gains.limit[i]) for i in range(arm.n)]
        return tau, {}
