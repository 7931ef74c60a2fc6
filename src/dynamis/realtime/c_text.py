"""The C of a control law: header, source, self-test."""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import templates
from ..errors import OptionError
from ..export import c_branchless
from ..export.c_folder import namespace
from ..export.c_function import PRECISIONS, comment, identifier, intro, literal
from ..spatial.functions import MATH

if TYPE_CHECKING:
    from ..control.law import Law

LONGEST_ROBOT = 16  # letters of its name
TRIGS = ("libm", "own")
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}  # of each joint's largest torque
# laws that invert the inertia or the Jacobian of the tool lose digits near singular poses
TOLERANCES = {
    "TaskSpace": {"float64": 1e-11, "float32": 1e-3},
    "Impedance": {"float64": 1e-11, "float32": 1e-2},
}
SMALLEST = 1e-2  # of the arm's largest torque: what counts as a joint's at least


def stem_of(law: "Law") -> str:
    """Name of everything in C: the robot's (shortened, if it is long) and the controller's."""
    kind, robot = type(law.controller).__name__, law.robot.name
    if len(robot) > LONGEST_ROBOT:
        robot = f"{robot[:LONGEST_ROBOT]}_{hashlib.sha256(robot.encode()).hexdigest()[:6]}"
    return identifier(f"{robot}_{kind}", "controller")


def words(law: "Law", notes: Sequence[str], dtype: str) -> dict[str, Any]:
    """What the templates of a law have in common."""
    stem = stem_of(law)
    return {
        "INTRO": intro(notes),
        "STEM": stem,
        "UP": stem.upper(),
        "T": PRECISIONS[dtype].type,
        "N": law.n,
        "N2": 2 * law.n,
        "N3": 3 * law.n,
        "STATES": law.states,
        "SAMPLE_TIME": repr(law.sample_time),
        "LATCH": law.latch,
        "DIFFERENCE": law.velocity == "difference",
        "INSIDE": law.reference is not None,
    }


def header(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """Types and functions."""
    return templates.filled(__package__, "controller.h", **words(law, notes, dtype))


def source(law: "Law", notes: Sequence[str], dtype: str, trig: str) -> str:
    """The law itself."""
    stem, n = stem_of(law), law.n
    programs = {"start": law.start_program(), "sample": law.program()}
    bodies = [
        "static " + c_branchless.function(program, f"{stem}_{k}", dtype, trig == "own")
        for k, program in programs.items()
    ]
    rows = [f"reference->{row}[{i}]" for row in ("q", "qd", "qdd") for i in range(n)]
    short = law.reference is not None and dtype == "float32"
    return templates.filled(
        __package__,
        "controller.c",
        **words(law, notes, dtype),
        LIBM=trig == "libm",
        HELPERS=c_branchless.helpers(dtype, "\n".join(bodies)),
        START=bodies[0],
        SAMPLE=bodies[1],
        SHORT_TIME=short,
        **(_times(law) if short else {}),
        WANTED="\n".join(f"    wanted[{k}] = {x};" for k, x in enumerate(rows)),
        KEPT="\n".join(f"    state->x[{i}] = next[{i}];" for i in range(law.states)),
    )


def _times(law: "Law") -> dict[str, Any]:
    """What takes the time of a long run to where single precision has its digits."""
    from ..control.law import LONGEST

    trajectory, precision = law.reference, PRECISIONS["float64"]
    assert trajectory is not None
    if trajectory.endless and trajectory.period is None:
        raise OptionError(
            "the reference goes on for ever without repeating, and time loses its digits in "
            "float32",
            "use dtype='float64', or frequencies that are multiples of one",
        )
    return {
        "ENDLESS": trajectory.endless,
        "PERIOD": literal(trajectory.period or 0.0, precision),
        "END_TIME": literal(trajectory.duration, precision),
        "LONGEST": repr(LONGEST),
    }


def recorded(law: "Law", q: np.ndarray, qd: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Torques of the law in Python over recorded samples, (K, n)."""
    state = law.start(q[0].tolist(), qd[0].tolist(), MATH)
    torques = []
    for place, speed, row in zip(q.tolist(), qd.tolist(), wanted.tolist(), strict=True):
        given = (
            row[0]
            if law.reference is not None
            else [row[k * law.n : (k + 1) * law.n] for k in range(3)]
        )
        torque, state, _ = law.step(state, place, speed, given, MATH)
        torques.append(torque)
    return np.array(torques)


def self_test(law: "Law", notes: Sequence[str], dtype: str, rows: Sequence[Any]) -> str:
    """A program that replays samples (q, qd, references or times, whence) and compares torques."""
    precision = PRECISIONS[dtype]
    q, qd, wanted = (np.asarray(r).astype(dtype).astype(float) for r in rows[:3])
    how = rows[3] if len(rows) > 3 else "recorded samples"
    tau = recorded(law, q, qd, wanted)
    count = len(q)

    def table(name: str, values: np.ndarray) -> str:
        body = ",\n".join(
            "    {" + ", ".join(literal(float(x), precision) for x in row) + "}" for row in values
        )
        return f"static const {precision.type} {name}[{count}][{values.shape[1]}] = {{\n{body}}};\n"

    return templates.filled(
        __package__,
        "controller_test.c",
        **words(law, notes, dtype),
        COUNT=count,
        HOW=plain(how),
        POSITIONS=table("positions", q),
        VELOCITIES=table("velocities", qd),
        WANTED=table("wanted", wanted),
        TORQUES=table("torques", tau),
        SMALLEST=repr(SMALLEST),
        TOLERANCE=repr(tolerance(law, dtype)),
    )


def tolerance(law: "Law", dtype: str) -> float:
    """How far the self-test lets torques differ, of each joint's largest."""
    return TOLERANCES.get(type(law.controller).__name__, TOLERANCE)[dtype]


def plain(line: str) -> str:
    """A line that may stand in any comment: nothing in it ends or continues one."""
    ascii_only = re.sub(r"[^ -~]+", "?", line.replace("\\", "/"))
    return comment(re.sub(r"\?+", "?", ascii_only))


# a C++17 class over the C of a control law: arrays in, arrays out, nothing allocated


def cpp_header(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """The text of <stem>.hpp."""
    space = namespace(stem_of(law))
    return templates.filled(__package__, "controller.hpp", **words(law, notes, dtype), SPACE=space)
