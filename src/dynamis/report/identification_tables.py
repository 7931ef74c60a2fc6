"""Tables and series of the report of an identification."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..identify.feasible import links_of
from ..identify.processing import WINDOW, prepare
from ..logs.log import LONG_GAP, Log

if TYPE_CHECKING:
    from ..identify.estimate import Estimate, Validation

# series: fitted rows, friction, spectra, decimated points

LAGS = 40
CURVE = ("viscous", "root", "coulomb", "offset")  # friction that velocity alone decides
BESIDES = ("body", "rotor", "load")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one stretch as they were fitted, (N, n): filtered, every k-th."""

    qd: np.ndarray
    friction: np.ndarray  # torque less rigid torque, and less friction that grows with the load
    residual: np.ndarray
    counted: np.ndarray  # False where slower than the dead zone
    step: float  # s from row to row


def fitted_rows(estimate: "Estimate") -> list[Rows]:
    """The rows of every stretch of every log."""
    wanted, x = estimate.unknowns, estimate.values
    rest = wanted.of_kind(*BESIDES)
    found = []
    for log, processing in zip(estimate.logs, estimate.processing, strict=True):
        for samples in prepare(log, processing)[0]:
            parts = [
                (samples.qd[k], tau - Y[..., rest] @ x[rest], tau - Y @ x, weight > 0.0)
                for Y, tau, weight, k in samples.blocks(wanted)
            ]
            step = samples.every * float(np.median(np.diff(samples.t)))
            qd, friction, residual, counted = map(np.concatenate, zip(*parts, strict=True))
            found.append(Rows(qd, friction, residual, counted, step))
    return found


