"""Motion along a path: a straight line of the tool, and the fastest timing within limits."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked, choice, positive, whole
from ..compile.arrays import finite, one_sample
from ..errors import OptionError, ShapeError
from ..ik.assemble import problem_of
from ..ik.follow import closed_by_drives
from ..ik.geometry import TURN, outside
from ..ik.search import IkProblem, descend
from ..ik.target import Target, target, task_mask
from ..lazy import cached_property, package
from .arguments import all_positive, numbers, vectors
from .polynomial import Hermite, cubic, quintic, septic, trapezoid
from .trajectory import Along, Trajectory, bounds, fitting

if TYPE_CHECKING:
    from ..robot import Robot

# A straight line of the tool: its position moves straight and its orientation turns about one axis,
# p = p0 + s (p1 - p0),  R = R0 exp(s log(R0^T R1)),  s from 0 to 1 by the timing.


@dataclass(frozen=True, eq=False)
class Straight:
    """A straight line of positions and the shortest turn between two poses, s from 0 to 1."""

    T0: np.ndarray
    T1: np.ndarray

    @cached_property
    def turn(self) -> np.ndarray:
        """log(R0^T R1), a rotation vector in the axes of the first pose."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_matrix(self.T0[:3, :3].T @ self.T1[:3, :3]).as_rotvec()

    @property
    def rate(self) -> np.ndarray:
        """Linear and angular velocity per unit of s in base axes, (6,): constant."""
        return np.concatenate([self.T1[:3, 3] - self.T0[:3, 3], self.T0[:3, :3] @ self.turn])

    def pose(self, s: float) -> np.ndarray:
        """(4, 4)"""
        from scipy.spatial.transform import Rotation

        T = np.eye(4)
        T[:3, 3] = (1.0 - s) * self.T0[:3, 3] + s * self.T1[:3, 3]
        T[:3, :3] = self.T0[:3, :3] @ Rotation.from_rotvec(s * self.turn).as_matrix()
        return T


# Joints that follow a straight line of the tool, without a jump.
#
# The velocity and acceleration of the path are those of the line, whose rate V is constant:
#
#     J q' = V,   J q'' = -J' q'
#
# A closed mechanism has the rows of its closures below those of the tool, whose rate is zero; its
# drives alone are what is returned, and the others follow them when the tool is measured.
#
# Knots with q, q', q'' are set one after the other, each step as long as the quintic between two
# knots keeps the tool on the line: that is measured, so a path that is returned was checked.

FIRST, LONGEST, SHORTEST = 1 / 16, 1 / 8, 1e-5  # steps in s
LOOKS = (0.2, 0.35, 0.5, 0.65, 0.8)  # where between two knots the tool is measured
STEPS = 12  # of the correction of a knot
NEAR = 0.3  # radians (arm sizes) a correction may move a joint: further is another branch
NUDGE = 1e-5  # radians moved to difference the Jacobian
FLAT = 1e-12  # singular values below this fraction of the largest are none


class Broken(Exception):  # noqa: N818  the way is broken; `line` tells the user
    """The way from one start ends here."""

    def __init__(self, s: float, q: np.ndarray):
        self.s, self.q = s, q
        super().__init__(f"at s = {s}")


class Knot(NamedTuple):
    """Path parameter, and q with its two derivatives in s, (3, n)."""

    s: float
    state: np.ndarray


