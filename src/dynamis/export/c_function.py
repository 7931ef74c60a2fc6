"""A Program as one C99 function: no allocation, no static state, no loops; choices are `?:`.

A compiler may make branches of these; `c_branchless` prints code that has none.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..compile.program import AnyProgram, CalledProgram, Constant, Input, Operation, Program

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


Programs = Mapping[str, Program]  # kernels of one robot, by name
Samples = Mapping[str, Sequence[np.ndarray]]  # arguments of them, for a self-test


def names_in_code(robot: str, programs: Iterable[str]) -> tuple[str, dict[str, str]]:
    """Identifiers of a robot, and of its functions by key."""
    stem = identifier(robot)
    return stem, {key: f"{stem}_{identifier(key, 'f')}" for key in programs}


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
LIBRARY = ("sin", "cos", "sqrt", "exp", "log", "tanh", "pow", "atan2", "floor")
FORMS = {  # the right-hand side of an operation; `x` are all its operands, `f` is of the precision
    **{op: f"{{0}} {sign} {{1}}" for op, sign in INFIX.items()},
    **{op: f"{{0}} {sign} {{1}} ? {{one}} : {{zero}}" for op, sign in COMPARE.items()},
    **{op: f"{op}{{f}}({{x}})" for op in LIBRARY},
    "neg": "-{0}",
    "abs": "{0} < {zero} ? -{0} : {0}",
    "sign": "{0} > {zero} ? {one} : ({0} < {zero} ? -{one} : {0})",
    "min": "{0} != {0} ? {0} : ({0} < {1} ? {0} : {1})",
    "max": "{0} != {0} ? {0} : ({0} > {1} ? {0} : {1})",
    "select": "{0} != {zero} ? {1} : {2}",
    "not": "{0} == {zero} ? {one} : {zero}",
    "and": "({0} != {zero} && {1} != {zero}) ? {one} : {zero}",
    "or": "({0} != {zero} || {1} != {zero}) ? {one} : {zero}",
}
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


def free_outputs(program: Program) -> list[str]:
    """Names of the results, none that of an argument."""
    taken = {p.name for p in program.inputs}
    return [f"{p.name}_out" if p.name in taken else p.name for p in program.outputs]


def array(name: str, values: Any, precision: Precision) -> str:
    """A constant table of C, one row for each of the `values`."""
    rows = ["    {" + ", ".join(literal(float(x), precision) for x in row) + "}" for row in values]
    size, listed = len(values[0]), ",\n".join(rows)
    return f"static const {precision.type} {name}[{len(values)}][{size}] = {{\n{listed}}};"


def prototype(program: AnyProgram, name: str, precision: Precision) -> str:
    """The function's declaration, without the semicolon."""
    T = precision.type
    arguments = [f"const {T} {p.name}[{p.size}]" for p in program.inputs]
    arguments += [f"{T} {p.name}_out[{p.size}]" for p in program.outputs]
    return f"void {name}({', '.join(arguments)})"


def translated(
    program: Program,
    entries: Sequence[Any],
    constant: Callable[[float], Any],
    operation: Callable[[int, Operation, list[Any]], Any],
) -> list[Any]:
    """What stands for every value of a program, in order; `entries` stand for those of inputs."""
    values: list[Any] = []
    for k, instruction in enumerate(program.instructions):
        match instruction:
            case Input(port, index):
                values.append(entries[port][index])
            case Constant(value):
                values.append(constant(value))
            case Operation(_, operands):
                values.append(operation(k, instruction, [values[a] for a in operands]))
    return values


def function(program: Program, name: str, precision: Precision) -> str:
    """The function's definition."""
    lines: list[str] = []

    def operation(k: int, step: Operation, x: list[str]) -> str:
        lines.append(f"    const {precision.type} v{k} = {expression(step.op, x, precision)};")
        return f"v{k}"

    return framed(program, name, precision, lines, partial(literal, precision=precision), operation)


def framed(
    program: Program,
    name: str,
    precision: Precision,
    lines: list[str],
    constant: Callable[[float], str],
    operation: Callable[[int, Operation, list[str]], str],
) -> str:
    """A definition; `operation` adds to the lines of its body."""
    entries = [[f"{p.name}[{i}]" for i in range(p.size)] for p in program.inputs]
    values = translated(program, entries, constant, operation)
    used = {i.port for i in program.instructions if isinstance(i, Input)}
    unused = [f"    (void){p.name};" for k, p in enumerate(program.inputs) if k not in used]
    stores = [
        f"    {port.name}_out[{i}] = {values[v]};"
        for port, result in zip(program.outputs, program.results, strict=True)
        for i, v in enumerate(result)
    ]
    head = prototype(program, name, precision)
    return "\n".join([head, "{", *unused, *lines, *stores, "}"])


def calling(
    program: CalledProgram, name: str, precision: Precision, written: Callable[[Program, str], str]
) -> str:
    """Definitions of the parts of a program, and of the function that calls them in turn."""
    parts = [written(part, f"{name}_{k}") for k, part in enumerate(program.parts)]
    lines = [f"    {precision.type} {v}[{size}];" for v, size in program.between.items()]
    for k, call in enumerate(program.calls):
        given = [f"{vector} + {start}" if start else vector for vector, start in call.sources]
        last = k == len(program.calls) - 1
        given += [f"{p.name}_out" for p in program.outputs] if last else call.targets
        lines.append(f"    {name}_{program.number(call)}({', '.join(given)});")
    head = prototype(program, name, precision)
    return "\n\nstatic ".join([*parts, "\n".join([head, "{", *lines, "}"])])


def expression(op: str, x: list[str], precision: Precision) -> str:
    """The right-hand side of one operation."""
    one, zero = literal(1.0, precision), literal(0.0, precision)
    return FORMS[op].format(*x, one=one, zero=zero, x=", ".join(x), f=precision.suffix)
