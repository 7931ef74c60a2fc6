"""A Program as C99 without a branch: choices by masks; functions of libm, or of our own.

Conditions are masks, words of all bits or none; DY_HIDE keeps from the optimiser where they come
from, or clang makes branches of them again. A compiler that is not like gcc gets plain C99.
With our own the work does not depend on the data at all, and nothing is linked.
Sine and cosine by Cody-Waite reduction and the Cephes polynomials, good to 2 units in the last
place for every plausible angle (up to 1e6 rad); exp by powers of two and a polynomial, held at its
value at +-EXP_LAST beyond; tanh from exp. Their C is the template own_functions.c.
"""

import re
from collections.abc import Mapping, Sequence

from .. import templates
from ..compile.llvm_functions import REALS
from ..compile.program import Constant, Input, Operation, Program
from ..errors import OptionError
from .c_function import COMPARE, INFIX, LIBRARY, PRECISIONS, Precision, framed, literal, prototype

NAMED = ("sin", "cos", "exp", "tanh", "floor", "abs", "sign", "min", "max", "select")
CALLS = {op: f"dy_{op}" for op in NAMED}
LINKED = LIBRARY - {"floor"}  # from <math.h> unless ours are wanted
PIECES = {  # pi/2 in pieces whose products with a quadrant number (20 bits) are exact
    "float64": (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21),
    "float32": (
        1.625,
        -0.0546875,
        0.00048828125,
        -4.291534423828125e-06,
        -1.6391277313232422e-07,
        1.0477378964424133e-09,
        -5.4569682106375694e-11,
        -1.074634630414406e-12,
    ),
}
WORDS = {
    "float64": ("uint64_t", 64, 52, 1023),
    "float32": ("uint32_t", 32, 23, 127),
}
TANH = {  # below TANH_SMALL, Cephes: x + x^3 P(x^2) / Q(x^2), or x + x^3 P(x^2)
    "float64": (
        (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
        (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
    ),
    "float32": (
        (
            -5.70498872745e-3,
            2.06390887954e-2,
            -5.37397155531e-2,
            1.33314422036e-1,
            -3.33332819422e-1,
        ),
    ),
}
TANH_SMALL = 0.625
EXP_TERMS = {"float64": 13, "float32": 7}
EXP_LAST = {"float64": 700.0, "float32": 80.0}


def check(program: Program) -> None:
    """Refuse operations that have no constant-time form here."""
    known = {*CALLS, *INFIX, *COMPARE, "neg", "not", "and", "or"}
    for instruction in program.instructions:
        if isinstance(instruction, Operation) and instruction.op not in known:
            raise OptionError(
                f"this law uses {instruction.op}, which has no form of our own",
                'export it with trig="libm"',
            )


def helpers(dtype: str, code: str) -> str:
    """The functions that `code` calls, and those that they call."""
    head, *blocks = re.split(r"\n(?=static inline )", _all_helpers(dtype))
    names = [re.findall(r"dy_\w+", block)[0] for block in blocks]
    kept: list[str] = []
    for name, block in zip(reversed(names), reversed(blocks), strict=True):
        if re.search(rf"\b{name}\(", "\n".join([code, *kept])):
            kept.insert(0, block)
    return "\n".join([head, *kept]) if kept else ""


def _all_helpers(dtype: str) -> str:
    p, real = PRECISIONS[dtype], REALS[dtype]
    word, bits, mantissa, bias = WORDS[dtype]

    def c(x: float) -> str:
        return literal(x, p)

    first, *others = PIECES[dtype]
    reduction = "".join(
        templates.filled(__package__, "reduction_step.c", PIECE=c(piece)) for piece in others
    )

    def horner(values: Sequence[float]) -> str:
        text = c(values[0])
        for a in values[1:]:
            text = f"({text} * z + {c(a)})"
        return text

    series = c(1.0)
    for k in range(EXP_TERMS[dtype], 0, -1):
        series = f"({c(1.0)} + r * {c(1.0 / k)} * {series})"
    small = f"x * z * {horner(TANH[dtype][0])}"
    if len(TANH[dtype]) > 1:
        small += f" / {horner(TANH[dtype][1])}"
    return templates.filled(
        __package__,
        "own_functions.c",
        T=p.type,
        F=p.suffix,
        WORD=word,
        SIGN=bits - 1,
        SIGN_LESS_1=bits - 2,
        MANTISSA=mantissa,
        BIAS=bias,
        NAN=(1 << bits - 1) - (1 << mantissa - 1),
        INF=(1 << bits - 1) - (1 << mantissa),
        WHOLE=c(2.0**mantissa),
        MAGIC=c(real.magic),
        TWO_OVER_PI=c(0.6366197723675814),
        HALF_PI=c(first),
        REDUCTION=reduction,
        SINE=horner(real.sine),
        COSINE=horner(real.cosine),
        LOG2_E=c(1.4426950408889634),
        LN2_HIGH=c(0.693359375),
        LN2_LOW=c(-2.12194440054690582767e-4),
        EXP_LAST=c(EXP_LAST[dtype]),
        SERIES=series,
        TANH=small,
        TANH_SMALL=c(TANH_SMALL),
    )


def function(program: Program, name: str, dtype: str, own: bool = True) -> str:
    """The function's definition; `own` False takes sine, cosine and their like from <math.h>."""
    if own:
        check(program)
    precision, word = PRECISIONS[dtype], WORDS[dtype][0]
    values: list[str] = []  # as numbers
    masks: dict[str, str] = {}  # of those values that are conditions: the same as a mask
    lines: list[str] = []
    for k, instruction in enumerate(program.instructions):
        match instruction:
            case Input(port, index):
                values.append(f"{program.inputs[port].name}[{index}]")
            case Constant(value):
                values.append(_number(value, precision))
            case Operation(op, operands):
                x = [values[a] for a in operands]
                if (mask := _mask(op, x, masks, precision)) is not None:
                    if mask not in masks.values():
                        lines.append(f"    const {word} m{k} = {mask};")
                        mask = f"m{k}"
                    values.append(f"dy_truth({mask})")
                    masks[values[-1]] = mask
                else:
                    right = _expression(op, x, masks, precision, own)
                    lines.append(f"    const {precision.type} v{k} = {right};")
                    values.append(f"v{k}")
    return framed(program, prototype(program, name, precision), lines, values)


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
    if op in INFIX:
        return f"{x[0]} {INFIX[op]} {x[1]}"
    if op == "neg":
        return f"-{x[0]}"
    if op == "select" and x[0] in masks:
        return f"dy_choose({masks[x[0]]}, {x[1]}, {x[2]})"
    if op in LINKED and not own:
        return f"{op}{precision.suffix}({', '.join(x)})"
    return f"{CALLS[op]}({', '.join(x)})"
