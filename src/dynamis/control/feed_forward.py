"""Inverse dynamics along the reference, and a PD around it."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..arguments import checked, choice, passed_on
from ..compile.arm import Arm
from .controller import (
    FRICTION,
    Controller,
    Measured,
    Reference,
    Scalars,
    Values,
    check_block,
    check_sampling,
    for_inertia,
    friction_compensation,
    joint_inertia,
    model_of,
    per_joint,
    second_order,
)

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class FeedForward(Controller):
    """tau = M(q_d) qdd_d + C(q_d, qd_d) qd_d + g(q_d) + friction - Kp e - Kd ed, e = q - q_d.

    The model is evaluated on the reference only, so it can be computed ahead and noise of the
    sensors does not pass through it. Kp and Kd are torques per radian and per radian per second.
    """

    kp: Any
    kd: Any
    model: "Robot | None" = None
    friction: str = "desired"
    sample_time: float | None = None

    def __post_init__(self) -> None:
        check_block(self)
        choice(self.friction, "friction", FRICTION)

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Any, damping: Any = 1.0, q: Any = None, **options: Any
    ) -> "FeedForward":
        """Gains for the inertia each joint sees at q (zero if not given)."""
        check_sampling(bandwidth, options.get("sample_time"))
        kp, kd = for_inertia(second_order(bandwidth, damping), joint_inertia(robot, q))
        return cls(kp=kp, kd=kd, **passed_on(options, cls, "kp", "kd"))

    @property
    def options(self) -> tuple[Any, ...]:
        """Where friction is taken."""
        return (self.friction,)

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kp and kd, one per joint."""
        model_of(self, robot)
        given = {"kp": self.kp, "kd": self.kd}
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
        rigid = arm.frictionless_torque(reference.q, reference.qd, reference.qdd)
        resist = friction_compensation(arm, self.friction, measured, reference)
        tau = []
        for i in range(arm.n):
            e, ed = measured.q[i] - reference.q[i], measured.qd[i] - reference.qd[i]
            tau.append(rigid[i] + resist[i] - gains.kp[i] * e - gains.kd[i] * ed)
        return tau, {}
