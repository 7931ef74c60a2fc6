"""Tables of the formulations by hand, as arrays: Lagrange-Euler and Gibbs-Appell."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.arrays import NUMPY, batch_shape
from ..compile.kernels import KERNELS
from ..dynamics.closed import mobility
from ..dynamics.formulations.observation import ObservationMatrix, observation, parameter_order
from ..dynamics.gibbs_appell import GibbsAppell
from ..dynamics.kinematics import inertias
from ..dynamics.lagrange_euler import LagrangeEuler, lagrange_euler_terms
from ..errors import OptionError
from ..model.places import full_name
from ..spatial.functions import MATH
from ..spatial.inertia import linear
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
    """Gibbs-Appell terms; with closures projected onto the independent joints by .loops.Z.

    W at (q, qd, qdd), (q, 0, 0), (q, qd, 0) and (q, 0, e_i): G is what stands still, C and the
    columns of M what is beyond it.
    """
    one = bool(calls.model.closures)
    q, qd, qdd = _one_state(calls, q, qd, qdd) if one else _states(calls, q, qd, qdd)
    still = np.zeros_like(q)[..., None, :]
    units = np.broadcast_to(np.eye(calls.model.n), (*q.shape, calls.model.n))
    states = {
        "q": q[..., None, :],
        "qd": np.concatenate([qd[..., None, :], still, qd[..., None, :], 0.0 * units], axis=-2),
        "qdd": np.concatenate([qdd[..., None, :], still, still, units], axis=-2),
    }
    row = KERNELS["gibbs_appell"]
    evaluated = calls.interpreted if row.too_large(calls.model) else calls
    every = evaluated(row.name, states, {})
    bodies = inertias(calls.chain, list(np.moveaxis(q, -1, 0)))
    phi = _array([x for body in bodies for x in linear(body)], q.shape[:-1])
    torques = (every @ phi[..., None, :, None])[..., 0]
    G = torques[..., 1, :]
    M = np.swapaxes(torques[..., 3:, :] - G[..., None, :], -1, -2)
    tau, C = torques[..., 0, :], torques[..., 2, :] - G
    found = GibbsAppell(every[..., 0, :, :], phi, tau, G, C, M)
    if not one:
        return found
    loops, tau = loop_arrays(calls.chain, q.tolist(), qd.tolist(), tau.tolist())
    assert loops is not None
    W, G, M = (loops.Z.T @ x for x in (found.W, found.G, found.M))
    C = loops.Z.T @ (found.C + found.M @ loops.gamma)
    own = list(mobility(calls.chain).independent)
    if own == list(calls.model.active):
        tau[own] = W @ found.phi
    return GibbsAppell(W, found.phi, tau, G, C, M @ loops.Z, loops)


def observation_matrix(calls: "Calls", q: Any, qd: Any, qdd: Any) -> ObservationMatrix:
    """The observation matrix block by block; with closures that of the tree."""
    states = _states(calls, q, qd, qdd)
    batch = states[0].shape[:-1]
    x, xd, xdd = (list(np.moveaxis(v, -1, 0)) if batch else v.tolist() for v in states)
    found = observation(calls.chain, x, xd, xdd, NUMPY if batch else MATH)
    arrays = {f.name: _array(getattr(found, f.name), batch) for f in fields(found)[:-1]}
    names = (full_name(place, calls.model) for place in parameter_order(calls.chain))
    return ObservationMatrix(**arrays, names=tuple(names))


def _array(nested: Any, batch: tuple[int, ...]) -> np.ndarray:
    """Nested lists of scalars or of arrays over a batch, as one array with the batch first."""
    if not batch:
        return np.array(nested, dtype=float)
    if not isinstance(nested, (list, tuple)):
        return np.broadcast_to(np.asarray(nested, dtype=float), batch)
    rows = [_array(x, batch) for x in nested]
    inside = rows[0].ndim - len(batch) if rows else 0
    return np.stack(rows, axis=-1 - inside) if rows else np.empty((*batch, 0))


def _states(calls: "Calls", *state: Any) -> list[np.ndarray]:
    """Checked q, qd, qdd of one shape, of a robot without coupled joints."""
    names = ("q", "qd", "qdd")
    found = calls.arrays(dict(zip(names, state, strict=True)))
    _refuse_coupled(calls)
    batch = batch_shape(names, [x.shape[:-1] for x in found])
    return [np.broadcast_to(x, (*batch, calls.model.n)) for x in found]


def _refuse_coupled(calls: "Calls") -> None:
    if calls.chain.coupling is not None:
        raise OptionError("these tables are for robots without coupled joints")


def _one_state(calls: "Calls", *state: Any) -> list[np.ndarray]:
    """Checked q, qd, qdd of one sample, for tables that are not made in batches."""
    given: dict[str, Any] = dict(zip(("q", "qd", "qdd"), state, strict=True))
    checked_state = calls.arrays(given)
    for name, value in zip(given, checked_state, strict=True):
        if value.ndim != 1:
            size = calls.model.n
            raise OptionError(f"{name} has shape {value.shape}, expected one state ({size},)")
    _refuse_coupled(calls)
    refuse_undriven(calls)
    refuse_open(calls, dict(zip(given, checked_state, strict=True)))
    return checked_state
