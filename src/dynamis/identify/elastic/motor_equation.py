"""The motor of an elastic joint with encoders on both sides: stiffness, damping, gap, rotor.

    tau = B th'' + v th' + c sgn(th') + o + K z + D z' + K3 z^3,
    z = dead zone of th - q(t + lag) - zero

Both sides pass one Gaussian low-pass. Its kernel is differentiated, not the signals, so every
column is filtered exactly as the torque is and a lower cut-off costs precision, not correctness.
The equation is linear in B, v, c, o, K, D, K3; gap and zero of the dead zone, the delay of the
torque and the lag of the link's encoder follow by Gauss-Newton from the best gaps of a search.
Without a gap a lag is friction and damping: the rows show v - K lag and D + K lag. It is then taken
as the smallest that leaves neither below zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation
from scipy.signal import welch

from ...lazy import cached_property
from .blocks import block_scatter
from .kernels import ahead, convolved, kernels

LINEAR = ("rotor_inertia", "viscous", "coulomb", "offset", "stiffness", "damping", "hardening")
CURVED = ("backlash", "zero", "lag", "delay")
POWER = 0.99  # of the torque, that lies below its band
MULTIPLE = 2.0  # of that band: the cut-off
HIGHEST = 0.08  # of the sampling rate
SLOW = 0.02  # of its top speed: friction of a slower motor is whatever it has to be
GAPS = 25  # that are tried
WIDEST = 0.9  # of the largest deflection: the largest of them
BEST = 3  # of them, from which the others start
STEPS = 25
SMALL = 1e-7  # of the largest deflection, or of a sample: steps below end a search
HARDENS = 0.03  # of a stiffness, by which that at the largest deflection is more, at least
TOUCHED = 0.02  # share of the rows on each flank that a gap asks for
SURE = 20.0  # least gain of log-likelihood, twice, by which a gap or a lag is taken as seen
SAMPLED = 1e-3  # of a constant: what sampling may change at least
OTHER_CUTOFFS = (0.7, 1.4)
LAGS = 8  # times that a lag is improved
LONGEST_LAG = 0.02  # s at a time


@dataclass(frozen=True, eq=False)
class Stretch:
    """One stretch of a log on an even grid of `step` seconds: one joint, both sides."""

    step: float
    motor: np.ndarray
    link: np.ndarray
    torque: np.ndarray


def cutoff_for(stretches: Sequence[Stretch]) -> float:
    """The cut-off (Hz) for a motor: twice the band of its torque, far below half the rate."""
    bands = []
    for x in stretches:
        rate = 1.0 / x.step
        length = min(len(x.torque), int(4.0 * rate))
        f, power = welch(x.torque, rate, nperseg=length, detrend="linear")
        share = np.cumsum(power) / max(power.sum(), 1e-300)
        bands.append(min(MULTIPLE * max(f[np.searchsorted(share, POWER)], f[1]), HIGHEST * rate))
    return float(max(bands))


@dataclass(frozen=True, eq=False)
class MotorRows:
    """Filtered rows of stretches of one motor; `held`: the torque was constant between samples."""

    stretches: Sequence[Stretch]
    cutoff: float
    held: bool = False
    inertia: float | None = None  # known
    damped: bool = True
    hardened: bool = False
    _filtered: dict[float, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, init=False)
    _lagging: dict[float, list[np.ndarray]] = field(default_factory=dict, init=False)

    @cached_property
    def _parts(self) -> list[tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]]:
        """Kernels, rates of the link, fixed columns and which rows count, by stretch."""
        found, speeds = [], []
        for x in self.stretches:
            g = kernels(x.step, self.cutoff)
            rate = convolved(g[1], x.motor)
            wide = kernels(x.step, min(2.5 * self.cutoff, 0.25 / x.step))
            sign = np.sign(convolved(wide[1], x.motor))
            one = np.ones(len(x.motor))
            fixed = [convolved(g[2], x.motor), rate, convolved(g[0], sign), one]
            inner = np.zeros(len(one), dtype=bool)
            inner[len(g[0]) : -len(g[0])] = True
            speeds.append(np.abs(rate))
            found.append((g, convolved(g[1], x.link), np.stack(fixed, axis=1), inner))
        slow = SLOW * max(v[x[3]].max(initial=0.0) for v, x in zip(speeds, found, strict=True))
        return [
            (*x[:3], x[3] & np.logical_not(binary_dilation(v < slow)))
            for v, x in zip(speeds, found, strict=True)
        ]

    @cached_property
    def count(self) -> int:
        """Rows that count."""
        return sum(int(keep.sum()) for *_, keep in self._parts)

    @cached_property
    def independent(self) -> float:
        """Rows that count as one, as the filter leaves them alike."""
        return max(1.0, 0.5 / (self.stretches[0].step * self.cutoff))

    @cached_property
    def places(self) -> np.ndarray:
        """Where every row that counts lies in the whole time, from 0 to 1."""
        sizes = [len(x.motor) for x in self.stretches]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = [a + np.flatnonzero(p[3]) for a, p in zip(starts, self._parts, strict=False)]
        return np.concatenate(rows) / starts[-1]

    @property
    def seconds(self) -> float:
        """Time of all stretches."""
        return sum(len(x.motor) * x.step for x in self.stretches)

    def bent(self, lag: float) -> list[np.ndarray]:
        """Deflections of all rows, of a link that was measured `lag` seconds late."""
        if lag not in self._lagging:
            self._lagging.clear()
            self._lagging[lag] = [x.motor - ahead(x.link, lag / x.step) for x in self.stretches]
        return self._lagging[lag]

    def deflection(self, lag: float = 0.0) -> np.ndarray:
        """Deflections of the rows that count."""
        pairs = zip(self.bent(lag), self._parts, strict=True)
        return np.concatenate([d[keep] for d, (*_, keep) in pairs])

    def torque(self, delay: float) -> tuple[np.ndarray, np.ndarray]:
        """Torque `delay` seconds later than logged with the motion, and its rate; filtered."""
        if delay not in self._filtered:
            self._filtered.clear()
            both: list[list[np.ndarray]] = [[], []]
            for x, (*_, keep) in zip(self.stretches, self._parts, strict=True):
                g = kernels(x.step, self.cutoff, delay)
                held = x.step**2 / 24.0 if self.held else 0.0
                for k, parts in enumerate(both):
                    kernel = g[k] + held * g[min(k + 2, 3)]
                    parts.append(convolved(kernel, x.torque)[keep])
            self._filtered[delay] = np.concatenate(both[0]), np.concatenate(both[1])
        return self._filtered[delay]

    def columns(self, curved: np.ndarray, along: bool = False) -> np.ndarray:
        """Columns of LINEAR; `along`: the last three of them also by gap, zero and lag."""
        gap, zero, lag, _ = curved
        found = []
        for bent, (g, rate, fixed, keep) in zip(self.bent(lag), self._parts, strict=True):
            d = bent - zero
            z, touching = dead_zone(d, gap), (np.abs(d) > gap).astype(float)
            slopes = [-np.sign(z), -touching, -touching * rate] if along else []
            cubes = [z**3, *(3.0 * z * z * x for x in slopes)]
            columns = [fixed[keep]]
            for shape, cube in zip([z, *slopes], cubes, strict=True):
                columns += [convolved(g[k], shape)[keep] for k in (0, 1)]
                columns.append(convolved(g[0], cube)[keep] if self.hardened else 0.0 * columns[-1])
            found.append(np.column_stack(columns))
        return np.concatenate(found)

    def flanks(self, curved: np.ndarray) -> float:
        """Share of the rows on the flank that is touched less."""
        d = self.deflection(curved[2]) - curved[1]
        return float(min((d > curved[0]).mean(), (d < -curved[0]).mean()))


def dead_zone(d: np.ndarray, gap: float) -> np.ndarray:
    """Deflection beyond a gap to either side."""
    return np.sign(d) * np.maximum(np.abs(d) - gap, 0.0)


@dataclass(frozen=True, eq=False)
class MotorFit:
    """Constants of one motor: `linear` as LINEAR, `curved` as CURVED; `free` of both were sought.

    `jacobian` (rows, free) and `residual` (rows,) are those of the rows that counted.
    """

    rows: MotorRows
    linear: np.ndarray
    curved: np.ndarray
    free: tuple[str, ...]
    jacobian: np.ndarray
    residual: np.ndarray

    @property
    def values(self) -> dict[str, float]:
        """All constants by name."""
        names = (*LINEAR, *CURVED)
        return dict(zip(names, (*self.linear.tolist(), *self.curved.tolist()), strict=True))

    @property
    def sought(self) -> tuple[str, ...]:
        """Unknowns of CURVED that were sought."""
        return tuple(x for x in self.free if x in CURVED)

    @property
    def middle(self) -> float:
        """The deflection at which the gear has no torque."""
        if "zero" in self.sought:
            return float(self.curved[1])
        return float(-self.linear[3] / self.linear[4])

    @property
    def square(self) -> float:
        """Sum of the squared residuals."""
        return float(self.residual @ self.residual)

    @property
    def explained(self) -> float:
        """Share of the variance of the filtered torque, R^2."""
        torque = self.rows.torque(self.curved[3])[0]
        return 1.0 - self.square / max(float(((torque - torque.mean()) ** 2).sum()), 1e-300)

    def gain(self, other: "MotorFit") -> float:
        """Twice the log-likelihood ratio by which this fit is better than another."""
        rows = self.rows.count / self.rows.independent
        return rows * float(np.log(max(other.square, 1e-300) / max(self.square, 1e-300)))

    def scatter(self) -> dict[str, float]:
        """Standard deviations by name, by blocks of time, for a t quantile of 95 %."""
        found = block_scatter(self.jacobian, self.residual, self.rows.places, self.rows.seconds)
        return dict(zip(self.free, found, strict=True))


def solved(rows: MotorRows, curved: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Linear constants for given others, their columns and the residual."""
    A = rows.columns(curved)
    y, used = rows.torque(curved[3])[0], _sought(rows)
    x = np.zeros(len(LINEAR))
    x[0] = rows.inertia or 0.0
    rest = y - A[:, 0] * x[0]
    size = np.linalg.norm(A[:, used], axis=0)
    size[size == 0.0] = 1.0
    x[used] = np.linalg.lstsq(A[:, used] / size, rest, rcond=1e-12)[0] / size
    return x, A, y - A @ x


