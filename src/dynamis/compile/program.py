"""A Program: typed inputs, straight-line operations, typed outputs."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from ..lazy import cached_property
from .ops import OPS


class Port(NamedTuple):
    """An argument or result: a name and the shape of one sample, row by row."""

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Numbers in one sample."""
        return prod(self.shape)


class Input(NamedTuple):
    """Entry `index` of argument `port`."""

    port: int
    index: int


class Constant(NamedTuple):
    """A number."""

    value: float


class Operation(NamedTuple):
    """An operation on earlier values."""

    op: str
    operands: tuple[int, ...]


Instruction = Input | Constant | Operation


class Cost(NamedTuple):
    """Operations of a program; sign changes are free."""

    mul: int
    add: int
    div: int
    trig: int
    other: int
    saved: Mapping[str, int] = MappingProxyType({})  # operations saved, by step of optimisation

    @property
    def total(self) -> int:
        """Multiplications, additions and divisions."""
        return self.mul + self.add + self.div

    def __str__(self) -> str:
        return f"{self.mul} x, {self.add} +, {self.div} /, {self.trig} trig, {self.other} other"


@dataclass(frozen=True)
class Program:
    """Values are numbered by their instruction; `results` lists the value of every output entry."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    instructions: tuple[Instruction, ...]
    results: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        for k, instruction in enumerate(self.instructions):
            if type(instruction) is Operation:
                op = OPS[instruction.op]
                if len(instruction.operands) != op.arity or max(instruction.operands) >= k:
                    raise ValueError(f"instruction {k} is malformed: {instruction}")
        for port, result in zip(self.outputs, self.results, strict=True):
            if len(result) != port.size:
                raise ValueError(f"output {port.name} has {len(result)} values, not {port.size}")

    @cached_property
    def cost(self) -> Cost:
        """How many operations of each kind."""
        kinds = Counter(OPS[i.op].kind for i in self.instructions if isinstance(i, Operation))
        other = kinds["function"] + kinds["logic"]
        return Cost(kinds["mul"], kinds["add"], kinds["div"], kinds["trig"], other)

    @property
    def length(self) -> int:
        """Operations in all."""
        return sum(isinstance(i, Operation) for i in self.instructions)

    @property
    def parts(self) -> "tuple[Program, ...]":
        """The straight lines it consists of: one."""
        return (self,)

    @property
    def reads(self) -> set[tuple[int, int]]:
        """(port, index) of the input entries it uses."""
        return {(i.port, i.index) for i in self.instructions if isinstance(i, Input)}

    @cached_property
    def text(self) -> str:
        """The program as text, one value a line."""
        lines = [f"program {self.name}"]
        lines += [f"input {p.name}{list(p.shape)}" for p in self.inputs]
        for k, instruction in enumerate(self.instructions):
            lines.append(f"v{k} = {self._right(instruction)}")
        for port, result in zip(self.outputs, self.results, strict=True):
            values = " ".join(f"v{r}" for r in result)
            lines.append(f"output {port.name}{list(port.shape)} = {values}")
        return "\n".join(lines) + "\n"

    def _right(self, instruction: Instruction) -> str:
        match instruction:
            case Input(port, index):
                return f"{self.inputs[port].name}[{index}]"
            case Constant(value):
                return value.hex()
            case Operation(op, operands):
                return f"{op} {' '.join(f'v{a}' for a in operands)}"

    @cached_property
    def hash(self) -> str:
        """Fingerprint of the text."""
        return _fingerprint(self.text)


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Source(NamedTuple):
    """Entries of a vector from `start` on."""

    vector: str
    start: int = 0


class Call(NamedTuple):
    """A part at work: where its arguments come from, and the vectors its results are."""

    part: Program
    sources: tuple[Source, ...]
    targets: tuple[str, ...]


@dataclass(frozen=True)
class CalledProgram:
    """A program in parts that are called one after the other, with vectors in between.

    For long programs: code in which a part stands once although it is called often takes less time
    to compile. The results of the last call are those of the program.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    calls: tuple[Call, ...]

    def __post_init__(self) -> None:
        sizes = {p.name: p.size for p in self.inputs}
        for call in self.calls:
            for port, (vector, start) in zip(call.part.inputs, call.sources, strict=True):
                if start + port.size > sizes.get(vector, -1):
                    raise ValueError(f"{call.part.name} reads beyond vector {vector!r}")
            ports = zip(call.targets, call.part.outputs, strict=True)
            sizes |= {name: port.size for name, port in ports}
        if [p.size for p in self.calls[-1].part.outputs] != [p.size for p in self.outputs]:
            raise ValueError(f"{self.name}: the last call does not give the results")

    @cached_property
    def parts(self) -> tuple[Program, ...]:
        """The programs that are called, each once."""
        return tuple({call.part.text: call.part for call in self.calls}.values())

    @property
    def between(self) -> dict[str, int]:
        """Sizes of the vectors between calls, by name."""
        return {
            name: port.size
            for call in self.calls[:-1]
            for name, port in zip(call.targets, call.part.outputs, strict=True)
        }

    @cached_property
    def reads(self) -> set[tuple[int, int]]:
        """(port, index) of the input entries that some part uses."""
        own, between = {p.name: k for k, p in enumerate(self.inputs)}, self.between
        return {
            (own[vector], start + index)
            for call in self.calls
            for port, (vector, start) in enumerate(call.sources)
            if vector not in between
            for p, index in call.part.reads
            if p == port
        }

    def number(self, call: Call) -> int:
        """Number of the part that a call calls."""
        return [part.text for part in self.parts].index(call.part.text)

    @property
    def cost(self) -> Cost:
        """Operations of each kind, over all calls."""
        mul, add, div, trig, other, _ = zip(*(call.part.cost for call in self.calls), strict=True)
        return Cost(sum(mul), sum(add), sum(div), sum(trig), sum(other))

    @property
    def length(self) -> int:
        """Operations of all calls."""
        return sum(call.part.length for call in self.calls)

    @cached_property
    def text(self) -> str:
        """The parts as text, and the calls one a line."""
        lines = [f"program {self.name}", *(f"input {p.name}{list(p.shape)}" for p in self.inputs)]
        lines += [part.text for part in self.parts]
        for call in self.calls:
            given = " ".join(f"{vector}[{start}:]" for vector, start in call.sources)
            lines.append(f"{' '.join(call.targets)} = call {self.number(call)} {given}")
        return "\n".join(lines) + "\n"

    @cached_property
    def hash(self) -> str:
        """Fingerprint of the text."""
        return _fingerprint(self.text)


AnyProgram = Program | CalledProgram
