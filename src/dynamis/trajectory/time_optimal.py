"""The fastest motion along a path within torque, velocity and acceleration limits, by toppra.

Along p(s), with x = sd^2 and u = sdd, every limit is linear: a(s) u + b(s) x + c(s) within bounds,

    a = M p',   b = M p'' + C(p, p') p',   c = g + friction(p' sd)

where friction takes the speed of the round before, until it no longer changes.
H. Pham and Q.-C. Pham, A new approach to time-optimal path parameterization, IEEE Transactions on
Robotics 34, 2018.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from ..arguments import checked, whole
from ..errors import OptionError, ShapeError
from ..lazy import package
from .arguments import all_positive, numbers, vectors
from .limits import bounds
from .polynomial import Hermite
from .trajectory import Along, Trajectory, fitting

if TYPE_CHECKING:
    from ..robot import Robot

ROUNDS = 20  # of friction's fixed point, at most
SETTLED = 1e-4  # relative change of speed that ends it
CREEP = 1e-6  # path speed that stands for "just moving" where it would be zero
MARGIN = 1e-3  # of every limit, for what happens between the grid points
FASTEST = 1e4  # bound of sd^2 where no joint sets one: toppra's own


class Rows(NamedTuple):
    """low <= a u + b x + c <= high at every grid point, (N, rows); 0 <= x <= top, (N,)."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    low: np.ndarray
    high: np.ndarray
    top: np.ndarray


@checked
def time_optimal(
    robot: "Robot",
    path: Any,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    grid: int = 200,
) -> Along:
    """From rest to rest along `path` as fast as the limits allow; needs the extra `trajectory`.

    `path` is a trajectory from `line` (its timing is replaced) or points (k, n) for a natural cubic
    spline. Limits are per joint, or one for all; velocity and torque are the robot's velocity_limit
    and effort_limit unless given. They are kept at `grid` points of the path, less 0.1 %.
    """
    toppra = package("toppra", "toppra", "time_optimal", "trajectory")
    whole(grid, "grid", 10, 10**6)
    shape = _shape(path)
    fitting(shape, robot)
    speed, effort = bounds(robot)
    top = _limit(velocity, "velocity", robot.n, speed[:, 1])
    push = _limit(torque, "torque", robot.n, effort[:, 1])
    pull = _limit(acceleration, "acceleration", robot.n, np.full(robot.n, np.inf))
    if not np.isfinite(push).any() and not np.isfinite(pull).any():
        raise OptionError(
            f"robot {robot.name!r} has no effort_limit, and neither torque nor acceleration "
            "was given",
            "give torque= or acceleration=: without either the motion takes no time",
        )
    s = np.linspace(0.0, 1.0, int(grid) + 1)
    sd = _settled(toppra, robot, shape, s, (top, pull, push))
    return Along(shape, _timing(s, sd))


def _shape(path: Any) -> Trajectory:
    """The path as a trajectory in s from 0 to 1 that moves at both ends."""
    if isinstance(path, Along):
        return path.path
    if isinstance(path, Trajectory):
        raise OptionError(
            f"path is {path!r}, which stands still at its ends in its own parameter",
            "give its points, path.sample(dt).q, or a line",
        )
    points = numbers(path, "path", "points of shape (k, n)")
    if points.ndim != 2 or len(points) < 2:
        raise ShapeError(f"path has shape {points.shape}, expected (k, n) with k of at least 2")
    chord = np.linalg.norm(np.diff(points, axis=0), axis=1)
    if not (chord > 0).all():
        first = int(np.flatnonzero(chord == 0)[0])
        raise OptionError(
            f"points {first} and {first + 1} of the path are the same", "leave it out"
        )
    s = np.concatenate([[0.0], np.cumsum(chord)]) / chord.sum()
    s[-1] = 1.0
    if len(points) == 2:
        straight = [points, np.repeat(np.diff(points, axis=0), 2, axis=0), np.zeros_like(points)]
        return Hermite(s, np.stack(straight, axis=1))
    curve = CubicSpline(s, points, bc_type="natural")
    return Hermite(s, np.stack([points, curve(s, 1), curve(s, 2)], axis=1))


def _limit(given: Any, name: str, n: int, default: np.ndarray) -> np.ndarray:
    if given is None:
        return default
    values, _ = vectors({name: given, "q": np.zeros(n)})
    all_positive(values, name)
    return np.array(values)


