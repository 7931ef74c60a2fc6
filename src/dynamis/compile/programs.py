"""Programs of a robot's kernels."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import casadi as ca

from ..dynamics import closed, equation
from ..dynamics.equation import uncoupled
from ..dynamics.forward_dynamics import factor, substitute
from ..dynamics.friction import driven_load_friction, load_dependent, without_load_friction
from ..dynamics.reduce import OPERATIONS, SPEED, reduced
from ..model.chain import Chain, chain
from ..model.model import Model
from ..model.parameters import chain_of
from ..spatial.vectors import less
from .kernels import Kernel, input_shape, shape_of
from .optimise import factored, share_reciprocals
from .program import Cost, Port, Program
from .tracer import SX, nested, program_of, sx_matrix, symbols

# exact derivatives of the dynamics by CasADi's automatic differentiation


def _list(column: Any) -> Any:
    return nested(column, (column.shape[0],))


def _given(column: Any) -> Any:
    return None if column is None else _list(column)


def _torque(chain: Chain, q: Any, qd: Any, qdd: Any, wrench: Any) -> Any:
    state = _list(q), _list(qd), _list(qdd)
    tau = equation.inverse_dynamics(chain, *state, SX, _given(wrench))
    return ca.vertcat(*(ca.SX(t) for t in tau))


def inverse(chain: Chain, q: Any, qd: Any, qdd: Any, wrench: Any = None) -> list[Any]:
    """d tau / d q, d tau / d qd and d tau / d qdd: M, but where friction grows with the load."""
    tau = _torque(chain, q, qd, qdd, wrench)
    if load_dependent(chain):
        return [ca.jacobian(tau, x) for x in (q, qd, qdd)]
    M = equation.mass_matrix(chain, _list(q), SX)
    return [ca.jacobian(tau, q), ca.jacobian(tau, qd), sx_matrix(M)]


def inverse_along(
    chain: Chain, q: Any, qd: Any, qdd: Any, seed: Any, wrench: Any = None
) -> list[Any]:
    """The three derivatives times a seed: one column each."""
    tau = _torque(chain, q, qd, qdd, wrench)
    return [ca.jtimes(tau, x, seed) for x in (q, qd, qdd)]


def forward(chain: Chain, q: Any, qd: Any, tau: Any, wrench: Any = None) -> list[Any]:
    """d qdd / d q = -M^-1 d tau / d q at the resulting qdd, likewise qd; d qdd / d tau = M^-1.

    Friction under load takes its part of the torque first: tau is then what it leaves, a function
    of the torque given and of qd.
    """
    n = q.shape[0]
    given, left_over_qd = tau, 0.0
    if load_dependent(chain):
        taken = driven_load_friction(chain, _list(qd), _list(tau), SX)
        chain, tau = without_load_friction(chain), tau - ca.vertcat(*(ca.SX(x) for x in taken))
        left_over_qd = ca.jacobian(tau, qd)
    M = equation.mass_matrix(chain, _list(q), SX)
    L, D = factor(M, SX)
    bias = equation.inverse_dynamics(chain, _list(q), _list(qd), [0.0] * n, SX, _given(wrench))
    qdd = substitute(L, D, less(_list(tau), bias))
    symbol = ca.SX.sym("qdd", n)
    torque = _torque(chain, q, qd, symbol, wrench)
    slopes = [ca.jacobian(torque, q), ca.jacobian(torque, qd)]
    dq, dqd = ca.substitute(slopes, [symbol], [ca.vertcat(*qdd)])
    results = []
    for slope in (-dq, left_over_qd - dqd, ca.jacobian(tau, given)):
        columns = [ca.vertcat(*substitute(L, D, [slope[i, j] for i in range(n)])) for j in range(n)]
        results.append(ca.horzcat(*columns))
    return results


# of closed mechanisms: along the motions that keep the loops closed, over independent coordinates


def _torque_closed(chain: Chain, q: Any, v: Any, a: Any, wrench: Any, tau: Any = None) -> Any:
    state = _list(q), _list(v), _list(a)
    found = closed.generalised_torque(chain, *state, SX, _given(tau), _given(wrench))
    return ca.vertcat(*(ca.SX(t) for t in found))


def _decided(chain: Chain, x: Any) -> Any:
    """The entries of the independent coordinates."""
    return ca.vertcat(*(x[k] for k in closed.mobility(chain).independent))


def _follow(chain: Chain, q: Any) -> Any:
    """Z, (n, dof)."""
    return sx_matrix(closed.loops(chain, _list(q), SX).Z).T


def inverse_closed(chain: Chain, q: Any, qd: Any, qdd: Any, wrench: Any = None) -> list[Any]:
    """d tau / d q, d qd and d qdd over the independent coordinates, the others following."""
    v, a = _decided(chain, qd), _decided(chain, qdd)
    symbols = ca.SX.sym("v", v.shape[0]), ca.SX.sym("a", a.shape[0])
    tau = _torque_closed(chain, q, *symbols, wrench)
    slopes = [ca.mtimes(ca.jacobian(tau, q), _follow(chain, q)), ca.jacobian(tau, symbols[0])]
    slopes = ca.substitute(slopes, list(symbols), [v, a])
    if load_dependent(chain):
        (by_a,) = ca.substitute([ca.jacobian(tau, symbols[1])], list(symbols), [v, a])
    else:
        by_a = sx_matrix(closed.mass_matrix(chain, _list(q), SX))
    return [_sound(chain, q, slope) for slope in (*slopes, by_a)]


def inverse_along_closed(
    chain: Chain, q: Any, qd: Any, qdd: Any, seed: Any, wrench: Any = None
) -> list[Any]:
    """The three derivatives times a seed: one column each."""
    v, a = _decided(chain, qd), _decided(chain, qdd)
    symbols = ca.SX.sym("v", v.shape[0]), ca.SX.sym("a", a.shape[0])
    tau = _torque_closed(chain, q, *symbols, wrench)
    along = closed.loops(chain, _list(q), SX).along(_list(seed))
    columns = [ca.jtimes(tau, q, ca.vertcat(*(ca.SX(x) for x in along)))]
    columns += [ca.jtimes(tau, x, seed) for x in symbols]
    columns = ca.substitute(columns, list(symbols), [v, a])
    return [_sound(chain, q, column) for column in columns]


def forward_closed(chain: Chain, q: Any, qd: Any, tau: Any, wrench: Any = None) -> list[Any]:
    """d a / d q = -M^-1 d r / d q at the resulting a, likewise qd and tau.

    r = Z^T (M qdd + h - tau): torques of joints that follow act through Z, which depends on q.
    """
    v = _decided(chain, qd)
    dof = v.shape[0]
    symbols = ca.SX.sym("v", dof), ca.SX.sym("a", dof)
    lack = _torque_closed(chain, q, *symbols, wrench, tau)
    (left,) = ca.substitute([lack], list(symbols), [v, ca.SX.zeros(dof)])
    L, D = factor(closed.mass_matrix(chain, _list(q), SX), SX)
    a = ca.vertcat(*substitute(L, D, _list(-left)))
    by_q = ca.mtimes(ca.jacobian(lack, q), _follow(chain, q))
    by_tau = ca.jacobian(lack, tau)[:, list(closed.mobility(chain).independent)]
    slopes = ca.substitute([by_q, ca.jacobian(lack, symbols[0]), by_tau], list(symbols), [v, a])
    results = []
    for slope in slopes:
        columns = [substitute(L, D, [-slope[i, j] for i in range(dof)]) for j in range(dof)]
        results.append(ca.horzcat(*(ca.vertcat(*(ca.SX(x) for x in c)) for c in columns)))
    return [_sound(chain, q, result) for result in results]


def _sound(chain: Chain, q: Any, matrix: Any) -> Any:
    """The matrix, NaN where q does not close or is singular: slopes of a constant are zero."""
    bad = closed.closure_status(chain, _list(q), SX) > 0.0
    return matrix + ca.if_else(bad, math.nan, 0.0)


STEPS = {"speed": SPEED, "operations": OPERATIONS, "nothing": ()}
COMPARED = 12  # joints up to which forward methods are compared by operation count


def program(
    kernel: Kernel, model: Model, parameters: bool = False, ready: Chain | None = None
) -> Program:
    """The program of a kernel of a robot; with `parameters`, the parameter vector is an argument.

    Forward dynamics without a method takes the one with the fewest operations. `ready` is a chain
    to trace as it stands.
    """
    if kernel.cheapest and not kernel.options and not model.closures:
        methods = compared(model)
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
