"""Residuals of every kind of observation, and how the arm and what was fitted with it move them.

A `Block` holds one set. Its `places` are what is fitted besides the arm: frames of instruments
(rotated and moved from the left), points of targets (in the tool frame) and of sockets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import OptionError
from .error_model import ErrorModel, Motion, Postures
from .observations import Observations, Plane, Points, Poses, Sockets, Touch

if TYPE_CHECKING:
    from ..robot import Robot

REACH = 0.3  # m: of a target from the tool frame
State = dict[str, np.ndarray]  # places by name: frames (4, 4), points (3,) or (k, 3)


class Part(NamedTuple):
    """Residuals (N, k) of one unit, and their columns by the arm (P, N, k) and by places (M, N, k).

    `std` (N,) is the instrument's; `fixed` says that it alone is the scatter. `place` (N,) numbers
    where each was measured: what has the same number is held out together.
    """

    name: str
    r: np.ndarray
    J: np.ndarray
    Jn: np.ndarray
    std: np.ndarray
    place: np.ndarray
    unit: str = "m"
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class Block:
    """One set of observations at its postures."""

    data: Any
    at: Postures
    first: int = 0  # number of its first place of measurement

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns of its places that are fitted."""
        raise NotImplementedError

    def start(self, model: ErrorModel, values: np.ndarray) -> State:
        """Places for the arm as it is, by linear least squares."""
        raise NotImplementedError

    def parts(self, model: ErrorModel, values: np.ndarray, state: State) -> list[Part]:
        """Residuals: measured less predicted."""
        raise NotImplementedError

    def size(self, state: State) -> int:
        """Number of unknowns of its places."""
        return sum(_freedom(state[name]) for name in self.names)

    def expected(self, state: State) -> tuple[np.ndarray, np.ndarray]:
        """Offsets of the unknowns of places from their expected values, and 1 / deviation^2, (M,).

        A target is near the tool: where nothing tells it apart from the arm, this decides.
        """
        off, weight = np.zeros((2, self.size(state)))
        first = self._slots(state).get("target")
        if first is not None:
            value = state["target"]
            last = first + _freedom(value)
            weight[last - 3 : last] = REACH**-2.0
            off[last - 3 : last] = value[:3, 3] if value.shape == (4, 4) else value
        return off, weight

    def local(self, state: State) -> np.ndarray:
        """Place of measurement that an unknown belongs to alone, -1: to all, (M,)."""
        return np.full(self.size(state), -1)

    def moved(self, state: State, step: np.ndarray) -> State:
        """Places a step further on."""
        found, k = dict(state), 0
        for name in self.names:
            count = _freedom(state[name])
            found[name] = _moved(state[name], step[k : k + count])
            k += count
        return found

    @property
    def count(self) -> int:
        """Number of places of measurement."""
        return len(self.data)

    @property
    def largest_torque(self) -> np.ndarray:
        """Largest torque that holds the arm in every joint, (n,)."""
        torque = self.at.torque
        return np.zeros(self.at.q.shape[1]) if torque is None else np.abs(torque).max(axis=0)

    def _own(self) -> np.ndarray:
        """Every posture is a place of its own."""
        return self.first + np.arange(len(self.at.q))

    def _std(self) -> np.ndarray:
        count = len(self.at.q)
        return np.zeros(count) if self.data.std is None else np.asarray(self.data.std)

    def _blank(self, state: State, width: int) -> np.ndarray:
        return np.zeros((self.size(state), len(self.at.q), width))

    def _given(self, name: str) -> bool:
        return getattr(self.data, name) is not None

    def _slots(self, state: State) -> dict[str, int]:
        """First unknown of every place."""
        found, k = {}, 0
        for name in self.names:
            found[name], k = k, k + _freedom(state[name])
        return found


