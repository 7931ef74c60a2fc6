"""Arguments that several commands share, and the options of a command."""

import functools
import inspect
import io
import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import MISSING, dataclass, fields, is_dataclass, make_dataclass
from itertools import groupby
from pathlib import Path
from textwrap import fill
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import tyro
from tyro.conf import Positional, arg

from ..arguments import choice, one_of
from ..errors import ModelError, OptionError, counted, did_you_mean, worded
from ..model import catalogue
from ..model.check.model import check_model
from ..model.quantity import quantity
from ..model.schema import UNITS
from ..robot import Robot
from ..simulation.options import OPTIONS
from .printing import number, talk

FILES = ".toml, .urdf, .sdf, MJCF (.xml) or .xacro"
RobotName = Annotated[
    str, Positional, arg(metavar="ROBOT", help=f"Catalogue name, or path to a {FILES} file.")
]
RobotNames = Annotated[
    tuple[str, ...],
    Positional,
    arg(
        metavar="[ROBOT ...]",
        help=f"Catalogue names, or paths to {FILES} files.",
        help_behavior_hint="",
    ),
]
Time = Annotated[float, arg(metavar="SECONDS")]
Seconds = Annotated[float | None, arg(metavar="SECONDS", help_behavior_hint="")]
Word = Annotated[str, arg(metavar="NAME")]  # one of those that the help lists
CONTINUED = 8  # spaces before a line that goes on with the help of an argument
SAVED = (".toml", ".urdf")  # files of robots
RunXacro = Annotated[
    bool, arg(help="Run a .xacro file: a program, with your rights.", help_behavior_hint="")
]
Json = Annotated[bool, arg(help="Print JSON on stdout instead of tables.", help_behavior_hint="")]


def check_folders(*paths: Path | None) -> None:
    """Refuse an output file whose folder does not exist, before any computation."""
    for path in paths:
        if path is not None and not path.absolute().parent.is_dir():
            raise OptionError(f"there is no folder {str(path.parent)!r} for {path.name!r}")


def check_pictures(*paths: Path | None) -> None:
    """Refuse a picture or a report that cannot be written, before any computation."""
    check_folders(*paths)
    if any(path is not None for path in paths):
        from .. import plots  # noqa: F401  # says what is not installed


def options(run: Callable[..., int]) -> dict[str, Any]:
    """Every option of a command as it is typed, and the type of its value."""
    hints = get_type_hints(run, include_extras=True)
    found: dict[str, Any] = {}
    for one in inspect.signature(run).parameters.values():
        if one.kind is one.KEYWORD_ONLY:
            hint = hints[one.name]
            group = (*get_args(hint), hint)[0]  # maybe options that several commands share
            shared = is_dataclass(group)
            found |= get_type_hints(group, include_extras=True) if shared else {one.name: hint}
    return {"--help": bool} | {f"--{_spelt(name, hint)}": hint for name, hint in found.items()}


def _spelt(name: str, hint: Any) -> str:
    """The name of an option: its own, unless its annotation gives another."""
    if get_origin(hint) is Annotated:
        for note in get_args(hint)[1:]:
            if getattr(note, "name", None):
                return note.name
    return name.replace("_", "-")


def check_options(words: Sequence[str], known: Mapping[str, Any]) -> None:
    """Refuse options that do not exist, and values that are not among the words of an option."""
    for word, after in zip(words, [*words, "--"][1:], strict=True):
        name, given, value = word.partition("=")
        name = name.replace("_", "-")
        if not name.startswith("--"):
            continue
        one_of(name, known, f"option {name!r} does not exist")
        kind, value = _kind(known[name]), value if given else after
        if kind is bool and given:
            raise OptionError(
                f"{name} was given {value!r}, expected no value", f"write {name} alone"
            )
        if kind is bool or get_origin(kind) is tuple:
            continue
        if not given and value.startswith("--"):
            raise OptionError(f"{name} was given without a value")
        if get_origin(kind) is Literal:
            choice(value, name, get_args(kind))
        elif kind in (float, int):
            _number(value, name, kind)


def _kind(hint: Any) -> Any:
    """The type of an option's value, where it has one."""
    bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    kinds = [kind for kind in get_args(bare) if kind is not type(None)]
    return kinds[0] if get_origin(bare) in (Union, UnionType) and len(kinds) == 1 else bare


