"""A folder of MATLAB functions, one file per kernel, with a self-test; GNU Octave runs it too.

Vectors are columns, matrices are matrices, of three axes the first becomes the page: T(:, :, k).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import templates
from ..compile.program import Constant, Input, Operation, Port, Program
from .c_folder import SAMPLES, vectors
from .c_function import comment, identifier, remarks

LONGEST = 63  # letters of a name that MATLAB reads
TOLERANCE = {"float64": 1e-10, "float32": 1e-3}  # relative to the largest entry of a result
INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "~="}
LIBRARY = {"sin", "cos", "exp", "tanh", "atan2", "floor", "abs", "sign"}
# functions of helpers.m: MATLAB answers with a complex number, without the NaN, or has none
HELPERS = {
    "sqrt": "real_sqrt", "log": "real_log", "pow": "real_power", "min": "smaller", "max": "larger",
    "select": "choose",
}  # fmt: skip


def matlab_folder(
    robot: str, programs: Mapping[str, Program], notes: Sequence[str], dtype: str
) -> dict[str, str]:
    """File name -> text, for the kernels of one robot."""
    keys = {key: identifier(key, "f") for key in programs}
    room = LONGEST - 1 - max(len(key) for key in keys.values())
    stem = identifier(robot)[:room].strip("_")
    names = {key: f"{stem}_{short}" for key, short in keys.items()}
    intro = remarks(notes, "%")
    files = {
        f"{names[key]}.m": function(program, names[key], intro, dtype)
        for key, program in programs.items()
    }
    return {**files, f"{stem}_test.m": _test(programs, names, intro, dtype)}


def literal(value: float) -> str:
    """A constant with every digit it needs."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Inf" if value > 0 else "(-Inf)"
    return f"({value:.17g})" if value < 0 else f"{value:.17g}"


def function(program: Program, name: str, intro: str, dtype: str) -> str:
    """One function file."""
    inputs, outputs = [p.name for p in program.inputs], _results(program)
    places = [_places(port) for port in program.inputs]
    values: list[str] = []
    lines: list[str] = []
    used: dict[str, None] = {}
    for k, instruction in enumerate(program.instructions):
        match instruction:
            case Input(port, index):
                values.append(f"{inputs[port]}{places[port][index]}")
            case Constant(value):
                values.append(literal(value))
            case Operation(op, operands):
                right = expression(op, [values[a] for a in operands])
                lines.append(f"    v{k} = {right};")
                values.append(f"v{k}")
                if op in HELPERS:
                    used[op] = None
    kind = "single" if dtype == "float32" else "double"
    head = [f"    {name} = {kind}({name});" for name in inputs]
    stores = []
    for port, out, result in zip(program.outputs, outputs, program.results, strict=True):
        stores.append(f"    {out} = zeros({', '.join(map(str, _size(port)))}, '{kind}');")
        pairs = zip(_places(port), result, strict=True)
        stores += [f"    {out}{place} = {values[v]};" for place, v in pairs]
    tail = [_helper(op) for op in used]
    first = f"function [{', '.join(outputs)}] = {name}({', '.join(inputs)})"
    about = f"% {name}: {comment(str(program.cost))}\n{_shapes(program, outputs)}"
    body = "\n".join([*head, *lines, *stores, "end", *tail])
    return f"{first}\n{about}{intro}{body}\n"


def expression(op: str, x: list[str]) -> str:
    """The right-hand side of one operation."""
    if op in INFIX:
        return f"{x[0]} {INFIX[op]} {x[1]}"
    if op == "neg":
        return f"-{x[0]}"
    if op in LIBRARY:
        return f"{op}({', '.join(x)})"
    if op in HELPERS:
        return f"{HELPERS[op]}({', '.join(x)})"
    if op == "not":
        return f"double({x[0]} == 0)"
    if op in ("and", "or"):
        return f"double({x[0]} ~= 0 {'&&' if op == 'and' else '||'} {x[1]} ~= 0)"
    return f"double({x[0]} {COMPARE[op]} {x[1]})"


def _helper(op: str) -> str:
    functions = templates.text(__package__, "helpers.m").rstrip().split("\n\n")
    return "\n" + next(f for f in functions if f" {HELPERS[op]}(" in f)


def _size(port: Port) -> tuple[int, ...]:
    """Sizes in MATLAB: at least two axes, pages last."""
    rows = (*port.shape, 1, 1)[: max(2, len(port.shape))]
    return (*rows[-2:], *rows[:-2]) if len(port.shape) > 2 else rows


def _places(port: Port) -> list[str]:
    """The subscript of every entry, row by row."""
    if len(port.shape) < 2:
        return [f"({k + 1})" for k in range(port.size)]
    found = []
    for index in product(*(range(1, size + 1) for size in port.shape)):
        found.append(f"({', '.join(map(str, (*index[-2:], *index[:-2])))})")
    return found


def _results(program: Program) -> list[str]:
    """Names of the results, none that of an argument."""
    taken = {p.name for p in program.inputs}
    return [f"{p.name}_out" if p.name in taken else p.name for p in program.outputs]


def _shapes(program: Program, outputs: Sequence[str]) -> str:
    names = [*(p.name for p in program.inputs), *outputs]
    ports = [*program.inputs, *program.outputs]
    sizes = ("x".join(map(str, _size(p))) for p in ports)
    return "% " + ", ".join(f"{n} {s}" for n, s in zip(names, sizes, strict=True)) + "\n"


def _test(programs: Mapping, names: Mapping, intro: str, dtype: str) -> str:
    """A script that calls every function with recorded numbers."""
    lines = []
    for key, program in programs.items():
        inputs, outputs = vectors(program, np.dtype(dtype))
        given = [f"in_{p.name}" for p in program.inputs]
        wanted = [f"expected_{p.name}" for p in program.outputs]
        got = [f"got_{p.name}" for p in program.outputs]
        ports = [*program.inputs, *program.outputs]
        for name, port, rows in zip([*given, *wanted], ports, [*inputs, *outputs], strict=True):
            lines.append(_table(name, port, rows))
        lines.append(f"for k = 1:{SAMPLES}")
        arguments = (
            f"reshape({name}(:, k), {', '.join(map(str, _size(port)))})"
            for name, port in zip(given, program.inputs, strict=True)
        )
        lines.append(f"    [{', '.join(got)}] = {names[key]}({', '.join(arguments)});")
        for result, expected in zip(got, wanted, strict=True):
            given = {"GOT": result, "EXPECTED": expected, "NAME": names[key]}
            given["TOLERANCE"] = f"{TOLERANCE[dtype]:g}"
            lines.append(templates.filled(__package__, "compare.m", **given).rstrip("\n"))
        lines.append("end")
    calls = "\n".join(lines)
    return templates.filled(__package__, "kernels_test.m", REMARKS=intro, CALLS=calls)


def _table(name: str, port: Port, samples: Any) -> str:
    """One sample a column, its entries in MATLAB's order."""
    array = np.asarray(samples).reshape(SAMPLES, *port.shape)
    if len(port.shape) > 2:
        array = np.moveaxis(array, (-2, -1), (1, 2))
    rows = [array[k].ravel(order="F") for k in range(SAMPLES)]
    text = "; ...\n    ".join(" ".join(literal(float(x)) for x in row) for row in rows)
    return f"{name} = [ ...\n    {text}].';"
