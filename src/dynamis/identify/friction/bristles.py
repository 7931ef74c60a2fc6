"""Constants of bristles (LuGre, Dahl) from logs: output error along the logged motion.

The logged motion bends the bristles; what their torque y(p) and all linear unknowns x leave of the
measured torque is made small:

    min_p min_x sum_j w_j^2 |tau_j - Y_j x - s_j y_j(p)|^2     (variable projection)

y is homogeneous of degree 1 in p = (Coulomb torque, torque at rest beyond it, stiffness, damping),
so its scale s is linear. A step (Gauss-Newton) solves for x and p together with y at its slopes;
the last constant, the velocity of Stribeck's law, moves along. Starts: one stretch
coulomb / stiffness after the other over some decades, joint by joint the best, as elements with
memory of one radius would find it; then one velocity after the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...model.check.finding import Finding
from ...robot.deflections import deflections
from ..information import joint_weights
from ..processing import Samples
from ..unknowns import Unknowns
from .history import OF_BRISTLES
from .models import Bristle

STRETCHES = tuple(float(x) for x in np.logspace(-5.0, -1.0, 13))  # rad or m, that are tried
VELOCITIES = (0.003, 0.01, 0.03, 0.1)  # rad/s or m/s, of Stribeck's law, that are tried
STEPS = 30
FARTHEST = 3.0  # by which factor one step changes a constant
HALVINGS = 5
LARGEST = 2.0  # times the Coulomb torque that a joint holds beyond it, at rest
DONE = 1e-4  # of a constant: smaller steps end the search
CONVERGED = 1e-6  # of the sum of squares
SHOWN = 0.25  # of the stiffness: a larger standard deviation does not tell it
UNSURE = 0.5  # of the stiffness: with the scatter over blocks
SURELY = 3.0  # standard deviations of a torque at rest or a damping that is no chance
ALIKE = 3.0  # rows of the filtered torque whose noise counts as one
RIDGE = 1e-12


def with_bristles(
    sought: Unknowns, motions: Sequence[Samples], known: np.ndarray | None = None
) -> tuple[Unknowns, np.ndarray | None]:
    """Unknowns with bristles linearised where the motions see them, and what of them is fixed."""
    bent = sought.history.bent
    if not bent.points:
        return sought, known
    names = [sought.robot.joint_names[j] for j in bent.joints_of]
    if not all(name in sought.friction.bristles for name in names):
        found = _Search(sought, motions, known).run()
        bristles = dict(zip(names, found, strict=True))
        sought = replace(sought, friction=replace(sought.friction, bristles=bristles))
    fixed = np.full(len(sought), np.nan) if known is None else known.copy()
    bent = sought.history.bent
    for k, slope, of in zip(bent.unknowns, bent.slope, bent.of, strict=True):
        point = bent.points[of]
        value, kind = _table([point])[0, slope], OF_BRISTLES[slope]
        hidden = kind == "bristle_stiffness" and not point.shown
        hidden |= kind == "stribeck_velocity" and point.stribeck == 0.0
        if hidden or (value == 0.0 and kind != "coulomb"):
            fixed[k] = value
    return sought, None if np.isnan(fixed).all() else fixed


def held_bristles(sought: Unknowns, known: np.ndarray | None) -> np.ndarray:
    """What is known, and the constants of bristles but for Coulomb torques as linearised, (m,)."""
    bent, held = (
        sought.history.bent,
        np.full(len(sought), np.nan) if known is None else known.copy(),
    )
    values = _table(bent.points)[bent.of, bent.slope]
    constants = bent.slope != OF_BRISTLES.index("coulomb")
    held[bent.unknowns[constants]] = values[constants]
    return held


FEW = 3.0  # rows per turn within which bristles bend: fewer do not show how


def bristle_findings(
    unknowns: Unknowns, covariance: np.ndarray, motions: Sequence[Samples]
) -> list[Finding]:
    """Joints whose bristles the motion does not show, and why."""
    found, bent = [], unknowns.history.bent
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    for k, slope, of in zip(bent.unknowns, bent.slope, bent.of, strict=True):
        point, joint = bent.points[of], int(bent.joints_of[of])
        name = unknowns.robot.joint_names[joint]
        if OF_BRISTLES[slope] != "bristle_stiffness" or point.coulomb <= 0.0:
            continue
        if point.shown and deviations[k] < UNSURE * point.stiffness:
            continue
        stretch = point.coulomb / point.stiffness
        turns, rows = _turns(motions, joint, stretch)
        why = f"the torque is too noisy for it, over {turns} turns of the joint"
        remedy = "record more turns, or friction='smooth' for a law without bristles"
        if turns == 0:
            why = "the joint never turns back far enough to show them"
            remedy = "record motions that turn back: dy.excite makes some"
        elif rows < FEW:
            why = f"at {turns} turns they bend within {rows:.1g} rows each: sampled too coarsely"
            remedy = "record at a higher rate, turn more slowly, or give a higher cutoff="
        what = (
            f"the stiffness of its bristles is not shown: {why}; {point.stiffness:.3g} is kept, a "
            f"stretch of {stretch:.2g}"
        )
        found.append(Finding("warning", "friction", what, remedy, (name,)))
    return found


def _turns(motions: Sequence[Samples], joint: int, stretch: float) -> tuple[int, float]:
    """Turns of a joint by more than a stretch to either side, and rows within it per turn."""
    turns, rows = 0, 0
    for samples in motions:
        u = deflections(samples.q[:, [joint]], np.array([stretch]))[0][:, 0]
        slips = np.flatnonzero(np.abs(u) > 1.0 - 1e-9)
        if len(slips):
            turns += int((np.diff(np.sign(u[slips])) != 0.0).sum())
            rows += int((np.abs(u[slips[0] :]) <= 1.0 - 1e-9).sum())
    return turns, rows / max(turns, 1)


def _table(points: Sequence[Bristle]) -> np.ndarray:
    """Constants of bristles (k, 5), the velocity of Stribeck's law last."""
    rows = [(x.coulomb, x.stribeck, x.stiffness, x.damping, x.velocity) for x in points]
    return np.array(rows).reshape(-1, 5)


