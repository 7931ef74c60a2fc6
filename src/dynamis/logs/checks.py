"""Checks of recordings: time stamps, units, dead sensors, spikes, wrapped angles, velocities."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.ndimage import binary_dilation

from ..errors import OptionError, counted
from ..model.check.finding import Finding
from .log import GAP, LONG_GAP, Log, stretches
from .units import TIME

ABSOLUTE = 1e8  # s; later stamps count from an epoch, and are taken from the first one
FEW = 0.01  # share of stamps that may be late and are then sorted
COARSE = 0.1  # share of repeated stamps that makes the clock too coarse
STEADY, UNSTEADY = 0.05, 0.5  # spread of the steps next to their median: worth a note, a warning
SLOW, ABSURD = 0.25, 100.0  # s per step: likely, surely another unit than seconds
USUAL = 4e-3  # s per step: of the units that stamps may have, the one is guessed that is nearest
PLAUSIBLE = (1e-5, 0.25)  # s per step that a guess may give
FIRST = 0.02  # of a log: corrupt rows at its beginning are among its first ones
FEWEST = 3  # rows that are first ones of any log
RESTART = 100.0  # steps: a clock that jumps so far among the first rows was not running yet


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
        what = f"dropped {counted(len(raw) - len(good), 'row')} without time stamp"
        findings.append(Finding("warning", where, what, "look at how the log was written"))
    whole = whole[good]
    begin = _restart((whole - whole[0]).astype(np.float64))
    if begin:
        what = f"the first {counted(begin, 'row')} were dropped: the time jumps behind them"
        findings.append(Finding("warning", where, what, "look at how the log was started"))
    whole, good = whole[begin:], good[begin:]
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
    scale, found = _unit(float(np.median(np.diff(t))), where, unit_given)
    findings += found
    t, factor = t * scale, factor * scale
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
            f"{counted(len(gaps), 'gap')} of more than {GAP:g} steps, {long} of more than "
            f"{LONG_GAP:g}; "
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


def _restart(t: np.ndarray) -> int:
    """Rows before the last jump of the clock among the first ones."""
    sizes = np.abs(np.diff(t))
    steps = np.diff(t)[: max(FEWEST, int(FIRST * len(t)))]
    if not sizes.any():
        return 0
    median = float(np.median(sizes[sizes > 0.0]))  # stamps may repeat
    jumps = np.flatnonzero((steps > RESTART * median) | (steps < -LONG_GAP * median))
    return int(jumps[-1]) + 1 if len(jumps) and len(t) > 2 * len(steps) else 0


def _unit(median: float, where: str, given: bool) -> tuple[float, list[Finding]]:
    """By how much stamps are to be multiplied that cannot be seconds, and what was guessed."""
    if given or median < SLOW:
        return 1.0, []
    steps = {name: median * TIME[name] for name in ("ms", "us", "ns")}
    name = min(steps, key=lambda x: abs(np.log(steps[x] / USUAL)))
    what = f"the stamps step by {median:.6g} s, if they are seconds"
    if PLAUSIBLE[0] <= steps[name] <= PLAUSIBLE[1]:
        what += f": they were read as {name}, steps of {_ms(steps[name])}"
        remedy = f"units={{'t': '{name}'}} says so, or units={{'t': 's'}} if they are seconds"
        return TIME[name], [Finding("warning", where, what, remedy)]
    remedy = "units={'t': 'ms'} (or 'us', 'ns') says what they are"
    if median >= ABSURD:
        raise OptionError(f"{where}: {what}", remedy)
    return 1.0, [Finding("warning", where, what, remedy)]


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
JUMP = 20.0  # usual steps: a position that changes by more from row to row jumps
SMALL = 0.02  # rad or m: a smaller change is no jump
TURN = 0.5  # rad: how near to a whole turn the jump of a wrapped angle is
BRIEF = 3  # rows that a spike lasts at most
LAST_STEP = 0.5  # of the way in range from a corrupt beginning, at least
PULSE = 5.0  # times the 99th percentile of a velocity's pulses: something struck the joint
LEAST_PULSE = 0.02  # of a velocity's range: a smaller pulse is none
CORRUPT = 10.0  # ranges of a velocity: a larger pulse is no motion
LOOKED_AT = 20_000  # rows that show the range of a signal
BENDS = 5.0  # a motor that goes further, or less far, than its joint is in another unit
NAMED = 4  # rows that a finding names


def implausible(log: Log, where: str) -> Iterator[Finding]:
    """What reading a log says about q, qd and tau: nothing is refused yet."""
    for found in faults(log, where):
        yield replace(found, level="warning") if found.level == "error" else found


Fault = tuple[int, str, str, str]  # joint, level, what, remedy


def faults(
    log: Log, where: str, joints: Sequence[str] = (), turns: Sequence[bool] = ()
) -> Iterator[Finding]:
    """What is wrong with q, qd and tau whatever the arm; errors where no model can come of them.

    A finding names its joint, if there are names; `turns` says which are revolute.
    """
    for j, level, what, remedy in _faults(log, turns):
        yield Finding(level, where, what, remedy, tuple(joints[j : j + 1]))


def _faults(log: Log, turns: Sequence[bool]) -> Iterator[Fault]:
    angles = set(range(log.n) if not len(turns) else np.flatnonzero(turns).tolist())
    largest, known = np.abs(log.q).max(axis=0), {"q", "motor_q"} & {*log.stated}
    for j in sorted(angles & set(np.flatnonzero(largest > FAR).tolist())):
        what, remedy = f"q{j + 1} reaches {largest[j]:.4g} rad", "nothing, if it turns that far"
        if not known:
            what += ": are these degrees, or motor angles?"
            remedy = "give units={'q': 'deg'}, or {'q': 'rad'} if they are radians; or gear ratios"
        yield j, "note" if known else "error", what, remedy
    for j in np.flatnonzero(np.ptp(log.tau, axis=0) == 0.0).tolist():
        level = "error" if log.tau[0, j] else "warning"
        what = f"tau{j + 1} never changes: it is always {log.tau[0, j]:g}"
        remedy = "a dead sensor says nothing about its joint: check the column"
        yield j, level, what, remedy
    marked = spikes(log)
    yield from _spikes(log, marked)
    yield from _events(log, events(log))
    clean = without_spikes(log, marked)
    jumps = list(_jumps(clean, angles))
    yield from jumps
    if log.motor is not None and not jumps:
        yield from _motors(clean, log.motor)
    if clean.qd is not None and not jumps:
        yield from _velocities(clean, clean.qd)


def spikes(log: Log) -> dict[str, np.ndarray]:
    """Which numbers of q, qd and tau are spikes, (N, n) booleans, as far as there are any.

    Torques and velocities for a few rows, or at the very beginning, further outside of their range
    (from 1 to 99 % of the rows) than it is wide; positions that jump away and back. What a contact
    does (`events`) is none, nor what a controller does that starts from no torque.
    """
    found = _outliers(log)
    for name, real in _caused(log, found).items():
        found[name] = found[name] & ~real
    return {name: mask for name, mask in found.items() if mask.any()}


def events(log: Log) -> dict[str, np.ndarray]:
    """Torques and velocities out of range in rows in which the velocity has a pulse, (N, n).

    A sensor that fails moves no joint: these are contacts or collisions.
    """
    found = _outliers(log)
    real = {name: mask & found[name] for name, mask in _caused(log, found).items()}
    return {name: mask for name, mask in real.items() if mask.any()}


def _outliers(log: Log) -> dict[str, np.ndarray]:
    found = {"q": _away_and_back(log)}
    for name in ("tau",) if log.qd is None else ("qd", "tau"):
        x = getattr(log, name)
        low, high = np.percentile(_some(x), [1, 99], axis=0)
        out = (high > low) & ((x < 2 * low - high) | (x > 2 * high - low))
        for j in np.flatnonzero(out.any(axis=0)):
            out[:, j] = _brief(out[:, j])
        found[name] = out
    for j in np.flatnonzero(found["tau"][0]):
        rows = int(np.argmin(found["tau"][:, j]))  # the first one in range
        if _takes_up(log.tau[: rows + 1, j], _velocities_of(log)[:, j]):
            found["tau"][:rows, j] = False
    return found


def _takes_up(tau: np.ndarray, v: np.ndarray) -> bool:
    """True if a joint sets off while its torque (rows + 1,) comes in range step by step.

    What a driver logs before it has measured jumps, and moves nothing.
    """
    size, rows = np.ptp(np.percentile(_some(v), [1, 99])), len(tau) - 1
    steady = abs(tau[-1] - tau[-2]) < LAST_STEP * abs(tau[-1] - tau[0])
    return bool(steady and abs(v[rows] - v[0]) > LEAST_PULSE * size)


def _velocities_of(log: Log) -> np.ndarray:
    """Velocities as logged, or differences of the positions, (N, n)."""
    return np.gradient(log.q, log.t, axis=0) if log.qd is None else log.qd


def _caused(log: Log, outliers: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outliers of tau beside a pulse of the joint's velocity, and those of qd there, (N, n).

    A row whose position jumps away and back, or whose velocity is out by more than any arm's, is
    corrupt.
    """
    if not outliers["tau"].any():
        return {}
    v = _velocities_of(log)
    pulses, size = np.zeros(v.shape), np.ptp(np.percentile(_some(v), [1, 99], axis=0), axis=0)
    w = BRIEF + 1
    if len(v) <= 2 * w:
        return {}
    pulses[w:-w] = np.abs(v[w:-w] - 0.5 * (v[2 * w :] + v[: -2 * w]))
    usual = PULSE * np.percentile(_some(pulses), 99, axis=0)
    far = pulses > CORRUPT * size.max()
    pulse = (pulses > np.maximum(usual, LEAST_PULSE * size)) & ~far
    corrupt = outliers["q"].any(axis=1) | far.any(axis=1)
    struck = _widened(pulse) & ~_widened(corrupt[:, None])
    real = {"tau": outliers["tau"] & struck}
    if "qd" in outliers:
        real["qd"] = outliers["qd"] & struck & _widened(real["tau"])
    return real


