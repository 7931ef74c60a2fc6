"""Tracing: run a scalar-generic function over CasADi SX and read its instruction tape."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from ..errors import OptionError
from ..spatial.functions import Functions
from ..spatial.jet import Jet
from ..spatial.recorder import BY_ZERO, NOT_A_NUMBER, NUMBER
from ..user_code import PACKAGE
from .builder import Builder
from .program import Port, Program


class Scalar(ca.SX):
    """A scalar of a trace.

    CasADi's own operators try every meaning of their arguments before this one, 20 to 50 us each;
    here an operation is asked for by name, with the same result, in 3.
    """

    def __neg__(self) -> Any:
        return _unary(ca.OP_NEG, self)


def _scalar(value: Any) -> Any:
    """Let a 1x1 expression of CasADi's go on as a Scalar."""
    if type(value) is ca.SX and value.numel() == 1:
        value.__class__ = Scalar
    return value


@lru_cache(4096)
def _constant(value: float) -> Any:
    return ca.SX(value)


def _unary(op: int, x: Any) -> Any:
    found = ca.SX.unary(op, x)
    found.__class__ = Scalar
    return found


def _binary(op: int, a: Any, b: Any) -> Any:
    found = ca.SX.binary(op, a, b)
    found.__class__ = Scalar
    return found


def _refuse_number(number: float) -> None:
    """Refuse NaN, and a division by 0, in somebody else's code: no number would come out of it."""
    own = sys._getframe(2).f_code.co_filename.startswith(PACKAGE)
    if getattr(_traced, "depth", 0) and not own:
        raise ZeroDivisionError(BY_ZERO) if number == 0 else TypeError(NOT_A_NUMBER)


