"""Limits of an exciting motion: as given, from the model, or by default."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile import arrays
from ..errors import OptionError, ShapeError, did_you_mean, shown
from ..model.check.finding import Finding
from ..trajectory.arguments import numbers
from ..trajectory.trajectory import bounds

if TYPE_CHECKING:
    from ..robot import Robot

RANGE = {"revolute": np.pi / 2, "prismatic": 0.3}  # either side, rad or m, where nothing is known
RANGES = "lower and upper per joint, or one pair for all"
SPEED = {"revolute": 2.0, "prismatic": 0.5}  # rad/s or m/s, where nothing is known


@dataclass(frozen=True, eq=False)
class Bounds:
    """q (n, 2); qd, qdd and tau (n,), the same either way, infinite where there is no limit."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    center: np.ndarray | None
    findings: tuple[Finding, ...]

    @property
    def middle(self) -> np.ndarray:
        """Middle of the position range."""
        return self.q.mean(axis=1)

    @property
    def half(self) -> np.ndarray:
        """Half of the position range."""
        return (self.q[:, 1] - self.q[:, 0]) / 2.0


def resolved(
    robot: "Robot", limits: bool, center: Any, q: Any, qd: Any, qdd: Any, tau: Any
) -> Bounds:
    """What was given, else the model's own (if `limits`), else the defaults, said as findings."""
    n, found = robot.n, []
    none = np.full(n, np.inf)
    position, velocity, torque = np.full((n, 2), (-np.inf, np.inf)), none, none
    if limits:
        speed, effort = bounds(robot)
        position, velocity, torque = robot.limits, speed[:, 1], effort[:, 1]
    middle = None if center is None else _center(robot, center)
    position = position if q is None else _given(q, "q_limits", (n, 2), RANGES)
    velocity = velocity if qd is None else _size(qd, n, "qd_limits")
    acceleration = none if qdd is None else _size(qdd, n, "qdd_limits")
    torque = torque if tau is None else _size(tau, n, "torque_limits")
    position = _filled_range(robot, position, middle, found)
    velocity = _filled_speed(robot, velocity, found)
    _sound(robot, position, middle)
    return Bounds(position, velocity, acceleration, torque, middle, tuple(found))


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
    found += _assumed(robot, np.asarray(np.isinf(q).any(axis=1)), "position", said, "q_limits")
    return filled


def _filled_speed(robot: "Robot", qd: np.ndarray, found: list[Finding]) -> np.ndarray:
    default = np.array([SPEED[kind] for kind in robot.joint_kinds])
    said = [f"{v:g} {unit}/s" for v, unit in zip(default, _units(robot), strict=True)]
    found += _assumed(robot, ~np.isfinite(qd), "velocity", said, "qd_limits")
    return np.where(np.isfinite(qd), qd, default)


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


def _sound(robot: "Robot", q: np.ndarray, center: np.ndarray | None) -> None:
    for i, name in enumerate(robot.joint_names):
        low, high = q[i]
        if not low < high:
            raise OptionError(
                f"joint {name!r} may move from {low:g} to {high:g}, expected lower before upper",
                "give q_limits=..., or lock the joint when loading",
            )
        if center is not None and not low < center[i] < high:
            raise OptionError(
                f"center of joint {name!r} is {center[i]:g}, expected within [{low:g}, {high:g}]"
            )


def _center(robot: "Robot", center: Any) -> np.ndarray:
    if isinstance(center, str):
        if center not in robot.configurations:
            raise OptionError(
                f"robot {robot.name!r} has no configuration {center!r}",
                did_you_mean(center, robot.configurations),
            )
        return np.asarray(robot.configurations[center], dtype=float)
    array = numbers(center, "center", "one number per joint")
    if array.shape not in ((), (robot.n,)):
        raise ShapeError(f"center has shape {array.shape}, expected ({robot.n},)")
    return np.broadcast_to(array, (robot.n,)).copy()


def _given(value: Any, name: str, shape: tuple[int, ...], what: str) -> np.ndarray:
    """Numbers of a shape, infinite ones too; what is given for one joint holds for all."""
    expected = f"{shape}: {what}"
    array = arrays.numbers(value, name, f"expected {expected}")
    if np.isnan(array).any():
        raise ShapeError(f"{name} is {shown(value)}, expected {expected}")
    if array.shape not in (shape, shape[1:]):
        raise ShapeError(f"{name} has shape {array.shape}, expected {expected}")
    return np.broadcast_to(array, shape).copy()


def _size(value: Any, n: int, name: str) -> np.ndarray:
    """(n,) above zero from a number per joint, or one for all."""
    array = _given(value, name, (n,), "a number per joint, or one for all")
    if not (array > 0.0).all():
        raise OptionError(f"{name} is {array.tolist()}, expected numbers above 0")
    return array
