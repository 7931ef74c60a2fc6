"""Inverse dynamics in the space of the tool."""

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
    friction_compensation,
    model_of,
    per_joint,
    second_order,
)
from .task import (
    check_task,
    deviation,
    gram,
    null_motion,
    product,
    singular_damping,
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

    def __post_init__(self) -> None:
        check_block(self)
        choice(self.friction, "friction", FRICTION)
        object.__setattr__(self, "task", check_task(self.task))

    @classmethod
    @checked
    def from_bandwidth(cls, bandwidth: Any, damping: Any = 1.0, **options: Any) -> "TaskSpace":
        """Both poles of every row of the task at `bandwidth` (rad/s)."""
        check_sampling(bandwidth, options.get("sample_time"))
        kp, kd = second_order(bandwidth, damping)
        return cls(kp=kp, kd=kd, **passed_on(options, cls, "kp", "kd"))

    @property
    def options(self) -> tuple[Any, ...]:
        """The task and where friction is taken."""
        return self.task, self.friction

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kp and kd, one per row of the task; the damping at singularities; those of v, (n,)."""
        model_of(self, robot)
        rows = task_rows(robot, self.task)
        return {
            "kp": per_joint(self.kp, "kp", robot, size=len(rows)),
            "kd": per_joint(self.kd, "kd", robot, size=len(rows)),
            "singular_damping": singular_damping(self.singular_damping, robot, rows),
            "null_damping": per_joint(self.null_damping, "null_damping", robot),
            "null_stiffness": per_joint(self.null_stiffness, "null_stiffness", robot),
        }

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
        tool = deviation(arm, task_rows(arm, self.task), measured, reference)
        v = null_motion(gains, measured, reference)
        Jv = product(tool.J, v)
        rest = []  # a - Jdot qd - J v: what J+ has to add to v
        for i, (e, ed) in enumerate(zip(tool.e, tool.ed, strict=True)):
            a = tool.xdd_d[i] - gains.kd[i] * ed - gains.kp[i] * e
            rest.append(a - tool.bias[i] - Jv[i])
        weights = arm.solve(gram(tool.J, tool.J, gains.singular_damping[0]), rest)
        added = transposed_product(tool.J, weights)
        qdd = [a + b for a, b in zip(v, added, strict=True)]
        rigid = arm.frictionless_torque(measured.q, measured.qd, qdd)
        resist = friction_compensation(arm, self.friction, measured, reference)
        return [a + b for a, b in zip(rigid, resist, strict=True)], {}
