"""Computed torque: inverse dynamics along a trajectory (documents 002 and 003)."""

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
    held,
    model_of,
    per_joint,
    second_order,
    third_order,
)

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class ComputedTorque(Controller):
    """tau = M(q) a + C(q, qd) qd + g(q) + friction, a = qdd_d - Kd ed - Kp e - Ki (integral of e).

    With the exact model e'' + Kd e' + Kp e + Ki (integral of e) = 0, e = q - q_d (document 003;
    document 002 writes the same with q_d - q). `model` may differ from the arm that is driven, as
    in 002, whose masses are 10 % off. `friction` is compensated at the "desired" velocity, the
    "measured" one, or not ("none"). With `limit` the torque is clipped there, and the integral
    stops while it would push further into the limit.
    """

    kp: Any
    kd: Any
    ki: Any = 0.0
    model: "Robot | None" = None
    friction: str = "desired"
    limit: Any = None
    sample_time: float | None = None

    def __post_init__(self) -> None:
        check_block(self)
        choice(self.friction, "friction", FRICTION)

    @classmethod
    @checked
    def from_bandwidth(
        cls, bandwidth: Any, damping: Any = 1.0, integral: bool = False, **options: Any
    ) -> "ComputedTorque":
        """Poles of every joint at `bandwidth` (rad/s), three with integral, else two."""
        check_sampling(bandwidth, options.get("sample_time"))
        if integral:
            kp, kd, ki = third_order(bandwidth, damping)
            return cls(kp=kp, kd=kd, ki=ki, **passed_on(options, cls, "kp", "kd", "ki"))
        kp, kd = second_order(bandwidth, damping)
        return cls(kp=kp, kd=kd, **passed_on(options, cls, "kp", "kd"))

    @property
    def options(self) -> tuple[Any, ...]:
        """Where friction is taken."""
        return (self.friction,)

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kp (1/s^2), kd (1/s), ki (1/s^3) and limit, one per joint."""
        model_of(self, robot)
        limit = NO_LIMIT if self.limit is None else self.limit
        given = {"kp": self.kp, "kd": self.kd, "ki": self.ki, "limit": limit}
        return {name: per_joint(value, name, robot) for name, value in given.items()}

    def start(self, arm: Arm, gains: SimpleNamespace, measured: Measured) -> Values:
        """The integral of the error."""
        return {"integral": [0.0] * arm.n}

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
        joints = range(arm.n)
        e = [measured.q[i] - reference.q[i] for i in joints]
        ed = [measured.qd[i] - reference.qd[i] for i in joints]
        total = [state.integral[i] + dt * e[i] for i in joints]
        a = [
            reference.qdd[i] - gains.kd[i] * ed[i] - gains.kp[i] * e[i] - gains.ki[i] * total[i]
            for i in joints
        ]
        rigid = arm.frictionless_torque(measured.q, measured.qd, a)
        resist = friction_compensation(arm, self.friction, measured, reference)
        wanted = [rigid[i] + resist[i] for i in joints]
        tau = [clipped(arm, wanted[i], gains.limit[i]) for i in joints]
        integral = [held(arm, wanted[i], tau[i], e[i], state.integral[i], total[i]) for i in joints]
        return tau, {"integral": integral}
