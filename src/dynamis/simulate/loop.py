"""Runs tasks step after step: in machine code, or in Python over arrays."""

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..backends.forks import LOCK
from ..compiled import digest, share, stored, thread_count
from ..evaluate import NUMPY
from ..spatial.functions import MATH
from .tasks import Task

GROUP = 64  # members that stay in the processor's cache together


@cache
def _machine_loop() -> Any:
    from ..backends.llvm_loop import NAME, loop_module

    with LOCK:
        from ..backends.machine import Loaded, object_code

        loaded = Loaded(stored(digest(NAME), lambda: object_code(loop_module())))
    integer, pointer = ctypes.c_int64, ctypes.c_void_p
    kinds = [integer] * 4 + [pointer] * 8 + [integer] * 4 + [pointer, integer]
    return ctypes.CFUNCTYPE(None, *kinds)(loaded.address(NAME)), loaded


class MachineLoop:
    """Tasks as machine code; the state of every member stays where it is."""

    def __init__(self, tasks: Sequence[Task], members: int = 1, threads: int | None = None):
        self.tasks, self.threads, self.members = list(tasks), threads, members
        self.codes = [task.code(members) for task in tasks]
        self._call, self._keep = _machine_loop()
        self._functions = (ctypes.c_void_p * len(tasks))(*(c.batch for c in self.codes))
        self._periods = (ctypes.c_int64 * len(tasks))(*(t.period for t in tasks))
        self._phases = (ctypes.c_int64 * len(tasks))(*(t.phase for t in tasks))
        self._rows = (ctypes.c_int64 * len(tasks))(*(t.signals for t in tasks))

    def run(
        self,
        x: np.ndarray,
        first: int,
        steps: int,
        signals: Sequence[np.ndarray],
        constants: Sequence[np.ndarray],
        saved: np.ndarray,
        early: int,
        every: int,
    ) -> None:
        """Steps first .. first + steps - 1 of the members x (count, size); rows go to `saved`."""
        operations = sum(
            c.operations / t.period for c, t in zip(self.codes, self.tasks, strict=True)
        )
        count = len(x)
        threads = min(thread_count(self.threads, int(operations * steps) + 1, count), count)
        per = max(1, min(GROUP, -(-count // threads)))

        def span(a: int, b: int) -> None:
            self._span(x, a, b, first, steps, signals, constants, saved, early, every)

        share(span, pairwise([*range(0, count, per), count]), threads)

    def _span(
        self,
        x: np.ndarray,
        a: int,
        b: int,
        first: int,
        steps: int,
        signals: Sequence[np.ndarray],
        constants: Sequence[np.ndarray],
        saved: np.ndarray,
        early: int,
        every: int,
    ) -> None:
        tasks, size = len(self.tasks), x.shape[1]
        strides = [c.shape[1] if c.ndim == 2 else 0 for c in constants]
        starts = [c.ctypes.data + 8 * a * s for c, s in zip(constants, strides, strict=True)]
        self._call(
            b - a,
            first,
            steps,
            tasks,
            self._functions,
            self._periods,
            self._phases,
            x.ctypes.data + 8 * a * size,
            (ctypes.c_void_p * tasks)(*(s.ctypes.data for s in signals)),
            self._rows,
            (ctypes.c_void_p * tasks)(*starts),
            (ctypes.c_int64 * tasks)(*strides),
            size,
            early,
            saved.shape[2],
            every,
            saved.ctypes.data + a * saved.strides[0],
            saved.strides[0] // 8,
        )


class PythonLoop:
    """The same tasks without machine code: over floats for one member, over arrays for several."""

    def __init__(self, tasks: Sequence[Task], members: int = 1, threads: int | None = None):
        self.tasks = list(tasks)

    def run(
        self,
        x: np.ndarray,
        first: int,
        steps: int,
        signals: Sequence[np.ndarray],
        constants: Sequence[np.ndarray],
        saved: np.ndarray,
        early: int,
        every: int,
    ) -> None:
        """As MachineLoop.run."""
        done, row = [0] * len(self.tasks), 0
        last, kept = len(self.tasks) - 1, saved.shape[2]
        with np.errstate(all="ignore"):
            for k in range(first, first + steps):
                recording = k % every == 0
                for j, task in enumerate(self.tasks):
                    if j == last and recording:
                        saved[:, row, :early] = x[:, :early]
                    if k % task.period == task.phase:
                        x[...] = evaluated(task, x, signals[j][done[j]], constants[j])
                        done[j] += 1
                if recording:
                    saved[:, row, early:] = x[:, early:kept]
                    row += 1


def evaluated(task: Task, x: np.ndarray, signal: np.ndarray, constants: np.ndarray) -> Any:
    """A task over every member, by its own function."""
    if len(x) == 1:
        numbers = constants.reshape(-1)[-task.constants :].tolist()
        return task.function(x[0].tolist(), signal.tolist(), numbers, MATH)
    columns = list(constants.T) if constants.ndim == 2 else constants.tolist()
    result = task.function(list(x.T), signal.tolist(), columns, NUMPY)
    return np.stack([np.broadcast_to(r, len(x)) for r in result], axis=-1)