class PointsBlock(Block):
    """r = m - (R p + t), p a point of the tool."""

    @property
    def names(self) -> tuple[str, ...]:
        """The instrument's frame and the target."""
        return tuple(x for x in ("frame", "target") if not self._given(x))

    def start(self, model: ErrorModel, values: np.ndarray) -> State:
        """From A m + b - R o = p, linear in A = R_f^T, b and the target o."""
        arm = model.motion(values, self.at, columns=False)
        target, frame = self.data.target, self.data.frame
        if frame is None:
            found = registration(arm, self.data.position, target)
            target = found.target if target is None else target
            p = arm.point(target)
            frame = fitted_frame(p, self.data.position)
        elif target is None:
            R, t = frame[:3, :3], frame[:3, 3]
            seen = (self.data.position - t) @ R
            target = _least(arm.R, seen - arm.p)
        return {"frame": frame, "target": target}

    def parts(self, model: ErrorModel, values: np.ndarray, state: State) -> list[Part]:
        """In the instrument's frame."""
        arm = model.motion(values, self.at)
        frame, target = state["frame"], state["target"]
        R = frame[:3, :3]
        p = arm.point(target) @ R.T
        J = -arm.columns(target) @ R.T
        Jn = self._blank(state, 3)
        slots = self._slots(state)
        if "frame" in slots:
            _frame_columns(Jn, slots["frame"], p)
        if "target" in slots:
            Jn[slots["target"] : slots["target"] + 3] = -np.moveaxis(R @ arm.R, 2, 0)
        r = self.data.position - p - frame[:3, 3]
        return [Part("position", r, J, Jn, self._std(), self._own())]


class PosesBlock(Block):
    """Position as of points; rotation log(R_measured (R_f R R_t)^T), in the instrument's frame."""

    @property
    def names(self) -> tuple[str, ...]:
        """The instrument's frame and the target's pose."""
        return tuple(x for x in ("frame", "target") if not self._given(x))

    def start(self, model: ErrorModel, values: np.ndarray) -> State:
        """Positions give the frame and the target's place, rotations its rotation."""
        arm = model.motion(values, self.at, columns=False)
        T = self.data.pose
        m, M = T[:, :3, 3], T[:, :3, :3]
        target, frame = self.data.target, self.data.frame
        point = None if target is None else target[:3, 3]
        if frame is None:
            point = registration(arm, m, point).target if point is None else point
            frame = fitted_frame(arm.point(point), m)
        if target is None:
            R = frame[:3, :3]
            if point is None:
                point = _least(arm.R, (m - frame[:3, 3]) @ R - arm.p)
            turned = np.swapaxes(R @ arm.R, 1, 2) @ M
            target = np.eye(4)
            target[:3, :3], target[:3, 3] = _rotation(turned.sum(axis=0)), point
        return {"frame": frame, "target": target}

    def parts(self, model: ErrorModel, values: np.ndarray, state: State) -> list[Part]:
        """Positions and rotations, each with a scatter of its own."""
        arm = model.motion(values, self.at)
        frame, target, T = state["frame"], state["target"], self.data.pose
        R, o = frame[:3, :3], target[:3, 3]
        turned = R @ arm.R
        p = arm.point(o) @ R.T
        J = -arm.columns(o) @ R.T
        Jn, Kn = self._blank(state, 3), self._blank(state, 3)
        K = -arm.W @ R.T
        slots = self._slots(state)
        if "frame" in slots:
            k = slots["frame"]
            _frame_columns(Jn, k, p)
            Kn[k : k + 3] = -np.eye(3)[:, None, :]
        if "target" in slots:  # the target turns and moves in the tool frame
            k = slots["target"]
            axes = np.moveaxis(turned, 2, 0)
            Jn[k + 3 : k + 6] = -axes
            Kn[k : k + 3] = -axes
        r = T[:, :3, 3] - p - frame[:3, 3]
        e = _rotation_vectors(T[:, :3, :3] @ np.swapaxes(turned @ target[:3, :3], 1, 2))
        std, own = self._std(), self._own()
        return [
            Part("position", r, J, Jn, std, own),
            Part("orientation", e, K, Kn, np.zeros(len(e)), own, "rad"),
        ]


