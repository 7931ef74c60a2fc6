"""Compiled kernels: from a row of the table to machine code that runs on the user's arrays."""

import ctypes
import hashlib
import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import OptionError
from .kernels import Kernel, input_shape, shape_of
from .model.chain import chain
from .model.model import Model
from .model.parameters import parameter_names

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

SOURCES = ("spatial", "dynamics", "trace", "backends")  # what decides the code
SOURCE_FILES = (
    "kernels.py",
    "programs.py",
    "derivatives.py",
    "model/chain.py",
    "model/parameters.py",
)
THREADS = "DYNAMIS_THREADS"
COMPILE = "DYNAMIS_COMPILE"  # "off": run the algorithms over NumPy arrays instead
WORTH_A_THREAD = 6_000_000  # operations times samples above which a batch is shared out


class Ports(NamedTuple):
    """Names and shapes of the arguments and results of one sample."""

    inputs: tuple[str, ...]
    input_shapes: tuple[tuple[int, ...], ...]
    outputs: tuple[str, ...]
    output_shapes: tuple[tuple[int, ...], ...]


class Code:
    """Machine code of one kernel of one robot in one precision."""

    def __init__(self, code: bytes, operations: int, ports: Ports, dtype: str):
        from .backends.machine import Loaded

        self.ports, self.dtype, self.operations = ports, np.dtype(dtype), operations
        self.loaded = Loaded(code)
        self.one = self.loaded.address("kernel_one")
        self.batch = self.loaded.address("kernel_batch")
        self._batch = ctypes.CFUNCTYPE(
            None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
        )(self.batch)

    @property
    def largest(self) -> int:
        """Samples one thread should take before others help."""
        return max(1, WORTH_A_THREAD // max(self.operations, 1))

    def run(
        self,
        arrays: Sequence[np.ndarray],
        strides: Sequence[int],
        outs: Sequence[np.ndarray],
        count: int,
        threads: int,
    ) -> None:
        """Evaluate `count` samples; arrays hold contiguous samples `strides` entries apart."""
        if threads <= 1 or count < 2:
            self._span(arrays, strides, outs, 0, count)
            return
        edges = np.linspace(0, count, min(threads, count) + 1).astype(int)
        spans = pairwise(edges)
        workers = pool(os.getpid(), threads)
        jobs = [workers.submit(self._span, arrays, strides, outs, int(a), int(b)) for a, b in spans]
        for job in jobs:
            job.result()

    def _span(
        self,
        arrays: Sequence[np.ndarray],
        strides: Sequence[int],
        outs: Sequence[np.ndarray],
        first: int,
        last: int,
    ) -> None:
        item = self.dtype.itemsize
        starts = [a.ctypes.data + first * s * item for a, s in zip(arrays, strides, strict=True)]
        ends = [o.ctypes.data + first * o.strides[0] for o in outs]
        self._batch(
            last - first,
            (ctypes.c_void_p * len(starts))(*starts),
            (ctypes.c_int64 * len(strides))(*strides),
            (ctypes.c_void_p * len(ends))(*ends),
        )


def compiling() -> bool:
    """Whether kernels become machine code."""
    return os.environ.get(COMPILE, "").lower() not in ("off", "0", "no")


@cache
def pool(process: int, threads: int) -> "ThreadPoolExecutor":
    """The threads of a process, kept between calls."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads, thread_name_prefix="dynamis")


def thread_count(threads: int | None, operations: int, count: int) -> int:
    """How many threads a batch gets: as asked, or all cores if the work is worth it."""
    if threads is not None:
        return threads
    if operations * count < WORTH_A_THREAD:
        return 1
    given = os.environ.get(THREADS)
    if given is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    if not given.isdigit() or int(given) < 1:
        raise OptionError(f"{THREADS} is {given!r}, expected a whole number above 0")
    return int(given)


def ports_of(kernel: Kernel, model: Model, parameters: bool) -> Ports:
    """The sizes of a kernel for one robot."""
    inputs = (*kernel.inputs, "parameters") if parameters else kernel.inputs
    return Ports(
        inputs,
        tuple(input_shape(name, model) for name in inputs),
        tuple(kernel.outputs),
        tuple(shape_of(s, model) for s in kernel.outputs.values()),
    )


def compile_kernel(kernel: Kernel, model: Model, dtype: str, parameters: bool = False) -> Code:
    """Machine code, from the disk cache if the same kernel was compiled before."""
    from .backends import cache as disk

    ports = ports_of(kernel, model, parameters)
    key = cache_key(kernel, model, dtype, parameters)
    stored = disk.read(key)
    if stored is None:
        stored = _made(kernel, model, dtype, parameters)
        disk.write(key, stored)
    operations, _, code = stored.partition(b"\n")
    return Code(code, int(operations), ports, dtype)


def _made(kernel: Kernel, model: Model, dtype: str, parameters: bool) -> bytes:
    """Operation count and object code."""
    from .programs import program

    return object_of(program(kernel, model, parameters), dtype)


def object_of(traced: Any, dtype: str, samples: int | None = None) -> bytes:
    """Operation count, a newline and the object code of a program.

    `samples` at a time in vector registers: as many as fit unless given.
    """
    from .backends.llvm_module import module
    from .backends.machine import object_code, width

    ir = module(traced, dtype, samples or width(dtype))
    return str(traced.length).encode() + b"\n" + object_code(ir, traced.length)


def cache_key(kernel: Kernel, model: Model, dtype: str, parameters: bool) -> str:
    """Digest of what decides the code: model, function, options, versions, processor."""
    from .backends.machine import host

    values = [0.0] * len(parameter_names(model)) if parameters else None
    c = chain(model, parameters=values)
    parts = (repr(c), kernel.key, dtype, str(parameters), repr(host()), sources(), versions())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@cache
def versions() -> str:
    """Versions of what writes the code; CasADi's is read off a folder: importing it takes time."""
    import llvmlite

    spec = find_spec("casadi")
    folder = Path(spec.origin).parents[1] if spec and spec.origin else Path()
    names = os.listdir(folder)  # noqa: PTH208
    found = sorted(x for x in names if x.startswith("casadi-"))
    return f"llvmlite {llvmlite.__version__}, {' '.join(found)}"


@cache
def sources() -> str:
    """Digest of the algorithms and of the compiler themselves."""
    root = os.path.dirname(__file__)  # noqa: PTH120  many small files: every microsecond counts
    files = [
        os.path.join(root, folder, name)  # noqa: PTH118
        for folder in SOURCES
        for name in sorted(os.listdir(os.path.join(root, folder)))  # noqa: PTH118, PTH208
        if name.endswith(".py") and (folder != "backends" or name.startswith(("llvm", "machine")))
    ]
    files += [os.path.join(root, name) for name in SOURCE_FILES]  # noqa: PTH118
    digest = hashlib.sha256()
    for file in files:
        with open(file, "rb") as stream:  # noqa: PTH123
            digest.update(stream.read())
    return digest.hexdigest()
