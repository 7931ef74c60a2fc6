"""The HTML report of a study (`study.report`), and its answer in words."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from ..compile.arrays import numbers
from ..errors import worded
from ..files import PAGES, checked_path
from ..lazy import package
from ..study.summary import CHANCE, scaled
from ..trajectory.trajectory import bounds
from .page import Page

if TYPE_CHECKING:
    from ..study.scatter import Scatter
    from ..study.study import Study

SHARES = (0.5, 0.95, 0.999)
CONFIDENCE = 0.95
MOST_ARMS = {0.5: "Half of the arms", 0.95: "95 of 100 arms", 0.999: "999 of 1000 arms"}
LARGEST_CAUSES, WORST, FACTORS, FAILURES = 3, 5, 12, 20  # rows of the tables, at most
LONGEST = 160  # letters of an option
LIMITED = ("peak_velocity", "peak_torque")  # in the order of `bounds`
PAYLOAD = "mass of the load at the tool"
VARIED = {  # words and kind of deviation by the name of a Scatter's option
    "mass": ("mass of a link", "share"),
    "com": ("centre of mass of a link, each coordinate", "m"),
    "inertia": ("second moments of a link about its centre of mass", "share"),
    "friction": ("viscous and Coulomb friction of a joint", "share"),
    "rotor": ("rotor inertia of a joint", "share"),
    "joint_offset": ("zero error of an encoder", "rad or m"),
    "q0": ("initial position", "rad or m"),
    "qd0": ("initial velocity", "rad/s or m/s"),
}


def write(study: "Study", path: str | Path) -> Path:
    """Write the page whole or not at all."""
    target = checked_path(path, PAGES, "report")
    return page(study).save(target)


def page(study: "Study") -> Page:
    """All sections in order."""
    mpl = package("matplotlib", "matplotlib", "a report", "plots")
    from ..plots.study_plot import plot_study

    made = Page(f"Study of {study.robot.name}", lead(study))
    made.section("Answer")
    for sentence in answer(study):
        made.text(sentence, "answer")
    _quantiles(made, study)
    with mpl.rc_context({"svg.fonttype": "none"}):
        made.section(
            "Distributions",
            "Left, how the arms are distributed and their 50, 95 and 99.9 % quantiles. Right, the "
            "share of the variance that each varied quantity explains by itself; pale if chance "
            "alone could give it.",
        )
        for measure in study.measures:
            if _constant(study, measure):
                made.text(f"{study.described(measure)}. It is the same for all arms.")
            else:
                made.figure(plot_study(study, measure), study.described(measure))
    _worst(made, study)
    _causes(made, study)
    _failures(made, study)
    _varied(made, study)
    _computed(made, study)
    return made


def lead(study: "Study") -> str:
    """What was done, in a sentence."""
    case = study.case
    done = "evaluated"
    if case.evaluate is None:
        done = "simulated" if case.simulated else "taken along the reference"
    count = len(study.factors)
    differ = f"that differ in {count} quantities" if count else "that do not differ"
    arms = f"{study.samples:,} arms {differ}" if study.samples > 1 else "One arm"
    return f"{arms}, {done}. Measured: {', '.join(study.measures)}."


# the answer


def answer(study: "Study") -> list[str]:
    """What a person wants to know, in sentences."""
    found = []
    failed, samples = study.failed, study.samples
    if failed:
        first = f"The first is sample {failed.samples[0]}: {failed.reasons[0]}."
        found.append(f"{study.failures} {first}")
    if failed.count == samples:
        return found
    for measure in study.measures:
        found.append(" ".join(_sentences(study, measure)))
    if samples == 1:
        found.append("One sample says nothing of other arms.")
    elif samples < enough(SHARES[-1]):
        found.append(
            f"{samples:,} samples are too few to bound what 999 of 1000 arms do: "
            f"{enough(SHARES[-1]):,} would do."
        )
    return found


def _sentences(study: "Study", measure: str) -> list[str]:
    """About one measure."""
    if measure == "stop_hit":
        return _stops(study)
    found = [x for column in _largest(study, measure) for x in _about(study, measure, column)]
    return found + _beyond_limits(study, measure)


def _beyond_limits(study: "Study", measure: str) -> list[str]:
    """Joints whose worst arm passes a limit of the model, which does not act in the study."""
    if measure not in LIMITED:
        return []
    most = bounds(study.robot)[LIMITED.index(measure)][:, 1]
    names, values = study.columns(measure), study.extremes(measure)[1]
    limits = [most[study.robot.joint_names.index(name)] for name in names]
    rows = zip(names, values, limits, study.units(measure), strict=True)
    return [
        f"The limit of {number(limit, unit)} of {name!r} is passed, up to {number(value, unit)}."
        for name, value, limit, unit in rows
        if value > limit
    ]


def _about(study: "Study", measure: str, column: int) -> list[str]:
    """About one joint: the bound, the worst arm, the causes."""
    worst = study.worst(measure, 1, study.columns(measure)[column])
    sample, value = worst.samples[0], worst.values[0][column]
    where, unit = _at(study, measure, column), study.units(measure)[column]
    found = _bound(study, measure, column)
    if not np.isfinite(value):
        return [*found, f"Sample {sample} is the first of them."]
    if study.samples == 1:
        return [f"{measure} is {number(value, unit)}{where}."]
    beyond = "" if found else f" {measure}"
    place = "" if found else where
    found.append(
        f"The worst{beyond} of {study.samples:,} is sample {sample}: {number(value, unit)}{place}."
    )
    causes = [
        f"{name} explains {100 * share:.0f} %"
        for name, share in study.sensitivity(measure).ranked(LARGEST_CAUSES, column)
        if share > max(CHANCE / study.samples, 0.05)
    ]
    return [*found, f"Of the variance, {worded(causes)}."] if causes else found


def _largest(study: "Study", measure: str) -> list[int]:
    """Of the columns with one unit, that with the largest 99.9 % quantile; of every unit."""
    last, finite = study.quantiles(measure, SHARES[-1]), study.summary.of(measure)["finite"]
    order = np.lexsort((finite, -last)).tolist()  # of those without bound, the most often infinite
    units = study.units(measure)
    found = {units[column]: column for column in reversed(order)}
    return sorted(found.values())


def _bound(study: "Study", measure: str, column: int) -> list[str]:
    """What most arms do not exceed: of the largest share that the number of samples can bound."""
    where, unit = _at(study, measure, column), study.units(measure)[column]
    infinite = study.distribution(measure, column).infinite + study.failed.count
    share = max((s for s in SHARES if enough(s) <= study.samples), default=None)
    if infinite and (share is None or infinite > (1.0 - share) * study.samples):
        said = "do not settle" if measure == "settling_time" else f"have no finite {measure}"
        return [f"{infinite:,} of {study.samples:,} arms {said}{where}."]
    if share is None:
        return []
    value = study.quantiles(measure, share)[column]
    ends = study.quantile_intervals(measure, share, CONFIDENCE)[0, :, column]
    between = " and ".join(number(x, unit) for x in ends)
    return [
        f"{MOST_ARMS[share]} keep {measure} below {number(value, unit)}{where} (with 95 % "
        f"confidence the bound lies between {between})."
    ]


def enough(share: float, confidence: float = CONFIDENCE) -> int:
    """Samples from which the quantile of a share has an upper bound."""
    return math.ceil(math.log(0.5 * (1.0 - confidence)) / math.log(share))


def _stops(study: "Study") -> list[str]:
    hits = study.summary.of("stop_hit")["total"].astype(int)
    names = study.columns("stop_hit")
    some = [f"{n} in {k:,}" for n, k in zip(names, hits.tolist(), strict=True) if k]
    if not some:
        return ["No joint of any arm came to one of its limits."]
    return [f"Of {study.samples:,} arms, joints came to one of their limits: {worded(some)}."]


def _at(study: "Study", measure: str, column: int) -> str:
    name = study.columns(measure)[column]
    if not name:
        return ""
    return f" at {name}" if name in study.robot.joint_names else f" in column {name}"


def number(value: float, unit: str) -> str:
    """A value with a unit whose prefix makes it short."""
    if not np.isfinite(value):
        return "infinite"
    scale, short = scaled(abs(value), unit)
    return f"{value * scale:.4g} {short}".strip()


# sections


def _shown_columns(study: "Study", measure: str) -> list[int]:
    """All, or those with the largest values."""
    from ..plots.study_plot import PANELS

    last = study.quantiles(measure, SHARES[-1])
    if len(last) <= PANELS:
        return list(range(len(last)))
    return sorted(np.argsort(-last, kind="stable")[:PANELS].tolist())


def _quantiles(page: Page, study: "Study") -> None:
    page.section(
        "Quantiles",
        "Values that 50, 95 and 99.9 % of the arms do not exceed, and in brackets the 95 % "
        "interval of each: how well this number of samples determines it. Quantiles are exact to "
        "0.05 % of themselves, the largest values exactly.",
    )
    _, mean_of, *_, largest_of, _ = study.head
    shares = (f"{100 * s:g} %" for s in SHARES)
    head = ("joint", mean_of, *shares, largest_of, "in sample", "unit")
    for measure in study.measures:
        middle, ends = study.quantiles(measure, SHARES), study.quantile_intervals(measure, SHARES)
        mean, own = study.mean(measure), study.summary.of(measure)
        names, rows = study.columns(measure), []
        for k in _shown_columns(study, measure):
            size = np.array([mean[k], *middle[:, k], own["highest"][k]])
            scale, unit = scaled(_size(size), study.units(measure)[k])
            cells = [_with_interval(scale * x, scale * y) for x, y in zip(
                middle[:, k], ends[:, :, k], strict=True)]  # fmt: skip
            largest = _short(scale * own["highest"][k]), str(own["highest_at"][k])
            rows.append((names[k], _short(scale * mean[k]), *cells, *largest, unit))
        left = len(names) - len(rows)
        page.caption(study.described(measure))
        page.table(head, rows)
        if left:
            page.text(f"{left} more columns, all with a smaller 99.9 % quantile, are left out.")


def _size(values: np.ndarray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _constant(study: "Study", measure: str) -> bool:
    low, high = study.extremes(measure)
    return not study.failed and bool((low == high).all())


def _with_interval(value: float, ends: np.ndarray) -> str:
    return f"{_short(value)} [{_short(ends[0])}, {_short(ends[1])}]"


def _short(value: float) -> str:
    if not np.isfinite(value):
        return "none" if np.isnan(value) else "infinite" if value > 0 else "-"
    return f"{value:.4g}"


def _worst(page: Page, study: "Study") -> None:
    evaluated = study.case.evaluate is not None
    call = "study.draw(SAMPLE) says what was drawn" if evaluated else (
        "study.replay(SAMPLE) simulates one of them again, with the same bits: "
        "study.replay(SAMPLE).plot(), .animate(...); study.draw(SAMPLE) says what was drawn"
    )  # fmt: skip
    page.section(
        "Worst cases",
        f"{call}. What was drawn is in standard deviations from the mean, by how much it matters.",
    )
    for measure in study.measures:
        if _constant(study, measure) or study.failed.count == study.samples:
            continue
        worst = study.worst(measure, min(WORST, study.samples))
        units, rows = study.units(measure), []
        for sample, values in zip(worst.samples.tolist(), worst.values, strict=True):
            k = int(np.argmax(values))
            said = number(values[k], units[k]) + _at(study, measure, k)
            rows.append((str(sample), said, _drawn(study, measure, sample, k)))
        page.caption(measure)
        page.table(("sample", "largest value", "drawn"), rows)


def _drawn(study: "Study", measure: str, sample: int, column: int) -> str:
    """The factors of a sample that matter most to a measure there."""
    if not study.factors:
        return ""
    z = study.draw(sample).factors[0]
    weight = study.sensitivity(measure).shares[:, column] * z**2
    order = np.argsort(-weight, kind="stable")[:LARGEST_CAUSES]
    return ", ".join(f"{study.factors[k]} {z[k]:+.1f}" for k in order if weight[k] > 0.0)


def _causes(page: Page, study: "Study") -> None:
    if not study.factors:
        return
    chance = 100.0 * CHANCE / study.samples
    page.section(
        "Causes",
        "Percent of the variance of each joint that a varied quantity explains by itself (squared "
        "correlations with it and with its square). What the sum leaves to 100 is interaction or "
        "noise; quantities of an estimate depend on each other, and their shares overlap. Less "
        f"than {chance:.2g} % can be chance with {study.samples:,} samples and is left out.",
    )
    for measure in study.measures:
        found = study.sensitivity(measure)
        columns = _shown_columns(study, measure)
        shares = 100.0 * found.shares[:, columns]
        rows = [
            (name, *(f"{x:.1f}" for x in shares[study.factors.index(name)]))
            for name, _ in found.ranked(FACTORS)
            if shares[study.factors.index(name)].max() > chance
        ]
        page.caption(measure)
        if rows:
            page.table(("varied", *(found.columns[k] or "%" for k in columns)), rows)
        else:
            page.text("None that is more than chance.")


def _failures(page: Page, study: "Study") -> None:
    failed = study.failed
    if not failed:
        page.section("Failures", "None: every arm gave a value.")
        return
    page.section(
        "Failures",
        f"{failed.count:,} of {study.samples:,} arms gave no value ({failed.why}). They count as "
        "infinite in the quantiles, and are left out of means, largest values and causes.",
    )
    pairs = zip(failed.samples.tolist(), failed.reasons, strict=True)
    rows = [(str(k), why) for k, why in pairs][:FAILURES]
    page.table(("sample", "reason"), rows)
    if failed.count > len(rows):
        page.text(f"And {failed.count - len(rows):,} more: study.failed names the first 1000.")


def _varied(page: Page, study: "Study") -> None:
    page.section("What was varied", "" if study.factors else "Nothing.")
    variation, rows = study.case.variation, []
    if variation.posterior is not None:
        count = len(variation.posterior.names)
        rows.append(
            ("parameters of the model", "as uncertain as the identification left them: "
             f"{count} quantities, drawn together from the distribution of the estimate")
        )  # fmt: skip
    if variation.scatter is not None:
        rows += varied(variation.scatter)
    if rows:
        page.table(("what", "how"), rows)


def varied(scatter: "Scatter") -> list[tuple[str, str]]:
    """What a Scatter varies, in words."""
    rows = []
    for name, (what, kind) in VARIED.items():
        given = getattr(scatter, name)
        if isinstance(given, Mapping):
            own = [f"{key} {_deviation(x, kind)}" for key, x in given.items() if x]
            if own:
                rows.append((what, f"standard deviation: {', '.join(own)}"))
        elif name in ("q0", "qd0") and isinstance(given, (tuple, list)) and len(given) == 2:
            rows.append((what, f"uniform from {_row(given[0])} to {_row(given[1])} {kind}"))
        elif given is not None and np.any(given):
            rows.append((what, f"standard deviation {_deviation(given, kind)}"))
    if scatter.payload is not None:
        low, high = np.broadcast_to(numbers(scatter.payload, "payload", ""), (2,))
        at = _row(scatter.payload_com)
        rows.append((PAYLOAD, f"uniform from {low:g} to {high:g} kg, centre of mass at {at} m"))
    for name in ("reference", "delay", "sensors"):
        given = getattr(scatter, name)
        if given is not None:
            rows.append((name, f"one of {len(given)} alternatives, equally likely"))
    return rows


def _deviation(value: Any, kind: str) -> str:
    if kind == "share":
        return f"{100 * float(value):g} % (of the logarithm)"
    return f"{_row(value)} {kind}"


def _row(value: Any) -> str:
    given = np.atleast_1d(numbers(value, "value", ""))
    return f"{given[0]:g}" if len(given) == 1 else f"({', '.join(f'{x:g}' for x in given)})"


def _computed(page: Page, study: "Study") -> None:
    case = study.case
    page.section(
        "How it was computed",
        "Sample number i has the same bits on every machine, for any number of workers.",
    )
    rows = [("samples", f"{study.samples:,}"), ("seed", str(case.seed))]
    if case.evaluate is None:
        s = case.ensemble(case.groups(case.draw(0, 1))[0].alternatives).s
        rows += [("duration", f"{s.span.duration:g} s"), ("step", f"{s.dt:g} s")]
        if case.simulated:
            rows.append(("integrator", s.tableau.name))
        plain = {"controller", "reference", "torque", "observer", "sensors", "device", "dtype"}
        for name, value in case.options.items():
            if name in plain and value is not None:
                rows.append((name, _described(value)))
        rows += [
            (name, f"{case.options[name]}")
            for name in ("sample_time", "delay", "stops", "fused")
            if case.options.get(name)
        ]
    rows += [
        ("time", f"{study.seconds:.3g} s" + _resumed(study)),
        ("dynamis", __version__),
    ]
    page.table(("what", "value"), rows)


def _resumed(study: "Study") -> str:
    return f", {study.resumed:,} samples from a checkpoint" if study.resumed else ""


def _described(value: Any) -> str:
    """A law, trajectory or array in short."""
    text = repr(value)
    if callable(value) and hasattr(value, "__name__"):
        text = f"function {value.__name__}"
    return text if len(text) <= LONGEST and "object at 0x" not in text else type(value).__name__
