"""Programs of a robot's kernels."""

from dataclasses import replace

from .dynamics.equation import uncoupled
from .kernels import Kernel, input_shape, shape_of
from .model.chain import chain
from .model.model import Model
from .model.parameters import chain_of
from .trace.optimise import share_reciprocals
from .trace.program import Port, Program
from .trace.tracer import SX, nested, program_of, symbols

COMPARED = 12  # joints up to which forward methods are compared by operation count


def program(kernel: Kernel, model: Model, parameters: bool = False) -> Program:
    """The program of a kernel of a robot; with `parameters`, the parameter vector is an argument.

    Forward dynamics without a method takes the one with the fewest operations.
    """
    if kernel.name.startswith("forward_dynamics") and not (kernel.options or kernel.differentiate):
        methods = _forward_methods(model)
        candidates = [replace(kernel, options={"method": method}) for method in methods]
        traced = [traced_program(k, model, parameters) for k in candidates]
        return min(traced, key=lambda p: p.cost.total)
    return traced_program(kernel, model, parameters)


def _forward_methods(model: Model) -> tuple[str, ...]:
    """Composite bodies for short or coupled robots, articulated bodies for long ones."""
    if not uncoupled(chain_of(model)):
        return ("walker-orin-3",)
    if model.n > COMPARED:
        return ("articulated-body",)
    return ("walker-orin-3", "articulated-body")


def traced_program(kernel: Kernel, model: Model, parameters: bool) -> Program:
    """Trace a kernel."""
    inputs = [Port(name, input_shape(name, model)) for name in kernel.inputs]
    columns = symbols(inputs)
    outputs = [Port(name, shape_of(s, model)) for name, s in kernel.outputs.items()]
    values = None
    ports, arguments = inputs, columns
    if parameters:
        ports = [*inputs, Port("parameters", input_shape("parameters", model))]
        arguments = [*columns, *symbols(ports[-1:])]
        values = nested(arguments[-1], ports[-1].shape)
    c = chain(model, parameters=values)
    if kernel.differentiate:
        results = kernel.function()(c, *columns)
    else:
        scalars = [nested(x, port.shape) for x, port in zip(columns, inputs, strict=True)]
        returned = kernel.function()(c, *scalars, fn=SX)
        results = [returned] if len(outputs) == 1 else list(returned)
    return share_reciprocals(program_of(kernel.name, arguments, results, ports, outputs))
