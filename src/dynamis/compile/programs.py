"""Programs of a robot's kernels."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from ..dynamics import projected
from ..dynamics.coordinates import Closed, coordinates
from ..dynamics.elements.friction import load_dependent
from ..dynamics.equation import uncoupled
from ..dynamics.forward_dynamics import factor, substitute
from ..dynamics.reduce import OPERATIONS, SPEED, reduced
from ..model.chain import Chain, chain
from ..model.model import Model
from ..model.parameters import chain_of
from .kernels import Kernel, input_shape, shape_of
from .optimise import factored, share_reciprocals
from .program import Cost, Port, Program
from .tracer import SX, nested, program_of, sx_matrix, symbols

# exact derivatives of the dynamics by CasADi's automatic differentiation


def _list(column: Any) -> Any:
    return nested(column, (column.shape[0],))


def _given(column: Any) -> Any:
    return None if column is None else _list(column)


def _column(values: Any) -> Any:
    return ca.vertcat(*(ca.SX(x) for x in values))


class _Motion:
    """A motion over the free coordinates, for slopes along motions that keep loops closed.

    v and a are free rates and accelerations: of closed mechanisms symbols of their own, which the
    other joints follow; of open arms the columns given.
    """

    def __init__(self, chain: Chain, q: Any, qd: Any, qdd: Any = None):
        self.chain, self.q, self.on = chain, q, coordinates(chain, _list(q), SX)
        follows = bool(chain.closures)
        v = _column(self.on.free(_list(qd))) if follows else qd
        self.given: dict[str, Any] = {"v": v}
        if qdd is not None:
            self.given["a"] = _column(self.on.free(_list(qdd))) if follows else qdd
        self.size = v.shape[0]
        self.symbols = {
            name: ca.SX.sym(name, self.size)
            for name in ("v", "a")
            if follows or name not in self.given
        }
        self.v, self.a = ((self.given | self.symbols)[x] for x in ("v", "a"))

    def torque(self, wrench: Any, tau: Any = None) -> Any:
        """Generalised torque of v and a, or with tau what that lacks."""
        state = _list(self.q), _list(self.v), _list(self.a)
        given = _given(tau), _given(wrench)
        return _column(projected.generalised_torque(self.chain, *state, SX, *given))

    def left(self, wrench: Any, tau: Any) -> Any:
        """Part of tau that is left to accelerate."""
        state = _list(self.q), _list(self.given["v"]), [0.0] * self.size
        given = _given(tau), _given(wrench)
        return projected.generalised_torque(self.chain, *state, SX, *given, left=True)

    def along(self, slope: Any) -> Any:
        """A slope over q as one over the free coordinates."""
        if isinstance(self.on, Closed):
            return ca.mtimes(slope, sx_matrix(self.on.Z).T)
        return slope

    def settled(self, slopes: list[Any], **more: Any) -> list[Any]:
        """Slopes with the values of v and a."""
        values = self.given | more
        columns = list(self.symbols.values()), [values[x] for x in self.symbols]
        return ca.substitute(slopes, *columns) if self.symbols else slopes

    def certain(self, slopes: list[Any]) -> list[Any]:
        """NaN where q does not close or is singular: a constant has slope 0."""
        if not isinstance(self.on, Closed):
            return slopes
        bad = projected.closure_status(self.chain, _list(self.q), SX) > 0.0
        return [slope + ca.if_else(bad, math.nan, 0.0) for slope in slopes]


def inverse(chain: Chain, q: Any, qd: Any, qdd: Any, wrench: Any = None) -> list[Any]:
    """d tau / d q, d tau / d qd and d tau / d qdd: M, but where friction grows with the load.

    Of closed mechanisms over the independent joints, the others following.
    """
    at = _Motion(chain, q, qd, qdd)
    tau = at.torque(wrench)
    slopes = [at.along(ca.jacobian(tau, q)), ca.jacobian(tau, at.v)]
    if load_dependent(chain):
        return at.certain(at.settled([*slopes, ca.jacobian(tau, at.a)]))
    M = sx_matrix(projected.mass_matrix(chain, _list(q), SX))
    return at.certain([*at.settled(slopes), M])


def inverse_along(
    chain: Chain, q: Any, qd: Any, qdd: Any, seed: Any, wrench: Any = None
) -> list[Any]:
    """The three derivatives times a seed: one column each."""
    at = _Motion(chain, q, qd, qdd)
    tau, moved = at.torque(wrench), _column(at.on.rates(_list(seed)))
    columns = [ca.jtimes(tau, x, y) for x, y in ((q, moved), (at.v, seed), (at.a, seed))]
    return at.certain(at.settled(columns))


def forward(chain: Chain, q: Any, qd: Any, tau: Any, wrench: Any = None) -> list[Any]:
    """d qdd / d q = -M^-1 d r / d q at the resulting qdd, likewise qd and tau.

    r = Z^T (M qdd + h - tau), over the free coordinates: torques of joints that follow act through
    Z, which depends on q, and friction under load takes its part of tau.
    """
    at = _Motion(chain, q, qd)
    L, D = factor(projected.mass_matrix(chain, _list(q), SX), SX)
    a = _column(substitute(L, D, at.left(wrench, tau)))
    lack = at.torque(wrench, tau)
    by_tau = ca.jacobian(lack, tau)[:, list(at.on.free(range(chain.n)))]
    slopes = [at.along(ca.jacobian(lack, q)), ca.jacobian(lack, at.v), by_tau]
    size, results = range(at.size), []
    for slope in at.settled(slopes, a=a):
        columns = [substitute(L, D, [-slope[i, j] for i in size]) for j in size]
        results.append(ca.horzcat(*map(_column, columns)))
    return at.certain(results)


STEPS = {"speed": SPEED, "operations": OPERATIONS, "nothing": ()}
COMPARED = 12  # joints up to which forward methods are compared by operation count


def program(
    kernel: Kernel, model: Model, parameters: bool = False, ready: Chain | None = None
) -> Program:
    """The program of a kernel of a robot; with `parameters`, the parameter vector is an argument.

    Forward dynamics without a method takes the one with the fewest operations. `ready` is a chain
    to trace as it stands.
    """
    traced = [traced_program(k, model, parameters, ready) for k in candidates(kernel, model)]
    return min(traced, key=lambda p: p.cost.total) if len(traced) > 1 else traced[0]


def candidates(kernel: Kernel, model: Model) -> list[Kernel]:
    """A row by each method that is compared for the fewest operations; else the row itself."""
    if not kernel.cheapest or kernel.options or model.closures:
        return [kernel]
    return [replace(kernel, options={"method": method}) for method in compared(model)]


def cost(kernel: Kernel, model: Model) -> Cost:
    """Operations of a kernel, and what each step of its optimisation saved."""
    if kernel.optimise == "nothing":
        return program(kernel, model).cost
    steps = STEPS[kernel.optimise] if kernel.reducible else ()
    plain = replace(kernel, optimise="nothing")
    totals = []
    for k in range(len(steps) + 1):
        c = reduced(chain(model), steps[:k], acting=kernel.inputs)
        totals.append(program(plain, model, ready=c).cost.total)
    final = program(kernel, model).cost
    saved = {s: a - b for s, a, b in zip(steps, totals, totals[1:], strict=False)}
    return final._replace(saved={**saved, "factor": totals[-1] - final.total})


def compared(model: Model) -> tuple[str, ...]:
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
    c = ready or chain_for(kernel, model, values)
    results = results_of(kernel, c, columns, inputs)
    traced = share_reciprocals(program_of(kernel.name, arguments, results, ports, outputs))
    return traced if kernel.optimise == "nothing" else factored(traced)


def chain_for(kernel: Kernel, model: Model, parameters: Any = None) -> Chain:
    """The chain a kernel is traced on: regrouped where that changes no result."""
    kernel.check(model)
    c = chain(model, parameters=parameters)
    if not kernel.reducible or parameters is not None:
        return c
    return reduced(c, STEPS[kernel.optimise], acting=kernel.inputs)


def results_of(
    kernel: Kernel, chain: Chain, columns: Sequence[Any], inputs: Sequence[Port]
) -> list[Any]:
    """What a kernel returns for columns of CasADi symbols, the entries of its inputs."""
    if kernel.differentiate:
        return kernel.function()(chain, *columns)
    values = [nested(c, port.shape) for c, port in zip(columns, inputs, strict=True)]
    returned = kernel.function()(chain, *values, fn=SX)
    return [returned] if len(kernel.outputs) == 1 else list(returned)
