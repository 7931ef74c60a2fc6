"""The loop of a simulation as one kernel for NVIDIA GPUs: one thread per arm.

    kernel(int64 count, int64 first, int64 steps, int64 every, T *x, T *saved, int64 member,
           T *signal0, int64 apart0, T *constant0, int64 stride0, ...)

Tasks run step after step as in `llvm_loop`, but inlined: the state of an arm stays in registers,
its periods and phases are constants. Signals of task j lie `apart` numbers from arm to arm (0: they
are the same for all), its constants `stride` numbers. A row of `kept` numbers is saved where
k % every == 0, rows of an arm `member` numbers from those of the next (0: none is saved).
"""

from collections.abc import Sequence
from typing import NamedTuple

from .elementary import REALS, Real
from .llvm_gpu import NAME, ThreadBody, functions, kernel_head, preamble, thread_number
from .program import Input, Program

THREADS = 64  # of a block: many registers each
GLOBAL = "ptr addrspace(1)"


class LoopTask(NamedTuple):
    """A task: (x, signal, constants) to x, where k % period == phase."""

    program: Program
    period: int
    phase: int


def loop_kernel(tasks: Sequence[LoopTask], dtype: str, early: int, kept: int, fused: bool) -> str:
    """IR of the kernel; `early` numbers of a row are those before the last task."""
    real, size = REALS[dtype], tasks[0].program.outputs[0].size
    called: set[tuple[str, int]] = set()
    bodies = [_task(task.program, j, real, fused, called) for j, task in enumerate(tasks)]
    return "\n\n".join([
        preamble(real),
        functions(called, real),
        *bodies,
        _kernel(tasks, real, size, early, kept),
    ]) + "\n"  # fmt: skip


def _task(program: Program, j: int, real: Real, fused: bool, called: set[tuple[str, int]]) -> str:
    """A function that changes the state in place."""
    T, body = real.name, ThreadBody(program, real, fused)
    where = ("ptr %x", f"{GLOBAL} %signal", f"{GLOBAL} %constants")
    loads = {}
    for i in sorted({i for i in program.instructions if isinstance(i, Input)}):
        address = body.new(f"getelementptr {T}, {where[i.port]}, i64 {i.index}")
        kind = where[i.port].rsplit(" ", 1)[0]
        loads[i.port, i.index] = body.new(f"load {T}, {kind} {address}")
    results = program.results[0]
    body.run_needed(results, loads)
    unchanged = {k for k, i in enumerate(program.instructions) if isinstance(i, Input)}
    for index, value in enumerate(results):
        if value in unchanged and program.instructions[value] == Input(0, index):
            continue
        address = body.new(f"getelementptr {T}, ptr %x, i64 {index}")
        body.lines.append(f"  store {T} {body.values[value]}, ptr {address}")
    called |= body.called
    head = f"define internal void @task{j}({', '.join(where)}) alwaysinline {{"
    return "\n".join([head, "entry:", *body.lines, "  ret void", "}"])


