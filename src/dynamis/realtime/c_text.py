"""The C of a control law: header, source, self-test."""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backends import c_branchless
from ..backends.c_function import PRECISIONS, literal
from ..backends.c_names import comment, identifier
from ..errors import OptionError
from ..spatial.functions import MATH

if TYPE_CHECKING:
    from .law import Law

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


def header(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """Types and functions."""
    stem, T = stem_of(law), PRECISIONS[dtype].type
    guard, n = f"{stem.upper()}_H", law.n
    wanted = (
        "double t;"
        if law.reference is not None
        else f"{T} q[{n}];\n    {T} qd[{n}];\n    {T} qdd[{n}];"
    )
    what = (
        "time, seconds: the trajectory is inside"
        if law.reference is not None
        else "where the joints should be"
    )
    return f"""{intro(notes)}
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

#define {stem.upper()}_JOINTS {n}
#define {stem.upper()}_STATES {law.states}
#define {stem.upper()}_SAMPLE_TIME {law.sample_time!r}

enum {{ {stem.upper()}_RUNNING = 0, {stem.upper()}_BAD_SAMPLE = 1, {stem.upper()}_SAFE = 2 }};

/* what the law remembers; nobody else touches it */
typedef struct {{
    {T} x[{law.states}];
}} {stem}_state;

/* what the sensors say: positions and velocities, rad or m{", velocities are not used" if law.velocity != "measured" else ""} */
typedef struct {{
    {T} q[{n}];
    {T} qd[{n}];
}} {stem}_measurement;

/* {what} */
typedef struct {{
    {wanted}
}} {stem}_reference;

/* once, with the first measurement; also the only way out of the safe state */
void {stem}_init({stem}_state *state, const {stem}_measurement *measurement);

/* once every {law.sample_time!r} s; returns RUNNING, BAD_SAMPLE (this sample was not plausible: safe torque)
 * or SAFE ({law.latch} in a row: safe torque until init) */
int {stem}_step({stem}_state *state, const {stem}_measurement *measurement,
    const {stem}_reference *reference, {T} torque[{n}]);

#ifdef __cplusplus
}}
#endif

#endif /* {guard} */
"""


def source(law: "Law", notes: Sequence[str], dtype: str, trig: str) -> str:
    """The law itself."""
    stem, T, n = stem_of(law), PRECISIONS[dtype].type, law.n
    programs = {"start": law.start_program(), "sample": law.program()}
    bodies = [
        "static " + c_branchless.function(program, f"{stem}_{k}", dtype, trig == "own")
        for k, program in programs.items()
    ]
    lines = [intro(notes), f'#include "{stem}.h"', ""]
    why = "#error NaN is told from numbers in here, and digits are counted on: no fast math"
    fast = "#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)"
    fast += " || defined(__ASSOCIATIVE_MATH__) || defined(_M_FP_FAST)"
    lines += [fast, why, "#endif", ""]
    lines += ["#include <stdint.h>", *(["#include <math.h>"] if trig == "libm" else []), ""]
    lines += [c_branchless.helpers(dtype, "\n".join(bodies))]
    for body in bodies:
        lines += [body, ""]
    wanted, copies = "&reference->t", ""
    if law.reference is not None and dtype == "float32":
        lines.append(shortened_time(law, stem))
        wanted, copies = "time", f"    float time[1];\n    time[0] = {stem}_time(reference->t);\n"
    if law.reference is None:
        rows = enumerate(f"reference->{row}[{i}]" for row in ("q", "qd", "qdd") for i in range(n))
        copies = f"    {T} wanted[{3 * n}];\n" + "".join(
            f"    wanted[{k}] = {x};\n" for k, x in rows
        )
        wanted = "wanted"
    kept = "\n".join(f"    state->x[{i}] = next[{i}];" for i in range(law.states))
    lines.append(f"""void {stem}_init({stem}_state *state, const {stem}_measurement *measurement)
{{
    {stem}_start(measurement->q, measurement->qd, state->x);
}}

int {stem}_step({stem}_state *state, const {stem}_measurement *measurement,
    const {stem}_reference *reference, {T} torque[{n}])
{{
    {T} status[1];
    {T} next[{law.states}];
{copies}    {stem}_sample(state->x, measurement->q, measurement->qd, {wanted}, torque,
        next, status);
{kept}
    return (int)status[0];
}}""")
    return "\n".join(lines) + "\n"


def shortened_time(law: "Law", stem: str) -> str:
    """A function that takes the time of a long run to where single precision has its digits."""
    from .law import LONGEST

    trajectory = law.reference
    assert trajectory is not None
    end = literal(trajectory.duration, PRECISIONS["float64"])
    fold = f"""other.f = {end}; /* it rests there */
    mask = (uint64_t)0 - (uint64_t)(time.f > other.f);
    DY_HIDE(mask);
    time.u = (other.u & mask) | (time.u & ~mask);"""
    if trajectory.endless:
        if trajectory.period is None:
            raise OptionError(
                "the reference goes on for ever without repeating, and time loses its digits in "
                "float32",
                "use dtype='float64', or frequencies that are multiples of one",
            )
        period = literal(trajectory.period, PRECISIONS["float64"])
        fold = f"""other.f = time.f / {period} + 4503599627370496.0 - 4503599627370496.0;
    mask = (uint64_t)0 - (uint64_t)(other.f > time.f / {period});
    DY_HIDE(mask);
    time.f -= {period} * other.f; /* it repeats */
    other.f = {period};
    other.u &= mask;
    time.f += other.f;"""
    return f"""/* NaN and absurd times stay NaN, times below zero are zero */
static float {stem}_time(double t)
{{
    union {{ double f; uint64_t u; }} time, other;
    union {{ float f; uint32_t u; }} shorter;
    uint64_t mask = (uint64_t)0 - (uint64_t)((t > 0.0) & (t < {LONGEST!r}));
    uint32_t absurd = (uint32_t)((t > -{LONGEST!r}) & (t < {LONGEST!r})) - 1u;
    DY_HIDE(mask);
    DY_HIDE(absurd);
    time.f = t;
    time.u &= mask;
    {fold}
    shorter.f = (float)time.f;
    shorter.u |= 0x7fc00000u & absurd;
    return shorter.f;
}}
"""


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
    stem, precision = stem_of(law), PRECISIONS[dtype]
    T, n = precision.type, law.n
    q, qd, wanted = (np.asarray(r).astype(dtype).astype(float) for r in rows[:3])
    how = rows[3] if len(rows) > 3 else "recorded samples"
    tau = recorded(law, q, qd, wanted)
    count = len(q)

    def table(name: str, values: np.ndarray) -> str:
        body = ",\n".join(
            "    {" + ", ".join(literal(float(x), precision) for x in row) + "}" for row in values
        )
        return f"static const {T} {name}[{count}][{values.shape[1]}] = {{\n{body}}};\n"

    fill = "        reference.t = (double)wanted[k][0];\n"
    if law.reference is None:
        fill = f"""        for (i = 0; i < {n}; i++) {{
            reference.q[i] = wanted[k][i];
            reference.qd[i] = wanted[k][{n} + i];
            reference.qdd[i] = wanted[k][{2 * n} + i];
        }}
"""
    return f"""{intro(notes)}
#include "{stem}.h"

#include <stdio.h>

/* {plain(how)}, {count} samples; torques of the law in Python */
{table("positions", q)}
{table("velocities", qd)}
{table("wanted", wanted)}
{table("torques", tau)}
static double size(double x)
{{
    return x < 0.0 ? -x : x;
}}

int main(void)
{{
    {stem}_state state;
    {stem}_measurement measurement;
    {stem}_reference reference;
    {T} torque[{n}];
    double off[{n}] = {{0.0}}, most[{n}] = {{0.0}}, largest = 1e-3, worst = 0.0;
    int i, k;
    for (k = 0; k < {count}; k++) {{
        for (i = 0; i < {n}; i++) {{
            measurement.q[i] = positions[k][i];
            measurement.qd[i] = velocities[k][i];
        }}
{fill}        if (k == 0) {stem}_init(&state, &measurement);
        if ({stem}_step(&state, &measurement, &reference, torque) != {stem.upper()}_RUNNING) {{
            printf("FAILED: not running at sample %d\\n", k);
            return 1;
        }}
        for (i = 0; i < {n}; i++) {{
            const double error = size((double)torque[i] - (double)torques[k][i]);
            const double whole = size((double)torques[k][i]);
            if (!(error <= off[i])) off[i] = error;
            if (whole > most[i]) most[i] = whole;
            if (whole > largest) largest = whole;
        }}
    }}
    for (i = 0; i < {n}; i++) {{ /* a joint that hardly works is measured by the arm */
        const double scale = most[i] > {SMALLEST!r} * largest ? most[i] : {SMALLEST!r} * largest;
        if (!(off[i] / scale <= worst)) worst = off[i] / scale;
    }}
    if (!(worst <= {tolerance(law, dtype)!r})) {{
        printf("FAILED: torques differ by %g of the largest\\n", worst);
        return 1;
    }}
    printf("passed: {count} samples, torques within %.2e of each joint's largest\\n", worst);
    return 0;
}}
"""


def tolerance(law: "Law", dtype: str) -> float:
    """How far the self-test lets torques differ, of each joint's largest."""
    return TOLERANCES.get(type(law.controller).__name__, TOLERANCE)[dtype]


def plain(line: str) -> str:
    """A line that may stand in any comment: nothing in it ends or continues one."""
    ascii_only = re.sub(r"[^ -~]+", "?", line.replace("\\", "/"))
    return comment(re.sub(r"\?+", "?", ascii_only))


def intro(notes: Sequence[str]) -> str:
    """The comment that begins every file."""
    return "\n".join(["/*", *(f" * {plain(line)}".rstrip() for line in notes), " */"])
