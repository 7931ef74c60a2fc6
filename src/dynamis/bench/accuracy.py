"""How far compiled results are from the same program in extended precision."""

from typing import Any

import numpy as np

from ..robot import Robot
from ..trace.interpreter import interpret


def worst_difference(robot: Robot, name: str, arguments: list[np.ndarray], got: Any) -> float:
    """max |got - exact| / max |exact| over every result."""
    results = got if isinstance(got, tuple) else (got,)
    exact = interpret(robot.program(name), arguments, np.longdouble)
    worst = 0.0
    for a, b in zip(results, exact, strict=True):
        scale = float(np.abs(b).max()) or 1.0
        worst = max(worst, float(np.abs(a - b).max()) / scale)
    return worst
