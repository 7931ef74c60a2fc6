"""Data sets of LeRobot: Parquet files of episodes, whose joints meta/info.json names."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, OptionError
from .table import Part, Table, reading

COLUMNS = {
    "t": "timestamp",
    "q": "observation.state",
    "qd": "observation.velocity",
    "tau": "observation.effort",
}
EPISODE = "episode_index"
LARGEST_INFO = 10 << 20  # bytes of meta/info.json


def is_data_set(folder: Path) -> bool:
    """Whether a folder is a data set of LeRobot."""
    return (folder / "meta" / "info.json").is_file() and (folder / "data").is_dir()


def data_file(folder: Path) -> Path:
    """The only file of a data set; one of several is to be chosen."""
    found = sorted((folder / "data").glob("*/*.parquet"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise FileError(f"{folder.name} has no data/*/*.parquet, expected a data set of LeRobot")
    listed = ", ".join(str(x.relative_to(folder)) for x in found[:10])
    what = f"{folder.name} holds {len(found)} files: {listed}{', ..' if len(found) > 10 else ''}"
    raise OptionError(what, f"read one of them, such as {found[0]}")


def with_episodes(table: Table, path: Path) -> Table:
    """A table of Parquet with what LeRobot says of it, if it is of LeRobot."""
    if not {COLUMNS["t"], COLUMNS["q"]} <= {*table.names}:
        return table
    held = {x: name for x, name in COLUMNS.items() if name in table.names or x == "tau"}
    parts = _parts(table) if EPISODE in table.names else ()
    return replace(table, defaults=held, joints=_joints(path), parts=parts)


def _parts(table: Table) -> tuple[Part, ...]:
    numbers = table.array(EPISODE).reshape(-1)
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    if len(numbers) == 0:
        return ()
    return tuple(Part(f"episode {numbers[a]}", a, b) for a, b in pairwise(cuts))


def _joints(path: Path) -> tuple[str, ...] | None:
    """Names of the joints, by the meta/info.json of the data set in which a file lies."""
    folders = path.absolute().parents
    if len(folders) < 3 or folders[1].name != "data":
        return None
    info = folders[2] / "meta" / "info.json"
    if not info.is_file():
        return None
    with reading(f"{path.name}: {info.name} of its data set cannot be read"):
        if info.stat().st_size > LARGEST_INFO:
            raise ValueError("it is too long")
        said = json.loads(info.read_bytes())
    names = {x: _names(said, column) for x, column in COLUMNS.items()}
    joints = names["q"]
    for x in ("qd", "tau"):
        other = names[x]
        if joints and other and len(other) == len(joints) and other != joints:
            raise FileError(
                f"{path.name}: meta/info.json names the joints of {COLUMNS['q']} "
                f"{', '.join(joints[:12])}, those of {COLUMNS[x]} {', '.join(other[:12])}",
                "expected one order: give read_log a mapping of arrays",
            )
    return joints


def _names(info: Any, column: str) -> tuple[str, ...] | None:
    """Names of a column's numbers: a list, in a list or a mapping, without what all end in."""
    for keys in (("features", column, "names"), ("names", column)):
        found = info
        for key in keys:
            found = found.get(key) if isinstance(found, dict) else None
        while isinstance(found, (dict, list)) and len(found) == 1:
            inner = next(iter(found.values() if isinstance(found, dict) else found))
            if isinstance(inner, str):
                break
            found = inner
        if isinstance(found, list) and found and all(isinstance(x, str) for x in found):
            ends = {x.rpartition(".")[2] for x in found if "." in x}
            ending = f".{ends.pop()}" if len(ends) == 1 else ""
            names = tuple(x.removesuffix(ending) for x in found)
            return names if len({*names}) == len(names) else None
    return None
