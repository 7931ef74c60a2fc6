"""Any motion as a table: pieces between knots, as many as a tolerance asks for."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import checked, positive
from ..compile import arrays
from ..errors import OptionError, ShapeError, shown
from ..user_code import location
from .polynomial import Hermite
from .trajectory import Trajectory

MOST_KNOTS = 1000
LOOKS = np.array([0.25, 0.5, 0.75])  # where between two knots the table is compared
ROWS = 3, 5  # q, qd and qdd; or with jerk and snap
States = Callable[[np.ndarray], np.ndarray]  # times (K,) to (K, 3 or 5, n)


@checked
def from_function(function: Any, duration: float, tolerance: float = 1e-6) -> Hermite:
    """A function t -> (q, qd, qdd) from 0 to `duration` as a trajectory, which can be exported.

    One that returns (q, qd, qdd, jerk, snap) makes a trajectory that has them too.

    Knots are added until q keeps within `tolerance` (rad or m) of the function, looked at three
    times between any two. qd and qdd must be the derivatives of q.
    """
    if not callable(function):
        raise OptionError(f"function is {shown(function)}, expected a function of t")
    what = f"function{location(function)}"
    end = positive(duration, "duration", "seconds")
    shape = _state(function, 0.0, what).shape

    def states(times: np.ndarray) -> np.ndarray:
        return np.stack([_state(function, float(t), what, shape) for t in times])

    return fitted(states, (0.0, end), positive(tolerance, "tolerance", "rad or m"), what)


def simplified(trajectory: Trajectory, tolerance: float) -> Hermite:
    """One period or the whole of a trajectory with knots only where `tolerance` asks for them."""

    def states(times: np.ndarray) -> np.ndarray:
        found: Any = trajectory.derivatives(times) if trajectory.smooth else trajectory(times)
        return np.stack(found, axis=1)

    ends = trajectory.knots[0], trajectory.duration
    return fitted(states, ends, positive(tolerance, "tolerance", "rad or m"), repr(trajectory))


def fitted(states: States, ends: tuple[float, float], tolerance: float, what: str) -> Hermite:
    """Pieces between knots that halve an interval until all keep within the tolerance."""
    knots = np.array(ends)
    table = states(knots)
    while True:
        inside = knots[:-1, None] + LOOKS * np.diff(knots)[:, None]
        there = states(inside.ravel())
        error = np.abs(Hermite(knots.tolist(), table)(inside.ravel()).q - there[:, 0])
        wrong = ~(error.reshape(len(inside), -1).max(axis=1) <= tolerance)
        if not wrong.any():
            return Hermite(knots.tolist(), table)
        if len(knots) + wrong.sum() > MOST_KNOTS:
            worst = int(np.argmax(error.max(axis=1)))
            raise OptionError(
                f"{what} needs more than {MOST_KNOTS} knots for a tolerance of {tolerance:g}: at "
                f"t = {inside.ravel()[worst]:g} s its positions are not what its velocities give",
                "are qd and qdd the derivatives of q, without jumps? Or a larger tolerance=",
            )
        middle = len(LOOKS) // 2
        new = there.reshape(*inside.shape, *there.shape[1:])[wrong, middle]
        places = np.flatnonzero(wrong) + 1
        knots = np.insert(knots, places, inside[wrong, middle])
        table = np.insert(table, places, new, axis=0)


def _state(
    function: Callable[[float], Any], t: float, what: str, shape: tuple[int, ...] | None = None
) -> np.ndarray:
    """(3, n): q, qd and qdd at one time; (5, n) with jerk and snap."""
    found = function(t)
    expected = "expected (q, qd, qdd), each with one number per joint"
    if not isinstance(found, (tuple, list, np.ndarray)) or len(found) not in ROWS:
        raise OptionError(f"{what} returned {shown(found)} at t = {t:g} s, {expected}")
    rows = [np.atleast_1d(arrays.numbers(x, f"{what} at t = {t:g} s", expected)) for x in found]
    shapes = [x.shape for x in rows]
    if len(set(shapes)) > 1 or rows[0].ndim != 1 or shape not in (None, (len(rows), *shapes[0])):
        raise ShapeError(f"{what} returned shapes {shapes} at t = {t:g} s, {expected}")
    if not np.isfinite(rows).all():
        raise OptionError(f"{what} returned {rows} at t = {t:g} s, expected finite numbers")
    return np.stack(rows)
