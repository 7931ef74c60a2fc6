"""Friction about reversals: as measured, by the identified model, and by a static law beside it.

Friction with memory shows where a joint turns back: over the first fractions of a milliradian the
torque changes its sign little by little. Rows of a log by the way since the last turn, and to the
next one, show the loop, and what a law without memory leaves.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import worded
from ...model.schema import UNITS
from ...robot.deflections import deflections
from ..processing import Samples
from .dense_rows import rows_to_fit

if TYPE_CHECKING:
    from ..estimate import Estimate

DRY = ("coulomb", "memory")  # friction that does not grow with velocity
OWN = ("viscous", "viscous-", "root", "coulomb", "memory", "offset", "thermal", "friction law")
SMALLEST = 0.5  # of the smallest radius: a shorter way there and back is no turn
WITHOUT = 1e-3  # rad or m, of a smallest radius where there is no memory
REACH = 3.0  # largest radii: the way that a loop shows
BINS = 24  # of each branch of a loop
WAYS = 16  # of residuals over the way
FEWEST = 4  # rows of a bin


@dataclass(frozen=True, eq=False)
class Reversals:
    """Rows of one joint about its turns, of all logs, (N,).

    `since` is the way (rad or m) travelled since the last turn, `left` that to the next one,
    `direction` the sign of the motion between them. `measured` is dry friction (Coulomb and
    memory) as the torque has it, less everything else of the model; `memory` by the identified
    model, `static` by a law without memory that was fitted to the same rows. All are filtered as
    the fit was.
    """

    name: str
    radii: tuple[float, ...]
    since: np.ndarray
    left: np.ndarray
    direction: np.ndarray
    measured: np.ndarray
    memory: np.ndarray
    static: np.ndarray

    @property
    def reach(self) -> float:
        """The way that a loop shows, rad or m."""
        return REACH * max(self.radii, default=WITHOUT)

    @property
    def turns(self) -> int:
        """Turns that were long enough on both sides for the loop."""
        after = self._long & (self.since <= self.reach)
        return int(np.count_nonzero(np.diff(after.astype(int)) > 0))

    @property
    def _long(self) -> np.ndarray:
        return self.since + self.left >= self.reach

    def loop(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The mean loop: positions from the turn (to and from it), and friction by name.

        Every turn as one of a joint that came moving positive: positions are at or below 0, first
        rising to the turn, then falling. NaN where there are too few rows.
        """
        edges = self.reach * np.linspace(0.0, 1.0, BINS + 1) ** 2
        way = 0.5 * (edges[1:] + edges[:-1])
        rows = {name: [] for name in ("measured", "memory", "static")}
        for at, sign in ((self.left, 1.0), (self.since, -1.0)):
            some = self._long & (at <= self.reach)
            bins = np.searchsorted(edges, at[some], "right") - 1
            for name, found in rows.items():
                values = sign * (self.direction * getattr(self, name))[some]
                mean = _means(values, bins, BINS)
                found.append(mean[::-1] if sign > 0.0 else mean)
        return np.concatenate([-way[::-1], -way]), {k: np.concatenate(x) for k, x in rows.items()}

    def residuals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ways since the last turn, mean residual with the static law, and with memory.

        A residual counts as positive where the measured torque is larger along the motion.
        """
        last = max(float(self.since[np.isfinite(self.since)].max(initial=0.0)), self.reach)
        edges = np.geomspace(0.1 * min(self.radii, default=WITHOUT), last, WAYS + 1)
        bins = np.searchsorted(edges, self.since) - 1
        static, memory = (
            _means(self.direction * (self.measured - x), bins, WAYS)
            for x in (self.static, self.memory)
        )
        return np.sqrt(edges[1:] * edges[:-1]), static, memory

    def errors(self) -> tuple[float, float]:
        """RMS of the residual within the loop's way behind a turn: static law, and with memory."""
        some = self.since <= self.reach
        rms = [np.sqrt(np.mean((self.measured - x)[some] ** 2)) for x in (self.static, self.memory)]
        return float(rms[0]), float(rms[1])


def _means(values: np.ndarray, bins: np.ndarray, count: int) -> np.ndarray:
    """Mean of the values in every bin, NaN where there are too few."""
    inside = (bins >= 0) & (bins < count)
    rows = np.bincount(bins[inside], minlength=count)
    total = np.bincount(bins[inside], values[inside], minlength=count)
    return np.where(rows >= FEWEST, total / np.maximum(rows, 1), np.nan)


