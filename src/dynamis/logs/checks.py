"""Checks of recordings: time stamps as clocks give them, units, dead sensors, velocities."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from ..errors import OptionError
from ..model.check.finding import Finding
from .log import GAP, LONG_GAP, Log

ABSOLUTE = 1e8  # s; later stamps count from an epoch, and are taken from the first one
FEW = 0.01  # share of stamps that may be late and are then sorted
COARSE = 0.1  # share of repeated stamps that makes the clock too coarse
STEADY, UNSTEADY = 0.05, 0.5  # spread of the steps next to their median: worth a note, a warning
SLOW, ABSURD = 1.0, 100.0  # s per step: likely, surely another unit than seconds


class Stamps(NamedTuple):
    """Seconds of the rows that are kept, in order; `rows` are their places in the source."""

    t: np.ndarray
    rows: np.ndarray
    findings: list[Finding]


def stamps(raw: np.ndarray, factor: float, where: str, unit_given: bool) -> Stamps:
    """Stamps in seconds, rising; from the first one where they count from an epoch."""
    whole, factor = _whole(raw, factor)
    good = np.flatnonzero(~np.isnat(raw) if raw.dtype.kind in "Mm" else np.isfinite(raw))
    if 2 * len(good) < len(raw) or len(good) < 2:
        raise OptionError(
            f"{where}: {len(raw) - len(good)} of {len(raw)} time stamps are missing, NaN or inf",
            "give sample_time= and columns=dict(t=None) if the samples are even",
        )
    findings = []
    if len(good) < len(raw):
        what = f"{len(raw) - len(good)} rows without time stamp were dropped"
        findings.append(Finding("warning", where, what, "look at how the log was written"))
    whole = whole[good]
    first = whole[0]
    t = (whole - first) * factor  # subtracted as it is stored: nothing is lost
    order, found = _sorted(t, good, where)
    findings += found
    t, rows = t[order], good[order]
    new = np.concatenate([[True], np.diff(t) > 0])
    if not new.all():
        findings.append(_repeated(int((~new).sum()), len(t), where))
    t, rows = t[new], rows[new]
    if len(t) < 2:
        raise OptionError(f"{where}: every time stamp is the same", "give sample_time= instead")
    findings += _unit(float(np.median(np.diff(t))), where, unit_given)
    start = float(first) * factor
    if abs(start) < ABSOLUTE:
        # from the stamp itself: t + start would round twice
        return Stamps(whole[order][new].astype(np.float64) * factor, rows, findings)
    return Stamps(t, rows, [*findings, _epoch(start, where)])


def uneven(t: np.ndarray, where: str) -> Iterator[Finding]:
    """Jitter and gaps, with figures."""
    steps = np.diff(t)
    median = float(np.median(steps))
    usual = steps[steps <= GAP * median]
    low, high = (float(x) for x in np.percentile(usual, [1, 99]))
    if high - low > STEADY * median:
        level = "warning" if high - low > UNSTEADY * median else "note"
        what = (
            f"steps vary: median {_ms(median)}, 98 % within {_ms(low)} to {_ms(high)}, "
            f"all within {_ms(steps.min())} to {_ms(steps.max())}"
        )
        remedy = "log.uniform() puts it on an even grid before filtering or differentiating"
        yield Finding(level, where, what, remedy)
    gaps = np.flatnonzero(steps > GAP * median)
    if len(gaps):
        worst = gaps[np.argmax(steps[gaps])]
        long = int((steps > LONG_GAP * median).sum())
        what = (
            f"{len(gaps)} gaps of more than {GAP:g} steps, {long} of more than {LONG_GAP:g}; "
            f"the longest {_ms(float(steps[worst]))}, {t[worst] - t[0]:.6g} s after the first "
            f"stamp; {steps[gaps].sum():.4g} s in all"
        )
        remedy = "log.pieces() splits at the long ones, log.uniform() leaves them out"
        yield Finding("warning" if long else "note", where, what, remedy)


def _whole(raw: np.ndarray, factor: float) -> tuple[np.ndarray, float]:
    """Stamps as integers or floats, and what makes seconds of them."""
    kind = raw.dtype.kind
    if kind in "Mm":
        return raw.astype(f"{kind}8[ns]").astype(np.int64), 1e-9
    small = kind == "u" and (raw.dtype.itemsize < 8 or raw.max() < 2**63)
    return raw.astype(np.int64 if kind == "i" or small else np.float64), factor


def _sorted(t: np.ndarray, rows: np.ndarray, where: str) -> tuple[np.ndarray, list[Finding]]:
    """The order of rising stamps: a few late samples are sorted in, a clock set back is refused."""
    late = np.maximum.accumulate(t) - t
    if not late.any():
        return np.arange(len(t)), []
    steps = np.diff(t)
    median = float(np.median(np.abs(steps)))
    k = int(np.flatnonzero(late)[0])
    count, behind = int((late > 0.0).sum()), float(late.max())
    if count > max(1, FEW * len(t)) or behind > LONG_GAP * median:
        raise OptionError(
            f"{where}: time runs backwards at row {rows[k]}, by {_ms(-steps[k - 1])}; {count} of "
            f"{len(t)} stamps lie before an earlier one",
            f"two recordings in one? rows=(0, {rows[k]}) and rows=({rows[k]}, None) read them "
            "one by one",
        )
    what = (
        f"{count} late stamps, by up to {_ms(behind)}, were sorted in; the first in row {rows[k]}"
    )
    found = Finding("warning", where, what, "look at how the log was written")
    return np.argsort(t, kind="stable"), [found]


def _repeated(count: int, total: int, where: str) -> Finding:
    what = f"{count} of {total} stamps repeat the one before, and their rows were dropped"
    if count > COARSE * total:
        remedy = "the clock is too coarse: if the samples are even, columns=dict(t=None) and "
        return Finding("warning", where, what, remedy + "sample_time=")
    return Finding("note", where, what, "nothing, if the logger writes some rows twice")


def _unit(median: float, where: str, given: bool) -> list[Finding]:
    if given or median < SLOW:
        return []
    what = f"the stamps step by {median:.6g} s, if they are seconds"
    remedy = "units={'t': 'ms'} (or 'us', 'ns') says what they are"
    if median >= ABSURD:
        raise OptionError(f"{where}: {what}", remedy)
    return [Finding("warning", where, what, remedy)]


def _epoch(start: float, where: str) -> Finding:
    what = f"stamps count from an epoch: t = 0 is {start:.6f} s"
    if 0 < start < 4e9:
        what += f" ({datetime.fromtimestamp(start, UTC):%Y-%m-%d %H:%M:%S} UTC, if from 1970)"
    return Finding("note", where, what, "nothing: they were taken from the first one")


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms"


FAR = 4 * np.pi  # rad from zero; joints rarely turn that far, degrees do
STRETCH = 0.25  # s over which q and the integral of qd are compared: noise is small next to it
MOVED = 1e-3  # rad or m; a joint that moves less in that time says nothing about qd
RATIO = 1.5  # by how much the two may differ
ALIKE = 0.7  # least correlation between them


def implausible(log: Log, where: str, units: set[str]) -> Iterator[Finding]:
    """Findings about q, qd and tau; a quantity whose unit was given is not questioned."""
    far = like_degrees(log.q)
    if far and not {"q", "motor_q"} & units:
        j = min(far)
        what = f"q{j + 1} reaches {far[j]:.4g} rad: are these degrees?"
        yield Finding("warning", where, what, "units={'q': 'deg'}, or 'rad' to confirm")
    still = np.flatnonzero(np.ptp(log.tau, axis=0) == 0)
    if len(still):
        what = f"{', '.join(f'tau{i + 1}' for i in still)} never changes"
        remedy = "a dead sensor says nothing about its joint: leave it out with joints="
        yield Finding("warning", where, what, remedy)
    if log.qd is not None:
        yield from _velocities(log, log.qd, where)


def like_degrees(q: np.ndarray) -> dict[int, float]:
    """How far from zero the joints turn that turn further than radians do, by their place."""
    largest = np.abs(q).max(axis=0)
    return {int(j): float(largest[j]) for j in np.flatnonzero(largest > FAR)}


def _velocities(log: Log, qd: np.ndarray, where: str) -> Iterator[Finding]:
    """Joints whose qd is not the rate of q, by size or by shape."""
    step = log.step
    m = max(1, round(STRETCH / step))
    if len(log) < 4 * m:
        return
    way = np.cumsum((qd[1:] + qd[:-1]) / 2 * np.diff(log.t)[:, None], axis=0)
    whole = log.t[m + 1 :] - log.t[1:-m] < 2 * m * step  # no gap inside
    moved, said = (log.q[m + 1 :] - log.q[1:-m])[whole], (way[m:] - way[:-m])[whole]
    for i in range(log.n):
        size, other = np.sqrt(np.mean(moved[:, i] ** 2)), np.sqrt(np.mean(said[:, i] ** 2))
        if len(moved) < 4 or size < MOVED:
            continue
        ratio = other / size
        alike = np.mean(moved[:, i] * said[:, i]) / (size * other) if other else 0.0
        if 1 / RATIO < ratio < RATIO and alike > ALIKE:
            continue
        what = (
            f"qd{i + 1} is not the rate of q{i + 1}: {ratio:.3g} times its size, correlation "
            f"{alike:.2f}"
        )
        remedy = "check units and the order of the joints, or leave it: columns=dict(qd=None)"
        yield Finding("warning", where, what, remedy)
