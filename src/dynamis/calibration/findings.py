"""Findings on observations and on a calibration, and the verdict that follows from them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..errors import DynamisError, worded
from ..identify.verdict.verdict import DOUBTFUL, GOOD, NOT_SEEN, NOT_USABLE, Verdict
from ..model.check.finding import Finding
from .accuracy import Accuracy
from .error_model import ErrorModel
from .fit import Fit
from .observations import Observations, Points, Poses
from .residuals import Block, PointsBlock, PosesBlock, registration
from .uncertainty import Uncertainty

SUSPICIOUS = 2e-3  # m: a nominal arm that misses by less needs no explanation
BETTER = 4.0  # times: what another reading of the columns must improve
UNITS = {1e3: "millimetres", 1e2: "centimetres", 1.0 / 0.0254: "inches"}
UNIT_ERROR = 0.05  # relative error of a scale that still names a unit
SCALED = 0.02  # relative error of a scale that is said
TURN = 4.0 * np.pi  # rad: no revolute joint goes further either way
LARGE = 4.0  # tolerances
ALIKE = 0.95  # correlation of two parameters
DRIFTS = 0.4  # correlation of neighbouring residuals
FEW = 1.5  # measured numbers per unknown
MANY = 0.05  # of the rows: outliers beyond are no accidents
NAMED = 8  # rows that a finding names
KINDS_ALIKE = ("compliance", "gear", "sine", "cosine")


def wrong_readings(model: ErrorModel, blocks: Sequence[Block]) -> list[Finding]:
    """Observations that fit far better with other units, columns or signs: errors."""
    found: list[Finding] = []
    for number, one in enumerate(blocks, 1):
        where = set_name(one.data, number, len(blocks))
        found += _wrong_set(model, one, where)
    return found


def set_name(data: Observations, number: int, count: int) -> str:
    """A set in words: its name, or its kind with its number."""
    kind = type(data).__name__.lower()
    return data.name or (kind if count == 1 else f"{kind} {number}")


def _wrong_set(model: ErrorModel, one: Block, where: str) -> list[Finding]:
    zero = np.zeros(len(model.parameters))
    degrees = _in_degrees(model, one, where)
    if degrees:
        return degrees
    size = _misfit(model, one, zero)
    found = []
    if isinstance(one, (PointsBlock, PosesBlock)) and one.data.frame is None and len(one.data) > 5:
        found = _wrong_frame(model, one, where, zero, size)
    if not found and size > SUSPICIOUS:
        found = _wrong_columns(model, one, where, zero, size)
    return found


def _in_degrees(model: ErrorModel, one: Block, where: str) -> list[Finding]:
    kinds = np.array(model.robot.joint_kinds) == "revolute"
    largest = np.abs(one.at.q[:, kinds]).max(initial=0.0)
    if largest <= TURN:
        return []
    what = f"q reaches {largest:.4g} in a revolute joint: degrees, not radians"
    return [Finding("error", where, what, "np.radians(q) gives radians")]


def _wrong_frame(
    model: ErrorModel, one: Block, where: str, zero: np.ndarray, size: float
) -> list[Finding]:
    """The unit and the hand of an instrument's frame, from an affine map to the nominal arm."""
    arm = model.motion(zero, one.at, columns=False)
    data = one.data
    measured = data.position if isinstance(data, Points) else data.pose[:, :3, 3]
    target = data.target if data.target is None or data.target.shape == (3,) else data.target[:3, 3]
    seen = registration(arm, measured, target)
    spread = np.linalg.svd(arm.p - arm.p.mean(axis=0), compute_uv=False)
    flat = spread[-1] < 0.02 * spread[0] or seen.scale == 0.0
    if flat or not BETTER * seen.misfit < size:
        return []
    scale, found = 1.0 / seen.scale, []
    unit = next((u for s, u in UNITS.items() if abs(scale / s - 1.0) < UNIT_ERROR), None)
    if unit is not None:
        what = f"positions are {scale:.4g} times those of the arm: {unit}, not metres"
        found.append(Finding("error", where, what, "give positions in metres"))
    elif abs(scale - 1.0) > SCALED:
        what = f"positions are {scale:.4g} times those of the arm"
        hint = "give positions in metres; is it the right robot, are the columns in order?"
        level = "error" if abs(scale - 1.0) > 0.2 else "warning"
        found.append(Finding(level, where, what, hint))
    if seen.mirrored:
        what = "the instrument's frame is left-handed: an axis is mirrored, or two are exchanged"
        hint = "exchange two columns of the position, or turn the sign of one"
        found.append(Finding("error", where, what, hint))
    return found


