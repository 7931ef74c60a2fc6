"""`dy.export_fmu`: an arm or a controller as a co-simulation unit of FMI 3.0 or 2.0.

The value reference of a variable is its place among the model's values: 0 is time, then
parameters (FIXED), inputs (up to SETTABLE), outputs; INTEGER is the one that is an integer, 0 if
there is none. fmu.c holds an instance and every function of the standard, those that a unit does
not do with an error, around a model, fmu_arm.c or fmu_controller.c, of which

    model_reset(m), model_begin(m), model_step(m, t, length) -> NULL or what went wrong

is called with finite numbers, length >= 0, t not before m->r[0]. Types are declared there: no
header of the standard is needed. Whoever calls with NULL or with a wrong reference gets an error,
not a crash.
"""

import hashlib
import io
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from ... import templates
from ...arguments import Given, checked, choice, formerly, positive
from ...control.law import Law
from ...errors import DynamisError, OptionError
from ...export import c_branchless
from ...export.c_function import PRECISIONS, function, identifier, intro, literal, remarks
from ...export.export import model_hash, robot_file, vectors_of
from ...files import write, write_folder
from ...simulation.assembly import Assembly
from ...simulation.simulator import Simulator
from ..c_text import plain, refuse_jerk_from_outside, start_text, stem_of
from ..export import notes_of
from ..regenerate import SCRIPT, ingredients, options_of, repeatable
from . import motors

if TYPE_CHECKING:
    from ...robot import Robot

