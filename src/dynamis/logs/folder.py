"""`dy.read_logs`: the logs of files and folders, with all that cannot be read named at once."""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..arguments import checked, is_list, passed_on, path_of
from ..errors import DynamisError, FileError, counted
from .episodes import is_data_set
from .log import Log
from .read import read_log
from .recordings import is_bag
from .source import BAGS, READERS

NAMED = 20  # files that an error names
NOTES = 2**16  # bytes of a text file that are searched for a row of numbers
CELLS = re.compile(rb"[ \t]*[,;\t][ \t]*|[ \t]+")


@checked
def read_logs(source: Any, **options: Any) -> list[Log]:
    """The logs of a folder in the order of their names, or of several files and folders.

    A folder stands for the logs in it, not in folders below but for bags of ROS 2 and data sets
    of LeRobot; other files, and texts (.txt) without rows of numbers, are left alone. `options` are
    those of `read_log`, for all of them. What cannot be read is refused, every file with its
    reason; so are logs of robots that differ.
    """
    options = dict(passed_on(options, read_log, "source"))
    paths = [path_of(x, "source") for x in (source if is_list(source) else [source])]
    files = [x for path in paths for x in _inside(path)]
    logs, refused = [], list[tuple[Path, DynamisError]]()
    for path in files:
        try:
            logs.append(read_log(path, **options))
        except DynamisError as error:
            refused.append((path, error))
    if len(refused) == 1:
        raise refused[0][1]
    if refused:
        raise _unreadable(refused, len(files))
    _one_robot(logs)
    return logs


def _inside(path: Path) -> list[Path]:
    """A file, or the logs of a folder."""
    try:
        if not path.exists():
            raise FileError(f"{path} does not exist, expected a log or a folder of logs")
        if not path.is_dir() or is_bag(path) or is_data_set(path):
            return [path]
        found = [x for x in sorted(path.iterdir()) if _is_log(x)]
    except OSError as error:
        raise FileError(f"cannot look into {str(path)!r}: {error.strerror}") from None
    if not found:
        kinds = ", ".join((*READERS, *BAGS))
        raise FileError(f"there is no log in {str(path)!r}", f"files that end in {kinds}")
    return found


def _is_log(path: Path) -> bool:
    if path.is_dir():
        return is_bag(path) or is_data_set(path)
    suffix = path.suffix.lower()
    return suffix in (*READERS, *BAGS) and (suffix != ".txt" or _has_rows(path))


def _has_rows(path: Path) -> bool:
    """Whether a row of numbers is near the beginning of a text file, unlike in somebody's notes."""
    with path.open("rb") as file:
        lines = file.read(NOTES).splitlines()
    rows = (CELLS.split(line.strip()) for line in lines)
    return any(len(row) > 1 and all(map(_is_number, row)) for row in rows)


def _is_number(cell: bytes) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _unreadable(refused: list[tuple[Path, DynamisError]], count: int) -> FileError:
    """One error for several files; hints that are the same once."""
    lines = [error.message.replace("\n", " ") for _, error in refused[:NAMED]]
    more = len(refused) - NAMED
    lines += [f"and {counted(more, 'other')}"] if more > 0 else []
    hints = dict.fromkeys(error.hint for _, error in refused if error.hint)
    what = f"{len(refused)} of {count} logs cannot be read:"
    return FileError("\n  ".join([what, *lines]), "; ".join([*hints][:3]) or None)


def _one_robot(logs: Iterable[Log]) -> None:
    """Refuse logs of other numbers of joints."""
    by_size: dict[int, list[str]] = {}
    for log in logs:
        by_size.setdefault(log.n, []).append(log.name)
    if len(by_size) > 1:
        said = "; ".join(f"{counted(n, 'joint')}: {', '.join(x[:6])}" for n, x in by_size.items())
        raise FileError(
            f"the logs are of several robots: {said}", "give those of one robot, or joints="
        )
