"""Computed torque: inverse dynamics along a trajectory (Rosillo 2010)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import checked
from ..compile.arm import Arm
from .controller import (
    FRICTION,
    Controller,
    Sample,
    Step,
    Values,
    clipped,
    friction_compensation,
    held,
)

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class ComputedTorque(Controller):
    """tau = M(q) a + C(q, qd) qd + g(q) + friction, a = qdd_d - Kd ed - Kp e - Ki (integral of e).

    With the exact model e'' + Kd e' + Kp e + Ki (integral of e) = 0, e = q - q_d (many
    texts write q_d - q). `model` may differ from the arm that is driven, as
    in 002, whose masses are 10 % off. `friction` is compensated at the "desired" velocity, the
    "measured" one, or not ("none"). With `limit` the torque is clipped there, and the integral
    stops while it would push further into the limit.
    """

    kp: Any  # 1/s^2
    kd: Any  # 1/s
    ki: Any = 0.0  # 1/s^3
    model: "Robot | None" = None
    friction: str = "desired"
    limit: Any = None
    sample_time: float | None = None
    GAINS = ("kp", "kd", "ki", "limit")
    CHOICES = {"friction": FRICTION}  # noqa: RUF012

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    @checked
    def from_bandwidth(
        cls, bandwidth: Any, damping: Any = 1.0, integral: bool = False, **options: Any
    ) -> "ComputedTorque":
        """Poles of every joint at `bandwidth` (rad/s), three with integral, else two."""
        return cls._designed(options, bandwidth, damping, integral=integral)

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The integral of the error."""
        return {"integral": [0.0] * arm.n}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """One sample."""
        joints, gains, before = range(arm.n), sample.gains, sample.state.integral
        e, ed = sample.e, sample.ed
        total = [before[i] + sample.dt * e[i] for i in joints]
        a = [
            sample.reference.qdd[i]
            - gains.kd[i] * ed[i]
            - gains.kp[i] * e[i]
            - gains.ki[i] * total[i]
            for i in joints
        ]
        rigid = arm.frictionless_torque(sample.q, sample.qd, a)
        friction = friction_compensation(arm, self.friction, sample)
        wanted = [rigid[i] + friction[i] for i in joints]
        tau = [clipped(arm, wanted[i], gains.limit[i]) for i in joints]
        integral = [held(arm, wanted[i], tau[i], e[i], before[i], total[i]) for i in joints]
        return tau, {"integral": integral}
