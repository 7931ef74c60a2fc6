"""What a co-simulation unit is: its variables, and the C of its model.

The value reference of a variable is its place among the model's values: 0 is time, then
parameters, inputs, outputs.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..backends.c_function import PRECISIONS, function, literal
from ..backends.c_names import comment, identifier
from ..backends.fmu_interface import interface
from ..backends.fmu_model import MODEL
from ..kernels import kernel_named
from ..programs import program
from .c_text import stem_of
from .fmu_origin import Origin

if TYPE_CHECKING:
    from ..robot import Robot
    from .law import Law

DOUBLE = PRECISIONS["float64"]
UNITS = {"revolute": ("rad", "rad/s", "rad/s2", "N.m"), "prismatic": ("m", "m/s", "m/s2", "N")}


@dataclass(frozen=True)
class Variable:
    """One number that is seen from outside."""

    name: str
    reference: int
    causality: str  # independent, parameter, input, output
    about: str
    unit: str = ""
    start: float | None = None
    variability: str = "continuous"
    integer: bool = False


@dataclass(frozen=True)
class Unit:
    """A model with its variables, ready to be printed, described and packed."""

    stem: str
    name: str
    about: str
    step: float
    variables: tuple[Variable, ...]
    values: int
    states: int
    code: str  # kernels, model_reset, model_begin, model_step
    origin: Origin

    def source(self, fmi: str, token: str) -> str:
        """The whole unit as one file of C99."""
        fixed = max((v.reference for v in self.variables if v.causality == "parameter"), default=0)
        inputs = (v.reference for v in self.variables if v.causality == "input")
        settable = max(inputs, default=fixed)
        integer = next((v.reference for v in self.variables if v.integer), 0)
        intro = ["/*", *(f" * {comment(line)}".rstrip() for line in self.origin.notes), " */"]
        headers = ("math", "stdbool", "stddef", "stdint", "stdlib", "string")
        return "\n".join([
            *intro, *(f"#include <{h}.h>" for h in headers), "",
            f'#define TOKEN "{token}"', f"#define VALUES {self.values}",
            f"#define STATES {max(1, self.states)}", f"#define FIXED {fixed}",
            f"#define SETTABLE {settable}", f"#define INTEGER {integer}", "", MODEL, self.code, interface(fmi),
        ])  # fmt: skip


def _joints(robot: "Robot", unit: int) -> list[tuple[str, str]]:
    """(name, unit) of every joint; unit 0 to 3: position, velocity, acceleration, torque."""
    kinds = [link.joint for link in robot.model.links if link.mimic is None]
    pairs = zip(robot.joint_names, kinds, strict=True)
    return [(name, UNITS[kind][unit]) for name, kind in pairs]


class _List:
    """Variables in the order of their value references."""

    def __init__(self) -> None:
        time = Variable("time", 0, "independent", "simulation time", "s")
        self.variables, self.values = [time], 1

    def add(self, name: str, robot: "Robot", unit: int, about: str, causality: str, **more) -> int:
        """One variable per joint; returns the value reference of the first."""
        first = self.values
        for i, (joint, of) in enumerate(_joints(robot, unit)):
            text = f"{about}, joint {joint}"
            self.variables.append(
                Variable(f"{name}[{i + 1}]", first + i, causality, text, of, **more)
            )
        self.values += robot.n
        return first

    def one(self, name: str, about: str, causality: str, unit: str = "", **more) -> int:
        """A variable of its own."""
        self.variables.append(Variable(name, self.values, causality, about, unit, **more))
        self.values += 1
        return self.values - 1


def arm_unit(robot: "Robot", dt: float, origin: Origin) -> Unit:
    """The arm: torques in, positions and velocities out, by Runge-Kutta steps of at most h."""
    kernel = program(kernel_named("forward_dynamics"), robot.model)
    v, n = _List(), robot.n
    fixed = {"start": 0.0, "variability": "fixed"}
    v.add("q0", robot, 0, "position at the start", "parameter", **fixed)
    v.add("qd0", robot, 1, "velocity at the start", "parameter", **fixed)
    h = v.one(
        "h", "longest step of the integrator", "parameter", "s", start=dt, variability="fixed"
    )
    tau = v.add("tau", robot, 3, "torque or force of the drive", "input", start=0.0)
    q = v.add("q", robot, 0, "position", "output")
    v.add("qd", robot, 1, "velocity", "output")
    code = f"""static {function(kernel, "forward_dynamics", DOUBLE)}

