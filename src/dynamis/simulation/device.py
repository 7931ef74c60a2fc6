"""The loop of a simulation on a GPU: all steps of every arm in one kernel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.gpu import DeviceCode, Memory, loaded
from ..compile.libraries import CUPY, TORCH, origin
from ..compile.service import Ports
from .assembly import Assembly
from .settings import Settings
from .tasks import Task

if TYPE_CHECKING:
    from .loop import Given, Record

SIGNALS = 2**28  # bytes of signals that are sent at a time
SHOWN = 50  # parts of a run between which its progress is shown


class DeviceLoop:
    """Tasks as one kernel; states are sent there and come back."""

    def __init__(self, tasks: Sequence[Task], s: Settings):
        assert s.device is not None
        self.tasks, self.device, self.dtype = list(tasks), s.device, np.dtype(s.dtype)
        self.fused = s.fused
        self._codes: dict[tuple[int, int], DeviceCode] = {}

    def _code(self, early: int, kept: int) -> DeviceCode:
        """The kernel that saves rows of `kept` numbers."""
        code = self._codes.get((early, kept))
        if code is None:
            texts, programs = [], {}
            for task in self.tasks:
                text = repr((task.period, task.phase, task.signals, task.constants))
                if task.key is None:
                    programs[task.name] = task.program()
                    texts += [text, programs[task.name].text]
                else:
                    texts += [text, task.name, *task.key, repr(task.slots.sizes)]

            def made() -> bytes:
                from ..compile.llvm_gpu_loop import THREADS, LoopTask, loop_kernel
                from ..compile.machine import ptx_code

                found = [programs.get(task.name) or task.program() for task in self.tasks]
                pairs = zip(found, self.tasks, strict=True)
                listed = [LoopTask(p, task.period, task.phase) for p, task in pairs]
                ir = loop_kernel(listed, self.dtype.name, early, kept, self.fused)
                operations = sum(p.length for p in found)
                return f"{operations} {THREADS}\n{ptx_code(ir, operations)}".encode()

            key = ("gpu loop", *texts, repr((early, kept)), self.dtype.name, str(self.fused))
            code = self._codes[early, kept] = loaded(key, made, Ports((), (), (), ()), "float64")
        return code

    def chunk(self, s: Settings, m: Assembly) -> int:
        """Steps of one launch."""
        own = s.count if s.sensors.noisy and m.computes else 1
        row = self.dtype.itemsize * sum(task.signals * own for task in self.tasks)
        most = max(1, min(s.steps, SIGNALS // row))
        return max(1, min(most, -(-s.steps // SHOWN))) if s.progress else most

    def run(self, x: np.ndarray, first: int, steps: int, given: "Given", record: "Record") -> None:
        """Steps first .. first + steps - 1 of the members x (count, size)."""
        (signals, constants), (rows, early, every) = given.of(self.dtype), record
        count, kept = len(x), rows.shape[2]
        resident = {"cupy": CUPY, "cuda tensor": TORCH}.get(origin(rows))
        saved = None
        if resident is not None:
            stream, target = resident.stream(self.device), resident.address(rows)
            member = resident.apart(rows)
        else:
            stream, member = 0, rows.shape[1] * kept
            saved = Memory(self.device, rows.nbytes)
            target = saved.address
        state = Memory.of(self.device, x)
        sent = [(Memory.of(self.device, a), Memory.of(self.device, b)) for a, b in zip(
            signals, constants, strict=True)]  # fmt: skip
        arguments: list[Any] = [count, first, steps, every, state.address, target, member]
        for (signal, constant), a, b in zip(sent, signals, constants, strict=True):
            apart = a.shape[1] * a.shape[2] if a.ndim == 3 else 0
            stride = b.shape[1] if b.ndim == 2 else 0
            arguments += [signal.address, apart, constant.address, stride]
        self._code(early, kept).launch_with(self.device, stream, count, arguments)
        state.copy_to(x, stream)
        if saved is not None:
            host = np.empty(rows.shape, self.dtype)
            saved.copy_to(host, stream)
            rows[...] = host