def turns_of(q: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Way since the last turn, way to the next one and direction of every row (N,).

    A turn is where a position turns back by `least` or more; ways are infinite and the direction 0
    before the first turn and behind the last one.
    """
    slips = deflections(q[:, None], np.array([0.5 * least]))[0][:, 0]
    sliding = np.flatnonzero(np.abs(slips) > 1.0 - 1e-9)
    far = np.full(len(q), np.inf)
    if not len(sliding):
        return far, far.copy(), np.zeros(len(q))
    sign = np.sign(slips[sliding])
    begin = sliding[np.flatnonzero(np.diff(sign, prepend=-sign[0]))]
    signs, ends = np.sign(slips[begin]), np.append(begin[1:], len(q))
    spans = zip(begin, ends, signs, strict=True)
    at = np.array([a + int(np.argmax(s * q[a:b])) for a, b, s in spans])[:-1]  # the last goes on
    since, left, direction = far, far.copy(), np.zeros(len(q))
    for k, row in enumerate(at):
        end = at[k + 1] if k + 1 < len(at) else len(q)
        since[row:end] = np.abs(q[row:end] - q[row])
        direction[row:end] = -signs[k] if k + 1 < len(at) else 0.0
        start = at[k - 1] if k else 0
        left[start:row] = np.abs(q[row] - q[start:row])
    direction[: at[0] if len(at) else 0] = 0.0
    return since, left, direction


def reversals(estimate: "Estimate") -> tuple[Reversals, ...]:
    """Rows about the turns of every logged joint."""
    wanted, rows = estimate.unknowns, []
    for log, processing in zip(estimate.logs, estimate.processing, strict=True):
        for samples in rows_to_fit(log, processing, wanted.friction, wanted.robot)[0]:
            rows.append(_dense_rows(estimate, replace(samples, every=1)))
    tau, Y, q, weight, pieces = (np.concatenate(x) for x in zip(*rows, strict=True))
    return tuple(
        _joint_reversals(estimate, row, tau[:, row], Y[:, row], q[:, row], weight[:, row], pieces)
        for row in range(wanted.rows)
    )


def _dense_rows(estimate: "Estimate", samples: Samples) -> tuple[np.ndarray, ...]:
    """Torque, columns, positions and weights of all rows but the edges; how many they are."""
    parts = [x[:3] for x in samples.blocks(estimate.unknowns)]
    Y, tau, weight = (np.concatenate(x) for x in zip(*parts, strict=True))
    edge = min(samples.settle, len(tau) // 4)
    inner = slice(edge, len(tau) - edge)
    q = samples.q[:, samples.columns]
    return tau[inner], Y[inner], q[inner], weight[inner], np.array([len(tau[inner])])


def _joint_reversals(
    estimate: "Estimate",
    row: int,
    tau: np.ndarray,
    Y: np.ndarray,
    q: np.ndarray,
    weight: np.ndarray,
    pieces: np.ndarray,
) -> Reversals:
    """One joint's rows, (N,); Y (N, m); `pieces` are lengths of stretches."""
    wanted, x, joint = estimate.unknowns, estimate.values, estimate.unknowns.logged[row]
    of_joint = np.array(wanted.joints) == joint
    own = np.intersect1d(wanted.of_kind(*OWN), np.flatnonzero(of_joint))
    dry = np.intersect1d(wanted.of_kind(*DRY), own)
    memory = np.intersect1d(wanted.of_kind("memory"), own)
    others = np.setdiff1d(np.arange(len(x)), dry)
    measured = tau - Y[:, others] @ x[others]
    by_model = Y[:, dry] @ x[dry]
    static = by_model
    if len(memory):
        left = np.setdiff1d(own, memory)
        own_friction = measured + Y[:, np.setdiff1d(own, dry)] @ x[np.setdiff1d(own, dry)]
        use = weight > 0.0
        found = np.linalg.lstsq(Y[use][:, left], own_friction[use], rcond=None)[0]
        beside = np.setdiff1d(left, dry)
        static = Y[:, left] @ found - Y[:, beside] @ x[beside]
    radii = wanted.elements.radii[np.isin(wanted.elements.unknowns, memory)].tolist()
    least = SMALLEST * min(radii, default=WITHOUT)
    ends = np.cumsum(pieces)
    ways = [turns_of(q[b - a : b], least) for a, b in zip(pieces, ends, strict=True)]
    since, left_over, direction = (np.concatenate(w) for w in zip(*ways, strict=True))
    keep = direction != 0.0
    return Reversals(
        wanted.robot.drive_names[row],
        tuple(sorted(radii)),
        *(a[keep] for a in (since, left_over, direction, measured, by_model, static)),
    )


def presliding(estimate: "Estimate") -> np.ndarray:
    """Share of each logged joint's dry friction that builds up on the way after a turn, (n,).

    Weights of elements with memory over their sum with the Coulomb friction; 0 without any.
    """
    memory, dry = dry_friction(estimate)
    return memory / np.where(dry > 0.0, dry, 1.0)


def dry_friction(estimate: "Estimate") -> tuple[np.ndarray, np.ndarray]:
    """Torque of elements with memory, and with Coulomb friction, of every logged joint, (n,)."""
    wanted = estimate.unknowns
    memory, dry = np.zeros(wanted.rows), np.zeros(wanted.rows)
    for k in wanted.of_kind(*DRY):
        if (row := wanted.row_of(wanted.joints[k])) is not None:
            size = abs(estimate.values[k])
            dry[row] += size
            memory[row] += size * (wanted.kinds[k] == "memory")
    return memory, dry


def presliding_said(estimate: "Estimate") -> str:
    """How much of the friction has memory, and in which joints, in a sentence; "" without any."""
    radii = sorted({float(r) for r in estimate.unknowns.elements.radii})
    if not radii:
        return ""
    memory, dry = dry_friction(estimate)
    robot = estimate.unknowns.robot
    kinds = [robot.joint_kinds[k] for k in estimate.unknowns.logged]
    shares = presliding(estimate)
    said = [
        f"{100.0 * shares[k]:.0f} % of the dry friction of {robot.drive_names[k]} "
        f"({memory[k]:.3g} of {dry[k]:.3g} {UNITS[kinds[k]]['torque']})"
        for k in np.argsort(-shares, kind="stable")
        if memory[k] > 0.0
    ]
    if not said:
        return "No dry friction has memory: every weight is zero."
    units = worded(dict.fromkeys(UNITS[kind]["position"] for kind in kinds))
    ways = worded(f"{x:g}" for x in radii)
    return f"Presliding, on the way of {ways} {units} behind a turn: {worded(said)}."
