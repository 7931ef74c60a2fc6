"""Elementary functions in LLVM, for one sample or for a vector of samples."""

import struct
from collections.abc import Sequence

from .elementary import ElementaryFunction, Real, traced, two_over_pi

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARE = {"lt": "olt", "le": "ole", "gt": "ogt", "eq": "oeq", "ne": "une"}
INTEGER = {"shr": "lshr"}  # where LLVM calls an operation of words otherwise
INTRINSICS = {"abs": "fabs", "fma": "fma", "exact_fma": "fma"}
INLINE = ("near_sincos", "sincos", "exp", "tanh")  # the others are long


def number(value: float) -> str:
    """A constant in IR: the bits of a double, whatever the type."""
    return "0x" + struct.pack(">d", value).hex().upper()


def typed(real: Real, width: int, kind: str = "real") -> str:
    """The IR type of a value: a scalar, or a vector of `width` samples."""
    scalar = {"real": real.name, "word": f"i{real.bits}", "mask": "i1"}[kind]
    return scalar if width == 1 else f"<{width} x {scalar}>"


def constant(real: Real, width: int, value: float, kind: str = "real") -> str:
    """A constant of that type."""
    scalar = number(real.rounded(value)) if kind == "real" else str(value)
    return scalar if width == 1 else f"splat ({typed(real, 1, kind)} {scalar})"


def intrinsic(real: Real, width: int, name: str) -> str:
    """The mangled name of an intrinsic for that type."""
    return f"@llvm.{name}.{real.suffix if width == 1 else f'v{width}{real.suffix}'}"


def tables(real: Real) -> str:
    """Constants that lie in memory."""
    words = two_over_pi(real)
    listed = ", ".join(f"i{real.bits} {word}" for word in words)
    return f"@two_over_pi = internal constant [{len(words)} x i{real.bits}] [{listed}]"


def call(real: Real, width: int, name: str, arguments: list[str]) -> str:
    """A call of a function."""
    T = typed(real, width)
    result = f"{{{T}, {T}}}" if name.endswith("sincos") else T
    return f"call {result} @{name}_{width}({', '.join(f'{T} {x}' for x in arguments)})"


def definition(name: str, real: Real, width: int, inline: Sequence[str] = INLINE) -> str:
    """IR of @NAME_W; two results are a structure."""
    function = traced(name, real)
    T = typed(real, width)
    lines: list[str] = []
    values: list[str] = []
    for k, (op, kind, operands) in enumerate(function.steps):
        if op == "constant":
            values.append(constant(real, width, operands[0], kind))
            continue
        values.append(f"%a{operands[0]}" if op == "argument" else f"%v{k}")
        if op == "two_over_pi":
            at = f"ptr @two_over_pi, {typed(real, 1, 'word')} {values[int(operands[0])]}"
            lines.append(f"  %at{k} = getelementptr {typed(real, 1, 'word')}, {at}")
        if op != "argument":
            lines.append(f"  %v{k} = {_right(function, width, k, values)}")
    arguments = ", ".join(f"{T} %a{k}" for k in range(function.arity))
    results = [f"{T} {values[k]}" for k in function.results]
    if len(results) == 1:
        lines.append(f"  ret {results[0]}")
    else:
        pair = f"{{{T}, {T}}}"
        lines.append(f"  %first = insertvalue {pair} poison, {results[0]}, 0")
        lines += [f"  %both = insertvalue {pair} %first, {results[1]}, 1", f"  ret {pair} %both"]
        T = pair
    how = "alwaysinline" if name in inline else "noinline" if name in INLINE else ""
    return "\n".join([f"define internal {T} @{name}_{width}({arguments}) {how} {{", *lines, "}"])


def _right(function: ElementaryFunction, width: int, k: int, values: list[str]) -> str:
    """The right-hand side of one step."""
    op, kind, operands = function.steps[k]
    real, places = function.real, [int(a) for a in operands]
    x = [values[a] for a in places]
    given = function.steps[places[-1]].kind
    T = typed(real, width, given)
    if op in INTRINSICS:
        name = intrinsic(real, width, INTRINSICS[op])
        return f"call {T} {name}({', '.join(f'{T} {a}' for a in x)})"
    if op == "select":
        return f"select {typed(real, width, 'mask')} {x[0]}, {T} {x[1]}, {T} {x[2]}"
    if op in ("bits", "number"):
        return f"bitcast {T} {x[0]} to {typed(real, width, kind)}"
    if op == "two_over_pi":
        return f"load {T}, ptr %at{k}"
    if op == "neg":
        return f"fneg {T} {x[0]}"
    if op == "not":
        return f"xor {T} {x[0]}, {constant(real, width, -1, kind)}"
    if op in COMPARE:
        how = f"icmp {op}" if given == "word" else f"fcmp {COMPARE[op]}"
    else:
        how = ARITHMETIC[op] if kind == "real" else INTEGER.get(op, op)
    return f"{how} {T} {x[0]}, {x[1]}"
