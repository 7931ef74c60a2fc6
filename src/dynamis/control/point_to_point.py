"""Inverse dynamics to a point (document 003)."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..arguments import checked, choice, passed_on
from ..compile.arm import Arm
from .controller import (
    FRICTION,
    NO_LIMIT,
    Controller,
    Measured,
    Reference,
    Scalars,
    Values,
    check_block,
    check_sampling,
    clipped,
    friction_compensation,
    model_of,
    per_joint,
    second_order,
)

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class PointToPoint(Controller):
    """tau = M(q) a + C(q, qd) qd + g(q) (+ friction), a = -Kd qd - Kp e, e = q - q_d.

    With the exact model e'' + Kd e' + Kp e = 0 for a reference at rest: only its position counts.
    `friction` is compensated at the "measured" or the "desired" velocity, or not ("none"); `limit`
    clips the torque.
    """

    kp: Any
    kd: Any
    model: "Robot | None" = None
    friction: str = "none"
    limit: Any = None
    sample_time: float | None = None

    def __post_init__(self) -> None:
        check_block(self)
        choice(self.friction, "friction", FRICTION)

    @classmethod
    @checked
    def from_bandwidth(cls, bandwidth: Any, damping: Any = 1.0, **options: Any) -> "PointToPoint":
        """Both poles of every joint at `bandwidth` (rad/s); `options` are the other fields."""
        check_sampling(bandwidth, options.get("sample_time"))
        kp, kd = second_order(bandwidth, damping)
        return cls(kp=kp, kd=kd, **passed_on(options, cls, "kp", "kd"))

    @property
    def options(self) -> tuple[Any, ...]:
        """Where friction is taken."""
        return (self.friction,)

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kp (1/s^2), kd (1/s) and limit, one per joint."""
        model_of(self, robot)
        limit = NO_LIMIT if self.limit is None else self.limit
        given = {"kp": self.kp, "kd": self.kd, "limit": limit}
        return {name: per_joint(value, name, robot) for name, value in given.items()}

    def step(
        self,
        arm: Arm,
        gains: SimpleNamespace,
        state: SimpleNamespace,
        measured: Measured,
        reference: Reference,
        dt: Any,
    ) -> tuple[Scalars, Values]:
        """One sample."""
        a = [
            -gains.kd[i] * measured.qd[i] - gains.kp[i] * (measured.q[i] - reference.q[i])
            for i in range(arm.n)
        ]
        rigid = arm.frictionless_torque(measured.q, measured.qd, a)
        resist = friction_compensation(arm, self.friction, measured, reference)
        tau = [clipped(arm, rigid[i] + resist[i], gains.limit[i]) for i in range(arm.n)]
        return tau, {}
