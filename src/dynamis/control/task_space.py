"""Task-space controllers: inverse dynamics and impedance.

The reference is a joint one for every controller; its tool motion follows through the model:

    x_d = fk(q_d),  xd_d = J(q_d) qd_d,  xdd_d = J(q_d) qdd_d + Jdot(q_d, qd_d) qd_d

Position errors are p - p_d. The orientation error is 1/2 sum r_di x r_i over the columns of the
two rotations, u sin(angle) of the turn from desired to actual (Luh, Walker, Paul 1980): it falls
again beyond a quarter turn, and vanishes at a half turn. All in base axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked, formerly, no_robot, passed_on, strict
from ..dynamics.forward_dynamics import factor, substitute
from ..errors import OptionError
from ..ik.target import task_mask
from ..robot.arm import Arm
from ..spatial.vectors import add, cross, matrix_times, plus, scale, transposed
from .controller import (
    Compensating,
    Gain,
    Sample,
    Scalars,
    Step,
    Values,
    model_of,
    one_position,
    per_joint,
)

if TYPE_CHECKING:
    from ..robot import Robot


class Deviation(NamedTuple):
    """A task of m rows: e = x - x_d, its rate, the wanted acceleration, and xdd = J qdd + bias."""

    e: Scalars
    ed: Scalars
    xdd_d: Scalars
    J: list[Scalars]
    bias: Scalars


class ToolController(Compensating):
    """A law of the tool's motion; what its `task` leaves free follows the joint reference.

    Its fields are those below, and gains of its own, one per row of the task.
    """

    task: Any
    singular_damping: float
    null_damping: Gain
    null_stiffness: Gain

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "task", check_task(self.task))

    def _task_gains(self, robot: "Robot", **given: Any) -> dict[str, list[float]]:
        """By name: the given ones per task row, singularity damping (1,), null-space gains (n,)."""
        model_of(self, robot)
        rows = task_rows(robot, self.task)
        own = {name: per_joint(value, name, robot, size=len(rows)) for name, value in given.items()}
        return {
            **own,
            "singular_damping": singular_damping(self.singular_damping, robot, rows),
            "null_damping": per_joint(self.null_damping, "null_damping", robot),
            "null_stiffness": per_joint(self.null_stiffness, "null_stiffness", robot),
        }


@strict
@dataclass(frozen=True)
class TaskSpace(ToolController):
    """tau = M qdd + C qd + g + friction with qdd = J+ (a - Jdot qd) + (I - J+ J) v.

        a = xdd_d - Kd (xd - xd_d) - Kp e
        v = qdd_d - null_damping (qd - qd_d) - null_stiffness (q - q_d)

    With the exact model the tool obeys xdd = a. e is position and orientation error (see above);
    J+ = J^T (J J^T + singular_damping^2 I)^-1, so that the arm slows down near a singular
    configuration instead of demanding unbounded accelerations; with 0 it is exact, and NaN there.
    What the task leaves free follows the joint reference by v.
    """

    kp: Gain
    kd: Gain
    task: Any = None
    model: "Robot | None" = None
    friction: str = "desired"
    singular_damping: float = 0.01
    null_damping: Gain = 10.0
    null_stiffness: Gain = 0.0
    sample_time: float | None = None

    @classmethod
    @checked
    @formerly(no_robot)
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Gain, damping: Gain = 1.0, **options: Any
    ) -> "TaskSpace":
        """Both poles of every row of the task at `bandwidth` (rad/s)."""
        task = check_task(options.get("task"))
        rows = None if robot is None else len(task_rows(robot, task))
        return cls._designed(robot, options, bandwidth, damping, rows=rows)

    @property
    def options(self) -> tuple[Any, ...]:
        """The task and where friction is taken."""
        return self.task, self.friction

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kp and kd, one per row of the task; singularity damping and null-space gains."""
        return self._task_gains(robot, kp=self.kp, kd=self.kd)

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and what friction remembers."""
        gains, v = sample.gains, null_motion(sample)
        tool = deviation(arm, task_rows(arm, self.task), sample)
        Jv = matrix_times(tool.J, v)
        rest = []  # a - Jdot qd - J v: what J+ has to add to v
        for i, (e, ed) in enumerate(zip(tool.e, tool.ed, strict=True)):
            a = tool.xdd_d[i] - gains.kd[i] * ed - gains.kp[i] * e
            rest.append(a - tool.bias[i] - Jv[i])
        weights = arm.solve(gram(tool.J, tool.J, gains.singular_damping[0]), rest)
        added = matrix_times(transposed(tool.J), weights)
        qdd = plus(v, added)
        rigid = arm.frictionless_torque(sample.q, sample.qd, qdd)
        memory = self.memory_after(arm, sample)
        friction = self.compensation(arm, sample, rigid, qdd, memory)
        return plus(rigid, friction), memory


@strict
@dataclass(frozen=True)
class Impedance(ToolController):
    """tau = M v + C qd + g + friction + J^T (Lambda (xdd_d - Jdot qd - J v) - D ed - K e).

    With the exact model Lambda (xdd - xdd_d) + D ed + K e = F, the force the world exerts on the
    tool, with the arm's own operational inertia Lambda = (J M^-1 J^T + singular_damping^2 I)^-1:
    no force sensor is needed. e is position and orientation error, base axes; v (see `TaskSpace`)
    moves the joints that the task leaves free, and is not felt at the tool.

    `damping` is D (N s/m, N m s/rad). `damping_ratio` instead (1 if neither is given) takes
    D = 2 ratio sqrt(K Lambda_ii) at every instant, exact where Lambda is diagonal.
    """

    stiffness: Gain
    damping: Gain | None = None
    damping_ratio: Gain | None = None
    task: Any = None
    model: "Robot | None" = None
    friction: str = "desired"
    singular_damping: float = 0.005
    null_damping: Gain = 10.0
    null_stiffness: Gain = 0.0
    sample_time: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.damping is not None and self.damping_ratio is not None:
            raise OptionError(
                f"damping is {self.damping!r} and damping_ratio {self.damping_ratio!r}, "
                "expected one of the two"
            )

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Gain, damping: Gain = 1.0, q: Any = None, **options: Any
    ) -> "Impedance":
        """K and D for the inertia the tool has along each row at q (zero if not given)."""
        law = cls(stiffness=0.0, **passed_on(options, cls, "stiffness"))
        q = one_position(robot, q)
        J = robot.drive_jacobian(q)
        J = J[task_rows(robot, law.task)]
        mobility = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
        damped = mobility + law.singular_damping**2 * np.eye(len(J))
        inertia = np.diagonal(np.linalg.inv(damped))
        names = ("stiffness", "damping")
        return cls._designed(robot, options, bandwidth, damping, inertia, names=names)

    @property
    def options(self) -> tuple[Any, ...]:
        """The task, where friction is taken, and how the damping is meant."""
        return self.task, self.friction, self.damping is None

    @checked
    def gains(self, robot: "Robot") -> Values:
        """Stiffness, damping or its ratio, one per row of the task; and those of `TaskSpace`."""
        ratio = 1.0 if self.damping_ratio is None else self.damping_ratio
        damping = {"damping_ratio": ratio} if self.damping is None else {"damping": self.damping}
        return self._task_gains(robot, stiffness=self.stiffness, **damping)

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and what friction remembers."""
        gains, v = sample.gains, null_motion(sample)
        tool = deviation(arm, task_rows(arm, self.task), sample)
        Jv = matrix_times(tool.J, v)
        M = factor(arm.mass_matrix(sample.q), arm.fn)
        yielding = [substitute(*M, row) for row in tool.J]  # accelerations per force, M^-1 J^T
        mobility = gram(tool.J, yielding, gains.singular_damping[0])  # Lambda^-1
        mobility = factor(mobility, arm.fn)
        rows = range(len(tool.e))
        inertial = substitute(*mobility, [tool.xdd_d[i] - tool.bias[i] - Jv[i] for i in rows])
        D = self._damping(arm, gains, mobility)
        force = [inertial[i] - D[i] * tool.ed[i] - gains.stiffness[i] * tool.e[i] for i in rows]
        rigid = arm.frictionless_torque(sample.q, sample.qd, v)
        push = matrix_times(transposed(tool.J), force)
        carried = plus(rigid, push)
        qdd = plus(v, matrix_times(transposed(yielding), force))
        memory = self.memory_after(arm, sample)
        friction = self.compensation(arm, sample, carried, qdd, memory)
        return [rigid[i] + friction[i] + push[i] for i in range(arm.n)], memory

    def _damping(self, arm: Arm, gains: Any, mobility: tuple[Any, Any]) -> Scalars:
        if self.damping is not None:
            return gains.damping
        D = []
        for i, (ratio, k) in enumerate(zip(gains.damping_ratio, gains.stiffness, strict=True)):
            unit = [1.0 if j == i else 0.0 for j in range(len(gains.stiffness))]
            D.append(2.0 * ratio * arm.sqrt(k * substitute(*mobility, unit)[i]))
        return D


