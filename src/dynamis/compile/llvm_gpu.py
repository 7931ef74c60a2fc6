"""A Program as an LLVM module for NVIDIA GPUs: one thread per sample.

    kernel(int64 count, T *in0, int64 stride0, ..., T *out0, ...)

in blocks of `threads`. Sample s of argument k starts at in[k] + s stride[k]; results lie one after
the other.
Arithmetic rounds as on the processor, operation by operation, so the bits are the same; `fused`
allows products to be added without rounding in between. Threads beyond the last sample compute and
store that sample again: nothing branches. Results of many numbers go through shared memory, tile by
tile, so that neighbours write neighbours.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .elementary import LARGEST, REALS, Real
from .llvm_body import BodyPrinter, not_finite, unused
from .llvm_functions import ARITHMETIC, INLINE, constant, definition, intrinsic, tables
from .program import Input, Operation, Program

NAME = "kernel"
THREADS = 128  # of a block that stores its own results
TILE = 64  # threads of a block that stores tiles, and most columns of one
LONG = 8  # numbers of a result above which it is stored by tiles
FUSED = {op: f"{name} contract" if op != "div" else name for op, name in ARITHMETIC.items()}
CLOSE = tuple(name for name in INLINE if name != "sincos")  # large angles are rare: a call
SPECIAL = "llvm.nvvm.read.ptx.sreg"


class LaunchLayout(NamedTuple):
    """How the kernel of a program is launched."""

    threads: int
    shared: int  # numbers of shared memory; 0: every thread stores its own results


def layout(program: Program, dtype: str) -> LaunchLayout:
    """By the longest result."""
    wide = [columns_of(port.size, dtype) for port in program.outputs if port.size > LONG]
    return LaunchLayout(TILE, TILE * max(map(apart, wide))) if wide else LaunchLayout(THREADS, 0)


def columns_of(size: int, dtype: str) -> int:
    """Columns of the tiles of a result: whole rows if they fit, since rows follow each other.

    Else 128 bytes: more are more numbers on their way at once, for which registers are missing.
    """
    return size if size <= TILE else 1024 // REALS[dtype].bits


def apart(columns: int) -> int:
    """Numbers from one row of a tile to the next: odd, so that no two threads meet in a bank."""
    return columns | 1


class ThreadBody(BodyPrinter):
    """Prints the instructions of one thread as they are needed."""

    def __init__(self, program: Program, real: Real, fused: bool):
        super().__init__(program, real, 1)
        self.arithmetic = FUSED if fused else ARITHMETIC
        self.values = [""] * len(program.instructions)
        self.block = "entry"
        self._levels = levels(program)

    def run_needed(self, wanted: Iterable[int], loads: Mapping[tuple[int, int], str]) -> None:
        """Print what the wanted values need and is not there yet."""
        code = self.program.instructions
        stack = [*reversed(list(wanted))]
        while stack:
            k = stack[-1]
            missing: list[int] = []
            i = code[k]
            if self.values[k]:
                stack.pop()
                continue
            if isinstance(i, Operation):
                missing = [a for a in i.operands if not self.values[a]]
                if not missing and i.op in ("sin", "cos") and i.operands[0] not in self.angles:
                    together = self._levels[i.operands[0]]
                    missing = [a for a in together if not self.values[a]]
                    if not missing:
                        self._angles(together)
            if missing:
                stack.extend(reversed(missing))
                continue
            self._instruction(k, loads)
            stack.pop()

    def _angles(self, angles: list[int]) -> None:
        """Sines and cosines of angles that are known together; one branch where any is large."""
        T = self.T
        for a in angles:
            pair = self.elementary("near_sincos", [self.values[a]])
            s, c = (self.new(f"extractvalue {{{T}, {T}}} {pair}, {i}") for i in (0, 1))
            size = self.new(f"call {T} {intrinsic(self.real, 1, 'fabs')}({T} {self.values[a]})")
            self.flags.append(self._compare("ogt", size, self.const(LARGEST)))
            self.angles[a] = s, c
        flag = self.any_flag()
        self.flags.clear()
        before, self.count = self.block, self.count + 1
        far, self.block = f"far{self.count}", f"near{self.count}"
        self.lines += [f"  br i1 {flag}, label %{far}, label %{self.block}", f"{far}:"]
        exact = []
        for a in angles:
            pair = self.elementary("sincos", [self.values[a]])
            exact.append([self.new(f"extractvalue {{{T}, {T}}} {pair}, {i}") for i in (0, 1)])
        self.lines += [f"  br label %{self.block}", f"{self.block}:"]
        for a, others in zip(angles, exact, strict=True):
            self.angles[a] = tuple(  # type: ignore[assignment]
                self.new(f"phi {T} [{own}, %{before}], [{other}, %{far}]")
                for own, other in zip(self.angles[a], others, strict=True)
            )


def levels(program: Program) -> dict[int, list[int]]:
    """For every angle those that need as many sines and cosines before them: known together."""
    depth: list[int] = []
    groups: dict[int, dict[int, None]] = {}
    for i in program.instructions:
        level = max((depth[a] for a in i.operands), default=0) if isinstance(i, Operation) else 0
        if isinstance(i, Operation) and i.op in ("sin", "cos"):
            groups.setdefault(level, {})[i.operands[0]] = None
            level += 1
        depth.append(level)
    return {a: list(group) for group in groups.values() for a in group}


def module(program: Program, dtype: str, fused: bool) -> str:
    """IR of the whole module."""
    real, (threads, shared) = REALS[dtype], layout(program, dtype)
    body = ThreadBody(program, real, fused)
    rows = _place(body, threads, [f"%s{k}" for k in range(len(program.inputs))])
    loads = _loads(body, rows)
    bad = not_finite(body, program, loads)
    for k, port in enumerate(program.outputs):
        results = program.results[k]
        if port.size > LONG:
            columns = columns_of(port.size, dtype)
            for start in range(0, port.size, columns):
                part = results[start : start + columns]
                stride = body.new(f"mul i32 %lane, {apart(len(part))}")
                for c, value in enumerate(
                    part
                ):  # stored as soon as it is known: it needs no register
                    body.run_needed([value], loads)
                    (sound,) = _sound(body, [value], bad)
                    at = body.new(f"add i32 {stride}, {c}")
                    address = body.new(f"getelementptr {body.T}, ptr addrspace(3) @tile, i32 {at}")
                    body.lines.append(f"  store {body.T} {sound}, ptr addrspace(3) {address}")
                _store_tile(body, k, port.size, start, len(part))
        else:
            body.run_needed(results, loads)
            first = body.new(f"mul i64 {rows[-1]}, {port.size}")
            for index, value in enumerate(_sound(body, results, bad)):
                at = body.new(f"add i64 {first}, {index}")
                _store(body, value, f"%o{k}", at)
    arguments = ["i64 %count"]
    for k in range(len(program.inputs)):
        arguments += [f"ptr addrspace(1) noalias readonly %p{k}", f"i64 %s{k}"]
    arguments += [f"ptr addrspace(1) noalias %o{k}" for k in range(len(program.outputs))]
    head = kernel_head(NAME, arguments, threads)
    tile = f"@tile = internal addrspace(3) global [{shared} x {real.name}] undef"
    parts = [preamble(real), tile if shared else "", functions(body.called, real)]
    return "\n\n".join([*parts, "\n".join([head, "entry:", *body.lines, "  ret void", "}"])]) + "\n"


def kernel_head(name: str, arguments: Iterable[str], threads: int, blocks: int = 1) -> str:
    """The first line of a kernel, of which `blocks` are to find room beside each other."""
    limits = f'"nvvm.maxntid"="{threads}" "nvvm.minctasm"="{blocks}"'
    return f"define ptx_kernel void @{name}({', '.join(arguments)}) {limits} {{"


def preamble(real: Real) -> str:
    """Declarations and tables."""
    T = real.name
    lines = [f"declare {T} {intrinsic(real, 1, 'fma')}({T}, {T}, {T})"]
    lines += [f"declare {T} {intrinsic(real, 1, f)}({T})" for f in ("sqrt", "fabs", "floor")]
    lines += [f"declare i32 @{SPECIAL}.{r}.x()" for r in ("ctaid", "tid")]
    lines += ["declare void @llvm.nvvm.barrier0()", "declare i64 @llvm.smin.i64(i64, i64)"]
    lines.append("declare i32 @llvm.umin.i32(i32, i32)")
    return "\n".join([*lines, tables(real)])


def functions(called: Iterable[tuple[str, int]], real: Real) -> str:
    """Definitions of the elementary functions a body calls."""
    return "\n\n".join(definition(name, real, width, CLOSE) for name, width in sorted(called))


def thread_number(body: BodyPrinter, threads: int) -> str:
    """The number of this thread among all, and of it within its block in %thread."""
    body.lines += [
        f"  %block = call i32 @{SPECIAL}.ctaid.x()",
        f"  %lane = call i32 @{SPECIAL}.tid.x()",
        "  %at.block = zext i32 %block to i64",
        "  %thread = zext i32 %lane to i64",
        f"  %base = mul i64 %at.block, {threads}",
    ]
    return body.new("add i64 %base, %thread")


def _place(body: ThreadBody, threads: int, strides: list[str]) -> list[str]:
    """Where this thread's sample begins in every argument, and the number of its sample."""
    number = thread_number(body, threads)
    body.lines += [
        "  %last = sub i64 %count, 1",
        "  %rest = sub i64 %last, %base",
        f"  %rest.kept = call i64 @llvm.smin.i64(i64 %rest, i64 {threads - 1})",
        "  %last.line = trunc i64 %rest.kept to i32",
    ]
    row = body.new(f"call i64 @llvm.smin.i64(i64 {number}, i64 %last)")
    return [*(body.new(f"mul i64 {row}, {stride}") for stride in strides), row]