def _number(value: str, name: str, kind: type) -> None:
    try:
        kind(value)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise OptionError(f"{name} is {value!r}, expected {what}") from None


def parsed(run: Callable[..., int], name: str, words: list[str]) -> Callable[[], int]:
    """A command with its arguments; what tyro refuses is an error like all others."""
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)
    said = _Kept(sys.stderr)
    try:
        with redirect_stderr(said):
            made = tyro.cli(quiet(run), prog=f"dynamis {name}", args=words, config=config)
    except SystemExit as end:
        if not end.code:
            raise
        what = _unboxed(said.getvalue())
        rest = what.removeprefix("unrecognized options: ")
        if rest != what and not any(word.startswith("-") for word in rest.split()):
            what = f"unexpected argument: {rest}"
        raise OptionError(what, f"see dynamis {name} --help") from None
    sys.stderr.write(said.getvalue())
    return made


def _unboxed(text: str) -> str:
    """What tyro says in a box, or under a line: its first paragraph behind the title."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()[1:]
    lines = [line.strip("│╰╯ ") for line in plain]
    paragraphs = [
        list(group) for full, group in groupby(lines, lambda x: bool(x.strip("─-"))) if full
    ]
    said = " ".join(paragraphs[0]).removesuffix(" (required)") if paragraphs else text.strip()
    return said[:1].lower() + said[1:]


def quiet(run: Callable[..., int]) -> Callable[..., Callable[[], int]]:
    """A command to be called later, whose help does not show the defaults None and False."""

    @functools.wraps(run)
    def command(*arguments: Any, **named: Any) -> Callable[[], int]:
        return functools.partial(run, *arguments, **named)

    signature, nothing = inspect.signature(run), arg(help_behavior_hint="")
    command.__annotations__ = get_type_hints(run, include_extras=True)
    for name, parameter in signature.parameters.items():
        if parameter.default is None or parameter.default is False:
            command.__annotations__[name] = Annotated[command.__annotations__[name], nothing]
    command.__dict__ |= {"__signature__": signature}
    command.__doc__ = _paragraphs(run.__doc__ or "")
    del command.__wrapped__  # tyro would look at that one
    return command


def _paragraphs(text: str) -> str:
    """A docstring with every paragraph, and the help of every argument, on a line of its own."""
    result: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        before = result[-1] if result else ""
        indent = len(line) - len(line.lstrip())
        goes_on = indent >= CONTINUED or (indent == 0 and before[:1] not in ("", " "))
        if line and goes_on:
            result[-1] = f"{before} {line.strip()}"
        else:
            result.append(line)
    return "\n".join(result)


@contextmanager
def wrapped_help() -> Iterator[None]:
    """Help whose paragraphs end at the width of the terminal: tyro wraps nothing but its boxes."""
    out, width = sys.stdout, shutil.get_terminal_size().columns
    kept = _Kept(out)
    try:
        with redirect_stdout(kept):
            yield
    finally:
        for line in re.sub("\n{3,}", "\n\n", kept.getvalue()).splitlines():
            prose = line[:1].isalpha() and len(line) > width
            print(fill(line, width, break_on_hyphens=False) if prose else line, file=out)


class _Kept(io.StringIO):
    """Text for a stream, with its colours and letters."""

    def __init__(self, stream: Any):
        super().__init__()
        self.stream = stream

    @property
    def encoding(self) -> Any:
        return getattr(self.stream, "encoding", None)

    def isatty(self) -> bool:
        return self.stream.isatty()


def warn_of_findings(arm: Robot, given: str, quick: bool = False) -> None:
    """Say in one line that the description has errors; of a file of one's own warnings too.

    `quick` leaves out what needs compiled numbers, as loops do: they take seconds to be checked.
    """
    findings = check_model(arm.model) if quick or arm.model.closures else arm.check()
    levels = ("error",) if given in catalogue.names() else ("error", "warning")
    count = Counter(finding.level for finding in findings)
    found = [counted(count[level], level) for level in levels if count[level]]
    if found:
        run = " --run-xacro" if given.lower().endswith(".xacro") else ""
        talk(f"warning: check reports {worded(found)}: dynamis check {given}{run}")


# options of a simulation on the command line

METAVARS = {"s": "SECONDS", str: "NAME", str | None: "NAME", float: "NUMBER"}  # by unit, else kind


def simulation_options(names: Sequence[str]) -> Any:
    """A group of options of a simulation, with their defaults and help; `vars` gives the values."""
    found = []
    for one in map(OPTIONS.__getitem__, names):
        kind = str | None if one.kind is Any else one.kind  # a word, if anything is
        hint = "" if one.default is None or one.default is False else None
        metavar = METAVARS.get(one.unit, METAVARS.get(kind))
        about = arg(metavar=metavar, help=one.help, help_behavior_hint=hint)
        found.append((one.name, Annotated[kind, about], one.default))
    return Annotated[make_dataclass("Simulation", found, frozen=True), arg(name="")]


# joint positions on the command line: a configuration's name, or numbers as people write them

Place = Annotated[str | None, arg(metavar="PLACE")]
Numbers = Annotated[str | None, arg(metavar="NUMBER,..", help_behavior_hint="")]

TURNS = 4.0 * math.pi  # rad; further round is more likely given in degrees
DECIMAL = re.compile(r"[-+]?\d+(?:[,.]\d+)?(?:deg|°)?")
UNIT = re.compile(r"\s+(deg|°)")
NUMBER = re.compile(r"(?:[-+.\d(]|pi\b|π)[-+.\d,*/()eEpiπ]*(?:\s*(?:deg|°))?,?|deg,?|°,?")


def joined(words: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The words of a command, with `--goal 1 -0.8` as `--goal=1 -0.8`: one word, no option."""
    result: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        taken: list[str] = []
        if options.get(word) in (Place, Numbers):
            while rest and NUMBER.fullmatch(rest[0]):
                taken.append(rest.pop(0))
        result.append(f"{word}={' '.join(taken)}" if taken else word)
    return result