@dataclass(frozen=True, eq=False)
class Follower:
    """A robot, the way of its tool and what of it counts."""

    robot: "Robot"
    way: Straight
    mask: np.ndarray
    tolerance: float

    def problem(self, s: float) -> IkProblem:
        """The inverse kinematics of one point of the way."""
        return problem_of(self.robot, Target(self.way.pose(s), self.mask))

    def corrected(self, s: float, q: np.ndarray) -> np.ndarray:
        """The joint positions near q that put the tool on the line."""
        return descend(self.problem(s), q[None], STEPS)[0]

    def path(self, q: np.ndarray) -> Hermite:
        """q(s) from the start q to the end of the line; raises Broken where it stops."""
        knots, step = [self._knot(0.0, q)], FIRST
        while knots[-1].s < 1.0:
            last = knots[-1]
            s = 1.0 if last.s + 1.001 * step >= 1.0 else last.s + step
            found = self._next(last, s)
            if found is not None:
                knots.append(found)
                step = min(1.5 * step, LONGEST)
            elif step < SHORTEST:
                raise Broken(last.s, last.state[0])
            else:
                step = 0.5 * step
        return Hermite([k.s for k in knots], [k.state for k in knots])

    def refusal(self, end: Broken) -> OptionError:
        """Why the line cannot be followed, in words."""
        ahead = min(1.0, end.s + 1e-3)
        T = self.way.pose(ahead)
        where = f"s = {end.s:.4f} (tool near {np.round(T[:3, 3], 4).tolist()})"
        found = self.robot.ik(T, task=self.mask)
        if not len(found):
            return OptionError(
                f"the line leaves the workspace at {where}: {found.reason}",
                "move the line nearer to the base, or ask less with task=",
            )
        problem = self.problem(ahead)
        jumps = problem.space.differences(found.q, end.q)
        jump = jumps[int(np.argmin(jumps.max(axis=-1)))]
        joint = int(np.argmax(jump))
        return OptionError(
            f"the line cannot be followed without a jump at {where}: joint "
            f"{self.robot.joint_names[joint]!r} would jump by "
            f"{(jump * problem.joint_scale)[joint]:.3g}; the arm is singular there",
            "start from another solution with q0=, move the line, or use joint motion there",
        )

    def _next(self, last: Knot, s: float) -> Knot | None:
        """The knot at s, if the quintic that leads to it keeps the tool on the line."""
        h = s - last.s
        q, q1, q2 = last.state
        guess = q + h * q1 + 0.5 * h * h * q2
        scale = self.problem(s).joint_scale
        if not (np.abs(guess - q) < NEAR * scale).all():
            return None
        new = self.corrected(s, guess)
        if not (np.abs(new - guess) < 0.5 * NEAR * scale).all():
            return None
        knot = self._knot(s, new)
        return knot if self._strays(last, knot) < self.tolerance else None

    def _knot(self, s: float, q: np.ndarray) -> Knot:
        J = self._slopes(q)
        inverse = np.linalg.pinv(J, rcond=FLAT)
        rate = np.zeros(len(J))
        rate[: self.mask.sum()] = self.way.rate[self.mask]
        q1 = inverse @ rate
        step = NUDGE / max(float(np.abs(q1).max()), 1e-12)
        ahead, behind = self._slopes(np.array([q + step * q1, q - step * q1]))
        q2 = -inverse @ (((ahead - behind) / (2.0 * step)) @ q1)
        return Knot(s, np.array([q, q1, q2]))

    def _slopes(self, q: np.ndarray) -> np.ndarray:
        """The Jacobian of what counts of the tool, and of the closures that count."""
        J = self.robot.jacobian(q)[..., self.mask, :]
        if self.robot.chain.mobility is None:
            return J
        rows = list(self.robot.chain.mobility.rows)
        return np.concatenate([J, self.robot.closure_jacobian(q)[..., rows, :]], axis=-2)

    def _strays(self, a: Knot, b: Knot) -> float:
        """Largest error of the tool between and at two knots."""
        h = b.s - a.s
        piece, looks = Hermite((0.0, h), [a.state, b.state]), (*LOOKS, 1.0)
        q = piece(h * np.array(looks)).q
        q = closed_by_drives(self.robot, q)
        errors = [self.problem(a.s + u * h).residuals(x) for u, x in zip(looks, q, strict=True)]
        return float(np.max(np.nan_to_num(errors, nan=np.inf)))