class SocketsBlock(Block):
    """r = s - p for every posture; the distance between two sockets of a place."""

    @property
    def names(self) -> tuple[str, ...]:
        """The target, and the sockets."""
        return ("sockets",) if self._given("target") else ("target", "sockets")

    @property
    def count(self) -> int:
        """Number of places."""
        return len(self.data.places)

    @property
    def socket(self) -> np.ndarray:
        """Number of the socket of every posture, (N,)."""
        places, sockets = self.data.index.T
        before = np.cumsum([0, *(len(x) for x in self.data.places.values())])
        return before[places] + sockets

    @property
    def pairs(self) -> list[tuple[int, int, int]]:
        """Place and numbers of its two sockets."""
        found, k = [], 0
        for place, sockets in enumerate(self.data.places.values()):
            if len(sockets) == 2:
                found.append((place, k, k + 1))
            k += len(sockets)
        return found

    def start(self, model: ErrorModel, values: np.ndarray) -> State:
        """From p + R o = s, linear in the target and the sockets."""
        arm = model.motion(values, self.at, columns=False)
        socket, target = self.socket, self.data.target
        if target is None:
            centred = [_centred(x, socket) for x in (arm.R.reshape(-1, 9), arm.p)]
            target = _least(centred[0].reshape(-1, 3, 3), -centred[1])
        return {"target": target, "sockets": group_means(arm.point(target), socket)}

    def local(self, state: State) -> np.ndarray:
        """Sockets belong to their places."""
        found = np.full(self.size(state), -1)
        place = np.concatenate([[k] * len(x) for k, x in enumerate(self.data.places.values())])
        found[-3 * len(place) :] = self.first + np.repeat(place, 3)
        return found

    def parts(self, model: ErrorModel, values: np.ndarray, state: State) -> list[Part]:
        """In the reference frame."""
        arm = model.motion(values, self.at)
        target, sockets = state["target"], state["sockets"]
        socket, slots = self.socket, self._slots(state)
        Jn = self._blank(state, 3)
        if "target" in slots:
            Jn[slots["target"] : slots["target"] + 3] = -np.moveaxis(arm.R, 2, 0)
        rows, first = np.arange(len(socket)), slots["sockets"]
        for c in range(3):
            Jn[first + 3 * socket + c, rows, c] = 1.0
        r = sockets[socket] - arm.point(target)
        place = self.first + self.data.index[:, 0]
        found = [Part("spread", r, -arm.columns(target), Jn, self._std(), place)]
        if self.data.distance is not None and self.pairs:
            found.append(self._distances(state, len(model.parameters), first))
        return found

    def _distances(self, state: State, P: int, first: int) -> Part:
        pairs, sockets = self.pairs, state["sockets"]
        count = len(pairs)
        Jn = np.zeros((self.size(state), count, 1))
        r = np.zeros((count, 1))
        for k, (_, a, b) in enumerate(pairs):
            way = sockets[b] - sockets[a]
            length = max(float(np.linalg.norm(way)), 1e-9)
            r[k] = self.data.distance - length
            Jn[first + 3 * a : first + 3 * a + 3, k, 0] = way / length
            Jn[first + 3 * b : first + 3 * b + 3, k, 0] = -way / length
        std = np.full(count, self.data.distance_std)
        place = self.first + np.array([x for x, *_ in pairs])
        return Part("distance", r, np.zeros((P, count, 1)), Jn, std, place, fixed=True)


class PlaneBlock(Block):
    """r = d - n . p"""

    @property
    def names(self) -> tuple[str, ...]:
        """The target and the plane."""
        return tuple(
            x for x, y in (("target", "target"), ("plane", "offset")) if not self._given(y)
        )

    def start(self, model: ErrorModel, values: np.ndarray) -> State:
        """The plane through the points with the target's place that makes them flattest."""
        arm = model.motion(values, self.at, columns=False)
        target = np.zeros(3) if self.data.target is None else self.data.target
        normal, d = self.data.normal, self.data.offset
        for _ in range(1 if self._given("target") else 30):
            p = arm.point(target)
            if self.data.normal is None:
                normal = np.linalg.svd(p - p.mean(axis=0))[2][2]
            if self.data.offset is None:
                d = float((p @ normal).mean())
            if not self._given("target"):
                rows = np.einsum("i,nij->nj", normal, arm.R)
                free = self.data.offset is None
                left = rows - rows.mean(axis=0) if free else rows
                right = arm.p @ normal
                right = right - right.mean() if free else right - d
                target = np.linalg.lstsq(left, -right, rcond=1e-6)[0]
        plane = np.zeros((1, 4))
        plane[0, :3], plane[0, 3] = normal, d
        return {"target": target, "plane": plane}

    def size(self, state: State) -> int:
        """A normal has two unknowns, and only the offset where it is given."""
        found = 0 if self._given("target") else 3
        return found + (0 if self._given("offset") else 1 + 2 * (not self._given("normal")))

    def moved(self, state: State, step: np.ndarray) -> State:
        """The normal turns about two directions across it."""
        found, k = dict(state), 0
        if not self._given("target"):
            found["target"], k = state["target"] + step[:3], 3
        if not self._given("offset"):
            plane = state["plane"].copy()
            if not self._given("normal"):
                n = plane[0, :3] + step[k + 1 : k + 3] @ _across(plane[0, :3])
                plane[0, :3] = n / np.linalg.norm(n)
            plane[0, 3] += step[k]
            found["plane"] = plane
        return found

    def parts(self, model: ErrorModel, values: np.ndarray, state: State) -> list[Part]:
        """Distances from the plane."""
        arm = model.motion(values, self.at)
        target, plane = state["target"], state["plane"][0]
        n, d = plane[:3], plane[3]
        p = arm.point(target)
        Jn, k = self._blank(state, 1), 0
        if not self._given("target"):
            Jn[:3, :, 0], k = -(n @ arm.R).T, 3
        if not self._given("offset"):
            Jn[k, :, 0] = 1.0
            if not self._given("normal"):
                Jn[k + 1 : k + 3, :, 0] = -_across(n) @ p.T
        J = -(arm.columns(target) @ n)[..., None]
        return [Part("plane", (d - p @ n)[:, None], J, Jn, self._std(), self._own())]