# the task: the tool against the tool of the reference


def task_rows(arm: Any, task: Any) -> list[int]:
    """Rows of the Jacobian that a task prescribes, as `task_mask` says."""
    mask = task_mask(getattr(arm, "robot", None) or arm, task)
    return [i for i, wanted in enumerate(mask) if wanted]


def check_task(task: Any) -> Any:
    """The task in hashable form: None, a name or six flags."""
    if task is None:
        return None
    mask = task_mask(None, task)  # type: ignore[arg-type]  # only None asks the robot
    return task if isinstance(task, str) else tuple(bool(x) for x in mask)


def singular_damping(value: Any, robot: "Robot", rows: Sequence[int]) -> list[float]:
    """The damping as a gain; without it a task must not ask for more than the arm has."""
    numbers = per_joint(value, "singular_damping", robot, size=1)
    if numbers[0] == 0.0 and robot.dof < len(rows):
        raise OptionError(
            f"singular_damping is 0 and the task has {len(rows)} rows, expected at most "
            f"{robot.dof}, the degrees of freedom of robot {robot.name!r}",
            "give a small singular_damping, or a task that is a mask of fewer rows",
        )
    return numbers


def deviation(arm: Arm, rows: Sequence[int], sample: Sample) -> Deviation:
    """Where the tool is and how it moves, against where the reference has it."""
    q, qd, reference = sample.q, sample.qd, sample.reference
    J, J_d = arm.jacobian(q), arm.jacobian(reference.q)
    bias = matrix_times(arm.jacobian_dot(q, qd), qd)
    bias_d = matrix_times(arm.jacobian_dot(reference.q, reference.qd), reference.qd)
    e = pose_error(arm.fk(q), arm.fk(reference.q))
    xd, xd_d = matrix_times(J, qd), matrix_times(J_d, reference.qd)
    xdd_d = matrix_times(J_d, reference.qdd)
    return Deviation(
        e=[e[i] for i in rows],
        ed=[xd[i] - xd_d[i] for i in rows],
        xdd_d=[xdd_d[i] + bias_d[i] for i in rows],
        J=[J[i] for i in rows],
        bias=[bias[i] for i in rows],
    )


def pose_error(T: Scalars, T_d: Scalars) -> list[Any]:
    """(p - p_d, 1/2 sum r_di x r_i), (6,)."""
    p = [T[i][3] - T_d[i][3] for i in range(3)]
    turns = [cross(_column(T_d, k), _column(T, k)) for k in range(3)]
    return [*p, *scale(0.5, add(*turns))]


def null_motion(sample: Sample) -> list[Any]:
    """v = qdd_d - null_damping ed - null_stiffness e: what the joints do that no task row sees."""
    kd, kp = sample.gains.null_damping, sample.gains.null_stiffness
    rows = enumerate(zip(sample.reference.qdd, sample.ed, sample.e, strict=True))
    return [qdd_d - kd[i] * ed - kp[i] * e for i, (qdd_d, ed, e) in rows]


def gram(A: Sequence[Scalars], B: Sequence[Scalars], damping: Any) -> list[list[Any]]:
    """A B^T + damping^2 I, rows of A against rows of B."""
    square = damping * damping
    G = [matrix_times(B, row) for row in A]
    for i, row in enumerate(G):
        row[i] = row[i] + square
    return G


def _column(T: Scalars, k: int) -> tuple[Any, Any, Any]:
    return T[0][k], T[1][k], T[2][k]
