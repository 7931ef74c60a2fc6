"""The compile service: programs as machine code that runs on the user's arrays.

Code is found in the process, else in the cache on disk, else made. The key is text that decides it:
of a kernel of the package the chain, the name and the options; of what a user wrote the Program
traced from it, never its source, name or identity, since closures, globals and helpers change
without them. The processor, the versions and the source of this package belong to every key.
"""

import ctypes
import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from ..arguments import whole
from ..lazy import LOCK
from ..progress import Stage, duration, stage
from .arrays import MOST_THREADS

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from .program import AnyProgram, Program

THREADS = "DYNAMIS_THREADS"
COMPILE = "DYNAMIS_COMPILE"  # "off": run the algorithms over NumPy arrays instead
# operations times samples above which a batch is shared out: about 1 ms of work. Handing some of it
# to another thread takes 0.1 to 0.2 ms, and more where other programs keep the cores busy
WORTH_A_THREAD = 20_000_000
RECENT = 16  # codes kept although nobody holds them: simulations come again
T = TypeVar("T")
R = TypeVar("R")
SETTLED = 2.0  # seconds; coarser than the time stamps of any file system


class Ports(NamedTuple):
    """Names and shapes of the arguments and results of one sample."""

    inputs: tuple[str, ...]
    input_shapes: tuple[tuple[int, ...], ...]
    outputs: tuple[str, ...]
    output_shapes: tuple[tuple[int, ...], ...]


