"""Measures of a motion that are kept up instant by instant: no run has to be stored for them.

Each has a few accumulators per arm, renewed at every instant over any scalar: in machine code as
part of the step, or over the rows of a Run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import is_list
from ..compile.arrays import NUMPY
from ..control.law import PLAUSIBLE
from ..errors import OptionError, did_you_mean, shown
from ..robot.arm import arm_of
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars
from .settings import stops_of

if TYPE_CHECKING:
    from ..robot import Robot
    from .run import Run

LEFT = "left"  # when an arm diverged, -1 if it did not: kept with every measure
NOT_YET = -1.0


class Instant(NamedTuple):
    """One instant of a motion: what a measure may look at, lists of scalars.

    Of a closed mechanism q and limits are those of all joints, the others of its drives.
    """

    t: Any
    q: Scalars
    qd: Scalars
    tau: Scalars
    error: Any  # q - q_d, one per joint; None without a reference
    tool_error: Any  # distance from the tool to where it should be, None unless asked for
    band: Scalars  # what counts as settled
    limits: Sequence[tuple[float, float] | None]


class RunMeasure(NamedTuple):
    """How a measure is computed; `one`: a number of the arm, otherwise one per joint."""

    what: str
    unit: str  # "position" stands for that of the joint
    start: float
    renew: Callable[[Any, Instant, int, Functions], Any]  # (accumulator, instant, joint, fn)
    result: Callable[[np.ndarray, "Span"], np.ndarray] = lambda total, span: total
    one: bool = False
    needs: str = ""  # "reference", "tool" or "limits"
    passive: bool = False  # of joints without a drive too


class Span(NamedTuple):
    """How long a motion was looked at."""

    instants: int
    dt: float
    end: float


def _abs(x: Any, fn: Functions) -> Any:
    return fn.max(x, -x)


def _mean_root(total: np.ndarray, span: Span) -> np.ndarray:
    return np.sqrt(total / span.instants)


def _settled(last: np.ndarray, span: Span) -> np.ndarray:
    """From the last instant outside the band to the time after it; inf if that is the end."""
    inside = np.where(last < 0.0, 0.0, last + span.dt)
    return np.where(last >= span.end - 0.5 * span.dt, np.inf, inside)


def _power(now: Instant, fn: Functions) -> Any:
    return sum(_abs(tau * qd, fn) for tau, qd in zip(now.tau, now.qd, strict=True))


def _at_limit(was: Any, now: Instant, i: int, fn: Functions) -> Any:
    limit = now.limits[i]
    if limit is None:
        return was
    low = fn.select(now.q[i] <= limit[0], 1.0, was)
    return fn.select(now.q[i] >= limit[1], 1.0, low)


def _square(name: str) -> Callable[..., Any]:
    return lambda a, now, i, fn: a + getattr(now, name)[i] * getattr(now, name)[i]


def _peak(name: str) -> Callable[..., Any]:
    return lambda a, now, i, fn: fn.max(a, _abs(getattr(now, name)[i], fn))


TRACKED: dict[str, Any] = {"needs": "reference"}
AT_TOOL: dict[str, Any] = {"one": True, "needs": "tool"}
MEASURES: Mapping[str, RunMeasure] = {
    "rms_error": RunMeasure(
        "root mean square of q - q_d", "position", 0.0, _square("error"), _mean_root, **TRACKED
    ),
    "peak_error": RunMeasure("largest |q - q_d|", "position", 0.0, _peak("error"), **TRACKED),
    "final_error": RunMeasure(
        "|q - q_d| at the end", "position", 0.0,
        lambda a, now, i, fn: _abs(now.error[i], fn), **TRACKED,
    ),
    "settling_time": RunMeasure(
        "time after which |q - q_d| stays within `band`", "s", NOT_YET,
        lambda a, now, i, fn: fn.select(_abs(now.error[i], fn) <= now.band[i], a, now.t),
        _settled, **TRACKED,
    ),
    "rms_tool_error": RunMeasure(
        "root mean square of the tool's distance from its reference", "m", 0.0,
        lambda a, now, i, fn: a + now.tool_error * now.tool_error, _mean_root, **AT_TOOL,
    ),
    "peak_tool_error": RunMeasure(
        "largest distance of the tool from its reference", "m", 0.0,
        lambda a, now, i, fn: fn.max(a, now.tool_error), **AT_TOOL,
    ),
    "final_tool_error": RunMeasure(
        "distance of the tool from its reference at the end", "m", 0.0,
        lambda a, now, i, fn: now.tool_error, **AT_TOOL,
    ),
    "peak_torque": RunMeasure("largest |tau|", "torque", 0.0, _peak("tau")),
    "rms_torque": RunMeasure("root mean square of tau", "torque", 0.0, _square("tau"), _mean_root),
    "peak_velocity": RunMeasure("largest |qd|", "velocity", 0.0, _peak("qd")),
    "peak_power": RunMeasure(
        "largest sum of |tau qd|", "W", 0.0,
        lambda a, now, i, fn: fn.max(a, _power(now, fn)), one=True,
    ),
    "energy": RunMeasure(
        "sum of |tau qd| over time", "J", 0.0,
        lambda a, now, i, fn: a + _power(now, fn), lambda total, span: total * span.dt, one=True,
    ),
    "stop_hit": RunMeasure(
        "1 if the joint came to one of its limits, else 0", "", 0.0, _at_limit, needs="limits",
        passive=True,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Measures:
    """Measures of one robot by name, as accumulators; `band` is what counts as settled.

    Of a closed mechanism they are of its drives; `path` (steps, 3) is then where the tool should be
    at every step of `dt`.
    """

    robot: "Robot"
    names: tuple[str, ...]
    band: tuple[float, ...] = ()
    path: np.ndarray | None = None
    dt: float = 0.0

    @property
    def key(self) -> str:
        """What decides the code beside the arm."""
        return repr((self.names, self.band, self.limits if self._need("limits") else ()))

    def _need(self, what: str) -> bool:
        return any(MEASURES[name].needs == what for name in self.names)

    @property
    def tracks(self) -> bool:
        """Whether a reference is needed."""
        return self._need("reference") or self._need("tool")

    @property
    def limits(self) -> tuple[tuple[float, float] | None, ...]:
        """Lowest and highest position of every joint."""
        return stops_of(self.robot)

    @property
    def sizes(self) -> dict[str, int]:
        """Names and sizes of the accumulators."""
        found = {f"measure.{name}": len(self.joints(name)) or 1 for name in self.names}
        return {**found, f"measure.{LEFT}": 1} if self.names else {}

    def joints(self, name: str) -> tuple[int, ...]:
        """Joints that a measure has columns of; none where it is one number of the arm."""
        known = MEASURES[name]
        if known.one:
            return ()
        return tuple(range(self.robot.n)) if known.passive else self.robot.model.driven

    def started(self, name: str) -> float:
        """What the accumulators of one name begin with."""
        own = name.removeprefix("measure.")
        return NOT_YET if own == LEFT else MEASURES[own].start

    @property
    def signals(self) -> int:
        """Numbers that every instant must bring: q_d, and where the tool should be."""
        return (len(self.robot.driven) if self.tracks else 0) + (3 if self.at_tool else 0)

    @property
    def at_tool(self) -> bool:
        """Whether the tool is looked at."""
        return self._need("tool")

    def rows(self, wanted: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Those numbers from the positions of a reference at times t, (K, n) to (K, signals)."""
        if not self.at_tool:
            return wanted
        if self.path is not None:
            places = self.path[np.rint(np.asarray(t) / self.dt).astype(int)]
        else:
            places = self.robot.fk(wanted)[..., :3, 3]
        return np.concatenate([wanted, places], axis=-1)

    def renewed(
        self, before: Mapping[str, Scalars], now: tuple[Any, ...], signal: Scalars, fn: Functions
    ) -> dict[str, list[Any]]:
        """The accumulators after an instant (t, q, qd, tau)."""
        t, q, qd, tau = now
        drives, error, distance = self.robot.driven, None, None
        n = len(drives)
        if self.tracks:
            error = [q[k] - b for k, b in zip(drives, signal[:n], strict=True)]
        if self.at_tool:
            T = arm_of(self.robot, fn).fk(q)
            gap = [T[k][3] - signal[n + k] for k in range(3)]
            distance = fn.sqrt(sum(x * x for x in gap))
        rates, torques = ([x[k] for k in drives] for x in (qd, tau))
        instant = Instant(t, q, rates, torques, error, distance, self.band, self.limits)
        after: dict[str, list[Any]] = {}
        for name in self.names:
            own = before[f"measure.{name}"]
            after[f"measure.{name}"] = [
                MEASURES[name].renew(a, instant, i, fn) for i, a in enumerate(own)
            ]
        largest = _abs(q[0], fn)
        for x in (*q[1:], *qd):
            largest = fn.max(largest, _abs(x, fn))
        (left,) = before[f"measure.{LEFT}"]
        here = fn.select(largest < PLAUSIBLE, left, t)
        after[f"measure.{LEFT}"] = [fn.select(left >= 0.0, left, here)]
        return after

    def results(self, found: Mapping[str, np.ndarray], span: Span) -> dict[str, np.ndarray]:
        """Values (count, k) of every measure from accumulators (count, k)."""
        with np.errstate(invalid="ignore"):
            return {
                name: MEASURES[name].result(np.asarray(found[f"measure.{name}"], float), span)
                for name in self.names
            }

    def of_run(self, run: "Run") -> dict[str, np.ndarray]:
        """Values (count, k) over the rows of an ensemble (count, N, n)."""
        count, instants, _ = run.q.shape
        state: dict[str, Any] = {
            name: [np.full(count, self.started(name))] * size for name, size in self.sizes.items()
        }
        wanted = np.zeros((instants, 0))
        if self.tracks:
            assert run.reference is not None
            wanted = self.rows(np.asarray(run.reference.q), run.t)
        with np.errstate(all="ignore"):
            for k, t in enumerate(run.t):
                now = (t, *(list(x[:, k].T) for x in (run.q, run.qd, run.tau)))
                state = self.renewed(state, now, list(wanted[k]), NUMPY)
        found = {
            name: np.stack([np.broadcast_to(x, count) for x in row], axis=1)
            for name, row in state.items()
        }
        end = float(run.t[-1]) if instants else 0.0
        step = float(run.t[1] - run.t[0]) if instants > 1 else run.dt
        return self.results(found, Span(instants, step, end))


def measure_names(given: Any) -> tuple[tuple[str, ...], tuple[Callable[..., Any], ...]]:
    """Names of measures and functions of one's own among what was asked for."""
    listed = list(given) if is_list(given) else [given]
    names = tuple(x for x in listed if isinstance(x, str))
    functions = tuple(x for x in listed if callable(x) and not isinstance(x, type))
    for name in names:
        if name not in MEASURES:
            raise OptionError(
                f"measure is {name!r}, expected one of {', '.join(MEASURES)}, or a function(run)",
                did_you_mean(name, MEASURES),
            )
    if len(names) + len(functions) != len(listed) or not listed:
        raise OptionError(
            f"measure is {shown(given)}, expected names ({', '.join(MEASURES)}) or functions(run)"
        )
    for listed_names in (names, [f.__name__ for f in functions if hasattr(f, "__name__")]):
        twice = next((x for x in listed_names if list(listed_names).count(x) > 1), None)
        if twice is not None and twice != "<lambda>":
            raise OptionError(f"measure holds {twice!r} twice")
    return names, functions
