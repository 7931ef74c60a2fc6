"""All joints of closed mechanisms from their drives, many samples at once, within one assembly.

Those of open arms are the joints that are given.

Samples start at the nearest configuration that is known, and are followed from there (`follow`).
One that does not close, or comes near a configuration in which the drives decide nothing, is left
out.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..dynamics.mobility import known_assemblies
from ..errors import ClosureError, OptionError, counted
from ..lazy import once
from ..robot.closing import undriven
from ..robot.preflight import random_positions
from .follow import REACHED, STEP, fastest, follow, follow_many
from .geometry import outside, turning
from .tangent import joint_scale

if TYPE_CHECKING:
    from ..robot import Robot

APART = 2.0 * STEP  # of configurations that are kept as starts
REACH = 6.0 * STEP  # from where a sample starts, unless there is nothing nearer
TRIES = 2  # from different starts, before a sample is given up
WIDE = 1.0, 0.3  # rad and mechanism sizes about the start, within which states are drawn
NARROWEST = 1e-3  # of that
FASTEST = 20.0  # rate of a joint per rate of a drive: states drawn are far from singular ones


class Motion(NamedTuple):
    """Positions, rates and accelerations of all joints, each (N, n); NaN where left out."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class DrivenAssembly:
    """All joints of a closed mechanism by its independent ones, in the assembly of `start`.

    `start` is a configuration that closes, `robot.home` unless it is singular.
    """

    def __init__(self, robot: "Robot", start: np.ndarray | None = None):
        self.robot = robot.with_closure_limits(nan=True)
        self.drives = list(robot.independent)
        self.scale = joint_scale(robot)
        self._known = np.array(self._sound() if start is None else start, dtype=float)[None]

    @property
    def start(self) -> np.ndarray:
        """The configuration that it is the assembly of, (n,)."""
        return self._known[0]

    def _sound(self) -> np.ndarray:
        """The first assembly known that is not singular."""
        robot = self.robot
        found = np.array(known_assemblies(robot.chain, robot.model))
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
        from scipy.spatial import KDTree

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
            _, found.qd[good], found.qdd[good] = self.moved(q[good], v, a)
        return found

    def moved(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Motion:
        """The motion of all joints at q (N, n) from that of the independent ones, (N, dof)."""
        qd = self.robot.joint_rates(q, v)
        return Motion(q, qd, self.robot.joint_accelerations(q, qd, a))

    def lowered(self, q: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Z^T of torques of all joints (N, n, m): those of the drives that do the same work."""
        return self.robot.joint_rates(q[:, None], np.eye(len(self.drives))) @ torques

    def followed(self, q: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From closed q (N, n), drives moved straight to goals (N, dof): q, and which arrived.

        What does not come there in steps of the usual length is given up.
        """
        found, why = follow_many(self.robot, q, goal, shortest=STEP)
        return found, why == REACHED

    def fastest(self, q: np.ndarray) -> np.ndarray:
        """The largest rate of a joint per rate of a drive, in scaled units, (N,)."""
        return fastest(self.robot, q)

    def drawn(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random configurations about the start, within limits, not near singular ones, (k, n)."""
        drives, limits = self.drives, self.robot.limits
        width = np.where(turning(self.robot)[drives], WIDE[0], WIDE[1] * self.scale[drives])
        kept, share = np.zeros((0, self.robot.n)), 1.0
        bound = max(FASTEST, 2.0 * self.fastest(self.start[None])[0])
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
            good[good] &= self.fastest(q[good]) <= bound
            kept, share = np.concatenate([kept, q[good]]), 0.5 * share
        return kept[:count]


class OpenArm:
    """All joints of an arm without closures: every one moves by itself."""

    def __init__(self, robot: "Robot"):
        self.robot = robot

    def positions(self, q_active: Any) -> np.ndarray:
        """q as it is given, (N, n)."""
        return np.array(q_active, dtype=float)

    def motion(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Motion:
        """The motion as it is given, each (N, n)."""
        return Motion(q, qd, qdd)

    moved = motion

    def lowered(self, q: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Torques (N, n, m) as they are."""
        return torques

    def drawn(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random configurations within limits, (count, n)."""
        return random_positions(self.robot, count, rng)


def assembly_from(robot: "Robot", start: np.ndarray | None = None) -> DrivenAssembly | OpenArm:
    """All joints of a robot by its independent ones, in the assembly of `start` where it counts."""
    return DrivenAssembly(robot, start) if robot.model.closures else OpenArm(robot)


def assembly(robot: "Robot") -> DrivenAssembly | OpenArm:
    """That of `robot.home`, made once."""
    return once(robot, "assembly", lambda: assembly_from(robot))


def alike(robot: "Robot", other: "Robot") -> "Robot":
    """The other robot, which moves as this one does: what is known of its assembly is shared."""
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
    return own.moved(q, speed * v, acceleration * a)


def deciding(robot: "Robot", what: str) -> list[int]:
    """Columns, among those of the drives, of the joints that decide all others."""
    if idle := undriven(robot):
        raise OptionError(
            f"{what} of robot {robot.name!r}, which has {counted(robot.dof, 'degree')} of "
            "freedom: its drives "
            f"do not decide {', '.join(idle)}",
            "drive these joints (passive = false)",
        )
    return [robot.driven.index(k) for k in robot.independent]


def motion_along(robot: "Robot", start: np.ndarray, *given: np.ndarray) -> Motion:
    """The motion of all joints (K, n) from that given of the independent ones, (K, dof) each.

    They are led there from `start`.
    """
    rows, v, a = given
    own = assembly_from(robot, start)
    found = own.positions(rows)
    unreached = np.isnan(found[:, 0])
    if unreached.any():
        k = int(np.argmax(unreached))
        reason = follow(robot, found[k - 1] if k else start, rows[k]).reason
        raise ClosureError(
            f"robot {robot.name!r} cannot follow its drives to row {k}: {reason}",
            "choose a motion that keeps away from there",
        )
    return own.moved(found, v, a)
