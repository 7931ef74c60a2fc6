"""Laws for arms that ring: encoders on the motors, links behind elastic gears.

th are the motors in units of the joints, as `dy.Sensors(side="motor")` measures them, q_d what is
wanted of the links. On rigid joints th = q, and the laws are those of a rigid arm. P. Tomei, A
simple PD controller for robots with elastic joints, 1991; A. De Luca, Feedforward/feedback laws for
the control of flexible robots, 2000.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import checked, strict
from ..dynamics.elastic_inverse import refuse_undetermined
from ..errors import OptionError
from ..robot.arm import Arm
from ..spatial.vectors import Scalars
from .controller import Controller, Gain, Sample, Step, Values, clipped, joint_inertia, model_of

if TYPE_CHECKING:
    from ..robot import Robot


@strict
@dataclass(frozen=True)
class MotorPD(Controller):
    """tau = Kp (th_d - th) - Kd th' + g(q_d), th_d = q_d + s, K s + K3 s^3 = g(q_d).

    Holds the links at q_d, not the motors: g(q_d) are weights, springs and loads there, s what the
    gears give way under them (Tomei). The gains are torques per radian and per radian per second;
    it is stable for Kp above the slope of g. `limit` clips the torque.
    """

    kp: Gain
    kd: Gain
    model: "Robot | None" = None
    limit: Gain | None = None
    sample_time: float | None = None
    GAINS = ("kp", "kd", "limit")
    knows_gears = True

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Gain, damping: Gain = 1.0, q: Any = None, **options: Any
    ) -> "MotorPD":
        """Gains for the inertia each joint sees at q (zero if not given), as if it were rigid."""
        return cls._designed(robot, options, bandwidth, damping, joint_inertia(robot, q))

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
        gains, (held, motor) = sample.gains, arm.static_motors(sample.reference.q)
        wanted = [
            gains.kp[i] * (motor[i] - sample.q[i]) - gains.kd[i] * sample.qd[i] + held[i]
            for i in range(arm.n)
        ]
        return [clipped(arm, wanted[i], gains.limit[i]) for i in range(arm.n)], {}


class Flat(Controller):
    """A law with the torques and motions of the motors that move the links as wanted.

    T = M(q_d) qdd_d + C qd_d + g + friction of the links
    K s + K3 s^3 + D s' = T,    th_d = q_d + s
    tau_d = T + B th_d'' + friction of the motors

    T' and T'' take jerk and snap of the reference. Friction is that of the model at the wanted
    velocity; Coulomb friction counts as constant between its steps. With damping D s is the slow
    solution, without the swing that dies out. Backlash is refused.
    """

    derivatives = 4
    knows_gears = True

    @checked
    def gains(self, robot: "Robot") -> Values:
        """Its numbers by name; refuses gears whose motors do not follow from the links' motion."""
        name, model = type(self).__name__, model_of(self, robot)
        refuse_closures(name, model)
        refuse_undetermined(model.model, name)
        return super().gains(robot)

    def feed_forward(self, arm: Arm, sample: Sample) -> tuple[Scalars, Scalars, Scalars]:
        """Torques, positions and rates of the motors along the reference."""
        return arm.flat_motors(*sample.reference)


@strict
@dataclass(frozen=True)
class FlatnessFeedForward(Flat):
    """tau = tau_d - Kp (th - th_d) - Kd (th' - th_d'): the motors follow what moves the links as
    wanted.

    With the exact model the links follow q_d exactly, whatever the stiffness. The reference has
    four continuous derivatives, such as dy.trajectory.nonic. The gains are torques per radian and
    per radian per second; `limit` clips the torque.
    """

    kp: Gain
    kd: Gain
    model: "Robot | None" = None
    limit: Gain | None = None
    sample_time: float | None = None
    GAINS = ("kp", "kd", "limit")

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Gain, damping: Gain = 1.0, q: Any = None, **options: Any
    ) -> "FlatnessFeedForward":
        """Gains for the inertia each joint sees at q (zero if not given), as if it were rigid."""
        return cls._designed(robot, options, bandwidth, damping, joint_inertia(robot, q))

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
        gains, (torque, motor, rate) = sample.gains, self.feed_forward(arm, sample)
        tau = []
        for i in range(arm.n):
            back = gains.kp[i] * (sample.q[i] - motor[i]) + gains.kd[i] * (sample.qd[i] - rate[i])
            tau.append(clipped(arm, torque[i] - back, gains.limit[i]))
        return tau, {}


def refuse_closures(name: str, model: "Robot") -> None:
    """Refuse closed mechanisms, whose motors the law of this name does not find."""
    if model.model.closures:
        raise OptionError(
            f"{name} is for open arms, robot {model.name!r} has closed loops",
            "take MotorPD, FeedForward or ComputedTorque, which know closed mechanisms",
        )