def _points(table: np.ndarray) -> tuple[Bristle, ...]:
    """Bristles of a table."""
    return tuple(
        Bristle(c, more, velocity, stiffness, damping)
        for c, more, stiffness, damping, velocity in table.tolist()
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of squares with slopes of bristles at one table of constants.

    Of every joint with bristles: [A tau]^T D (r + 1, 5) and D^T D (5, 5), A the linear columns.
    """

    table: np.ndarray
    across: tuple[np.ndarray, ...]
    own: tuple[np.ndarray, ...]


class _Search:
    """The constants of the bristles of all joints, together with all linear unknowns."""

    def __init__(self, sought: Unknowns, motions: Sequence[Samples], known: np.ndarray | None):
        self.bent, self.motions = sought.history.bent, motions
        rest = np.setdiff1d(np.arange(len(sought)), self.bent.unknowns)
        fixed = np.zeros(len(sought), bool) if known is None else ~np.isnan(known)
        linear = rest[~fixed[rest]]
        parts, self.kept, weights = [], [], []
        for samples in motions:
            kept = []
            for Y, tau, weight, k in samples.blocks(sought):
                own = rest[fixed[rest]]
                left = tau if known is None else tau - Y[..., own] @ known[own]
                parts.append(np.concatenate([Y[..., linear], left[..., None]], axis=-1))
                weights.append(weight)
                kept.append(k)
            self.kept.append(np.concatenate(kept))
        self.weight = np.concatenate(weights)  # (K, n)
        self.A = (np.concatenate(parts) * self.weight[..., None]).transpose(1, 0, 2)  # (n, K, r+1)
        self.gram = self.A.transpose(0, 2, 1) @ self.A
        self.rows = np.maximum((self.weight > 0.0).sum(axis=0), 1)
        self.at = [sought.logged.index(j) for j in self.bent.joints_of]
        self.has = np.zeros((len(self.at), 5), bool)  # constants that are sought
        self.has[self.bent.of, self.bent.slope] = True

    def run(self) -> tuple[Bristle, ...]:
        """The constants."""
        table = self._by_stretch()
        own = self.has.copy()
        self.has[:, (1, 3, 4)] = False
        table = self._refined(table, STEPS // 3)
        self.has = own
        if self.has[:, 1].any():
            table = self._refined(self._by_velocity(table))
        table, shown = self._shown(self._without_chance(table))
        found = _points(table)
        return tuple(x._replace(shown=bool(s)) for x, s in zip(found, shown, strict=True))

    # starts

    def _by_stretch(self) -> np.ndarray:
        """Joint by joint the best of some stretches, without Stribeck's law and damping."""
        count, tried = len(self.at), []
        for stretch in STRETCHES:
            table = np.tile([1.0, 0.0, 1.0 / stretch, 0.0, VELOCITIES[0]], (count, 1))
            scales, left = self._scaled(self._sums(table))
            tried.append((left[self.at], np.maximum(scales, 0.0)))
        best = np.argmin([left for left, _ in tried], axis=0)
        size = np.array([tried[b][1][j] for j, b in enumerate(best)])
        size = np.maximum(size, 1e-3 * size.max() + 1e-12)
        stretch = np.array(STRETCHES)[best]
        nothing = 0.0 * size
        return np.stack([size, nothing, size / stretch, nothing, nothing + VELOCITIES[0]], axis=1)

    def _by_velocity(self, table: np.ndarray) -> np.ndarray:
        """Joint by joint the best of some velocities, with the torque at rest that each shows."""
        tried = []
        for velocity in VELOCITIES:
            at = table.copy()
            at[:, 4] = velocity
            new, left, _ = self._solved(self._sums(at), self.has & (np.arange(5) != 4))
            at[:, (1, 3)] = np.minimum(
                new[:, (1, 3)], np.stack([at[:, 0], np.inf * at[:, 0]], axis=1)
            )
            tried.append((left[self.at], at))
        best = np.argmin([left for left, _ in tried], axis=0)
        return np.array([tried[b][1][j] for j, b in enumerate(best)])

    # steps

    def _refined(self, table: np.ndarray, steps: int = STEPS) -> np.ndarray:
        """Constants after Gauss-Newton steps, halved where they leave more."""
        sums = self._sums(table)
        scales, left = self._scaled(sums)
        for _ in range(steps):
            sums = self._sums(_times(sums.table, scales))
            new = self._solved(sums, self._open(sums.table))[0]
            before, cost = sums.table, self._cost(left)
            step = _limited(before, new)
            for _ in range(HALVINGS):
                tried = self._sums(_moved(before, step))
                scales, left_then = self._scaled(tried)
                if self._cost(left_then) < cost:
                    break
                step = 0.5 * step
            else:
                return before
            small = np.abs(step).max() < DONE or cost - self._cost(left_then) < CONVERGED
            sums, left = tried, left_then
            if small:
                break
        return _times(sums.table, scales)

    def _open(self, table: np.ndarray) -> np.ndarray:
        """Constants that are sought (k, 5); a velocity only where there is torque it shapes."""
        found = self.has.copy()
        found[:, 4] &= table[:, 1] > 0.0
        return found

    def _without_chance(self, table: np.ndarray) -> np.ndarray:
        """Constants without the torques at rest and dampings that chance explains."""
        for some in ((1, 4), (3,)):
            sought = self.has.copy()
            if not sought[:, some].any():
                continue
            self.has[:, some] = False
            without = self._refined(np.where(np.arange(5) == some[0], 0.0, table))
            left, least = (self._scaled(self._sums(x))[1][self.at] for x in (without, table))
            gain = self.rows[self.at] / ALIKE * np.log(left / least)
            chance = gain < SURELY**2
            self.has = np.where(chance[:, None], self.has, sought)
            if chance.any():
                table = self._refined(np.where(chance[:, None], without, table))
        return table

    def _shown(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Constants, and of which joints the motion shows the stiffness, (k,) bool."""
        opened = self._open(table) & ((table > 0.0) | (np.arange(5) == 2))
        deviations = self._solved(self._sums(table), opened)[2]
        shown = deviations[:, 2] < SHOWN * table[:, 2]
        within = table[:, 0] / STRETCHES[-1], table[:, 0] / STRETCHES[0]
        table[:, 2] = np.where(shown, table[:, 2], np.clip(table[:, 2], *within))
        return table, shown

    # sums of squares

    def _sums(self, table: np.ndarray) -> _Sums:
        """Those at a table of constants."""
        bristles = self.bent._replace(points=_points(table)).bristles
        joints, parts = self.bent.joints_of, []
        for samples, kept in zip(self.motions, self.kept, strict=True):
            slopes = bristles.slopes(samples.q[:, joints], samples.qd[:, joints])[0]
            slopes = slopes.transpose(1, 2, 0).reshape(len(samples), -1)
            parts.append(samples.low_passed(slopes)[kept].reshape(len(kept), -1, 5))
        D = np.concatenate(parts)
        across, own = [], []
        for i, j in enumerate(self.at):
            columns = D[:, i] * self.weight[:, j, None]
            across.append(self.A[j].T @ columns)
            own.append(columns.T @ columns)
        return _Sums(table, tuple(across), tuple(own))

    def _scaled(self, sums: _Sums) -> tuple[np.ndarray, np.ndarray]:
        """Factors of the torques at a table (k,), and what is left of every joint, (n,)."""
        ways = [np.append(row[:4], 0.0)[:, None] for row in sums.table]
        x, left, _ = self._least(sums, ways)
        return x[self.A.shape[2] - 1 :], left

    def _solved(self, sums: _Sums, opened: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A new table by the slopes, what they leave (n,), and standard deviations (k, 5).

        The last column is the change of the logarithm of velocity. None is below zero.
        """
        opened = opened.copy()
        while True:
            # a constant that is not open stays: its torque is part of that at the table
            ways = [np.eye(5)[:, row] for row in opened]
            fixed = np.where(opened, 0.0, sums.table)
            fixed[:, 4] = 0.0
            x, left, P = self._least(sums, ways, fixed)
            new, deviations = fixed.copy(), np.zeros_like(fixed)
            first = self.A.shape[2] - 1
            new[opened] = x[first:]
            deviations[opened] = np.sqrt(np.maximum(np.diag(P)[first:], 0.0))
            below = opened & (new < 0.0)
            below[:, (0, 2, 4)] = False
            if not below.any():
                return new, left, deviations
            opened &= ~below
            sums = replace(sums, table=np.where(below, 0.0, sums.table))

    def _least(
        self, sums: _Sums, ways: Sequence[np.ndarray], fixed: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Least squares of linear unknowns and combinations `ways` (5, a) of the slopes.

        The unknowns, what is left (n,), and the covariance of the unknowns by what is left.
        """
        r, total = self.A.shape[2] - 1, self.A.shape[2] - 1 + sum(w.shape[1] for w in ways)
        grams = np.zeros((len(self.gram), total + 1, total + 1))  # of every joint, torque last
        places = np.append(np.arange(r), total)
        grams[:, places[:, None], places] = self.gram
        first = r
        for i, (j, way) in enumerate(zip(self.at, ways, strict=True)):
            here = np.arange(first, first + way.shape[1])
            first += way.shape[1]
            given = np.zeros(5) if fixed is None else fixed[i]
            tau = -given @ sums.own[i] @ given + 2.0 * given @ sums.across[i][-1]
            grams[j][total, total] -= tau
            moved = sums.across[i] @ given  # what is given, on the other columns
            grams[j][:r, total] -= moved[:r]
            grams[j][total, :r] -= moved[:r]
            across = sums.across[i] @ way
            across[-1] -= given @ sums.own[i] @ way
            grams[j][np.ix_(places, here)] = across
            grams[j][np.ix_(here, places)] = across.T
            grams[j][np.ix_(here, here)] = way.T @ sums.own[i] @ way
        weights = np.ones(len(grams))
        for _ in range(4):
            G = np.einsum("j,jab->ab", weights**2, grams)
            size = np.sqrt(np.maximum(np.diag(G)[:-1], 0.0))
            size = np.where(size > 0.0, size, 1.0)
            unit = G[:-1, :-1] / np.outer(size, size) + RIDGE * np.eye(total)
            inverse = np.linalg.pinv(unit, rcond=RIDGE, hermitian=True)
            x = inverse @ (G[:-1, -1] / size) / size
            signed = np.append(x, -1.0)
            left = np.maximum(np.einsum("a,jab,b->j", signed, grams, signed), 1e-300)
            sigma = np.sqrt(left / self.rows)
            weights = joint_weights(sigma)
        return x, left, ALIKE * inverse / np.outer(size, size)

    def _cost(self, left: np.ndarray) -> float:
        """The logarithm of what is left, joints alike."""
        return float((self.rows * np.log(left)).sum() / self.rows.sum())


def _times(table: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Constants of a table times a factor of each joint, but for the velocity."""
    scales = np.clip(scales, 1.0 / FARTHEST, FARTHEST)[:, None]
    return np.concatenate([table[:, :4] * scales, table[:, 4:]], axis=1)


def _limited(table: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The step to a new table: logarithms, the torque at rest next to Coulomb's, damping itself."""
    most = np.log(FARTHEST)
    step = new - table
    for k in (0, 2):
        ratio = np.clip(new[:, k] / table[:, k], 1.0 / FARTHEST, FARTHEST)
        step[:, k] = np.log(ratio)
    step[:, 1] = np.clip(step[:, 1] / table[:, 0], -1.0, 1.0)
    step[:, 4] = np.clip(new[:, 4], -most, most)
    return step


def _moved(table: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The table after a step."""
    moved = table.copy()
    for k in (0, 2, 4):
        moved[:, k] *= np.exp(step[:, k])
    moved[:, 1] = np.maximum(table[:, 1] + table[:, 0] * step[:, 1], 0.0)
    moved[:, 1] = np.minimum(moved[:, 1], LARGEST * moved[:, 0])
    moved[:, 3] = np.maximum(table[:, 3] + step[:, 3], 0.0)
    return moved
