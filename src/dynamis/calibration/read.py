"""Observations from files: a table of postures with what was measured there, or files of sockets.

A table (.csv, .npz, .mat, .parquet) has columns of joint positions q1.. and of what was measured;
names that differ are mapped as `read_log` maps them. Sockets are files of joint positions alone,
one a socket; two of a place are called `front_0`, `front_1` or a, b (or 0.csv, 1.csv in a folder
`front`); so are the arrays of an .npz (`front/0`). Or they are one table with columns `place` and
`socket`.
"""

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, choice, path_of
from ..compile.arrays import finite
from ..errors import FileError, OptionError, ShapeError, counted, did_you_mean, shown
from ..logs.source import READERS, open_source
from ..logs.table import LARGEST, Block, Table, find, pick
from ..logs.units import LENGTH, factor, plain_unit
from ..spatial.rotations import rotation_from_quaternion
from .observations import Observations, Plane, Points, Poses, Sockets

if TYPE_CHECKING:
    from ..robot import Robot

KINDS = ("points", "poses", "sockets", "plane")
USUAL: Mapping[str, Sequence[Any]] = {  # names of columns, the first that are all there
    "position": (
        "position", ["x", "y", "z"], ["X", "Y", "Z"], ["px", "py", "pz"],
        ["position_x", "position_y", "position_z"], ["position1", "position2", "position3"],
    ),
    "orientation": (
        "orientation", "quaternion", ["qx", "qy", "qz", "qw"],
        ["quat_x", "quat_y", "quat_z", "quat_w"],
    ),
    "std": ("std", "position_std", ["std1", "std2", "std3"]),
    "place": ("place",),
    "socket": ("socket",),
}  # fmt: skip
OWN = tuple(USUAL)
SOCKET = re.compile(r"(.+?)[_/ -]+([01ab])")  # of a place with two of them
SIDES = ({"0", "1"}, {"a", "b"})
MOST_FILES = 1000


@checked
def read_observations(
    source: str | Path,
    kind: str = "points",
    *,
    robot: "Robot | None" = None,
    columns: Mapping[str, Any] | None = None,
    units: Mapping[str, Any] | None = None,
    distance: float | None = None,
    places: str | None = None,
) -> Observations:
    """Observations of a `kind` ("points", "poses", "sockets", "plane") from a file or a folder.

    `columns` maps q, position, orientation (quaternion x y z w), std, temperature, place and
    socket to names, patterns or lists of them; `units` those of q and position, such as
    {"q": "deg", "position": "mm"}, unless the header gives them. `distance` of two sockets in
    metres; `places` is a pattern of the places that are read, such as "panda_1/*".
    """
    path = path_of(source, "source")
    choice(kind, "kind", KINDS)
    asked = _asked(columns, "columns", ("q", "temperature", *OWN))
    given = _asked(units, "units", ("q", "position"))
    if kind != "sockets":
        for name, value in (("distance", distance), ("places", places)):
            if value is not None:
                raise OptionError(f"{name} is for kind='sockets', and kind is {kind!r}")
        table = open_source(path, None, None, LARGEST)
        return _of_table(table, kind, robot, asked, given)
    found = _socket_arrays(path, robot, asked, given)
    if places is not None:
        kept = {k: v for k, v in found.items() if fnmatchcase(k[0], places)}
        if not kept:
            known = ", ".join(dict.fromkeys(place for place, _ in found))
            raise FileError(f"{path.name} has no place {places!r}; it has: {known}")
        found = kept
    by_place: dict[str, list[np.ndarray]] = {}
    for place, socket in sorted(found):
        by_place.setdefault(place, []).append(found[place, socket])
    return Sockets(by_place, distance=distance)


def _asked(given: Mapping[str, Any] | None, name: str, known: Sequence[str]) -> dict[str, Any]:
    found = {} if given is None else dict(given)
    for key in found:
        if key not in known:
            what = f"{name} names {shown(key)}, which is nothing of a calibration"
            raise OptionError(what, did_you_mean(key, known))
    return found