DEFAULT_STEP = 1e-3  # s
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-s")
# (system, machine) -> folder of the binary in FMI 2.0 and 3.0, and its suffix
PLATFORMS = {
    ("Linux", "x86_64"): ("linux64", "x86_64-linux", ".so"),
    ("Linux", "aarch64"): ("linux64", "aarch64-linux", ".so"),
    ("Darwin", "x86_64"): ("darwin64", "x86_64-darwin", ".dylib"),
    ("Darwin", "arm64"): ("darwin64", "aarch64-darwin", ".dylib"),
}
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # of every file inside: the same input gives the same bytes
RESOURCES = "resources"
AGAIN = f"Again: python {RESOURCES}/{SCRIPT} FOLDER, in the unpacked unit"
ALLOCATES = "One allocation for every instance; no globals."
DOUBLE = PRECISIONS["float64"]
UNITS = {"revolute": ("rad", "rad/s", "rad/s2", "N.m"), "prismatic": ("m", "m/s", "m/s2", "N")}
BASE = {
    "s": {"s": 1}, "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1}, "rad/s2": {"rad": 1, "s": -2},
    "m": {"m": 1}, "m/s": {"m": 1, "s": -1}, "m/s2": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip
# what the two versions of the standard call the same thing
NAMES = {
    "3.0": {
        "FMI": "fmi3", "BOOLEAN": "bool", "REAL": "Float64", "WHOLE": "Int32", "BYTE": "uint8_t",
        "STATE": "FMUState", "READ": "Deserialize", "SIZE": ", size_t size",
        "OR_SIZE": " || size != count",
    },
    "2.0": {
        "FMI": "fmi2", "BOOLEAN": "int", "REAL": "Real", "WHOLE": "Integer", "BYTE": "char",
        "STATE": "FMUstate", "READ": "DeSerialize", "SIZE": "", "OR_SIZE": "",
    },
}  # fmt: skip


def _law_first(given: tuple[Any, ...], named: dict[str, Any]) -> Given | None:
    """A call (law, path, ...) as (robot, path, ..., law=law); `what` was the first's name."""
    by_name = not given and "what" in named
    if by_name:
        given, named = (named["what"],), {k: v for k, v in named.items() if k != "what"}
    if given and isinstance(given[0], Law) and "law" not in named:
        return (given[0].robot, *given[1:]), {**named, "law": given[0]}
    return (given, named) if by_name else None


@checked
@formerly(_law_first)
def export_fmu(
    robot: "Robot",
    path: str | Path,
    fmi: str = "3.0",
    dt: float | None = None,
    overwrite: bool = False,
    stops: bool = False,
    *,
    law: Law | None = None,
) -> Path:
    """Write a co-simulation unit of a robot (tau to q, qd) or its `law` (q, qd, reference to tau).

    The arm is that of `dy.simulate`, bit for bit: friction holds, drives have limits and losses,
    and with `stops` so have joints. It takes the steps of `dy.simulate`, of at most `dt` (1 ms);
    the controller has its sample time. Motors of elastic joints are outputs too, and start in
    static equilibrium at q0, or `motor_offset0` and `motor_rate_offset0` beside it. The
    unit holds its C source, the binary of this machine, made with the system's C compiler, and in
    resources/ the robot as TOML with a script that writes the unit again. A file that is no unit
    of dynamis is replaced only with `overwrite`.
    """
    choice(fmi, "fmi", NAMES)
    target = Path(path)
    if target.suffix != ".fmu":
        raise OptionError(f"path is {str(path)!r}, expected a file name that ends in .fmu")
    content = packed(_unit(robot, law, fmi, dt, stops), fmi)
    return write_folder(target.parent, {target.name: content}, overwrite)[0]


def _unit(robot: "Robot", law: Law | None, fmi: str, dt: Any, stops: bool) -> "Unit":
    if law is not None:
        if law.robot != robot:
            raise OptionError(
                f"law was made with another robot {law.robot.name!r} than the one given, "
                f"{robot.name!r}",
                "give law.robot, or a law of this robot",
            )
        if dt is not None:
            raise OptionError(f"dt is {dt!r}, but a controller has its sample time", "leave dt out")
        if stops:
            raise OptionError("stops is True, but a controller has none", "leave stops out")
        return law_unit(law, fmi)
    step = positive(DEFAULT_STEP if dt is None else dt, "dt", "seconds")
    if not robot.model.closures:  # what cannot move was refused when its loops were found
        robot._refuse_singular(np.linspace(0.1, 1.0, robot.n))
    return arm_unit(robot, Simulator(robot, step, stops=stops).assembly, fmi)


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


class Variables(list[Variable]):
    """Variables in the order of their value references; `values` is how many values there are."""

    def __init__(self) -> None:
        super().__init__([Variable("time", 0, "independent", "simulation time", "s")])
        self.values = 1

    def add(
        self, name: str, robot: "Robot", unit: int, about: str, causality: str,
        joints: Sequence[int], start: Any = None, by_joint: bool = False, **more: Any,
    ) -> int:  # fmt: skip
        """One for each of some joints, in unit 0 to 3 of its kind; the first's value reference.

        `start` is one value of all, or one for each; `by_joint` numbers them as all joints are.
        """
        first = self.values
        starts = start if isinstance(start, Sequence) else [start] * len(joints)
        for i, (joint, value) in enumerate(zip(joints, starts, strict=True)):
            text, kind = f"{about}, joint {robot.joint_names[joint]}", robot.joint_kinds[joint]
            own = f"{name}[{(joint if by_joint else i) + 1}]"
            self.one(own, text, causality, UNITS[kind][unit], start=value, **more)
        return first

    def one(self, name: str, about: str, causality: str, unit: str = "", **more) -> int:
        """A variable of its own."""
        self.append(Variable(name, self.values, causality, about, unit, **more))
        self.values += 1
        return self.values - 1


@dataclass(frozen=True)
class Unit:
    """A model with its variables and where it comes from, ready to be printed and packed."""

    stem: str
    name: str
    about: str
    step: float
    variables: Sequence[Variable]
    values: int
    states: int
    code: str  # kernels, model_reset, model_begin, model_step
    model: str  # fingerprints
    program: str
    notes: Sequence[str]
    files: Mapping[str, str]  # of resources/: name -> text

    def source(self, fmi: str, token: str) -> str:
        """The whole unit as one file of C99."""
        of = {kind: [v.reference for v in self.variables if v.causality == kind]
              for kind in ("parameter", "input")}  # fmt: skip
        fixed = max(of["parameter"], default=0)
        return templates.filled(
            __package__,
            "fmu.c",
            **NAMES[fmi],
            FMI3=fmi == "3.0",
            VERSION=fmi,
            INTRO=intro(self.notes),
            TOKEN=token,
            VALUES=self.values,
            STATES=max(1, self.states),
            FIXED=fixed,
            SETTABLE=max(of["input"], default=fixed),
            INTEGER=next((v.reference for v in self.variables if v.integer), 0),
            MODEL=self.code,
        )


def arm_unit(robot: "Robot", plant: Assembly, fmi: str) -> Unit:
    """The arm: torques in, positions and velocities out, by the plant's steps of at most h."""
    v, n, dt, at = Variables(), robot.n, plant.s.dt, plant.slots.slices
    every, home = range(n), robot.home.tolist()
    fixed: dict[str, Any] = {"variability": "fixed"}
    v.add("q0", robot, 0, "position at the start", "parameter", every, home, **fixed)
    v.add("qd0", robot, 1, "velocity at the start", "parameter", every, 0.0, **fixed)
    h = v.one("h", "longest step of the integrator", "parameter", "s", start=dt, **fixed)
    start = motors.start_variables(v, robot, plant.plant.gears)
    tau = v.add("tau", robot, 3, "torque or force of the drive", "input", robot.active, 0.0)
    q = v.add("q", robot, 0, "position", "output", every)
    v.add("qd", robot, 1, "velocity", "output", every)
    seen = motors.output_variables(v, robot, plant.plant.gears)
    program = plant.plant_task.program()
    body = c_branchless.function(program, "plant_step", "float64")
    places = {name.upper(): at[name].start for name in ("direction", "command", "loss")}
    code = templates.filled(
        __package__, "fmu_arm.c", PLANT=body, N=n, N2=2 * n, H=h, Q=q, TAU=tau,
        DT=literal(dt, DOUBLE), LOSSES=plant.slots.sizes["loss"], **places,
        CLOSED=bool(robot.model.closures), PASSIVE=len(robot.active) < n, HOME=_filled(1, home),
        COMMANDS=_placed(at["command"].start, robot.active, tau),
        **motors.code(robot, plant, start, seen),
    )  # fmt: skip
    code = f"{c_branchless.helpers('float64', code)}\n{code}"
    stops = any(plant.s.stops)
    about = (
        f"{robot.name}: the arm, torques to positions and velocities, as dy.simulate has it. Rigid "
        "bodies, rotors, drives with their limits and losses, friction that holds, "
        f"{motors.about(plant.plant.gears)}{'joint stops' if stops else 'no joint stops'}. "
        f"{'Rosenbrock' if plant.s.tableau.gamma else 'Runge-Kutta'} steps of order "
        f"{plant.s.tableau.order}, torques held during a communication step."
    )
    stem, model = identifier(f"{robot.name}_arm"), model_hash(robot.chain)
    notes, files = _arm_origin(robot, stem, program, {"fmi": fmi, "dt": dt, "stops": stops})
    return Unit(
        stem, robot.name, about, dt, v, v.values, plant.slots.size, code, model, program.hash,
        notes, files,
    )  # fmt: skip


def _filled(first: int, values: Sequence[float]) -> str:
    """Lines that give values their starts."""
    rows = (f"    m->r[{first + i}] = {literal(x, DOUBLE)};" for i, x in enumerate(values))
    return "\n".join(rows)


def _placed(first: int, joints: Sequence[int], tau: int) -> str:
    """Lines that give the drives their torques."""
    return "\n".join(f"    x[{first + k}] = m->r[{tau + i}];" for i, k in enumerate(joints))


def _arm_origin(
    robot: "Robot", stem: str, program: Any, options: Mapping[str, Any]
) -> tuple[list[str], dict[str, str]]:
    """What a reader must know of an arm, and its resources: the robot as TOML, and a script."""
    from ... import __version__

    lines = [
        f"{robot.name}, the arm: generated by dynamis {__version__}.",
        AGAIN,
        f"Model {model_hash(robot.chain)[:16]}, program {program.hash[:16]}: {program.cost}.",
        f"Options: {', '.join(f'{name}={value!r}' for name, value in options.items())}",
        "",
        *vectors_of(robot.joint_names, 1),
        f"Gravity (free fall) {tuple(float(g) for g in robot.chain.gravity)}.",
        ALLOCATES,
    ]
    notes = [plain(line) for line in lines]
    given = {name.upper(): repr(value) for name, value in options.items()}
    given |= {"REMARKS": remarks(notes), "VERSION": __version__, "STEM": stem}
    script = templates.filled(__package__, "regenerate_arm.py.in", **given)
    return notes, {f"{stem}_robot.toml": robot_file(robot.model, notes), SCRIPT: script}


def law_unit(law: Law, fmi: str) -> Unit:
    """The controller: measurement and reference in, torques and a status out, every sample."""
    refuse_jerk_from_outside(law, "fmu")
    v, robot, kind = Variables(), law.robot, type(law.controller).__name__
    drives, home = robot.driven, [float(robot.home[k]) for k in robot.driven]
    q = v.add("q", robot, 0, "measured position", "input", drives, home)
    qd = v.add("qd", robot, 1, "measured velocity", "input", drives, 0.0)
    wanted = v.values
    if law.reference is None:
        for unit, name in enumerate(("q_ref", "qd_ref", "qdd_ref")):
            v.add(name, robot, unit, "reference", "input", drives, home if unit == 0 else 0.0)
    held = {"start": 0.0, "variability": "discrete"}
    tau = v.add("tau", robot, 3, "torque or force for the drive", "output", drives, **held)
    says = "0 running, 1 bad sample, 2 safe until reset"
    status = v.one("status", says, "output", integer=True, **held)
    code = templates.filled(
        __package__,
        "fmu_controller.c",
        START=start_text(law, "law_start", _static, "float64"),
        HOME=f"{_filled(q, home)}\n{_filled(wanted, home) if law.reference is None else ''}",
        CLOSED=bool(robot.model.closures),
        SAMPLE=function(law.program(), "law_sample", DOUBLE),
        SAMPLE_TIME=literal(law.sample_time, DOUBLE),
        STATES=law.states,
        INSIDE=law.reference is not None,
        **{"Q": q, "QD": qd, "WANTED": wanted, "TAU": tau, "STATUS": status},
    )
    about = (
        f"{kind} of {robot.name}: measurements and reference to torques, "
        f"one sample every {law.sample_time:g} s; inputs are read at the start of a communication "
        "step, torques stand at its end."
    )
    used = [x for x in v if law.velocity == "measured" or not x.name.startswith("qd[")]
    notes = [_of_unit(line, law, fmi) for line in notes_of(law, "float64", "libm", "fmu")]
    files = ingredients(law, stem_of(law), {**options_of(law), "target": "fmu", "fmi": fmi}, notes)
    model = model_hash((law.controller.model or robot).chain)
    return Unit(
        stem_of(law), f"{kind} of {robot.name}", about, law.sample_time, used, v.values, law.states,
        code, model, law.program().hash, notes, files,
    )  # fmt: skip


def _static(program: Any, name: str) -> str:
    return f"static {function(program, name, DOUBLE)}"


def _of_unit(line: str, law: Law, fmi: str) -> str:
    """A note of a controller's C as it holds for its unit, whose variables count from 1."""
    here, there = (plain(vectors_of(law.robot.drive_names, first)[1]) for first in (0, 1))
    if line.startswith("Again:") and repeatable(law):
        return AGAIN
    if line.startswith("No allocation"):
        return ALLOCATES
    if line.startswith("Options:"):
        return f"{line}, fmi={fmi!r}"
    return there if line == here else line


def packed(unit: Unit, fmi: str) -> bytes:
    """The zip file; its token is the fingerprint of the source and of what describes it.

    In resources/ lies what makes it again: robot, model, trajectory, a script.
    """
    draft = unit.source(fmi, "") + description(unit, fmi, "")
    token = hashlib.sha256(draft.encode()).hexdigest()
    source = unit.source(fmi, token)
    folder, suffix = _platform(fmi)
    files = {
        "modelDescription.xml": description(unit, fmi, token).encode(),
        f"sources/{unit.stem}.c": source.encode(),
        f"binaries/{folder}/{unit.stem}{suffix}": _compiled(unit.stem, source),
        **{f"{RESOURCES}/{name}": text.encode() for name, text in unit.files.items()},
    }
    if fmi == "3.0":
        text = templates.filled(__package__, "buildDescription.xml", STEM=unit.stem)
        files["sources/buildDescription.xml"] = text.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = "\n".join(unit.notes[:2]).encode()
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def _platform(fmi: str) -> tuple[str, str]:
    here = (platform.system(), platform.machine())
    if here not in PLATFORMS:
        known = ", ".join(" ".join(p) for p in PLATFORMS)
        raise OptionError(f"no FMU can be built on {' '.join(here)}", f"use one of {known}")
    old, new, suffix = PLATFORMS[here]
    return (new if fmi == "3.0" else old), suffix


def _compiled(stem: str, source: str) -> bytes:
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        raise OptionError("an FMU needs a C compiler, and none was found", "install gcc or clang")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / f"{stem}.c", source)
        command = [compiler, *FLAGS, f"{stem}.c", "-o", "library", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DynamisError(f"the C compiler refused the FMU: {done.stderr.strip()[:500]}")
        return (Path(folder) / "library").read_bytes()


def description(unit: Unit, fmi: str, token: str) -> str:
    """modelDescription.xml: what a unit says about itself."""
    from ... import __version__

    used = {v.unit for v in unit.variables}
    units = [
        f"    <Unit name={quoteattr(name)}><BaseUnit {_attributes(powers)}/></Unit>"
        for name, powers in BASE.items() if name in used
    ]  # fmt: skip
    return templates.filled(
        __package__,
        "modelDescription.xml",
        FMI=fmi,
        FMI3=fmi == "3.0",
        VERSION=__version__,
        TOKEN=token,
        STEM=unit.stem,
        NAME=_quoted(unit.name),
        ABOUT=_quoted(unit.about),
        STEP=repr(unit.step),
        UNITS="\n".join(units),
        VARIABLES="\n".join(_element(v, fmi) for v in unit.variables),
        STRUCTURE="\n".join(_structure(unit.variables, fmi)),
        MODEL=unit.model,
        PROGRAM=unit.program,
        NOTES="\n".join(f"      <Note>{escape(_line(x))}</Note>" for x in unit.notes if x),
    )


def _line(text: str) -> str:
    """`text` on one line, of characters that XML may hold."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _quoted(text: Any) -> str:
    return quoteattr(_line(str(text)))


def _attributes(words: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={_quoted(word)}" for name, word in words.items() if word != "")


def _element(v: Variable, fmi: str) -> str:
    exact = v.causality == "parameter" or v.start is not None
    initial = "" if v.causality in ("independent", "input") else "exact" if exact else "calculated"
    common = {
        "name": v.name, "valueReference": v.reference, "causality": v.causality,
        "variability": v.variability, "description": v.about, "initial": initial,
    }  # fmt: skip
    start = "" if v.start is None else str(int(v.start)) if v.integer else repr(v.start)
    typed = {"start": start, "unit": v.unit}
    kind = NAMES[fmi]["WHOLE" if v.integer else "REAL"]
    if fmi == "3.0":
        return f"    <{kind} {_attributes(common | typed)}/>"
    inside = f"<{f'{kind} {_attributes(typed)}'.rstrip()}/>"
    return f"    <ScalarVariable {_attributes(common)}>{inside}</ScalarVariable>"


def _structure(variables: Sequence[Variable], fmi: str) -> list[str]:
    """All outputs, then those whose value at the start is calculated."""
    outputs = {k: v for k, v in enumerate(variables, 1) if v.causality == "output"}
    unknown = {k: v for k, v in outputs.items() if v.start is None}
    both = {"Output": outputs, "InitialUnknown": unknown}
    if fmi == "3.0":
        return [
            f'    <{tag} valueReference="{v.reference}"/>'
            for tag, found in both.items() for v in found.values()
        ]  # fmt: skip
    rows = {tag: "".join(f'<Unknown index="{k}"/>' for k in found) for tag, found in both.items()}
    return [f"    <{tag}s>{row}</{tag}s>" for tag, row in rows.items() if row]
