"""What is said of closed mechanisms that do not close, do not move, or are singular."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ClosureError, ModelError, SingularError
from ..model.chain import Chain
from ..model.model import Model

if TYPE_CHECKING:
    from .calls import Calls


def refuse_immobile(chain: Chain, model: Model) -> None:
    """Refuse a mechanism that does not close anywhere, or cannot move."""
    found = chain.mobility
    if found is not None and found.reason and not found.rows:
        raise ModelError(
            f"robot {model.name!r} does not close: {found.reason}",
            "give a configuration near a closed one in [configurations], or look at the frames of "
            "that closure",
        )
    if found is not None and found.reason:
        raise ModelError(
            f"robot {model.name!r} has {model.n} joints and {len(found.rows)} independent "
            f"conditions of closures: {found.reason}",
            "take a closure out, or choose a kind that holds less (ball instead of weld)",
        )


def refuse_open(calls: "Calls", given: Mapping[str, Any]) -> None:
    """Name the sample, the loop and how far it is open, or how near it is to singular."""
    model, chain = calls.model, calls.chain
    assert chain.mobility is not None
    q = np.asarray(given["q"], dtype=float)
    if not np.isfinite(q).all():
        return
    rows = list(chain.mobility.rows)
    refuse_unclosed(calls, q)
    J = calls.interpreted("closure_jacobian", {"q": q})[..., rows, :]
    if "qd" in given and np.isfinite(qd := np.asarray(given["qd"], dtype=float)).all():
        total = np.abs(np.einsum("...ij,...j->...i", J, qd))
        terms = np.einsum("...ij,...j->...i", np.abs(J), np.abs(qd))
        open_ = np.zeros((*total.shape[:-1], len(model.closure_rows)))
        open_[..., rows] = total / (1.0 + terms)
        _refuse(
            open_, chain.tolerance, model, "qd opens the loops: {row} by {value:.3g} per second",
            "robot.joint_rates(q, qd_active) gives those of all joints from those of the drives",
        )  # fmt: skip
    refuse_singular_loops(calls, q, J)
    if "qdd" in given:
        raise ClosureError(
            f"qdd opens the loops of robot {model.name!r}",
            "robot.joint_accelerations(q, qd, qdd_active) gives those of all joints",
        )


def refuse_unclosed(calls: "Calls", q: np.ndarray) -> None:
    """Name the sample and the loop that is open, and how far."""
    e = np.abs(calls.interpreted("closure_error", {"q": q}))
    _refuse(
        e, calls.chain.tolerance, calls.model,
        "q does not close: {row} is open by {value:.3g} m or rad",
        "robot.project(q) gives the nearest one that closes, robot.assemble(q_active) all",
    )  # fmt: skip


def refuse_singular_loops(calls: "Calls", q: np.ndarray, J: np.ndarray) -> None:
    """Name the sample at which the drives do not decide the passive joints."""
    model, chain = calls.model, calls.chain
    assert chain.mobility is not None
    status = calls.interpreted("closure_status", {"q": q})
    bad = status == 1.0
    if not bad.any():
        return
    sample = tuple(int(i[0]) for i in np.nonzero(bad)) if bad.ndim else ()
    dependent = J[sample][:, list(chain.mobility.dependent)]
    condition = np.linalg.cond(dependent / np.linalg.norm(dependent, axis=1, keepdims=True))
    _, _, V = np.linalg.svd(dependent)
    joint = chain.mobility.dependent[int(np.argmax(np.abs(V[-1])))]
    left = np.abs(np.linalg.svd(dependent)[0][:, -1])
    row = model.closure_rows[chain.mobility.rows[int(np.argmax(left))]]
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
