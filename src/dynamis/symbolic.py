"""Kernels and user functions over CasADi symbols."""

from typing import Any

import casadi as ca

from .kernels import Kernel, input_shape, shape_of
from .model.chain import chain
from .model.model import Model
from .trace.program import Port
from .trace.tracer import SX, flat, nested, symbols


def casadi_function(kernel: Kernel, model: Model, parameters: bool) -> ca.Function:
    """A CasADi Function: column vectors in, matrices of the kernel's shapes out, all named."""
    inputs = [Port(name, input_shape(name, model)) for name in kernel.inputs]
    columns = symbols(inputs)
    extra = []
    if parameters:
        port = Port("parameters", input_shape("parameters", model))
        extra = symbols([port])
        c = chain(model, parameters=nested(extra[0], port.shape))
        inputs.append(port)
    else:
        c = chain(model)
    if kernel.differentiate:
        results = kernel.function()(c, *columns)
    else:
        scalars = [nested(x, p.shape) for x, p in zip(columns, inputs, strict=False)]
        returned = kernel.function()(c, *scalars, fn=SX)
        results = [returned] if len(kernel.outputs) == 1 else list(returned)
    shapes = [shape_of(s, model) for s in kernel.outputs.values()]
    matrices = [_matrix(r, s) for r, s in zip(results, shapes, strict=True)]
    names = [port.name for port in inputs], [_free(name, kernel) for name in kernel.outputs]
    name = kernel.name.replace(":", "_")
    return ca.Function(name, [*columns, *extra], matrices, *names)


def _free(name: str, kernel: Kernel) -> str:
    """An output name that no input has."""
    return f"{name}_out" if name in kernel.inputs else name


def _matrix(result: Any, shape: tuple[int, ...]) -> Any:
    """Leaves row by row as a dense matrix; more than two axes are stacked by rows."""
    entries = ca.vertcat(*(ca.SX(x) for x in flat(result)))
    columns = shape[-1] if len(shape) > 1 else 1
    rows = entries.numel() // columns
    return ca.densify(ca.reshape(entries, columns, rows).T)
