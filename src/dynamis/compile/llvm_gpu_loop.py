"""The loop of a simulation as one kernel for NVIDIA GPUs: one thread per arm.

    kernel(int64 count, int64 first, int64 steps, int64 every, T *x, T *saved, int64 member,
           T *signal0, int64 apart0, T *constant0, int64 stride0, ...)

Tasks run step after step as in `llvm_loop`, but inlined: the state of an arm stays in registers,
its periods and phases are constants. The parts of a long task are functions, and the state then is
in local memory. Signals of task j lie `apart` numbers from arm to arm (0: they are the same for
all), its constants `stride` numbers. A row of `kept` numbers is saved where k % every == 0, rows of
an arm `member` numbers from those of the next (0: none is saved).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .elementary import REALS, Real
from .llvm_gpu import NAME, ThreadBody, functions, kernel_head, preamble, thread_number
from .program import AnyProgram, CalledProgram, Input, Program

THREADS = 64  # of a block: many registers each
BLOCKS = {64: 1, 32: 6}  # by the bits of a number; fewer registers, but more arms at a time
GLOBAL = "ptr addrspace(1)"


class LoopTask(NamedTuple):
    """A task: (x, signal, constants) to x, where k % period == phase."""

    program: AnyProgram
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


def _task(
    program: AnyProgram, j: int, real: Real, fused: bool, called: set[tuple[str, int]]
) -> str:
    """A function that changes the state in place."""
    if isinstance(program, CalledProgram):
        return _called_task(program, j, real, fused, called)
    where = ("ptr %x", f"{GLOBAL} %signal", f"{GLOBAL} %constants")
    body = _straight(program, real, fused, where, ("ptr %x",))
    called |= body.called
    return _function(f"task{j}", where, body.lines, "alwaysinline")


def _function(name: str, arguments: Iterable[str], lines: Iterable[str], how: str) -> str:
    head = f"define internal void @{name}({', '.join(arguments)}) {how} {{"
    return "\n".join([head, "entry:", *lines, "  ret void", "}"])


def _straight(
    program: Program, real: Real, fused: bool, given: Sequence[str], targets: Sequence[str]
) -> ThreadBody:
    """All of a program, from and to pointers; what is the same as before in place stays."""
    T, body = real.name, ThreadBody(program, real, fused)
    loads = {}
    for port, index in sorted(program.reads):
        address = body.new(f"getelementptr {T}, {given[port]}, i64 {index}")
        kind = given[port].rsplit(" ", 1)[0]
        loads[port, index] = body.new(f"load {T}, {kind} {address}")
    body.run_needed([v for result in program.results for v in result], loads)
    for target, result in zip(targets, program.results, strict=True):
        for index, value in enumerate(result):
            i = program.instructions[value]
            if isinstance(i, Input) and (given[i.port], i.index) == (target, index):
                continue
            address = body.new(f"getelementptr {T}, {target}, i64 {index}")
            body.lines.append(f"  store {T} {body.values[value]}, ptr {address}")
    return body


def _called_task(
    program: CalledProgram, j: int, real: Real, fused: bool, called: set[tuple[str, int]]
) -> str:
    """The parts of a task, and the function that calls them in turn."""
    where = ("ptr %x", f"{GLOBAL} %signal", f"{GLOBAL} %constants")
    T, body = real.name, ThreadBody(program.parts[0], real, fused)
    places = dict(zip((port.name for port in program.inputs), where, strict=True))
    places |= {v: f"ptr {body.new(f'alloca [{n} x {T}]')}" for v, n in program.between.items()}
    functions = {}
    for k, call in enumerate(program.calls):
        last, name = k == len(program.calls) - 1, f"task{j}_{program.number(call)}"
        kinds = [places[vector].rsplit(" ", 1)[0] for vector, _ in call.sources]
        if name not in functions:
            given = [f"{kind} %p{i}" for i, kind in enumerate(kinds)]
            targets = [f"ptr %o{i}" for i in range(len(call.targets))]
            part = _straight(call.part, real, fused, given, targets)
            functions[name] = _function(name, [*given, *targets], part.lines, "noinline")
            called |= part.called
        arguments = [
            f"{kind} {body.new(f'getelementptr {T}, {places[vector]}, i64 {start}')}"
            for kind, (vector, start) in zip(kinds, call.sources, strict=True)
        ]
        arguments += ["ptr %x"] if last else [places[name] for name in call.targets]
        body.lines.append(f"  call void @{name}({', '.join(arguments)})")
    return "\n\n".join(
        [*functions.values(), _function(f"task{j}", where, body.lines, "alwaysinline")]
    )


def _kernel(tasks: Sequence[LoopTask], real: Real, size: int, early: int, kept: int) -> str:
    T, last = real.name, len(tasks) - 1
    arguments = [
        "i64 %count", "i64 %first", "i64 %steps", "i64 %every", f"{GLOBAL} noalias %state",
        f"{GLOBAL} noalias %saved", "i64 %member",
    ]  # fmt: skip
    for j in range(len(tasks)):
        arguments += [f"{GLOBAL} noalias readonly %signal{j}", f"i64 %apart{j}"]
        arguments += [f"{GLOBAL} noalias readonly %constant{j}", f"i64 %stride{j}"]
    body = ThreadBody(tasks[0].program.parts[0], real, False)
    arm = thread_number(body, THREADS)
    read = {index for t in tasks for port, index in t.program.reads if port == 0}
    lines = [f"  %x = alloca [{size} x {T}]"]
    lines += ["  %until.at = alloca i64", f"  %row.at = alloca {GLOBAL}"]
    for j in range(len(tasks)):
        lines += [f"  %wait{j}.at = alloca i64", f"  %given{j}.at = alloca {GLOBAL}"]
    lines += body.lines
    lines += [
        f"  %inside = icmp slt i64 {arm}, %count",
        "  br i1 %inside, label %begin, label %out",
        "begin:",
        f"  %own.at = mul i64 {arm}, {size}",
        f"  %own = getelementptr {T}, {GLOBAL} %state, i64 %own.at",
        f"  %rows.at = mul i64 {arm}, %member",
        f"  %rows = getelementptr {T}, {GLOBAL} %saved, i64 %rows.at",
        f"  store {GLOBAL} %rows, ptr %row.at",
        "  %end = add i64 %first, %steps",
        "  %saving = icmp ne i64 %member, 0",
        "  %past = srem i64 %first, %every",
        "  %some = icmp ne i64 %past, 0",
        "  %ahead = sub i64 %every, %past",
        "  %until.first = select i1 %some, i64 %ahead, i64 0",
        "  %until.start = select i1 %saving, i64 %until.first, i64 -1",
        "  store i64 %until.start, ptr %until.at",
    ]
    for j, task in enumerate(tasks):
        lines += [
            f"  %shift{j} = mul i64 {arm}, %apart{j}",
            f"  %signals{j} = getelementptr {T}, {GLOBAL} %signal{j}, i64 %shift{j}",
            f"  store {GLOBAL} %signals{j}, ptr %given{j}.at",
            f"  %place{j} = mul i64 {arm}, %stride{j}",
            f"  %constants{j} = getelementptr {T}, {GLOBAL} %constant{j}, i64 %place{j}",
            f"  %since{j} = add i64 %first, {task.period - task.phase}",
            f"  %turn{j} = srem i64 %since{j}, {task.period}",
            f"  %left{j} = sub i64 {task.period}, %turn{j}",
            f"  %wait{j}.first = srem i64 %left{j}, {task.period}",
            f"  store i64 %wait{j}.first, ptr %wait{j}.at",
        ]
    for i in range(size):
        lines += _copied(T, f"in{i}", f"{GLOBAL} %own", "ptr %x", i)
    lines += [
        "  br label %step",
        "step:",
        "  %k = phi i64 [%first, %begin], [%k.next, %stepped]",
        "  %until = load i64, ptr %until.at",
        "  %recording = icmp eq i64 %until, 0",
        f"  %row = load {GLOBAL}, ptr %row.at",
    ]
    for j, task in enumerate(tasks):
        if j == last:
            lines += ["  br i1 %recording, label %early, label %early.done", "early:"]
            for i in range(early):
                lines += _copied(T, f"early{i}", "ptr %x", f"{GLOBAL} %row", i)
            lines += ["  br label %early.done", "early.done:"]
        lines += _due(T, j, task)
    lines += [
        "  %k.next = add i64 %k, 1",
        "  %over = icmp sge i64 %k.next, %end",
        "  br i1 %recording, label %late, label %late.done",
        "late:",
    ]
    for i in range(early, kept):
        lines += _copied(T, f"late{i}", "ptr %x", f"{GLOBAL} %row", i)
    lines += [
        f"  %row.next = getelementptr {T}, {GLOBAL} %row, i64 {kept}",
        f"  store {GLOBAL} %row.next, ptr %row.at",
        "  store i64 %every, ptr %until.at",
        "  br label %late.done",
        "late.done:",
        "  %until.now = load i64, ptr %until.at",
        "  %until.less = sub i64 %until.now, 1",
        "  store i64 %until.less, ptr %until.at",
        "  br i1 %over, label %unread, label %stepped",
        "unread:",  # no task reads these: they need not go from step to step
    ]
    for i in sorted(set(range(size)) - read):
        lines += _copied(T, f"unread{i}", "ptr %x", f"{GLOBAL} %own", i)
    lines += ["  br label %ended", "stepped:", "  br label %step", "ended:"]
    for i in sorted(read):
        lines += _copied(T, f"out{i}", "ptr %x", f"{GLOBAL} %own", i)
    lines += ["  br label %out", "out:"]
    head = kernel_head(NAME, arguments, THREADS, BLOCKS[real.bits])
    return "\n".join([head, "entry:", *lines, "  ret void", "}"])


def _copied(T: str, name: str, source: str, target: str, i: int) -> list[str]:
    """Number i from a place to another."""
    kinds = [x.rsplit(" ", 1)[0] for x in (source, target)]
    return [
        f"  %{name}.a = getelementptr {T}, {source}, i64 {i}",
        f"  %{name}.b = getelementptr {T}, {target}, i64 {i}",
        f"  %{name}.v = load {T}, {kinds[0]} %{name}.a",
        f"  store {T} %{name}.v, {kinds[1]} %{name}.b",
    ]


def _due(T: str, j: int, task: LoopTask) -> list[str]:
    """Call a task if its turn has come, with its next row of signals."""
    width, lines = task.program.inputs[1].size, []
    if task.period > 1:
        lines += [
            f"  %wait{j} = load i64, ptr %wait{j}.at",
            f"  %due{j} = icmp eq i64 %wait{j}, 0",
            f"  br i1 %due{j}, label %run{j}, label %done{j}",
            f"run{j}:",
        ]
    lines += [
        f"  %given{j} = load {GLOBAL}, ptr %given{j}.at",
        f"  call void @task{j}(ptr %x, {GLOBAL} %given{j}, {GLOBAL} %constants{j})",
        f"  %given{j}.next = getelementptr {T}, {GLOBAL} %given{j}, i64 {width}",
        f"  store {GLOBAL} %given{j}.next, ptr %given{j}.at",
    ]
    if task.period > 1:
        lines += [
            f"  store i64 {task.period}, ptr %wait{j}.at",
            f"  br label %done{j}",
            f"done{j}:",
            f"  %wait{j}.now = load i64, ptr %wait{j}.at",
            f"  %wait{j}.less = sub i64 %wait{j}.now, 1",
            f"  store i64 %wait{j}.less, ptr %wait{j}.at",
        ]
    return lines
