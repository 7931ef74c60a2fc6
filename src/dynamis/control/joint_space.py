"""Laws of the joints: PID, and three that compute with the model (Rosillo 2010)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import checked, formerly, no_robot, strict
from ..robot.arm import Arm
from .controller import (
    Compensating,
    Controller,
    Gain,
    Sample,
    Step,
    Values,
    clipped,
    held,
    joint_inertia,
)

if TYPE_CHECKING:
    from ..robot import Robot

DERIVATIVES = ("measurement", "error")


@strict
@dataclass(frozen=True)
class JointPID(Controller):
    """tau = - kp e - ki (integral of e) - kd qd (+ g(q), springs and loads), e = q - q_d.

    The derivative acts on the measured velocity (no kick when the reference jumps), or on the error
    with derivative="error". With `limit` the torque is clipped there, and the integral stops while
    it would push further into the limit.
    """

    kp: Gain
    ki: Gain = 0.0
    kd: Gain = 0.0
    limit: Gain | None = None
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
        bandwidth: Gain,
        damping: Gain = 1.0,
        q: Any = None,
        integral: bool = False,
        **options: Any,
    ) -> "JointPID":
        """Gains for the inertia each joint sees at q (zero if not given); three poles or two.

        What the other joints do is a disturbance to such a loop: the poles hold near q, at rest.
        """
        inertia = joint_inertia(robot, q)
        return cls._designed(robot, options, bandwidth, damping, inertia, integral)

    @property
    def needs_model(self) -> bool:
        """Only to compensate gravity."""
        return self.gravity

    @property
    def options(self) -> tuple[Any, ...]:
        """Whether gravity is compensated, and what the derivative acts on."""
        return self.gravity, self.derivative

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The integral of the error."""
        return {"integral": [0.0] * arm.n}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
        gains, joints = sample.gains, range(arm.n)
        g = arm.static_torque(sample.q) if self.gravity else [0.0] * arm.n
        rate = sample.ed if self.derivative == "error" else sample.qd
        tau, integral = [], []
        for i, e, before in zip(joints, sample.e, sample.state.integral, strict=True):
            total = before + sample.dt * e
            wanted = -gains.kp[i] * e - gains.ki[i] * total - gains.kd[i] * rate[i] + g[i]
            tau.append(clipped(arm, wanted, gains.limit[i]))
            integral.append(held(arm, wanted, tau[i], e, before, total))
        return tau, {"integral": integral}


@strict
@dataclass(frozen=True)
class PointToPoint(Compensating):
    """tau = M(q) a + C(q, qd) qd + g(q) (+ friction), a = -Kd qd - Kp e, e = q - q_d.

    With the exact model e'' + Kd e' + Kp e = 0 for a reference at rest: only its position counts.
    `friction` is compensated at the "measured" or the "desired" velocity, or not ("none"); `limit`
    clips the torque.
    """

    kp: Gain  # 1/s^2
    kd: Gain  # 1/s
    model: "Robot | None" = None
    friction: str = "none"
    limit: Gain | None = None
    sample_time: float | None = None
    GAINS = ("kp", "kd", "limit")

    @classmethod
    @checked
    @formerly(no_robot)
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Gain, damping: Gain = 1.0, **options: Any
    ) -> "PointToPoint":
        """Both poles of every joint at `bandwidth` (rad/s); `options` are the other fields."""
        return cls._designed(robot, options, bandwidth, damping)

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
        gains, e = sample.gains, sample.e
        a = [-gains.kd[i] * sample.qd[i] - gains.kp[i] * e[i] for i in range(arm.n)]
        rigid = arm.frictionless_torque(sample.q, sample.qd, a)
        memory = self.memory_after(arm, sample)
        friction = self.compensation(arm, sample, rigid, a, memory)
        tau = [clipped(arm, rigid[i] + friction[i], gains.limit[i]) for i in range(arm.n)]
        return tau, memory


@strict
@dataclass(frozen=True)
class ComputedTorque(Compensating):
    """tau = M(q) a + C(q, qd) qd + g(q) + friction, a = qdd_d - Kd ed - Kp e - Ki (integral of e).

    With the exact model e'' + Kd e' + Kp e + Ki (integral of e) = 0, e = q - q_d (many
    texts write q_d - q). `model` may differ from the arm that is driven, as
    one whose masses are 10 % off. `friction` is compensated at the "desired" velocity, the
    "measured" one, or not ("none"). With `limit` the torque is clipped there, and the integral
    stops while it would push further into the limit.
    """

    kp: Gain  # 1/s^2
    kd: Gain  # 1/s
    ki: Gain = 0.0  # 1/s^3
    model: "Robot | None" = None
    friction: str = "desired"
    limit: Gain | None = None
    sample_time: float | None = None
    GAINS = ("kp", "kd", "ki", "limit")

    @classmethod
    @checked
    @formerly(no_robot)
    def from_bandwidth(
        cls,
        robot: "Robot",
        bandwidth: Gain,
        damping: Gain = 1.0,
        integral: bool = False,
        **options: Any,
    ) -> "ComputedTorque":
        """Poles of every joint at `bandwidth` (rad/s), three with integral, else two."""
        return cls._designed(robot, options, bandwidth, damping, integral=integral)

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The integral of the error, and what friction remembers."""
        return {"integral": [0.0] * arm.n, **super().start(arm, sample)}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
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
        memory = self.memory_after(arm, sample)
        friction = self.compensation(arm, sample, rigid, a, memory)
        wanted = [rigid[i] + friction[i] for i in joints]
        tau = [clipped(arm, wanted[i], gains.limit[i]) for i in joints]
        integral = [held(arm, wanted[i], tau[i], e[i], before[i], total[i]) for i in joints]
        return tau, {"integral": integral, **memory}


@strict
@dataclass(frozen=True)
class FeedForward(Compensating):
    """tau = M(q_d) qdd_d + C(q_d, qd_d) qd_d + g(q_d) + friction - Kp e - Kd ed, e = q - q_d.

    The model is evaluated on the reference only, so it can be computed ahead and noise of the
    sensors does not pass through it. Kp and Kd are torques per radian and per radian per second.
    `limit` clips the torque.
    """

    kp: Gain
    kd: Gain
    model: "Robot | None" = None
    friction: str = "desired"
    limit: Gain | None = None
    sample_time: float | None = None
    GAINS = ("kp", "kd", "limit")

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Gain, damping: Gain = 1.0, q: Any = None, **options: Any
    ) -> "FeedForward":
        """Gains for the inertia each joint sees at q (zero if not given)."""
        return cls._designed(robot, options, bandwidth, damping, joint_inertia(robot, q))

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
        gains, e, ed = sample.gains, sample.e, sample.ed
        rigid = arm.frictionless_torque(*sample.reference)
        memory = self.memory_after(arm, sample)
        friction = self.compensation(arm, sample, rigid, sample.reference.qdd, memory)
        wanted = [
            rigid[i] + friction[i] - gains.kp[i] * e[i] - gains.kd[i] * ed[i] for i in range(arm.n)
        ]
        return [clipped(arm, wanted[i], gains.limit[i]) for i in range(arm.n)], memory
