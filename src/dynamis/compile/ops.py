"""The closed list of operations a Program may use; every backend prints exactly these.

Conditions are the numbers 1 and 0. NaN propagates through every operation but the comparisons
(which are false, `ne` true) and `select`, which takes one of its branches.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Op(NamedTuple):
    """One operation: how many operands, what it counts as, and what it means."""

    arity: int
    kind: str  # "mul", "add", "div", "trig", "function", "logic", "free"
    meaning: Callable[..., Any]


def _number(condition: Any) -> Any:
    return np.where(condition, 1.0, 0.0)


OPS: Mapping[str, Op] = {
    "add": Op(2, "add", lambda a, b: a + b),
    "sub": Op(2, "add", lambda a, b: a - b),
    "mul": Op(2, "mul", lambda a, b: a * b),
    "div": Op(2, "div", lambda a, b: a / b),
    "neg": Op(1, "free", lambda a: -a),
    "sin": Op(1, "trig", np.sin),
    "cos": Op(1, "trig", np.cos),
    "sqrt": Op(1, "function", np.sqrt),
    "exp": Op(1, "function", np.exp),
    "log": Op(1, "function", np.log),
    "tanh": Op(1, "function", np.tanh),
    "pow": Op(2, "function", np.power),
    "atan2": Op(2, "function", np.arctan2),
    "floor": Op(1, "function", np.floor),
    "abs": Op(1, "logic", np.abs),
    "sign": Op(1, "logic", np.sign),
    "min": Op(2, "logic", np.minimum),
    "max": Op(2, "logic", np.maximum),
    "lt": Op(2, "logic", lambda a, b: _number(a < b)),
    "le": Op(2, "logic", lambda a, b: _number(a <= b)),
    "eq": Op(2, "logic", lambda a, b: _number(a == b)),
    "ne": Op(2, "logic", lambda a, b: _number(a != b)),
    "not": Op(1, "logic", lambda a: _number(a == 0)),
    "and": Op(2, "logic", lambda a, b: _number((a != 0) & (b != 0))),
    "or": Op(2, "logic", lambda a, b: _number((a != 0) | (b != 0))),
    "select": Op(3, "logic", lambda c, a, b: np.where(c != 0, a, b)),
}

COMMUTATIVE = frozenset({"add", "mul", "min", "max", "eq", "ne", "and", "or"})
