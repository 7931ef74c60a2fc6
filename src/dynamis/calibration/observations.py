"""Measurements of an arm's tool: points, poses, sockets, planes, touches.

Each is frozen data with N postures `q` (N, n), and has a residual of its own (`residuals`). What
they need besides the arm (the place of an instrument, of a target on the flange, of a socket) is
fitted with it unless it is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..arguments import number, positive, strict
from ..compile.arrays import finite, numbers
from ..errors import OptionError, ShapeError, counted, shown
from ..model.pose import homogeneous
from ..model.quantity import settle
from ..spatial.frames import matrix


class Carried(NamedTuple):
    """Payload of the tool during a measurement."""

    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)


@strict
@dataclass(frozen=True, kw_only=True)
class Observations:
    """A set of measurements. `payload` (mass, or (mass, com)) deflects elastic joints.

    `temperature` (N,) in deg C is that of the arm.
    """

    name: str = ""
    payload: Any = None
    temperature: Any = None

    @property
    def postures(self) -> np.ndarray:
        """Joint positions of every measurement, (N, n)."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.postures)

    def _settle(self, **changes: Any) -> None:
        settle(self, **changes)
        if not isinstance(self.name, str):
            raise OptionError(f"name is {shown(self.name)}, expected a text")
        settle(self, payload=_carried(self.payload))
        if self.temperature is not None:
            count = len(self)
            settle(self, temperature=_rows(self.temperature, "temperature", count, ()))


@strict
@dataclass(frozen=True, eq=False)
class Points(Observations):
    """Positions (N, 3) of a target on the tool, in metres in the frame of the instrument.

    `target` is its place in the tool frame, `frame` the pose of the robot's reference frame in the
    instrument's, 4x4; what is None is fitted. `std` is the instrument's: one, (N,) or (N, 3).
    """

    q: Any
    position: Any
    std: Any = None
    target: Any = None
    frame: Any = None

    def __post_init__(self) -> None:
        q = _joints(self.q)
        found = {"position": _rows(self.position, "position", len(q), (3,))}
        found |= {"std": _std(self.std, len(q)), "target": _vector(self.target, "target")}
        self._settle(q=q, **found, frame=_pose(self.frame, "frame"))

    @property
    def postures(self) -> np.ndarray:
        """Joint positions, (N, n)."""
        return self.q


@strict
@dataclass(frozen=True, eq=False)
class Poses(Observations):
    """Poses (N, 4, 4) of a target on the tool, in the frame of the instrument.

    `target` is its pose in the tool frame, `frame` that of the robot's reference frame in the
    instrument's; what is None is fitted. `std` is that of the position.
    """

    q: Any
    pose: Any
    std: Any = None
    target: Any = None
    frame: Any = None

    def __post_init__(self) -> None:
        q = _joints(self.q)
        T = _rows(self.pose, "pose", len(q), (4, 4))
        for k, one in enumerate(T):
            homogeneous(one, f"pose[{k}]")
        places = {x: _pose(getattr(self, x), x) for x in ("target", "frame")}
        self._settle(q=q, pose=T, std=_std(self.std, len(q)), **places)

    @property
    def postures(self) -> np.ndarray:
        """Joint positions, (N, n)."""
        return self.q


@strict
@dataclass(frozen=True, eq=False)
class Sockets(Observations):
    """A point of the tool held in sockets, each from many postures.

    `places` are the sockets by the name of their place: one (k, n) array of joint positions, or a
    list of them, for sockets `distance` apart. Sockets rest where they are; where that is is
    fitted, and the point (`target`, in the tool frame) unless it is given.
    """

    places: Any
    distance: Any = None
    std: Any = None
    target: Any = None
    distance_std: float = 5e-5

    _index: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.places, Mapping) or not self.places:
            expected = "expected joint positions by the name of the place: {'front': [q_a, q_b]}"
            raise OptionError(f"places is {shown(self.places)}, {expected}")
        found = {str(k): _sockets(v, str(k)) for k, v in self.places.items()}
        sizes = {x.shape[1] for sockets in found.values() for x in sockets}
        if len(sizes) > 1:
            what = " and ".join(map(str, sorted(sizes)))
            raise ShapeError(f"places has postures of {what} joints, expected as many everywhere")
        if self.distance is not None:
            settle(self, distance=positive(self.distance, "distance", "metres"))
        positive(self.distance_std, "distance_std", "metres")
        count = sum(len(x) for sockets in found.values() for x in sockets)
        std = _std(self.std, count)
        index = [
            (place, socket)
            for place, sockets in enumerate(found.values())
            for socket, rows in enumerate(sockets)
            for _ in rows
        ]
        settle(self, places=found, _index=np.array(index))
        self._settle(std=std, target=_vector(self.target, "target"))

    @property
    def postures(self) -> np.ndarray:
        """Joint positions of all sockets one after the other, (N, n)."""
        return np.vstack([x for sockets in self.places.values() for x in sockets])

    @property
    def index(self) -> np.ndarray:
        """Numbers of the place and of the socket of every posture, (N, 2)."""
        return self._index


