"""One question of a study: the arms that are drawn, what is done with each, what is measured."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import flag, is_list
from ..compile.arrays import finite, numbers, one_sample
from ..compile.service import compiling, shared
from ..control.law import Law
from ..control.sensors import Sensors
from ..errors import ClosureError, DynamisError, OptionError, ShapeError, counted, shown
from ..ik.driven import deciding, positions_along
from ..lazy import cached_property
from ..robot.closing import refuse_unclosed
from ..simulation.assembly import Assembly
from ..simulation.loop import CHUNK, Simulation, loop_of
from ..simulation.measures import LEFT, Measures, Span
from ..simulation.run import Run
from ..simulation.settings import (
    Settings,
    first_point,
    settings,
    spanned,
    started,
    stops_of,
)
from ..simulation.signals import reference_signal
from ..simulation.simulator import Simulator
from ..trajectory.trajectory import State, Trajectory
from ..user_code import location, place_of
from .scatter import ALTERNATIVES, Draw, Scatter
from .starts import placed
from .summary import Summary, Values, summed

if TYPE_CHECKING:
    from ..robot import Robot

ROWS = 2.5e8  # bytes of stored motion at a time
TOGETHER = 256  # arms whose motion is stored at a time
SMALLEST, LARGEST = 64, 4096  # samples of a block
BLOCKS = 64  # that a small study has at least, so that several workers share it
RETURNED = 2**25 - 2**16  # bytes of the largest array that glibc takes as a measure
SUMMERS, SUMMING = 2, 4  # launches summed up at a time, by how many threads: much of it is Python
DIVERGED = "diverged"
PROBED = 16  # samples tried to learn how many numbers a function returns


@dataclass(frozen=True)
class Variation:
    """Everything that varies: draws of an estimate, a Scatter, or the second upon the first."""

    robot: "Robot"
    posterior: Any = None  # .draw(first, count, seed), .factors(draws), .names
    scatter: Scatter | None = None

    @staticmethod
    def of(robot: "Robot", vary: Any) -> "Variation":
        """From what a user gave."""
        listed = list(vary) if is_list(vary) else [] if vary is None else [vary]
        found: dict[str, Any] = {}
        for item in listed:
            kind, value = "scatter", item
            if hasattr(item, "posterior"):
                kind, value = "posterior", item.posterior
            elif not isinstance(item, Scatter):
                raise OptionError(
                    f"vary is {shown(item)}, expected an Estimate, dy.Scatter(...), or one of each"
                )
            if kind in found:
                raise OptionError("vary holds two of a kind, expected one Estimate, one Scatter")
            found[kind] = value
        made = Variation(robot, **found)
        made._refuse_other_robots()
        return made

    def _refuse_other_robots(self) -> None:
        own = len(self.robot.parameters.names)
        if self.scatter is not None and self.scatter.robot.parameters.names != (
            self.robot.parameters.names
        ):
            raise OptionError(
                f"the Scatter is of robot {self.scatter.robot.name!r}, which has other parameters "
                f"than {self.robot.name!r}",
                "make it of the robot that is studied",
            )
        if self.posterior is not None and self.posterior.draw(0, 1, 0).shape[1] != own:
            raise OptionError(
                f"the estimate has other parameters than robot {self.robot.name!r}",
                "study estimate.robot",
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the factors."""
        first = () if self.posterior is None else tuple(self.posterior.names)
        return first + (() if self.scatter is None else self.scatter.names)

    @cached_property
    def varied(self) -> tuple[int, ...]:
        """Numbers of the parameters that are not the robot's own in every sample."""
        own = self._own
        found: set[int] = set() if self.scatter is None else set(self.scatter.varied)
        if self.scatter is not None:
            found |= set(np.flatnonzero(self.scatter._nominal != own).tolist())
        if self.posterior is not None:
            some = self.posterior.draw(0, TOGETHER, 0)
            found |= set(np.flatnonzero((some != own).any(axis=0)).tolist())
        return tuple(sorted(found))

    def draw(
        self, first: int, count: int, seed: int, start: tuple[np.ndarray, np.ndarray],
        threads: int | None = 1,
    ) -> Draw:  # fmt: skip
        """Samples first .. first + count - 1."""
        base: Any = None if self.posterior is None else self.posterior.draw(first, count, seed)
        if self.scatter is not None:
            drawn = self.scatter._drawn(first, count, seed, base, start, threads)
        else:
            q0, qd0 = (np.tile(x, (count, 1)) for x in start)
            none, index = np.zeros((count, 0)), np.arange(first, first + count)
            offset = np.zeros((count, len(self.robot.driven)))
            drawn = Draw(index, none, q0, qd0, offset, none, {}, self._own, ())
        if base is not None and self.posterior is not None:
            factors = np.concatenate([self.posterior.factors(base), drawn.factors], axis=1)
            base[:, list(drawn.varied)] = drawn.values
            drawn = replace(drawn, factors=factors)
        if base is None and drawn.varied == self.varied:
            return replace(drawn, nominal=self._own)
        full = drawn.parameters if base is None else base
        values = np.take(full, self.varied, axis=1)
        return replace(drawn, values=values, varied=self.varied, nominal=self._own)

    @cached_property
    def _own(self) -> np.ndarray:
        """The robot's parameters."""
        return np.array(self.robot.parameters.values, dtype=float)


