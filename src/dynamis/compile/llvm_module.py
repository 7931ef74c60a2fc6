"""A Program as LLVM modules: one sample, or a batch of samples with SIMD across them.

    void NAME_one(const T *const *in, T *const *out)
    void NAME_batch(int64 count, const T *const *in, const int64 *stride, T *const *out)

A sample is contiguous; sample s of argument k starts at in[k] + s stride[k] (0 repeats one sample).
Results are contiguous. Blocks of W rows are read and written as WxW tiles turned by shuffles; rows
that are left over, and blocks with an angle too large for the polynomial or a NaN that would not
show, run one by one. What such a sample runs is a module of its own: it seldom runs, and need not
be optimised, which takes most of the time where code is long. The parts of a called program are
functions of vectors in memory, W samples side by side, that return whether to leave the block.
"""

from collections.abc import Iterable, Mapping

from .elementary import LARGEST, REALS, Real
from .llvm_body import BodyPrinter, fill_nan, not_finite, poison, unused
from .llvm_functions import constant, definition, intrinsic, tables, typed
from .program import AnyProgram, CalledProgram, Input, Operation, Program

NAME = "kernel"
EXACT = f"{NAME}_exact"


def modules(program: AnyProgram, dtype: str, width: int) -> tuple[str, str]:
    """IR of the code that is fast, and of the code of samples it leaves; "" if it leaves none."""
    real = REALS[dtype]
    called: set[tuple[str, int]] = set()
    parts = [_row(program, real, width, False, called)]
    if width > 1:
        parts.append(_block(program, real, width, called))
    functions = [definition(name, real, w) for name, w in sorted(called)]
    parts = [_declarations(real, width), tables(real), *functions, *parts]
    parts += [_one(program), _batch(program, real, width)]
    if not any(f"@{EXACT}(" in part for part in parts):
        return _text(parts), ""
    arguments = ", ".join(_ports(program, strides=False))
    fast = _text([f"declare void @{EXACT}({arguments}) nounwind cold", *parts])
    called.clear()
    row = _row(program, real, 1, True, called)
    functions = [definition(name, real, w, inline=()) for name, w in sorted(called)]
    return fast, _text([_declarations(real, 1), tables(real), fill_nan(real), *functions, row])


