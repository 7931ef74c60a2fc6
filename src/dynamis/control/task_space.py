"""Inverse dynamics in the space of the tool."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..arguments import checked
from ..compile.arm import Arm
from .controller import FRICTION, Controller, Sample, Step, Values, friction_compensation
from .task import (
    check_task,
    deviation,
    gram,
    null_motion,
    product,
    task_gains,
    task_rows,
    transposed_product,
)

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class TaskSpace(Controller):
    """tau = M qdd + C qd + g + friction with qdd = J+ (a - Jdot qd) + (E - J+ J) v.

        a = xdd_d - Kd (xd - xd_d) - Kp e
        v = qdd_d - null_damping (qd - qd_d) - null_stiffness (q - q_d)

    With the exact model the tool obeys xdd = a. e is position and orientation error (see
    `control.task`); J+ = J^T (J J^T + singular_damping^2 E)^-1, so that the arm slows down near a
    singular configuration instead of tearing itself apart; with 0 it is exact, and NaN there. What
    the task leaves free follows the joint reference by v.
    """

    kp: Any
    kd: Any
    task: Any = None
    model: "Robot | None" = None
    friction: str = "desired"
    singular_damping: float = 0.01
    null_damping: Any = 10.0
    null_stiffness: Any = 0.0
    sample_time: float | None = None
    CHOICES = {"friction": FRICTION}  # noqa: RUF012

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "task", check_task(self.task))

    @classmethod
    @checked
    def from_bandwidth(cls, bandwidth: Any, damping: Any = 1.0, **options: Any) -> "TaskSpace":
        """Both poles of every row of the task at `bandwidth` (rad/s)."""
        return cls._designed(options, bandwidth, damping)

    @property
    def options(self) -> tuple[Any, ...]:
        """The task and where friction is taken."""
        return self.task, self.friction

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kp and kd, one per row of the task; and as `task_gains`."""
        return task_gains(self, robot, {"kp": self.kp, "kd": self.kd})

    def step(self, arm: Arm, sample: Sample) -> Step:
        """One sample."""
        gains, v = sample.gains, null_motion(sample)
        tool = deviation(arm, task_rows(arm, self.task), sample)
        Jv = product(tool.J, v)
        rest = []  # a - Jdot qd - J v: what J+ has to add to v
        for i, (e, ed) in enumerate(zip(tool.e, tool.ed, strict=True)):
            a = tool.xdd_d[i] - gains.kd[i] * ed - gains.kp[i] * e
            rest.append(a - tool.bias[i] - Jv[i])
        weights = arm.solve(gram(tool.J, tool.J, gains.singular_damping[0]), rest)
        added = transposed_product(tool.J, weights)
        qdd = [a + b for a, b in zip(v, added, strict=True)]
        rigid = arm.frictionless_torque(sample.q, sample.qd, qdd)
        friction = friction_compensation(arm, self.friction, sample)
        return [a + b for a, b in zip(rigid, friction, strict=True)], {}
