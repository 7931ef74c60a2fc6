"""A folder of C99 that compiles together: headers (C and C++), functions, a self-test, builds."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import templates
from ..trace.interpreter import interpret
from ..trace.program import Program
from .c_function import PRECISIONS, Precision, function, literal, prototype
from .c_names import comment, identifier, intro, remarks
from .cpp_header import functions, namespace

SAMPLES = 5
TOLERANCE = {"double": 1e-10, "float": 1e-3}  # relative to the largest entry of a result


def folder(
    robot: str, programs: Mapping[str, Program], notes: Sequence[str], dtype: str
) -> dict[str, str]:
    """File name -> text, for the kernels of one robot."""
    precision = PRECISIONS[dtype]
    stem = identifier(robot)
    names = {key: f"{stem}_{identifier(key, 'f')}" for key in programs}
    given = {"INTRO": intro(notes), "REMARKS": remarks(notes), "STEM": stem, "UP": stem.upper()}
    given |= {"T": precision.type, "SPACE": namespace(stem)}
    filled = partial(templates.filled, __package__, **given)
    inside = {name: programs[key] for key, name in names.items()}
    tables, calls = _test(inside, precision)
    return {
        f"{stem}.h": filled("kernels.h", PROTOTYPES=_prototypes(programs, names, precision)),
        f"{stem}.hpp": filled("kernels.hpp", FUNCTIONS=functions(stem, programs, names, precision)),
        f"{stem}.c": filled(
            "kernels.c",
            FUNCTIONS="\n\n".join(function(p, name, precision) for name, p in inside.items()),
        ),
        f"{stem}_test.c": filled(
            "kernels_test.c", TOLERANCE=f"{TOLERANCE[precision.type]:g}", TABLES=tables, CALLS=calls
        ),
        "Makefile": filled("Makefile"),
        "CMakeLists.txt": filled("CMakeLists.txt"),
    }


def _prototypes(programs: Mapping, names: Mapping, precision: Precision) -> str:
    lines = []
    for key, program in programs.items():
        lines.append(f"/* {comment(key)}: {comment(str(program.cost))}; matrices row by row */")
        lines += [f"{prototype(program, names[key], precision)};", ""]
    return "\n".join(lines)


def vectors(program: Program, dtype: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs from a fixed seed, and the interpreter's results in extended precision."""
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(-1, 1, size=(SAMPLES, *p.shape)).astype(dtype) for p in program.inputs]
    outputs = interpret(program, inputs, np.longdouble)
    return inputs, [np.asarray(o, dtype=np.float64) for o in outputs]


def _array(name: str, values: np.ndarray, precision: Precision) -> str:
    rows = ",\n".join(
        "    {" + ", ".join(literal(float(x), precision) for x in row) + "}"
        for row in values.reshape(SAMPLES, -1)
    )
    size = values.reshape(SAMPLES, -1).shape[1]
    return f"static const {precision.type} {name}[{SAMPLES}][{size}] = {{\n{rows}}};"


def _test(programs: Mapping[str, Program], precision: Precision) -> tuple[str, str]:
    """Recorded numbers of all functions, and the calls that use them."""
    dtype = np.float64 if precision.type == "double" else np.float32
    tables, calls = [], []
    for name, program in programs.items():
        inputs, outputs = vectors(program, dtype)
        for port, values in zip(program.inputs, inputs, strict=True):
            tables += [_array(f"{name}_{port.name}", values, precision), ""]
        for port, values in zip(program.outputs, outputs, strict=True):
            tables += [_array(f"{name}_{port.name}_expected", values, precision), ""]
        calls += _calls(program, name, precision.type)
    return "\n".join(tables), "\n".join(calls)


def _calls(program: Program, name: str, T: str) -> list[str]:
    arguments = [f"{name}_{p.name}[i]" for p in program.inputs] + [p.name for p in program.outputs]
    lines = [f"    for (i = 0; i < {SAMPLES}; i++) {{"]
    lines += [f"        {T} {p.name}[{p.size}];" for p in program.outputs]
    lines.append(f"        {name}({', '.join(arguments)});")
    for port in program.outputs:
        expected = f"{name}_{port.name}_expected[i]"
        lines.append(f'        wrong += differs("{name}", {port.name}, {expected}, {port.size});')
    return [*lines, "    }"]