@dataclass(frozen=True)
class Case:
    """What is done with every sample; it travels to the workers and compiles there once."""

    robot: "Robot"
    variation: Variation
    samples: int
    seed: int
    duration: float | None
    options: Mapping[str, Any]  # of dy.simulate
    names: tuple[str, ...]  # measures of the package
    functions: tuple[Callable[..., Any], ...] = ()  # of a run, one's own
    evaluate: Callable[..., Any] | None = None
    simulated: bool = True
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
        many = threads or 1
        with self._drawing:  # the first launch does not wait until all are drawn
            drawn = shared(lambda block: self.draw(*self.span(block)), blocks, many)
        pairs = list(zip(drawn, self._values(drawn, threads), strict=True))
        with self._summing:
            few = min(many, SUMMING)
            return shared(lambda pair: summed(pair[0].index, pair[0].factors, pair[1]), pairs, few)

    @cached_property
    def _drawing(self) -> Any:
        return threading.Lock()

    @cached_property
    def _summing(self) -> Any:
        return threading.Semaphore(SUMMERS)

    # samples

    @cached_property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """q0 and qd0 of the model; of a closed mechanism they close."""
        n, what = self.robot.n, f"robot {self.robot.name!r}"
        found = []
        wanted, law = self.options.get("reference"), self.options.get("controller")
        inside = law.reference if isinstance(law, Law) else None
        first = first_point(self.robot, inside if wanted is None else wanted)
        rate = first[1] if self.q0 is None else np.zeros(n)
        for name, given, usual in (("q0", self.q0, first[0]), ("qd0", self.qd0, rate)):
            value = one_sample(usual if given is None else given, name, (n,), what)
            found.append(finite(value, name))
        if not self.robot.model.closures:
            return found[0], found[1]
        if flag(self.options.get("project", False), "project"):
            return self.robot.project(*found)
        refuse_unclosed(self.robot._calls, *found)
        return found[0], found[1]

    @cached_property
    def _stops(self) -> tuple[tuple[float, float] | None, ...]:
        return stops_of(self.robot) if self.options.get("stops") else ()

    def draw(self, first: int, count: int, threads: int | None = 1) -> Draw:
        """Samples by number; starts beyond a joint stop are at the stop."""
        drawn = self.variation.draw(first, count, self.seed, self.start, threads)
        scatter, robot = self.variation.scatter, self.robot
        places = scatter is not None and scatter._places
        for i, stop in enumerate(self._stops):
            if stop is not None and (not robot.model.closures or i in robot.independent):
                np.clip(drawn.q0[:, i], *stop, out=drawn.q0[:, i])
        return placed(robot, drawn, self.start[0], self._stops, threads) if places else drawn

    def nominal(self, count: int) -> Draw:
        """Copies of the arm in the middle of all that varies, with the first alternatives."""
        variation, scatter = self.variation, self.variation.scatter
        full = variation._own.copy()
        q0, qd0 = (x.copy() for x in self.start)
        if scatter is not None:
            full = full if variation.posterior is not None else scatter._nominal.copy()
            if scatter._load is not None:
                full = full + scatter._unit_load * (0.5 * sum(scatter._load))
            for x, pair in ((q0, scatter._starts.get("q0")), (qd0, scatter._starts.get("qd0"))):
                if isinstance(pair, tuple) and not self.robot.model.closures:
                    x[:] = 0.5 * (pair[0] + pair[1])
        for i, stop in enumerate(self._stops):
            q0[i] = q0[i] if stop is None or self.robot.model.closures else np.clip(q0[i], *stop)
        given = [x for x in ALTERNATIVES if scatter is not None and getattr(scatter, x) is not None]
        values, varied = full[list(variation.varied)], variation.varied
        values, q0, qd0 = (np.tile(x, (count, 1)) for x in (values, q0, qd0))
        offset, factors = (np.zeros((count, len(x))) for x in (self.robot.driven, variation.names))
        index, chosen = np.arange(count), {x: np.zeros(count, dtype=int) for x in given}
        rows = index, values, q0, qd0, offset, factors
        return Draw(*rows, chosen, variation._own, varied)

    def nominal_failure(self) -> str:
        """Why the nominal arm gives nothing, or ""; only where that takes no time to learn."""
        if self.evaluate is not None or not self.simulated or not compiling():
            return ""
        draw = self.nominal(min(2, self.samples))  # two run by the code of many
        (_, chosen), *_ = self._groups(draw)
        ensemble = self._ensemble(chosen)
        if not ensemble.streams or not ensemble.values([draw], 1)[0].reasons[0]:
            return ""
        return ensemble.replay(draw.part(slice(1))).message

    def values(self, draw: Draw, threads: int | None = None) -> Values:
        """What every sample gives."""
        return self._values([draw], threads)[0]

    def _values(self, draws: Sequence[Draw], threads: int | None) -> list[Values]:
        """What every sample of some blocks gives."""
        if self.evaluate is not None:
            return [_evaluated(self.evaluate, draw, self.columns) for draw in draws]
        places: dict[tuple[int, ...], list[tuple[int, Any]]] = {}
        for k, draw in enumerate(draws):
            for which, chosen in self._starting(draw):
                places.setdefault(chosen, []).append((k, which))
        parts: list[list[tuple[Any, Values]]] = [[] for _ in draws]
        for chosen, some in places.items():
            own = [draws[k].part(which) for k, which in some]
            found = self._ensemble(chosen).values(own, threads)
            for (k, which), values in zip(some, found, strict=True):
                parts[k].append((which, values))
        return [self._joined(draw, own) for draw, own in zip(draws, parts, strict=True)]

    def _starting(self, draw: Draw) -> list[tuple[Any, tuple[int, ...]]]:
        """The samples that start, by what was drawn among alternatives."""
        if draw.unplaced is None or not (draw.unplaced != "").any():
            return self._groups(draw)
        start = np.flatnonzero(draw.unplaced == "")
        if not len(start):
            return []
        return [(start[which], chosen) for which, chosen in self._groups(draw.part(start))]

    def _joined(self, draw: Draw, parts: Sequence[tuple[Any, Values]]) -> Values:
        """The values of samples by their places; those that do not start have none."""
        if len(parts) == 1 and len(parts[0][1].reasons) == len(draw):
            return parts[0][1]
        values = {name: np.full((len(draw), k), np.nan) for name, k in self.columns.items()}
        reasons = np.full(len(draw), "", dtype=object)
        if draw.unplaced is not None:
            reasons[:] = draw.unplaced
        for which, found in parts:
            for name, own in found.values.items():
                values[name][which] = own
            reasons[which] = np.array(found.reasons, dtype=object)
        return Values(values, list(reasons))

    def _groups(self, draw: Draw) -> list[tuple[Any, tuple[int, ...]]]:
        """The samples by what was drawn among alternatives."""
        names = [name for name in ALTERNATIVES if name in draw.chosen]
        if not names:
            return [(slice(None), ())]
        every = np.arange(len(draw))
        rows = np.stack([draw.chosen[name] for name in names], axis=1)
        sets = product(*(range(len(getattr(self.variation.scatter, name))) for name in names))
        found = [(every[(rows == chosen).all(axis=1)], chosen) for chosen in sets]
        return [(which, chosen) for which, chosen in found if len(which)]

    def _ensemble(self, chosen: tuple[int, ...]) -> "Ensemble":
        if chosen not in self._ensembles:
            self._ensembles[chosen] = Ensemble(self, self._options(chosen))
        return self._ensembles[chosen]

    @cached_property
    def _ensembles(self) -> dict[tuple[int, ...], "Ensemble"]:
        return {}

    def _options(self, chosen: tuple[int, ...]) -> dict[str, Any]:
        options, scatter = dict(self.options), self.variation.scatter
        listed = [
            x for x in ALTERNATIVES if scatter is not None and getattr(scatter, x) is not None
        ]
        for name, k in zip(listed, chosen, strict=True):
            options[name] = list(getattr(scatter, name))[k]
        return options

    def replay(self, index: int) -> Run:
        """The whole run of one sample."""
        draw = self.draw(index, 1)
        if draw.unplaced is not None and draw.unplaced[0]:
            raise OptionError(f"sample {index} has no run: it {draw.unplaced[0]}")
        (_, chosen), *_ = self._groups(draw)
        return self._ensemble(chosen).replay(draw)

    def probed(self) -> "Case":
        """It with the numbers of every measure; functions are asked for the first samples."""
        columns = Measures(self.robot, self.names).sizes
        own = {name: columns[f"measure.{name}"] for name in self.names}
        if self.evaluate is not None:
            evaluate = self.evaluate
            name = f"evaluate, {function_name(evaluate)!r},"
            found = self._first(
                name, lambda index: _returned(evaluate(self.draw(index, 1)), evaluate, 1)
            )
            return replace(self, columns={k: v.shape[1] for k, v in found.items()})
        for function in self.functions:
            name = function_name(function)
            row = self._first(
                f"measure {name!r}",
                lambda index, f=function: _numbers(f(self.replay(index)), f),
            )
            own[name] = len(row)
        found = replace(self, columns=own)
        for ensemble in self._ensembles.values():  # they are ready
            ensemble.case = found
        found._ensembles.update(self._ensembles)
        return found

    def _first(self, what: str, attempt: Callable[[int], Any]) -> Any:
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


