"""Code for NVIDIA GPUs: PTX of programs, loaded and launched by the driver; memory of a device."""

import ctypes
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DeviceError, DynamisError, OptionError, shown
from ..lazy import LOCK, package
from .service import CodeMemo, Key, Ports, digest, stored

if TYPE_CHECKING:
    from .program import Program

EXTRA = "gpu"
APART = 1  # CU_STREAM_NON_BLOCKING: a stream that does not wait for stream 0
ANYWHERE = 1  # CU_MEMHOSTALLOC_PORTABLE: page-locked for every context
ASLEEP = 3  # CU_EVENT_BLOCKING_SYNC, _DISABLE_TIMING: who waits leaves its core to others
KEPT = 2**28  # bytes that a lane keeps for its next launch


class Device(NamedTuple):
    """A GPU: its number, name, memory in bytes, and the compute capability of its processors."""

    index: int
    name: str
    memory: int
    capability: tuple[int, int]

    def __repr__(self) -> str:
        major, minor = self.capability
        size = f"{self.memory / 2**30:.0f} GiB"
        return f"<cuda:{self.index} {self.name}, {size}, compute capability {major}.{minor}>"


class Devices(tuple[Device, ...]):
    """The GPUs of this machine; where there is none, `reason` says why."""

    reason: str = ""

    def __repr__(self) -> str:
        return super().__repr__() if self else f"no GPU: {self.reason}"


@cache
def driver() -> Any:
    """NVIDIA's driver, started."""
    cuda = package("cuda.bindings.driver", "cuda-bindings", "computing on a GPU", EXTRA)
    try:
        (status,) = cuda.cuInit(0)
    except RuntimeError as error:  # the library of the driver is missing
        raise DeviceError(f"NVIDIA's driver cannot be loaded ({error})", "install it") from None
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"NVIDIA's driver does not start: {_said(cuda, status)}")
    return cuda


def call(name: str, *arguments: Any) -> Any:
    """A function of the driver; what it returns, one value or None. Errors are raised."""
    cuda = driver()
    status, *values = getattr(cuda, name)(*arguments)
    if status != cuda.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"the GPU's driver failed in {name}: {_said(cuda, status)}")
    return values[0] if len(values) == 1 else None


def _said(cuda: Any, status: Any) -> str:
    _, text = cuda.cuGetErrorString(status)
    return f"{text.decode() if isinstance(text, bytes) else text} ({int(status)})"


def devices() -> Devices:
    """The GPUs of this machine; empty, with the reason, where there is none."""
    try:
        count = call("cuDeviceGetCount")
    except DynamisError as error:
        found = Devices()
        found.reason = str(error).replace("\n", "; ")
        return found
    found = Devices(_device(k) for k in range(count))
    found.reason = "" if found else "the driver knows none"
    return found


