"""The Trajectory: q, qd, qdd at any time, of smooth ones jerk and snap."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import a_robot, checked, positive, strict
from ..compile.arrays import NUMPY, numbers
from ..errors import OptionError, ShapeError, counted
from ..ik.driven import assembly
from ..model.check.finding import Finding, Numbers
from ..model.world import World
from ..robot.distance import collision_pairs
from ..spatial.functions import MATH, Functions

if TYPE_CHECKING:
    from ..robot import Robot

Lists = tuple[list[Any], list[Any], list[Any]]
FiveLists = tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]

MOST = 100_000_000  # rows of a sampled trajectory
LAST = 1e-9  # a last step shorter than this fraction of dt is the rounding of duration / dt


class State(NamedTuple):
    """Position, velocity and acceleration of every joint, (..., n) each."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Derivatives(NamedTuple):
    """Position of every joint and its first four derivatives, (..., n) each."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    jerk: np.ndarray
    snap: np.ndarray


class Sampled(NamedTuple):
    """A trajectory at times t, (N,); q, qd and qdd are (N, n)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def by_derivative(states: Sequence[tuple[Any, ...]]) -> Any:
    """(q, qd, qdd, ...) of every joint as one list for each derivative."""
    return tuple(list(values) for values in zip(*states, strict=True))


@strict
class Trajectory(ABC):
    """A motion of n joints that lasts `duration` seconds.

    `trajectory(t)` takes any array of times. `at(t, fn)` is the same motion over any scalar, with
    no branch on a value, so that it can be traced and compiled.
    """

    n: int
    duration: float
    endless = False  # whether it goes on after `duration` instead of resting

    @property
    def period(self) -> float | None:
        """Seconds after which an endless motion repeats; None if it ends, or never does."""
        return None

    @abstractmethod
    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""

    @property
    def smooth(self) -> bool:
        """Whether it has four continuous derivatives: `derivatives` gives jerk and snap."""
        return type(self).derivatives_at is not Trajectory.derivatives_at

    def derivatives_at(self, t: Any, fn: Functions = MATH) -> FiveLists:
        """(q, qd, qdd, jerk, snap) at one time, each a list of n scalars; refused by most."""
        raise OptionError(
            f"{self!r} has no jerk and snap{self._roughness}",
            "take dy.trajectory.nonic(...), sine or fourier, or define derivatives_at(t, fn) in a "
            "trajectory of your own",
        )

    _roughness = ""  # why it has none, for the error

    @property
    def knots(self) -> tuple[float, ...]:
        """Times where one piece ends and the next begins, both ends included."""
        return 0.0, self.duration

    def derivatives(self, t: Any) -> Derivatives:
        """Derivatives at times t of any shape (...): .q to .snap of shape (..., n)."""
        times = numbers(t, "t", "expected times in seconds, of any shape")
        with np.errstate(all="ignore"):
            return Derivatives(*self._stacked(self.derivatives_at(times, NUMPY), times))

    def __call__(self, t: Any) -> State:
        """State at times t of any shape (...): .q, .qd, .qdd of shape (..., n)."""
        times = numbers(t, "t", "expected times in seconds, of any shape")
        with np.errstate(all="ignore"):
            return State(*self._over(times))

    def _over(self, times: np.ndarray) -> np.ndarray:
        """(q, qd, qdd) at times of any shape (...), (3, ..., n)."""
        return self._stacked(self.at(times, NUMPY), times)

    def _stacked(self, lists: Sequence[Sequence[Any]], times: np.ndarray) -> np.ndarray:
        """Lists of values over times as one array, (lists, ..., n)."""
        found = np.empty((len(lists), *times.shape, self.n))
        for k, values in enumerate(lists):
            for i, value in enumerate(values):
                found[k, ..., i] = value
        return found

    @checked
    def sample(self, dt: float) -> Sampled:
        """Every dt from 0 to the end, both included; the last step may be shorter."""
        dt = positive(dt, "dt", "seconds")
        if self.duration / dt > MOST:
            raise OptionError(
                f"dt is {dt:g} s of {self.duration:g} s, expected at most {MOST} rows"
            )
        t = dt * np.arange(int(self.duration / dt * (1.0 + 1e-15) + LAST) + 1)
        if self.duration - t[-1] > LAST * dt:
            t = np.append(t, self.duration)
        t = np.minimum(t, self.duration)
        return Sampled(t, *self(t))

    @checked
    def check(
        self, robot: "Robot", dt: float | None = None, *, world: World = None
    ) -> list[Finding]:
        """Violations of position, velocity_limit and effort_limit: joint, time and value.

        Looks every dt (a thousandth of the duration unless given) and at the knots. The trajectory
        of a closed mechanism moves its drives: the other joints follow from its home. With a
        `world` ([]: the arm alone) also every pair of bodies that collide.
        """
        found, past = self._checked(robot, dt, world)
        return found + [x.finding(robot) for x in past]

    def _checked(
        self, robot: "Robot", dt: float | None, world: Any = None
    ) -> "tuple[list[Finding], list[Beyond]]":
        """What keeps a closed mechanism from following or collides, and what passes limits."""
        fitting(self, robot)
        even = np.linspace(0.0, self.duration, LOOKS) if dt is None else self.sample(dt).t
        t = np.union1d(even, self.knots)
        state, found = _followed(robot, t, self(t))
        there = np.isfinite(state.q).all(axis=-1)
        t, state = t[there], State(*(x[there] for x in state))
        if not len(t):
            return found, []
        if world is not None:
            found += _collisions(robot, t, state.q, world)
        speed, effort = bounds(robot)
        every = range(robot.n)
        past = [*beyond(t, state.q, robot.limits, "position", every)]
        past += beyond(t, state.qd, speed, "velocity", every)
        if np.isfinite(effort).any():
            past += beyond(t, robot.inverse_dynamics(*state), effort, "torque", every)
        return found, past

    def beyond_limits(self, robot: "Robot") -> list[str]:
        """The worst of what `check` finds beyond limits, a line for each quantity."""
        return in_short(robot, self._checked(robot, None)[1], "reference ")

    @checked
    def simplified(self, tolerance: float) -> "Trajectory":
        """The motion with as few knots as keep q within `tolerance` (rad or m), quintic between.

        For controllers in C, where every knot costs operations at every sample. Of an endless
        motion: from 0 to `duration`, then at rest.
        """
        from .function import simplified

        return simplified(self, tolerance)

    def __repr__(self) -> str:
        joints = f"{self.n} joint{'' if self.n == 1 else 's'}"
        return f"{type(self).__name__}({joints}, {self.duration:g} s)"