class Code:
    """Machine code of one program (a kernel, a task, a law, a user's function) for one dtype."""

    def __init__(self, data: bytes, ports: Ports, dtype: str):
        from .machine import Loaded

        head, _, code = data.partition(b"\n")
        self.operations, size = map(int, head.split())
        self.ports, self.dtype = ports, np.dtype(dtype)
        self.loaded = Loaded(*(part for part in (code[:size], code[size:]) if part))
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
        threads: int | None,
    ) -> None:
        """Evaluate `count` samples; arrays hold contiguous samples `strides` entries apart."""
        self.run_at(
            [x.ctypes.data for x in arrays], strides, [o.ctypes.data for o in outs], count, threads
        )

    def run_at(
        self,
        inputs: Sequence[int],
        strides: Sequence[int],
        outputs: Sequence[int],
        count: int,
        threads: int | None,
    ) -> None:
        """Evaluate `count` samples at addresses; results lie one after the other."""
        threads = thread_count(threads, self.operations, count)
        if threads > 1:  # counting processors takes longer than a small batch
            threads = min(threads, count, most_threads())
        if threads <= 1:
            self._call(count, inputs, strides, outputs)
            return
        edges = [count * k // threads for k in range(threads + 1)]
        item = self.dtype.itemsize
        sizes = [prod(shape) for shape in self.ports.output_shapes]

        def span(a: int, b: int) -> None:
            starts = [x + a * s * item for x, s in zip(inputs, strides, strict=True)]
            ends = [o + a * s * item for o, s in zip(outputs, sizes, strict=True)]
            self._call(b - a, starts, strides, ends)

        share(span, pairwise(edges), threads)

    def _call(
        self, count: int, inputs: Sequence[int], strides: Sequence[int], outputs: Sequence[int]
    ) -> None:
        self._batch(
            count,
            (ctypes.c_void_p * len(inputs))(*inputs),
            (ctypes.c_int64 * len(strides))(*strides),
            (ctypes.c_void_p * len(outputs))(*outputs),
        )


def compiling() -> bool:
    """Whether kernels become machine code."""
    return os.environ.get(COMPILE, "").lower() not in ("off", "0", "no")


_pooled = threading.local()  # whether a thread is one of the pool


@cache
def pool(process: int) -> "ThreadPoolExecutor":
    """The threads of a process, kept between calls; they start when they are needed."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(most_threads(), thread_name_prefix="dynamis")


def most_threads() -> int:
    """Threads that can run at once."""
    return os.cpu_count() or 1


def cores() -> int:
    """Cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return most_threads() if affinity is None else len(affinity(0))


def share(work: Callable[[int, int], None], spans: Iterable[tuple[int, int]], threads: int) -> None:
    """Do the work of every span, by up to `threads` threads at a time.

    The caller is one of them: where other programs keep the cores busy it does not wait for helpers
    that have not begun. Work that is shared out by one of them is its own: waiting for others could
    be forever.
    """
    if threads <= 1 or getattr(_pooled, "here", False):
        for span in spans:
            work(*span)
        return
    every = list(spans)
    rest = iter(every)  # a list's iterator gives every span to one thread only

    def worker() -> None:
        _pooled.here = True
        for span in rest:
            work(*span)

    workers = pool(os.getpid())
    count = min(threads, most_threads(), len(every))
    jobs = [workers.submit(worker) for _ in range(count - 1)]
    try:
        worker()
    finally:
        _pooled.here = False
        for _ in rest:  # nobody begins what is left behind an error
            pass
        begun = [job for job in jobs if not job.cancel()]
        errors = [job.exception() for job in begun]  # when all are done
    for error in errors:
        if error is not None:
            raise error


def map_shared(work: Callable[[T], R], items: Sequence[T], threads: int) -> list[R]:
    """What the work of every item gives, by up to `threads` threads at a time."""
    found: list[Any] = [None] * len(items)

    def one(k: int, _: int) -> None:
        found[k] = work(items[k])

    share(one, pairwise(range(len(items) + 1)), threads)
    return found


def thread_count(threads: int | None, operations: int, count: int) -> int:
    """How many threads a batch gets: as asked, or all cores if the work is worth it."""
    if threads is not None:
        return threads
    if operations * count < WORTH_A_THREAD:
        return 1
    given = os.environ.get(THREADS)
    if given is None:
        return cores()
    number = int(given) if given.isdecimal() and len(given) < 10 else given
    return whole(number, THREADS, most=MOST_THREADS)


Key = tuple[str, ...]  # texts that decide what a program computes


class CodeMemo(Generic[T]):
    """Code of this process by its key: as long as somebody holds it, and the last RECENT asked for.

    Loading or linking it again takes long.
    """

    def __init__(self) -> None:
        self.held: WeakValueDictionary[tuple, T] = WeakValueDictionary()
        self._recent: deque[T] = deque(maxlen=RECENT)

    def found(self, key: tuple, made: Callable[[], T]) -> T:
        """The code of a key; made if it is not here."""
        with LOCK:
            code = self.held.get(key)
            if code is None:
                code = self.held[key] = made()
            if code in self._recent:
                self._recent.remove(code)
            self._recent.append(code)
        return code

    def clear(self) -> None:
        """Let go of all of it."""
        self.held.clear()
        self._recent.clear()


_codes: CodeMemo[Code] = CodeMemo()


def traced(
    name: str,
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    lean: bool = True,
) -> "Program":
    """The Program of `function(*arguments, fn)`; shapes of arguments and results by name.

    `lean` makes several divisions by one value one reciprocal.
    """
    with LOCK:
        from .optimise import share_reciprocals
        from .program import Port
        from .tracer import trace

        ports = [[Port(*port) for port in side.items()] for side in (inputs, outputs)]
        found = trace(name, function, *ports)
        return share_reciprocals(found) if lean else found


def compiled(
    key: Key | None,
    made: Callable[[], "AnyProgram"],
    ports: Ports,
    dtype: str,
    samples: int | None = None,
    *,
    what: str,
) -> Code:
    """Machine code of the program that `made` gives and `key` decides (None: its text does).

    `samples` are computed at a time in vector registers: as many as fit unless given. `what` names
    it to the user where compiling takes long.
    """
    if key is None:
        program = made()
        key, made = (program.text,), lambda: program
    texts = key

    def linked() -> Code:
        name = digest(*texts, repr(ports), dtype, str(samples))
        return Code(stored(name, machine_code, what), ports, dtype)

    def machine_code(shown: Stage) -> bytes:
        program = made()
        seconds = sum(compile_time(part.length) for part in program.parts)
        shown.tell(f"{shown.what}: {program.length} operations, {duration(seconds)}", seconds)
        return object_of(program, dtype, samples)

    return _codes.found((texts, ports, dtype, samples), linked)


def forget() -> None:
    """Let go of all code that no robot holds; the next is read from disk again."""
    _codes.clear()


def compile_time(operations: int) -> float:
    """Seconds that a program takes to become machine code on a processor of 2020, roughly.

    390 operations took 0.1 s, 3078 0.6 s, 11 048 2.7 s, 35 581 15 s and 57 147 34 s.
    """
    return 2.2e-4 * operations * (1.0 + operations / 35_000)


def stored(key: str, made: Callable[[Stage], bytes], what: str) -> bytes:
    """What the cache on disk has under a key; else it is compiled, and stored.

    What takes long to compile is shown as a stage, which `made` is given.
    """
    from . import cache as disk

    found = disk.read(key)
    if found is None:
        with stage(f"compiling {what} (first use)") as shown:
            found = made(shown)
        disk.write(key, found)
    return found


def object_of(program: "AnyProgram", dtype: str, samples: int | None = None) -> bytes:
    """Operation count and size of the first object, a newline, and one or two objects."""
    from .llvm_module import modules
    from .machine import object_code, width

    ir, seldom = modules(program, dtype, samples or width(dtype))
    code = object_code(ir, sum(part.length for part in program.parts))
    head = f"{program.length} {len(code)}\n".encode()
    return head + code + (object_code(seldom, seldom=True) if seldom else b"")


def digest(*parts: str) -> str:
    """The key of code that the parts decide, here: by this processor, package and compiler."""
    from .machine import host

    return _sha256("\n".join((*parts, repr(host()), sources(), versions())).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


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
    """Digest of the source of this package.

    Reading all files takes 10 ms: the digest is stored under the files' names, sizes, times and
    numbers, and read again only if one of these changed. A change of status cannot be dated back.
    """
    from . import cache as disk

    files = list(_modules(os.path.dirname(os.path.dirname(__file__))))  # noqa: PTH120
    stats = [(name, os.stat(name)) for name in files]  # noqa: PTH116
    stamp = [(n, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino) for n, s in stats]
    key = _sha256(repr(stamp).encode())
    found = disk.read(key, disk.SOURCES)
    if found is None:
        root = len(os.path.commonpath(files))
        read = [f"{name[root:]}\n{_sha256(Path(name).read_bytes())}" for name in files]
        found = _sha256("\n".join(read).encode()).encode()
        if time.time() - max(s.st_ctime for _, s in stats) > SETTLED:
            disk.write(key, found, disk.SOURCES)
    return found.decode()


def _modules(folder: str) -> Iterator[str]:
    """Python files below a folder, in an order that stays."""
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        if entry.is_dir():
            yield from _modules(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path
