"""`dy.calibration_postures`: where to measure, so that the arm's errors are told best.

D-optimal by a greedy choice among random postures that are allowed: each next one has the largest

    log det(E + X C X^T / s^2)

with X what it measures by all unknowns and C what is not yet known of them. Postures of sockets
keep the point of the tool where it is.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, choice, number, whole
from ..compile.arrays import finite, numbers
from ..errors import OptionError, ShapeError
from ..progress import stage
from .error_model import ErrorModel
from .observations import Observations, Points, Poses, Sockets
from .residuals import REACH, block

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..robot import Robot

KINDS = ("points", "poses", "sockets")
CANDIDATES = 400  # random postures; of sockets at every place
SCATTER = 1e-4  # m and rad: of one measurement
ANYWHERE = 1.0  # m and rad: what is known of an instrument's frame or a socket before
SLIDE, TURN = 0.5, np.pi  # range of joints without limits, either way
MARGIN = 0.03  # of a joint's range that is left at its ends
STEPS = 40
CLOSE = 1e-9  # m: a point that is where it should be


@checked
def calibration_postures(
    robot: "Robot",
    count: int = 40,
    kind: str = "points",
    *,
    target: "ArrayLike | None" = None,
    floor: float | None = None,
    places: int = 4,
    world: Any = None,
    seed: int = 0,
) -> Any:
    """Postures to measure at: (count, n), of sockets a dict of them by place.

    `kind` is "points", "poses" or "sockets"; `target` the point of the tool that is measured, about
    where it is (in the tool frame; it is fitted later). All are within the joint limits, every
    joint and the target above `floor` (z of the reference frame, m), and clear of the robot's own
    shapes and of a `world`, where there are some. Sockets: `places` of them, count / places each.
    """
    whole(count, "count", 3, 10_000)
    whole(places, "places", 1, count // 3)
    choice(kind, "kind", KINDS)
    robot.model.refuse_closures("calibration_postures")
    if floor is not None:
        number(floor, "floor", "metres", np.isfinite)
    point = np.zeros(3) if target is None else finite(numbers(target, "target", "m"), "target")
    if point.shape != (3,):
        raise ShapeError(f"target has shape {point.shape}, expected (3,)")
    rng = np.random.default_rng(whole(seed, "seed", 0))
    with stage(f"choosing postures of {robot.name}"):
        if kind != "sockets":
            q = _random(robot, max(CANDIDATES, 3 * count), rng)
            q = q[_allowed(robot, q, point, floor, world)]
            if len(q) < count:
                raise OptionError(f"{len(q)} postures are allowed, expected {count}", HINT)
            chosen = _greedy(robot, _observed(robot, q, kind, point), None, count)
            return q[chosen]
        return _of_sockets(robot, count, places, point, floor, world, rng)


HINT = "raise the limits, lower the floor, or look at the world"


def _range(robot: "Robot") -> tuple[np.ndarray, np.ndarray]:
    slides = np.array(robot.joint_kinds) == "prismatic"
    reach = np.where(slides, SLIDE, TURN)
    low, high = np.clip(robot.limits.T, -reach, reach)
    margin = MARGIN * (high - low)
    return low + margin, high - margin


def _random(robot: "Robot", count: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(*_range(robot), (count, robot.n))


def _allowed(
    robot: "Robot", q: np.ndarray, target: np.ndarray, floor: float | None, world: Any
) -> np.ndarray:
    """Postures above the floor and clear of everything, (N,) bool."""
    good = np.ones(len(q), dtype=bool)
    if floor is not None:
        T = robot.fk(q)
        heights = np.column_stack(
            [robot.frames(q)[:, 1:, 2, 3], T[:, 2, 3], (T[:, :3, :3] @ target + T[:, :3, 3])[:, 2]]
        )
        good &= (heights[:, 1:] > floor).all(axis=1)
    if world is not None or robot.model.geometry:
        good[good] = ~robot.collides(q[good], world)
    return good


def _observed(robot: "Robot", q: np.ndarray, kind: str, target: np.ndarray) -> Observations:
    """Observations that the nominal arm would give."""
    T = robot.fk(q)
    T[:, :3, 3] += T[:, :3, :3] @ target
    return Points(q, T[:, :3, 3]) if kind == "points" else Poses(q, T)


def _greedy(
    robot: "Robot", data: Observations, quota: tuple[np.ndarray, int] | None, count: int
) -> np.ndarray:
    """Numbers of the chosen postures; `quota`: the place of each, and how many a place has."""
    model = ErrorModel(robot)
    one = block(robot, data, None)
    zero = np.zeros(len(model.parameters))
    state = one.start(model, zero)
    parts = [x for x in one.parts(model, zero, state) if not x.fixed]
    X = np.concatenate([np.concatenate([x.J, x.Jn]) for x in parts], axis=2)  # (U, N, k)
    weak = np.where(one.expected(state)[1] > 0.0, REACH, ANYWHERE)
    C = np.diag(np.concatenate([model.priors, weak]) ** 2)
    X = np.moveaxis(X, 1, 0) / SCATTER  # (N, U, k)
    free, chosen = np.ones(len(X), dtype=bool), []
    for _ in range(count):
        S = np.swapaxes(X, 1, 2) @ (C @ X) + np.eye(X.shape[2])
        gain = np.where(free, np.linalg.slogdet(S)[1], -np.inf)
        k = int(np.argmax(gain))
        chosen.append(k)
        free[k] = False
        if quota is not None:
            place, most = quota
            if (place[chosen] == place[k]).sum() >= most:
                free[place == place[k]] = False
        CX = C @ X[k]
        C = C - CX @ np.linalg.solve(S[k], CX.T)
    return np.array(chosen)


def _of_sockets(
    robot: "Robot", count: int, places: int, target: np.ndarray, floor: float | None, world: Any,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Postures by place: at points far from each other, each reached in many ways."""
    if robot.n < 4:
        raise OptionError(
            f"robot {robot.name!r} has {robot.n} joints: a point of it is held in few postures",
            "kind='points'",
        )
    each = -(-count // places)
    trial = _random(robot, CANDIDATES, rng)
    trial = trial[_allowed(robot, trial, target, floor, world)]
    T = robot.fk(trial)
    where = T[:, :3, :3] @ target + T[:, :3, 3]
    found: dict[str, np.ndarray] = {}
    taken = np.zeros((0, 3))
    for k in _apart(where, 4 * places):
        q = _holding(robot, where[k], target, rng)
        q = q[_allowed(robot, q, target, floor, world)]
        if len(q) >= each:
            found[f"place {len(found) + 1}"] = q
            taken = np.vstack([taken, where[k]])
        if len(found) == places:
            break
    if len(found) < places:
        what = f"{len(found)} places are reached in {each} postures, expected {places}"
        raise OptionError(what, HINT)
    data = Sockets(found)
    chosen = np.sort(_greedy(robot, data, (data.index[:, 0], each), each * places))
    q = data.postures
    return {
        name: q[[k for k in chosen if data.index[k, 0] == number]]
        for number, name in enumerate(found)
    }


def _apart(points: np.ndarray, count: int) -> list[int]:
    """Numbers of points that are far from each other."""
    if not len(points):
        return []
    chosen = [int(np.argmin(np.linalg.norm(points - np.median(points, axis=0), axis=1)))]
    while len(chosen) < min(count, len(points)):
        far = np.linalg.norm(points[:, None] - points[chosen], axis=2).min(axis=1)
        chosen.append(int(np.argmax(far)))
    return chosen


def _holding(
    robot: "Robot", where: np.ndarray, target: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Postures within the limits whose target is at a point, by Newton's method from anywhere."""
    q = _random(robot, CANDIDATES, rng)
    for _ in range(STEPS):
        T, J = robot.fk(q), robot.jacobian(q)
        offset = T[:, :3, :3] @ target
        left = where - T[:, :3, 3] - offset
        J = J[:, :3] + np.cross(J[:, 3:], offset[:, :, None], axis=1)
        step = (np.linalg.pinv(J, rcond=1e-3) @ left[:, :, None])[:, :, 0]
        q = q + np.clip(step, -0.3, 0.3)
    low, high = _range(robot)
    inside = ((q >= low) & (q <= high)).all(axis=1)
    return q[inside & (np.linalg.norm(left, axis=1) < CLOSE)]
