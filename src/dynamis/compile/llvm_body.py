"""The straight line of a Program in LLVM, for one sample or for a vector of samples."""

import math

from .llvm_functions import LARGEST, Real, constant, intrinsic, number, typed
from .program import Constant, Input, Operation, Program

ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une"}
INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor"}
LIBM = {"exp": 1, "log": 1, "tanh": 1, "pow": 2, "atan2": 2}


class Body:
    """Prints instructions; `loads` gives the IR value of every input entry that is used."""

    def __init__(self, program: Program, real: Real, width: int, exact: bool = False):
        self.program, self.real, self.width = program, real, width
        self.exact = exact  # ask libm for large angles instead of raising the flag
        self.T = typed(real, width)
        self.B = "i1" if width == 1 else f"<{width} x i1>"
        self.lines: list[str] = []
        self.values: list[str] = []
        self.conditions: dict[int, str] = {}
        self.angles: dict[int, tuple[str, str]] = {}
        self.flags: list[str] = []
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

    def run(self, loads: dict[tuple[int, int], str]) -> None:
        """Print every instruction."""
        for k, instruction in enumerate(self.program.instructions):
            match instruction:
                case Input(port, index):
                    self.values.append(loads[port, index])
                case Constant(value):
                    self.values.append(self.const(value))
                case Operation(op, operands):
                    self.values.append(self._operation(k, op, operands))

    def _operation(self, k: int, op: str, operands: tuple[int, ...]) -> str:
        x = [self.values[a] for a in operands]
        if op in ARITHMETIC:
            return self.new(f"{ARITHMETIC[op]} {self.T} {x[0]}, {x[1]}")
        if op == "neg":
            return self.new(f"fneg {self.T} {x[0]}")
        if op in ("sin", "cos"):
            return self._angle(operands[0])[op == "cos"]
        if op in INTRINSIC:
            name = intrinsic(self.real, self.width, INTRINSIC[op])
            return self.new(f"call {self.T} {name}({self.T} {x[0]})")
        if op in LIBM:
            return self._libm(op, x)
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

    def _angle(self, k: int) -> tuple[str, str]:
        """(sin, cos) of a value, computed together once."""
        if k not in self.angles:
            x, T = self.values[k], self.T
            pair = self.new(f"call {{{T}, {T}}} @sincos_{self.width}({T} {x})")
            s, c = (self.new(f"extractvalue {{{T}, {T}}} {pair}, {i}") for i in (0, 1))
            size = self.new(f"call {T} {intrinsic(self.real, self.width, 'fabs')}({T} {x})")
            large = self._compare("ogt", size, self.const(LARGEST))
            if self.exact:
                s = self._select(large, self._libm("sin", [x]), s)
                c = self._select(large, self._libm("cos", [x]), c)
            else:
                self.flags.append(large)
            self.angles[k] = s, c
        return self.angles[k]

    def _libm(self, name: str, x: list[str]) -> str:
        """The C library's function, sample by sample."""
        if self.width == 1:
            return self._libm_scalar(name, x)
        result = "poison"
        for lane in range(self.width):
            scalars = [self.new(f"extractelement {self.T} {v}, i32 {lane}") for v in x]
            value = self._libm_scalar(name, scalars)
            result = self.new(
                f"insertelement {self.T} {result}, {self.real.name} {value}, i32 {lane}"
            )
        return result

    def _libm_scalar(self, name: str, x: list[str]) -> str:
        """Always in double: the single-precision library is not the same everywhere."""
        if self.real.name == "float":
            x = [self.new(f"fpext float {v} to double") for v in x]
        arguments = ", ".join(f"double {v}" for v in x)
        value = self.new(f"call double @{name}({arguments})")
        return value if self.real.name == "double" else self.new(f"fptrunc double {value} to float")

    def any_flag(self) -> str | None:
        """i1: some angle of some sample is too large for the polynomial."""
        if not self.flags:
            return None
        total = self.flags[0]
        for flag in self.flags[1:]:
            total = self.new(f"or {self.B} {total}, {flag}")
        if self.width == 1:
            return total
        return self.new(f"call i1 @llvm.vector.reduce.or.v{self.width}i1({self.B} {total})")


# naN in, NaN out: entries a program does not use still count as part of the sample


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
