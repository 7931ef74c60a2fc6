"""Inverse dynamics along the reference, and a PD around it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import checked
from ..compile.arm import Arm
from .controller import FRICTION, Controller, Sample, Step, friction_compensation, joint_inertia

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
    GAINS = ("kp", "kd")
    CHOICES = {"friction": FRICTION}  # noqa: RUF012

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Any, damping: Any = 1.0, q: Any = None, **options: Any
    ) -> "FeedForward":
        """Gains for the inertia each joint sees at q (zero if not given)."""
        return cls._designed(options, bandwidth, damping, joint_inertia(robot, q))

    def step(self, arm: Arm, sample: Sample) -> Step:
        """One sample."""
        gains, e, ed = sample.gains, sample.e, sample.ed
        rigid = arm.frictionless_torque(*sample.reference)
        friction = friction_compensation(arm, self.friction, sample)
        tau = [
            rigid[i] + friction[i] - gains.kp[i] * e[i] - gains.kd[i] * ed[i] for i in range(arm.n)
        ]
        return tau, {}
