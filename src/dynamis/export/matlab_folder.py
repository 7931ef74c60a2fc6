"""A folder of MATLAB functions, one file per kernel, with a self-test; GNU Octave runs it too.

Vectors are columns, matrices are matrices, of three axes the first becomes the page: T(:, :, k).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from .. import templates
from ..compile.program import Operation, Port, Program
from .c_folder import SAMPLES, TOLERANCE, vectors
from .c_function import (
    INFIX,
    Programs,
    Samples,
    comment,
    free_outputs,
    identifier,
    remarks,
    translated,
)

LONGEST = 63  # letters of a name that MATLAB reads
# functions of helpers.m: MATLAB answers with a complex number, without the NaN, or has none
HELPERS = {
    "sqrt": "real_sqrt", "log": "real_log", "pow": "real_power", "min": "smaller", "max": "larger",
    "select": "choose",
}  # fmt: skip
LIBRARY = ("sin", "cos", "exp", "tanh", "atan2", "floor", "abs", "sign")
COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "~="}
FORMS = {  # the right-hand side of an operation; `x` are all its operands
    **{op: f"{{0}} {sign} {{1}}" for op, sign in INFIX.items()},
    **{op: f"double({{0}} {sign} {{1}})" for op, sign in COMPARE.items()},
    **{op: f"{op}({{x}})" for op in LIBRARY},
    **{op: f"{name}({{x}})" for op, name in HELPERS.items()},
    "neg": "-{0}",
    "not": "double({0} == 0)",
    "and": "double({0} ~= 0 && {1} ~= 0)",
    "or": "double({0} ~= 0 || {1} ~= 0)",
}


def matlab_folder(
    robot: str, programs: Programs, notes: Sequence[str], dtype: str, samples: Samples | None = None
) -> dict[str, str]:
    """File name -> text, for the kernels of one robot; `samples` as in a folder of C."""
    keys = {key: identifier(key, "f") for key in programs}
    room = LONGEST - 1 - max(len(key) for key in keys.values())
    stem = identifier(robot)[:room].strip("_")
    names = {key: f"{stem}_{short}" for key, short in keys.items()}
    intro = remarks(notes, "%")
    files = {
        f"{names[key]}.m": function(program, names[key], intro, dtype)
        for key, program in programs.items()
    }
    return {**files, f"{stem}_test.m": _test(programs, names, intro, dtype, samples or {})}


def literal(value: float) -> str:
    """A constant with every digit it needs."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Inf" if value > 0 else "(-Inf)"
    return f"({value:.17g})" if value < 0 else f"{value:.17g}"


def function(program: Program, name: str, intro: str, dtype: str) -> str:
    """One function file."""
    inputs, outputs = [p.name for p in program.inputs], free_outputs(program)
    lines: list[str] = []
    used: dict[str, None] = {}

    def operation(k: int, step: Operation, x: list[str]) -> str:
        lines.append(f"    v{k} = {FORMS[step.op].format(*x, x=', '.join(x))};")
        if step.op in HELPERS:
            used[step.op] = None
        return f"v{k}"

    entries = [[f"{port.name}{place}" for place in _places(port)] for port in program.inputs]
    values = translated(program, entries, literal, operation)
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


def _shapes(program: Program, outputs: Sequence[str]) -> str:
    names = [*(p.name for p in program.inputs), *outputs]
    ports = [*program.inputs, *program.outputs]
    sizes = ("x".join(map(str, _size(p))) for p in ports)
    return "% " + ", ".join(f"{n} {s}" for n, s in zip(names, sizes, strict=True)) + "\n"


def _test(
    programs: Programs, names: Mapping[str, str], intro: str, dtype: str, samples: Samples
) -> str:
    """A script that calls every function with recorded numbers."""
    lines = []
    for key, program in programs.items():
        inputs, outputs = vectors(program, np.dtype(dtype), samples.get(key))
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