def _misfit(model: ErrorModel, one: Block, zero: np.ndarray) -> float:
    """Median distance that the nominal arm leaves, m."""
    try:
        state = one.start(model, zero)
        parts = one.parts(model, zero, state)
    except (np.linalg.LinAlgError, DynamisError):
        return float("inf")
    return float(np.median(np.linalg.norm(parts[0].r, axis=1)))


def _wrong_columns(
    model: ErrorModel, one: Block, where: str, zero: np.ndarray, size: float
) -> list[Finding]:
    """Joints whose columns are exchanged, in degrees or of the other sign."""
    q, names = one.at.q, model.robot.joint_names
    trials: list[tuple[str, str, np.ndarray]] = []
    if not (np.abs(q) > 1.0).any() or np.abs(q).max() > np.pi:
        trials.append(("q is in degrees", "np.radians(q) gives radians", np.radians(q)))
    for i, j in combinations(range(q.shape[1]), 2):
        order = list(range(q.shape[1]))
        order[i], order[j] = j, i
        what = f"the columns of {names[i]} and {names[j]} are exchanged"
        trials.append((what, f"exchange columns {i + 1} and {j + 1} of q", q[:, order]))
    for k, name in enumerate(names):
        sign = np.ones(q.shape[1])
        sign[k] = -1.0
        trials.append((f"the sign of {name} is turned", f"turn column {k + 1} of q", q * sign))
    sizes = [_misfit(model, replace(one, at=one.at._replace(q=x)), zero) for *_, x in trials]
    best = int(np.argmin(sizes))
    if not BETTER * sizes[best] < size:
        return []
    what, hint, _ = trials[best]
    far = f"the nominal arm misses by {1e3 * size:.3g} mm, so read by {1e3 * sizes[best]:.3g} mm"
    return [Finding("error", where, f"{what}: {far}", hint)]


def of_calibration(
    fit: Fit, uncertainty: Uncertainty, nominal: Accuracy, held: Accuracy | None,
    unidentifiable: Sequence[str],
) -> Iterator[Finding]:  # fmt: skip
    """Findings on a fit that went through."""
    yield from _outliers(fit)
    yield from _too_few(fit)
    if held is not None and not held.mean < nominal.mean:
        sizes = " and ".join(f"{1e3 * x.mean:.3g} mm" for x in (held, nominal))
        what = f"held-out places are missed by {sizes.replace(' and', ', by the nominal arm by')}"
        yield Finding("warning", "fit", what, "measure more postures, over all of the workspace")
    yield from _large(fit, uncertainty)
    yield from _alike(fit, uncertainty)
    yield from _drift(fit)
    if unidentifiable:
        what = f"not told by these observations, nominal: {worded(unidentifiable)}"
        hint = "nothing, where the tool is what counts; poses, distances or known places tell more"
        yield Finding("note", "identifiability", what, hint)
    if held is None:
        what = "all was measured at one place: nothing could be held out"
        yield Finding("warning", "places", what, "measure at two places and more")