def _of_table(
    table: Table, kind: str, robot: "Robot | None", asked: dict[str, Any], units: dict[str, Any]
) -> Observations:
    """Points, poses or a plane of one table."""
    q, more = _joints(table, robot, asked, units)
    if kind == "plane":
        return Plane(q, **more)
    position = _measured(table, "position", asked, (3,), units)
    if position is None:
        raise _absent(table, "position")
    std = _measured(table, "std", asked, (1, 3), units)
    if std is not None:
        more["std"] = std[:, 0] if std.shape[1] == 1 else std
    if kind == "points":
        return Points(q, position, **more)
    orientation = _measured(table, "orientation", asked, (4,), {})
    if orientation is None:
        raise _absent(table, "orientation")
    norms = np.linalg.norm(orientation, axis=1)
    if (np.abs(norms - 1.0) > 1e-3).any():
        row = int(np.argmax(np.abs(norms - 1.0)))
        raise ShapeError(f"{table.line(row)}: the quaternion has length {norms[row]:.3g}, not 1")
    T = np.tile(np.eye(4), (len(q), 1, 1))
    for one, p, x in zip(T, position, orientation, strict=True):
        a, b, c, d = x.tolist()
        one[:3, :3], one[:3, 3] = rotation_from_quaternion((a, b, c, d)), p
    return Poses(q, T, **more)


