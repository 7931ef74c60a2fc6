"""Arguments that several commands share, and the options of a command."""

import functools
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
from tyro.conf import Positional, arg

from ..errors import ModelError, OptionError, did_you_mean
from ..model.quantity import quantity
from ..robot import Robot
from .printing import counted, number, talk

FILES = ".toml, .urdf, .sdf or MJCF (.xml)"
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
SAVED = (".toml", ".urdf")  # files of robots
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


def quiet(run: Callable[..., int]) -> Callable[..., int]:
    """A command whose help does not show the defaults None and False."""

    @functools.wraps(run)
    def command(*arguments: Any, **named: Any) -> int:
        return run(*arguments, **named)

    signature, nothing = inspect.signature(run), arg(help_behavior_hint="")
    command.__annotations__ = get_type_hints(run, include_extras=True)
    for name, parameter in signature.parameters.items():
        if parameter.default is None or parameter.default is False:
            command.__annotations__[name] = Annotated[command.__annotations__[name], nothing]
    command.__dict__ |= {"__signature__": signature}
    del command.__wrapped__  # tyro would look at that one
    return command


# joint positions on the command line: a configuration's name, or numbers as people write them

Place = Annotated[str | None, arg(metavar="PLACE")]
Numbers = Annotated[str | None, arg(metavar="NUMBER,..", help_behavior_hint="")]

TURNS = 4.0 * math.pi  # rad; further round is more likely given in degrees
UNIT = re.compile(r"\s+(deg|°)")
NUMBER = re.compile(r"(?:[-+.\d(]|pi\b)[-+.\d,*/()eEpi]*(?:\s*(?:deg|°))?,?|deg,?|°,?")


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
        return np.array(numbers)
    if len(numbers) != arm.dof:
        raise OptionError(f"{name} has {counted(len(numbers), 'number')}, expected {expected}")
    q, reason = follow(arm, arm.home, np.array(numbers))
    if reason:
        raise OptionError(f"{name} is {given}, which the drives do not reach from home: {reason}")
    return q


def joint_numbers(
    arm: Robot, given: str, name: str, other: str = "", hint: str | None = None
) -> np.ndarray:
    """One number per joint; `other` says what else could have been given."""
    example = ",".join(f"{0.1 * (i + 1):.1f}" for i in range(arm.n))
    numbers = listed(given, f"{arm.n} numbers such as {example}{other}", name, hint)
    if len(numbers) != arm.n:
        raise OptionError(
            f"{name} has {counted(len(numbers), 'number')}, expected {arm.n}: "
            f"{', '.join(arm.joint_names)}",
            f"such as --{name} {example}",
        )
    return np.array(numbers)


def listed(given: str, expected: str, name: str, hint: str | None = None) -> list[float]:
    """Numbers with commas or spaces: 1.5, pi/2, 90deg."""
    words = re.split(r"[,\s]+", UNIT.sub(r"\1", given.strip(" ,[]")))
    try:
        found = [quantity(word, name) for word in words]
    except ModelError:
        found = [None]
    if not all(isinstance(x, float) for x in found):
        raise OptionError(f"{name} is {given!r}, expected {expected}", hint)
    return found  # type: ignore[return-value]


def units(robot: Robot) -> tuple[str, str]:
    """Of positions and efforts: rad and N m, m and N, or both."""
    kinds = robot.joint_kinds
    named = [("rad", "N m")] * ("revolute" in kinds) + [("m", "N")] * ("prismatic" in kinds)
    position, effort = (" or ".join(x) for x in zip(*named, strict=True))
    return position, effort


def passive_names(given: str, arm: Robot) -> str | list[str]:
    """A word for passive joints, or a list of them."""
    names = [x.strip() for x in given.split(",")]
    return names if names[0] in arm.joint_names else given
