"""Builds a Program value by value: equal values are made once, constants are folded."""

import math
from collections.abc import Sequence

from .ops import COMMUTATIVE, OPS
from .program import Constant, Input, Instruction, Operation, Port, Program


class Builder:
    """Collects instructions; every method returns the number of a value."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self._known: dict[object, int] = {}

    def _value(self, key: object, instruction: Instruction) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.instructions)
            self.instructions.append(instruction)
        return found

    def input(self, port: int, index: int) -> int:
        """Entry `index` of argument `port`."""
        return self._value(("input", port, index), Input(port, index))

    def constant(self, value: float) -> int:
        """A number; NaN is one value too."""
        return self._value(("constant", float(value).hex()), Constant(float(value)))

    def constant_of(self, value: int) -> float | None:
        """The number behind a value, if it is one."""
        instruction = self.instructions[value]
        return instruction.value if isinstance(instruction, Constant) else None

    def op(self, name: str, *operands: int) -> int:
        """An operation, simplified where the result is the same for every finite operand."""
        numbers = [self.constant_of(a) for a in operands]
        if all(n is not None for n in numbers):
            return self.constant(float(OPS[name].meaning(*map(_scalar, numbers))))
        simpler = self._simplified(name, operands, numbers)
        if simpler is not None:
            return simpler
        if name in COMMUTATIVE:
            operands = tuple(sorted(operands))
        return self._value((name, operands), Operation(name, operands))

    def _simplified(self, name: str, operands: Sequence[int], numbers: list) -> int | None:
        first = self.instructions[operands[0]]
        if name == "neg" and isinstance(first, Operation) and first.op == "neg":
            return first.operands[0]
        if name == "add" and 0.0 in numbers:
            return operands[1 - numbers.index(0.0)]
        if name == "sub" and numbers[1] == 0.0:
            return operands[0]
        if name == "sub" and numbers[0] == 0.0:
            return self.op("neg", operands[1])
        if name == "mul" and 1.0 in numbers:
            return operands[1 - numbers.index(1.0)]
        if name == "mul" and -1.0 in numbers:
            return self.op("neg", operands[1 - numbers.index(-1.0)])
        if name == "mul" and 0.0 in numbers:
            return self.constant(0.0)
        if name == "div" and numbers[1] == 1.0:
            return operands[0]
        if name == "add":
            return self._joined(operands)
        return None

    def _joined(self, operands: Sequence[int]) -> int | None:
        """select(c, a, 0) + select(not c, b, 0) = select(c, a, b)."""
        a, b = (self.instructions[x] for x in operands)
        if not (isinstance(a, Operation) and isinstance(b, Operation)):
            return None
        if a.op != "select" or b.op != "select":
            return None
        for yes, no in ((a, b), (b, a)):
            opposite = self.instructions[no.operands[0]]
            zeros = self.constant_of(yes.operands[2]) == 0.0 == self.constant_of(no.operands[2])
            if not isinstance(opposite, Operation) or opposite.op != "not":
                continue
            if zeros and opposite.operands[0] == yes.operands[0]:
                return self.op("select", yes.operands[0], yes.operands[1], no.operands[1])
        return None

    def program(
        self,
        name: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        results: Sequence[Sequence[int]],
    ) -> Program:
        """The finished program, without values that no output needs."""
        needed = [False] * len(self.instructions)
        for result in results:
            for value in result:
                needed[value] = True
        for k in range(len(self.instructions) - 1, -1, -1):
            instruction = self.instructions[k]
            if needed[k] and isinstance(instruction, Operation):
                for a in instruction.operands:
                    needed[a] = True
        number: dict[int, int] = {}
        kept: list[Instruction] = []
        for k, instruction in enumerate(self.instructions):
            if not needed[k]:
                continue
            number[k] = len(kept)
            if isinstance(instruction, Operation):
                operands = tuple(number[a] for a in instruction.operands)
                kept.append(Operation(instruction.op, operands))
            else:
                kept.append(instruction)
        renumbered = tuple(tuple(number[v] for v in result) for result in results)
        return Program(name, tuple(inputs), tuple(outputs), tuple(kept), renumbered)


def _scalar(x: float | None) -> float:
    return math.nan if x is None else x