def _sought(rows: MotorRows) -> list[int]:
    kept = {0: rows.inertia is None, 5: rows.damped, 6: rows.hardened}
    return [k for k in range(len(LINEAR)) if kept.get(k, True)]


def refined(rows: MotorRows, curved: np.ndarray, free: Sequence[str]) -> MotorFit:
    """Gauss-Newton from given curved constants; `free` are those of them that are sought."""
    which = [CURVED.index(name) for name in free]
    used = _sought(rows)
    largest = float(np.abs(rows.deflection(curved[2]) - curved[1]).max())
    scale = np.array([largest, largest, rows.stretches[0].step, rows.stretches[0].step])
    best: MotorFit | None = None
    p, step = np.array(curved, dtype=float), np.zeros(len(which))
    for _ in range(STEPS):
        x, _, residual = solved(rows, p)
        square = float(residual @ residual)
        if best is not None and square >= best.square:
            step = step / 2.0
            if (np.abs(step) < SMALL * scale[which]).all():
                break
        else:
            A = rows.columns(p, along=True)
            gear = sum(A[:, len(LINEAR) + k :: 3] * x[4 + k] for k in range(3))
            slopes = np.column_stack([gear, -rows.torque(p[3])[1]])[:, which]
            jacobian = np.column_stack([A[:, used], slopes])
            names = (*(LINEAR[k] for k in used), *free)
            best = MotorFit(rows, x, p.copy(), names, jacobian, residual)
            if not which:
                break
            size = np.linalg.norm(jacobian, axis=0)
            size[size == 0.0] = 1.0
            step = np.linalg.lstsq(jacobian / size, residual, rcond=1e-10)[0] / size
            step = step[len(used) :]
            limit = np.array([0.3 * largest, 0.3 * largest, 2.0 * scale[2], 2.0 * scale[3]])[which]
            step = np.clip(step, -limit, limit)
            if (np.abs(step) < SMALL * scale[which]).all():
                break
        p = best.curved.copy()
        p[which] += step
        p[0] = min(max(p[0], 0.0), WIDEST * largest)
    if best is None:
        raise AssertionError("a fit has at least one step")
    return best


