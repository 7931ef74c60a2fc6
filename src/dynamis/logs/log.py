"""The Log: positions, velocities and torques of one arm over time, as measured."""

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, choice, is_whole, number, positive, strict, text, whole
from ..compile.arrays import numbers
from ..dynamics.elastic import coordinate
from ..errors import OptionError, ShapeError, counted, shown
from ..files import write_columns
from ..model.check.finding import Finding
from ..tables import html_table
from .units import UNITS

if TYPE_CHECKING:
    from ..robot import Robot
    from ..simulation.run import Run

ROOM = 25.0  # deg C
OPTIONAL = ("qd", "qdd", "temperature", "motor", "motor_rate")
ARRAYS = ("t", "q", "tau", *OPTIONAL)
GAP = 3.0  # median steps; a longer step is a gap
LONG_GAP = 10.0  # median steps; across a longer one nothing is interpolated
MOST = 50_000_000  # samples; more is more likely a rate in the wrong unit
ROUNDING = 1e-9  # of a step, for the last instant
EDGE = 1e-3  # of a median step: how near a stamp may be to a window's edge and count as on it


@strict
@dataclass(frozen=True, repr=False, eq=False)
class Log:
    """Stamps t (N,) in seconds that start anywhere and rise; q, tau, and maybe qd, qdd, (N, n).

    Joint side, SI units, radians; temperatures of the joints, where there are any, in deg C.
    `motor` and `motor_rate` (N, n) are positions and velocities of the motors in units of their
    joints (angle / gear), where both sides of elastic joints are measured: q is then the link side.
    The arrays are read-only. `findings` are those of reading the log, `stated` the quantities whose
    units were given with it (they are not questioned); parts of a log keep both.
    """

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None = None
    qdd: np.ndarray | None = None
    temperature: np.ndarray | None = None
    name: str = ""
    findings: tuple[Finding, ...] = ()
    stated: tuple[str, ...] = ()
    motor: np.ndarray | None = None
    motor_rate: np.ndarray | None = None

    def __post_init__(self) -> None:
        t = _numbers(self.t, "t", 1)
        if len(t) < 2:
            raise ShapeError(f"t has {counted(len(t), 'stamp')}, expected at least 2")
        back = np.flatnonzero(np.diff(t) <= 0)
        if len(back):
            k = int(back[0])
            raise OptionError(
                f"t does not rise at sample {k + 1}: {t[k]:.9g} s, then {t[k + 1]:.9g} s",
                "read_log drops repeated stamps and sorts a few that are late",
            )
        q = _numbers(self.q, "q", 2)
        if len(q) != len(t) or q.shape[1] == 0:
            raise ShapeError(f"q has shape {q.shape}, expected ({len(t)}, n) as t has {len(t)}")
        given: dict[str, Any] = {"t": t, "q": q, "name": text(self.name, "name")}
        if self.motor_rate is not None and self.motor is None:
            raise OptionError("motor_rate was given without motor", "give the positions too")
        for name in ("tau", *OPTIONAL):
            if getattr(self, name) is not None or name == "tau":
                given[name] = array = _numbers(getattr(self, name), name, 2)
                if array.shape != q.shape:
                    raise ShapeError(f"{name} has shape {array.shape}, expected {q.shape} as q has")
        given["findings"] = _all_findings(self.findings)
        if not isinstance(self.stated, (tuple, list)):
            raise OptionError(f"stated is {shown(self.stated)}, expected such as ('q', 'tau')")
        given["stated"] = tuple(choice(x, "stated", UNITS) for x in self.stated)
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_run(cls, run: "Run", name: str | None = None) -> "Log":
        """The log a simulated arm leaves: what its sensors gave, where there were any.

        Of a closed mechanism: of its drives. Of an arm with elastic joints both sides: q of the
        links and `motor`, the side that has no sensors as it was. A run that diverged or ended
        early is said in a DynamisWarning.
        """
        from ..simulation.run import warn_of_end

        if not all(hasattr(run, x) for x in ("robot", "measured", "t", "q", "qd", "tau")):
            raise OptionError(f"run is {shown(run)}, expected what dy.simulate returned")
        source = run if run.measured is None else run.measured
        if source.q.ndim != 2:
            raise OptionError(
                f"run holds an ensemble {source.q.shape[:-2]}, expected one arm",
                "a log is of one motion: Log(t=run.t, q=run.q[i], qd=run.qd[i], tau=run.tau[i])",
            )
        warn_of_end(run)
        name = str(run.robot.name) if name is None else name
        given: dict[str, Any] = {"q": source.q, "qd": source.qd, "tau": source.tau}
        if getattr(run, "_motors", None):
            given |= _both_sides(run, source)
        drives, n = list(run.robot.driven), run.robot.n
        given = {k: x[:, drives] if x.shape[1] == n else x for k, x in given.items()}
        return cls(t=source.t, name=name, **given)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.q.shape[1]

    def __len__(self) -> int:
        return len(self.t)

    @property
    def duration(self) -> float:
        """Seconds from the first stamp to the last."""
        return float(self.t[-1] - self.t[0])

    @property
    def step(self) -> float:
        """Median time between samples, s."""
        return float(np.median(np.diff(self.t)))

    @property
    def rate(self) -> float:
        """Samples per second, from the median step."""
        return 1.0 / self.step

    def window(self, start: float | None = None, stop: float | None = None) -> "Log":
        """The samples from `start` to `stop`, both included, in seconds from the first stamp."""
        return self._taken(within(self.t, (start, stop)))

    def rows(self, first: int | None = None, last: int | None = None) -> "Log":
        """Samples first, .., last - 1, counted from 0."""
        return self._taken(rows_of((first, last), len(self)))

    @checked
    def split(self, fraction: float = 0.5) -> tuple["Log", "Log"]:
        """The first `fraction` of the samples, and the rest."""
        number(fraction, "fraction", "between 0 and 1", lambda x: 0.0 < x < 1.0)
        k = round(fraction * len(self))
        if min(k, len(self) - k) < 2:
            part = f"fraction {fraction} of {len(self)} samples leaves a part"
            raise OptionError(f"{part} with less than 2")
        return self._taken(slice(None, k)), self._taken(slice(k, None))

    @checked
    def every(self, k: int) -> "Log":
        """Every k-th sample, the first included. Filter before: this does not."""
        if len(self) <= whole(k, "k"):
            raise OptionError(f"every {k} of {len(self)} samples leaves 1, expected at least 2")
        return self._taken(slice(None, None, k))

    @checked
    def pieces(self, gap: float = LONG_GAP) -> tuple["Log", ...]:
        """The stretches between gaps longer than `gap` median steps; single samples are left out.

        The median is of the whole log.
        """
        number(gap, "gap", "more than 1 (median steps)", lambda x: 1.0 < x < np.inf)
        cuts = [0, *(np.flatnonzero(np.diff(self.t) > gap * self.step) + 1).tolist(), len(self)]
        return tuple(self._taken(slice(a, b)) for a, b in pairwise(cuts) if b - a > 1)

    @checked
    def uniform(self, rate: float | None = None) -> "Log":
        """The log on an even grid of `rate` Hz (its own rate unless given).

        q by cubic Hermite pieces where there is qd (qd likewise where there is qdd), the rest
        linear. Inside a gap of more than 10 median steps nothing is invented: those instants are
        left out, a finding says so, and `.pieces()` gives the even stretches.
        """
        rate = self.rate if rate is None else positive(rate, "rate")
        count = self.duration * rate
        if not 1.0 <= count + ROUNDING <= MOST:
            raise OptionError(
                f"rate {rate:g} Hz puts {count:.3g} steps into {self.duration:.6g} s, "
                f"expected from 1 to {MOST:g}",
                f"rate is in Hz; the log's own is {self.rate:.4g}",
            )
        grid = self.t[0] + np.arange(int(count + ROUNDING) + 1) / rate
        grid = np.minimum(grid, self.t[-1])
        measured = _measured(self, grid)
        t = grid[measured]
        return replace(
            self,
            t=t,
            q=_hermite(self.t, self.q, self.qd, t),
            qd=None if self.qd is None else _hermite(self.t, self.qd, self.qdd, t),
            qdd=None if self.qdd is None else _hermite(self.t, self.qdd, None, t),
            tau=_hermite(self.t, self.tau, None, t),
            **{
                name: None if x is None else _hermite(self.t, x, rate, t)
                for name, x, rate in (
                    ("temperature", self.temperature, None),
                    ("motor", self.motor, self.motor_rate),
                    ("motor_rate", self.motor_rate, None),
                )
            },
            findings=(*self.findings, *_bridged(self, int((~measured).sum()))),
        )

    @checked
    def with_temperature(self, robot: "Robot") -> "Log":
        """The log with temperatures of the joints by the heating of a robot's friction.

        The power is that of `robot.friction_torque` at the log's velocities and these temperatures,
        without offsets and what the load adds; the joints start at their reference temperatures
        (`robot.at_temperature(...)` sets them).
        """
        from ..dynamics.elements.friction import thermal_joints

        if robot.n != self.n:
            raise ShapeError(
                f"robot {robot.name!r} has {counted(robot.n, 'joint')}, the log {self.n}"
            )
        joints = thermal_joints(robot.chain)
        if not joints:
            raise OptionError(
                f"no joint of {robot.name!r} has friction by temperature",
                "dy.Friction(temperature_slope=..., heating=..., heating_time=...)",
            )
        qd = np.gradient(self.q, self.t, axis=0) if self.qd is None else self.qd
        warm = np.full(self.q.shape, ROOM)
        for _, c, law in joints:
            warm[:, c] = law.reference
        rest, cold, other = (
            robot.friction_torque(rate, temperature=at)
            for rate, at in ((0.0 * qd, warm), (qd, warm), (qd, warm + 1.0))
        )
        power, per_kelvin = (cold - rest) * qd, (other - cold) * qd
        for _, c, law in joints:
            warm[:, c] += _rise(law, self.t, power[:, c], per_kelvin[:, c])
        return replace(self, temperature=warm)

    @checked
    def save(self, path: str | Path) -> Path:
        """Columns t, q1.., tau1.., and qd1.., motor1.. and so on as .csv, or the arrays as .npz."""
        return write_columns(path, self._arrays())

    def with_findings(self, findings: Iterable[Finding]) -> "Log":
        """The log with more findings."""
        return replace(self, findings=(*self.findings, *_all_findings(findings)))

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {name: getattr(self, name) for name in ARRAYS}
        return {name: array for name, array in arrays.items() if array is not None}

    def _taken(self, index: Any) -> "Log":
        return replace(self, **{name: array[index] for name, array in self._arrays().items()})

    def __repr__(self) -> str:
        more = "".join(f", {x}" for x in OPTIONAL if getattr(self, x) is not None)
        findings = f", {counted(len(self.findings), 'finding')}" if self.findings else ""
        return (
            f"Log({self.name!r}, {counted(self.n, 'joint')}, {counted(len(self), 'sample')} "
            f"over {self.duration:.6g} s "
            f"at {self.rate:.4g} Hz, q, tau{more}{findings})"
        )

    def _repr_html_(self) -> str:
        rows = [("joint", "q from", "to", "largest |qd|", "largest |tau|")]
        for i in range(self.n):
            speed = "" if self.qd is None else f"{np.abs(self.qd[:, i]).max():.4g}"
            span = f"{self.q[:, i].min():.4g}", f"{self.q[:, i].max():.4g}"
            rows.append((str(i + 1), *span, speed, f"{np.abs(self.tau[:, i]).max():.4g}"))
        said = "".join(f"<li>{html.escape(str(x))}</li>" for x in self.findings)
        said = f"<ul>{said}</ul>" if said else ""
        return f"<p>{html.escape(repr(self))}</p>{html_table(rows)}{said}"


