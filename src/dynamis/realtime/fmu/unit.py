"""What a co-simulation unit is: its variables, and the C of its model.

The value reference of a variable is its place among the model's values: 0 is time, then
parameters (FIXED), inputs (up to SETTABLE), outputs; INTEGER is the one that is an integer, 0 if
there is none. Its C is three templates: fmu.c holds the model, of which

    model_reset(m), model_begin(m), model_step(m, t, length) -> NULL or what went wrong

is called with finite numbers, length >= 0, t not before m->r[0]; fmu_unit.c an instance; fmi3.c and
fmi2.c every function of the standard, those that a unit does not do with an error. Types are
declared there: no header of the standard is needed. Whoever calls with NULL or with a wrong
reference gets an error, not a crash.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from ... import templates
from ...export import c_branchless
from ...export.c_function import PRECISIONS, function, identifier, intro, literal
from ...simulation.assembly import Assembly
from ..c_text import stem_of
from .origin import Origin

if TYPE_CHECKING:
    from ...control.law import Law
    from ...robot import Robot

FUNCTIONS = {"3.0": "fmi3.c", "2.0": "fmi2.c"}
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
        shared = templates.text(__package__, "fmu_unit.c")
        return templates.filled(
            __package__,
            "fmu.c",
            INTRO=intro(self.origin.notes),
            TOKEN=token,
            VALUES=self.values,
            STATES=max(1, self.states),
            FIXED=fixed,
            SETTABLE=settable,
            INTEGER=integer,
            MODEL=self.code,
            INTERFACE=templates.filled(__package__, FUNCTIONS[fmi], UNIT=shared),
        )


def _joints(robot: "Robot", unit: int) -> list[tuple[str, str]]:
    """(name, unit) of every joint; unit 0 to 3: position, velocity, acceleration, torque."""
    kinds = robot.joint_kinds
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


def arm_unit(robot: "Robot", plant: Assembly, origin: Origin) -> Unit:
    """The arm: torques in, positions and velocities out, by the plant's steps of at most h."""
    v, n, dt, at = _List(), robot.n, plant.s.dt, plant.slots.slices
    fixed = {"start": 0.0, "variability": "fixed"}
    v.add("q0", robot, 0, "position at the start", "parameter", **fixed)
    v.add("qd0", robot, 1, "velocity at the start", "parameter", **fixed)
    h = v.one(
        "h", "longest step of the integrator", "parameter", "s", start=dt, variability="fixed"
    )
    tau = v.add("tau", robot, 3, "torque or force of the drive", "input", start=0.0)
    q = v.add("q", robot, 0, "position", "output")
    v.add("qd", robot, 1, "velocity", "output")
    body = c_branchless.function(plant.plant_task.program(), "plant_step", "float64")
    code = templates.filled(
        __package__,
        "fmu_arm.c",
        PLANT=body,
        N=n,
        N2=2 * n,
        H=h,
        Q=q,
        TAU=tau,
        DT=literal(dt, DOUBLE),
        DIRECTION=at["direction"].start,
        COMMAND=at["command"].start,
        LOSS=at["loss"].start,
        LOSSES=plant.slots.sizes["loss"],
    )
    code = f"{c_branchless.helpers('float64', body)}\n{code}"
    limits = "joint stops" if any(plant.s.stops) else "no joint stops"
    about = (
        f"{robot.name}: the arm, torques to positions and velocities, as dy.simulate has it. Rigid "
        f"bodies, rotors, drives with their limits and losses, friction that holds, {limits}. "
        "Runge-Kutta steps of order 4, torques held during a communication step."
    )
    return Unit(
        identifier(f"{robot.name}_arm"), robot.name, about, dt, tuple(v.variables), v.values,
        plant.slots.size, code, origin,
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
    code = templates.filled(
        __package__,
        "fmu_controller.c",
        START=function(law.start_program(), "law_start", DOUBLE),
        SAMPLE=function(law.program(), "law_sample", DOUBLE),
        SAMPLE_TIME=literal(law.sample_time, DOUBLE),
        STATES=law.states,
        INSIDE=law.reference is not None,
        Q=q,
        QD=qd,
        WANTED=wanted,
        TAU=tau,
        STATUS=status,
    )
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


# what a co-simulation unit says about itself: modelDescription.xml of FMI 3.0 and 2.0

BASE = {
    "s": {"s": 1}, "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1}, "rad/s2": {"rad": 1, "s": -2},
    "m": {"m": 1}, "m/s": {"m": 1, "s": -1}, "m/s2": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip


def plain(text: str) -> str:
    """`text` on one line, of characters that XML may hold."""
    return "".join(c if c.isprintable() else "?" for c in text)


def description(unit: Unit, fmi: str, token: str) -> str:
    """modelDescription.xml."""
    from ... import __version__

    used = {v.unit for v in unit.variables if v.unit}
    units = [
        f"    <Unit name={quoteattr(name)}><BaseUnit {_attributes(powers)}/></Unit>"
        for name, powers in BASE.items() if name in used
    ]  # fmt: skip
    variables, structure = (_fmi3 if fmi == "3.0" else _fmi2)(unit)
    notes = (line for line in unit.origin.notes if line)
    return templates.filled(
        __package__,
        "modelDescription.xml",
        FMI=fmi,
        FMI3=fmi == "3.0",
        VERSION=__version__,
        TOKEN=token,
        STEM=unit.stem,
        NAME=quoteattr(plain(unit.name)),
        ABOUT=quoteattr(plain(unit.about)),
        STEP=repr(unit.step),
        UNITS="\n".join(units),
        VARIABLES="\n".join(variables),
        STRUCTURE="\n".join(structure),
        MODEL=unit.origin.model,
        PROGRAM=unit.origin.program,
        NOTES="\n".join(f"      <Note>{escape(plain(line))}</Note>" for line in notes),
    )


def build_description(unit: Unit) -> str:
    """sources/buildDescription.xml of FMI 3.0."""
    return templates.filled(__package__, "buildDescription.xml", STEM=unit.stem)


def _attributes(powers: dict[str, int]) -> str:
    return " ".join(f'{k}="{v}"' for k, v in powers.items())


def _common(v: Variable) -> str:
    words = {
        "name": v.name, "valueReference": str(v.reference), "causality": v.causality,
        "variability": v.variability, "description": plain(v.about),
    }  # fmt: skip
    return " ".join(f"{k}={quoteattr(x)}" for k, x in words.items())


def _typed(v: Variable) -> str:
    """Start and unit."""
    start = "" if v.start is None else str(int(v.start)) if v.integer else repr(v.start)
    words = {"start": start, "unit": v.unit}
    return "".join(f" {k}={quoteattr(x)}" for k, x in words.items() if x)


def _initial(v: Variable) -> str:
    if v.causality == "parameter":
        return ' initial="exact"'
    if v.causality == "output":
        return f' initial="{"calculated" if v.start is None else "exact"}"'
    return ""


def _outputs(unit: Unit) -> tuple[list[Variable], list[Variable]]:
    """All outputs, and those whose value at the start is calculated."""
    found = [v for v in unit.variables if v.causality == "output"]
    return found, [v for v in found if v.start is None]


def _fmi3(unit: Unit) -> tuple[list[str], list[str]]:
    variables = [
        f"    <{'Int32' if v.integer else 'Float64'} {_common(v)}{_initial(v)}{_typed(v)}/>"
        for v in unit.variables
    ]
    outputs, unknown = _outputs(unit)
    structure = [f'    <Output valueReference="{v.reference}"/>' for v in outputs]
    structure += [f'    <InitialUnknown valueReference="{v.reference}"/>' for v in unknown]
    return variables, structure


def _fmi2(unit: Unit) -> tuple[list[str], list[str]]:
    variables = [
        f"    <ScalarVariable {_common(v)}{_initial(v)}>"
        f"<{'Integer' if v.integer else 'Real'}{_typed(v)}/></ScalarVariable>"
        for v in unit.variables
    ]
    places = {v.name: k + 1 for k, v in enumerate(unit.variables)}
    structure = []
    for tag, found in zip(("Outputs", "InitialUnknowns"), _outputs(unit), strict=True):
        rows = "".join(f'<Unknown index="{places[v.name]}"/>' for v in found)
        if found:
            structure.append(f"    <{tag}>{rows}</{tag}>")
    return variables, structure
