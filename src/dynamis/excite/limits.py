"""Limits of an exciting motion: as given, from the model, or by default."""

from collections.abc import Callable, Sequence
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
    if not isinstance(limits, (bool, np.bool_)):
        raise OptionError(f"limits is {limits!r}, expected True (the model's) or False")
    n, found = robot.n, []
    speed, effort = bounds(robot)
    own = {"q": robot.limits, "qd": speed[:, 1], "tau": effort[:, 1]}
    if not limits:
        own = {name: np.full_like(value, np.inf) for name, value in own.items()}
        own["q"] = np.full((n, 2), (-np.inf, np.inf))
    middle = None if center is None else _center(robot, center)
    position = own["q"] if q is None else _range(q, n)
    velocity = own["qd"] if qd is None else _size(qd, n, "qd_limits")
    acceleration = np.full(n, np.inf) if qdd is None else _size(qdd, n, "qdd_limits")
    torque = own["tau"] if tau is None else _size(tau, n, "torque_limits")
    kinds = robot.joint_kinds
    position = _filled_range(robot, position, middle, kinds, found)
    velocity = _filled_speed(robot, velocity, kinds, found)
    _sound(robot, position, middle)
    return Bounds(position, velocity, acceleration, torque, middle, tuple(found))


def _filled_range(
    robot: "Robot",
    q: np.ndarray,
    center: np.ndarray | None,
    kinds: Sequence[str],
    found: list[Finding],
) -> np.ndarray:
    reach = np.array([RANGE[kind] for kind in kinds])
    about = np.zeros(robot.n) if center is None else center
    low, high = q.T
    new_low = np.where(np.isfinite(high) & (center is None), high - 2.0 * reach, about - reach)
    new_high = np.where(np.isfinite(low) & (center is None), low + 2.0 * reach, about + reach)
    filled = np.stack([np.where(np.isfinite(low), low, new_low),
                       np.where(np.isfinite(high), high, new_high)], axis=-1)  # fmt: skip
    missing = np.asarray(np.isinf(q).any(axis=1))
    found += _assumed(robot, missing, "position", lambda i: f"[{filled[i, 0]:.4g}, "
                      f"{filled[i, 1]:.4g}] {_unit(kinds[i])}", "q_limits")  # fmt: skip
    return filled


def _filled_speed(
    robot: "Robot", qd: np.ndarray, kinds: Sequence[str], found: list[Finding]
) -> np.ndarray:
    default = np.array([SPEED[kind] for kind in kinds])
    missing = ~np.isfinite(qd)
    found += _assumed(robot, missing, "velocity", lambda i: f"{default[i]:g} {_unit(kinds[i])}/s",
                      "qd_limits")  # fmt: skip
    return np.where(missing, default, qd)


def _assumed(
    robot: "Robot", missing: np.ndarray, what: str, text: Callable[[int], str], option: str
) -> list[Finding]:
    """One finding for all joints that share a default."""
    groups: dict[str, list[str]] = {}
    for i in np.flatnonzero(missing):
        groups.setdefault(text(int(i)), []).append(robot.joint_names[int(i)])
    return [
        Finding(
            "note",
            f"joint{'s' if len(names) > 1 else ''} {', '.join(names)}",
            f"no {what} limit is known: {value} is assumed",
            f"give {option}=...",
        )
        for value, names in groups.items()
    ]


def _unit(kind: str) -> str:
    return "rad" if kind == "revolute" else "m"


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


def _range(value: Any, n: int) -> np.ndarray:
    """(n, 2) from a pair per joint, or one pair for all."""
    expected = f"({n}, 2): lower and upper per joint, or one pair for all"
    array = _maybe_infinite(value, "q_limits", expected)
    if array.shape not in ((2,), (n, 2)):
        raise ShapeError(f"q_limits has shape {array.shape}, expected {expected}")
    return np.broadcast_to(array, (n, 2)).copy()


def _size(value: Any, n: int, name: str) -> np.ndarray:
    """(n,) above zero from a number per joint, or one for all."""
    array = _maybe_infinite(value, name, "one number per joint, or one for all")
    if array.shape not in ((), (n,)):
        raise ShapeError(f"{name} has shape {array.shape}, expected ({n},): a number per joint")
    if not (array > 0.0).all():
        raise OptionError(f"{name} is {array.tolist()}, expected numbers above 0")
    return np.broadcast_to(array, (n,)).copy()


def _maybe_infinite(value: Any, name: str, expected: str) -> np.ndarray:
    array = arrays.numbers(value, name, f"expected {expected}")
    if np.isnan(array).any():
        raise ShapeError(f"{name} is {shown(value)}, expected {expected}")
    return array
