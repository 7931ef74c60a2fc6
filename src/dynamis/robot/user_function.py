"""Compilation of functions of one's own over a robot."""

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, formerly, robot_second, whole
from ..compile import arrays
from ..errors import DynamisError, OptionError, shown
from ..lazy import LOCK
from ..user_code import explained, location
from .arm import arm_of

if TYPE_CHECKING:
    from . import Robot

MOST = 10_000  # entries of an argument of a compiled function


@checked
@formerly(robot_second)
def compile_function(
    robot: "Robot", function: Callable[..., Any], sizes: Mapping[str, int] | None = None
) -> Callable[..., Any]:
    """Machine code of `function(arm, q, ...)`, any scalar-generic function of a robot.

    The first parameter receives an `Arm`; the others are vectors as long as q unless `sizes` says
    otherwise. It may return a scalar, a vector or rows of a matrix. The result takes arrays and
    broadcasts like every method of a Robot (`out=`, `threads=`, `dtype=`).
    """
    from ..compile.service import Code

    names = _vectors(function)
    named = str(getattr(function, "__name__", type(function).__name__))
    unknown = next((s for s in sizes or {} if s not in names), None)
    if unknown is not None:
        raise OptionError(
            f"sizes names {shown(unknown)}, expected parameters of the function after the first: "
            f"{', '.join(names)}"
        )
    lengths = {k: whole(v, f"sizes[{k!r}]", most=MOST) for k, v in (sizes or {}).items()}
    with LOCK:
        from ..compile.function import Function
        from ..compile.libraries import evaluate_elsewhere, origins
        from ..compile.optimise import share_reciprocals
        from ..compile.program import Port
        from ..compile.tracer import SX, nested, program_of, symbols

        inputs = [Port(name, (lengths.get(name, robot.n),)) for name in names]
        columns = symbols(inputs)

        def over(given: Sequence[Any]) -> list[Any]:
            scalars = [nested(c, p.shape) for c, p in zip(given, inputs, strict=True)]
            return [_lists(over_symbols(function, named, arm_of(robot, SX), *scalars))]

        (result,) = over(columns)
        outputs = [Port("result", _shape(result, f"{named}{location(function)}"))]
        traced = share_reciprocals(program_of(named, columns, [result], inputs, outputs))
    made = Function(named, (traced.text,), tuple(inputs), tuple(outputs), over, lambda: traced)
    codes: dict[str, Code] = {}
    what = f"{named} of robot {robot.name!r}"

    def evaluated(given: Mapping[str, Any], options: Mapping[str, Any], callable_: Any) -> Any:
        if arrays.foreign(given.values()) and origins(given.values()):
            return evaluate_elsewhere(made, given, options, what)
        out, threads, kind = arrays.checked_options(options)
        code = codes.get(kind.name)
        if code is None:
            code = codes[kind.name] = made.code(kind.name)
        if callable_ is not None:
            arrays.install(callable_, code)
        checked = [arrays.as_batch(given[p.name], p.name, p.shape, what) for p in inputs]
        return arrays.run(code, checked, names, out, threads)

    call: Any = arrays.function(named, names, evaluated)
    call.program = traced
    call.__name__ = call.__qualname__ = named
    call.__doc__ = function.__doc__
    return call


def _vectors(function: Any) -> list[str]:
    """Names of the parameters after the first; a function that cannot be traced is refused."""
    expected = "expected a function(arm, q, ...)"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # no function, or a builtin that keeps it to itself
        raise OptionError(f"{shown(function)} was given, {expected}") from None
    kinds = {p.kind for p in signature.parameters.values()}
    plain = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    if isinstance(function, type) or len(signature.parameters) < 2 or not kinds <= plain:
        raise OptionError(f"{shown(function)} takes {signature}, {expected}")
    return list(signature.parameters)[1:]


def over_symbols(function: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """What a function of the user's returns for symbols; what cannot be traced is said plainly."""
    from ..compile.tracer import no_numbers

    with warnings.catch_warnings(), no_numbers():
        warnings.simplefilter("ignore", FutureWarning)  # NumPy functions on CasADi values work
        try:
            found = function(*arguments)
        except DynamisError:
            raise
        except Exception as error:  # whatever somebody else's code does with a symbol
            said, hint = explained(error, "arm", f"{name} cannot be compiled")
            raise OptionError(said, _arm_first(function, error) or hint) from error
    if any(map(_is_nan, _leaves(found))):
        raise OptionError(
            f"{name}{location(function)} gives NaN whatever its arguments",
            "look where the NaN comes from: a constant, 0.0 / 0.0, the square root of -1",
        )
    return found


def _arm_first(function: Callable[..., Any], error: Exception) -> str | None:
    """What to write where a function uses the arm as if it were a vector."""
    names = list(inspect.signature(function).parameters)
    if "'Arm'" not in str(error) or isinstance(error, AttributeError) or "arm" in names[:1]:
        return None
    named = getattr(function, "__name__", "function")
    return f"the first parameter is the arm: def {named}({', '.join(('arm', *names))})"


def _leaves(value: Any) -> Iterator[Any]:
    """Every scalar of nested lists, arrays and mappings."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple, np.ndarray)):
        yield value
        return
    for item in value:
        yield from _leaves(item)


def _is_nan(value: Any) -> bool:
    """Whether a scalar is the constant NaN, as a number or as a symbol."""
    if isinstance(value, float):
        return value != value
    if not hasattr(value, "is_constant") or value.numel() != 1 or not value.is_constant():
        return False
    number = float(value)
    return number != number


def _lists(value: Any) -> Any:
    """Arrays of scalars, and columns and matrices of CasADi, as nested lists."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif hasattr(value, "numel") and value.numel() != 1:
        rows, columns = value.shape
        nested = [[value[i, j] for j in range(columns)] for i in range(rows)]
        value = nested if columns > 1 else [row[0] for row in nested]
    if isinstance(value, (list, tuple)):
        return [_lists(x) for x in value]
    return value


def _shape(value: Any, name: str) -> tuple[int, ...]:
    """() of a scalar, (m,) of a list, (m, k) of rows; anything else is refused."""
    if not isinstance(value, (list, tuple)):
        if isinstance(value, (str, bytes, dict, set, type(None))) or callable(value):
            raise OptionError(
                f"{name} returned {shown(value)}, expected scalars, or lists of them",
                "end it with: return ..." if value is None else None,
            )
        return ()
    shapes = list(dict.fromkeys(_shape(x, name) for x in value))
    if len(shapes) != 1:
        parts = ", ".join(str(shape) if shape else "scalar" for shape in shapes[:4])
        returned = f"parts of different shapes: {parts}" if shapes else "an empty list"
        raise OptionError(
            f"{name} returned {returned}, expected a scalar, a list, or rows of one length",
            "several results: compile one function for each, or return all entries in one list",
        )
    return (len(value), *shapes[0])
