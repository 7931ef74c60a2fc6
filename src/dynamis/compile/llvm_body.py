"""The straight line of a Program in LLVM, for one sample or for a vector of samples."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeGuard

from .elementary import FUNCTIONS, LARGEST, Real
from .llvm_functions import ARITHMETIC, COMPARE, call, constant, intrinsic, number, typed
from .program import AnyProgram, Constant, Input, Instruction, Operation, Program

INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor"}


def is_call(instruction: Instruction) -> TypeGuard[Operation]:
    """Whether it is an elementary function, sine and cosine left out: they have their own."""
    return isinstance(instruction, Operation) and instruction.op in FUNCTIONS


def ready_together(code: Sequence[Instruction], lanes: int) -> Iterator[list[int]]:
    """Instructions in an order that brings calls of one function together, up to `lanes`."""
    if lanes == 1 or not any(map(is_call, code)):
        yield from ([k] for k in range(len(code)))
        return
    levels: list[int] = []  # calls on the longest way to a value
    for i in code:
        below = max((levels[a] for a in i.operands), default=0) if isinstance(i, Operation) else 0
        levels.append(below + is_call(i))

    def place(k: int) -> tuple[int, bool, str]:
        i = code[k]
        return (levels[k], False, i.op) if is_call(i) else (levels[k], True, "")

    for (_, plain, _), members in groupby(sorted(range(len(code)), key=place), key=place):
        size, found = 1 if plain else lanes, list(members)
        yield from (found[k : k + size] for k in range(0, len(found), size))


class BodyPrinter:
    """Prints instructions; `loads` gives the IR value of every input entry that is used."""

    def __init__(self, program: Program, real: Real, width: int, exact: bool = False):
        self.program, self.real, self.width = program, real, width
        self.exact = exact  # reduce large angles instead of raising the flag
        self.arithmetic = ARITHMETIC
        self.T = typed(real, width)
        self.B = typed(real, width, "mask")
        self.lines: list[str] = []
        self.values: list[str] = []
        self.conditions: dict[int, str] = {}
        self.angles: dict[int, tuple[str, str]] = {}
        self.flags: list[str] = []
        self.called: set[tuple[str, int]] = set()  # elementary functions and their widths
        self.count = 0

    def new(self, text: str) -> str:
        """A fresh value."""
        self.count += 1
        name = f"%t{self.count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def const(self, value: float) -> str:
        """A constant of the body's type."""
        return constant(self.real, self.width, value)

    def run(self, loads: dict[tuple[int, int], str], lanes: int = 1) -> None:
        """Print every instruction; of one sample, functions that are ready together share lanes."""
        code = self.program.instructions
        self.values = [""] * len(code)
        for group in ready_together(code, lanes):
            if len(group) > 1:
                self._vector(group, lanes)
                continue
            self._instruction(group[0], loads)

    def _instruction(self, k: int, loads: Mapping[tuple[int, int], str]) -> None:
        match self.program.instructions[k]:
            case Input(port, index):
                self.values[k] = loads[port, index]
            case Constant(value):
                self.values[k] = self.const(value)
            case Operation(op, operands):
                self.values[k] = self._operation(k, op, operands)

    def _vector(self, group: list[int], lanes: int) -> None:
        """One elementary function of several values in one vector."""
        calls = [i for i in map(self.program.instructions.__getitem__, group) if is_call(i)]
        T, arguments = typed(self.real, lanes), []
        for operands in zip(*(i.operands for i in calls), strict=True):
            vector = constant(self.real, lanes, 1.0)
            for lane, a in enumerate(operands):
                value = f"{self.real.name} {self.values[a]}, i32 {lane}"
                vector = self.new(f"insertelement {T} {vector}, {value}")
            arguments.append(vector)
        result = self.elementary(calls[0].op, arguments, lanes)
        for lane, k in enumerate(group):
            self.values[k] = self.new(f"extractelement {T} {result}, i32 {lane}")

    def _operation(self, k: int, op: str, operands: tuple[int, ...]) -> str:
        x = [self.values[a] for a in operands]
        if op in ARITHMETIC:
            return self.new(f"{self.arithmetic[op]} {self.T} {x[0]}, {x[1]}")
        if op == "neg":
            return self.new(f"fneg {self.T} {x[0]}")
        if op in ("sin", "cos"):
            return self._angle(operands[0])[op == "cos"]
        if op in INTRINSIC:
            name = intrinsic(self.real, self.width, INTRINSIC[op])
            return self.new(f"call {self.T} {name}({self.T} {x[0]})")
        if op in FUNCTIONS:
            return self.elementary(op, x)
        if op in ("min", "max"):
            return self._extreme("olt" if op == "min" else "ogt", x)
        if op == "sign":
            return self._sign(x[0])
        if op == "select":
            return self._select(self._condition(operands[0]), x[1], x[2])
        return self._logic(k, op, operands, x)

    def _select(self, condition: str, a: str, b: str) -> str:
        return self.new(f"select {self.B} {condition}, {self.T} {a}, {self.T} {b}")

    def _compare(self, how: str, a: str, b: str) -> str:
        return self.new(f"fcmp {how} {self.T} {a}, {b}")

    def _extreme(self, how: str, x: list[str]) -> str:
        """NaN if either is: a comparison with NaN is false and keeps the second operand."""
        chosen = self._select(self._compare(how, x[0], x[1]), x[0], x[1])
        return self._select(self._compare("uno", x[0], x[0]), x[0], chosen)

    def _sign(self, x: str) -> str:
        zero = self.const(0.0)
        low = self._select(self._compare("olt", x, zero), self.const(-1.0), x)
        return self._select(self._compare("ogt", x, zero), self.const(1.0), low)

    def _condition(self, k: int) -> str:
        if k not in self.conditions:
            self.conditions[k] = self._compare("une", self.values[k], self.const(0.0))
        return self.conditions[k]

    def _logic(self, k: int, op: str, operands: tuple[int, ...], x: list[str]) -> str:
        if op in COMPARE:
            condition = self._compare(COMPARE[op], x[0], x[1])
        elif op == "not":
            true = "true" if self.width == 1 else "splat (i1 true)"
            condition = self.new(f"xor {self.B} {self._condition(operands[0])}, {true}")
        else:
            a, b = (self._condition(i) for i in operands)
            condition = self.new(f"{op} {self.B} {a}, {b}")
        self.conditions[k] = condition
        return self._select(condition, self.const(1.0), self.const(0.0))

    def elementary(self, name: str, x: list[str], width: int = 0) -> str:
        """A function of `elementary`, for this body's width unless another is said."""
        self.called.add((name, width or self.width))
        return self.new(call(self.real, width or self.width, name, x))

    def _angle(self, k: int) -> tuple[str, str]:
        """(sin, cos) of a value, computed together once."""
        if k not in self.angles:
            x, T = self.values[k], self.T
            pair = self.elementary("sincos" if self.exact else "near_sincos", [x])
            s, c = (self.new(f"extractvalue {{{T}, {T}}} {pair}, {i}") for i in (0, 1))
            if not self.exact:
                size = self.new(f"call {T} {intrinsic(self.real, self.width, 'fabs')}({T} {x})")
                self.flags.append(self._compare("ogt", size, self.const(LARGEST)))
            self.angles[k] = s, c
        return self.angles[k]

    def any_flag(self) -> str | None:
        """i1: some angle of some sample is too large for the polynomial, or NaN."""
        if not self.flags:
            return None
        total = self.flags[0]
        for flag in self.flags[1:]:
            total = self.new(f"or {self.B} {total}, {flag}")
        if self.width == 1:
            return total
        return self.new(f"call i1 @llvm.vector.reduce.or.v{self.width}i1({self.B} {total})")


# NaN in, NaN out: entries a program does not use still count as part of the sample


def unused(program: AnyProgram, used: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Input entries (parameters excepted) the program does not read; NaN there gives NaN too."""
    every = {
        (k, index)
        for k, port in enumerate(program.inputs)
        if port.name != "parameters"
        for index in range(port.size)
    }
    return every - used


def not_finite(
    body: BodyPrinter, program: AnyProgram, loads: Mapping[tuple[int, int], str]
) -> str | None:
    """Whether an entry that does not matter is NaN or infinite: x - x is then not zero."""
    total = ""
    for key in sorted(unused(program, program.reads)):
        zero = body.new(f"fsub {body.T} {loads[key]}, {loads[key]}")
        total = zero if not total else body.new(f"fadd {body.T} {total}, {zero}")
    return body.new(f"fcmp uno {body.T} {total}, {total}") if total else None


def poison(body: BodyPrinter, program: AnyProgram, bad: str) -> None:
    """Where something is not finite every result is NaN: never plausible numbers."""
    body.lines += [f"  br i1 {bad}, label %poison, label %fine", "poison:"]
    for k, port in enumerate(program.outputs):
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
