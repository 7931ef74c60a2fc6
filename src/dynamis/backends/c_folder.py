"""A folder of C99 that compiles together: headers (C and C++), functions, a self-test, builds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..trace.interpreter import interpret
from ..trace.program import Program
from .c_function import PRECISIONS, Precision, function, literal, prototype
from .c_names import comment, identifier
from .cpp_header import header as cpp_header

SAMPLES = 5
TOLERANCE = {"double": 1e-10, "float": 1e-3}  # relative to the largest entry of a result


def folder(
    robot: str, programs: Mapping[str, Program], notes: Sequence[str], dtype: str
) -> dict[str, str]:
    """File name -> text, for the kernels of one robot."""
    precision = PRECISIONS[dtype]
    stem = identifier(robot)
    names = {key: f"{stem}_{identifier(key, 'f')}" for key in programs}
    intro = ["/*", *(f" * {comment(line)}".rstrip() for line in notes), " */"]
    return {
        f"{stem}.h": _header(stem, intro, programs, names, precision),
        f"{stem}.hpp": cpp_header(stem, intro, programs, names, precision),
        f"{stem}.c": _source(stem, intro, programs, names, precision),
        f"{stem}_test.c": _test(stem, intro, programs, names, precision),
        "Makefile": _hashes(notes) + _makefile(stem),
        "CMakeLists.txt": _hashes(notes) + _cmake(stem),
    }


def _header(stem: str, intro: list, programs: Mapping, names: Mapping, precision: Precision) -> str:
    guard = f"{stem.upper()}_H"
    lines = [*intro, f"#ifndef {guard}", f"#define {guard}", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for key, program in programs.items():
        cost = program.cost
        lines.append(f"/* {comment(key)}: {comment(str(cost))}; matrices row by row */")
        lines += [f"{prototype(program, names[key], precision)};", ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */"]
    return "\n".join(lines) + "\n"


def _source(stem: str, intro: list, programs: Mapping, names: Mapping, precision: Precision) -> str:
    lines = [*intro, f'#include "{stem}.h"', "", "#include <math.h>", ""]
    for key, program in programs.items():
        lines += [function(program, names[key], precision), ""]
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


def _test(stem: str, intro: list, programs: Mapping, names: Mapping, precision: Precision) -> str:
    T = precision.type
    dtype = np.float64 if T == "double" else np.float32
    lines = [*intro, f'#include "{stem}.h"', "", "#include <math.h>", "#include <stdio.h>", ""]
    lines += [
        f"static int differs(const char *name, const {T} *got, const {T} *expected, int size)",
        "{",
        "    double worst = 0.0, largest = 1e-3;",
        "    int i;",
        "    for (i = 0; i < size; i++) {",
        "        const double error = fabs((double)got[i] - (double)expected[i]);",
        "        if (!(error <= worst)) worst = error;",
        "        if (fabs((double)expected[i]) > largest) largest = fabs((double)expected[i]);",
        "    }",
        f"    if (worst <= {TOLERANCE[T]:g} * largest) return 0;",
        '    printf("%s differs by %g\\n", name, worst);',
        "    return 1;",
        "}",
        "",
    ]
    calls = []
    for key, program in programs.items():
        inputs, outputs = vectors(program, dtype)
        name = names[key]
        for port, values in zip(program.inputs, inputs, strict=True):
            lines += [_array(f"{name}_{port.name}", values, precision), ""]
        for port, values in zip(program.outputs, outputs, strict=True):
            lines += [_array(f"{name}_{port.name}_expected", values, precision), ""]
        calls += _calls(program, name, T)
    lines += ["int main(void)", "{", "    int wrong = 0, i;", *calls]
    lines += ['    printf(wrong ? "FAILED\\n" : "passed\\n");', "    return wrong != 0;", "}"]
    return "\n".join(lines) + "\n"


def _calls(program: Program, name: str, T: str) -> list[str]:
    arguments = [f"{name}_{p.name}[i]" for p in program.inputs] + [p.name for p in program.outputs]
    lines = [f"    for (i = 0; i < {SAMPLES}; i++) {{"]
    lines += [f"        {T} {p.name}[{p.size}];" for p in program.outputs]
    lines.append(f"        {name}({', '.join(arguments)});")
    for port in program.outputs:
        expected = f"{name}_{port.name}_expected[i]"
        lines.append(f'        wrong += differs("{name}", {port.name}, {expected}, {port.size});')
    return [*lines, "    }"]


def _hashes(notes: Sequence[str]) -> str:
    return "".join(f"# {comment(line)}".rstrip() + "\n" for line in notes) + "\n"


def _makefile(stem: str) -> str:
    return (
        "CC ?= cc\n"
        "CFLAGS ?= -std=c99 -O2 -Wall -Wextra -Werror -pedantic\n\n"
        f"test: {stem}_test\n\t./{stem}_test\n\n"
        f"{stem}_test: {stem}.c {stem}_test.c {stem}.h\n"
        f"\t$(CC) $(CFLAGS) -o $@ {stem}.c {stem}_test.c -lm\n\n"
        f"clean:\n\trm -f {stem}_test\n\n.PHONY: test clean\n"
    )


def _cmake(stem: str) -> str:
    return (
        "cmake_minimum_required(VERSION 3.10)\n"
        f"project({stem} C)\n"
        "set(CMAKE_C_STANDARD 99)\n"
        f"add_library({stem} STATIC {stem}.c)\n"
        f"target_include_directories({stem} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})\n"
        "if(UNIX)\n"
        f"  target_link_libraries({stem} PUBLIC m)\n"
        "endif()\n"
        "enable_testing()\n"
        f"add_executable({stem}_test {stem}_test.c)\n"
        f"target_link_libraries({stem}_test PRIVATE {stem})\n"
        f"add_test(NAME self_test COMMAND {stem}_test)\n"
    )