def place(arm: Robot, given: str | None, name: str) -> np.ndarray:
    """Positions from the name of a configuration, or from numbers.

    Of a closed mechanism numbers of the drives are enough: it is led there from its home.
    """
    if given is None:
        return np.array(arm.home)
    if given in arm.configurations:
        return np.asarray(arm.configurations[given], dtype=float)
    hint = "this robot has no named configurations: give numbers, or add [configurations] to its "
    hint = did_you_mean(given, arm.configurations) if arm.configurations else f"{hint}file"
    if arm.model.closures:
        return _closed_place(arm, given, name, hint)
    q = joint_numbers(arm, given, name, " or a configuration", hint)
    kinds = arm.joint_kinds
    for joint, kind, value in zip(arm.joint_names, kinds, q, strict=True):
        if kind == "revolute" and abs(value) > TURNS:
            turns, degrees = f"{abs(value) / math.tau:.0f} turns", f"{number(value)}deg"
            talk(
                f"warning: {name} of {joint} is {number(value)} rad, {turns}: degrees? "
                f"write {degrees}"
            )
    return q


def _closed_place(arm: Robot, given: str, name: str, hint: str | None) -> np.ndarray:
    """All joints of a closed mechanism from numbers of all, or of those that decide the others."""
    from ..ik.follow import follow

    drives = [arm.joint_names[k] for k in arm.independent]
    expected = f"{arm.dof} numbers ({', '.join(drives)}), {arm.n} of all joints"
    numbers = listed(given, f"{expected}, or a configuration", name, hint)
    if len(numbers) == arm.n:
        _refuse_degrees(arm, range(arm.n), given, name)
        return np.array(numbers)
    if len(numbers) != arm.dof:
        raise OptionError(f"{name} has {counted(len(numbers), 'number')}, expected {expected}")
    _refuse_degrees(arm, arm.independent, given, name)
    q, reason = follow(arm, arm.home, np.array(numbers))
    if reason:
        raise OptionError(f"{name} is {given}, which the drives do not reach from home: {reason}")
    return q


def joint_numbers(
    arm: Robot, given: str, name: str, other: str = "", hint: str | None = None
) -> np.ndarray:
    """One number per joint; `other` says what else could have been given."""
    example = ",".join(f"{0.1 * (i + 1):.1f}" for i in range(arm.n))
    numbers = listed(given, f"{counted(arm.n, 'number')} such as {example}{other}", name, hint)
    if len(numbers) != arm.n:
        raise OptionError(
            f"{name} has {counted(len(numbers), 'number')}, expected {arm.n}: "
            f"{', '.join(arm.joint_names)}",
            _with_points(given, arm.n, name) or f"such as --{name} {example}",
        )
    _refuse_degrees(arm, range(arm.n), given, name)
    return np.array(numbers)


