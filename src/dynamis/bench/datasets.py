"""Data sets of the league: a robot, how its logs are read, motions to train on and to test on.

A definition is a file NAME.league.toml beside the logs, and data only: keys nobody knows are
refused, paths stay inside its folder, nothing is executed. Those of public data sets come with the
package, for a folder NAME that holds the logs.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from ..arguments import flag, is_list, is_whole, one_of, text
from ..errors import FileError, OptionError, counted, shown
from ..identify.friction.models import friction_named
from ..identify.identification import LAST_THIRD
from ..logs.log import Log
from ..logs.read import read_log
from ..model import catalogue
from ..model.drive import Drive
from ..model.formats.files import parsed_toml
from ..model.formats.tables import check_count, located, read_bytes
from ..robot import Robot, load
from ..trajectory.arguments import numbers

ENDING = ".league.toml"
SHIPPED = Path(__file__).parent / "data"
READ = (
    "columns",
    "units",
    "sample_time",
    "joints",
    "drive_gains",
    "gear_matrix",
    "offset",
    "topic",
)
MOTION = ("log", "rows", "window")
KEYS = (
    *("name", "robot", "friction", "rotors", "gear_matrix", "read", "train", "test"),
    *("test_from", "sha256"),
)
HASH = re.compile("[0-9a-f]{64}")
MOST_MOTIONS = 100  # of one data set
LAST = "last third"


@dataclass(frozen=True)
class LogMotion:
    """A part of a log: `rows` from 0, the last not included, then `window` in seconds."""

    path: Path
    rows: tuple[int | None, int | None] | None = None
    window: tuple[float | None, float | None] | None = None

    def read(self, robot: Robot, how: Mapping[str, Any]) -> Log:
        """The log of it."""
        return read_log(self.path, rows=self.rows, window=self.window, robot=robot, **how)


@dataclass(frozen=True, eq=False)
class Split:
    """The logs of a data set: fitted ones, and tests.

    Without tests the fitted one is the beginning of `whole`, whose last third is the test.
    """

    robot: Robot
    train: tuple[Log, ...]
    test: tuple[Log, ...]
    whole: Log | None = None

    @property
    def trained_on(self) -> str:
        """The fitted motions in words."""
        names = ", ".join(log.name for log in self.train)
        if self.whole is None:
            return names
        if round(len(self.whole) * LAST_THIRD) == len(self.train[0]):
            return f"{names}, first two thirds"
        return f"{names}, first {counted(len(self.train[0]), 'row')}"


@dataclass(frozen=True, eq=False)
class Dataset:
    """What a definition says."""

    name: str
    robot: str | Path
    friction: str
    rotors: bool | None
    gear_matrix: tuple[tuple[float, ...], ...] | None
    read: Mapping[str, Any]
    train: tuple[LogMotion, ...]
    test: tuple[LogMotion, ...]
    folder: Path
    test_from: int | None = None  # row of the only log at which the test begins
    sha256: Mapping[str, str] | None = None  # of every file, by its path in the folder

    def changed_files(self) -> list[str]:
        """What is to be said of every file that differs from the one of the protocol."""
        if self.sha256 is None:
            return []
        used = [self.robot] if isinstance(self.robot, Path) else []
        used += [motion.path for motion in (*self.train, *self.test)]
        said = []
        for path in dict.fromkeys(x for x in used if x.is_relative_to(self.folder)):
            name = path.relative_to(self.folder).as_posix()
            expected, found = self.sha256.get(name), file_hash(path)
            if expected is None:
                said.append(f"{name} is not in [sha256]: it has {found}")
            elif expected != found:
                said.append(f"{name} has SHA-256 {found[:12]}.., the protocol {expected[:12]}..")
        return said

    def split(self, ignore_hashes: bool = False) -> Split:
        """The robot and its logs, read once; files that differ are refused by name."""
        changed = [] if ignore_hashes else self.changed_files()
        if changed:
            raise FileError(
                "; ".join(changed),
                "fetch the files of the protocol, or ignore_hashes=True (--ignore-hashes)",
            )
        robot = _with_gears(load(self.robot), self.gear_matrix)
        train = tuple(motion.read(robot, self.read) for motion in self.train)
        test = tuple(motion.read(robot, self.read) for motion in self.test)
        if not test:
            early, late = self._parts(robot, train[0])
            return Split(robot, (early,), (replace(late, name=LAST),), train[0])
        for fitted, one in zip(self.train, train, strict=True):
            for unseen, other in zip(self.test, test, strict=True):
                if fitted.path == unseen.path and len(np.intersect1d(one.t, other.t)):
                    raise FileError(
                        f"{self.name}: {fitted.path.name}: rows to train on are among those to "
                        "test on",
                        "rows or window of [[train]] and [[test]] may not overlap",
                    )
        return Split(robot, train, test)

    def _parts(self, robot: Robot, log: Log) -> tuple[Log, Log]:
        """The only log in two: at the row that the protocol gives, else its last third."""
        if self.test_from is None:
            return log.split(LAST_THIRD)
        first, last = self.train[0].rows or (None, None)
        if self.test_from <= (first or 0) or (last is not None and self.test_from >= last):
            raise FileError(f"test_from is {self.test_from}, expected a row among those of the log")
        before = replace(self.train[0], rows=(first, self.test_from), window=None)
        k = int(np.searchsorted(log.t, before.read(robot, self.read).t[-1], side="right"))
        return log.rows(0, k), log.rows(k, None)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"{path.name} cannot be read: {error.strerror}") from None


def _with_gears(robot: Robot, matrix: Sequence[Sequence[float]] | None) -> Robot:
    """The robot with drives whose motors turn by `matrix` times the joints."""
    if matrix is None:
        return robot
    if len(matrix) != robot.n:
        raise FileError(
            f"gear_matrix has {len(matrix)} rows, robot {robot.name!r} {robot.n} joints"
        )
    model = robot.model
    ratios = [row[i] for i, row in enumerate(matrix)]
    links = tuple(
        replace(link, drive=replace(link.drive or Drive(), gear=ratio))
        for link, ratio in zip(model.links, ratios, strict=True)
    )
    return Robot(replace(model, links=links, gear_matrix=tuple(map(tuple, matrix))))


# definitions


def found_in(folders: Iterable[Path]) -> list[Dataset]:
    """Every data set of these folders and the folders in them, in the order of their names."""
    sets: dict[Path, Dataset] = {}
    for folder in folders:
        for near in _with_subfolders(folder):
            for path in _definitions(near):
                sets.setdefault(near / path.name, dataset(path, near))
    if not sets:
        names = ", ".join(path.name.removesuffix(ENDING) for path in _shipped())
        raise OptionError(
            f"no data set in {', '.join(map(str, folders))}",
            f"a file NAME{ENDING} beside your logs makes one; folders {names} with the logs of "
            "these arms need none",
        )
    return list(sets.values())


def _with_subfolders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise FileError(f"there is no folder {str(folder)!r}")
    here = folder.resolve()
    try:
        return [here, *sorted(x for x in here.iterdir() if x.is_dir())]
    except OSError as error:
        raise FileError(f"cannot look into {str(folder)!r}: {error.strerror}") from None


def _shipped() -> list[Path]:
    return sorted(SHIPPED.glob(f"*{ENDING}"))


def _definitions(folder: Path) -> Iterator[Path]:
    """Those in the folder; for one that has the name and a log of a public data set, that."""
    own = sorted(folder.glob(f"*{ENDING}"))
    yield from own
    for path in _shipped():
        named = path.name.removesuffix(ENDING) == folder.name
        if named and path.name not in [x.name for x in own]:
            table = parsed_toml(path.read_text(encoding="utf-8"))
            if all((folder / part["log"]).is_file() for part in table["train"]):
                yield path


def dataset(path: Path, folder: Path | None = None) -> Dataset:
    """The data set that a file defines; its logs lie in `folder`, beside it unless given."""
    folder = (path.parent if folder is None else folder).resolve()
    with located(path.name):
        try:
            given = parsed_toml(read_bytes(path).decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise FileError("is not UTF-8 text, expected a TOML file") from None
        _known(given, KEYS, "")
        read = _table(given.get("read", {}), "read")
        _known(read, READ, "in [read]")
        name = text(given.get("name", path.name.removesuffix(ENDING)), "name")
        friction = text(given.get("friction", "smooth"), "friction")
        if friction != "auto":
            friction_named(friction)
        train, test = (tuple(_motions(given, key, folder)) for key in ("train", "test"))
        if not train:
            raise FileError("there is no [[train]], expected at least one with a log")
        if test and "test_from" in given:
            raise FileError("there are test_from and [[test]]", "leave one of them out")
        if len(train) > 1 and not test:
            raise FileError(
                "there are several [[train]] and no [[test]]",
                f"one [[train]] alone is split, and its {LAST} is the test",
            )
        return Dataset(
            name=name,
            robot=_robot(given.get("robot"), (folder, path.parent.resolve())),
            friction=friction,
            rotors=flag(given["rotors"], "rotors") if "rotors" in given else None,
            gear_matrix=_matrix(given["gear_matrix"]) if "gear_matrix" in given else None,
            read=_options(read),
            train=train,
            test=test,
            folder=folder,
            test_from=_row(given["test_from"]) if "test_from" in given else None,
            sha256=_hashes(given["sha256"]) if "sha256" in given else None,
        )


def _known(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in given:
        one_of(key, known, f"{shown(key)} {where} is not a key".replace("  ", " "), FileError)


def _table(given: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise FileError(f"{name} is {shown(given)}, expected a table [{name}]")
    return given


def _options(read: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `read_log`: an empty text among the columns leaves a quantity out."""
    columns = {
        k: None if v == "" else v for k, v in _table(read.get("columns", {}), "columns").items()
    }
    return dict(read) | ({"columns": columns} if columns else {})


