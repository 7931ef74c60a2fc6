"""A slow interpreter: the living definition of what a Program computes.

Runs on NumPy arrays of any dtype, extended precision included.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .ops import OPS
from .program import Constant, Input, Program


def interpret(program: Program, arguments: Sequence[Any], dtype: Any = np.float64) -> list[Any]:
    """Outputs of shape (..., *port.shape) for arguments whose last axes are the ports' shapes."""
    flat = []
    for port, argument in zip(program.inputs, arguments, strict=True):
        array = np.asarray(argument, dtype=dtype)
        flat.append(array.reshape(*array.shape[: array.ndim - len(port.shape)], port.size))
    shape = np.broadcast_shapes(*(a.shape[:-1] for a in flat)) if flat else ()
    values: list[Any] = []
    with np.errstate(all="ignore"):
        for instruction in program.instructions:
            if isinstance(instruction, Input):
                values.append(flat[instruction.port][..., instruction.index])
            elif isinstance(instruction, Constant):
                values.append(np.asarray(instruction.value, dtype=dtype))
            else:
                operands = (values[a] for a in instruction.operands)
                values.append(np.asarray(OPS[instruction.op].meaning(*operands)).astype(dtype))
    results = []
    for port, result in zip(program.outputs, program.results, strict=True):
        out = np.empty((*shape, port.size), dtype=dtype)
        for k, value in enumerate(result):
            out[..., k] = values[value]
        results.append(out.reshape((*shape, *port.shape)))
    return results
