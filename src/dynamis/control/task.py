"""The tool against the tool of the reference: errors, velocities and accelerations of a task.

The reference is a joint one for every controller; its tool motion follows through the model:

    x_d = fk(q_d),  xd_d = J(q_d) qd_d,  xdd_d = J(q_d) qdd_d + Jdot(q_d, qd_d) qd_d

Position errors are p - p_d. The orientation error is 1/2 sum r_di x r_i over the columns of the
two rotations, u sin(angle) of the turn from desired to actual (Luh, Walker, Paul 1980): it falls
again beyond a quarter turn, and vanishes at a half turn. All in base axes.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..compile.arm import Arm
from ..errors import OptionError
from ..ik.target import task_mask
from ..spatial.vectors import add, cross, scale
from .controller import Sample, Scalars, model_of, per_joint

if TYPE_CHECKING:
    from ..robot import Robot


class Deviation(NamedTuple):
    """A task of m rows: e = x - x_d, its rate, the wanted acceleration, and xdd = J qdd + bias."""

    e: Scalars
    ed: Scalars
    xdd_d: Scalars
    J: list[Scalars]
    bias: Scalars


def task_rows(arm: Any, task: Any) -> list[int]:
    """Rows of the Jacobian that a task prescribes: "pose" from six joints on, else "position"."""
    return [i for i, wanted in enumerate(task_mask(arm, task)) if wanted]


def check_task(task: Any) -> Any:
    """The task as something that compares: None, a word or a tuple of six."""
    if task is None:
        return None
    mask = task_mask(None, task)  # type: ignore[arg-type]  # only None asks the robot
    return task if isinstance(task, str) else tuple(bool(x) for x in mask)


def task_gains(law: Any, robot: "Robot", given: Mapping[str, Any]) -> dict[str, list[float]]:
    """Those of the law, one per row of its task; damping of singular poses; those of v, (n,)."""
    model_of(law, robot)
    rows = task_rows(robot, law.task)
    return {
        **{name: per_joint(value, name, robot, size=len(rows)) for name, value in given.items()},
        "singular_damping": singular_damping(law.singular_damping, robot, rows),
        "null_damping": per_joint(law.null_damping, "null_damping", robot),
        "null_stiffness": per_joint(law.null_stiffness, "null_stiffness", robot),
    }


def singular_damping(value: Any, robot: "Robot", rows: Sequence[int]) -> list[float]:
    """The damping as a gain; without it a task must not ask for more than the arm has."""
    numbers = per_joint(value, "singular_damping", robot, size=1)
    if numbers[0] == 0.0 and robot.n < len(rows):
        raise OptionError(
            f"singular_damping is 0 and the task has {len(rows)} rows, expected at most {robot.n}, "
            f"the joints of robot {robot.name!r}",
            "give a small singular_damping, or a task that is a mask of fewer rows",
        )
    return numbers


def deviation(arm: Arm, rows: Sequence[int], sample: Sample) -> Deviation:
    """Where the tool is and how it moves, against where the reference has it."""
    q, qd, reference = sample.q, sample.qd, sample.reference
    J, J_d = arm.jacobian(q), arm.jacobian(reference.q)
    bias = product(arm.jacobian_dot(q, qd), qd)
    bias_d = product(arm.jacobian_dot(reference.q, reference.qd), reference.qd)
    e = pose_error(arm.fk(q), arm.fk(reference.q))
    xd, xd_d = product(J, qd), product(J_d, reference.qd)
    xdd_d = product(J_d, reference.qdd)
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


def product(A: Sequence[Scalars], x: Scalars) -> list[Any]:
    """A x"""
    return [sum(a * b for a, b in zip(row, x, strict=True)) for row in A]


def transposed_product(A: Sequence[Scalars], x: Scalars) -> list[Any]:
    """A^T x"""
    return product(list(zip(*A, strict=True)), x)


def gram(A: Sequence[Scalars], B: Sequence[Scalars], damping: Any) -> list[list[Any]]:
    """A B^T + damping^2 E, rows of A against rows of B."""
    square = damping * damping
    G = [product(B, row) for row in A]
    for i, row in enumerate(G):
        row[i] = row[i] + square
    return G


def _column(T: Scalars, k: int) -> tuple[Any, Any, Any]:
    return T[0][k], T[1][k], T[2][k]
