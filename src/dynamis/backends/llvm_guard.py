"""NaN in, NaN out: entries a program does not use still count as part of the sample."""

import math

from ..trace.program import Input, Program
from .llvm_body import Body
from .llvm_trig import Real, number


def unused(program: Program, used: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Entries that do not matter, parameters left out: a NaN there must still show."""
    every = {
        (k, index)
        for k, port in enumerate(program.inputs)
        if port.name != "parameters"
        for index in range(port.size)
    }
    return every - used


def not_finite(body: Body, loads: dict[tuple[int, int], str]) -> str | None:
    """Whether an entry that does not matter is NaN or infinite: x - x is then not zero."""
    needed = {(i.port, i.index) for i in body.program.instructions if isinstance(i, Input)}
    total = ""
    for key in sorted(unused(body.program, needed)):
        zero = body.new(f"fsub {body.T} {loads[key]}, {loads[key]}")
        total = zero if not total else body.new(f"fadd {body.T} {total}, {zero}")
    return body.new(f"fcmp uno {body.T} {total}, {total}") if total else None


def poison(body: Body, bad: str) -> None:
    """Where something is not finite every result is NaN: never plausible numbers."""
    body.lines += [f"  br i1 {bad}, label %poison, label %fine", "poison:"]
    for k, port in enumerate(body.program.outputs):
        body.lines.append(f"  call void @fill_nan(ptr %o{k}, i64 {port.size})")
    body.lines += ["  ret void", "fine:"]


def fill_nan(real: Real) -> str:
    """A loop that fills a result with NaN."""
    T = real.name
    return "\n".join([
        "define internal void @fill_nan(ptr %o, i64 %n) noinline cold {",
        "entry:",
        "  br label %loop",
        "loop:",
        "  %i = phi i64 [0, %entry], [%next, %body]",
        "  %go = icmp slt i64 %i, %n",
        "  br i1 %go, label %body, label %done",
        "body:",
        f"  %at = getelementptr {T}, ptr %o, i64 %i",
        f"  store {T} {number(math.nan)}, ptr %at",
        "  %next = add i64 %i, 1",
        "  br label %loop",
        "done:",
        "  ret void",
        "}",
    ])  # fmt: skip