def fitted(rows: MotorRows) -> MotorFit:
    """The constants of a motor: without a gap, and with one where it explains the torque better."""
    plain = without_gap(rows)
    if not plain.linear[4] > 0.0:
        return plain
    curved = np.array([0.0, plain.middle, *plain.curved[2:]])
    largest = float(np.abs(rows.deflection(curved[2]) - curved[1]).max())
    starts = []
    for gap in np.geomspace(3e-3, WIDEST, GAPS) * largest:
        start = np.array([gap, *curved[1:]])
        residual = solved(rows, start)[2]
        starts.append((float(residual @ residual), gap, start))
    found = [
        fit
        for _, _, start in sorted(starts, key=lambda x: x[:2])[:BEST]
        if _gap_seen(fit := refined(rows, start, ("backlash", "zero", "delay")), plain)
    ]
    without = hardened(plain)
    if not found:
        return without
    best = hardened(min(found, key=lambda x: x.square))
    if not _gap_seen(best, without):
        return without
    lagging = refined(best.rows, best.curved, CURVED)
    best = lagging if lagging.gain(best) > SURE and _gap_seen(lagging, plain) else best
    if best.linear[5] < 0.0:
        best = refined(replace(best.rows, damped=False), best.curved, best.sought)
    return best


def hardened(plain: MotorFit) -> MotorFit:
    """A fit with a gear that hardens, where it does so clearly; else the one given."""
    start = np.array([plain.curved[0], plain.middle, *plain.curved[2:]])
    free = [x for x in CURVED if x == "zero" or x in plain.sought]
    found = refined(replace(plain.rows, hardened=True), start, free)
    z = dead_zone(found.rows.deflection(found.curved[2]) - found.curved[1], found.curved[0])
    more = found.linear[6] * float(np.abs(z).max()) ** 2
    seen = more > HARDENS * found.linear[4] > 0.0 and found.gain(plain) > SURE
    return found if seen else plain


