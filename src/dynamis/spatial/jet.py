"""Scalars that carry their first two time derivatives along: (value, rate, acceleration).

An algorithm over them gives its result and how that changes: f(x), d/dt f(x), d^2/dt^2 f(x).
Numbers among them are constant. `sign` and `floor` are taken as constant between their steps;
where `min` and `max` meet, slopes are the mean of both sides.
"""

from collections.abc import Callable
from typing import Any

from .functions import Functions
from .recorder import COMPARISONS, Arithmetic

Three = tuple[Any, Any, Any]


class Jet(Arithmetic):
    """x, x' and x'' of one scalar."""

    __slots__ = ("acceleration", "rate", "value")
    __array_ufunc__ = None  # an array times a Jet is a Jet

    def __init__(self, value: Any, rate: Any, acceleration: Any):
        self.value, self.rate, self.acceleration = value, rate, acceleration

    def operation(self, name: str, *operands: Any) -> Any:
        """The rule of an operation."""
        if name in COMPARISONS:
            return COMPARISONS[name](*(parts(x)[0] for x in operands))
        return Jet(*RULES[name](*map(parts, operands)))


def parts(x: Any) -> Three:
    """x, x', x'' of a Jet or a constant."""
    return (x.value, x.rate, x.acceleration) if isinstance(x, Jet) else (x, 0.0, 0.0)


def _add(a: Three, b: Three) -> Three:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _neg(a: Three) -> Three:
    return -a[0], -a[1], -a[2]


def _mul(a: Three, b: Three) -> Three:
    return (
        a[0] * b[0],
        a[1] * b[0] + a[0] * b[1],
        a[2] * b[0] + 2.0 * (a[1] * b[1]) + a[0] * b[2],
    )


def _div(a: Three, b: Three) -> Three:
    c = a[0] / b[0]
    cd = (a[1] - c * b[1]) / b[0]
    return c, cd, (a[2] - 2.0 * (cd * b[1]) - c * b[2]) / b[0]


def _pow(a: Three, b: Three) -> Three:
    p = b[0]  # a constant
    slope = p * a[0] ** (p - 1.0)
    return _chain(a, a[0] ** p, slope, p * (p - 1.0) * a[0] ** (p - 2.0))


RULES: dict[str, Callable[..., Three]] = {
    "add": _add,
    "sub": lambda a, b: (a[0] - b[0], a[1] - b[1], a[2] - b[2]),
    "mul": _mul,
    "div": _div,
    "neg": _neg,
    "pow": _pow,
}


def _chain(x: Three, f: Any, slope: Any, curvature: Any) -> Three:
    """f(x) and its time derivatives: f' x', f' x'' + f'' x'^2."""
    return f, slope * x[1], slope * x[2] + curvature * (x[1] * x[1])


def jet_functions(fn: Functions) -> Functions:
    """The elementary functions of Jets whose entries are scalars of `fn`."""

    def sin(x: Three) -> Three:
        s, c = fn.sin(x[0]), fn.cos(x[0])
        return _chain(x, s, c, -s)

    def cos(x: Three) -> Three:
        s, c = fn.sin(x[0]), fn.cos(x[0])
        return _chain(x, c, -s, -c)

    def sqrt(x: Three) -> Three:
        r = fn.sqrt(x[0])
        slope = 0.5 / r
        return _chain(x, r, slope, -0.5 * slope / x[0])

    def exp(x: Three) -> Three:
        e = fn.exp(x[0])
        return _chain(x, e, e, e)

    def tanh(x: Three) -> Three:
        t = fn.tanh(x[0])
        slope = 1.0 - t * t
        return _chain(x, t, slope, -2.0 * t * slope)

    def log(x: Three) -> Three:
        slope = 1.0 / x[0]
        return _chain(x, fn.log(x[0]), slope, -slope * slope)

    def atan2(y: Three, x: Three) -> Three:
        square = _add(_mul(x, x), _mul(y, y))
        turning = x[0] * y[1] - y[0] * x[1], x[0] * y[2] - y[0] * x[2]
        rate = turning[0] / square[0]
        return fn.atan2(y[0], x[0]), rate, (turning[1] - rate * square[1]) / square[0]

    def greater(a: Three, b: Three, which: Callable[[Any, Any], Any], side: float) -> Three:
        share = 0.5 + 0.5 * side * fn.sign(a[0] - b[0])  # of a; 1/2 where they meet
        rest = 1.0 - share
        return which(a[0], b[0]), share * a[1] + rest * b[1], share * a[2] + rest * b[2]

    def select(condition: Any, a: Any, b: Any) -> Any:
        pairs = zip(parts(a), parts(b), strict=True)
        return Jet(*(fn.select(parts(condition)[0], x, y) for x, y in pairs))

    def lifted(rule: Callable[..., Three], plain: Callable[..., Any]) -> Callable[..., Any]:
        """A rule for Jets; constants stay constants."""

        def call(*given: Any) -> Any:
            if not any(isinstance(x, Jet) for x in given):
                return plain(*given)
            return Jet(*rule(*map(parts, given)))

        return call

    rules = {"sin": sin, "cos": cos, "sqrt": sqrt, "exp": exp, "tanh": tanh, "log": log}
    rules |= {
        "atan2": atan2,
        "min": lambda a, b: greater(a, b, fn.min, -1.0),
        "max": lambda a, b: greater(a, b, fn.max, 1.0),
    }
    return Functions(
        **{name: lifted(rule, getattr(fn, name)) for name, rule in rules.items()},
        select=select,
        sign=lambda x: fn.sign(parts(x)[0]),
        floor=lambda x: fn.floor(parts(x)[0]),
    )