TIMINGS = {"cubic": cubic, "quintic": quintic, "septic": septic, "trapezoid": trapezoid}
TRIED = 8  # start solutions followed, at most, when none is asked for


@checked
def line(
    robot: "Robot",
    T0: Any,
    T1: Any,
    duration: float,
    q0: Any = None,
    timing: str = "quintic",
    task: Any = None,
    tolerance: float = 1e-9,
) -> Along:
    """The tool goes straight from pose T0 to pose T1 (4x4, or points (3,) for a position task).

    Of all solutions at T0 the one nearest to `q0` is followed; without q0, the one whose way keeps
    within the joint limits and turns the joints least. The tool strays from the line by less than
    `tolerance`, metres and radians together. A line that leaves the workspace, or that no solution
    follows without a jump, is refused with the place. `task` is that of `robot.ik`. Of a closed
    mechanism the drives move; q0 is still one of all joints.
    """
    choice(timing, "timing", TIMINGS)
    duration = positive(duration, "duration", "seconds")
    tolerance = positive(tolerance, "tolerance", "metres and radians")
    mask = task_mask(robot, task)
    way = Straight(_end(T0, mask, "T0"), _end(T1, mask, "T1"))
    follower = Follower(robot, way, mask, tolerance)
    path = _path(follower, _starts(follower, q0))
    states = np.stack(path(path.times), axis=1)  # what is given at a knot comes out exactly
    path = Hermite(path.times, states[..., robot.driven])
    return Along(path, TIMINGS[timing](0.0, 1.0, duration))


def _end(T: Any, mask: np.ndarray, name: str) -> np.ndarray:
    try:
        return target(T, mask).T
    except ShapeError as error:
        raise ShapeError(f"{name}: {error.message}", error.hint) from None


def _starts(follower: Follower, q0: Any) -> np.ndarray:
    """Joint positions at the beginning of the line, best first."""
    robot, problem = follower.robot, follower.problem(0.0)
    if q0 is not None:
        q0 = finite(one_sample(q0, "q0", (robot.n,), f"robot {robot.name!r}"), "q0")
        if problem.residuals(q0) < follower.tolerance:
            return follower.corrected(0.0, q0)[None]
    found = robot.ik(follower.way.pose(0.0), task=follower.mask)
    if not len(found):
        raise OptionError(f"no joint positions put the tool at T0: {found.reason}")
    space = problem.space
    if q0 is None:
        return space.into_limits(found.q, robot.limits)[:TRIED]
    nearest = found.q[int(np.argmin(space.distance(found.q, q0)))]
    turns = np.where(problem.revolute, np.round((q0 - nearest) / TURN), 0.0)
    return (nearest + TURN * turns)[None]


def _path(follower: Follower, starts: np.ndarray) -> Hermite:
    """The best of the ways that begin at the given starts."""
    paths, broken = [], []
    for q in starts:
        try:
            paths.append(follower.path(q))
        except Broken as end:
            broken.append(end)
    if paths:
        return min(paths, key=lambda path: _cost(path, follower))
    raise follower.refusal(max(broken, key=lambda end: end.s))


def _cost(path: Hermite, follower: Follower) -> tuple[int, float]:
    """Joints that leave their limits, then how far the joints move in all."""
    q = path(np.linspace(0.0, 1.0, 101)).q
    left = outside(q, follower.robot.limits).any(axis=0).sum()
    return int(left), float(np.abs(np.diff(q, axis=0)).sum())


# The fastest motion along a path within torque, velocity and acceleration limits, by toppra.
#
# Along p(s), with x = sd^2 and u = sdd, every limit is linear: a(s) u + b(s) x + c(s) in bounds,
#
#     a = M p',   b = M p'' + C(p, p') p',   c = g + friction(p' sd)
#
# where friction takes the speed of the round before, until it no longer changes.
# H. Pham and Q.-C. Pham, A new approach to time-optimal path parameterization, IEEE Transactions on
# Robotics 34, 2018.

