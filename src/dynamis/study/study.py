"""`dy.study`: many arms that differ, and what that does to errors, torques and times."""

import html
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import SEEDS, a_robot, checked, flag, passed_on, path_of, positive, strict, whole
from ..compile.arrays import checked_threads, numbers
from ..control.controller import per_joint
from ..errors import OptionError, counted, did_you_mean, shown, warn
from ..files import checked_path
from ..files import whole as written_whole
from ..model.schema import UNITS
from ..progress import stage
from ..simulation.measures import MEASURES, Measures, measure_names
from ..simulation.options import OF_A_STUDY
from ..simulation.run import Run
from ..simulation.simulator import refuse_singular
from ..tables import html_table, text_table
from . import checkpoint as files
from .case import Case
from .ensemble import DIVERGED, function_name
from .identity import identity_of
from .scatter import Draw
from .summary import (
    WORST,
    Distribution,
    Summary,
    added,
    at_ranks,
    distribution,
    quantiles,
    shares_of_variance,
)
from .variation import Variation
from .workers import Driver

if TYPE_CHECKING:
    from ..robot import Robot

MOST = 10**12  # samples
OFTEN = 1.0  # seconds between two checkpoints
SELDOM = 20.0  # times what it takes to write one
SHOWN = (0.5, 0.95, 0.999)
KINDS = 3  # reasons of failures that are named


class Worst(NamedTuple):
    """The samples with the largest values: their numbers (count,), values (count, k)."""

    samples: np.ndarray
    values: np.ndarray


class Failed(NamedTuple):
    """Samples that gave nothing: how many, the numbers of the first and why."""

    count: int
    samples: np.ndarray
    reasons: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def why(self) -> str:
        """The reasons in short, without times: "diverged", or "90 diverged, 2 ValueError: ..."."""
        counts = Counter(DIVERGED if x.startswith(DIVERGED) else x for x in self.reasons)
        if len(counts) == 1:
            return next(iter(counts))
        few = counts.most_common(KINDS)
        named = f"of the first {len(self.reasons)}: " if self.count > len(self.reasons) else ""
        more = f", {len(counts) - len(few)} other reasons" if len(counts) > len(few) else ""
        return named + ", ".join(f"{count} {reason}" for reason, count in few) + more


