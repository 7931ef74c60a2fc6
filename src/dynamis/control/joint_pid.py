"""One PID per joint."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import checked
from ..compile.arm import Arm
from .controller import Controller, Sample, Step, Values, clipped, held, joint_inertia

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
    GAINS = ("kp", "ki", "kd", "limit")
    CHOICES = {"derivative": DERIVATIVES}  # noqa: RUF012

    def __post_init__(self) -> None:
        self._check()

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
        return cls._designed(options, bandwidth, damping, joint_inertia(robot, q), integral)

    @property
    def options(self) -> tuple[Any, ...]:
        """Structure."""
        return self.gravity, self.derivative

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The integral of the error."""
        return {"integral": [0.0] * arm.n}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """One sample."""
        gains, joints = sample.gains, range(arm.n)
        g = arm.gravity_torque(sample.q) if self.gravity else [0.0] * arm.n
        rate = sample.ed if self.derivative == "error" else sample.qd
        tau, integral = [], []
        for i, e, before in zip(joints, sample.e, sample.state.integral, strict=True):
            total = before + sample.dt * e
            wanted = -gains.kp[i] * e - gains.ki[i] * total - gains.kd[i] * rate[i] + g[i]
            tau.append(clipped(arm, wanted, gains.limit[i]))
            integral.append(held(arm, wanted, tau[i], e, before, total))
        return tau, {"integral": integral}