def _both_sides(run: "Run", source: Any) -> dict[str, np.ndarray]:
    """q, qd, motor and motor_rate of a run; of elastic joints the side without sensors is exact."""
    links, motors = ("q", "qd"), ("motor", "motor_rate")
    if source is run:
        return {name: getattr(run, name) for name in (*links, *motors)}
    sensed, other = (links, motors) if run.measured_side == "link" else (motors, links)
    position, velocity = (getattr(run, x) for x in other)
    exact = _hermite(run.t, position, velocity, source.t)
    rate = _hermite(run.t, velocity, None, source.t)
    found = dict(zip((*sensed, *other), (source.q, source.qd, exact, rate), strict=True))
    whole = source.q.shape[1] == run.robot.n
    joints = range(run.robot.n) if whole else run.robot.driven
    found |= {name: found[name][:, joints] for name in other}
    elastic = {coordinate(run.robot.chain, gear) for gear in run.robot.chain.elastic}
    rigid = [k for k, joint in enumerate(joints) if joint not in elastic]
    for own, name in zip(sensed, other, strict=True):
        found[name][:, rigid] = found[own][:, rigid]
    return found


def within(t: np.ndarray, given: Any) -> np.ndarray:
    """Which stamps lie in a window (start, stop) of seconds from the first one, (N,) booleans."""
    start, stop = _pair(given, "window", "(start, stop) in seconds")
    start, stop = (None if x is None else number(x, "window") for x in (start, stop))
    if start is not None and stop is not None and not start < stop:
        raise OptionError(f"window is ({start:g}, {stop:g}), expected start before stop")
    since, slack = t - t[0], EDGE * float(np.median(np.diff(t)))
    inside = since >= (-np.inf if start is None else start - slack)
    inside &= since <= (np.inf if stop is None else stop + slack)
    if inside.sum() < 2:
        raise OptionError(
            f"window ({start}, {stop}) holds {counted(inside.sum(), 'sample')}, expected at "
            "least 2",
            f"seconds from the first stamp; the log lasts {since[-1]:.6g} s",
        )
    return inside


