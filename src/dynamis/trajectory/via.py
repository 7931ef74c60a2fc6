"""Through points at given times: the quintic spline.

Position to fourth derivative (snap) are continuous at every point; of all motions through the
points with the given ends it has the least integral of jerk squared.
C. de Boor, A Practical Guide to Splines, 1978.
"""

from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from ..errors import ShapeError
from .arguments import increasing, numbers, vectors
from .polynomial import Hermite


def via(
    points: Any, times: Any, qd0: Any = 0, qd1: Any = 0, qdd0: Any = 0, qdd1: Any = 0
) -> Hermite:
    """Through `points` (k, n) at `times` (k,), which begin at 0; at rest at both ends by default.

    Unevenly spaced times can make a spline swing past its points: `check` tells.
    """
    t = increasing(times, "times")
    rows = numbers(points, "points", "k points of n joints, (k, n)")
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != len(t) or rows.shape[1] == 0:
        raise ShapeError(
            f"points has shape {rows.shape} for {len(t)} times, expected ({len(t)}, n)",
            "give one point per time, one number per joint in each",
        )
    if t[0] != 0.0:
        raise ShapeError(f"times begins at {t[0]:g}, expected 0", "subtract the first time")
    given = {"points[0]": rows[0], "qd0": qd0, "qd1": qd1, "qdd0": qdd0, "qdd1": qdd1}
    _, v0, v1, a0, a1 = (np.array(x) for x in vectors(given))
    return spline(t, rows, (v0, a0), (v1, a1))


def spline(t: np.ndarray, rows: np.ndarray, first: Any, last: Any) -> Hermite:
    """The quintic spline with (velocity, acceleration) given at both ends."""
    ends = [(1, first[0]), (2, first[1])], [(1, last[0]), (2, last[1])]
    states = np.empty((len(t), 3, rows.shape[1]))
    states[:, 0] = rows
    if len(t) > 2:
        curve = make_interp_spline(t, rows, k=5, bc_type=ends)
        states[:, 1], states[:, 2] = curve(t, 1), curve(t, 2)
    states[0, 1:], states[-1, 1:] = first, last
    return Hermite(t.tolist(), states)