def _motions(given: Mapping[str, Any], key: str, folder: Path) -> Iterator[LogMotion]:
    parts = given.get(key, [])
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise FileError(f"{key} is {shown(parts)}, expected [[{key}]] with a log")
    check_count(len(parts), f"[[{key}]]", MOST_MOTIONS)
    for part in parts:
        _known(part, MOTION, f"in [[{key}]]")
        if "log" not in part:
            raise FileError(f"there is a [[{key}]] without log")
        path = _inside(part["log"], (folder,), "log")
        spans = [_span(part[x], x) if x in part else None for x in ("rows", "window")]
        yield LogMotion(path, *spans)


def _span(given: Any, name: str) -> tuple[Any, Any]:
    if not is_list(given) or len(given) != 2:
        raise FileError(f"{name} is {shown(given)}, expected [first, last]")
    return given[0], given[1]


def _row(given: Any) -> int:
    if not is_whole(given) or given < 2:
        raise FileError(f"test_from is {shown(given)}, expected a row of the log, from 2")
    return given


def _hashes(given: Any) -> dict[str, str]:
    """SHA-256 by file name."""
    for name, value in _table(given, "sha256").items():
        if not isinstance(value, str) or not HASH.fullmatch(value):
            raise FileError(
                f"sha256 of {shown(name)} is {shown(value)}, expected 64 digits of 0-9 and a-f",
                "sha256sum FILE prints them",
            )
    return dict(given)