def rows_of(given: Any, count: int) -> slice:
    """The rows (first, last) among so many; None leaves an end open."""
    first, last = _pair(given, "rows", "(first, last) counted from 0, last not included")
    for x in (first, last):
        if x is not None and (not is_whole(x) or x < 0):
            raise OptionError(f"rows holds {shown(x)}, expected whole numbers counted from 0")
    kept = len(range(count)[first:last])
    if kept < 2:
        raise OptionError(
            f"rows ({first}, {last}) hold {counted(kept, 'sample')}, expected at least 2",
            f"counted from 0, the last one not included; the log has {count}",
        )
    return slice(first, last)


def _pair(given: Any, name: str, expected: str) -> tuple[Any, Any]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise OptionError(f"{name} is {shown(given)}, expected {expected}")
    return given[0], given[1]


def _numbers(value: Any, name: str, ndim: int) -> np.ndarray:
    """A read-only float64 copy, finite."""
    expected = "expected numbers of shape (N,)" if ndim == 1 else "expected numbers (N, n)"
    array = numbers(value, name, expected)
    if array.ndim != ndim:
        raise ShapeError(f"{name} has shape {array.shape}, {expected}")
    array = np.array(array, dtype=np.float64, order="C")
    if not np.isfinite(array).all():
        row = int(np.argwhere(~np.isfinite(array))[0][0])
        raise OptionError(
            f"{name} holds NaN or inf, first in sample {row}, expected finite numbers",
            "read_log drops such rows and says so",
        )
    array.flags.writeable = False
    return array


