"""Builds a Program value by value: equal values are made once, constants are folded."""

from collections.abc import Sequence

from .ops import COMMUTATIVE, OPS
from .program import Constant, Input, Instruction, Operation, Port, Program

SIMPLIFIED = ("add", "sub", "mul", "div", "neg")


class Builder:
    """Collects instructions; every method returns the number of a value."""

    def __init__(self) -> None:
        self.instructions: list[Instruction] = []
        self._numbers: list[float | None] = []  # the number behind a value, if it is one
        self._known: dict[object, int] = {}

    def _value(self, key: object, instruction: Instruction) -> int:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.instructions)
            self.instructions.append(instruction)
            self._numbers.append(instruction.value if type(instruction) is Constant else None)
        return found

    def input(self, port: int, index: int) -> int:
        """Entry `index` of argument `port`."""
        return self._value(("input", port, index), Input(port, index))

    def constant(self, value: float) -> int:
        """A number; NaN is one value too."""
        return self._value(("constant", float(value).hex()), Constant(float(value)))

    def op(self, name: str, *operands: int) -> int:
        """An operation, simplified where the result is the same for every finite operand."""
        numbers = [self._numbers[a] for a in operands]
        if None not in numbers:
            return self.constant(float(OPS[name].meaning(*numbers)))
        if name in SIMPLIFIED:
            simpler = self._simplified(name, operands, numbers)
            if simpler is not None:
                return simpler
        if name in COMMUTATIVE:
            operands = tuple(sorted(operands))
        return self._value((name, operands), Operation(name, operands))

    def _simplified(self, name: str, operands: Sequence[int], numbers: list) -> int | None:
        if name == "neg":
            first = self.instructions[operands[0]]
            if isinstance(first, Operation) and first.op == "neg":
                return first.operands[0]
            return None
        if numbers[0] is None is numbers[1]:
            return self._joined(operands) if name == "add" else None
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
            zeros = self._numbers[yes.operands[2]] == 0.0 == self._numbers[no.operands[2]]
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
            if needed[k] and type(instruction) is Operation:
                for a in instruction.operands:
                    needed[a] = True
        number: dict[int, int] = {}
        kept: list[Instruction] = []
        for k, instruction in enumerate(self.instructions):
            if not needed[k]:
                continue
            number[k] = len(kept)
            if type(instruction) is Operation:
                operands = tuple([number[a] for a in instruction.operands])
                kept.append(Operation(instruction.op, operands))
            else:
                kept.append(instruction)
        renumbered = tuple(tuple(number[v] for v in result) for result in results)
        return Program(name, tuple(inputs), tuple(outputs), tuple(kept), renumbered)