def _with_points(given: str, count: int, name: str) -> str | None:
    """What to write if the numbers have decimal commas, and are `count` then: 0,5 0,3."""
    found = [word.strip(",") for word in given.split()]
    if len(found) != count or not all(DECIMAL.fullmatch(word) for word in found):
        return None
    points = " ".join(word.replace(",", ".") for word in found)
    return f"a comma separates numbers, decimals have a point: --{name} {points}"


def _refuse_degrees(arm: Robot, joints: Iterable[int], given: str, name: str) -> None:
    """Refuse an angle for a joint that slides."""
    for k, word in zip(joints, _separated(given), strict=True):
        if arm.joint_kinds[k] == "prismatic" and word.endswith(("deg", "°")):
            joint = arm.joint_names[k]
            raise OptionError(
                f"{name} of {joint} is {word}, expected metres: {joint} is prismatic",
                "give its position as a length, such as 0.1",
            )


def listed(given: str, expected: str, name: str, hint: str | None = None) -> list[float]:
    """Numbers with commas or spaces: 1.5, pi/2, 90deg."""
    try:
        found = [quantity(word, name) for word in _separated(given)]
    except ModelError:
        found = [None]
    if not all(isinstance(x, float) for x in found):
        raise OptionError(f"{name} is {given!r}, expected {expected}", hint)
    return found  # type: ignore[return-value]


def _separated(given: str) -> list[str]:
    """The numbers of a text, each with its unit."""
    return re.split(r"[,\s]+", UNIT.sub(r"\1", given.strip(" ,[]")))


# a controller on the command line: a law by name, and its gains

BANDWIDTH = 10.0  # rad/s, unless gains or another are given
GAINS = ("kp", "ki", "kd")
# name -> class of dy.control, and what is not its default
LAWS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "pid": ("JointPID", {"gravity": True, "derivative": "error"}),
    "point-to-point": ("PointToPoint", {}),
    "computed-torque": ("ComputedTorque", {}),
    "feed-forward": ("FeedForward", {}),
}
Law = Annotated[
    Literal["pid", "point-to-point", "computed-torque", "feed-forward"] | None,
    arg(help_behavior_hint=""),
]