def _all_findings(given: Any) -> tuple[Finding, ...]:
    if not isinstance(given, (tuple, list)) or not all(isinstance(x, Finding) for x in given):
        raise OptionError(f"findings is {shown(given)}, expected a tuple of Finding")
    return tuple(given)


def _measured(log: Log, grid: np.ndarray) -> np.ndarray:
    """Whether an instant is a sample, or lies between two that are near each other."""
    k = np.clip(np.searchsorted(log.t, grid, side="right") - 1, 0, len(log) - 2)
    left, right = log.t[k], log.t[k + 1]
    near = right - left <= LONG_GAP * log.step
    slack = ROUNDING * log.step
    return near | (grid - left <= slack) | (right - grid <= slack)


def _hermite(t: np.ndarray, x: np.ndarray, xd: np.ndarray | None, at: np.ndarray) -> np.ndarray:
    """x at other times: cubic where its derivative is known, else linear."""
    if xd is not None:
        from scipy.interpolate import CubicHermiteSpline  # half a second that reading does not need

        return CubicHermiteSpline(t, x, xd)(at)
    return interpolated(at, t, x)


def stretches(flags: np.ndarray) -> list[tuple[int, int]]:
    """(first row, the one after the last) of every stretch where flags (N,) are true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def interpolated(at: np.ndarray, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Columns of x (N, n), given at times t, at other times: linear."""
    return np.stack([np.interp(at, t, column) for column in x.T], axis=1)


def _bridged(log: Log, left_out: int) -> Iterator[Finding]:
    steps = np.diff(log.t) / log.step
    short = int(((steps > GAP) & (steps <= LONG_GAP)).sum())
    long = int((steps > LONG_GAP).sum())
    if short:
        gaps = f"{counted(short, 'gap')} of {GAP:g} to {LONG_GAP:g} steps"
        what = f"even grid: interpolated across {gaps}"
        yield Finding("note", log.name or "log", what, "nothing, if the motion is smooth")
    if long:
        gaps = f"{counted(long, 'gap')} of over {LONG_GAP:g} steps"
        what = f"even grid: {left_out} instants inside {gaps} "
        remedy = "filter and differentiate each of log.pieces() by itself"
        yield Finding("warning", log.name or "log", what + "were left out", remedy)


def _rise(law: Any, t: np.ndarray, power: np.ndarray, per_kelvin: np.ndarray) -> np.ndarray:
    """Rise of a joint over time, K, from none, by a power that changes with the rise.

    Exact for a power that is constant between stamps.
    """
    gain, time = (np.array(x, dtype=float) for x in (law.heating, law.time))
    total, rises = np.zeros(len(t)), np.zeros(2)
    most = -1.0 / law.slope  # where no viscous friction is left
    for k, keep in enumerate(np.exp(-np.diff(t)[:, None] / time)):
        felt = min(total[k], most) if law.slope < 0.0 else total[k]
        rises = keep * rises + (1.0 - keep) * gain * (power[k] + per_kelvin[k] * felt)
        total[k + 1] = rises.sum()
    return total
