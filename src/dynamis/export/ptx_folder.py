"""Kernels as PTX, the assembly of NVIDIA GPUs, which their driver makes code of."""

from collections.abc import Sequence

from ..compile.gpu import entry_point, ptx_of
from ..compile.llvm_gpu import layout
from ..compile.program import Port, Program
from .c_function import PRECISIONS, Programs, names_in_code, remarks


def ptx_folder(robot: str, programs: Programs, notes: Sequence[str], dtype: str) -> dict[str, str]:
    """File name -> text, for the kernels of one robot."""
    _, names = names_in_code(robot, programs)
    files = {}
    for key, program in programs.items():
        head = [*notes, "", *_signature(names[key], program, dtype)]
        text = entry_point(ptx_of(program, dtype, False), names[key])
        files[f"{names[key]}.ptx"] = f"{remarks(head, '//')}{text}"
    return files


def _signature(name: str, program: Program, dtype: str) -> list[str]:
    """How the kernel is called."""
    T = PRECISIONS[dtype].type
    arguments = ["int64_t count"]
    for port in program.inputs:
        arguments += [f"const {T} *{port.name}", f"int64_t {port.name}_stride"]
    arguments += [f"{T} *{port.name}" for port in program.outputs]
    threads = layout(program, dtype).threads
    listed = ", ".join(_described(p) for p in (*program.inputs, *program.outputs))
    return [
        f"{name}({', '.join(arguments)})",
        f"One thread per sample: blocks of {threads} threads, ceil(count / {threads}) blocks, no",
        "dynamic shared memory; count at least 1. One sample has the numbers " + listed + ",",
        "row by row; arguments lie `stride` numbers from sample to sample (0: one for all),",
        "results one after the other. Results must not overlap arguments.",
    ]


def _described(port: Port) -> str:
    return f"{port.name}[{' x '.join(map(str, port.shape)) or '1'}]"
