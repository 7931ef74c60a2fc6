"""Gains from a bandwidth w and a damping ratio: the poles of the error where they are wanted.

second order   e'' + kd e' + kp e = 0               (s^2 + 2 damping w s + w^2)
third order    e''' + kd e'' + kp e' + ki e = 0     (s + ratio w)(s^2 + 2 damping w s + w^2)
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import positive
from ..errors import OptionError, ShapeError, shown
from ..evaluate import numbers

if TYPE_CHECKING:
    from ..robot import Robot

FASTEST = 0.5  # bandwidth times sample time; a sampled double integrator is lost at 1 / damping


def second_order(bandwidth: Any, damping: Any = 1.0) -> tuple[Any, Any]:
    """(kp, kd) = (w^2, 2 damping w); w in rad/s, one number or one per joint."""
    w, zeta = _positive(bandwidth, "bandwidth"), _positive(damping, "damping")
    return _plain(w * w), _plain(2.0 * zeta * w)


def third_order(bandwidth: Any, damping: Any = 1.0, ratio: Any = 1.0) -> tuple[Any, Any, Any]:
    """(kp, kd, ki) of a loop with integral: the third pole is at -ratio w."""
    w, zeta = _positive(bandwidth, "bandwidth"), _positive(damping, "damping")
    a = _positive(ratio, "ratio")
    kp, kd, ki = (1.0 + 2.0 * zeta * a) * w * w, (2.0 * zeta + a) * w, a * w * w * w
    return _plain(kp), _plain(kd), _plain(ki)


def check_sampling(bandwidth: Any, sample_time: float | None) -> None:
    """Refuse a bandwidth that its sample time cannot hold: w T > 0.5."""
    if sample_time is None:
        return
    sample_time = positive(sample_time, "sample_time", "seconds")
    product = float(np.max(_positive(bandwidth, "bandwidth"))) * sample_time
    if product > FASTEST:
        raise OptionError(
            f"bandwidth {bandwidth} rad/s times sample_time {sample_time} s is {product:.3g}, "
            f"expected at most {FASTEST}: the sampled loop would ring or diverge",
            f"lower the bandwidth below {FASTEST / sample_time:.3g} rad/s or sample faster",
        )


def one_position(robot: "Robot", q: Any = None) -> np.ndarray:
    """q (n,), finite; zero if not given."""
    if q is None:
        return np.zeros(robot.n)
    found = numbers(q, "q", f"expected {robot.n} positions")
    if found.shape != (robot.n,) or not np.isfinite(found).all():
        raise ShapeError(f"q is {shown(q)}, expected {robot.n} finite positions")
    return found


def joint_inertia(robot: "Robot", q: Any = None) -> np.ndarray:
    """Diagonal of the mass matrix at q (zero if not given), (n,): what each joint must move."""
    return np.diagonal(robot.mass_matrix(one_position(robot, q))).copy()


def for_inertia(gains: tuple[Any, ...], inertia: np.ndarray) -> list[tuple[float, ...]]:
    """Gains of a unit inertia, each times the inertia it has to move."""
    size = len(inertia)
    for gain in gains:
        if np.shape(gain) not in ((), (size,)):
            raise ShapeError(
                f"bandwidth or damping has {np.size(gain)} numbers, expected one or {size}"
            )
    return [tuple((inertia * np.asarray(gain)).tolist()) for gain in gains]


def _positive(value: Any, name: str) -> np.ndarray:
    try:
        given = numbers(value, name, "")
    except ShapeError:
        given = np.zeros((0,))
    if given.ndim > 1 or not given.size:
        raise OptionError(f"{name} is {shown(value)}, expected a number above 0 or one per joint")
    if not (np.isfinite(given).all() and (given > 0.0).all()):
        raise OptionError(f"{name} is {shown(value)}, expected finite numbers above 0")
    return given


def _plain(value: np.ndarray) -> Any:
    """A float or a tuple of floats: fields of a frozen dataclass that compare and hash."""
    return float(value) if value.ndim == 0 else tuple(value.tolist())