static void runge_kutta(double x[{2 * n}], const double tau[{n}], double h)
{{
    const double place[4] = {{0.0, 0.5, 0.5, 1.0}};
    double k[4][{2 * n}], y[{2 * n}];
    int i, s;
    for (s = 0; s < 4; s++) {{
        for (i = 0; i < {2 * n}; i++) y[i] = s == 0 ? x[i] : x[i] + place[s] * h * k[s - 1][i];
        for (i = 0; i < {n}; i++) k[s][i] = y[{n} + i];
        forward_dynamics(y, y + {n}, tau, k[s] + {n});
    }}
    for (i = 0; i < {2 * n}; i++) {{
        x[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
    }}
}}

static void model_begin(model *m)
{{
    int i;
    for (i = 0; i < {2 * n}; i++) m->r[{q} + i] = m->r[1 + i];
}}

static void model_reset(model *m)
{{
    memset(m, 0, sizeof *m);
    m->r[{h}] = {literal(dt, DOUBLE)};
}}

static const char *model_step(model *m, double t, double length)
{{
    const double steps = fmax(1.0, ceil(length / m->r[{h}] - 1e-9));
    double x[{2 * n}], k;
    int i;
    if (t > m->r[0] + SLACK(t)) return "time was left out since the step before";
    if (!(m->r[{h}] > 0.0)) return "h is not a step above zero";
    if (!(steps <= MOST)) return "the step holds too many steps of h";
    memcpy(x, m->r + {q}, sizeof x);
    for (k = 0.0; k < steps; k += 1.0) runge_kutta(x, m->r + {tau}, length / steps);
    for (i = 0; i < {2 * n}; i++) {{
        if (!isfinite(x[i])) return "the state is no longer finite: smaller steps, or smaller torques";
    }}
    memcpy(m->r + {q}, x, sizeof x);
    return NULL;
}}
"""
    about = (
        f"{robot.name}: the arm, torques to positions and velocities. Rigid bodies, rotors and the "
        "friction of the model, whose sign(velocity) is zero at rest: a joint does not stick. "
        "Runge-Kutta steps of order 4, torques held during a communication step; no joint stops."
    )
    return Unit(
        identifier(f"{robot.name}_arm"), robot.name, about, dt, tuple(v.variables), v.values, 0,
        code, origin,
    )  # fmt: skip


def law_unit(law: "Law", origin: Origin) -> Unit:
    """The controller: measurement and reference in, torques and a status out, every sample."""
    v, robot = _List(), law.robot
    q = v.add("q", robot, 0, "measured position", "input", start=0.0)
    qd = v.add("qd", robot, 1, "measured velocity", "input", start=0.0)
    wanted = v.values
    if law.reference is None:
        for unit, name in enumerate(("q_ref", "qd_ref", "qdd_ref")):
            v.add(name, robot, unit, "reference", "input", start=0.0)
    held = {"start": 0.0, "variability": "discrete"}
    tau = v.add("tau", robot, 3, "torque or force for the drive", "output", **held)
    status = v.one(
        "status", "0 running, 1 bad sample, 2 safe until reset", "output", integer=True, **held
    )
    given = f"m->r + {wanted}" if law.reference is None else "&now"
    code = f"""static {function(law.start_program(), "law_start", DOUBLE)}

static {function(law.program(), "law_sample", DOUBLE)}

#define SAMPLE_TIME {literal(law.sample_time, DOUBLE)}

static void model_begin(model *m)
{{
    (void)m;
}}

static void model_reset(model *m)
{{
    memset(m, 0, sizeof *m);
}}

/* samples at whole multiples of the sample time, of which the step's start belongs to it */
static const char *model_step(model *m, double t, double length)
{{
    const double end = t + length - m->begin;
    double next[{law.states}], now;
    if (!(end / SAMPLE_TIME - m->count <= MOST)) return "too many samples since the step before";
    for (now = m->count * SAMPLE_TIME; now < end - 1e-9 * SAMPLE_TIME; now = m->count * SAMPLE_TIME) {{
        if (m->count < 1.0) law_start(m->r + {q}, m->r + {qd}, m->x);
        law_sample(m->x, m->r + {q}, m->r + {qd}, {given}, m->r + {tau}, next, m->r + {status});
        memcpy(m->x, next, sizeof next);
        m->count += 1.0;
    }}
    return NULL;
}}
"""
    about = (
        f"{type(law.controller).__name__} of {robot.name}: measurements and reference to torques, "
        f"one sample every {law.sample_time:g} s; inputs are read at the start of a communication "
        "step, torques stand at its end."
    )
    used = tuple(
        x for x in v.variables if law.velocity == "measured" or not x.name.startswith("qd[")
    )
    return Unit(
        stem_of(law), f"{type(law.controller).__name__} of {robot.name}", about, law.sample_time,
        used, v.values, law.states, code, origin,
    )  # fmt: skip
