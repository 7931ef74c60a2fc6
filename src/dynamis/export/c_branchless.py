"""A Program as C99 without a branch: choices by masks; functions of libm, or of our own.

Conditions are masks, words of all bits or none; DY_HIDE keeps from the optimiser where they come
from, or clang makes branches of them again. A compiler that is not like gcc gets plain C99.
With our own the work does not depend on the data at all, nothing is linked, and the bits are those
of the compiled kernels: `compile.elementary` says what they compute and how exactly. A processor
without a fused multiply-add gets one in arithmetic (own_functions.c).
"""

import math
import re
from collections.abc import Mapping
from functools import partial

from .. import templates
from ..compile.elementary import FUNCTIONS, REALS, ElementaryFunction, traced, two_over_pi
from ..compile.program import AnyProgram, CalledProgram, Operation
from .c_function import (
    COMPARE,
    INFIX,
    LIBRARY,
    PRECISIONS,
    Precision,
    calling,
    expression,
    framed,
    literal,
)

PLAIN = ("floor", "abs", "sign", "min", "max", "select", "sqrt")  # of the template
OWN = tuple(name for name in FUNCTIONS if name != "near_sincos")
CALLS = {op: f"dy_{op}" for op in (*PLAIN, *OWN)}
LINKED = {*LIBRARY} - {"floor"}  # from <math.h> unless ours are wanted
WORDS = {"float64": "uint64_t", "float32": "uint32_t"}
BITS = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
STEPS = {  # of functions of `elementary`; what is not here the template has
    **{op: f"dy_mask({{0}} {sign} {{1}})" for op, sign in (COMPARE | {"gt": ">"}).items()},
    **{op: f"{{0}} {sign} {{1}}" for op, sign in (INFIX | BITS).items()},
    **{"neg": "-{0}", "not": "~{0}", "two_over_pi": "dy_two_over_pi[{0}]"},
    "exact_fma": "{0} * {1} + {2}",
    "select": "dy_choose({x})",
    **{f"select {kind}": "({1} & {0}) | ({2} & ~{0})" for kind in ("word", "mask")},
}


def helpers(dtype: str, code: str) -> str:
    """The functions and tables that `code` uses, and those that they use."""
    head, *blocks = re.split(r"\n(?=static )", _template(dtype))
    blocks += [_table(dtype), *(_definition(name, dtype) for name in OWN)]
    kept: list[str] = []
    for block in reversed(blocks):
        name = re.findall(r"dy_\w+(?=[(\[])", block)[0]
        if re.search(rf"\b{name}[(\[]", "\n".join([code, *kept])):
            kept.insert(0, block)
    return "\n".join([head, *kept]) if kept else ""


def _template(dtype: str) -> str:
    real, precision = REALS[dtype], PRECISIONS[dtype]
    return templates.filled(
        __package__,
        "own_functions.c",
        T=precision.type,
        F=precision.suffix,
        FAST=precision.suffix.upper(),
        WORD=WORDS[dtype],
        SIGN=real.bits - 1,
        NAN=real.word(math.nan),
        INF=real.word(math.inf),
        SINGLE=dtype == "float32",
        WHOLE=literal(2.0**real.mantissa, precision),
        SCALAR="d" if dtype == "float64" else "s",
        TINY=literal(real.tiny, precision),
        MANTISSA=real.mantissa,
        EXPONENT=real.bias + real.mantissa,
        EVEN=2 * (real.mantissa % 2),
        PAIRS=(real.mantissa + 3) // 2,
        HALF=(real.mantissa + 2) // 2,
    )


def _table(dtype: str) -> str:
    words = two_over_pi(REALS[dtype])
    rows = [", ".join(f"{w}u" for w in words[k : k + 8]) for k in range(0, len(words), 8)]
    listed = ",\n    ".join(rows)
    return f"static const {WORDS[dtype]} dy_two_over_pi[{len(words)}] = {{\n    {listed}}};\n"


