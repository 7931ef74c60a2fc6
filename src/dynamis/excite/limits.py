"""Limits of an exciting motion: as given, from the model, or by default.

Of a closed mechanism every joint has limits, but defaults are for drives alone: passive joints are
free where the model says nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import one_of
from ..compile import arrays
from ..errors import OptionError, ShapeError, shown
from ..ik.follow import follow
from ..model.check.finding import Finding
from ..robot.closing import refuse_unclosed
from ..trajectory.arguments import numbers
from ..trajectory.trajectory import bounds

if TYPE_CHECKING:
    from ..robot import Robot

RANGE = {"revolute": np.pi / 2, "prismatic": 0.3}  # either side, rad or m, where nothing is known
CENTER, HOME = "center", "home"  # what a motion starts from
RANGES = "lower and upper per joint, or one pair for all"
SPEED = {"revolute": 2.0, "prismatic": 0.5}  # rad/s or m/s, where nothing is known


@dataclass(frozen=True, eq=False)
class Bounds:
    """q (n, 2); qd, qdd and tau (n,), the same either way, infinite where there is no limit.

    `start` is where the motions of a closed mechanism are followed from.
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    center: np.ndarray | None
    findings: tuple[Finding, ...]
    start: np.ndarray | None = None

    def of(self, joints: Sequence[int]) -> "Bounds":
        """Those of some joints."""
        own = list(joints)
        rows = {name: getattr(self, name)[own] for name in ("q", "qd", "qdd", "tau")}
        return replace(self, **rows, center=None if self.center is None else self.center[own])

    def within(self, share: float, robot: "Robot") -> "Bounds":
        """Bounds that leave a share of each of these free; what starts a motion stays inside."""
        both = np.isfinite(self.q).all(axis=1)
        q = self.q.copy()
        q[both] += share * self.half[both, None] * [1.0, -1.0]
        _sound(robot, q, self.center, f"a band needs {100 * share:g} % of each range, {CENTER}")
        less = {name: (1.0 - share) * getattr(self, name) for name in ("qd", "qdd", "tau")}
        return replace(self, q=q, **less)

    @property
    def middle(self) -> np.ndarray:
        """Middle of the position range."""
        return self.q.mean(axis=1)

    @property
    def half(self) -> np.ndarray:
        """Half of the position range."""
        return (self.q[:, 1] - self.q[:, 0]) / 2.0

    def used(self, q: np.ndarray) -> np.ndarray:
        """Fraction of each position range used, (..., n): 1 is at a limit.

        With one side bounded 1 plus what lies beyond it, in radians or metres; with none 0.
        """
        low, high = self.q.T
        both = np.isfinite(low) & np.isfinite(high)
        middle, half = np.zeros(len(low)), np.ones(len(low))
        middle[both], half[both] = (low[both] + high[both]) / 2.0, (high[both] - low[both]) / 2.0
        one = 1.0 + np.maximum(np.maximum(q - high, low - q), -1.0)
        return np.where(both, np.maximum(q - middle, middle - q) / half, one)


def resolved(
    robot: "Robot", limits: bool, center: Any, q: Any, qd: Any, qdd: Any, tau: Any
) -> Bounds:
    """What was given, else the model's own (if `limits`), else the defaults, said as findings."""
    n, found, closed = robot.n, [], bool(robot.model.closures)
    none = np.full(n, np.inf)
    position, velocity, torque = np.full((n, 2), (-np.inf, np.inf)), none, none
    if limits:
        speed, effort = bounds(robot)
        position, velocity, torque = robot.limits, speed[:, 1], effort[:, 1]
    middle = None if center is None else _center(robot, center)
    start = (robot.home if middle is None else middle) if closed else None
    position = position if q is None else _given(q, "q_limits", position, RANGES, robot)
    velocity = velocity if qd is None else _size(qd, velocity, "qd_limits", robot)
    acceleration = none if qdd is None else _size(qdd, none, "qdd_limits", robot)
    torque = torque if tau is None else _size(tau, torque, "torque_limits", robot)
    position = _filled_range(robot, position, middle if start is None else start, found)
    velocity = _filled_speed(robot, velocity, found)
    _sound(robot, position, start if closed else middle, CENTER if middle is not None else HOME)
    return Bounds(position, velocity, acceleration, torque, middle, tuple(found), start)


def _filled_range(
    robot: "Robot", q: np.ndarray, center: np.ndarray | None, found: list[Finding]
) -> np.ndarray:
    reach = np.array([RANGE[kind] for kind in robot.joint_kinds])
    about = np.zeros(robot.n) if center is None else center
    low, high = q.T
    new_low = np.where(np.isfinite(high) & (center is None), high - 2.0 * reach, about - reach)
    new_high = np.where(np.isfinite(low) & (center is None), low + 2.0 * reach, about + reach)
    new = np.stack([new_low, new_high], axis=-1)
    filled = np.where(np.isfinite(q), q, new)
    said = [
        f"[{low:.4g}, {high:.4g}] {unit}"
        for (low, high), unit in zip(filled, _units(robot), strict=True)
    ]
    missing = np.isinf(q).any(axis=1) & _among(robot, robot.independent)
    found += _assumed(robot, missing, "position", said, "q_limits")
    return np.where(missing[:, None], filled, q)