def _device(index: int) -> Device:
    kinds, handle = driver().CUdevice_attribute, call("cuDeviceGet", index)
    name = call("cuDeviceGetName", 256, handle).split(b"\0")[0].decode()
    major, minor = (
        call("cuDeviceGetAttribute", getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{which}"), handle)
        for which in ("COMPUTE_CAPABILITY_MAJOR", "COMPUTE_CAPABILITY_MINOR")
    )
    return Device(index, name, call("cuDeviceTotalMem", handle), (major, minor))


def device_named(name: Any) -> int:
    """The number of "cuda" or "cuda:1"; what is not there is refused, with the reason."""
    found, text = devices(), ""
    if isinstance(name, str) or type(name).__module__ == "torch":
        text = str(name)
    kind, _, number = text.partition(":")
    if kind != "cuda" or not (number.isdecimal() or text == "cuda") or len(number) > 3:
        raise OptionError(f"device is {shown(name)}, expected 'cpu', 'cuda' or 'cuda:0'")
    if not found:
        raise DeviceError(f"device is {text!r}, but there is no GPU here: {found.reason}")
    index = int(number or 0)
    if index >= len(found):
        raise DeviceError(f"device is {text!r}, expected one of {', '.join(map(repr, found))}")
    return index


@cache
def _context(index: int, process: int) -> Any:
    """The context of a device that every library of this process shares."""
    return call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", index))


class on:  # noqa: N801  reads as the statement it is
    """Within it, a device is the current one of this thread."""

    def __init__(self, index: int):
        self.context = _context(index, os.getpid())
        self.entered = False

    def __enter__(self) -> None:
        if int(call("cuCtxGetCurrent")) != int(self.context):
            call("cuCtxPushCurrent", self.context)
            self.entered = True

    def __exit__(self, *error: object) -> None:
        if self.entered:
            call("cuCtxPopCurrent")


class DeviceCode:
    """PTX of a program, loaded when it is first launched; on any device of this machine."""

    def __init__(self, ptx: str, operations: int, threads: int, ports: Ports, dtype: str):
        self.ptx, self.operations, self.threads, self.ports = ptx, operations, threads, ports
        self.dtype = np.dtype(dtype)
        self._library: Any = None

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._library is not None and not ending():
            driver().cuLibraryUnload(self._library)

    @property
    def kernel(self) -> int:
        """The driver's handle of the code."""
        if self._library is None:
            with LOCK:
                if self._library is None:  # another thread may have loaded it meanwhile
                    text = self.ptx.encode() + b"\0"
                    library = call("cuLibraryLoadData", text, None, None, 0, None, None, 0)
                    handle = call("cuLibraryGetKernel", library, b"kernel")
                    self._function = driver().CUfunction(int(handle))
                    self._library = library
        return int(self._function)

    def launch(
        self,
        device: int,
        stream: int,
        count: int,
        inputs: Sequence[int],
        strides: Sequence[int],
        outputs: Sequence[int],
    ) -> None:
        """Compute `count` samples of arguments and results at addresses, in the order of a stream.

        Arguments hold contiguous samples `strides` entries apart.
        """
        pairs = [x for pair in zip(inputs, strides, strict=True) for x in pair]
        self.launch_with(device, stream, count, [count, *pairs, *outputs])

    def launch_with(self, device: int, stream: int, count: int, arguments: Sequence[int]) -> None:
        """One thread for each of `count` samples; arguments of 8 bytes each."""
        if not count:
            return
        with on(device):
            self.kernel  # noqa: B018  loads it
            numbers = (ctypes.c_int64 * len(arguments))(*arguments)
            first = ctypes.addressof(numbers)
            places = (ctypes.c_void_p * len(arguments))(
                *range(first, first + 8 * len(arguments), 8)
            )
            blocks = -(-count // self.threads)
            call(
                "cuLaunchKernel", self._function, blocks, 1, 1, self.threads, 1, 1, 0, stream,
                ctypes.addressof(places), 0,
            )  # fmt: skip


_codes: CodeMemo[DeviceCode] = CodeMemo()


def device_code(
    key: Key, made: Callable[[], "Program"], ports: Ports, dtype: str, fused: bool, what: str
) -> DeviceCode:
    """Code for GPUs of the program that `made` gives and `key` decides; `what` it is called."""

    def text() -> bytes:
        from .llvm_gpu import layout

        program = made()
        ptx = ptx_of(program, dtype, fused)
        return f"{program.length} {layout(program, dtype).threads}\n{ptx}".encode()

    return loaded(("gpu", *key, repr(ports), dtype, str(fused)), text, ports, dtype, what)


def ptx_of(program: "Program", dtype: str, fused: bool) -> str:
    """PTX of a program; needs no GPU."""
    from .llvm_gpu import module
    from .machine import ptx_code

    with LOCK:
        return ptx_code(module(program, dtype, fused), program.length)


def entry_point(ptx: str, name: str) -> str:
    """PTX with its kernel under another name."""
    from .llvm_gpu import NAME

    return re.sub(rf"\b{NAME}\b", name, ptx)


def loaded(key: Key, text: Callable[[], bytes], ports: Ports, dtype: str, what: str) -> DeviceCode:
    """Code from this process or the cache on disk; else made; `what` it is called.

    `text` begins with a line of the operations and the threads of a block.
    """

    def read() -> DeviceCode:
        head, _, ptx = stored(digest(*key), lambda _: text(), what).decode().partition("\n")
        operations, threads = map(int, head.split())
        return DeviceCode(ptx, operations, threads, ports, dtype)

    return _codes.found(key, read)


class Memory:
    """Memory that this package takes itself, given back when nobody holds it.

    On a device; or `here`: page-locked memory of this machine, which the device copies by itself.
    """

    def __init__(self, device: int, size: int, here: bool = False):
        self.device, self.size, self.here = device, size, here
        self._address: Any = None
        if size:
            with on(device):
                self._address = (
                    call("cuMemHostAlloc", size, ANYWHERE) if here else call("cuMemAlloc", size)
                )

    @property
    def address(self) -> int:
        """Where it lies; 0 if it is empty."""
        return 0 if self._address is None else int(self._address)

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if self._address is not None and not ending():
            with on(self.device):
                free = driver().cuMemFreeHost if self.here else driver().cuMemFree
                free(self._address)


class Lane:
    """A stream of a device, and memory there and here that is kept from launch to launch.

    What runs on different lanes runs at the same time where the device has room for it; taking
    and giving back memory would make the whole device wait.
    """

    def __init__(self, device: int):
        self.device = device
        with on(device):
            self._stream = call("cuStreamCreate", APART)
            self._done = call("cuEventCreate", ASLEEP)
        self._kept: dict[tuple[str, bool], Memory] = {}
        self._sent: list[np.ndarray] = []  # until they have arrived

    def __del__(self, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        if hasattr(self, "_done") and not ending():
            with on(self.device):
                driver().cuEventDestroy(self._done)
                driver().cuStreamDestroy(self._stream)

    @property
    def stream(self) -> int:
        """The driver's handle of its stream."""
        return int(self._stream)

    def _memory(self, name: str, size: int, here: bool) -> Memory:
        """At least as much as asked for."""
        own = self._kept.get((name, here))
        if own is None or own.size < size:
            self._kept.pop((name, here), None)
            own = self._kept[name, here] = Memory(self.device, size, here)
        return own

    def space(self, name: str, size: int) -> int:
        """The address of memory of the device, which the next of that name takes over."""
        return self._memory(name, size, False).address if size else 0

    def array(self, name: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """A page-locked array, which the next of that name takes over; only while it is held."""
        size = prod(shape) * np.dtype(dtype).itemsize
        try:
            address = self._memory(name, size, True).address if size else 0
        except DeviceError:  # systems limit it; any other memory is copied too, if slower
            address = 0
        if not address:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, memoryview((ctypes.c_char * size).from_address(address)))

    def send(self, name: str, array: np.ndarray, stream: int) -> int:
        """Copy an array to the device, in the order of a stream; the address there."""
        array = np.ascontiguousarray(array)
        address = self.space(name, array.nbytes)
        if array.nbytes:
            self._sent.append(array)
            call("cuMemcpyHtoDAsync", address, array.ctypes.data, array.nbytes, stream)
        return address

    def fetch(self, address: int, array: np.ndarray, stream: int) -> None:
        """Copy into a contiguous array, in the order of a stream."""
        if array.nbytes:
            call("cuMemcpyDtoHAsync", array.ctypes.data, address, array.nbytes, stream)

    def wait(self, stream: int) -> None:
        """Until all that was asked of a stream is done."""
        call("cuEventRecord", self._done, stream)
        call("cuEventSynchronize", self._done)
        self._sent.clear()

    def let_go(self) -> None:
        """Give back memory that is too much to keep."""
        if sum(own.size for own in self._kept.values()) > KEPT:
            self._kept.clear()


_lanes: dict[tuple[int, int], list[Lane]] = {}  # that nobody uses, by process and device
_held = threading.local()  # by device, the lane of a thread


@contextmanager
def lane(device: int) -> Iterator[Lane]:
    """A lane for this thread alone, the device its current one; within another, that one."""
    held = _held.__dict__.setdefault("lanes", {})
    if device in held:
        yield held[device]
        return
    free = _lanes.setdefault((os.getpid(), device), [])
    try:
        own = free.pop()
    except IndexError:
        own = Lane(device)
    held[device] = own
    try:
        with on(device):
            yield own
        own.let_go()
        free.append(own)  # after an error it is not used again: something may still run there
    finally:
        del held[device]
