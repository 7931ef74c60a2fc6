"""Logs on the command line: their files, and the options by which they are read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg

from ..errors import FileError, OptionError
from ..model.check.finding import Finding
from ..robot import Robot, load
from .arguments import Numbers, Seconds, listed, words
from .printing import in_terminal, talk

KINDS = ".csv, .npz, .mat, .parquet, or bags of ROS: .mcap, .db3, .bag or a folder."
FOLDER = "A folder of logs stands for all of them."
Span = Annotated[str | None, arg(metavar="START,STOP", help_behavior_hint="")]
Pairs = Annotated[str | None, arg(metavar="NAME=WHAT,..", help_behavior_hint="")]
Names = Annotated[str | None, arg(metavar="NAME,..", help_behavior_hint="")]
Name = Annotated[str | None, arg(metavar="NAME", help_behavior_hint="")]
Topic = Annotated[str | None, arg(metavar="NAME[,NAME]", help_behavior_hint="")]


@dataclass(frozen=True)
class Reading:
    """How the robot and the logs of a command are read.

    Args:
        joints: Joints of the robot to keep, names or patterns such as left_*; the others are held
            at --lock, or at 0. Names that the robot has not are the joints of the logs, in the
            robot's order; numbers count them from 0.
        lock: Joints of a URDF, SDF or MJCF that are held at a value, such as finger=0.02.
        tip: Link that carries the tool (default: the last one).
        columns: Columns of t, q, qd, tau, current, motor_q, motor, .. in the logs: a name, a
            pattern such as pos_*, several names with commas, or numbers of columns from 0
            if there is no header. Nothing after = leaves a signal out.
        units: Units other than SI, such as q=deg,t=ms; tau=-1 turns all signs around, tau=1,-1,1
            that of the second joint.
        sample_time: Time between samples, if the logs have no time stamps.
        topic: Topic of the joint states in a ROS bag, if it has several. If the joint states have
            no efforts, two topics with a comma: that of the positions, that of the efforts.
    """

    joints: Names = None
    lock: Pairs = None
    tip: Name = None
    columns: Pairs = None
    units: Pairs = None
    sample_time: Seconds = None
    topic: Topic = None

    def robot(self, name: str, run_xacro: bool = False) -> Robot:
        """The robot with the joints that were asked for."""
        held = pairs(self.lock, "lock") or {}
        empty = next((joint for joint, value in held.items() if not isinstance(value, str)), None)
        if empty is not None:
            raise OptionError(f"lock gives {empty!r} no value", "such as --lock finger=0.02")
        asked: dict[str, Any] = {"tip": self.tip, "lock": held or None, "run_xacro": run_xacro}
        arm = load(name, **asked)
        mine = self._of(arm)
        return load(name, joints=mine, **asked) if mine else arm

    def _of(self, robot: Robot) -> list[str]:
        """The names and patterns of --joints, if all are of this robot."""
        asked = words(self.joints) or []
        known = [any(fnmatchcase(name, x) for name in robot.joint_names) for x in asked]
        return asked if all(known) else []

    def log(self, path: Path, robot: Robot, window: Any = None, **more: Any) -> Any:
        """A log of a robot."""
        from ..logs.read import read_log

        return read_log(path, window=window, robot=robot, **self._asked(robot) | more)

    def logs(self, paths: Sequence[Path], robot: Robot, window: Any = None) -> list[Any]:
        """The logs of files and folders; all that cannot be read are named at once."""
        from ..logs.folder import read_logs

        return read_logs(paths, window=window, robot=robot, **self._asked(robot))

    def _asked(self, robot: Robot) -> dict[str, Any]:
        """Options of `read_log`."""
        topics = words(self.topic) or []
        theirs = [] if self._of(robot) else words(self.joints) or []
        places = all(x.isdecimal() for x in theirs)
        return {
            "joints": [int(x) if places else x for x in theirs] or None,
            "columns": pairs(self.columns, "columns"),
            "units": pairs(self.units, "units"),
            "sample_time": self.sample_time,
            "topic": topics if len(topics) > 1 else self.topic,
        }


@dataclass(frozen=True)
class TorqueReading(Reading):
    """Of logs whose torques may be currents.

    Args:
        gains: Drive gains (N m/A at the joint), one per joint, if the logs contain currents.
    """

    gains: Numbers = None

    def _asked(self, robot: Robot) -> dict[str, Any]:
        gains = None if self.gains is None else listed(self.gains, "numbers", "gains")
        return super()._asked(robot) | {"drive_gains": gains}


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