def _loads(body: ThreadBody, rows: list[str]) -> dict[tuple[int, int], str]:
    program, T = body.program, body.T
    used = {(i.port, i.index) for i in program.instructions if isinstance(i, Input)}
    loads = {}
    for port, index in sorted(used | unused(program, used)):
        at = body.new(f"add i64 {rows[port]}, {index}")
        address = body.new(f"getelementptr {T}, ptr addrspace(1) %p{port}, i64 {at}")
        loads[port, index] = body.new(f"load {T}, ptr addrspace(1) {address}")
    return loads


def _sound(body: ThreadBody, values: Iterable[int], bad: str | None) -> list[str]:
    """The values, or NaN where an argument that does not matter is not finite."""
    found = [body.values[v] for v in values]
    if bad is None:
        return found
    nan = constant(body.real, 1, float("nan"))
    return [body.new(f"select i1 {bad}, {body.T} {nan}, {body.T} {v}") for v in found]


def _store(body: BodyPrinter, value: str, pointer: str, at: str) -> None:
    address = body.new(f"getelementptr {body.T}, ptr addrspace(1) {pointer}, i64 {at}")
    body.lines.append(f"  store {body.T} {value}, ptr addrspace(1) {address}")


def _store_tile(body: ThreadBody, port: int, size: int, start: int, width: int) -> None:
    """Rows of a block from shared memory, entry after entry, to where they belong.

    Places within a block are counted in 32 bits: a store costs a handful of instructions.
    """
    T, stride = body.T, apart(width)
    body.lines.append("  call void @llvm.nvvm.barrier0()")
    first = body.new(f"mul i64 %base, {size}")
    block = body.new(f"getelementptr {T}, ptr addrspace(1) %o{port}, i64 {first}")
    even = TILE % width == 0  # every pass over the threads moves on by whole rows
    row, column = (body.new(f"{op} i32 %lane, {width}") for op in ("udiv", "urem"))
    for i in range(width):
        if even:
            line = body.new(f"add i32 {row}, {i * TILE // width}")
        else:
            entry = body.new(f"add i32 %lane, {i * TILE}")
            line, column = (body.new(f"{op} i32 {entry}, {width}") for op in ("udiv", "urem"))
        kept = body.new(f"call i32 @llvm.umin.i32(i32 {line}, i32 %last.line)")
        within = body.new(f"mul i32 {kept}, {stride}")
        at = body.new(f"add i32 {within}, {column}")
        address = body.new(f"getelementptr {T}, ptr addrspace(3) @tile, i32 {at}")
        value = body.new(f"load {T}, ptr addrspace(3) {address}")
        far = body.new(f"mul nuw nsw i32 {kept}, {size}")
        near = body.new(f"add nuw nsw i32 {far}, {start}")
        place = body.new(f"add nuw nsw i32 {near}, {column}")
        wide = body.new(f"zext i32 {place} to i64")
        address = body.new(f"getelementptr {T}, ptr addrspace(1) {block}, i64 {wide}")
        body.lines.append(f"  store {T} {value}, ptr addrspace(1) {address}")
    body.lines.append("  call void @llvm.nvvm.barrier0()")
