"""One PID per joint."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..arguments import checked, choice, passed_on
from ..compile.arm import Arm
from .controller import (
    NO_LIMIT,
    Controller,
    Measured,
    Reference,
    Scalars,
    Values,
    check_block,
    check_sampling,
    clipped,
    for_inertia,
    held,
    joint_inertia,
    model_of,
    per_joint,
    second_order,
    third_order,
)

if TYPE_CHECKING:
    from ..robot import Robot

DERIVATIVES = ("measurement", "error")


@dataclass(frozen=True)
class JointPID(Controller):
    """tau = - kp e - ki (integral of e) - kd qd (+ g(q)), e = q - q_d.

    The derivative acts on the measured velocity (no kick when the reference jumps), or on the error
    with derivative="error". With `limit` the torque is clipped there, and the integral stops while
    it would push further into the limit.
    """

    kp: Any
    ki: Any = 0.0
    kd: Any = 0.0
    limit: Any = None
    gravity: bool = False
    derivative: str = "measurement"
    model: "Robot | None" = None
    sample_time: float | None = None

    def __post_init__(self) -> None:
        check_block(self)
        choice(self.derivative, "derivative", DERIVATIVES)

    @classmethod
    @checked
    def from_bandwidth(
        cls,
        robot: "Robot",
        bandwidth: Any,
        damping: Any = 1.0,
        q: Any = None,
        integral: bool = False,
        **options: Any,
    ) -> "JointPID":
        """Gains for the inertia each joint sees at q (zero if not given); three poles or two.

        What the other joints do is a disturbance to such a loop: the poles hold near q, at rest.
        """
        check_sampling(bandwidth, options.get("sample_time"))
        inertia = joint_inertia(robot, q)
        if integral:
            kp, kd, ki = for_inertia(third_order(bandwidth, damping), inertia)
            return cls(kp=kp, ki=ki, kd=kd, **passed_on(options, cls, "kp", "ki", "kd"))
        kp, kd = for_inertia(second_order(bandwidth, damping), inertia)
        return cls(kp=kp, kd=kd, **passed_on(options, cls, "kp", "kd"))

    @property
    def options(self) -> tuple[Any, ...]:
        """Structure."""
        return self.gravity, self.derivative

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kp, ki, kd and limit, one per joint."""
        model_of(self, robot)
        limit = NO_LIMIT if self.limit is None else self.limit
        given = {"kp": self.kp, "ki": self.ki, "kd": self.kd, "limit": limit}
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
        g = arm.gravity_torque(measured.q) if self.gravity else [0.0] * arm.n
        tau, integral = [], []
        for i in range(arm.n):
            e = measured.q[i] - reference.q[i]
            rate = measured.qd[i]
            if self.derivative == "error":
                rate = rate - reference.qd[i]
            total = state.integral[i] + dt * e
            wanted = -gains.kp[i] * e - gains.ki[i] * total - gains.kd[i] * rate + g[i]
            given = clipped(arm, wanted, gains.limit[i])
            integral.append(held(arm, wanted, given, e, state.integral[i], total))
            tau.append(given)
        return tau, {"integral": integral}