def _joints(
    table: Table, robot: "Robot | None", asked: dict[str, Any], units: dict[str, Any]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Joint positions, and temperatures where there are some."""
    own = {k: v for k, v in asked.items() if k in ("q", "temperature")}
    if "q" not in own and robot is not None and set(robot.joint_names) <= set(table.names):
        own["q"] = list(robot.joint_names)
    blocks = pick(table, own, ("q", "temperature"), ("q",))
    q = _si(table, "q", blocks["q"], units)
    if robot is not None and q.shape[1] != robot.n:
        raise ShapeError(
            f"{table.where}: q has {counted(q.shape[1], 'column')}, expected {robot.n}: "
            f"{', '.join(robot.joint_names)}"
        )
    warm = blocks.get("temperature")
    more = {} if warm is None else {"temperature": warm.values.reshape(len(q), -1).mean(axis=1)}
    return finite(q, f"{table.where}: q"), more


def _measured(
    table: Table, name: str, asked: dict[str, Any], widths: tuple[int, ...], units: dict[str, Any]
) -> np.ndarray | None:
    """Columns of what was measured in SI units; None where there are none."""
    if name in asked and asked[name] is None:
        return None
    trials = [asked[name]] if name in asked else [x for x in USUAL[name] if _has(table, x)]
    if not trials:
        return None
    names = [x for x, _ in find(table, name, trials[0])]
    for one in names:
        table.count(one)
    arrays = [np.asarray(table.array(x), dtype=float) for x in names]
    values = np.column_stack([x[:, None] if x.ndim == 1 else x for x in arrays])
    if values.shape[1] not in widths:
        expected = " or ".join(map(str, widths))
        what = f"{table.where}: {name} has {counted(values.shape[1], 'column')}"
        raise ShapeError(f"{what}, expected {expected}")
    return finite(values * _length(table, names, units), f"{table.where}: {name}")


def _has(table: Table, names: Any) -> bool:
    listed = names if isinstance(names, list) else [names]
    return all(x in table.names for x in listed)


def _length(table: Table, names: Sequence[str], units: dict[str, Any]) -> float:
    """Metres per unit of the position: as given, else as the header says."""
    unit = units.get("position", table.units.get(names[0], "m"))
    known = {plain_unit(x): size for x, size in LENGTH.items()}
    if not isinstance(unit, str) or plain_unit(unit) not in known:
        expected = ", ".join(LENGTH)
        raise OptionError(f"units['position'] is {shown(unit)}, expected one of {expected}")
    return known[plain_unit(unit)]


def _si(table: Table, name: str, block: Block, units: dict[str, Any]) -> np.ndarray:
    """Joint positions (N, n) in radians and metres."""
    own = [table.units.get(x, 1.0) for x in block.names]
    unit = units.get(name, own if any(isinstance(x, str) for x in own) else 1.0)
    values = np.asarray(block.values, dtype=float)
    if values.ndim != 2:
        values = values.reshape(len(values), -1)
    return values * factor(name, unit, values.shape[1])


def _absent(table: Table, name: str) -> FileError:
    what = f"{table.where} has no {name}; it has: {table.holds()}"
    return FileError(what, f"columns={{{name!r}: [...]}} says which columns they are")


# sockets


def _socket_arrays(
    path: Path, robot: "Robot | None", asked: dict[str, Any], units: dict[str, Any]
) -> dict[tuple[str, str], np.ndarray]:
    """Joint positions by place and socket."""
    if path.is_dir():
        return _of_folder(path, robot, asked, units)
    table = open_source(path, None, None, LARGEST)
    if "place" in asked or "place" in table.names:
        return _of_column(table, robot, asked, units)
    if path.suffix.lower() == ".npz" and "q" not in asked and "q" not in table.names:
        arrays = {}
        for name in table.names:
            q = _si(table, "q", Block(table.array(name), (name,)), units)
            arrays[name] = _checked_joints(table, q, robot, name)
        return _by_socket(arrays)
    q, _ = _joints(table, robot, asked, units)
    return {(path.stem, ""): q}


def _of_folder(
    path: Path, robot: "Robot | None", asked: dict[str, Any], units: dict[str, Any]
) -> dict[tuple[str, str], np.ndarray]:
    try:
        files = sorted(x for x in path.rglob("*") if x.suffix.lower() in READERS and x.is_file())
    except OSError as error:
        raise FileError(f"cannot look into {str(path)!r}: {error.strerror}") from None
    if not files or len(files) > MOST_FILES:
        kinds = ", ".join(READERS)
        what = f"{str(path)!r} has {counted(len(files), 'file')} of joint positions"
        raise FileError(f"{what}, expected 1 to {MOST_FILES}", f"one a socket, ending in {kinds}")
    found = {}
    for file in files:
        table = open_source(file, None, None, LARGEST)
        name = file.relative_to(path).with_suffix("").as_posix()
        found[name] = _joints(table, robot, asked, units)[0]
    return _by_socket(found)


def _by_socket(arrays: Mapping[str, np.ndarray]) -> dict[tuple[str, str], np.ndarray]:
    """By place and socket: front_0 and front_1 are of one place, front_2 alone is one itself."""
    matches = {name: SOCKET.fullmatch(name) for name in arrays}
    sides: dict[str, set[str]] = {}
    for match in filter(None, matches.values()):
        sides.setdefault(match[1], set()).add(match[2])
    found = {}
    for name, q in arrays.items():
        match = matches[name]
        both = match is not None and sides[match[1]] in SIDES
        found[(match[1], match[2]) if match is not None and both else (name, "")] = q
    return found


def _of_column(
    table: Table, robot: "Robot | None", asked: dict[str, Any], units: dict[str, Any]
) -> dict[tuple[str, str], np.ndarray]:
    """Sockets of one table with columns of place and socket."""
    q, _ = _joints(table, robot, asked, units)
    names = [asked.get(x, x) for x in ("place", "socket")]
    missing = [x for x in names[:1] if x not in table.names]
    if missing:
        raise _absent(table, "place")
    place, socket = (
        [str(x) for x in np.asarray(table.read(x))] if x in table.names else [""] * len(q)
        for x in names
    )
    keys = list(zip(place, socket, strict=True))
    if len(keys) != len(q):
        raise ShapeError(f"{table.where}: place has {len(keys)} rows, q {len(q)}")
    return {k: q[[x == k for x in keys]] for k in dict.fromkeys(keys)}


def _checked_joints(table: Table, q: np.ndarray, robot: "Robot | None", name: str) -> np.ndarray:
    if robot is not None and q.shape[1] != robot.n:
        what = f"{table.where}: {name!r} has {counted(q.shape[1], 'column')}"
        raise ShapeError(f"{what}, expected {robot.n}: {', '.join(robot.joint_names)}")
    return finite(q, f"{table.where}: {name}")