def function_name(function: Any) -> str:
    """What a function of the user's is called in tables."""
    return str(getattr(function, "__name__", type(function).__name__))


def _numbers(value: Any, function: Any) -> np.ndarray:
    """What a measure of the user's returned: one number or a row of them."""
    name = f"{function_name(function)}{location(function)}"
    if value is None:
        raise ShapeError(
            f"{name} returned None, expected a number or a row of numbers",
            "end it with: return ...",
        )
    row = np.atleast_1d(numbers(value, name, "expected a number or a row of numbers"))
    if row.ndim != 1:
        raise ShapeError(f"measure {name!r} returned shape {row.shape}, expected numbers in a row")
    return row


def _returned(value: Any, function: Any, count: int) -> dict[str, np.ndarray]:
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


def _evaluated(function: Any, draw: Draw, columns: Mapping[str, int]) -> Values:
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


class Ensemble:
    """The arms of a case that differ in numbers only: compiled once, run in blocks."""

    def __init__(self, case: Case, options: Mapping[str, Any]):
        self.case, self._own, robot = case, threading.local(), case.robot
        given = {"progress": False, "events": (), "parameters": None, **options, "project": False}
        scatter = case.variation.scatter
        if scatter is not None and scatter._offset.any():
            sensors = Sensors() if given["sensors"] is None else given["sensors"]
            if isinstance(sensors, Sensors) and sensors.offset is None:
                given["sensors"] = replace(sensors, offset=0.0)
        self.given = given
        self.offsets = (
            given["sensors"] is not None and scatter is not None and scatter._offset.any()
        )
        self.varied = case.variation.varied
        s = settings(robot, **given)
        if s.per_arm:
            name, rows = next(iter(s.per_arm.items()))
            raise OptionError(
                f"{name} differs from arm to arm ({rows.shape[:-1]}), expected one for all arms of "
                "a study",
                "let dy.simulate run such an ensemble",
            )
        self.measures = Measures(robot, case.names, case.band) if case.names else None
        self.streams = not (case.functions or s.tableau.adaptive or s.function is not None)
        self.streams = self.streams and case.simulated
        if self.varied:
            s = replace(s, varied=self.varied, parameters=np.zeros(0))
        if s.wanted is not None:
            s = replace(s, reference=self._reference(s))
        tracked = self.measures is not None and self.measures.tracks
        needed = tracked or (s.law is not None and s.law.controller.needs_reference)
        self.ready = s.wanted is not None or not needed
        self.s: Settings = spanned(s, self.duration(s), 1)
        if self.measures is not None and self.measures.at_tool and robot.model.closures:
            path = robot.fk(self._motion(self.s)[0])[:, :3, 3]
            self.measures = replace(self.measures, path=path, dt=s.dt)
        if self.streams:
            self.s = replace(self.s, measures=self.measures or Measures(robot, ()))
            self.assembly = Assembly(self.s)
            self._loops: dict[bool, Any] = {}

    def _reference(self, s: Settings) -> Any:
        """Rows of the reference of the drives over time."""
        start, what = self.case.start[0][s.driven], f"robot {s.robot.name!r}"
        return reference_signal(s.wanted, len(s.driven), start, what)

    def _motion(self, s: Settings) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd of all joints on the reference, (steps + 1, n) each."""
        q, qd, qdd = np.split(self._reference(s)(s.dt * np.arange(s.steps + 1)), 3, axis=1)
        if not s.robot.model.closures:
            return q, qd, qdd
        own = deciding(s.robot, "the reference")
        q = positions_along(s.robot, self.case.start[0], q[:, own])
        qd = s.robot.joint_rates(q, qd[:, own])
        return q, qd, s.robot.joint_accelerations(q, qd, qdd[:, own])

    def duration(self, s: Settings) -> float:
        """As asked, or that of the reference."""
        if self.case.duration is not None:
            return self.case.duration
        if isinstance(s.wanted, Trajectory):
            return s.wanted.duration
        raise OptionError("duration is None, expected seconds", "or a trajectory as reference")

    def values(self, draws: Sequence[Draw], threads: int | None) -> list[Values]:
        """Measures of every sample of some blocks; on a GPU all of them in one launch."""
        if not self.streams:
            return [self._stored(draw, threads) for draw in draws]
        if self.s.device is None:
            return [self._streamed(draw, threads) for draw in draws]
        return self._launched(self.s.device, draws, threads or 1)

    def _started(self, draw: Draw, base: Settings, threads: int | None) -> Settings:
        parameters = draw.values if self.varied else None
        if self.ready and len(draw) > 1:  # what was drawn needs no check
            shape = (len(draw),)
            s = replace(base, q0=draw.q0, qd0=draw.qd0, shape=shape, parameters=parameters)
        else:
            s = started(base, draw.q0, draw.qd0, parameters)
        offsets = draw.joint_offset if self.offsets else None
        return replace(s, arms=draw.index, encoder_offsets=offsets, threads=threads)

    def _loop(self, s: Settings) -> Any:
        """The compiled loop of one arm, or of many."""
        many = s.count > 1
        if many not in self._loops:
            self._loops[many] = loop_of(self.assembly.tasks, s)
        return self._loops[many]

    def _streamed(self, draw: Draw, threads: int | None) -> Values:
        """Measures kept up within the steps; nothing of the motion is stored."""
        s, m = self._started(draw, self.s, threads), self.assembly
        loop, x, steps = self._loop(s), m.start(s), s.steps + 1
        sim = Simulation(s, m, x)
        if hasattr(loop, "threads"):
            loop.threads = threads
        for first in range(0, steps, CHUNK):
            sim.advance(loop, first, min(CHUNK, steps - first))
        return self._results({k: m.slots.part(x, k) for k in s.measures.sizes}, s)

    def _launched(self, device: int, draws: Sequence[Draw], threads: int) -> list[Values]:
        """They on a GPU; threads prepare the blocks, in memory that the GPU copies by itself."""
        from ..compile.gpu import lane

        m, starts = self.assembly, [self._started(draw, self.s, 1) for draw in draws]
        every = {k: np.concatenate([getattr(s, k) for s in starts]) for k in ("q0", "qd0", "arms")}
        s, first = replace(starts[0], **every), m.constants(starts[0])
        ends = np.cumsum([0, *map(len, draws)]).tolist()
        places = list(zip(starts, (slice(a, b) for a, b in pairwise(ends)), strict=True))
        with lane(device) as own:
            x = own.array("x", (s.count, m.slots.size), s.dtype)
            constants = [
                own.array(f"constants{j}", (s.count, c.shape[1]), s.dtype) if c.ndim == 2 else c
                for j, c in enumerate(first)
            ]

            def put(place: tuple[Settings, slice]) -> None:
                s, part = place
                x[part] = m.start(s)
                with np.errstate(over="ignore"):  # a limit that is none is infinite in float32
                    for target, numbers in zip(constants, m.constants(s), strict=True):
                        if target.ndim == 2:
                            target[part] = numbers

            def taken(place: tuple[Settings, slice]) -> Values:
                rows = x[place[1]]
                return self._results({k: m.slots.part(rows, k).copy() for k in s.measures.sizes}, s)

            shared(put, places, threads)
            loop, steps, sim = self._loop(s), s.steps + 1, Simulation(s, m, x)
            chunk = loop.chunk(s, m, steps)
            for k in range(0, steps, chunk):
                sim.advance(loop, k, min(chunk, steps - k), constants=constants)
            return shared(taken, places, threads)

    def _results(self, found: Mapping[str, np.ndarray], s: Settings) -> Values:
        left = np.asarray(found[f"measure.{LEFT}"], dtype=float)[:, 0]  # NaN: so far off, so soon
        values = s.measures.results(found, Span(s.steps + 1, s.dt, s.steps * s.dt))
        reasons = [""] * len(left)
        for k in np.flatnonzero(~(left < 0.0)):
            reasons[k] = DIVERGED if np.isnan(left[k]) else f"{DIVERGED} at t = {left[k]:g} s"
        return Values(values, reasons)

    def _stored(self, draw: Draw, threads: int | None) -> Values:
        """Measures of runs that are stored, some arms at a time."""
        per = 8.0 * self.s.steps * 8 * self.s.n
        few = int(min(TOGETHER, max(1.0, ROWS // per)))
        parts = [self._few(draw.part(slice(k, k + few)), threads) for k in range(0, len(draw), few)]
        values = {k: np.concatenate([p.values[k] for p in parts]) for k in self.case.columns}
        return Values(values, [reason for part in parts for reason in part.reasons])

    def _few(self, draw: Draw, threads: int | None) -> Values:
        case = self.case
        run = self._run(draw, threads)
        reasons = [
            f"diverged at t = {t:g} s" if bad else ""
            for bad, t in zip(np.ravel(run.diverged), np.ravel(run.diverged_at), strict=True)
        ]
        values = {name: np.full((len(draw), k), np.nan) for name, k in case.columns.items()}
        if self.measures is not None:
            values |= self.measures.of_run(run)
        parameters = draw.parameters if case.functions else ()
        for i in range(len(draw) if case.functions else 0):
            if reasons[i]:
                continue
            one = _member(run, i, self._robot(parameters[i]))
            for function in case.functions:
                name = function_name(function)
                try:
                    values[name][i] = row = _numbers(function(one), function)
                    if np.isnan(row).any():
                        reasons[i] = f"{name}{location(function)} returned NaN"
                except Exception as error:
                    reasons[i] = f"{name}: {type(error).__name__}: {error}"
        return Values(values, reasons)

    def _robot(self, parameters: np.ndarray) -> "Robot":
        return self.case.robot.with_parameters(parameters) if self.varied else self.case.robot

    def _run(self, draw: Draw, threads: int | None) -> Run:
        """The runs of some samples, (count, N, n)."""
        if not self.case.simulated:
            return self._prescribed(draw)
        sim = self._simulator
        sim._reset(self._started(draw, sim._given, threads))
        return sim.run(self.s.duration)

    @property
    def _simulator(self) -> Simulator:
        """One per thread: a simulator is at one instant."""
        made = getattr(self._own, "simulator", None)
        if made is not None:
            return made
        made = self._own.simulator = Simulator(self.case.robot, **self.given)
        if self.varied:
            made._given = replace(made._given, varied=self.varied, parameters=np.zeros(0))
            made.assembly = Assembly(made._given)
        made._given = replace(made._given, reference=self.s.reference)
        return made

    def _prescribed(self, draw: Draw) -> Run:
        """The arms on the reference itself: the torques that take."""
        s, robot = self.s, self.case.robot
        t = s.dt * np.arange(s.steps + 1)
        q, qd, qdd = self._motion(s)
        wanted = State(*(x[:, s.driven] for x in (q, qd, qdd)))
        inverse = robot.kernel("inverse_dynamics", parameters="argument")
        tau = inverse(q, qd, qdd, draw.parameters[:, None, :])
        shape = tau.shape
        none, fine = np.zeros(shape), np.zeros(len(draw), dtype=bool)
        everywhere, speed = (np.broadcast_to(x, shape) for x in (q, qd))
        return Run(
            robot, t, everywhere, speed, tau, none, none.astype(bool), s.dt, "prescribed",
            wanted, diverged=fine, diverged_at=np.full(len(draw), np.nan),
        )  # fmt: skip

    def replay(self, draw: Draw) -> Run:
        """One sample's whole run, with sensors and states."""
        robot = self._robot(draw.parameters[0])
        if not self.case.simulated:
            return _member(self._prescribed(draw), 0, robot)
        sim = self._simulator
        sim._reset(replace(self._started(draw, sim._given, None), shape=()))
        return replace(sim.run(self.s.duration), robot=robot)


def _member(run: Run, i: int, robot: "Robot") -> Run:
    """One arm of an ensemble."""
    arrays = {name: getattr(run, name)[i] for name in ("q", "qd", "tau", "friction", "stuck")}
    bad = bool(run.diverged[i])
    when = float(run.diverged_at[i]) if bad else None
    message = f"diverged at t = {when:g} s" if bad else ""
    return replace(run, robot=robot, **arrays, diverged=bad, diverged_at=when, message=message)