def _outliers(fit: Fit) -> Iterator[Finding]:
    for number, (one, parts, weights) in enumerate(
        zip(fit.blocks, fit.parts, fit.weights, strict=True), 1
    ):
        where = set_name(one.data, number, len(fit.blocks))
        for part, w in zip(parts, weights, strict=True):
            rows = np.flatnonzero(w.outliers)
            if not len(rows):
                continue
            sizes = np.linalg.norm(part.r[rows], axis=1)
            order = np.argsort(-sizes)
            unit = "mm" if part.unit == "m" else "mrad"
            listed = worded([f"{rows[k]} ({1e3 * sizes[k]:.3g} {unit})" for k in order], NAMED)
            scatter = f"{1e3 * w.scatter:.2g} {unit}"
            what = f"{part.name} of rows {listed} is off, the others scatter by {scatter}: left out"
            level = "note" if len(rows) <= MANY * len(part.r) else "warning"
            yield Finding(level, where, what, "look at how they were measured; rows are from 0")


def _too_few(fit: Fit) -> Iterator[Finding]:
    rows = sum(part.r.size for parts in fit.parts for part in parts)
    unknowns = int(fit.free.sum())
    if rows < FEW * unknowns:
        what = f"{rows} measured numbers for {unknowns} unknowns"
        yield Finding("warning", "observations", what, "measure more postures")


def _large(fit: Fit, uncertainty: Uncertainty) -> Iterator[Finding]:
    for k in np.flatnonzero(fit.kept):
        own, value = fit.model.parameters[k], fit.values[k]
        sd = uncertainty.deviations[k]
        if (
            abs(value) > LARGE * own.tolerance
            and abs(value) > 3.0 * sd
            and own.unit in ("m", "rad")
        ):
            unit = "mm" if own.unit == "m" else "mrad"
            what = f"{own.name} is {1e3 * value:.3g} {unit}"
            hint = "is it the right robot, is the joint referenced, are the columns in order?"
            yield Finding("note", "fit", what, hint)


def _alike(fit: Fit, uncertainty: Uncertainty) -> Iterator[Finding]:
    """Corrections by posture that look the same on these postures."""
    chosen = [k for k in np.flatnonzero(fit.kept) if fit.model.parameters[k].kind in KINDS_ALIKE]
    C, names = uncertainty.noise, [x.name for x in fit.model.parameters]
    for i, j in combinations(chosen, 2):
        rho = C[i, j] / max(np.sqrt(C[i, i] * C[j, j]), 1e-300)
        if abs(rho) > ALIKE:
            what = f"{names[i]} and {names[j]} look alike here (correlation {rho:.2f})"
            hint = "trust their sum; postures with and without a payload tell stiffness apart"
            yield Finding("note", "identifiability", what, hint)


def _drift(fit: Fit) -> Iterator[Finding]:
    for number, (one, parts) in enumerate(zip(fit.blocks, fit.parts, strict=True), 1):
        r = parts[0].r
        if not isinstance(one.data, (Points, Poses)) or len(r) < 50:
            continue
        rho = float((r[1:] * r[:-1]).sum() / max(float((r**2).sum()), 1e-300))
        if rho > DRIFTS:
            what = f"residuals of neighbouring rows are alike (correlation {rho:.2f})"
            hint = "did the instrument or the arm's temperature drift? Measure in random order"
            yield Finding("note", set_name(one.data, number, len(fit.blocks)), what, hint)


def verdict(
    findings: Sequence[Finding], nominal: Accuracy, held: Accuracy | None, fit: Accuracy
) -> Verdict:
    """The verdict: errors make it not usable, warnings doubtful."""
    ranked = sorted(findings)
    found = held or fit
    sizes = [f"{1e3 * x:.3g} mm" for x in (found.mean, nominal.mean)]
    where = "held-out places" if held is not None else "what was fitted"
    said = f"{where} are missed by {sizes[0]} on the mean, by the nominal arm by {sizes[1]}"
    if held is None:
        said = said.replace("are missed", "is missed")
    if ranked and ranked[0].level == "error":
        return Verdict(NOT_USABLE, ranked[0].what, ranked[0].remedy)
    if not found.mean < nominal.mean:
        return Verdict(NOT_SEEN, said, "measure more postures, over all of the workspace")
    if ranked and ranked[0].level == "warning":
        return Verdict(DOUBTFUL, f"{said}; {ranked[0].what}", ranked[0].remedy)
    return Verdict(GOOD, said, "validate it on points that were measured for that alone")