class TouchBlock(Block):
    """r = b - p, b a point of a link of the arm, or of another arm."""

    @property
    def names(self) -> tuple[str, ...]:
        """The point of the tool, the other point, and the place of another arm."""
        found = [x for x in ("target", "at") if not self._given(x)]
        return (*found, *(("base",) if self.data.other is not None else ()))

    def _link(self, model: ErrorModel) -> int:
        return model.robot.model.link_index(self.data.link, "Touch")

    def _other(self, model: ErrorModel, values: np.ndarray, columns: bool) -> Motion:
        """The body that is touched."""
        if self.data.other is None:
            return model.motion(values, self.at, self._link(model), columns)
        T = self.data.other.fk(self.data.q_other)
        none = np.zeros((len(model.parameters) if columns else 0, len(T), 3))
        return Motion(T[:, :3, :3], T[:, :3, 3], none, none)

    def start(self, model: ErrorModel, values: np.ndarray) -> State:
        """Both points by linear least squares; another arm's base as of a tracker."""
        arm = model.motion(values, self.at, columns=False)
        other = self._other(model, values, False)
        target, at, base = self.data.target, self.data.at, np.eye(4)
        if self.data.other is not None:
            at = np.zeros(3) if at is None else at
            found = registration(Motion(arm.R, arm.p, arm.V, arm.W), other.point(at), target)
            target = found.target if target is None else target
            base = np.linalg.inv(fitted_frame(arm.point(target), other.point(at)))
            return {"target": target, "at": at, "base": base}
        known = arm.p - other.p + (0.0 if target is None else arm.R @ target)
        known = known - (0.0 if at is None else other.R @ at)
        free = [x for x, y in ((arm.R, target), (-other.R, at)) if y is None]
        if free:
            both = _least(np.concatenate(free, axis=2), -known)
            target = both[:3] if target is None else target
            at = both[-3:] if at is None else at
        return {"target": np.asarray(target), "at": np.asarray(at), "base": base}

    def parts(self, model: ErrorModel, values: np.ndarray, state: State) -> list[Part]:
        """In the reference frame."""
        arm, other = model.motion(values, self.at), self._other(model, values, True)
        target, at, base = state["target"], state["at"], state["base"]
        B, slots = base[:3, :3], self._slots(state)
        touched = other.point(at) @ B.T
        J = other.columns(at) @ B.T - arm.columns(target)
        Jn = self._blank(state, 3)
        if "target" in slots:
            Jn[slots["target"] : slots["target"] + 3] = -np.moveaxis(arm.R, 2, 0)
        if "at" in slots:
            Jn[slots["at"] : slots["at"] + 3] = np.moveaxis(B @ other.R, 2, 0)
        if "base" in slots:
            _frame_columns(Jn, slots["base"], touched, sign=1.0)
        r = touched + base[:3, 3] - arm.point(target)
        return [Part("touch", r, J, Jn, self._std(), self._own())]


KINDS: dict[type[Observations], type[Block]] = {
    Points: PointsBlock,
    Poses: PosesBlock,
    Sockets: SocketsBlock,
    Plane: PlaneBlock,
    Touch: TouchBlock,
}


def block(robot: "Robot", data: Observations, reference: float | None, first: int = 0) -> Block:
    """The residuals of one set for an arm."""
    q = data.postures
    if q.shape[1] != robot.n:
        raise OptionError(
            f"{type(data).__name__} has joint positions of shape {q.shape}, expected "
            f"(N, {robot.n}): {', '.join(robot.joint_names)}"
        )
    warmth = None
    if data.temperature is not None and reference is not None:
        warmth = np.asarray(data.temperature) - reference
    return KINDS[type(data)](data, Postures(q, _torque(robot, data), warmth), first)


