"""One polynomial from one state to another: cubic, quintic, septic."""

from typing import Any

from .arguments import positive, vectors
from .hermite import Hermite


def cubic(q0: Any, q1: Any, duration: float, qd0: Any = 0, qd1: Any = 0) -> Hermite:
    """From q0 to q1 with given velocities at the ends; the acceleration jumps there."""
    return _between(duration, {"q0": q0, "qd0": qd0}, {"q1": q1, "qd1": qd1})


def quintic(
    q0: Any,
    q1: Any,
    duration: float,
    qd0: Any = 0,
    qd1: Any = 0,
    qdd0: Any = 0,
    qdd1: Any = 0,
) -> Hermite:
    """From q0 to q1 with given velocities and accelerations: rest to rest it has minimum jerk."""
    first, last = {"q0": q0, "qd0": qd0, "qdd0": qdd0}, {"q1": q1, "qd1": qd1, "qdd1": qdd1}
    return _between(duration, first, last)


def septic(
    q0: Any,
    q1: Any,
    duration: float,
    qd0: Any = 0,
    qd1: Any = 0,
    qdd0: Any = 0,
    qdd1: Any = 0,
    qddd0: Any = 0,
    qddd1: Any = 0,
) -> Hermite:
    """From q0 to q1 with given velocities, accelerations and jerks."""
    first = {"q0": q0, "qd0": qd0, "qdd0": qdd0, "qddd0": qddd0}
    last = {"q1": q1, "qd1": qd1, "qdd1": qdd1, "qddd1": qddd1}
    return _between(duration, first, last)


def _between(duration: Any, first: dict[str, Any], last: dict[str, Any]) -> Hermite:
    duration = positive(duration, "duration", "in seconds")
    rows = vectors({**first, **last})
    return Hermite((0.0, duration), [rows[: len(first)], rows[len(first) :]])