def fitting(trajectory: Any, robot: Any) -> None:
    """Refuse a trajectory for another number of joints."""
    if not isinstance(trajectory, Trajectory):
        raise OptionError(
            f"{type(trajectory).__name__} was given, expected a trajectory",
            "make one with dy.trajectory.quintic(...), via(...), line(...), ...",
        )
    a_robot(robot)
    names = [robot.joint_names[k] for k in robot.driven]
    if trajectory.n != len(names):
        what = robot.model.driven_word
        raise ShapeError(
            f"the trajectory moves {trajectory.n} {what}, robot {robot.name!r} has {len(names)}: "
            f"{', '.join(names)}"
        )


def _followed(robot: "Robot", t: np.ndarray, drives: State) -> tuple[State, list[Finding]]:
    """All joints of a closed mechanism, NaN where they cannot follow, and what is to be said."""
    own = [list(robot.driven).index(k) for k in robot.independent if k in robot.driven]
    if len(own) < robot.dof:
        raise OptionError(
            f"robot {robot.name!r} has {counted(robot.dof, 'degree')} of freedom and "
            f"{counted(len(own), 'drive')} that "
            "decide: its other joints do not follow from them",
            "drive more joints (passive = false)",
        )
    state = State(*assembly(robot).motion(*(x[:, own] for x in drives)))
    found, lost = [], np.isnan(state.q).any(axis=-1)
    if lost.any():
        what = (
            f"it cannot follow from its home at t = {t[np.argmax(lost)]:.6g} s: its loops do not "
            "close, or the drives decide nothing there"
        )
        found.append(Finding("error", "loops", what, "keep the motion inside the workspace"))
    apart = np.abs(state.q[:, list(robot.driven)] - drives.q)
    for k in np.flatnonzero(np.nanmax(apart, axis=0, initial=0.0) > robot.chain.tolerance):
        row = int(np.nanargmax(apart[:, k]))
        what = f"it is {apart[row, k]:.3g} from where the other drives hold it, t = {t[row]:.6g} s"
        name = f"joint {robot.joint_names[robot.driven[k]]!r}"
        found.append(Finding("error", name, what, "take it from robot.independent's joints"))
    return state, found


