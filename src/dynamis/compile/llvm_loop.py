"""The loop of a simulation in machine code: tasks called step after step, states recorded.

    void loop(int64 count, int64 first, int64 steps, int64 tasks, Task *const *task,
              const int64 *period, const int64 *phase, T *x, const T *const *signal,
              const int64 *row, const int64 *apart, const T *const *constant,
              const int64 *stride, int64 size,
              int64 early, int64 kept, int64 every, T *saved, int64 member)

A task is the batch function of a kernel with arguments (x, signal, constant) and result x, computed
in place for `count` members of `size` numbers each. It runs at step k if k % period == phase, and
gets its next row of signals every time it runs: one for all members, or one for each, `apart`
numbers from the next member's. Where k % every == 0 a row of `kept` numbers is
saved for each member (rows `member` numbers apart): the first `early` of them before the last task,
the rest after it.
"""

NAME = "loop"


def _for(name: str, start: str, end: str, body: str) -> str:
    """for (name = start; name < end; name++) body; the counter lives in %name.at."""
    return f"""
  store i64 {start}, ptr %{name}.at
  br label %{name}.test
{name}.test:
  %{name} = load i64, ptr %{name}.at
  %{name}.more = icmp slt i64 %{name}, {end}
  br i1 %{name}.more, label %{name}.body, label %{name}.done
{name}.body:{body}
  br label %{name}.next
{name}.next:
  %{name}.up = add i64 %{name}, 1
  store i64 %{name}.up, ptr %{name}.at
  br label %{name}.test
{name}.done:"""


def _copy(name: str, first: str, last: str, T: str) -> str:
    """Entries first..last of every member into its row."""
    inner = f"""
  %{name}.from = add i64 %{name}.s.x, %{name}.i
  %{name}.to = add i64 %{name}.s.row, %{name}.i
  %{name}.source = getelementptr {T}, ptr %x, i64 %{name}.from
  %{name}.target = getelementptr {T}, ptr %saved, i64 %{name}.to
  %{name}.value = load {T}, ptr %{name}.source
  store {T} %{name}.value, ptr %{name}.target"""
    outer = f"""
  %{name}.s.x = mul i64 %{name}.s, %size
  %{name}.s.start = mul i64 %{name}.s, %member
  %{name}.s.row = add i64 %{name}.s.start, %row.start{_for(f"{name}.i", first, last, inner)}"""
    return _for(f"{name}.s", "0", "%count", outer)


def _of_task(name: str, kind: str, value: str) -> str:
    """%name.value = name[j], what an array holds for task j."""
    return f"""
  %{name}.at = getelementptr {kind}, ptr %{name}, i64 %j
  %{name}.{value} = load {kind}, ptr %{name}.at"""


def _call(T: str) -> str:
    """Call task j with pointers to its next row of signals and to its constants.

    A task counts its own calls in done[j]: it has a row for each call, not for each step.
    """
    return f"""
  %call.at = getelementptr i64, ptr %done, i64 %j
  %call.count = load i64, ptr %call.at
  %call.next = add i64 %call.count, 1
  store i64 %call.next, ptr %call.at{_of_task("row", "i64", "size")}
  %row.offset = mul i64 %row.size, %call.count{_of_task("signal", "ptr", "base")}
  %signal.row = getelementptr {T}, ptr %signal.base, i64 %row.offset
  store ptr %signal.row, ptr %in1{_of_task("apart", "i64", "value")}
  store i64 %apart.value, ptr %strides1{_of_task("constant", "ptr", "base")}
  store ptr %constant.base, ptr %in2{_of_task("stride", "i64", "value")}
  store i64 %stride.value, ptr %strides2{_of_task("task", "ptr", "function")}
  call void %task.function(i64 %count, ptr %in, ptr %strides, ptr %out)"""


def loop_module(T: str) -> str:
    """IR of the loop for a type of number.

    A row is saved in two parts: what is integrated before the plant (the last task) moves it, what
    acts after that, when the plant has computed it. So a row holds one instant.
    """
    tasks = f"""
  %last = sub i64 %tasks, 1
  %is.last = icmp eq i64 %j, %last
  %early.now = and i1 %is.last, %recording
  br i1 %early.now, label %early.copy, label %early.after
early.copy:{_copy("before", "0", "%early", T)}
  br label %early.after
early.after:{_of_task("period", "i64", "value")}{_of_task("phase", "i64", "value")}
  %turn = srem i64 %k, %period.value
  %due = icmp eq i64 %turn, %phase.value
  br i1 %due, label %task.run, label %task.over
task.run:{_call(T)}
  br label %task.over
task.over:"""
    steps = f"""
  %k.phase = srem i64 %k, %every
  %recording = icmp eq i64 %k.phase, 0
  %k.row = sdiv i64 %k, %every
  %k.here = sub i64 %k.row, %row.first
  %row.start = mul i64 %k.here, %kept{_for("j", "0", "%tasks", tasks)}
  br i1 %recording, label %late.copy, label %late.after
late.copy:{_copy("after", "%early", "%kept", T)}
  br label %late.after
late.after:"""
    counters = ("k", "j", "before.s", "before.i", "after.s", "after.i", "zero")
    slots = "\n".join(f"  %{name}.at = alloca i64" for name in counters)
    zero = """
  %zero.target = getelementptr i64, ptr %done, i64 %zero
  store i64 0, ptr %zero.target"""
    forward = _for("k", "%first", "%end", steps)
    return f"""
define void @{NAME}(i64 %count, i64 %first, i64 %steps, i64 %tasks, ptr %task, ptr %period,
    ptr %phase, ptr %x, ptr %signal, ptr %row, ptr %apart, ptr %constant,
    ptr %stride, i64 %size, i64 %early, i64 %kept, i64 %every, ptr %saved, i64 %member) {{
{slots}
  %in = alloca [3 x ptr]
  %strides = alloca [3 x i64]
  %out = alloca [1 x ptr]
  %done = alloca i64, i64 %tasks
  %in1 = getelementptr ptr, ptr %in, i64 1
  %in2 = getelementptr ptr, ptr %in, i64 2
  %strides1 = getelementptr i64, ptr %strides, i64 1
  %strides2 = getelementptr i64, ptr %strides, i64 2
  store ptr %x, ptr %in
  store ptr %x, ptr %out
  store i64 %size, ptr %strides
  %end = add i64 %first, %steps
  %first.up = add i64 %first, %every
  %first.less = sub i64 %first.up, 1
  %row.first = sdiv i64 %first.less, %every{_for("zero", "0", "%tasks", zero)}{forward}
  ret void
}}
"""