ROUNDS = 20  # of friction's fixed point, at most
SETTLED = 1e-4  # relative change of speed that ends it
CREEP = 1e-6  # path speed that stands for "just moving" where it would be zero
MARGIN = 1e-3  # of every limit, for what happens between the grid points
FASTEST = 1e4  # bound of sd^2 where no joint sets one: toppra's own


class LimitRows(NamedTuple):
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
    robot.model.refuse_closures(
        "time_optimal",
        "trapezoid(...) with velocity and acceleration, or quintic(...), move the drives",
    )
    toppra = package("toppra", "toppra", "time_optimal", "trajectory")
    whole(grid, "grid", 10, 10**6)
    shape = shape_of(path)
    fitting(shape, robot)
    speed, effort = bounds(robot)
    top = limit_of(velocity, "velocity", robot.n, speed[:, 1])
    push = limit_of(torque, "torque", robot.n, effort[:, 1])
    pull = limit_of(acceleration, "acceleration", robot.n, np.full(robot.n, np.inf))
    if not np.isfinite(push).any() and not np.isfinite(pull).any():
        raise OptionError(
            f"robot {robot.name!r} has no effort_limit, and neither torque nor acceleration "
            "was given",
            "give torque= or acceleration=: without either the motion takes no time",
        )
    s = np.linspace(0.0, 1.0, int(grid) + 1)
    sd = _settled(toppra, robot, shape, s, (top, pull, push))
    return Along(shape, _timing(s, sd))


def shape_of(path: Any) -> Trajectory:
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
    from scipy.interpolate import CubicSpline

    curve = CubicSpline(s, points, bc_type="natural")
    return Hermite(s, np.stack([points, curve(s, 1), curve(s, 2)], axis=1))


def limit_of(given: Any, name: str, n: int, default: np.ndarray) -> np.ndarray:
    """A limit above zero for every joint, (n,): as given, one for all, or the default."""
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


def _rows(
    robot: "Robot", path: Trajectory, s: np.ndarray, sd: np.ndarray, limits: Any
) -> LimitRows:
    q, p1, p2 = path(s)
    top, pull, push = limits
    still = np.zeros_like(q)
    rest = robot.friction_torque(still)
    held = sum(robot._effect_torques(q, still).values())
    g = robot.gravity_torque(q) + held - rest

    def losses(rate: np.ndarray) -> np.ndarray:
        """Friction, and what springs and loads add to it in motion."""
        return sum(robot._effect_torques(q, rate).values()) - held + rest

    free = _unloaded(robot, q, p1, p2) - losses(p1) - g
    inertia = _unloaded(robot, q, still, p1) - rest - g
    friction = losses(p1 * np.maximum(sd, CREEP)[:, None])
    high = np.tile((1.0 - MARGIN) * np.concatenate([push, pull]), (len(s), 1))
    low, n, ends = -high, robot.n, [0, -1]
    if robot.rubs_under_load:  # T + s |T| within what friction leaves: T within other limits
        rate = p1 * np.maximum(sd, CREEP)[:, None]
        share, rubs = robot.load_shares(rate), robot.friction_torque(rate)
        for bound, tightest in ((high, np.minimum), (low, np.maximum)):
            left = bound[:, :n] - rubs
            with np.errstate(invalid="ignore"):
                carried = rubs + left / (1.0 + share * np.sign(left))
            carried[ends] = tightest(bound[ends, :n], carried[ends])
            bound[:, :n] = np.where(np.isfinite(left), carried, left)
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
    return LimitRows(a, b, c, low, high, np.minimum(fastest, FASTEST))


def _unloaded(robot: "Robot", q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Torque without friction under load."""
    tau = robot.inverse_dynamics(q, qd, qdd)
    return tau - robot.load_friction(q, qd, qdd) if robot.rubs_under_load else tau


def _solved(toppra: Any, rows: LimitRows, s: np.ndarray, n: int) -> np.ndarray:
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
