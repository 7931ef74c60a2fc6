"""All joints of closed mechanisms from their drives, many samples at once, within one assembly.

Samples start at the nearest configuration that is known. Their drives go to where they are asked
for in small steps, the other joints follow by their rates and are closed by Newton's method:

    J_d dx = -e,   e the errors of the closures, J_d their slope over the joints that follow

A sample that does not close, is thrown far from where it was led, or comes near a configuration in
which the drives decide nothing is left out.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from ..dynamics.mobility import assemblies, size
from ..errors import ClosureError
from ..lazy import once
from .assemble import CLOSED, refuse_open_arms
from .follow import CORRECTION, FASTEST, SHORTEST, STEP
from .geometry import outside

if TYPE_CHECKING:
    from ..robot import Robot

NEWTON = 8  # steps
LAST = 1e-7  # m or rad: the step from there is the last, it leaves rounding
APART = 2.0 * STEP  # of configurations that are kept as starts
REACH = 6.0 * STEP  # from where a sample starts, unless there is nothing nearer
TRIES = 2  # from different starts, before a sample is given up
WIDE = 1.0, 0.3  # rad and mechanism sizes about the start, within which states are drawn
NARROWEST = 1e-3  # of that
CALM = 20.0  # rate of a joint per rate of a drive: states drawn are far from singular ones


class Motion(NamedTuple):
    """Positions, rates and accelerations of all joints, each (N, n); NaN where left out."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Assembly:
    """All joints of a closed mechanism by its independent ones, in the assembly of `start`.

    `start` is a configuration that closes, `robot.home` unless it is singular.
    """

    def __init__(self, robot: "Robot", start: np.ndarray | None = None):
        refuse_open_arms(robot)
        self.robot = robot.with_closure_limits(nan=True)
        self.drives = list(robot.independent)
        unit = size(robot.chain)
        self.scale = np.array([1.0 if kind == "revolute" else unit for kind in robot.joint_kinds])
        self._known = np.array(self._sound() if start is None else start, dtype=float)[None]

    @property
    def start(self) -> np.ndarray:
        """The configuration that it is the assembly of, (n,)."""
        return self._known[0]

    def _sound(self) -> np.ndarray:
        """The first assembly known that is not singular."""
        robot = self.robot
        starts = [tuple(q) for q in robot.model.configurations.values()]
        found = np.array(assemblies(robot.chain, starts)[0])
        sound = found[robot.closure_status(found) == 0.0]
        if not len(sound):
            raise ClosureError(
                f"the drives of robot {robot.name!r} decide nothing in any assembly that is known",
                "give a configuration that closes in [configurations]",
            )
        return sound[0]

    def positions(self, q_active: Any) -> np.ndarray:
        """q of all joints from those of the independent ones (N, dof), (N, n); NaN: not found."""
        goal = np.asarray(q_active, dtype=float)
        found, tries = np.full((len(goal), self.robot.n), np.nan), np.zeros(len(goal), dtype=int)
        left = np.flatnonzero(np.isfinite(goal).all(axis=1))
        while len(left):
            away, where = self._nearest(goal[left])
            near = away <= REACH
            if not near.any():  # a jump: whatever comes to its end
                near[:] = True
                tries[left] = TRIES
            rows = left[near]
            q, reached = self.followed(self._known[where[near]], goal[rows])
            found[rows[reached]] = q[reached]
            self._keep(q[reached])
            tries[rows] += 1
            left = left[np.isnan(found[left, 0]) & (tries[left] < TRIES)]
        return found

    def _nearest(self, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance and number of the nearest configuration that is known, (N,) each."""
        known = KDTree(self._known[:, self.drives] / self.scale[self.drives])
        away, where = known.query(goal / self.scale[self.drives])
        return np.atleast_1d(away), np.atleast_1d(where)

    def _keep(self, q: np.ndarray) -> None:
        """Configurations to start from, thinned out."""
        cells = np.round(q[:, self.drives] / (APART * self.scale[self.drives]))
        _, first = np.unique(cells, axis=0, return_index=True)
        q = q[np.sort(first)]
        if len(q):
            away, _ = self._nearest(q[:, self.drives])
            self._known = np.concatenate([self._known, q[away > 0.5 * APART]])

    def motion(self, q_active: Any, qd_active: Any, qdd_active: Any) -> Motion:
        """The motion of all joints from that of the independent ones, each (N, dof)."""
        q = self.positions(q_active)
        good = np.isfinite(q[:, 0])
        found = Motion(q, *np.full((2, *q.shape), np.nan))
        if good.any():
            v, a = (np.asarray(x, dtype=float)[good] for x in (qd_active, qdd_active))
            found.qd[good] = self.robot.joint_rates(q[good], v)
            found.qdd[good] = self.robot.joint_accelerations(q[good], found.qd[good], a)
        return found

    def lowered(self, q: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Z^T of torques of all joints (N, n, m): those of the drives that do the same work."""
        return self.robot.joint_rates(q[:, None], np.eye(len(self.drives))) @ torques

    def followed(self, q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From closed q (N, n), drives moved straight to goals (N, dof): q, and which arrived."""
        q, drives = np.array(q, dtype=float), self.drives
        start = q[:, drives]
        far = np.abs((goal - start) / self.scale[drives]).max(axis=1, initial=0.0)
        steps = np.maximum(1, np.ceil(far / STEP)).astype(int)
        good = np.ones(len(q), dtype=bool)
        speed = self.fastest(q)
        for k in range(int(steps.max(initial=0))):
            rows = np.flatnonzero(good & (k < steps))
            share = ((k + 1.0) / steps[rows])[:, None]
            at = np.where(share < 1.0, start[rows] + share * (goal - start)[rows], goal[rows])
            led = q[rows] + self.robot.joint_rates(q[rows], at - q[rows][:, drives])
            led[:, drives] = at
            closed, open_by = self._closed(led)
            length = np.maximum(far[rows] / steps[rows], SHORTEST)
            with np.errstate(invalid="ignore"):
                away = np.abs((closed - led) / self.scale).max(axis=1)
                arrived = (open_by <= CLOSED) & (away <= CORRECTION * length)
            arrived[arrived] &= self.robot.closure_status(closed[arrived]) == 0.0
            now = np.full(len(rows), np.inf)
            now[arrived] = self.fastest(closed[arrived])
            arrived &= now <= np.maximum(FASTEST, speed[rows])
            speed[rows], good[rows] = now, arrived
            q[rows[arrived]] = closed[arrived]
        return q, good

    def _closed(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q with the joints that follow closed by Newton's method, and what stays open, (N,)."""
        found = self.robot.chain.mobility
        assert found is not None
        rows, free, q = list(found.rows), list(found.dependent), q.copy()
        left = np.flatnonzero(np.isfinite(q).all(axis=1))
        every = left
        for _ in range(NEWTON):
            e = self.robot.closure_error(q[left])
            J = self.robot.closure_jacobian(q[left])[:, rows][:, :, free]
            q[left[:, None], free] -= _solved(J, e[:, rows])
            left = left[np.abs(e).max(axis=1, initial=0.0) > LAST]
            if not len(left):
                break
        open_by = np.full(len(q), np.inf)
        open_by[every] = np.abs(self.robot.closure_error(q[every])).max(axis=1, initial=0.0)
        return q, np.where(np.isnan(open_by), np.inf, open_by)

    def fastest(self, q: np.ndarray) -> np.ndarray:
        """The largest rate of a joint per rate of a drive, in scaled units, (N,); inf: singular."""
        each = np.diag(self.scale[self.drives])
        rates = np.abs(self.robot.joint_rates(q[:, None], each) / self.scale).max(axis=(1, 2))
        return np.where(np.isnan(rates), np.inf, rates)

    def drawn(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random configurations about the start, within limits, not near singular ones, (k, n)."""
        drives, limits = self.drives, self.robot.limits
        revolute = np.array([self.robot.joint_kinds[k] == "revolute" for k in drives])
        width = np.where(revolute, WIDE[0], WIDE[1] * self.scale[drives])
        kept, share = np.zeros((0, self.robot.n)), 1.0
        calm = max(CALM, 2.0 * self.fastest(self.start[None])[0])
        inside = ~outside(self.start[None], limits)[0]  # a start beyond a limit does not count it
        while len(kept) < count and share >= NARROWEST:
            low, high = self.start[drives] - share * width, self.start[drives] + share * width
            held = inside[drives]
            low = np.where(held, np.maximum(low, limits[drives, 0]), low)
            high = np.where(held, np.minimum(high, limits[drives, 1]), high)
            if (high - low < NARROWEST * share * width).any():
                break  # a drive that its limits hold
            goal = rng.uniform(low, high, (2 * count, len(drives)))
            q, good = self.followed(np.repeat(self.start[None], len(goal), axis=0), goal)
            good &= ~(outside(q, limits) & inside).any(axis=1)
            good[good] &= self.fastest(q[good]) <= calm
            kept, share = np.concatenate([kept, q[good]]), 0.5 * share
        return kept[:count]


def _solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(A, b[..., None])[..., 0]
    except np.linalg.LinAlgError:  # one of them is exactly singular
        return (np.linalg.pinv(A) @ b[..., None])[..., 0]


def assembly(robot: "Robot") -> Assembly:
    """That of `robot.home`, made once."""
    return once(robot, "assembly", lambda: Assembly(robot))


def alike(robot: "Robot", other: "Robot") -> "Robot":
    """The other robot, which moves as this one does: what is known of its assembly is shared."""
    if robot.model.closures:
        once(other, "assembly", lambda: assembly(robot))
    return other


def random_motion(
    robot: "Robot",
    count: int,
    rng: np.random.Generator,
    speed: float = 1.0,
    acceleration: float = 1.0,
) -> Motion:
    """Random states that close, in the assembly of `robot.home`; every drive moves in each.

    Speeds and accelerations of the drives are at most those given.
    """
    own = assembly(robot)
    q = own.drawn(count, rng)
    if len(q) < count:
        raise ClosureError(
            f"only {len(q)} of {count} random configurations of robot {robot.name!r} close within "
            "its limits, about the first assembly that is known",
            "give a configuration in the middle of the joint limits in [configurations]",
        )
    v, a = rng.uniform(-1.0, 1.0, size=(2, count, robot.dof))
    v, a = speed * v, acceleration * a
    qd = own.robot.joint_rates(q, v)
    return Motion(q, qd, own.robot.joint_accelerations(q, qd, a))