def _torque(robot: "Robot", data: Observations) -> np.ndarray:
    """Torques of the gears against gravity, payload included, (N, n)."""
    arm = robot
    if data.payload is not None and data.payload.mass > 0.0:
        arm = robot.with_payload(data.payload.mass, data.payload.com)
    return arm.gravity_torque(data.postures)


# geometry


class Registration(NamedTuple):
    """An instrument's frame without being held to be one: A m + b is the arm's point."""

    A: np.ndarray
    target: np.ndarray
    misfit: float  # median distance that is left, m

    @property
    def scale(self) -> float:
        """Arm's lengths per measured one: 1, or 0.001 of millimetres."""
        return float(np.cbrt(abs(np.linalg.det(self.A))))

    @property
    def mirrored(self) -> bool:
        """True if the measured frame is left-handed."""
        return bool(np.linalg.det(self.A) < 0.0)


def registration(arm: Motion, m: np.ndarray, target: np.ndarray | None) -> Registration:
    """Least squares of A m + b - R o = p, with A (3, 3), b and o free."""
    count = len(m)
    size = max(float(np.abs(m).max()), 1e-300)  # of the instrument's unit
    M = np.zeros((count, 3, 15 if target is None else 12))
    for i in range(3):
        M[:, i, 3 * i : 3 * i + 3] = m / size
        M[:, i, 9 + i] = 1.0
    if target is None:
        M[:, :, 12:] = -arm.R
        right = arm.p
    else:
        right = arm.point(target)
    x = np.linalg.lstsq(M.reshape(3 * count, -1), right.reshape(-1), rcond=1e-9)[0]
    misfit = float(np.median(np.linalg.norm(M @ x - right, axis=1)))
    return Registration(x[:9].reshape(3, 3) / size, x[12:] if target is None else target, misfit)


def fitted_frame(p: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The frame with m = R p + t in least squares, 4x4."""
    centre, other = p.mean(axis=0), m.mean(axis=0)
    R = _rotation((m - other).T @ (p - centre))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, other - R @ centre
    return T


def _rotation(M: np.ndarray) -> np.ndarray:
    """The nearest rotation."""
    U, _, Vt = np.linalg.svd(M)
    return U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt


def _least(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Least squares of A (N, 3, k) x = b (N, 3)."""
    return np.linalg.lstsq(A.reshape(-1, A.shape[2]), b.reshape(-1), rcond=1e-9)[0]


def group_means(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Means of rows by their group."""
    count = np.bincount(group)
    return np.stack([np.bincount(group, c) / count for c in x.T], axis=1)


def _centred(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    return x - group_means(x, group)[group]


def _across(n: np.ndarray) -> np.ndarray:
    """Two directions across a unit vector, (2, 3)."""
    first = np.cross(n, np.eye(3)[int(np.argmin(np.abs(n)))])
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(n, first)])


def _frame_columns(Jn: np.ndarray, k: int, p: np.ndarray, sign: float = -1.0) -> None:
    """Columns of a frame that turns about its own origin and moves; p are points turned by it."""
    for c in range(3):
        Jn[k + c] = sign * np.cross(np.eye(3)[c], p)
        Jn[k + 3 + c, :, c] = sign


def _freedom(value: np.ndarray) -> int:
    return 6 if value.shape == (4, 4) else value.size


def _moved(value: np.ndarray, step: np.ndarray) -> np.ndarray:
    """A frame turned and moved from the left, exp(w) R and t + v; points moved."""
    if value.shape != (4, 4):
        return value + step.reshape(value.shape)
    found = value.copy()
    found[:3, :3] = rotation_of(step[:3]) @ value[:3, :3]
    found[:3, 3] += step[3:]
    return found


def rotation_of(w: np.ndarray) -> np.ndarray:
    """exp of a rotation vector."""
    angle = float(np.linalg.norm(w))
    x, y, z = w
    S = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-8:
        return np.eye(3) + S
    return np.eye(3) + np.sin(angle) / angle * S + (1.0 - np.cos(angle)) / angle**2 * (S @ S)


def _rotation_vectors(R: np.ndarray) -> np.ndarray:
    """log of rotations, (N, 3)."""
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(R).as_rotvec()


def blocks_of(
    robot: "Robot", sets: Sequence[Observations], reference: float | None
) -> tuple[Block, ...]:
    """The residuals of all sets, their places of measurement numbered one after the other."""
    found: list[Block] = []
    first = 0
    for data in sets:
        found.append(one := block(robot, data, reference, first))
        first += one.count
    return tuple(found)
