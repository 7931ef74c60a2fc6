"""Tables of the formulations by hand, at one state: Lagrange-Euler and Gibbs-Appell as arrays."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..dynamics.closed import mobility
from ..dynamics.gibbs_appell import GibbsAppell, gibbs_appell_terms
from ..dynamics.lagrange_euler import LagrangeEuler, lagrange_euler_terms
from ..errors import OptionError
from ..spatial.functions import MATH
from .closing import loop_arrays, refuse_open, refuse_undriven

if TYPE_CHECKING:
    from .calls import Calls


def lagrange_euler(calls: "Calls", q: Any, qd: Any, qdd: Any) -> LagrangeEuler:
    """Lagrange-Euler's tables; with closures those of the tree, .tau of the drives, and .loops."""
    x, xd, xdd = (v.tolist() for v in _one_state(calls, q, qd, qdd))
    terms = lagrange_euler_terms(calls.chain, x, xd, xdd, MATH)
    size = range(calls.model.n)
    zero = ((0.0,) * 4,) * 4
    U = [[terms.U[i][j] or zero for j in size] for i in size]
    UU = [[[terms.UU[i][j][k] or zero for k in size] for j in size] for i in size]
    found = LagrangeEuler(*(np.array(x) for x in terms._replace(U=U, UU=UU)[:-1]))
    loops, tau = loop_arrays(calls.chain, x, xd, terms.tau)
    return found._replace(tau=tau, loops=loops)


def gibbs_appell(calls: "Calls", q: Any, qd: Any, qdd: Any) -> GibbsAppell:
    """Gibbs-Appell terms; with closures projected onto the independent joints by .loops.Z."""
    x, xd, xdd = (v.tolist() for v in _one_state(calls, q, qd, qdd))
    terms = gibbs_appell_terms(calls.chain, x, xd, xdd, MATH)
    found = GibbsAppell(*(np.array(x) for x in terms[:-1]))
    loops, tau = loop_arrays(calls.chain, x, xd, terms.tau)
    if loops is None:
        return found
    W, G, M = (loops.Z.T @ x for x in (found.W, found.G, found.M))
    C = loops.Z.T @ (found.C + found.M @ loops.gamma)
    own = list(mobility(calls.chain).independent)
    if own == list(calls.model.active):
        tau[own] = W @ found.phi
    return GibbsAppell(W, found.phi, tau, G, C, M @ loops.Z, loops)


def _one_state(calls: "Calls", *state: Any) -> list[np.ndarray]:
    """Checked q, qd, qdd of one sample, for tables that are not made in batches."""
    given: dict[str, Any] = dict(zip(("q", "qd", "qdd"), state, strict=True))
    checked_state = calls.arrays(given)
    for name, value in zip(given, checked_state, strict=True):
        if value.ndim != 1:
            size = calls.model.n
            raise OptionError(f"{name} has shape {value.shape}, expected one state ({size},)")
    if calls.chain.coupling is not None:
        raise OptionError("these tables are for robots without coupled joints")
    refuse_undriven(calls)
    refuse_open(calls, dict(zip(given, checked_state, strict=True)))
    return checked_state
