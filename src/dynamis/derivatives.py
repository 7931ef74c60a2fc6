"""Exact derivatives of the dynamics by CasADi's automatic differentiation."""

from typing import Any

import casadi as ca

from .dynamics import equation
from .dynamics.linear_solve import factor, substitute
from .model.chain import Chain
from .trace.tracer import SX, nested


def _list(column: Any) -> Any:
    return nested(column, (column.shape[0],))


def _torque(chain: Chain, q: Any, qd: Any, qdd: Any) -> Any:
    tau = equation.inverse_dynamics(chain, _list(q), _list(qd), _list(qdd), SX)
    return ca.vertcat(*(ca.SX(t) for t in tau))


def inverse(chain: Chain, q: Any, qd: Any, qdd: Any) -> list[Any]:
    """d tau / d q, d tau / d qd and d tau / d qdd = M."""
    tau = _torque(chain, q, qd, qdd)
    M = equation.mass_matrix(chain, _list(q), SX)
    return [ca.jacobian(tau, q), ca.jacobian(tau, qd), _rows(M)]


def inverse_along(chain: Chain, q: Any, qd: Any, qdd: Any, seed: Any) -> list[Any]:
    """The three derivatives times a seed: one column each."""
    tau = _torque(chain, q, qd, qdd)
    return [ca.jtimes(tau, x, seed) for x in (q, qd, qdd)]


def forward(chain: Chain, q: Any, qd: Any, tau: Any) -> list[Any]:
    """d qdd / d q = -M^-1 d tau / d q at the resulting qdd, likewise qd; d qdd / d tau = M^-1."""
    n = q.shape[0]
    M = equation.mass_matrix(chain, _list(q), SX)
    L, D = factor(M, SX)
    bias = equation.inverse_dynamics(chain, _list(q), _list(qd), [0.0] * n, SX)
    qdd = substitute(L, D, [t - h for t, h in zip(_list(tau), bias, strict=True)])
    symbol = ca.SX.sym("qdd", n)
    torque = _torque(chain, q, qd, symbol)
    slopes = [ca.jacobian(torque, q), ca.jacobian(torque, qd)]
    dq, dqd = ca.substitute(slopes, [symbol], [ca.vertcat(*qdd)])
    results = []
    for slope in (-dq, -dqd, ca.SX.eye(n)):
        columns = [ca.vertcat(*substitute(L, D, [slope[i, j] for i in range(n)])) for j in range(n)]
        results.append(ca.horzcat(*columns))
    return results


def _rows(M: Any) -> Any:
    return ca.vertcat(*(ca.horzcat(*(ca.SX(x) for x in row)) for row in M))
