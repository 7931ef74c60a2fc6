"""A Program as one C99 function: no allocation, no static state, no loops; choices are `?:`.

A compiler may make branches of these; `c_branchless` prints code that has none.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..compile.program import Constant, Input, Operation, Program

# names that are safe in generated code: whatever a model file calls itself

KEYWORDS = frozenset({
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "main", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "union", "unsigned", "void", "volatile", "while", "sin", "cos", "sqrt", "exp", "log",
    "tanh", "pow", "atan2", "floor", "fabs",
})  # fmt: skip
LONGEST = 40


def identifier(text: str, otherwise: str = "robot") -> str:
    """A C identifier that resembles `text`: letters, digits and underscores only."""
    plain = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()[:LONGEST].strip("_")
    if not plain or plain[0].isdigit():
        plain = f"{otherwise}_{plain}".rstrip("_")
    return f"{plain}_" if plain in KEYWORDS else plain


def comment(text: str) -> str:
    """`text` as it may stand in a comment: one line, ASCII, unable to end the comment."""
    plain = re.sub(r"[^ -~]+", "?", text.replace("\n", " ").replace("\\", "/"))
    plain = re.sub(r"\?+", "?", plain)  # no trigraphs
    return plain.replace("*/", "* /").replace("/*", "/ *")


def intro(notes: Iterable[str]) -> str:
    """The comment that begins a file of C."""
    return f"/*\n{remarks(notes, ' *')} */"


def remarks(notes: Iterable[str], mark: str = "#") -> str:
    """Notes as lines of comment, each behind its mark."""
    return "".join(f"{mark} {comment(line)}".rstrip() + "\n" for line in notes)


INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
LIBRARY = {"sin", "cos", "sqrt", "exp", "log", "tanh", "pow", "atan2", "floor"}


LARGEST_FLOAT = 3.40282347e38


class Precision(NamedTuple):
    """How a number type is spelt."""

    type: str
    suffix: str  # of constants and of library functions


PRECISIONS = {"float64": Precision("double", ""), "float32": Precision("float", "f")}


def literal(value: float, precision: Precision) -> str:
    """A constant with every digit it needs."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    if precision.type == "float":
        value = min(max(value, -LARGEST_FLOAT), LARGEST_FLOAT)
    digits = f"{value:.17g}" if precision.type == "double" else f"{value:.9g}"
    if "." not in digits and "e" not in digits:
        digits += ".0"
    text = digits + precision.suffix
    return f"({text})" if value < 0 else text


def prototype(program: Program, name: str, precision: Precision) -> str:
    """The function's declaration, without the semicolon."""
    T = precision.type
    arguments = [f"const {T} {p.name}[{p.size}]" for p in program.inputs]
    arguments += [f"{T} {p.name}_out[{p.size}]" for p in program.outputs]
    return f"void {name}({', '.join(arguments)})"


def function(program: Program, name: str, precision: Precision) -> str:
    """The function's definition."""
    values: list[str] = []
    lines: list[str] = []
    for k, instruction in enumerate(program.instructions):
        match instruction:
            case Input(port, index):
                values.append(f"{program.inputs[port].name}[{index}]")
            case Constant(value):
                values.append(literal(value, precision))
            case Operation(op, operands):
                right = expression(op, [values[a] for a in operands], precision)
                lines.append(f"    const {precision.type} v{k} = {right};")
                values.append(f"v{k}")
    return framed(program, prototype(program, name, precision), lines, values)


def framed(program: Program, head: str, lines: list[str], values: list[str]) -> str:
    """A definition: its head, the lines of the body, and results stored from `values`."""
    used = {i.port for i in program.instructions if isinstance(i, Input)}
    unused = [f"    (void){p.name};" for k, p in enumerate(program.inputs) if k not in used]
    stores = [
        f"    {port.name}_out[{i}] = {values[v]};"
        for port, result in zip(program.outputs, program.results, strict=True)
        for i, v in enumerate(result)
    ]
    return "\n".join([head, "{", *unused, *lines, *stores, "}"])


def expression(op: str, x: list[str], precision: Precision) -> str:
    """The right-hand side of one operation."""
    one, zero = literal(1.0, precision), literal(0.0, precision)
    if op in INFIX:
        return f"{x[0]} {INFIX[op]} {x[1]}"
    if op == "neg":
        return f"-{x[0]}"
    if op in LIBRARY:
        return f"{op}{precision.suffix}({', '.join(x)})"
    if op == "abs":
        return f"{x[0]} < {zero} ? -{x[0]} : {x[0]}"
    if op == "sign":
        return f"{x[0]} > {zero} ? {one} : ({x[0]} < {zero} ? -{one} : {x[0]})"
    if op in ("min", "max"):
        test = "<" if op == "min" else ">"
        return f"{x[0]} != {x[0]} ? {x[0]} : ({x[0]} {test} {x[1]} ? {x[0]} : {x[1]})"
    if op == "select":
        return f"{x[0]} != {zero} ? {x[1]} : {x[2]}"
    if op == "not":
        return f"{x[0]} == {zero} ? {one} : {zero}"
    if op in ("and", "or"):
        joint = "&&" if op == "and" else "||"
        return f"({x[0]} != {zero} {joint} {x[1]} != {zero}) ? {one} : {zero}"
    return f"{x[0]} {COMPARE[op]} {x[1]} ? {one} : {zero}"
