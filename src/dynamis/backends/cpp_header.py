"""A C++17 header over the generated C: arrays in, arrays out, nothing allocated."""

from collections.abc import Mapping

from ..trace.program import Program
from .c_function import Precision
from .c_names import comment

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


def functions(
    stem: str, programs: Mapping[str, Program], names: Mapping[str, str], precision: Precision
) -> str:
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