def _text(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _declarations(real: Real, width: int) -> str:
    lines = []
    for w in {1, width}:
        T = typed(real, w)
        lines.append(f"declare {T} {intrinsic(real, w, 'fma')}({T}, {T}, {T})")
        lines += [f"declare {T} {intrinsic(real, w, f)}({T})" for f in ("sqrt", "fabs", "floor")]
    if width > 1:
        lines.append(f"declare i1 @llvm.vector.reduce.or.v{width}i1(<{width} x i1>)")
    return "\n".join(lines)


def _ports(program: AnyProgram, strides: bool) -> list[str]:
    names = []
    for k in range(len(program.inputs)):
        names.append(f"ptr %p{k}")
        if strides:
            names.append(f"i64 %s{k}")
    return names + [f"ptr %o{k}" for k in range(len(program.outputs))]


def _row(
    program: AnyProgram, real: Real, width: int, exact: bool, called: set[tuple[str, int]]
) -> str:
    """One sample. The exact one reduces large angles and need not be fast."""
    if isinstance(program, CalledProgram):
        return _called_row(program, real, width, exact, called)
    body = BodyPrinter(program, real, 1, exact)
    if width > 1:
        _angles_together(body, width)
    loads = _entries(body, program.reads | unused(program, program.reads))
    bad = not_finite(body, program, loads)
    if bad is not None and exact:
        poison(body, program, bad)
    elif bad is not None:
        body.flags.append(bad)
    body.run(loads, 1 if exact else width)
    flag = None if exact else body.any_flag()
    if flag is not None:
        body.lines.append(f"  br i1 {flag}, label %large, label %store")
        body.lines.append("large:")
        call = ", ".join(_ports(program, strides=False))
        body.lines += [f"  call void @{EXACT}({call})", "  ret void", "store:"]
    for k, result in enumerate(program.results):
        for index, value in enumerate(result):
            address = body.new(f"getelementptr {real.name}, ptr %o{k}, i64 {index}")
            body.lines.append(f"  store {real.name} {body.values[value]}, ptr {address}")
    called |= body.called
    return _row_function(program, body, exact)


def _row_function(program: AnyProgram, body: BodyPrinter, exact: bool) -> str:
    arguments = ", ".join(_ports(program, strides=False))
    head = f"void @{EXACT}({arguments})" if exact else f"internal void @{NAME}_row({arguments})"
    return "\n".join([f"define {head} noinline {{", *body.lines, "  ret void", "}"])


def _entries(body: BodyPrinter, wanted: Iterable[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Entries of the arguments, loaded."""
    loads = {}
    for port, index in sorted(wanted):
        address = body.new(f"getelementptr {body.T}, ptr %p{port}, i64 {index}")
        loads[port, index] = body.new(f"load {body.T}, ptr {address}")
    return loads


def _angles_together(body: BodyPrinter, width: int) -> None:
    """Sine and cosine of the angles that are arguments, `width` at a time in one vector."""
    program, real = body.program, body.real
    operations = [i for i in program.instructions if isinstance(i, Operation)]
    asked = {i.operands[0] for i in operations if i.op in ("sin", "cos")}
    where = {k: i for k, i in enumerate(program.instructions) if isinstance(i, Input)}
    inputs = {(i.port, i.index): k for k, i in where.items() if k in asked}
    for port, start in sorted({(p, index - index % width) for p, index in inputs}):
        size = min(width, program.inputs[port].size - start)
        angles = _load_padded(body, port, start, size, width)
        T = typed(real, width)
        pair = body.elementary("near_sincos", [angles], width)
        sines, cosines = (body.new(f"extractvalue {{{T}, {T}}} {pair}, {i}") for i in (0, 1))
        for lane in range(size):
            k = inputs.get((port, start + lane))
            if k is not None:
                s, c = (body.new(f"extractelement {T} {v}, i32 {lane}") for v in (sines, cosines))
                body.angles[k] = s, c
        large = body.new(f"call {T} {intrinsic(real, width, 'fabs')}({T} {angles})")
        limit = constant(real, width, LARGEST)
        mask = body.new(f"fcmp ogt {T} {large}, {limit}")
        reduce = f"@llvm.vector.reduce.or.v{width}i1"
        body.flags.append(body.new(f"call i1 {reduce}(<{width} x i1> {mask})"))


def _load_padded(body: BodyPrinter, port: int, start: int, size: int, width: int) -> str:
    """`size` entries of an argument as a vector, filled up with zeros."""
    T, real = body.real.name, body.real
    address = body.new(f"getelementptr {T}, ptr %p{port}, i64 {start}")
    value = body.new(f"load <{size} x {T}>, ptr {address}, align {real.bits // 8}")
    if size == width:
        return value
    lanes = ", ".join(f"i32 {min(c, size)}" for c in range(width))
    zeros = f"<{size} x {T}> zeroinitializer"
    return body.new(f"shufflevector <{size} x {T}> {value}, {zeros}, <{width} x i32> <{lanes}>")


def _block(program: AnyProgram, real: Real, width: int, called: set[tuple[str, int]]) -> str:
    """W samples at once."""
    if isinstance(program, CalledProgram):
        return _called_block(program, real, width, called)
    body = BodyPrinter(program, real, width)
    loads = _tiles(body, program)
    bad = not_finite(body, program, loads)
    if bad is not None:
        body.flags.append(bad)
    body.run(loads)
    flag = body.any_flag()
    if flag is not None:
        body.lines.append(f"  br i1 {flag}, label %large, label %store")
        _rows_instead(body, program)
        body.lines += ["  ret void", "store:"]
    for k, result in enumerate(program.results):
        _store_tiles(body, k, [body.values[v] for v in result])
    called |= body.called
    return _block_function(program, body)


def _block_function(program: AnyProgram, body: BodyPrinter) -> str:
    arguments = ", ".join(_ports(program, strides=True))
    head = f"define internal void @{NAME}_block({arguments}) noinline {{"
    return "\n".join([head, *body.lines, "  ret void", "}"])


def _tiles(body: BodyPrinter, program: AnyProgram) -> dict[tuple[int, int], str]:
    """Entries of W samples of the arguments, as vectors."""
    used, width = program.reads | unused(program, program.reads), body.width
    loads: dict[tuple[int, int], str] = {}
    for k, port in enumerate(program.inputs):
        for start in range(0, port.size, width):
            columns = min(width, port.size - start)
            if any((k, start + c) in used for c in range(columns)):
                rows = [_load_row(body, k, r, start, columns) for r in range(width)]
                for c, value in enumerate(transposed(body, rows)[:columns]):
                    loads[k, start + c] = value
    return loads


def _rows_instead(body: BodyPrinter, program: AnyProgram) -> None:
    """Where a block is left: every sample of it by itself."""
    body.lines.append("large:")
    for r in range(body.width):
        body.lines.append(f"  call void @{NAME}_row({_row_arguments(body, program, r)})")


def _load_row(body: BodyPrinter, port: int, row: int, start: int, columns: int) -> str:
    T = body.real.name
    first = body.new(f"mul i64 %s{port}, {row}")
    index = body.new(f"add i64 {first}, {start}")
    address = body.new(f"getelementptr {T}, ptr %p{port}, i64 {index}")
    bytes_ = body.real.bits // 8
    value = body.new(f"load <{columns} x {T}>, ptr {address}, align {bytes_}")
    if columns == body.width:
        return value
    mask = ", ".join(f"i32 {c}" if c < columns else "i32 poison" for c in range(body.width))
    return body.new(
        f"shufflevector <{columns} x {T}> {value}, <{columns} x {T}> poison, "
        f"<{body.width} x i32> <{mask}>"
    )


def transposed(body: BodyPrinter, rows: list[str]) -> list[str]:
    """A WxW tile turned: log2 W rounds of exchanges between rows that differ in one bit."""
    width = len(rows)
    step = 1
    while step < width:
        low = [lane + (width - step if lane & step else 0) for lane in range(width)]
        high = [lane + (width if lane & step else step) for lane in range(width)]
        new = list(rows)
        for i in range(width):
            if not i & step:
                a, b = rows[i], rows[i + step]
                new[i], new[i + step] = _shuffle(body, a, b, low), _shuffle(body, a, b, high)
        rows, step = new, 2 * step
    return rows


def _shuffle(body: BodyPrinter, a: str, b: str, mask: list[int]) -> str:
    lanes = ", ".join(f"i32 {m}" for m in mask)
    return body.new(f"shufflevector {body.T} {a}, {body.T} {b}, <{body.width} x i32> <{lanes}>")


def _store_tiles(body: BodyPrinter, port: int, values: list[str]) -> None:
    """A result of W samples."""
    for start in range(0, len(values), body.width):
        _store_tile(body, port, len(values), start, values[start : start + body.width])


def _store_tile(body: BodyPrinter, port: int, size: int, start: int, values: list[str]) -> None:
    T, columns = body.real.name, len(values)
    rows = transposed(body, values + ["poison"] * (body.width - columns))
    for r, row in enumerate(rows):
        address = body.new(f"getelementptr {T}, ptr %o{port}, i64 {r * size + start}")
        if columns < body.width:
            mask = ", ".join(f"i32 {c}" for c in range(columns))
            row = body.new(  # noqa: PLW2901
                f"shufflevector {body.T} {row}, {body.T} poison, <{columns} x i32> <{mask}>"
            )
        vector = f"<{columns} x {T}>"
        body.lines.append(f"  store {vector} {row}, ptr {address}, align {body.real.bits // 8}")


def _row_arguments(body: BodyPrinter, program: AnyProgram, row: int) -> str:
    T = body.real.name
    names = []
    for k in range(len(program.inputs)):
        index = body.new(f"mul i64 %s{k}, {row}")
        names.append(body.new(f"getelementptr {T}, ptr %p{k}, i64 {index}"))
    for k, port in enumerate(program.outputs):
        names.append(body.new(f"getelementptr {T}, ptr %o{k}, i64 {row * port.size}"))
    return ", ".join(f"ptr {name}" for name in names)


# programs in parts


def _part(
    part: Program, k: int, real: Real, width: int, lanes: int, exact: bool,
    called: set[tuple[str, int]],
) -> str:  # fmt: skip
    """A part for W samples side by side; it returns true, and stores nothing, if it leaves them."""
    body = BodyPrinter(part, real, width, exact)
    if lanes > 1:
        _angles_together(body, lanes)
    body.run(_entries(body, part.reads), lanes)
    flag = body.any_flag()
    if flag is not None:
        body.lines += [f"  br i1 {flag}, label %large, label %store", "large:", "  ret i1 true"]
        body.lines.append("store:")
    for port, result in enumerate(part.results):
        for index, value in enumerate(result):
            address = body.new(f"getelementptr {body.T}, ptr %o{port}, i64 {index}")
            body.lines.append(f"  store {body.T} {body.values[value]}, ptr {address}")
    called |= body.called
    arguments = ", ".join(_ports(part, strides=False))
    head = f"define internal i1 @part{k}_{width}({arguments}) noinline {{"
    return "\n".join([head, *body.lines, "  ret i1 false", "}"])


def _called_row(
    program: CalledProgram, real: Real, width: int, exact: bool, called: set[tuple[str, int]]
) -> str:
    parts = enumerate(program.parts)
    functions = [_part(part, k, real, 1, width, exact, called) for k, part in parts]
    body = BodyPrinter(program.parts[0], real, 1, exact)
    places = {p.name: f"%p{k}" for k, p in enumerate(program.inputs)}
    places |= _vectors(body, program.between)
    bad = not_finite(body, program, _entries(body, unused(program, program.reads)))
    if bad is not None and exact:
        poison(body, program, bad)
    elif bad is not None:
        _leave(body, bad)
    _calls(body, program, places, [f"%o{k}" for k in range(len(program.outputs))])
    if not exact:
        call = f"  call void @{EXACT}({', '.join(_ports(program, strides=False))})"
        body.lines += ["  ret void", "large:", call]
    return "\n\n".join([*functions, _row_function(program, body, exact)])


def _called_block(
    program: CalledProgram, real: Real, width: int, called: set[tuple[str, int]]
) -> str:
    parts = enumerate(program.parts)
    functions = [_part(part, k, real, width, 1, False, called) for k, part in parts]
    body = BodyPrinter(program.parts[0], real, width)
    places = _vectors(body, {p.name: p.size for p in program.inputs} | program.between)
    outputs = [*_vectors(body, {f"{p.name}.out": p.size for p in program.outputs}).values()]
    loads = _tiles(body, program)
    for (port, index), value in loads.items():
        address = _entry(body, places[program.inputs[port].name], index)
        body.lines.append(f"  store {body.T} {value}, ptr {address}")
    bad = not_finite(body, program, loads)
    if bad is not None:
        body.flags.append(bad)
        _leave(body, body.any_flag())
    _calls(body, program, places, outputs)
    for k, (port, vector) in enumerate(zip(program.outputs, outputs, strict=True)):
        values = [_entry(body, vector, index) for index in range(port.size)]
        _store_tiles(body, k, [body.new(f"load {body.T}, ptr {at}") for at in values])
    body.lines.append("  ret void")
    _rows_instead(body, program)
    return "\n\n".join([*functions, _block_function(program, body)])


def _vectors(body: BodyPrinter, sizes: Mapping[str, int]) -> dict[str, str]:
    """Memory for vectors, by name."""
    return {name: body.new(f"alloca [{size} x {body.T}]") for name, size in sizes.items()}


def _entry(body: BodyPrinter, vector: str, index: int) -> str:
    return body.new(f"getelementptr {body.T}, ptr {vector}, i64 {index}") if index else vector


def _leave(body: BodyPrinter, flag: str | None) -> None:
    """Go on unless a flag is raised."""
    body.count += 1
    label = f"go{body.count}"
    body.lines += [f"  br i1 {flag}, label %large, label %{label}", f"{label}:"]


def _calls(
    body: BodyPrinter, program: CalledProgram, places: Mapping[str, str], outputs: list[str]
) -> None:
    """Call the parts in turn; the last one gives the outputs."""
    for k, call in enumerate(program.calls):
        given = [_entry(body, places[vector], start) for vector, start in call.sources]
        last = k == len(program.calls) - 1
        given += outputs if last else [places[name] for name in call.targets]
        arguments = ", ".join(f"ptr {x}" for x in given)
        flag = body.new(f"call i1 @part{program.number(call)}_{body.width}({arguments})")
        if not body.exact:
            _leave(body, flag)


def _pointers(program: AnyProgram, strides: bool) -> list[str]:
    """Load every pointer (and stride) from the argument arrays."""
    lines = []
    for k in range(len(program.inputs)):
        lines.append(f"  %pa{k} = getelementptr ptr, ptr %in, i64 {k}")
        lines.append(f"  %p{k} = load ptr, ptr %pa{k}")
        if strides:
            lines.append(f"  %sa{k} = getelementptr i64, ptr %stride, i64 {k}")
            lines.append(f"  %s{k} = load i64, ptr %sa{k}")
    for k in range(len(program.outputs)):
        lines.append(f"  %oa{k} = getelementptr ptr, ptr %out, i64 {k}")
        lines.append(f"  %o{k} = load ptr, ptr %oa{k}")
    return lines


def _one(program: AnyProgram) -> str:
    arguments = ", ".join(_ports(program, strides=False))
    lines = [f"define void @{NAME}_one(ptr %in, ptr %out) {{", *_pointers(program, strides=False)]
    return "\n".join([*lines, f"  call void @{NAME}_row({arguments})", "  ret void", "}"])


def _batch(program: AnyProgram, real: Real, width: int) -> str:
    """Blocks of W while they last, then single rows."""
    lines = [
        f"define void @{NAME}_batch(i64 %count, ptr %in, ptr %stride, ptr %out) {{",
        "entry:",
        *_pointers(program, strides=True),
        f"  %last = sub i64 %count, {width - 1}",
        "  br label %blocks" if width > 1 else "  br label %rows",
    ]
    if width > 1:
        lines += _loop("blocks", "rows", "0", "entry", "%last")
        lines += _at("b", program, real, "%i.blocks")
        arguments = []
        for k in range(len(program.inputs)):
            arguments += [f"ptr %bp{k}", f"i64 %s{k}"]
        arguments += [f"ptr %bo{k}" for k in range(len(program.outputs))]
        lines += [f"  call void @{NAME}_block({', '.join(arguments)})", *_next("blocks", width)]
    start, before = ("%i.blocks", "blocks") if width > 1 else ("0", "entry")
    lines += _loop("rows", "done", start, before, "%count")
    lines += _at("r", program, real, "%i.rows")
    arguments = [f"ptr %rp{k}" for k in range(len(program.inputs))]
    arguments += [f"ptr %ro{k}" for k in range(len(program.outputs))]
    lines += [f"  call void @{NAME}_row({', '.join(arguments)})", *_next("rows", 1)]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def _loop(name: str, after: str, start: str, before: str, end: str) -> list[str]:
    return [
        f"{name}:",
        f"  %i.{name} = phi i64 [{start}, %{before}], [%next.{name}, %body.{name}]",
        f"  %go.{name} = icmp slt i64 %i.{name}, {end}",
        f"  br i1 %go.{name}, label %body.{name}, label %{after}",
        f"body.{name}:",
    ]


def _next(name: str, step: int) -> list[str]:
    return [f"  %next.{name} = add i64 %i.{name}, {step}", f"  br label %{name}"]


def _at(prefix: str, program: AnyProgram, real: Real, index: str) -> list[str]:
    """Addresses of sample `index`."""
    lines = []
    for k in range(len(program.inputs)):
        lines.append(f"  %{prefix}m{k} = mul i64 {index}, %s{k}")
        lines.append(f"  %{prefix}p{k} = getelementptr {real.name}, ptr %p{k}, i64 %{prefix}m{k}")
    for k, port in enumerate(program.outputs):
        lines.append(f"  %{prefix}n{k} = mul i64 {index}, {port.size}")
        lines.append(f"  %{prefix}o{k} = getelementptr {real.name}, ptr %o{k}, i64 %{prefix}n{k}")
    return lines
