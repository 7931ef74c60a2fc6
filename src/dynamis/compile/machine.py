"""Machine code in this process: LLVM IR to object code, object code to callable addresses."""

from collections import deque
from functools import cache
from typing import Any, NamedTuple

import llvmlite.binding as llvm

from ..lazy import LOCK

QUICK = 20_000  # operations above which a module is optimised less
SELECTION = (
    1  # level of instruction selection: above it long code takes thrice the time, to no gain
)


class Host(NamedTuple):
    """The processor code is made for."""

    triple: str
    cpu: str
    features: str
    bits: int  # of a vector register


GPU = Host("nvptx64-nvidia-cuda", "sm_70", "+ptx63", 0)  # every GPU since 2017 runs it


@cache
def host() -> Host:
    """This machine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    triple = llvm.get_process_triple()
    wide = features.get("avx512f") and features.get("avx512vl")
    bits = 512 if wide else 256 if features.get("avx") else 128
    return Host(triple, llvm.get_host_cpu_name(), features.flatten(), bits)


def width(dtype: str) -> int:
    """Samples in one vector register."""
    return host().bits // (64 if dtype == "float64" else 32)


def object_code(ir: str, operations: int = 0, seldom: bool = False) -> bytes:
    """Compile IR for this machine; what runs seldom is not optimised."""
    where = host()
    level, selection = 3 if operations <= QUICK else 1, SELECTION
    if seldom:
        level = selection = 0
    far = where.triple.startswith("x86_64")  # constants may lie further away than 32 bits reach
    reloc, model = ("static", "large") if far else ("pic", "default")
    target = llvm.Target.from_triple(where.triple).create_target_machine(
        cpu=where.cpu, features=where.features, opt=selection, reloc=reloc, codemodel=model
    )
    return target.emit_object(_optimised(ir, target, where.triple, level))


def ptx_code(ir: str, operations: int = 0) -> str:
    """Compile IR for NVIDIA GPUs: PTX, which the driver makes code of; needs no GPU."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    level = 3 if operations <= QUICK else 1
    target = llvm.Target.from_triple(GPU.triple).create_target_machine(
        cpu=GPU.cpu, features=GPU.features, opt=level
    )
    return target.emit_assembly(_optimised(ir, target, GPU.triple, level))


def _optimised(ir: str, target: llvm.TargetMachine, triple: str, level: int) -> llvm.ModuleRef:
    module = llvm.parse_assembly(ir)
    module.triple = triple
    module.data_layout = str(target.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.slp_vectorization = False
    options.loop_vectorization = False
    passes = llvm.create_pass_builder(target, options).getModulePassManager()
    passes.run(module, llvm.create_pass_builder(target, options))
    _dispose(passes)
    return module


def _dispose(passes: Any) -> None:
    """Give a pass manager back: llvmlite up to 0.50 inherits an empty `_dispose` before its own."""
    llvm.newpassmanagers.NewPassManager._dispose(passes)
    passes.detach()


_dropped: deque[Any] = deque()  # engines whose code nobody needs any more


class Loaded:
    """Object code in memory; its addresses live as long as this does."""

    def __init__(self, *codes: bytes):
        _dropped.clear()
        target = llvm.Target.from_triple(host().triple).create_target_machine(
            cpu=host().cpu, features=host().features, jit=True
        )
        empty = llvm.parse_assembly("")
        self._engine = llvm.create_mcjit_compiler(empty, target)
        for code in codes:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Address of a function."""
        address = self._engine.get_function_address(name)
        if not address:
            raise LookupError(f"no function {name!r} in the object code")
        return address

    def __del__(self, dropped: deque[Any] = _dropped, lock: Any = LOCK) -> None:
        """Give the memory back: now, or with the next code if LLVM is busy in another thread."""
        dropped.append(self.__dict__.pop("_engine", None))
        if lock.acquire(blocking=False):
            try:
                dropped.clear()
            finally:
                lock.release()