@strict
@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Of the variance of a measure, the share that each factor explains by itself, (f, k).

    `linear` by a straight line, `quadratic` beyond it by a parabola. Factors of a Scatter are
    independent: what their shares leave to 1 is interaction, or noise. Those of an estimate are
    not, and their shares overlap.
    """

    names: tuple[str, ...]
    linear: np.ndarray
    quadratic: np.ndarray
    columns: tuple[str, ...]
    samples: int = 0
    failed: int = 0  # of the samples: their values are unknown, so they are left out

    @property
    def shares(self) -> np.ndarray:
        """Both together, (f, k)."""
        return self.linear + self.quadratic

    def ranked(self, count: int = 10, column: int | None = None) -> list[tuple[str, float]]:
        """The factors that matter most: by one joint, or by the mean over all."""
        whole(count, "count")
        if column is not None:
            whole(column, "column", 0, len(self.columns) - 1)
        share = self.shares.mean(axis=1) if column is None else self.shares[:, column]
        order = np.argsort(-share, kind="stable")[:count]
        return [(self.names[k], float(share[k])) for k in order]

    def __str__(self) -> str:
        rows = [f"{name:<32}{100 * share:6.1f} %" for name, share in self.ranked()]
        if self.failed:
            left = self.samples - self.failed
            rows.append(f"of the {left} arms that did not fail; {self.failed} did")
        return "\n".join(rows)


@strict
@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The answer: quantiles, worst cases and causes of every measure.

    A sample without a value (it diverged or raised) counts as infinite in quantiles: `failed`
    names it. Values have one column per joint, or one.
    """

    case: Case
    summary: Summary
    seconds: float = 0.0  # that it took
    resumed: int = 0  # samples taken from a checkpoint
    nominal: str = ""  # why the nominal arm, with nothing varied, failed
    first: str = ""  # why the first sample that diverged did, if that is known

    @property
    def robot(self) -> "Robot":
        """The model."""
        return self.case.robot

    @property
    def samples(self) -> int:
        """How many arms were drawn."""
        return self.summary.samples

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of what was measured."""
        return tuple(self.case.columns)

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of what was varied."""
        return self.case.variation.names

    def columns(self, measure: str) -> tuple[str, ...]:
        """What the columns of a measure are: joints, or nothing."""
        joints = self._joints(measure)
        if joints:
            return tuple(self.robot.joint_names[k] for k in joints)
        count = self.case.columns[measure]
        return ("",) if count == 1 else tuple(str(k + 1) for k in range(count))

    def _joints(self, measure: str) -> tuple[int, ...]:
        """Joints that the columns of a measure are of; none where they are something else."""
        count = self.case.columns[self._known(measure)]
        if measure in MEASURES:
            return Measures(self.robot, ()).joints(measure)
        every = tuple(range(self.robot.n))
        return next((x for x in (every, self.robot.model.driven) if len(x) == count), ())

    def units(self, measure: str) -> tuple[str, ...]:
        """Units of the columns."""
        count = self.case.columns[self._known(measure)]
        kind = MEASURES[measure].unit if measure in MEASURES else ""
        if kind not in UNITS["revolute"]:
            return (kind,) * count
        return tuple(UNITS[self.robot.joint_kinds[k]][kind] for k in self._joints(measure))

    def described(self, measure: str) -> str:
        """A measure and what it is."""
        known = MEASURES.get(self._known(measure))
        return measure if known is None else f"{measure}: {known.what.replace('`', '')}"

    def distribution(self, measure: str, column: int = 0) -> Distribution:
        """How many arms lie between any two values of a column: `.heights(edges)`."""
        whole(column, "column", 0, self.case.columns[self._known(measure)] - 1)
        return distribution(self.summary, measure, column)

    def _known(self, measure: str) -> str:
        if not isinstance(measure, str) or measure not in self.measures:
            hint = did_you_mean(measure, self.measures) if isinstance(measure, str) else None
            expected = f"expected one of {', '.join(self.measures)}"
            raise OptionError(f"measure is {shown(measure)}, {expected}", hint)
        return measure

    def quantiles(self, measure: str, shares: Any = SHOWN) -> np.ndarray:
        """Values that these shares of all arms do not exceed, (len(shares), k).

        Exact to 0.05 % of themselves (half a bin); of all samples, failed ones count as infinite.
        """
        given = _shares(shares)
        found = quantiles(self.summary, self._known(measure), np.atleast_1d(given))
        return found if given.ndim else found[0]

    def quantile_intervals(
        self, measure: str, shares: Any = SHOWN, confidence: float = 0.95
    ) -> np.ndarray:
        """Between which values each quantile lies with this confidence, (len(shares), 2, k).

        By order statistics, whatever the distribution; infinite where there are too few samples.
        """
        from scipy.stats import binom

        given, total = np.atleast_1d(_shares(shares)), self.samples
        tail = 0.5 * (1.0 - positive(confidence, "confidence"))
        low = binom.ppf(tail, total, given).astype(np.int64)
        high = binom.ppf(1.0 - tail, total, given).astype(np.int64) + 1
        ends = [at_ranks(self.summary, self._known(measure), k) for k in (low, high)]
        return np.stack(ends, axis=1)

    def worst(self, measure: str, count: int = 10, joint: Any = None) -> Worst:
        """The samples with the largest values, at most 100; by one joint, or by the largest.

        Fewer where fewer have a value.
        """
        own = self.summary.of(self._known(measure))
        number = whole(count, "count")
        if number > WORST:
            raise OptionError(f"count is {number}, expected at most {WORST}: more are not kept")
        row = 0
        if joint is not None:
            names = self.columns(measure)
            if not isinstance(joint, str) or joint not in names:
                raise OptionError(f"joint is {shown(joint)}, expected one of {', '.join(names)}")
            row = 1 + names.index(joint)
        return Worst(own["worst_at"][row, :number], own["worst"][row, :number])

    def mean(self, measure: str) -> np.ndarray:
        """Of the samples with a finite value, (k,)."""
        own = self.summary.of(self._known(measure))
        with np.errstate(all="ignore"):
            return own["total"] / own["finite"]

    def standard_deviation(self, measure: str) -> np.ndarray:
        """Of the samples with a finite value, (k,)."""
        own = self.summary.of(self._known(measure))
        with np.errstate(all="ignore"):
            square = own["squares"] / own["finite"]
        return np.sqrt(np.maximum(square - self.mean(measure) ** 2, 0.0))

    def extremes(self, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest value, exactly, (k,) each; failed samples are not among them."""
        own = self.summary.of(self._known(measure))
        return own["lowest"], own["highest"]

    @property
    def failed(self) -> Failed:
        """Samples that diverged or raised; why an arm diverged is said of the first that did."""
        found, reasons = self.summary, [str(x) for x in self.summary["reasons"]]
        if self.first:
            reasons[_first_diverged(reasons)] = self.first
        return Failed(found.failed, found["failed_at"], tuple(reasons))

    def sensitivity(self, measure: str) -> Sensitivity:
        """Which of the things that vary cause the variation of a measure."""
        linear, quadratic = shares_of_variance(self.summary, self._known(measure))
        counts = self.samples, self.failed.count
        return Sensitivity(self.factors, linear, quadratic, self.columns(measure), *counts)

    def replay(self, index: int) -> Run:
        """The whole run of one sample; `run.robot` is that arm."""
        if self.case.evaluate is not None:
            raise OptionError("this study evaluated a function: there is no run", "use draw(index)")
        return self.case.replay(whole(index, "index", 0, self.samples - 1))

    def draw(self, index: int) -> Draw:
        """What was drawn for one sample: parameters, start, factors, ..."""
        return self.case.draw(whole(index, "index", 0, self.samples - 1), 1)

    @property
    def head(self) -> tuple[str, ...]:
        """Names of the columns of `table`; if samples failed, of how many mean and largest are."""
        good = self.samples - self.failed.count
        of = f" of {good} left" if self.failed else ""
        return ("measure", f"mean{of}", "50 %", "95 %", "99.9 %", f"largest{of}", "unit")

    @property
    def failures(self) -> str:
        """How many samples failed and why, and what of the table is of the others; or ""."""
        if not self.failed:
            return ""
        good = self.samples - self.failed.count
        found = f"{self.failed.count:,} of {self.samples:,} arms failed ({self.failed.why}). "
        if self.nominal:
            found += f"The nominal arm itself, nothing varied: {self.nominal}. "
        elif self.first:
            index = self.failed.samples[_first_diverged(self.failed.reasons)]
            found += f"Sample {index} {self.first}. "
        if not good:
            return found.strip()
        return (
            f"{found}Quantiles count them as infinite; mean, largest values and causes are of the "
            f"other {good:,} only."
        )

    def table(self) -> list[tuple[str, ...]]:
        """Rows: measure and joint, mean, quantiles 50, 95 and 99.9 %, largest, unit.

        "largest of 200": too few samples for that quantile, the largest is all that is known.
        """
        rows = []
        above = self.samples * (1.0 - np.array(SHOWN))  # samples that exceed each quantile
        unknown = 1 + np.flatnonzero(above < 1.0 - 1e-9)
        for name in self.measures:
            good = self.samples - self.failed.count
            mean = np.where(self.summary.of(name)["finite"] < good, np.inf, self.mean(name))
            middle = [mean, *self.quantiles(name), self.extremes(name)[1]]
            for k, (joint, unit) in enumerate(
                zip(self.columns(name), self.units(name), strict=True)
            ):
                cells = [_digits(x[k]) for x in middle]
                for place in unknown:
                    if np.isfinite(middle[place][k]):
                        cells[place] = f"largest of {self.samples}"
                rows.append((f"{name} {joint}".strip(), *cells, unit))
        return rows

    @checked
    def save(self, path: str | Path) -> Path:
        """Everything that is kept, as arrays in a .npz."""
        target = checked_path(path, (".npz",), "study")
        arrays: dict[str, Any] = {
            name.replace("/", "."): x for name, x in self.summary.arrays.items()
        }
        arrays["factor_names"] = np.array(self.factors)
        for name in self.measures:
            arrays[f"{name}.quantiles"] = self.quantiles(name, GRID)
            arrays[f"{name}.columns"] = np.array(self.columns(name))
        arrays["shares"] = np.array(GRID)
        with written_whole(target) as partial, partial.open("wb") as file:
            np.savez(file, **arrays)
        return target

    def plot(self, measure: str | None = None, **options: Any) -> Any:
        """Distribution of a measure over the arms, with its quantiles, and what causes it."""
        from ..plots.study_plot import plot_study

        known = passed_on(options, plot_study, "study", "measure")
        chosen = self.measures[0] if measure is None else measure
        return plot_study(self, self._known(chosen), **known)

    @checked
    def report(self, path: str | Path) -> Path:
        """One self-contained page."""
        from ..report.study import write

        return write(self, Path(path))

    def __repr__(self) -> str:
        bad = f", {self.failed.count} failed ({self.failed.why})" if self.failed else ""
        bad += f", nominal arm {self.nominal}" if self.nominal else ""
        return (
            f"Study({self.robot.name!r}, {counted(self.samples, 'sample')}{bad}, "
            f"{', '.join(self.measures)})"
        )

    def __str__(self) -> str:
        head = (*self.head[:-1], "")
        table = text_table([head, *self.table()], right=len(head) - 1, rule=False)
        return "\n".join([repr(self), table, *([self.failures] if self.failed else [])])

    def _repr_html_(self) -> str:
        said = html.escape(self.failures)
        below = f"<p>{said}</p>" if said else ""
        table = html_table([(*self.head[:-1], ""), *self.table()])
        return f"<p>{html.escape(repr(self))}</p>{table}{below}"


GRID = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999)


def _digits(value: float) -> str:
    return "-" if np.isnan(value) or value == -np.inf else f"{value:.4g}"


def _shares(value: Any) -> np.ndarray:
    given = numbers(value, "shares", "expected shares between 0 and 1")
    if given.ndim > 1 or not ((given >= 0.0) & (given <= 1.0)).all():
        raise OptionError(f"shares is {shown(value)}, expected numbers between 0 and 1")
    return given


@checked
def study(
    robot: "Robot",
    duration: float | None = None,
    dt: float = 1e-3,
    q0: Any = None,
    qd0: Any = None,
    controller: Any = None,
    *,
    reference: Any = None,
    vary: Any = None,
    samples: int = 1000,
    seed: int = 0,
    measure: Any = None,
    band: Any = 0.01,
    evaluate: Any = None,
    simulate: bool = True,
    executor: Any = None,
    checkpoint: Any = None,
    threads: int | None = None,
    progress: bool | None = None,
    device: Any = None,
    check_step: bool = True,
    integrator: str = "rk4",
    torque: Any = None,
    external: Any = None,
    wrench: Any = None,
    link_forces: Any = None,
    base_motion: Any = None,
    observer: Any = None,
    sensors: Any = None,
    sample_time: float | None = None,
    delay: float = 0.0,
    stops: bool = False,
    restitution: float = 0.0,
    drives: bool = True,
    tolerance: float = 1e-9,
    dtype: Any = None,
    fused: bool = False,
    project: bool = False,
) -> Study:
    """Simulate many arms that differ, and say how large errors and torques will be.

    The nominal arm, with nothing varied, is tried first: a DynamisWarning says if it diverges. So
    it does if the step is too coarse for one of the first samples, at most 16 and one in 20 or two
    of them, unless `check_step` is False, on a GPU and under functions as controllers.
    `vary` says how they differ: an Estimate (its own distribution), `dy.Scatter(...)`, or a list of
    both. `measure` are names (rms_error, peak_error, final_error, settling_time, rms_tool_error,
    peak_tool_error, final_tool_error, peak_torque, rms_torque, peak_velocity, peak_power, energy,
    stop_hit) or functions of a Run that return a number or a row; `band` (rad or m) is what
    settling_time takes as settled; without names: rms_error if there is a reference, peak_torque
    (peak_velocity of arms without torque). Without `duration` a trajectory as reference decides it.

    simulate=False takes the arms along the reference itself: the torques that takes. `evaluate` is
    a function of a Draw (.parameters, .q0, .joint_offset, ...) instead of any motion; it returns
    arrays (count,) or (count, k) by name.

    Sample i is the same wherever and whenever it is computed. `executor` is anything of
    concurrent.futures, Dask's `client.get_executor()` or `dy.ray_executor()`; None: threads of
    this process. `checkpoint` is a folder: a study that was ended goes on from there, unless
    something that decides its numbers changed, of one's own functions all they compute with. A
    function that reads a file or the like needs a `version` for that: `function.version = "1"`,
    another one whenever it changes. The options from `integrator` on are those of `dy.Simulator`.
    References, bands, encoders and measures of a closed mechanism are those of its drives, stop_hit
    of all joints.

    study = dy.study(robot, 2.0, controller=law, reference=move, vary=estimate, samples=10_000)
    study.quantiles("rms_error", [0.5, 0.95, 0.999]); study.worst("rms_error"); study.replay(17)
    """
    given = locals()  # every option by name, as the signature has them
    a_robot(robot)
    checked_threads(threads)
    options = {name: given[name] for name in OF_A_STUDY} | {"threads": None}
    options["device"] = None if isinstance(device, str) and device == "cpu" else device
    case = Case(
        robot=robot,
        variation=Variation.of(robot, vary),
        samples=whole(samples, "samples", 1, MOST),
        seed=whole(seed, "seed", 0, SEEDS),
        duration=None if duration is None else positive(duration, "duration", "seconds"),
        options=options,
        **_asked(measure, evaluate, flag(simulate, "simulate"), options),
        q0=q0,
        qd0=qd0,
        band=tuple(per_joint(band, "band", robot)),
    )
    case.start  # noqa: B018  refused now rather than by a worker
    # where others compute, no GPU is needed here: the bits are those of the processor
    elsewhere = executor is not None and options["device"] is not None
    without = {"device": None, "fused": False}
    here = replace(case, options=options | without) if elsewhere else case
    if case.evaluate is None:
        _prepared(here)
    here = here.probed()
    case = replace(case, columns=here.columns) if elsewhere else here
    nominal = here.nominal_failure()
    if nominal:
        warn(
            f"the nominal arm of the study, {robot.name!r} with nothing varied, {nominal}: most "
            "samples will do the same. Simulate it alone (dy.simulate, dynamis simulate) with a "
            "shorter dt or other gains first"
        )
    elif check_step and (coarse := here.coarse_step()):
        warn(coarse)
    found = _run(case, here, executor, checkpoint, threads, progress)
    return replace(found, nominal=nominal, first=_why_first(found))


def _first_diverged(reasons: Sequence[str]) -> int:
    """Place of the first reason that is a divergence; the number of reasons if none is."""
    return next((k for k, x in enumerate(reasons) if x.startswith(DIVERGED)), len(reasons))


def _why_first(found: Study) -> str:
    """Why the first sample that diverged did, from its run alone; "" if none is known."""
    failed = found.failed
    place = _first_diverged(failed.reasons)
    if found.case.evaluate is not None or place == len(failed.reasons):
        return ""
    message = found.replay(int(failed.samples[place])).message
    return message if message.startswith(DIVERGED) and ": " in message else ""


def _asked(
    measure: Any, evaluate: Any, simulated: bool, options: Mapping[str, Any]
) -> dict[str, Any]:
    """What is measured."""
    if evaluate is not None:
        if not callable(evaluate) or measure is not None:
            raise OptionError(
                f"evaluate is {shown(evaluate)}, expected a function(draw), and no measure"
            )
        return {"names": (), "evaluate": evaluate}
    followed = options["reference"] is not None
    if measure is None:
        driven = any(options[k] is not None for k in ("controller", "torque")) or not simulated
        measure = ("rms_error",) if followed and simulated else ()
        measure += ("peak_torque",) if driven else ("peak_velocity",)
    names, functions = measure_names(measure)
    if not simulated:
        moving = [k for k in ("controller", "torque", "observer") if options[k] is not None]
        if moving or not followed:
            what = f"{moving[0]} was given" if moving else "there is no reference"
            raise OptionError(f"simulate is False, but {what}", "give reference=... alone")
    every = [*names, *map(function_name, functions)]
    twice = next((name for name in every if every.count(name) > 1), None)
    if twice is not None:
        raise OptionError(
            f"measure holds {twice!r} twice", "give functions names of their own with def"
        )
    return {"names": names, "functions": functions, "simulated": simulated}


def _prepared(case: Case) -> None:
    """Refuse what no sample could run, with the first sample."""
    draw = case.draw(0, 1)
    if draw.unplaced is not None:  # any sample that starts
        draw = replace(draw, q0=case.start[0][None], qd0=case.start[1][None], unplaced=None)
    ensemble = case.ensemble(case.groups(draw)[0].alternatives)
    if case.simulated:
        ensemble.started(draw, ensemble.s, 1)
        refuse_singular(case.robot, draw.q0[0])


def _run(
    case: Case, here: Case, executor: Any, folder: Any, threads: int | None, progress: bool | None
) -> Study:
    """The study of a case; `here` is that of the process that asks."""
    begun = time.monotonic()
    driver = Driver(case, executor, threads)
    identity, path = {}, None
    upto, total, later = 0, None, dict[int, Summary]()
    if folder is not None:
        path, identity = path_of(folder, "checkpoint"), identity_of(here, case.options["fused"])
        upto, total, later = files.opened(path, identity, here)
    finished = resumed = sum(x.samples for x in (total, *later.values()) if x is not None)
    edges = [upto - 1, *sorted(later), case.blocks]
    todo = [range(a + 1, b) for a, b in pairwise(edges) if a + 1 < b]
    pause, written = OFTEN, time.monotonic()

    def keep() -> None:
        nonlocal upto, total, pause, written
        upto, total = _merged(upto, total, later)
        if path is not None and (upto or later):
            start = time.monotonic()
            files.write(path, identity, files.Progress(upto, total, later))
            written = time.monotonic()
            pause = max(OFTEN, SELDOM * (written - start))

    what = f"{case.samples} arms like {case.robot.name}"
    with (
        stage(what, case.samples, progress) as show,
        closing(driver.summaries(todo)) as summaries,
    ):
        try:
            for block, summary in summaries:
                later[block] = summary
                finished += summary.samples
                show(finished)
                if upto in later and len(later) >= MERGED:
                    upto, total = _merged(upto, total, later)
                if path is not None and time.monotonic() - written > pause:
                    keep()
        finally:
            keep()
    assert total is not None
    return Study(here, total, time.monotonic() - begun, resumed)


MERGED = 16  # summaries that wait before they are added


def _merged(
    upto: int, total: Summary | None, later: dict[int, Summary]
) -> tuple[int, Summary | None]:
    """Blocks that follow on what is summed up are added to it."""
    parts = [] if total is None else [total]
    while upto in later:
        parts.append(later.pop(upto))
        upto += 1
    return upto, added(parts) if parts else None
