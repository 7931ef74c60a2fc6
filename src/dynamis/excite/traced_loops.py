"""Closed mechanisms as CasADi expressions: all joints from those that decide, and their limits."""

from collections.abc import Iterator, Sequence
from typing import Any

import casadi as ca
import numpy as np

from ..compile.tracer import SX, nested, sx_matrix
from ..dynamics import kinematics, projected
from ..dynamics.coordinates import Closed
from ..dynamics.forward_dynamics import factor, substitute
from ..dynamics.mobility import size
from ..ik.singularity import drives, task_rank
from ..ik.tangent import generic_configurations, joint_scale, tool_motions
from ..ik.target import STILL, task_mask
from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars
from .loops import Loops
from .numeric import Numeric

POWER = 4  # of the squared singular values: their sums stand for the largest and the smallest


class Follow:
    """q of all joints (n, K) from those that decide (dof, K), from where they were before.

    Where a mechanism cannot go there the result is NaN, and the solver takes a shorter step.
    """

    def __init__(self, loops: Loops, samples: int):
        self.loops, self.near = loops, np.tile(loops.start, (samples, 1))
        n, dof = loops.robot.n, loops.robot.dof
        pattern = ca.diagcat(*[ca.Sparsity.dense(n, dof)] * samples)  # each depends on its own
        output = ca.Sparsity.dense(n, samples)
        given = [(dof, samples)]
        self.function = Numeric("follow", given, output, self._moved, self._slopes, pattern)

    def __call__(self, drives: Any) -> Any:
        """As an expression."""
        return self.function(drives)

    def begin(self, q: np.ndarray) -> bool:
        """Start from these configurations, (K, n); whether they are known."""
        self.near = np.array(q)
        return bool(np.isfinite(q).all())

    def _moved(self, drives: np.ndarray) -> np.ndarray:
        q, reached = self.loops.moved(self.near, drives.T)
        if not reached.all():
            return np.full(q.T.shape, np.nan)
        self.near = q
        return q.T

    def _slopes(self, drives: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Z of every sample, column by column."""
        robot = self.loops.robot
        if not np.isfinite(q).all():
            return np.full(q.shape[1] * robot.dof * robot.n, np.nan)
        return robot.joint_rates(q.T[:, None], np.eye(robot.dof)).ravel()


def motion_symbols(chain: Chain) -> list[Any]:
    """q of all joints, qd and qdd of those that decide, as CasADi symbols."""
    own = chain.n if chain.mobility is None else len(chain.mobility.independent)
    return [ca.SX.sym(name, k) for name, k in (("q", chain.n), ("qd", own), ("qdd", own))]


def all_joints(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions
) -> tuple[Scalars, Scalars, Scalars]:
    """q, qd, qdd of all joints from the rates and accelerations of those that decide."""
    return q, *projected.joint_motion(chain, q, qd, qdd, fn)


def loop_limits(
    loops: Loops, state: list[Any], K: int, inside: float, watched: Sequence[int]
) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Limits of the joints that follow, and of the condition numbers, at K samples.

    Of positions those of the joints `watched`. What may not change its sign has NaN for limits.
    """
    b, chain = loops.bounds, loops.robot.chain
    others = [k for k in range(loops.robot.n) if k not in loops.robot.independent]
    bounded = [k for k in others if np.isfinite(b.q[k]).any() and k in watched]
    if bounded:
        both = np.isfinite(b.q[bounded]).all(axis=1)
        spare = np.where(both, (1.0 - inside) * b.of(bounded).half, 0.0)
        low, high = b.q[bounded, 0] + spare, b.q[bounded, 1] - spare
        yield state[0][bounded, :], np.tile(low, K), np.tile(high, K)
    symbols = motion_symbols(chain)
    q, qd, qdd = all_joints(chain, *(nested(x, x.shape[:1]) for x in symbols), fn=SX)
    rates = [qd[k] / float(b.qd[k]) for k in others if np.isfinite(b.qd[k])]
    rates += [qdd[k] / float(b.qdd[k]) for k in others if np.isfinite(b.qdd[k])]
    if rates:
        ones = np.full(len(rates) * K, inside)
        yield _mapped(symbols, rates, K)(*state), -ones, ones
    if loops.most is not None:
        numbers, side = _log_conditions(loops, q)
        most = np.full(len(numbers) * K, np.log(inside * loops.most))
        yield _mapped(symbols, numbers, K)(*state), np.full(len(most), -np.inf), most
        if side is not None:  # no sample is beyond a singularity that lies between two of them
            values = at_samples(ca.Function("side", symbols[:1], [ca.cse(side)]), K)(state[0])
            yield values, np.full(K, np.nan), np.full(K, np.nan)


def _mapped(symbols: list[Any], values: list[Any], K: int) -> Any:
    return at_samples(ca.Function("limits", symbols, [ca.cse(ca.vertcat(*values))]), K)


def at_samples(f: Any, K: int) -> Any:
    """A function of columns at K samples, its derivative by the Jacobian of every sample.

    CasADi's own takes as many directions through all samples as there are numbers in the series.
    """
    names, sizes = f.name_in(), [f.size1_in(k) for k in range(f.n_in())]
    symbols = f.sx_in()
    value = f.call(symbols)[0]
    block = ca.Function("block", symbols, [ca.cse(ca.jacobian(value, x)) for x in symbols])
    columns = [ca.MX.sym(name, size, K) for name, size in zip(names, sizes, strict=True)]
    values = f.map(K)(*columns)
    blocks = zip(block.map(K).call(columns), sizes, strict=True)
    slopes = [ca.diagcat(*ca.horzsplit(x, size)) for x, size in blocks]
    known = ca.MX.sym("out_values", *values.shape)
    slope = ca.Function(
        "jac_at_samples", [*columns, known], slopes,
        [*names, "out_values"], [f"jac_values_{name}" for name in names],
    )  # fmt: skip
    options = {"custom_jacobian": slope, "jac_penalty": 0.0, "never_inline": True}
    return ca.Function("at_samples", columns, [values], names, ["values"], options)


def _log_conditions(loops: Loops, q: Scalars) -> tuple[list[Any], Any]:
    """Smooth upper bounds of the logarithms of the parallel and serial condition numbers.

    And what changes its sign at serial singularities: the determinant of T, where it is square
    without the rows in which no tool moves; else None.

    With rates Z of all joints and their tool's motion T = J Z, in scaled units: the squares of the
    singular values are the eigenvalues of (Z^T Z)^-1 Z_a^T Z_a, with the rows of the drives, and of
    (Z^T Z)^-1 T^T T. That of the loops is left to the check afterwards.
    """
    robot, chain = loops.robot, loops.robot.chain
    scale = joint_scale(robot)
    Z = sx_matrix(Closed(chain, q, SX).Z).T
    rows = np.where(np.arange(6) < 3, 1.0 / size(chain), 1.0)
    mask = task_mask(robot)
    J = sx_matrix(kinematics.jacobian(chain, q, SX)) * ca.repmat(ca.DM(rows), 1, robot.n)
    T = ca.mtimes(J, Z)[np.flatnonzero(mask).tolist(), :]
    Z = Z / ca.repmat(ca.DM(scale), 1, robot.dof)
    G, own = ca.mtimes(Z.T, Z), Z[drives(robot), :]
    found = [_log_condition(G, ca.mtimes(own.T, own))]
    if task_rank(robot, mask) == robot.dof:
        found.append(_log_condition(G, ca.mtimes(T.T, T)))
    general = tool_motions(robot, generic_configurations(robot))[:, mask]
    moved = np.flatnonzero(np.abs(general).max(axis=(0, 2)) > STILL * np.abs(general).max())
    return found, ca.det(T[moved.tolist(), :]) if len(moved) == robot.dof else None


def _log_condition(A: Any, B: Any) -> Any:
    """Half the logarithm of largest over smallest eigenvalue of A^-1 B, not below it."""
    sums = [_trace_of_power(_solved(*pair)) for pair in ((A, B), (B, A))]
    return sum(ca.log(x) for x in sums) / (2.0 * POWER)


def _trace_of_power(M: Any) -> Any:
    squared = ca.mtimes(M, M)
    return ca.trace(ca.mtimes(squared, squared))


def _solved(A: Any, B: Any) -> Any:
    """A^-1 B of symmetric positive definite A."""
    m = A.shape[0]
    L, D = factor(nested(ca.vec(A), (m, m)), SX)
    columns = [substitute(L, D, nested(B[:, j], (m,))) for j in range(m)]
    return sx_matrix(columns).T