def friction_curve(
    estimate: "Estimate", joint: int, fastest: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Velocities, friction torque and its standard deviation, of one joint moving alone."""
    wanted = estimate.unknowns
    v = np.unique(np.concatenate([np.linspace(-r, r, 121) for r in (fastest, 0.05 * fastest)]))
    qd = np.zeros((len(v), wanted.robot.n))
    qd[:, joint] = v
    columns = wanted.of_kind(*CURVE)
    zero = np.zeros_like(qd)
    Z = wanted.regressor(zero, qd, zero)[:, joint, columns]
    spread = np.einsum("ka,ab,kb->k", Z, estimate.covariance[np.ix_(columns, columns)], Z)
    return v, Z @ estimate.values[columns], np.sqrt(np.maximum(spread, 0.0))


def autocorrelation(residual: np.ndarray, lags: int = LAGS) -> np.ndarray:
    """sum r_i r_(i+k) / sum r_i^2 for k = 0, 1, ..; r (N,) less its mean."""
    r = residual - residual.mean()
    lags = min(lags, len(r) // 4)
    size = float(r @ r) or 1.0
    return np.array([r[: len(r) - k] @ r[k:] / size for k in range(lags + 1)])


def spectrum(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (Hz) and power of the positions, (F, n), largest of each joint 1."""
    from scipy.signal import welch

    even = max(log.uniform().pieces(), key=len)
    length = min(len(even), int(WINDOW * even.rate))
    f, power = welch(even.q, even.rate, nperseg=length, axis=0, detrend="linear")
    return f[1:], power[1:] / np.maximum(power[1:].max(axis=0), 1e-300)


def few(t: np.ndarray, series: tuple[np.ndarray, ...], most: int) -> list[int | None]:
    """At most about `most` rows that keep every peak of every series; None where a gap breaks."""
    kept = _peaks(series, most) if len(t) > most else np.arange(len(t))
    steps = np.diff(t)
    stretch = np.concatenate([[0], np.cumsum(steps > LONG_GAP * np.median(steps))])
    found: list[int | None] = []
    for k in kept.tolist():
        if found and stretch[k] != stretch[found[-1] or 0]:
            found.append(None)
        found.append(k)
    return found


def _peaks(series: tuple[np.ndarray, ...], most: int) -> np.ndarray:
    """Where each series is lowest and highest, bucket by bucket."""
    buckets = np.array_split(np.arange(len(series[0])), max(1, most // (2 * len(series))))
    found = {0, len(series[0]) - 1}
    for rows in buckets:
        for values in series:
            found |= {int(rows[values[rows].argmin()]), int(rows[values[rows].argmax()])}
    return np.array(sorted(found))


LIGHT = 1e-6  # kg, below which a link has no centre of mass
Table = tuple[Sequence[str], list[Sequence[Any]]]


def percent(value: float) -> str:
    """A share as text."""
    return f"{100 * value:.2f} %" if np.isfinite(value) else "no torque"


def number(value: float) -> str:
    """Five digits."""
    return f"{value:.5g}"


def accuracy(validation: "Validation", cutoff: float, units: Sequence[str]) -> Table:
    """Per joint and overall, as logged and low-passed."""
    low = validation.filtered(cutoff)
    head = ("joint", "RMS", "relative error", "NRMS",
            f"RMS, low-passed at {cutoff:.3g} Hz", "relative error, low-passed")  # fmt: skip
    rows: list[Sequence[Any]] = [
        (name, f"{validation.rms[i]:.4g} {units[i]}", percent(validation.relative_error[i]),
         percent(validation.nrms[i]), f"{low.rms[i]:.4g} {units[i]}",
         percent(low.relative_error[i]))
        for i, name in enumerate(validation.joint_names)
    ]  # fmt: skip
    overall = (validation.relative_error_overall, low.relative_error_overall)
    return head, [*rows, ("all joints", "", percent(overall[0]), "", "", percent(overall[1]))]


def parameters(estimate: "Estimate") -> Table:
    """Every unknown with its standard deviation."""
    head = ("unknown", "value", "std. dev.", "99 % from", "to", "relative")
    spread, relative = estimate.standard_deviations, estimate.relative_standard_deviations
    rows = []
    for k, (low, high) in enumerate(estimate.intervals()):
        mark = "bad" if relative[k] > 1.0 else ""
        share = f"{100 * relative[k]:.1f} %" if relative[k] < 100 else "over 10000 %"
        rows.append((
            estimate.names[k], number(estimate.values[k]), f"{spread[k]:.2g}",
            f"{low:.4g}", f"{high:.4g}", (share, mark),
        ))  # fmt: skip
    return head, rows


def links(estimate: "Estimate") -> Table:
    """Mass, centre of mass and physical consistency of every link."""
    ten = links_of(estimate.full, len(estimate.links_physical))
    names = [name.removesuffix(".m") for name in estimate.unknowns.full_names[: ten.size : 10]]
    rows = []
    for name, p, good in zip(names, ten, estimate.links_physical, strict=True):
        centre = ", ".join(f"{x:.3g}" for x in p[1:4] / p[0]) if p[0] > LIGHT else ""
        said = ("yes", "good") if good else ("no", "bad")
        rows.append((name, f"{p[0]:.4g}", centre, ", ".join(f"{x:.3g}" for x in p[4:]), said))
    inertia = "Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin, kg m²"
    return ("link", "mass, kg", "centre of mass, m", inertia, "physically consistent"), rows


def unknown(estimate: "Estimate") -> Table:
    """What is not identifiable, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for name, why in estimate.not_identifiable.items():
        reasons.setdefault(why, []).append(name)
    return ("what", "why"), [(", ".join(names), why) for why, names in reasons.items()]


def processing(estimate: "Estimate") -> Table:
    """The choices made for every log."""
    head = ("log", "rows", "seconds", "grid", "cut-off", "velocities",
            "dead zone, rad/s or m/s", "kept")  # fmt: skip
    source = {"log": "as logged", "difference": "differences of q"}
    return head, [
        (log.name or "log", len(log), f"{log.duration:.4g}", f"{p.rate:.5g} Hz",
         f"{p.cutoff:.4g} Hz", source[str(p.velocity)], f"{p.dead_zone:.3g}",
         f"every {p.every}")
        for log, p in zip(estimate.logs, estimate.processing, strict=True)
    ]  # fmt: skip


def whiteness(estimate: "Estimate", rows: Sequence[Rows]) -> Table:
    """How far the fitted rows' residuals are from white noise."""
    longest = max(rows, key=lambda r: len(r.residual)).residual
    head = ("joint", "standard deviation", "mean", "correlation of neighbours",
            "rows per independent row")  # fmt: skip
    return head, [
        (name, number(r.std()), number(r.mean()), f"{autocorrelation(r)[1]:.2f}", f"{rows:.1f}")
        for name, r, rows in zip(
            estimate.unknowns.robot.joint_names, longest.T, estimate.correlation, strict=True
        )
    ]  # fmt: skip


def excitation(estimate: "Estimate", rows: Sequence[Rows], moves: Sequence[str]) -> Table:
    """Ranges of the motion that was fitted."""
    q = np.concatenate([log.q for log in estimate.logs])
    tau = np.concatenate([log.tau for log in estimate.logs])
    qd = np.concatenate([r.qd for r in rows])
    counted = np.concatenate([r.counted for r in rows])
    head = (
        "joint",
        "q from",
        "to",
        "qd from",
        "to",
        "torque from",
        "to",
        "faster than the dead zone",
    )
    return head, [
        (f"{name}, {moves[i]}", *(number(x) for s in (q, qd, tau) for x in _ends(s[:, i])),
         percent(float(counted[:, i].mean())))
        for i, name in enumerate(estimate.unknowns.robot.joint_names)
    ]  # fmt: skip


def _ends(values: np.ndarray) -> tuple[float, float]:
    return float(values.min()), float(values.max())