def _settled(toppra: Any, robot: "Robot", path: Trajectory, s: np.ndarray, limits: Any) -> Any:
    """sd at the grid points, with the friction of that very speed."""
    sd = np.full(len(s), CREEP)
    for round_ in range(ROUNDS):
        new = _solved(toppra, _rows(robot, path, s, sd, limits), s, path.n)
        change = np.abs(new - sd).max() / new.max()
        sd = new if round_ == 0 else 0.5 * (sd + new)
        if change < SETTLED:
            return new
    return sd


def _rows(robot: "Robot", path: Trajectory, s: np.ndarray, sd: np.ndarray, limits: Any) -> Rows:
    q, p1, p2 = path(s)
    top, pull, push = limits
    still = np.zeros_like(q)
    g = robot.gravity_torque(q)
    free = robot.inverse_dynamics(q, p1, p2) - robot.friction_torque(p1) - g
    rest = robot.friction_torque(still)
    inertia = robot.inverse_dynamics(q, still, p1) - rest - g
    friction = robot.friction_torque(p1 * np.maximum(sd, CREEP)[:, None])
    high = np.tile((1.0 - MARGIN) * np.concatenate([push, pull]), (len(s), 1))
    low, n, ends = -high, robot.n, [0, -1]
    # at the ends the arm rests: the limits hold with friction and without
    high[ends, :n] -= np.maximum((friction - rest)[ends], 0.0)
    low[ends, :n] -= np.minimum((friction - rest)[ends], 0.0)
    friction[ends] = rest[ends]
    a, b = np.concatenate([inertia, p1], axis=1), np.concatenate([free, p2], axis=1)
    c = np.concatenate([g + friction, still], axis=1)
    with np.errstate(divide="ignore"):
        fastest = ((1.0 - MARGIN) * top / np.abs(p1)).min(axis=1) ** 2
    kept = np.isfinite(high[0])
    a, b, c, low, high = (x[:, kept] for x in (a, b, c, low, high))
    return Rows(a, b, c, low, high, np.minimum(fastest, FASTEST))


def _solved(toppra: Any, rows: Rows, s: np.ndarray, n: int) -> np.ndarray:
    """toppra's path speed at the grid points."""
    constraint, count = toppra.constraint, rows.a.shape[1]
    F = np.broadcast_to(np.vstack([np.eye(count), -np.eye(count)]), (len(s), 2 * count, count))
    bound = np.concatenate([rows.high, -rows.low], axis=1)

    class Limits(constraint.LinearConstraint):
        """These rows, between the grid points too."""

        def __init__(self) -> None:
            super().__init__()
            self.dof = n
            self.set_discretization_type(constraint.DiscretizationType.Interpolation)

        def compute_constraint_params(self, path: Any, gridpoints: Any, *_: Any) -> Any:
            top = np.stack([np.zeros(len(s)), rows.top], axis=1)
            return constraint.canlinear_colloc_to_interpolate(
                rows.a, rows.b, rows.c, F, bound, None, top, gridpoints
            )

    straight = toppra.SplineInterpolator([0.0, 1.0], np.vstack([np.zeros(n), np.ones(n)]))
    solver = toppra.algorithm.TOPPRA([Limits()], straight, gridpoints=s)
    _, sd, _ = solver.compute_parameterization(0.0, 0.0)
    if sd is None or not np.isfinite(sd).all():
        share = np.maximum(rows.c / rows.high, rows.c / rows.low).max(axis=1)
        worst = int(np.argmax(share))
        raise OptionError(
            "no motion along the path keeps the limits from rest to rest: at "
            f"s = {s[worst]:.3f} gravity and friction alone take {100 * share[worst]:.0f} % of a "
            "joint's limit",
            "raise torque=, acceleration= or velocity=, or choose another path",
        )
    return np.asarray(sd, dtype=float).ravel()


def _timing(s: np.ndarray, sd: np.ndarray) -> Hermite:
    """s(t) with constant sdd between grid points: dt = 2 ds / (sd_0 + sd_1)."""
    t = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (sd[:-1] + sd[1:]))])
    return Hermite(t.tolist(), np.stack([s, sd], axis=1)[:, :, None])
