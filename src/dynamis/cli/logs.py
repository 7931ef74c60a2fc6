"""Logs on the command line: their files, and the options by which they are read."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from ..errors import FileError, OptionError
from ..model.check.finding import Finding
from ..robot import Robot
from .arguments import Numbers, Seconds, listed, words
from .printing import in_terminal, talk

KINDS = ".csv, .npz, .mat, .parquet, or bags of ROS: .mcap, .db3, .bag or a folder."
Span = Annotated[str | None, arg(metavar="START,STOP", help_behavior_hint="")]
Pairs = Annotated[str | None, arg(metavar="NAME=WHAT,..", help_behavior_hint="")]
Topic = Annotated[str | None, arg(metavar="NAME[,NAME]", help_behavior_hint="")]


@dataclass(frozen=True)
class Reading:
    """How the logs of a command are read.

    Args:
        columns: Columns of t, q, qd, tau, current, motor_q, .. in the logs: a name, a pattern such
            as pos_*, several names with commas, or numbers of columns from 0 if there is no header.
            Nothing after = leaves a signal out.
        units: Units other than SI, such as q=deg,t=ms.
        sample_time: Time between samples, if the logs have no time stamps.
        topic: Topic of the joint states in a ROS bag, if it has several. If the joint states have
            no efforts, two topics with a comma: that of the positions, that of the efforts.
    """

    columns: Pairs = None
    units: Pairs = None
    sample_time: Seconds = None
    topic: Topic = None

    def log(self, path: Path, robot: Robot, window: Any = None, **more: Any) -> Any:
        """A log of a robot."""
        from ..logs.read import read_log

        topics = words(self.topic) or []
        asked = {
            "columns": pairs(self.columns, "columns"),
            "units": pairs(self.units, "units"),
            "sample_time": self.sample_time,
            "topic": topics if len(topics) > 1 else self.topic,
        }
        return read_log(path, window=window, robot=robot, **asked | more)


@dataclass(frozen=True)
class TorqueReading(Reading):
    """Of logs whose torques may be currents.

    Args:
        gains: Drive gains (N m/A at the joint), one per joint, if the logs contain currents.
    """

    gains: Numbers = None

    def log(self, path: Path, robot: Robot, window: Any = None, **more: Any) -> Any:
        """A log of a robot, in torques."""
        gains = None if self.gains is None else listed(self.gains, "numbers", "gains")
        return super().log(path, robot, window, drive_gains=gains, **more)


Options = Annotated[Reading, arg(name="")]  # without a prefix
TorqueOptions = Annotated[TorqueReading, arg(name="")]
AS_RECORDED, IN_SI = Reading(), TorqueReading()


def existing(*paths: Path | None) -> None:
    """Refuse files that are not there."""
    for path in paths:
        if path is not None and not path.exists():
            raise FileError(f"there is no file {str(path)!r}")


def say(findings: Iterable[Finding]) -> None:
    """Findings on stderr, in the words of the command line."""
    for finding in findings:
        talk(in_terminal(str(finding)))


def pairs(given: str | None, name: str) -> dict[str, Any] | None:
    """a=x,b=y,z as {a: x, b: [y, z]}; nothing after = is None."""
    if given is None:
        return None
    found: dict[str, list[Any]] = {}
    last: list[str] | None = None
    for part in given.split(","):
        key, equals, value = (x.strip() for x in part.partition("="))
        if equals and key in found:
            raise OptionError(f"{name} gives {key!r} twice")
        if equals:
            last = found[key] = [value] if value else []
        elif last is None or not key:
            raise OptionError(
                f"{name} is {given!r}, expected NAME=WHAT with commas",
                'such as --columns "t=time,q=pos_*" or --units "q=deg"',
            )
        else:
            last.append(key)
    if name == "units":
        found = {k: [_number_or_text(x) for x in v] for k, v in found.items()}
    return {k: None if not v else v[0] if len(v) == 1 else v for k, v in found.items()}


def _number_or_text(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def span(given: str | None, name: str) -> tuple[float | None, float | None] | None:
    """START,STOP in seconds, either end open."""
    if given is None:
        return None
    ends = given.split(",")
    if len(ends) != 2 or any(len(x.split()) > 1 for x in ends):
        raise OptionError(
            f"{name} is {given!r}, expected START,STOP in seconds", "such as 1.5,20, or 1.5,"
        )
    start, stop = (listed(x, "seconds", name)[0] if x.strip() else None for x in ends)
    return start, stop
