"""The loop of a simulation on a GPU: all steps of every arm in one kernel."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.gpu import DeviceCode, lane, loaded
from ..compile.libraries import CUPY, TORCH, origin
from ..compile.service import Ports
from .assembly import Assembly
from .settings import Settings
from .tasks import Task

if TYPE_CHECKING:
    from .loop import Given, Record

SIGNALS = 2**27  # bytes of signals that are sent at a time
SHOWN = 50  # parts of a run between which its progress is shown


class DeviceLoop:
    """Tasks as one kernel; states are sent there and come back."""

    def __init__(self, tasks: Sequence[Task], s: Settings):
        assert s.device is not None
        self.tasks, self.device, self.dtype = list(tasks), s.device, np.dtype(s.options.dtype)
        self.fused = s.options.fused
        self._codes: dict[tuple[int, int], DeviceCode] = {}

    def _code(self, early: int, kept: int) -> DeviceCode:
        """The kernel that saves rows of `kept` numbers."""
        code = self._codes.get((early, kept))
        if code is None:
            texts, programs = [], {}
            for task in self.tasks:
                text = repr((task.period, task.phase, task.signals, task.constants))
                if task.code_key is None:
                    programs[task.name] = task.program()
                    texts += [text, programs[task.name].text]
                else:
                    texts += [text, *task.code_key]

            def made() -> bytes:
                from ..compile.llvm_gpu_loop import THREADS, LoopTask, loop_kernel
                from ..compile.machine import ptx_code

                found = [programs.get(task.name) or task.program() for task in self.tasks]
                pairs = zip(found, self.tasks, strict=True)
                listed = [LoopTask(p, task.period, task.phase) for p, task in pairs]
                ir = loop_kernel(listed, self.dtype.name, early, kept, self.fused)
                operations = sum(p.length for p in found)
                longest = sum(max(part.length for part in p.parts) for p in found)
                return f"{operations} {THREADS}\n{ptx_code(ir, longest)}".encode()

            key = ("gpu loop", *texts, repr((early, kept)), self.dtype.name, str(self.fused))
            code = self._codes[early, kept] = loaded(
                key, made, Ports((), (), (), ()), self.dtype.name, "the simulation"
            )
        return code

    def chunk(self, s: Settings, m: Assembly, steps: int) -> int:
        """How many of the steps one launch takes."""
        own = s.count if s.sensors.noisy and m.computes else 1
        row = self.dtype.itemsize * sum(task.signals * own for task in self.tasks)
        most = max(1, min(steps, SIGNALS // row))
        return max(1, min(most, -(-steps // SHOWN))) if s.options.progress else most

    def run(self, x: np.ndarray, first: int, steps: int, given: "Given", record: "Record") -> None:
        """Steps first .. first + steps - 1 of the members x (count, size)."""
        (signals, constants), (rows, early, every) = given.of(self.dtype), record
        count, kept = len(x), rows.shape[2]
        resident = {"cupy": CUPY, "cuda tensor": TORCH}.get(origin(rows))
        with lane(self.device) as own:
            if resident is not None:
                stream, target = resident.stream(self.device), resident.address(rows)
                member, host = resident.apart(rows), None
            else:
                stream, member = own.stream, rows.shape[1] * kept
                host = np.empty(rows.shape, self.dtype)
                target = own.space("rows", host.nbytes)
            state = own.send("state", x, stream)
            arguments: list[Any] = [count, first, steps, every, state, target, member]
            for j, (a, b) in enumerate(zip(signals, constants, strict=True)):
                apart = a.shape[1] * a.shape[2] if a.ndim == 3 else 0
                stride = b.shape[1] if b.ndim == 2 else 0
                arguments += [own.send(f"signal{j}", a, stream), apart]
                arguments += [own.send(f"constant{j}", b, stream), stride]
            self._code(early, kept).launch_with(self.device, stream, count, arguments)
            own.fetch(state, x, stream)
            if host is not None:
                own.fetch(target, host, stream)
            own.wait(stream)  # what was sent and saved may be used again from here on
        if host is not None:
            rows[...] = host