def _widened(rows: np.ndarray) -> np.ndarray:
    """Those rows (N, n) and a few to either side."""
    return binary_dilation(rows, np.ones((2 * BRIEF + 1, 1)))


def without_spikes(log: Log, found: Mapping[str, np.ndarray] | None = None) -> Log:
    """The log with its spikes, `found` or not, replaced by what lies between their neighbours."""
    found = spikes(log) if found is None else found
    if not found:
        return log
    arrays = {name: np.array(getattr(log, name)) for name in found}
    for name, mask in found.items():
        for x, bad in zip(arrays[name].T, mask.T, strict=True):
            if bad.any():
                x[bad] = np.interp(log.t[bad], log.t[~bad], x[~bad])
    return replace(log, **arrays)


def _some(x: np.ndarray) -> np.ndarray:
    return x[:: max(1, len(x) // LOOKED_AT)]


def _brief(out: np.ndarray) -> np.ndarray:
    """Those of the rows (N,) in short stretches: a signal that stays out there is none."""
    kept = np.zeros(len(out), dtype=bool)
    for a, b in stretches(out):
        kept[a:b] = b - a <= (max(BRIEF, int(FIRST * len(out))) if a == 0 else BRIEF)
    return kept


def _steps(log: Log) -> tuple[np.ndarray, np.ndarray]:
    """Changes of the positions from row to row, (N - 1, n), and which of them are jumps."""
    steps = np.diff(log.q, axis=0)
    limit = np.maximum(JUMP * np.percentile(np.abs(_some(steps)), 99, axis=0), SMALL)
    jump = (steps > limit) | (steps < -limit)
    if jump.any():  # a gap lets a joint go further
        slower = np.minimum(1.0, log.step / np.diff(log.t))[:, None]
        jump &= np.abs(steps) * slower > limit
    return steps, jump


def _whole_turns(steps: np.ndarray) -> np.ndarray:
    return np.abs(np.abs(steps) - 2 * np.pi) < TURN


def _away_and_back(log: Log) -> np.ndarray:
    steps, jump = _steps(log)
    mask = np.zeros(log.q.shape, dtype=bool)
    for j in np.flatnonzero((jump & ~_whole_turns(steps)).any(axis=0)):
        rows = np.flatnonzero(jump[:, j])
        for a, b in pairwise(rows.tolist()):
            back = abs(steps[a, j] + steps[b, j]) < 0.5 * abs(steps[a, j])
            if b - a <= BRIEF and back:
                mask[a + 1 : b + 1, j] = True
    return mask


def _spikes(log: Log, found: Mapping[str, np.ndarray]) -> Iterator[Fault]:
    for name, mask in found.items():
        x = getattr(log, name)
        for j in np.flatnonzero(mask.any(axis=0)).tolist():
            rows = np.flatnonzero(mask[:, j])
            worst = x[rows[np.argmax(np.abs(x[rows, j]))], j]
            what = f"{name}{j + 1} has spikes of up to {worst:.4g} in {_rows(log, rows)}"
            remedy = "dy.identify interpolates them, unless processing=Processing(spikes='keep')"
            yield j, "warning", what, remedy


def _events(log: Log, found: Mapping[str, np.ndarray]) -> Iterator[Fault]:
    for j in np.flatnonzero(found["tau"].any(axis=0)).tolist() if "tau" in found else ():
        rows = np.flatnonzero(found["tau"][:, j])
        worst = log.tau[rows[np.argmax(np.abs(log.tau[rows, j]))], j]
        what = (
            f"tau{j + 1} has an event of up to {worst:.4g} in {_rows(log, rows)}, with a pulse of "
            "the velocity in the same rows: a contact or a collision"
        )
        remedy = "the model knows no contacts: leave those rows out, log.window or log.rows"
        yield j, "warning", what, remedy


def _rows(log: Log, rows: np.ndarray) -> str:
    """Row numbers and times, the first few."""
    named = ", ".join(f"{k} ({log.t[k] - log.t[0]:.4g} s)" for k in rows[:NAMED].tolist())
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    return f"row{'s' if len(rows) > 1 else ''} {named}{more}"


def _jumps(log: Log, angles: set[int]) -> Iterator[Fault]:
    """Wrapped angles, corrupt first rows, and other positions that no arm goes through."""
    steps, jump = _steps(log)
    begin = corrupt_start(log)
    for j in np.flatnonzero(jump.any(axis=0)).tolist():
        rows = np.flatnonzero(jump[:, j])
        size, last = float(np.abs(steps[rows, j]).max()), int(rows[-1]) + 1
        said = f"q{j + 1} jumps by up to {size:.4g} before {_rows(log, rows + 1)}"
        if j in angles and np.median(_whole_turns(steps[rows, j])):
            what = f"{said}: the angle is wrapped"
            remedy = "dataclasses.replace(log, q=np.unwrap(log.q, axis=0))"
        elif last <= FIRST * len(log):
            what, remedy = f"{said}: the first rows are corrupt", f"log.rows({begin}, None)"
        else:
            what, remedy = said, "leave such rows out: read_log drops rows that hold NaN"
        yield j, "error", what, remedy


def corrupt_start(log: Log) -> int:
    """How many of the first rows lie before a jump of some joint that no arm makes."""
    steps, jump = _steps(log)
    early = (jump & ~_whole_turns(steps))[: max(FEWEST, int(FIRST * len(log)))].any(axis=1)
    return int(np.flatnonzero(early)[-1]) + 1 if early.any() else 0


def _motors(log: Log, motor: np.ndarray) -> Iterator[Fault]:
    """Joints whose motor is not where the joint is, as units and signs of gears make it."""
    q, th = (x - x.mean(axis=0) for x in (log.q, motor))
    for i in np.flatnonzero(np.minimum(np.ptp(q, axis=0), np.ptp(th, axis=0)) > MOVED).tolist():
        ratio = float((q[:, i] @ th[:, i]) / (q[:, i] @ q[:, i]))
        if 1 / BENDS < ratio < BENDS:
            continue
        what = f"motor{i + 1} goes {ratio:.3g} times as far as q{i + 1}, expected nearly as far"
        remedy = f"in units of the joint: units={{'motor': {1 / ratio:.3g}}}, and check the order"
        if -BENDS < ratio < -1 / BENDS:
            remedy = "units={'motor': -1} turns it around, with a list that of one joint"
        yield i, "warning", what, remedy


def _velocities(log: Log, qd: np.ndarray) -> Iterator[Fault]:
    """Joints whose qd is not the rate of q, by size or by shape."""
    for i, (ratio, alike) in enumerate(rate_ratios(log, qd)):
        if np.isnan(ratio) or (1 / RATIO < ratio < RATIO and alike > ALIKE):
            continue
        what = (
            f"qd{i + 1} is not the rate of q{i + 1}: {ratio:.3g} times its size, correlation "
            f"{alike:.2f}"
        )
        remedy = "check units and the order of the joints, or leave it: columns=dict(qd=None)"
        yield i, "error", what, remedy


def rate_ratios(log: Log, qd: np.ndarray) -> Iterator[tuple[float, float]]:
    """Of every joint, the size of qd next to the rate of q, and their correlation.

    NaN where the joint hardly moves, or the log is short.
    """
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
            yield float("nan"), float("nan")
            continue
        alike = np.mean(moved[:, i] * said[:, i]) / (size * other) if other else 0.0
        yield float(other / size), float(alike)