def _filled_speed(robot: "Robot", qd: np.ndarray, found: list[Finding]) -> np.ndarray:
    default = np.array([SPEED[kind] for kind in robot.joint_kinds])
    said = [f"{v:g} {unit}/s" for v, unit in zip(default, _units(robot), strict=True)]
    missing = ~np.isfinite(qd) & _among(robot, robot.driven)
    found += _assumed(robot, missing, "velocity", said, "qd_limits")
    return np.where(missing, default, qd)


def _among(robot: "Robot", joints: Sequence[int]) -> np.ndarray:
    """Which joints are some of them, (n,)."""
    return np.isin(np.arange(robot.n), joints)


def _units(robot: "Robot") -> list[str]:
    return ["rad" if kind == "revolute" else "m" for kind in robot.joint_kinds]


def _assumed(
    robot: "Robot", missing: np.ndarray, what: str, said: Sequence[str], option: str
) -> list[Finding]:
    """One finding for all joints that share a default."""
    groups: dict[str, list[str]] = {}
    for i in np.flatnonzero(missing).tolist():
        groups.setdefault(said[i], []).append(robot.joint_names[i])
    return [
        Finding(
            "note",
            f"joint{'s' if len(names) > 1 else ''} {', '.join(names)}",
            f"no {what} limit is known: {value} is assumed",
            f"give {option}=...",
        )
        for value, names in groups.items()
    ]


def _sound(robot: "Robot", q: np.ndarray, center: np.ndarray | None, what: str) -> None:
    for i, name in enumerate(robot.joint_names):
        low, high = q[i]
        if not low < high:
            raise OptionError(
                f"joint {name!r} may move from {low:g} to {high:g}, expected lower before upper",
                "give q_limits=..., or lock the joint when loading",
            )
        if center is not None and not low < center[i] < high:
            raise OptionError(
                f"{what} of joint {name!r} is {center[i]:g}, expected within [{low:g}, {high:g}]",
                "give center=, a configuration inside the limits" if what == HOME else None,
            )


def _center(robot: "Robot", center: Any) -> np.ndarray:
    if isinstance(center, str):
        what = f"robot {robot.name!r} has no configuration {center!r}"
        one_of(center, robot.configurations, what)
        return _closed(robot, np.asarray(robot.configurations[center], dtype=float))
    array = numbers(center, "center", "one number per joint")
    drives = f", or ({robot.dof},): those of the drives" if robot.dof < robot.n else ""
    if array.shape not in ((), (robot.n,), (robot.dof,)):
        raise ShapeError(f"center has shape {array.shape}, expected ({robot.n},){drives}")
    if array.shape == (robot.n,):
        return _closed(robot, array)
    return _followed(robot, np.broadcast_to(array, (robot.dof,)).copy())


def _closed(robot: "Robot", q: np.ndarray) -> np.ndarray:
    """A configuration; one that does not close is refused."""
    refuse_unclosed(robot, q)
    return q.copy()


def _followed(robot: "Robot", center: np.ndarray) -> np.ndarray:
    """Where all joints are with the drives of a closed mechanism there, moved from its home."""
    found = follow(robot, robot.home, center)
    if found.reason:
        raise OptionError(
            f"center is {center.tolist()}: robot {robot.name!r} does not come there from its home "
            f"{np.round(robot.home[list(robot.independent)], 4).tolist()}: {found.reason}",
            "give a center nearer to it, or all joints of a configuration (robot.assemble)",
        )
    return found.q


def _given(value: Any, name: str, default: np.ndarray, what: str, robot: "Robot") -> np.ndarray:
    """Numbers like the default's, infinite ones too; what is given for one joint holds for all.

    Of a closed mechanism also those of the drives, or one for all of these.
    """
    shape, drives = default.shape, list(robot.driven)
    expected = f"{shape}: {what}"
    array = arrays.numbers(value, name, f"expected {expected}")
    if np.isnan(array).any():
        raise ShapeError(f"{name} is {shown(value)}, expected {expected}")
    own = (len(drives), *shape[1:])
    if array.shape not in (shape, own, shape[1:]):
        also = "" if own == shape else f" or {own}, of the drives"
        raise ShapeError(f"{name} has shape {array.shape}, expected {expected}{also}")
    if array.shape == shape:
        return array.copy()
    filled = default.copy()
    filled[drives] = array
    return filled


def _size(value: Any, default: np.ndarray, name: str, robot: "Robot") -> np.ndarray:
    """(n,) above zero from a number per joint, or one for all."""
    array = _given(value, name, default, "a number per joint, or one for all", robot)
    if not (array > 0.0).all():
        raise OptionError(f"{name} is {array.tolist()}, expected numbers above 0")
    return array