def _collisions(robot: "Robot", t: np.ndarray, q: np.ndarray, world: Any) -> list[Finding]:
    """Every pair of bodies that overlap, with the first time and the deepest."""
    pairs = collision_pairs(robot, world)
    apart, found = pairs.distances(q), []
    for k in np.flatnonzero((apart < 0.0).any(axis=0)):
        first, worst = int(np.argmax(apart[:, k] < 0.0)), int(apart[:, k].argmin())
        a, b = pairs.names[k]
        deepest = f"{-apart[worst, k]:.3g} m at t = {t[worst]:.6g} s"
        what = f"{a!r} and {b!r} collide from t = {t[first]:.6g} s; at most {deepest}"
        found.append(Finding("error", "collision", what, "take another path"))
    return found


# A path and the timing along it.
#
# q = p(s),  qd = p'(s) sd,  qdd = p''(s) sd^2 + p'(s) sdd
# jerk = p''' sd^3 + 3 p'' sd sdd + p' sddd
# snap = p'''' sd^4 + 6 p''' sd^2 sdd + p'' (3 sdd^2 + 4 sd sddd) + p' sdddd


class Along(Trajectory):
    """The joints follow `path`, a trajectory in s; `timing` is the one-joint trajectory s(t)."""

    @checked
    def __init__(self, path: Trajectory, timing: Trajectory):
        if timing.n != 1:
            raise ShapeError(f"timing moves {timing.n} joints, expected one: s over time")
        self.path, self.timing = path, timing
        self.n, self.duration = path.n, timing.duration

    @property
    def knots(self) -> tuple[float, ...]:
        """Times where a piece of the timing ends and the next begins, both ends included."""
        return self.timing.knots

    def at(self, t: Any, fn: Functions = MATH) -> Lists:
        """(q, qd, qdd) at one time, each a list of n scalars."""
        (s,), (sd,), (sdd,) = self.timing.at(t, fn)
        q, p1, p2 = self.path.at(s, fn)
        qd = [a * sd for a in p1]
        return q, qd, [b * (sd * sd) + a * sdd for a, b in zip(p1, p2, strict=True)]

    @property
    def smooth(self) -> bool:
        """Whether both path and timing are."""
        return self.path.smooth and self.timing.smooth

    def derivatives_at(self, t: Any, fn: Functions = MATH) -> FiveLists:
        """(q, qd, qdd, jerk, snap) at one time, each a list of n scalars."""
        (s,), (s1,), (s2,), (s3,), (s4,) = self.timing.derivatives_at(t, fn)
        q, *rest = self.path.derivatives_at(s, fn)
        square = s1 * s1
        states = [
            (
                a * s1,
                b * square + a * s2,
                c * (square * s1) + 3.0 * b * (s1 * s2) + a * s3,
                d * (square * square)
                + 6.0 * c * (square * s2)
                + b * (3.0 * (s2 * s2) + 4.0 * (s1 * s3))
                + a * s4,
            )
            for a, b, c, d in zip(*rest, strict=True)
        ]
        return q, *by_derivative(states)

    def _over(self, times: np.ndarray) -> np.ndarray:
        s, sd, sdd = self.timing._over(times)
        q, p1, p2 = self.path._over(s[..., 0])
        return np.array([q, p1 * sd, p2 * (sd * sd) + p1 * sdd])


