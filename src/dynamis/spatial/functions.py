"""The elementary functions an algorithm may use, as one small namespace.

An algorithm receives a `Functions` and never asks what its scalars are. It does not branch on a
value: it writes `fn.select(condition, a, b)`.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

SNAP = 1e-11  # a constant angle this close to a multiple of pi/2 is meant to be it


class Functions(NamedTuple):
    """Elementary functions of one kind of scalar."""

    sin: Callable[[Any], Any]
    cos: Callable[[Any], Any]
    sqrt: Callable[[Any], Any]
    exp: Callable[[Any], Any]
    tanh: Callable[[Any], Any]
    sign: Callable[[Any], Any]
    min: Callable[[Any, Any], Any]
    max: Callable[[Any, Any], Any]
    select: Callable[[Any, Any, Any], Any]
    floor: Callable[[Any], Any] = math.floor
    log: Callable[[Any], Any] = math.log
    atan2: Callable[[Any, Any], Any] = math.atan2


def _or_nan(function: Callable[[float], float]) -> Callable[[float], float]:
    """NaN where the real function is undefined, infinity where it overflows; `math` raises."""

    def call(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return call


MATH = Functions(
    sin=_or_nan(math.sin),
    cos=_or_nan(math.cos),
    sqrt=_or_nan(math.sqrt),
    exp=_or_nan(math.exp),
    tanh=math.tanh,
    sign=lambda x: math.nan if x != x else float((x > 0) - (x < 0)),
    min=lambda a, b: math.nan if a != a or b != b else min(a, b),
    max=lambda a, b: math.nan if a != a or b != b else max(a, b),
    select=lambda condition, a, b: a if condition else b,
    floor=lambda x: float(math.floor(x)) if math.isfinite(x) else x,
    log=_or_nan(math.log),
    atan2=math.atan2,
)


def cos_sin(angle: Any, fn: Functions = MATH) -> tuple[Any, Any]:
    """(cos, sin) of a constant angle; right angles given as floats become exact 0, 1 and -1."""
    if not isinstance(angle, (int, float)):
        return fn.cos(angle), fn.sin(angle)
    c, s = math.cos(angle), math.sin(angle)
    if min(abs(c), abs(s)) < SNAP:
        return float(round(c)), float(round(s))
    return c, s


def zero(x: Any) -> bool:
    """Whether a scalar is the number 0, so that what it multiplies can be left out."""
    return isinstance(x, (int, float)) and x == 0.0
