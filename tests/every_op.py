"""A program that uses every operation once: what a backend must print."""

from dynamis.compile.builder import Builder
from dynamis.compile.ops import OPS
from dynamis.compile.program import Port, Program

UNARY_ON = {"sqrt": 2, "log": 2, "floor": 1, "abs": 1, "sign": 1, "not": 3}
BINARY_ON = {"pow": (2, 0), "and": (3, 4), "or": (3, 4)}


def every_op() -> Program:
    """Inputs x, y, z; one output entry per operation, in the order of the table."""
    b = Builder()
    x, y, z = (b.input(0, i) for i in range(3))
    false, true = b.op("lt", x, y), b.op("lt", y, x)
    values = [x, y, z, false, true]
    results = []
    for name, op in OPS.items():
        if op.arity == 1:
            operands = (values[UNARY_ON.get(name, 0)],)
        elif op.arity == 2:
            i, j = BINARY_ON.get(name, (0, 1))
            operands = values[i], values[j]
        else:
            operands = false, x, y
        results.append(b.op(name, *operands))
    return b.program("every_op", [Port("x", (3,))], [Port("y", (len(results),))], [results])
