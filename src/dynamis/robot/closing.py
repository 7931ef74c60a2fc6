"""What is said of closed mechanisms that do not close, do not move, or are singular."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dynamics.mobility import model_mobility
from ..errors import ClosureError, ModelError, SingularError
from ..model.chain import Chain
from ..model.check.finding import worded
from ..model.closure import refuse_closures
from ..model.model import Model

if TYPE_CHECKING:
    from . import Robot
    from .calls import Calls


COMPARED = 4  # closures that are tried one by one, to say whether they conflict


def refuse_immobile(chain: Chain, model: Model) -> None:
    """Refuse a mechanism that does not close anywhere, or cannot move."""
    found = chain.mobility
    if found is not None and found.reason and not found.rows:
        hint = "give a configuration near a closed one in [configurations], or look at the frames "
        few = model.closures if len(model.closures) <= COMPARED else ()
        each = [model_mobility(replace(model, closures=(x,))) for x in few]
        if len(each) > 1 and not any(x.reason and not x.rows for x in each):
            names = worded(repr(x.name) for x in model.closures)
            hint += f"of {names}: they conflict, each of them closes by itself"
        else:
            hint += "of that closure"
        raise ModelError(f"robot {model.name!r} does not close: {found.reason}", hint)
    if found is not None and found.reason:
        raise ModelError(
            f"robot {model.name!r} has {model.n} joints and {len(found.rows)} independent "
            f"conditions of closures: {found.reason}",
            "take a closure out, or choose a kind that holds less (ball instead of weld)",
        )


def closed_terms(robot: "Robot", q: Any, qd: Any, qdd: Any) -> dict[str, np.ndarray]:
    """Parts of the torques of the drives, (..., n): Z^T of those of all joints, qd = Z qd_i."""
    closures = robot.model.closures
    robot._check_drives(None)
    if robot.independent != robot.active:
        refuse_closures(closures, "torque_terms with more drives than degrees of freedom")
    if robot.rubs_under_load:
        refuse_closures(closures, "torque_terms with friction under load")
    drives = list(robot.independent)
    q, qd, qdd = (np.asarray(x, dtype=float) for x in (q, qd, qdd))
    total = robot.inverse_dynamics(q, qd, qdd)[..., drives]
    Z = robot.joint_rates(q[..., None, :], np.eye(robot.dof))  # rows: one drive moves

    def lowered(torques: np.ndarray) -> np.ndarray:
        return np.einsum("...ij,...j->...i", Z, torques)

    own = {
        "inertial": np.einsum("...ij,...j->...i", robot.mass_matrix(q), qdd[..., drives]),
        "coriolis": np.einsum("...ij,...j->...i", robot.coriolis_matrix(q, qd), qd[..., drives]),
        "gravity": robot.gravity_torque(q),
        "friction": lowered(robot.friction_torque(qd)),
    }
    if robot.model.loads:
        own["load"] = lowered(robot.load_torque(q, qd))
    if robot.model.springs:  # with their damping
        own["spring"] = total - sum(own.values())
    found = {}
    for name, part in own.items():
        found[name] = np.zeros((*np.broadcast_shapes(part.shape, total.shape)[:-1], robot.n))
        found[name][..., drives] = part
    return found


def refuse_open(calls: "Calls", given: Mapping[str, Any], dtype: Any = None) -> None:
    """Name the sample, the loop and how far it is open, or how near it is to singular."""
    numbers = [np.asarray(x, dtype=float) for x in given.values() if x is not None]
    if not all(np.isfinite(x).all() for x in numbers):
        return
    q, name = np.asarray(given["q"], dtype=float), calls.model.name
    refuse_unclosed(calls, q, given.get("qd"))
    refuse_singular_loops(calls, q)
    if "qdd" in given and _opens(calls, q, given["qd"], np.asarray(given["qdd"], dtype=float)):
        raise ClosureError(
            f"qdd opens the loops of robot {name!r}",
            "robot.joint_accelerations(q, qd, qdd_active) gives those of all joints",
        )
    if dtype is not None and np.dtype(dtype) == np.float32:
        raise ClosureError(
            f"the loops of robot {name!r} do not close within {calls.chain.tolerance:g} in float32",
            "robot.with_closure_limits(tolerance=1e-4, condition=1e3) suits that precision",
        )


def _opens(calls: "Calls", q: np.ndarray, qd: Any, qdd: np.ndarray) -> bool:
    """Whether accelerations differ from those that the independent ones decide."""
    assert calls.chain.mobility is not None
    own = qdd[..., list(calls.chain.mobility.independent)]
    follow = calls.interpreted("joint_accelerations", {"q": q, "qd": qd, "qdd_active": own})
    bound = calls.chain.tolerance * (1.0 + np.abs(follow).max())
    return bool((np.abs(follow - qdd) > 0.1 * bound).any())


def refuse_unclosed(calls: "Calls", q: np.ndarray, qd: Any = None) -> None:
    """Name the sample and the loop that q does not close, or that qd opens."""
    model, chain = calls.model, calls.chain
    assert chain.mobility is not None
    e = np.abs(calls.interpreted("closure_error", {"q": q}))
    _refuse(
        e, chain.tolerance, model, "q does not close: {row} is open by {value:.3g} m or rad",
        "robot.project(q) gives the nearest one that closes, robot.assemble(q_active) all",
    )  # fmt: skip
    rates = np.asarray(np.nan if qd is None else qd, dtype=float)
    if not np.isfinite(rates).all():
        return
    rows = list(chain.mobility.rows)
    J = calls.interpreted("closure_jacobian", {"q": q})[..., rows, :]
    total = np.abs(np.einsum("...ij,...j->...i", J, rates))
    terms = np.einsum("...ij,...j->...i", np.abs(J), np.abs(rates))
    opens = np.zeros((*total.shape[:-1], len(model.closure_rows)))
    opens[..., rows] = total / (1.0 + terms)
    _refuse(
        opens, chain.tolerance, model, "qd opens the loops: {row} by {value:.3g} per second",
        "robot.joint_rates(q, qd_active) gives those of all joints from those of the drives",
    )  # fmt: skip


def refuse_singular_loops(calls: "Calls", q: np.ndarray) -> None:
    """Name the sample at which the drives do not decide the passive joints."""
    model, chain = calls.model, calls.chain
    assert chain.mobility is not None
    status = calls.interpreted("closure_status", {"q": q})
    bad = status == 1.0
    if not bad.any():
        return
    sample = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
    J = calls.interpreted("closure_jacobian", {"q": q[sample]})
    dependent = J[np.ix_(chain.mobility.rows, chain.mobility.dependent)]
    sizes = np.linalg.norm(dependent, axis=1, keepdims=True)
    condition = np.linalg.cond(dependent / np.where(sizes > 0.0, sizes, 1.0))
    U, _, V = np.linalg.svd(dependent)
    joint = chain.mobility.dependent[int(np.argmax(np.abs(V[-1])))]
    row = model.closure_rows[chain.mobility.rows[int(np.argmax(np.abs(U[:, -1])))]]
    where = f" (sample {sample})" if sample else ""
    raise SingularError(
        f"robot {model.name!r} is near a singular configuration{where}: the drives do not decide "
        f"{model.joint_names[joint]!r} in the loop of {row.split('.')[0]!r} (condition number "
        f"{condition:.2g}, at most {chain.condition:.2g})",
        "robot.with_closure_limits(condition=...) allows worse ones; robot.closure_status(q) tells "
        "which samples are concerned",
    )


def _refuse(error: np.ndarray, bound: float, model: Model, what: str, hint: str) -> None:
    bad = ~(error <= bound)
    if not bad.any():
        return
    *sample, _ = (int(i[0]) for i in np.nonzero(bad))
    row = int(np.argmax(error[tuple(sample)]))
    where = f" (sample {tuple(sample)})" if sample else ""
    said = what.format(row=model.closure_rows[row], value=error[(*sample, row)])
    raise ClosureError(f"robot {model.name!r}{where}: {said}, at most {bound:.3g}", hint)