# checks of a trajectory against the limits of a robot

LOOKS = 1001  # times looked at unless dt says otherwise
SHOWN = 1e-4  # how far past a limit is worth a line, relative to the limit or 1
ROUNDING = 1e-9  # how far past a limit is at it, relative to the limit or 1
CHECKED = {  # unit of a revolute joint, of a prismatic one, remedy
    "position": ("rad", "m", "keep the points of the motion further inside the limits"),
    "velocity": ("rad/s", "m/s", "give the motion more time"),
    "torque": ("N m", "N", "give the motion more time, or the joint a stronger drive"),
}


def bounds(robot: "Robot") -> tuple[np.ndarray, np.ndarray]:
    """velocity_limit and effort_limit as (n, 2), infinite where none is given."""
    x, moving = Numbers(robot.model), robot.model.moving_links
    speed, effort = (
        np.array([np.inf if (v := x.of(getattr(link, name))) is None else v for link in moving])
        for name in ("velocity_limit", "effort_limit")
    )
    return np.stack([-speed, speed], axis=-1), np.stack([-effort, effort], axis=-1)


class Beyond(NamedTuple):
    """A joint beyond a limit: by what it is worst and when, and since when."""

    joint: int  # of the robot
    quantity: str  # a key of CHECKED
    value: float
    limits: tuple[float, float]
    t: float
    since: float

    @property
    def nearest(self) -> float:
        """The limit that was passed."""
        return self.limits[self.value > self.limits[1]]

    @property
    def excess(self) -> float:
        """How far past the limit, relative to the limit or 1."""
        return abs(self.value - self.nearest) / max(1.0, abs(self.nearest))

    def unit(self, robot: "Robot") -> str:
        """Of the value."""
        return CHECKED[self.quantity][robot.joint_kinds[self.joint] == "prismatic"]

    def finding(self, robot: "Robot", of: str = "") -> Finding:
        """It in words; `of` says what has the quantity, if not the motion itself."""
        (low, high), unit = self.limits, self.unit(robot)
        what = (
            f"{of}{self.quantity} is {self.value:.6g} {unit} at t = {self.t:.6g} s, outside "
            f"[{low:g}, {high:g}]; first outside at t = {self.since:.6g} s"
        )
        where = f"joint {robot.joint_names[self.joint]!r}"
        return Finding("error", where, what, CHECKED[self.quantity][2])


def in_short(
    robot: "Robot",
    found: Sequence[Beyond],
    of: str = "",
    quantities: Iterable[str] = CHECKED,
) -> list[str]:
    """The worst of each quantity, relative to its limit, and how many joints more there are."""
    said = []
    for quantity in quantities:
        some = [x for x in found if x.quantity == quantity and not x.excess <= SHOWN]
        if some:
            x = max(some, key=lambda x: abs(x.value) / max(1e-300, abs(x.nearest)))
            more = f" ({len(some) - 1} more joint{'s' * (len(some) > 2)})" if some[1:] else ""
            value = f"{x.value:.4g} {x.unit(robot)} at t = {x.t:.4g} s"
            name = robot.joint_names[x.joint]
            said.append(f"{of}{quantity} of {name!r} {value}, limit {x.nearest:g}{more}")
    return said


def beyond(
    t: np.ndarray, values: np.ndarray, limits: np.ndarray, quantity: str, joints: Sequence[int]
) -> Iterator[Beyond]:
    """Each joint whose column of values (N, len(joints)) passes its row of limits (n, 2)."""
    for x, i in zip(values.T, joints, strict=True):
        low, high = limits[i]
        excess = np.maximum(x - high, low - x)
        bound = np.where(x > high, high, low)
        over = ~(excess <= ROUNDING * np.maximum(1.0, np.abs(np.nan_to_num(bound, posinf=1.0))))
        if over.any():
            worst = int(np.argmax(np.where(over, np.nan_to_num(excess, nan=np.inf), -np.inf)))
            at, since = float(t[worst]), float(t[np.argmax(over)])
            yield Beyond(i, quantity, float(x[worst]), (float(low), float(high)), at, since)