def _operator(op: int, name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    inherited = getattr(ca.SX, name)
    by_zero = op == ca.OP_DIV and not swapped

    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is float or kind is int:
            if other != other or (other == 0 and by_zero):
                _refuse_number(other)
            other = _constant(other)
        elif kind is Jet:
            return NotImplemented
        elif kind is not Scalar:
            return _scalar(inherited(self, other))
        return _binary(op, other, self) if swapped else _binary(op, self, other)

    return method


for _op, _name in (
    (ca.OP_ADD, "add"),
    (ca.OP_SUB, "sub"),
    (ca.OP_MUL, "mul"),
    (ca.OP_DIV, "truediv"),
):
    setattr(Scalar, f"__{_name}__", _operator(_op, f"__{_name}__"))
    setattr(Scalar, f"__i{_name}__", _operator(_op, f"__i{_name}__"))
    setattr(Scalar, f"__r{_name}__", _operator(_op, f"__r{_name}__", swapped=True))
for _op, _name, _reverse in ((ca.OP_LT, "lt", "gt"), (ca.OP_LE, "le", "ge")):
    setattr(Scalar, f"__{_name}__", _operator(_op, f"__{_name}__"))
    setattr(Scalar, f"__{_reverse}__", _operator(_op, f"__{_reverse}__", swapped=True))


def _function(op: int, general: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        return _unary(op, x) if type(x) is Scalar else _scalar(general(x))

    return call


def _of_two(op: int, general: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(a: Any, b: Any) -> Any:
        scalars = {type(a), type(b)}
        plain = Scalar in scalars and scalars <= {Scalar, float, int}
        return _binary(op, a, b) if plain else _scalar(general(a, b))

    return call


def _select(condition: Any, a: Any, b: Any) -> Any:
    if type(condition) is not Scalar or not {type(a), type(b)} <= {Scalar, float, int}:
        return _scalar(ca.if_else(condition, a, b))
    opposite = _unary(ca.OP_NOT, condition)
    return _binary(ca.OP_IF_ELSE_ZERO, condition, a) + _binary(ca.OP_IF_ELSE_ZERO, opposite, b)


SX = Functions(
    sin=_function(ca.OP_SIN, ca.sin),
    cos=_function(ca.OP_COS, ca.cos),
    sqrt=_function(ca.OP_SQRT, ca.sqrt),
    exp=_function(ca.OP_EXP, ca.exp),
    tanh=_function(ca.OP_TANH, ca.tanh),
    sign=_function(ca.OP_SIGN, ca.sign),
    min=_of_two(ca.OP_FMIN, ca.fmin),
    max=_of_two(ca.OP_FMAX, ca.fmax),
    select=_select,
    floor=_function(ca.OP_FLOOR, ca.floor),
    log=_function(ca.OP_LOG, ca.log),
    atan2=_of_two(ca.OP_ATAN2, ca.atan2),
)

# CasADi operation -> ours
DIRECT: Mapping[int, str] = {
    ca.OP_ADD: "add",
    ca.OP_SUB: "sub",
    ca.OP_MUL: "mul",
    ca.OP_DIV: "div",
    ca.OP_NEG: "neg",
    ca.OP_SIN: "sin",
    ca.OP_COS: "cos",
    ca.OP_SQRT: "sqrt",
    ca.OP_EXP: "exp",
    ca.OP_LOG: "log",
    ca.OP_TANH: "tanh",
    ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow",
    ca.OP_ATAN2: "atan2",
    ca.OP_FLOOR: "floor",
    ca.OP_FABS: "abs",
    ca.OP_SIGN: "sign",
    ca.OP_FMIN: "min",
    ca.OP_FMAX: "max",
    ca.OP_LT: "lt",
    ca.OP_LE: "le",
    ca.OP_EQ: "eq",
    ca.OP_NE: "ne",
    ca.OP_NOT: "not",
    ca.OP_AND: "and",
    ca.OP_OR: "or",
}


def symbols(ports: Sequence[Port]) -> list[Any]:
    """A column of fresh SX symbols per port."""
    return [ca.SX.sym(port.name, port.size) for port in ports]


_traced = threading.local()  # .depth: how many traces of somebody else's code this thread is in
_float = ca.SX.__float__


def _number(self: Any) -> float:
    """CasADi's float() gives NaN for a symbol; while code is traced, raise instead."""
    if getattr(_traced, "depth", 0) and not self.is_constant():
        raise TypeError(NUMBER)
    return _float(self)


@contextmanager
def no_numbers() -> Iterator[None]:
    """While it lasts, float() of a symbol is refused in this thread."""
    ca.SX.__float__ = _number  # type: ignore[method-assign]
    _traced.depth = getattr(_traced, "depth", 0) + 1
    try:
        yield
    finally:
        _traced.depth -= 1


def nested(column: Any, shape: tuple[int, ...]) -> Any:
    """The entries of a column as nested lists of scalars, row by row."""
    entries = [_scalar(column[i]) for i in range(column.shape[0])]
    return np.array([*entries, None], dtype=object)[:-1].reshape(shape).tolist()


def sx_matrix(rows: Any) -> Any:
    """Rows of scalars as one SX."""
    return ca.vertcat(*(ca.horzcat(*(ca.SX(x) for x in row)) for row in rows))


def flat(value: Any) -> list[Any]:
    """The leaves of nested sequences, row by row; an SX matrix gives its entries row by row."""
    if isinstance(value, ca.SX) and value.numel() != 1:
        return [value[i, j] for i in range(value.shape[0]) for j in range(value.shape[1])]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in flat(item)]
    return [value]


def trace(
    name: str,
    function: Callable[..., Any],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
) -> Program:
    """The Program of `function(*arguments, fn)`; several outputs are returned as a sequence."""
    columns = symbols(inputs)
    arguments = [nested(c, port.shape) for c, port in zip(columns, inputs, strict=True)]
    returned = function(*arguments, SX)
    results = [returned] if len(outputs) == 1 else list(returned)
    return program_of(name, columns, results, inputs, outputs)


def sx_function(name: str, columns: Sequence[Any], results: Sequence[Any]) -> ca.Function:
    """A CasADi Function of columns, one stacked output per result."""
    stacked = [ca.vertcat(*(ca.SX(x) for x in flat(result))) for result in results]
    return ca.Function(name, list(columns), stacked)


def program_of(
    name: str,
    columns: Sequence[Any],
    results: Sequence[Any],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
) -> Program:
    """Read the tape of the results as functions of the columns."""
    leaves = [flat(result) for result in results]
    function = sx_function("traced", columns, results)
    builder = Builder()
    zero = builder.constant(0.0)
    values: list[list[int]] = [[zero] * len(row) for row in leaves]
    work: dict[int, int] = {}
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        sources, targets = function.instruction_input(k), function.instruction_output(k)
        if op == ca.OP_OUTPUT:
            values[targets[0]][targets[1]] = work[sources[0]]
        elif op == ca.OP_INPUT:
            work[targets[0]] = builder.input(sources[0], sources[1])
        elif op == ca.OP_CONST:
            work[targets[0]] = builder.constant(function.instruction_constant(k))
        else:
            work[targets[0]] = _emit(builder, op, [work[s] for s in sources])
    _dense_outputs(function, values, leaves, builder)
    return builder.program(name, inputs, outputs, values)


def _emit(builder: Builder, op: int, operands: list[int]) -> int:
    if op in DIRECT:
        return builder.op(DIRECT[op], *operands)
    a = operands[0]
    if op == ca.OP_SQ:
        return builder.op("mul", a, a)
    if op == ca.OP_TWICE:
        return builder.op("add", a, a)
    if op == ca.OP_INV:
        return builder.op("div", builder.constant(1.0), a)
    if op == ca.OP_TAN:
        return builder.op("div", builder.op("sin", a), builder.op("cos", a))
    if op == ca.OP_ATAN:
        return builder.op("atan2", a, builder.constant(1.0))
    if op == ca.OP_CEIL:
        return builder.op("neg", builder.op("floor", builder.op("neg", a)))
    if op == ca.OP_IF_ELSE_ZERO:
        return builder.op("select", a, operands[1], builder.constant(0.0))
    if op == ca.OP_ASSIGN:
        return a
    names = {getattr(ca, n): n for n in dir(ca) if n.startswith("OP_")}
    raise OptionError(
        f"the function uses {names.get(op, op)}, which is not one of the operations of a Program",
        "use + - * / **, comparisons, sin, cos, tan, sqrt, exp, log, tanh, atan2, abs, floor, "
        "sign, min, max, select",
    )


def _dense_outputs(
    function: ca.Function, values: list[list[int]], leaves: list[list[Any]], builder: Builder
) -> None:
    """The tape numbers an output's non-zeros; put them back among its structural zeros."""
    for k, row in enumerate(leaves):
        rows = function.sparsity_out(k).row()
        if len(rows) == len(row):
            continue
        packed = values[k][: len(rows)]
        values[k] = [builder.constant(0.0)] * len(row)
        for position, value in zip(rows, packed, strict=True):
            values[k][position] = value