def _robot(given: Any, folders: Sequence[Path]) -> str | Path:
    """A name of the catalogue, or a file."""
    if given is None:
        raise FileError(
            "there is no robot", 'robot = "panda", of the catalogue, or a file beside it'
        )
    if text(given, "robot") in catalogue.names():
        return given
    return _inside(given, folders, "robot")


def _inside(given: Any, folders: Sequence[Path], what: str) -> Path:
    """A file in one of the folders or below, by its relative path."""
    name = text(given, what)
    parts = (*PurePosixPath(name).parts, *PureWindowsPath(name).parts)
    if (
        not name
        or "\0" in name
        or ".." in parts
        or PurePosixPath(name).is_absolute()
        or (PureWindowsPath(name).anchor)
    ):
        raise FileError(
            f"{what} is {shown(given)}, expected a path inside the folder of the data set"
        )
    for folder in folders:
        try:
            path = (folder / name).resolve()
            if path.is_relative_to(folder) and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):  # names no system has
            continue
    raise FileError(f"{what} {shown(given)} is not in the folder of the data set")


def _matrix(given: Any) -> tuple[tuple[float, ...], ...]:
    R = numbers(given, "gear_matrix", "rows of finite numbers")
    if R.ndim != 2 or R.shape[0] != R.shape[1]:
        raise FileError(f"gear_matrix has shape {R.shape}, expected as many rows as columns")
    return tuple(map(tuple, R.tolist()))
