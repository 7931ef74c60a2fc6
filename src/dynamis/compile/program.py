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
        return hashlib.sha256(self.text.encode()).hexdigest()
