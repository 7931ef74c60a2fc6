"""Programs of a robot's kernels."""

from dataclasses import replace

from .dynamics.equation import uncoupled
from .dynamics.reduce import OPERATIONS, SPEED, reduced
from .kernels import Kernel, input_shape, shape_of
from .model.chain import Chain, chain
from .model.model import Model
from .model.parameters import chain_of
from .trace.factor import factored
from .trace.optimise import share_reciprocals
from .trace.program import Cost, Port, Program
from .trace.tracer import SX, nested, program_of, symbols

STEPS = {"speed": SPEED, "operations": OPERATIONS, "nothing": ()}
COMPARED = 12  # joints up to which forward methods are compared by operation count


def program(
    kernel: Kernel, model: Model, parameters: bool = False, ready: Chain | None = None
) -> Program:
    """The program of a kernel of a robot; with `parameters`, the parameter vector is an argument.

    Forward dynamics without a method takes the one with the fewest operations. `ready` is a chain
    to trace as it stands.
    """
    if kernel.name.startswith("forward_dynamics") and not (kernel.options or kernel.differentiate):
        methods = _forward_methods(model)
        candidates = [replace(kernel, options={"method": method}) for method in methods]
        traced = [traced_program(k, model, parameters, ready) for k in candidates]
        return min(traced, key=lambda p: p.cost.total)
    return traced_program(kernel, model, parameters, ready)


def cost(kernel: Kernel, model: Model) -> Cost:
    """Operations of a kernel, and what each step of its optimisation saved."""
    if kernel.optimise == "nothing":
        return program(kernel, model).cost
    steps = STEPS[kernel.optimise] if kernel.reducible else ()
    plain = replace(kernel, optimise="nothing")
    totals = []
    for k in range(len(steps) + 1):
        c = reduced(chain(model), steps[:k], held="wrench" in kernel.inputs)
        totals.append(program(plain, model, ready=c).cost.total)
    final = program(kernel, model).cost
    saved = {s: a - b for s, a, b in zip(steps, totals, totals[1:], strict=False)}
    return final._replace(saved={**saved, "factor": totals[-1] - final.total})


def _forward_methods(model: Model) -> tuple[str, ...]:
    """Composite bodies for short or coupled robots, articulated bodies for long ones."""
    if not uncoupled(chain_of(model)):
        return ("walker-orin-3",)
    if model.n > COMPARED:
        return ("articulated-body",)
    return ("walker-orin-3", "articulated-body")


def traced_program(
    kernel: Kernel, model: Model, parameters: bool, ready: Chain | None = None
) -> Program:
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
    c = ready or chain(model, parameters=values)
    if kernel.reducible and ready is None and not parameters:
        c = reduced(c, STEPS[kernel.optimise], held="wrench" in kernel.inputs)
    if kernel.differentiate:
        results = kernel.function()(c, *columns)
    else:
        scalars = [nested(x, port.shape) for x, port in zip(columns, inputs, strict=True)]
        returned = kernel.function()(c, *scalars, fn=SX)
        results = [returned] if len(outputs) == 1 else list(returned)
    traced = share_reciprocals(program_of(kernel.name, arguments, results, ports, outputs))
    return traced if kernel.optimise == "nothing" else factored(traced)