def without_gap(rows: MotorRows) -> MotorFit:
    """The constants of a motor without a gap, lagging no more than friction and damping ask for."""
    curved = np.zeros(4)
    found = refined(rows, curved, ("delay",))
    for _ in range(LAGS):
        _, viscous, _, _, stiffness, damping, _ = found.linear
        least = np.sqrt(np.diag(np.linalg.pinv(found.jacobian.T @ found.jacobian)))
        noise = np.sqrt(found.square / rows.count * rows.independent)
        surely = [2.0 * noise * least[found.free.index(x)] for x in ("viscous", "damping")]
        if stiffness <= 0.0 or (viscous > -surely[0] and damping > -surely[1]):
            break
        more = -viscous / stiffness if viscous < -surely[0] else damping / stiffness
        curved = found.curved.copy()
        curved[2] += np.clip(more, -LONGEST_LAG, LONGEST_LAG)
        found = refined(rows, curved, ("delay",))
    if found.linear[5] < 0.0:
        found = refined(replace(rows, damped=False), found.curved, ("delay",))
    return found


def _gap_seen(found: MotorFit, plain: MotorFit) -> bool:
    """True where a gap explains the torque far better than none and both flanks are touched."""
    real = found.curved[0] > 0.0 and found.linear[4] > 0.0
    return bool(real and found.rows.flanks(found.curved) > TOUCHED and found.gain(plain) > SURE)


def with_spread(fit: MotorFit) -> dict[str, float]:
    """Half widths of 95 % intervals: scatter over blocks, and what filter and sampling change.

    A lag that no gap shows may be anything that leaves friction and damping at 0 or above.
    """
    rows, found = fit.rows, fit.scatter()
    others: list[Any] = [replace(rows, cutoff=k * rows.cutoff) for k in OTHER_CUTOFFS]
    others = [x for x in others if x.cutoff < 0.25 / rows.stretches[0].step and x.count > 100]
    others.append(replace(rows, held=not rows.held))
    if not rows.damped:
        others.append(replace(rows, damped=True))
    values = [fit.values, *(refined(x, fit.curved, fit.sought).values for x in others)]
    if "lag" not in fit.sought and fit.curved[2]:
        _, viscous, _, _, stiffness, damping, _ = np.maximum(fit.linear, 0.0)
        left = float(viscous + damping)
        further = fit.curved.copy()
        further[2] += np.sign(further[2]) * left / stiffness
        values.append(refined(rows, further, fit.sought).values)
        found["lag"] = 0.0
    for name, width in found.items():
        spread = 0.5 * float(np.ptp([x[name] for x in values]))
        least = SAMPLED * abs(fit.values[name])
        found[name] = float(np.linalg.norm([width, 2.0 * spread, least]))
    return found
