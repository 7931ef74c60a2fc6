"""Rewrites of a Program that save time and change results by rounding at most."""

from collections import Counter

from .builder import Builder
from .program import Constant, Input, Operation, Program


def share_reciprocals(program: Program) -> Program:
    """Several divisions by one value become one reciprocal and multiplications."""
    divisors = Counter(
        i.operands[1] for i in program.instructions if isinstance(i, Operation) and i.op == "div"
    )
    shared = {value for value, count in divisors.items() if count > 1}
    if not shared:
        return program
    builder = Builder()
    new: list[int] = []
    for instruction in program.instructions:
        match instruction:
            case Input(port, index):
                new.append(builder.input(port, index))
            case Constant(value):
                new.append(builder.constant(value))
            case Operation("div", (a, b)) if b in shared:
                inverse = builder.op("div", builder.constant(1.0), new[b])
                new.append(builder.op("mul", new[a], inverse))
            case Operation(op, operands):
                new.append(builder.op(op, *(new[a] for a in operands)))
    results = [[new[v] for v in result] for result in program.results]
    return builder.program(program.name, program.inputs, program.outputs, results)