def _definition(name: str, dtype: str) -> str:
    function, precision = traced(name, REALS[dtype]), PRECISIONS[dtype]
    values: list[str] = []
    lines: list[str] = []
    for k, (op, kind, operands) in enumerate(function.steps):
        if op == "argument":
            values.append("xy"[int(operands[0])])
        elif op == "constant":
            word = f"{operands[0]}{'ull' if dtype == 'float64' else 'u'}"
            values.append(_number(operands[0], precision) if kind == "real" else word)
        else:
            T = precision.type if kind == "real" else WORDS[dtype]
            lines.append(f"    const {T} v{k} = {_step(function, k, values)};")
            values.append(f"v{k}")
    T, results = precision.type, [values[k] for k in function.results]
    arguments = ", ".join(f"{T} {x}" for x in values[: function.arity])
    end = [f"return {results[0]};"]
    if len(results) > 1:
        T, (sine, cosine) = "dy_angle", results
        end = ["dy_angle both;", f"both.sine = {sine};", f"both.cosine = {cosine};", "return both;"]
    lines += [f"    {line}" for line in end]
    return "\n".join([f"static inline {T} dy_{name}({arguments})", "{", *lines, "}", ""])


def _step(function: ElementaryFunction, k: int, values: list[str]) -> str:
    op, kind, operands = function.steps[k]
    x = [values[int(a)] for a in operands]
    form = STEPS.get(f"{op} {kind}") or STEPS.get(op) or f"dy_{op}({{x}})"
    return form.format(*x, x=", ".join(x))


def function(program: AnyProgram, name: str, dtype: str, own: bool = True) -> str:
    """The function's definition; `own` False takes sine, cosine and their like from <math.h>.

    Of a called program those of its parts stand before it, all but the first `static`.
    """
    precision, word = PRECISIONS[dtype], WORDS[dtype]
    if isinstance(program, CalledProgram):
        return calling(program, name, precision, lambda p, n: function(p, n, dtype, own))
    masks: dict[str, str] = {}  # of those values that are conditions: the same as a mask
    angles: dict[int, str] = {}  # sine and cosine together
    lines: list[str] = []

    def operation(k: int, step: Operation, x: list[str]) -> str:
        op = step.op
        if (mask := _mask(op, x, masks, precision)) is not None:
            if mask not in masks.values():
                lines.append(f"    const {word} m{k} = {mask};")
                mask = f"m{k}"
            masks[f"dy_truth({mask})"] = mask
            return f"dy_truth({mask})"
        if op in ("sin", "cos") and own:
            (angle,) = step.operands
            if angle not in angles:
                angles[angle] = f"a{k}"
                lines.append(f"    const dy_angle a{k} = dy_sincos({x[0]});")
            return f"{angles[angle]}.{'sine' if op == 'sin' else 'cosine'}"
        right = _expression(op, x, masks, precision, own)
        lines.append(f"    const {precision.type} v{k} = {right};")
        return f"v{k}"

    number = partial(_number, precision=precision)
    return framed(program, name, precision, lines, number, operation)


def _number(value: float, precision: Precision) -> str:
    """A constant, also where there is no <math.h> to name it."""
    if value != value:
        return "dy_nan()"
    if abs(value) == float("inf"):
        return "dy_inf()" if value > 0 else "(-dy_inf())"
    return literal(value, precision)


def _mask(op: str, x: list[str], masks: Mapping[str, str], precision: Precision) -> str | None:
    """A condition as an expression of masks; None for what is not 0 or 1 by its nature."""
    zero = literal(0.0, precision)
    if op in ("mul", "min", "max") and all(a in masks for a in x):
        return f" {'|' if op == 'max' else '&'} ".join(masks[a] for a in x)
    if op == "lt" and x[0] == zero and x[1] in masks:
        return masks[x[1]]
    if op == "not":
        return f"~{masks[x[0]]}" if x[0] in masks else f"dy_mask({x[0]} == {zero})"
    if op in ("and", "or"):
        sign = "&" if op == "and" else "|"
        return f" {sign} ".join(masks.get(a, f"dy_mask({a} != {zero})") for a in x)
    return f"dy_mask({x[0]} {COMPARE[op]} {x[1]})" if op in COMPARE else None


def _expression(
    op: str, x: list[str], masks: Mapping[str, str], precision: Precision, own: bool
) -> str:
    if op in INFIX or op == "neg" or (op in LINKED and not own):
        return expression(op, x, precision)
    if op == "select" and x[0] in masks:
        return f"dy_choose({masks[x[0]]}, {x[1]}, {x[2]})"
    return f"{CALLS[op]}({', '.join(x)})"
