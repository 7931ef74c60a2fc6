"""Case: one question of a study, with the samples it draws and what is done with each."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ..arguments import flag
from ..compile.arrays import finite, numbers, one_sample
from ..compile.service import compiling, map_shared
from ..control.law import Law
from ..errors import ClosureError, DynamisError, OptionError, ShapeError, counted
from ..lazy import cached_property
from ..simulation.measures import Measures
from ..simulation.run import Run
from ..simulation.settings import closed_start, start_of, stops_of
from ..user_code import place_of
from .ensemble import Ensemble, function_name, row_of
from .scatter import ALTERNATIVES, Draw
from .starts import placed
from .summary import Summary, Values, summed
from .variation import Variation

if TYPE_CHECKING:
    from ..robot import Robot

T = TypeVar("T")
SMALLEST, LARGEST = 64, 4096  # samples of a block
BLOCKS = 64  # that a small study has at least, so that several workers share it
RETURNED = 2**25 - 2**16  # bytes of the largest array that glibc takes as a measure
SUMMERS, SUMMING = 2, 4  # launches summed up at a time, by how many threads: much of it is Python
LOOKED = 16  # samples whose step is looked at, and one in 20 at most
PROBED = 16  # samples tried to learn how many numbers a function returns


class SampleGroup(NamedTuple):
    """Samples of a block that have the same alternatives.

    `alternatives` has a number for each of ALTERNATIVES that a Scatter draws from.
    """

    samples: slice | np.ndarray  # places in the block
    alternatives: tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """What is done with every sample; it travels to the workers and compiles there once."""

    robot: "Robot"
    variation: Variation
    samples: int
    seed: int
    duration: float | None
    options: Mapping[str, Any]  # of dy.Simulator
    names: tuple[str, ...]  # measures of the package
    functions: tuple[Callable[..., Any], ...] = ()  # measures of the user's own, of a Run
    evaluate: Callable[..., Any] | None = None  # of a Draw, instead of any motion
    simulated: bool = True  # False: the arms are on the reference itself
    q0: Any = None
    qd0: Any = None
    band: tuple[float, ...] = ()
    columns: Mapping[str, int] = field(default_factory=dict)  # numbers of every measure

    def __getstate__(self) -> dict[str, Any]:
        """What travels: no code, no threads."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    # blocks

    @cached_property
    def block(self) -> int:
        """Samples of a block: fewer in a small study, so that several workers can share it."""
        size = SMALLEST
        while size < LARGEST and size * BLOCKS < self.samples:
            size *= 2
        return size

    @property
    def blocks(self) -> int:
        """How many."""
        return -(-self.samples // self.block)

    def span(self, block: int) -> tuple[int, int]:
        """First sample of a block, and how many."""
        first = block * self.block
        return first, min(self.block, self.samples - first)

    def summaries(self, first: int, stop: int, threads: int | None) -> list[Summary]:
        """Of the blocks first .. stop - 1; on a GPU they are computed together."""
        blocks = range(first, stop)
        if self.options.get("device") is None:
            draws = (self.draw(*self.span(block)) for block in blocks)
            return [summed(d.index, d.factors, self.values(d, threads)) for d in draws]
        _keep_memory()
        workers = threads or 1
        with self._drawing:  # the first launch does not wait until all are drawn
            drawn = map_shared(lambda block: self.draw(*self.span(block)), blocks, workers)
        pairs = list(zip(drawn, self.values_of(drawn, threads), strict=True))

        def summary(pair: tuple[Draw, Values]) -> Summary:
            draw, values = pair
            return summed(draw.index, draw.factors, values)

        with self._summing:
            return map_shared(summary, pairs, min(workers, SUMMING))

    @cached_property
    def _drawing(self) -> threading.Lock:
        return threading.Lock()

    @cached_property
    def _summing(self) -> threading.Semaphore:
        return threading.Semaphore(SUMMERS)

    # samples

    @cached_property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """q0 and qd0 of the model; of a closed mechanism they close."""
        n, what = self.robot.n, f"robot {self.robot.name!r}"
        reference, law = self.options.get("reference"), self.options.get("controller")
        if reference is None and isinstance(law, Law):
            reference = law.reference
        q, qd = start_of(self.robot, reference, self.q0, self.qd0)
        q = finite(one_sample(q, "q0", (n,), what), "q0")
        qd = finite(one_sample(qd, "qd0", (n,), what), "qd0")
        project = flag(self.options.get("project", False), "project")
        return closed_start(self.robot, q, qd, project)

    @cached_property
    def _stops(self) -> tuple[tuple[float, float] | None, ...]:
        return stops_of(self.robot) if self.options.get("stops") else ()

    def draw(self, first: int, count: int, threads: int | None = 1) -> Draw:
        """Samples by number; starts beyond a joint stop are at the stop."""
        drawn = self.variation.draw(first, count, self.seed, self.start, threads)
        robot = self.robot
        for i, stop in enumerate(self._stops):
            if stop is not None and i in robot.independent:
                np.clip(drawn.q0[:, i], *stop, out=drawn.q0[:, i])
        if self.variation.moves_closed:
            return placed(robot, drawn, self.start[0], self._stops, threads)
        return drawn

    def nominal(self, count: int) -> Draw:
        """Copies of the arm in the middle of all that varies, with the first alternatives."""
        return self.variation.nominal(count, self.start, self._stops)

    def nominal_failure(self) -> str:
        """Why the nominal arm gives nothing, or ""; only where that takes no time to learn."""
        if self.evaluate is not None or not self.simulated or not compiling():
            return ""
        draw = self.nominal(min(2, self.samples))  # two run by the code of many
        ensemble = self.ensemble(self.groups(draw)[0].alternatives)
        if not ensemble.streams or not ensemble.values([draw], 1)[0].reasons[0]:
            return ""
        return ensemble.replay(draw.part(slice(1))).message

    def coarse_step(self) -> str:
        """That the step is too coarse for one of the first samples, in words; or ""."""
        if self.evaluate is not None or not self.simulated or not compiling():
            return ""
        draw = self.draw(0, min(self.samples, max(2, min(LOOKED, self.samples // 20))))
        groups = self._starting(draw)
        if not groups:
            return ""
        some = draw.part(groups[0].samples)
        error = self.ensemble(groups[0].alternatives).step_error(some, 1)
        if error is None:
            return ""
        found = error._replace(arm=()).finding(self.robot)
        sample = f"sample {some.index[error.arm[0]]} of the study, one of {len(some)} looked at"
        return f"{sample}: {found.where}: {found.what}; {found.remedy}"

    # what every sample gives

    def values(self, draw: Draw, threads: int | None = None) -> Values:
        """What every sample gives."""
        return self.values_of([draw], threads)[0]

    def values_of(self, draws: Sequence[Draw], threads: int | None) -> list[Values]:
        """What every sample of some blocks gives.

        Samples with the same alternatives run together, whatever block they are of.
        """
        if self.evaluate is not None:
            return [_evaluated(self.evaluate, draw, self.columns) for draw in draws]
        together: dict[tuple[int, ...], list[tuple[int, slice | np.ndarray]]] = {}
        for k, draw in enumerate(draws):
            for group in self._starting(draw):
                together.setdefault(group.alternatives, []).append((k, group.samples))
        found: list[list[tuple[slice | np.ndarray, Values]]] = [[] for _ in draws]
        for alternatives, places in together.items():
            parts = [draws[k].part(samples) for k, samples in places]
            values = self.ensemble(alternatives).values(parts, threads)
            for (k, samples), part in zip(places, values, strict=True):
                found[k].append((samples, part))
        return [self._joined(draw, parts) for draw, parts in zip(draws, found, strict=True)]

    def _starting(self, draw: Draw) -> list[SampleGroup]:
        """The samples that start, in groups."""
        if draw.unplaced is None or not (draw.unplaced != "").any():
            return self.groups(draw)
        starting = np.flatnonzero(draw.unplaced == "")
        if not len(starting):
            return []
        groups = self.groups(draw.part(starting))
        return [SampleGroup(starting[group.samples], group.alternatives) for group in groups]

    def _joined(self, draw: Draw, parts: Sequence[tuple[slice | np.ndarray, Values]]) -> Values:
        """The values of samples by their places; those that do not start have none."""
        if len(parts) == 1 and len(parts[0][1].reasons) == len(draw):
            return parts[0][1]
        values = {name: np.full((len(draw), k), np.nan) for name, k in self.columns.items()}
        reasons = np.full(len(draw), "", dtype=object)
        if draw.unplaced is not None:
            reasons[:] = draw.unplaced
        for samples, part in parts:
            for name, rows in part.values.items():
                values[name][samples] = rows
            reasons[samples] = np.array(part.reasons, dtype=object)
        return Values(values, list(reasons))

    # alternatives

    def groups(self, draw: Draw) -> list[SampleGroup]:
        """The samples by what was drawn among alternatives."""
        names = [name for name in ALTERNATIVES if name in draw.chosen]
        if not names:
            return [SampleGroup(slice(None), ())]
        chosen = np.stack([draw.chosen[name] for name in names], axis=1)  # (count, names)
        counts = (len(getattr(self.variation.scatter, name)) for name in names)
        found = (
            SampleGroup(np.flatnonzero((chosen == alternatives).all(axis=1)), alternatives)
            for alternatives in product(*map(range, counts))
        )
        return [group for group in found if len(group.samples)]  # type: ignore[arg-type]

    def ensemble(self, alternatives: tuple[int, ...]) -> Ensemble:
        """The arms that have some alternatives, compiled once."""
        if alternatives not in self._ensembles:
            self._ensembles[alternatives] = Ensemble(self, self._options(alternatives))
        return self._ensembles[alternatives]

    @cached_property
    def _ensembles(self) -> dict[tuple[int, ...], Ensemble]:
        return {}

    def _options(self, alternatives: tuple[int, ...]) -> dict[str, Any]:
        """Those of the case, with what was drawn in their place."""
        options = dict(self.options)
        for name, k in zip(self.variation.alternatives, alternatives, strict=True):
            options[name] = list(getattr(self.variation.scatter, name))[k]
        return options

    def replay(self, index: int) -> Run:
        """The whole run of one sample."""
        draw = self.draw(index, 1)
        if draw.unplaced is not None and draw.unplaced[0]:
            raise OptionError(f"sample {index} has no run: it {draw.unplaced[0]}")
        return self.ensemble(self.groups(draw)[0].alternatives).replay(draw)

    # functions of the user's

    def probed(self) -> "Case":
        """It with the numbers of every measure; functions are asked for the first samples."""
        if self.evaluate is not None:
            evaluate = self.evaluate
            found = self._first_result(
                f"evaluate, {function_name(evaluate)!r},",
                lambda index: _returned(evaluate(self.draw(index, 1)), evaluate, 1),
            )
            return replace(self, columns={name: rows.shape[1] for name, rows in found.items()})
        sizes = Measures(self.robot, self.names).sizes
        columns = {name: sizes[f"measure.{name}"] for name in self.names}
        for function in self.functions:
            name = function_name(function)
            row = self._first_result(
                f"measure {name!r}", lambda index, f=function: row_of(f(self.replay(index)), f)
            )
            columns[name] = len(row)
        probed = replace(self, columns=columns)
        for ensemble in self._ensembles.values():  # they are ready
            ensemble.case = probed
        probed._ensembles.update(self._ensembles)
        return probed

    def _first_result(self, what: str, attempt: Callable[[int], T]) -> T:
        """What a function of the user's gives for the first sample for which it gives something."""
        failed = Exception("no sample")
        for index in range(min(PROBED, self.samples)):
            unplaced = self.draw(index, 1).unplaced
            if unplaced is not None and unplaced[0]:
                failed = ClosureError(unplaced[0])
                continue
            try:
                return attempt(index)
            except DynamisError:
                raise
            except Exception as error:
                failed = error
        place = place_of(failed)
        where = "" if place is None else f", {place}: `{place.text}`"
        raise OptionError(
            f"{what} raised {type(failed).__name__} for each of the first samples: {failed}{where}"
        ) from failed


def _returned(value: Any, function: Callable[..., Any], count: int) -> dict[str, np.ndarray]:
    """Results of `evaluate` by name, (count, k)."""
    given = value if isinstance(value, Mapping) else {function_name(function): value}
    found = {}
    for name, rows in given.items():
        array = numbers(rows, str(name), "expected numbers")
        if array.ndim not in (1, 2) or len(array) != count:
            raise ShapeError(
                f"evaluate returned {name!r} with shape {array.shape}, expected ({count},) or "
                f"({count}, k) for {counted(count, 'sample')}"
            )
        found[str(name)] = array.reshape(count, -1)
    return found


def _evaluated(function: Callable[..., Any], draw: Draw, columns: Mapping[str, int]) -> Values:
    """A function over a block; where it raises, over its samples one by one."""
    try:
        return Values(_returned(function(draw), function, len(draw)), [""] * len(draw))
    except Exception:
        values = {name: np.full((len(draw), k), np.nan) for name, k in columns.items()}
        reasons = []
        for i in range(len(draw)):
            try:
                found = _returned(function(draw.part(slice(i, i + 1))), function, 1)
                for name, row in found.items():
                    values[name][i] = row
                reasons.append("")
            except Exception as error:
                reasons.append(f"{type(error).__name__}: {error}")
        return Values(values, reasons)


@cache
def _keep_memory() -> None:
    """Have freed memory kept for the next block: taking it anew takes longer than drawing.

    The C library returns to the system what is larger than the largest array that was freed.
    """
    np.empty(RETURNED, dtype=np.uint8)