@strict
@dataclass(frozen=True, eq=False)
class Plane(Observations):
    """A point of the tool on a flat surface.

    `normal` and `offset` (normal . p = offset, in the reference frame) are fitted unless given.
    """

    q: Any
    normal: Any = None
    offset: Any = None
    std: Any = None
    target: Any = None

    def __post_init__(self) -> None:
        q = _joints(self.q)
        normal = _vector(self.normal, "normal")
        if normal is not None:
            if not np.linalg.norm(normal) > 0.0:
                raise OptionError("normal is (0, 0, 0), expected a direction")
            normal = normal / np.linalg.norm(normal)
        offset = (
            None if self.offset is None else number(self.offset, "offset", "metres", np.isfinite)
        )
        if offset is not None and normal is None:
            raise OptionError("offset was given without normal", "give both, or neither")
        more = {"std": _std(self.std, len(q)), "target": _vector(self.target, "target")}
        self._settle(q=q, normal=normal, offset=offset, **more)

    @property
    def postures(self) -> np.ndarray:
        """Joint positions, (N, n)."""
        return self.q


@strict
@dataclass(frozen=True, eq=False)
class Touch(Observations):
    """A point of the tool that touches one fixed to a `link` of the arm itself (None: the base),

    or one on the tool of another arm, `other`, at joint positions `q_other` (N, m); that arm is
    taken as it is and its base is fitted. `at` is the point there, fitted unless it is given.
    """

    q: Any
    link: Any = None
    at: Any = None
    other: Any = None
    q_other: Any = None
    std: Any = None
    target: Any = None

    def __post_init__(self) -> None:
        from ..arguments import a_robot

        q = _joints(self.q)
        if (self.other is None) != (self.q_other is None):
            raise OptionError("of other and q_other one was given", "give both, or neither")
        if self.other is not None:
            a_robot(self.other, "other")
            if self.link is not None:
                raise OptionError("link and other were given", "a point is on one of the two")
            rows = _joints(self.q_other, "q_other")
            if rows.shape != (len(q), self.other.n):
                raise ShapeError(
                    f"q_other has shape {rows.shape}, expected ({len(q)}, {self.other.n})"
                )
            settle(self, q_other=rows)
        places = {x: _vector(getattr(self, x), x) for x in ("at", "target")}
        self._settle(q=q, std=_std(self.std, len(q)), **places)

    @property
    def postures(self) -> np.ndarray:
        """Joint positions, (N, n)."""
        return self.q


def _joints(value: Any, name: str = "q") -> np.ndarray:
    q = numbers(value, name, "expected joint positions (N, n)")
    if q.ndim != 2 or q.shape[1] < 1:
        raise ShapeError(f"{name} has shape {q.shape}, expected (N, n): a row for every posture")
    if not len(q):
        raise ShapeError(f"{name} has no rows, expected one for every posture")
    return finite(q, name)


def _rows(value: Any, name: str, count: int, core: tuple[int, ...]) -> np.ndarray:
    array = numbers(value, name, f"expected numbers, {counted(count, 'row')}")
    if array.shape != (count, *core):
        raise ShapeError(f"{name} has shape {array.shape}, expected {(count, *core)}: as many as q")
    return finite(array, name)


def _std(value: Any, count: int) -> np.ndarray | None:
    """Standard deviation of every measurement in any direction, (N,)."""
    if value is None:
        return None
    array = finite(numbers(value, "std", "expected metres"), "std")
    if array.shape not in ((), (count,), (count, 3)):
        raise ShapeError(
            f"std has shape {array.shape}, expected a number, ({count},) or ({count}, 3)"
        )
    if not (array >= 0.0).all():
        raise OptionError(f"std has {array.min():.3g}, expected metres, none negative")
    if array.ndim == 2:
        array = np.sqrt((array**2).mean(axis=1))
    return np.broadcast_to(array, (count,))


def _vector(value: Any, name: str) -> np.ndarray | None:
    if value is None:
        return None
    array = finite(numbers(value, name, "expected three numbers"), name)
    if array.shape != (3,):
        raise ShapeError(f"{name} has shape {array.shape}, expected (3,)")
    return array


def _pose(value: Any, name: str) -> np.ndarray | None:
    return None if value is None else np.array(matrix(homogeneous(value, name)))


def _carried(value: Any) -> Carried | None:
    if value is None or isinstance(value, Carried):
        return value
    try:
        mass, com = value
    except TypeError:
        mass, com = value, (0.0, 0.0, 0.0)
    except ValueError:
        raise OptionError(f"payload is {shown(value)}, expected a mass, or (mass, com)") from None
    place = _vector((0.0, 0.0, 0.0) if com is None else com, "payload com")
    if mass is None or place is None:
        raise OptionError(f"payload is {shown(value)}, expected a mass, or (mass, com)")
    return Carried(
        number(mass, "payload", "kg", lambda x: 0.0 <= x < np.inf), tuple(place.tolist())
    )


def _sockets(value: Any, place: str) -> tuple[np.ndarray, ...]:
    """The sockets of one place, (k, n) each."""
    many = isinstance(value, (list, tuple)) and bool(len(value)) and np.ndim(value[0]) == 2
    found = tuple(_joints(x, f"places[{place!r}]") for x in (value if many else [value]))
    if len(found) > 2:
        raise OptionError(
            f"places[{place!r}] has {len(found)} sockets, expected one, or two at a known distance",
            "give further sockets as places of their own",
        )
    return found