@dataclass(frozen=True)
class Control:
    """A control law and its gains.

    Args:
        controller: Control law: pid (with gravity compensation and the derivative of the error; in
            Python JointPID(..., gravity=True, derivative="error")), point-to-point,
            computed-torque or feed-forward.
        bandwidth: Bandwidth that the gains are computed for, rad/s (default: 10). One number for
            all joints, or one per joint; gains and limits too.
        kp: Proportional gains, instead of --bandwidth. Units: 1/s^2 for computed-torque and
            point-to-point, N m/rad (prismatic: N/m) for pid and feed-forward.
        ki: Integral gains of pid and computed-torque; the unit of kp divided by s (default: 0).
        kd: Derivative gains; the unit of kp times s.
        torque_limit: Largest torque of every joint, N m (prismatic: N); integral action stops
            there (default: no limit).
        sample_time: Time between two steps of the controller (default: that of the simulation;
            exported: 0.005).
    """

    controller: Law = None
    bandwidth: Numbers = None
    kp: Numbers = None
    ki: Numbers = None
    kd: Numbers = None
    torque_limit: Numbers = None
    sample_time: Seconds = None

    def law(self, arm: Robot, q: np.ndarray, usual: str | None = None) -> Any:
        """The controller that was asked for, or the `usual` one; gains from a bandwidth at q."""
        from .. import control

        name = self.controller or usual
        if name is None:
            self._refuse_gains()
            return None
        kind, options = LAWS[name]
        law, more = getattr(control, kind), dict(options)
        if self.torque_limit is not None:
            more["limit"] = self._values(arm, "torque_limit", name, law)
        gains = self._gains(arm, name, law)
        if gains:
            return law(**gains, **more)
        w = BANDWIDTH if self.bandwidth is None else self._values(arm, "bandwidth", name, law)
        if "q" in inspect.signature(law.from_bandwidth).parameters:  # gains are torques
            more["q"] = q
        return law.from_bandwidth(arm, w, **more)

    def words(self, law: Any, usual: str | None = None) -> str:
        """The law in words, with its bandwidth unless gains were given."""
        name = str(self.controller or usual).replace("-", " ")
        name += " with gravity compensation" * bool(getattr(law, "gravity", False))
        name += ", derivative of the error" * (getattr(law, "derivative", "") == "error")
        w = [BANDWIDTH] if self.bandwidth is None else listed(self.bandwidth, "", "bandwidth")
        told = f", bandwidth {', '.join(map(number, w))} rad/s"
        found = f"{name} ({gains_text(law)})" if self.given else name + told
        if self.torque_limit is None:
            return found
        return f"{found}, torque limit {', '.join(map(number, np.atleast_1d(law.limit)))}"

    @property
    def given(self) -> list[str]:
        """The gains that were given."""
        return [name for name in GAINS if getattr(self, name) is not None]

    def _gains(self, arm: Robot, name: str, law: Any) -> dict[str, Any]:
        """Gains by name, if they were given; refused if the law has no such gain or needs more."""
        if self.given and self.bandwidth is not None:
            raise OptionError(
                f"--bandwidth and --{self.given[0]} were both given",
                "gains are computed from the bandwidth, or given: leave one out",
            )
        for gain in self.given:
            if gain not in law.GAINS:
                raise OptionError(f"{name} has no gain {gain}", _own_gains(arm, name, law))
        found = {gain: self._values(arm, gain, name, law) for gain in self.given}
        needed = [x.name for x in fields(law) if x.name in GAINS and x.default is MISSING]
        missing = [gain for gain in needed if gain not in found]
        if found and missing:
            what = f"{name} was given {worded(found)} without {worded(missing)}"
            raise OptionError(what, _own_gains(arm, name, law))
        return found

    def _values(self, arm: Robot, option: str, name: str, law: Any) -> Any:
        """One number, or one per joint that is driven."""
        typed, n = option.replace("_", "-"), len(arm.driven)
        found = listed(getattr(self, option), f"one number, or {n} with commas", typed)
        if len(found) not in (1, n):
            raise OptionError(
                f"{typed} has {len(found)} numbers, expected 1 or {n}: "
                f"{', '.join(arm.joint_names[k] for k in arm.driven)}",
                _with_points(getattr(self, option), n, typed) or _own_gains(arm, name, law),
            )
        return found[0] if len(found) == 1 else tuple(found)

    def _refuse_gains(self) -> None:
        """Gains of no controller."""
        names = (*GAINS, "bandwidth", "torque_limit", "sample_time")
        for name in names:
            if getattr(self, name) is not None:
                typed = name.replace("_", "-")
                raise OptionError(
                    f"--{typed} was given without --controller", f"one of {', '.join(LAWS)}"
                )


ControlOptions = Annotated[Control, arg(name="")]  # without a prefix
NO_CONTROLLER = Control()


def _own_gains(arm: Robot, name: str, law: Any) -> str:
    """The gains of a law, and how many values each has."""
    own = worded(f"--{gain}" for gain in law.GAINS if gain in GAINS)
    n = len(arm.driven)
    example = ",".join(f"{100 - 10 * i:g}" for i in range(min(n, 6))) if n <= 6 else "100"
    return f"gains of {name} are {own}: 1 value, or {n} as in --kp {example}; or --bandwidth"


def gains_text(law: Any) -> str:
    """kp 100, 80; kd 20"""
    rows = ((name, np.atleast_1d(getattr(law, name))) for name in GAINS if hasattr(law, name))
    return "; ".join(f"{name} {', '.join(map(number, x))}" for name, x in rows)


def units(robot: Robot) -> tuple[str, str]:
    """Of positions and efforts: rad and N m, m and N, or both."""
    named = [units for kind, units in UNITS.items() if kind in robot.joint_kinds]
    position, effort = (" or ".join(x[what] for x in named) for what in ("position", "torque"))
    return position, effort


def words(given: str | None) -> list[str] | None:
    """Words with commas between them; None if there is no text."""
    return None if given is None else [x.strip() for x in given.split(",") if x.strip()]


def passive_names(given: str, arm: Robot) -> str | list[str]:
    """A word for passive joints, or a list of them."""
    names = words(given)
    return names if names and names[0] in arm.joint_names else given