def _kernel(tasks: Sequence[LoopTask], real: Real, size: int, early: int, kept: int) -> str:
    T, last = real.name, len(tasks) - 1
    arguments = [
        "i64 %count", "i64 %first", "i64 %steps", "i64 %every", f"{GLOBAL} noalias %state",
        f"{GLOBAL} noalias %saved", "i64 %member",
    ]  # fmt: skip
    for j in range(len(tasks)):
        arguments += [f"{GLOBAL} noalias readonly %signal{j}", f"i64 %apart{j}"]
        arguments += [f"{GLOBAL} noalias readonly %constant{j}", f"i64 %stride{j}"]
    body = ThreadBody(tasks[0].program, real, False)
    arm = thread_number(body, THREADS)
    lines = body.lines
    lines += [
        f"  %x = alloca [{size} x {T}]",
        f"  %inside = icmp slt i64 {arm}, %count",
        "  br i1 %inside, label %begin, label %out",
        "begin:",
        f"  %own.at = mul i64 {arm}, {size}",
        f"  %own = getelementptr {T}, {GLOBAL} %state, i64 %own.at",
        f"  %rows.at = mul i64 {arm}, %member",
        f"  %rows = getelementptr {T}, {GLOBAL} %saved, i64 %rows.at",
        "  %saving = icmp ne i64 %member, 0",
        "  %end = add i64 %first, %steps",
        "  %first.up = add i64 %first, %every",
        "  %first.less = sub i64 %first.up, 1",
        "  %row.first = sdiv i64 %first.less, %every",
    ]
    for j, task in enumerate(tasks):
        lines += [
            f"  %shift{j} = mul i64 {arm}, %apart{j}",
            f"  %signals{j} = getelementptr {T}, {GLOBAL} %signal{j}, i64 %shift{j}",
            f"  %place{j} = mul i64 {arm}, %stride{j}",
            f"  %constants{j} = getelementptr {T}, {GLOBAL} %constant{j}, i64 %place{j}",
            f"  %before{j} = sub i64 %first, {task.phase}",
            f"  %before.up{j} = add i64 %before{j}, {task.period - 1}",
            f"  %ran{j} = sdiv i64 %before.up{j}, {task.period}",
        ]
    for i in range(size):
        lines += _copied(T, i, "in", f"{GLOBAL} %own", "ptr %x", i, i)
    lines += ["  br label %step", "step:", "  %k = phi i64 [%first, %begin], [%k.next, %stepped]"]
    lines += [
        "  %more = icmp slt i64 %k, %end",
        "  br i1 %more, label %tasks, label %over",
        "tasks:",
        "  %turn = srem i64 %k, %every",
        "  %whole = icmp eq i64 %turn, 0",
        "  %recording = and i1 %whole, %saving",
        "  %row.number = sdiv i64 %k, %every",
        "  %row.here = sub i64 %row.number, %row.first",
        f"  %row.at = mul i64 %row.here, {kept}",
        f"  %row = getelementptr {T}, {GLOBAL} %rows, i64 %row.at",
    ]
    for j, task in enumerate(tasks):
        if j == last:
            lines += ["  br i1 %recording, label %early, label %early.done", "early:"]
            for i in range(early):
                lines += _copied(T, i, "early", "ptr %x", f"{GLOBAL} %row", i, i)
            lines += ["  br label %early.done", "early.done:"]
        lines += _due(T, j, task)
    lines += ["  br i1 %recording, label %late, label %stepped", "late:"]
    for i in range(early, kept):
        lines += _copied(T, i, "late", "ptr %x", f"{GLOBAL} %row", i, i)
    lines += ["  br label %stepped", "stepped:", "  %k.next = add i64 %k, 1", "  br label %step"]
    lines += ["over:"]
    for i in range(size):
        lines += _copied(T, i, "out", "ptr %x", f"{GLOBAL} %own", i, i)
    lines += ["  br label %out", "out:"]
    head = kernel_head(NAME, arguments, THREADS)
    return "\n".join([head, "entry:", *lines, "  ret void", "}"])


def _copied(T: str, i: int, name: str, source: str, target: str, a: int, b: int) -> list[str]:
    """One number from a place to another."""
    kinds = [x.rsplit(" ", 1)[0] for x in (source, target)]
    return [
        f"  %{name}.a{i} = getelementptr {T}, {source}, i64 {a}",
        f"  %{name}.b{i} = getelementptr {T}, {target}, i64 {b}",
        f"  %{name}.v{i} = load {T}, {kinds[0]} %{name}.a{i}",
        f"  store {T} %{name}.v{i}, {kinds[1]} %{name}.b{i}",
    ]


def _due(T: str, j: int, task: LoopTask) -> list[str]:
    """Call a task if its turn has come, with its next row of signals."""
    width = task.program.inputs[1].size
    lines = []
    if task.period > 1:
        lines += [
            f"  %turn{j} = srem i64 %k, {task.period}",
            f"  %due{j} = icmp eq i64 %turn{j}, {task.phase}",
            f"  br i1 %due{j}, label %run{j}, label %done{j}",
            f"run{j}:",
        ]
    lines += [
        f"  %since{j} = sub i64 %k, {task.phase}",
        f"  %times{j} = sdiv i64 %since{j}, {task.period}",
        f"  %row{j} = sub i64 %times{j}, %ran{j}",
        f"  %offset{j} = mul i64 %row{j}, {width}",
        f"  %given{j} = getelementptr {T}, {GLOBAL} %signals{j}, i64 %offset{j}",
        f"  call void @task{j}(ptr %x, {GLOBAL} %given{j}, {GLOBAL} %constants{j})",
    ]
    if task.period > 1:
        lines += [f"  br label %done{j}", f"done{j}:"]
    return lines
