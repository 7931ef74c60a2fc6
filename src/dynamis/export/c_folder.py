"""A folder of C99 that compiles together: headers (C and C++), functions, a self-test, builds."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import templates
from ..compile.interpreter import interpret
from ..compile.program import Program
from . import c_function as c
from .c_function import (
    PRECISIONS,
    Precision,
    Programs,
    Samples,
    comment,
    names_in_code,
    prototype,
)

SAMPLES = 5
TOLERANCE = {"float64": 1e-10, "float32": 1e-3}  # relative to the largest entry of a result


def folder(
    robot: str, programs: Programs, notes: Sequence[str], dtype: str, samples: Samples | None = None
) -> dict[str, str]:
    """File name -> text, for the kernels of one robot.

    `samples` are the arguments that the self-test uses, SAMPLES of each; else they are random.
    """
    precision = PRECISIONS[dtype]
    stem, names = names_in_code(robot, programs)
    given = {"INTRO": c.intro(notes), "REMARKS": c.remarks(notes), "STEM": stem, "UP": stem.upper()}
    given |= {"T": precision.type, "SPACE": namespace(stem)}
    filled = partial(templates.filled, __package__, **given)
    inside = {name: programs[key] for key, name in names.items()}
    given_samples = {names[key]: rows for key, rows in (samples or {}).items()}
    tables, calls = _test(inside, dtype, given_samples)
    return {
        f"{stem}.h": c_header(stem, notes, _prototypes(programs, names, precision)),
        f"{stem}.hpp": filled("kernels.hpp", FUNCTIONS=functions(stem, programs, names, precision)),
        f"{stem}.c": filled(
            "kernels.c",
            FUNCTIONS="\n\n".join(c.function(p, name, precision) for name, p in inside.items()),
        ),
        f"{stem}_test.c": filled(
            "kernels_test.c", TOLERANCE=f"{TOLERANCE[dtype]:g}", TABLES=tables, CALLS=calls
        ),
        "Makefile": filled("Makefile"),
        "CMakeLists.txt": filled("CMakeLists.txt"),
    }


def c_header(stem: str, notes: Sequence[str], body: str) -> str:
    """A header that C++ may include too."""
    given = {"INTRO": c.intro(notes), "UP": stem.upper(), "PROTOTYPES": body}
    return templates.filled(__package__, "kernels.h", **given)


def _prototypes(programs: Mapping, names: Mapping, precision: Precision) -> str:
    lines = []
    for key, program in programs.items():
        lines.append(f"/* {comment(key)}: {comment(str(program.cost))}; matrices row by row */")
        lines += [f"{prototype(program, names[key], precision)};", ""]
    return "\n".join(lines)


def vectors(
    program: Program, dtype: Any, given: Sequence[np.ndarray] | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs (else from a fixed seed), and the interpreter's results in extended precision."""
    rng = np.random.default_rng(1)
    if given is None:
        given = [rng.uniform(-1, 1, size=(SAMPLES, *p.shape)) for p in program.inputs]
    inputs = [x.astype(dtype) for x in given]
    outputs = interpret(program, inputs, np.longdouble)
    return inputs, [np.asarray(o, dtype=np.float64) for o in outputs]


def _test(programs: Programs, dtype: str, samples: Samples) -> tuple[str, str]:
    """Recorded numbers of all functions, and the calls that use them."""
    precision, tables, calls = PRECISIONS[dtype], [], []
    for name, program in programs.items():
        inputs, outputs = vectors(program, dtype, samples.get(name))
        given = [f"{name}_{p.name}" for p in program.inputs]
        given += [f"{name}_{p.name}_expected" for p in program.outputs]
        for table, values in zip(given, [*inputs, *outputs], strict=True):
            tables += [c.array(table, values.reshape(SAMPLES, -1), precision), ""]
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


# a C++17 header over the generated C: arrays in, arrays out, nothing allocated

# words that may be a C identifier and not a C++ namespace
RESERVED = frozenset({
    "alignas", "alignof", "and", "and_eq", "asm", "assert", "bitand", "bitor", "bool", "catch",
    "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl",
    "concept", "const_cast", "consteval", "constexpr", "constinit", "decltype", "delete",
    "dynamic_cast", "errno", "explicit", "export", "false", "friend", "i386", "linux",
    "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "reinterpret_cast", "requires", "static_assert",
    "static_cast", "stderr", "stdin", "stdout", "template", "this", "thread_local", "throw",
    "true", "try", "typeid", "typename", "unix", "using", "virtual", "wchar_t", "xor", "xor_eq",
})  # fmt: skip


def namespace(stem: str) -> str:
    """The inner namespace of a robot's functions."""
    return f"{stem}_" if stem in RESERVED else stem


def functions(stem: str, programs: Programs, names: Mapping[str, str], precision: Precision) -> str:
    """The functions of <stem>.hpp."""
    return "\n".join(
        f"/* {comment(key)}; matrices row by row */\n"
        + _function(program, names[key], names[key][len(stem) + 1 :], precision.type)
        for key, program in programs.items()
    )


def _function(program: Program, called: str, name: str, T: str) -> str:
    """One function; several results come as a structure."""

    def array(size: int) -> str:
        return f"::std::array<{T}, {size}>"

    single = len(program.outputs) == 1
    lines, result = [], array(program.outputs[0].size)
    if not single:
        result = f"{name}_result"
        members = [f"    {array(p.size)} {p.name};" for p in program.outputs]
        lines += [f"struct {result} {{", *members, "};", ""]
    takes = ", ".join(f"const {array(p.size)}& {p.name}" for p in program.inputs)
    stores = ["out_.data()"] if single else [f"out_.{p.name}.data()" for p in program.outputs]
    gives = ", ".join([*(f"{p.name}.data()" for p in program.inputs), *stores])
    lines += [
        f"[[nodiscard]] inline {result} {name}({takes}) noexcept {{",
        f"    {result} out_{{}};",
        f"    ::{called}({gives});",
        "    return out_;",
        "}",
        "",
    ]
    return "\n".join(lines)
