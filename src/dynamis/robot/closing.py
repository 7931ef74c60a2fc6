"""What is said of closed mechanisms that do not close, do not move, or are singular."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..compile.arrays import as_batch
from ..compile.kernels import input_shape
from ..dynamics.coordinates import Closed
from ..dynamics.mobility import known_assemblies, model_mobility
from ..errors import ClosureError, ModelError, OptionError, SingularError, counted, worded
from ..lazy import once
from ..model.chain import Chain
from ..model.model import Model
from ..spatial.functions import MATH

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
            names = worded(repr(x.name) for x in few)
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


def tree_of(robot: "Robot") -> "Robot":
    """The robot without its closures, made once; one that has none is its own tree."""
    return once(robot, "tree", robot.without_closures) if robot.model.closures else robot


def undriven(robot: "Robot | Calls") -> list[str]:
    """Names of independent joints that no drive moves."""
    model, found = robot.model, robot.chain.mobility
    own = range(model.n) if found is None else found.independent
    return [model.joint_names[k] for k in own if k not in model.driven]


def refuse_undriven(robot: "Robot | Calls") -> None:
    """Refuse a mechanism whose drives do not decide every motion."""
    model, found = robot.model, robot.chain.mobility
    if idle := undriven(robot):
        dof = model.n if found is None else len(found.independent)
        raise OptionError(
            f"robot {model.name!r} has {counted(dof, 'degree')} of freedom and drives for "
            f"{dof - len(idle)}: no torques give every motion of {', '.join(idle)}",
            "drive these joints (passive = false), or use forward_dynamics",
        )


TORQUES = "{0} = np.zeros(robot.n); {0}[..., robot.driven] = ..., zero for passive joints"
ALL_JOINTS = {  # arguments of all joints, and how to have them from those of the drives
    **dict.fromkeys(("q", "q0"), "robot.assemble(q_active)[0] gives all"),
    **dict.fromkeys(("qd", "qd0", "qd_ref"), "robot.joint_rates(q, qd_active) gives all"),
    "qdd": "robot.joint_accelerations(q, qd, qdd_active) gives all",
    **dict.fromkeys(("tau", "torque", "external", "preload"), TORQUES),
}


def drive_hint(owner: "Robot | Calls", name: str, shape: tuple[int, ...]) -> str | None:
    """Hint where an argument holds the drives alone instead of all joints, or the reverse.

    None where that is not what is wrong.
    """
    model, found = owner.model, owner.chain.mobility
    if found is None or not shape:
        return None
    if name.endswith("_active"):
        wrong = shape[-1] == model.n
        return f"the independent joints alone: {name}[..., robot.independent]" if wrong else None
    drives = worded(model.joint_names[k] for k in model.driven)
    if name == "reference":
        wrong = shape[-1] == model.n
        return f"it is of the drives alone ({drives}): q[..., robot.driven]" if wrong else None
    if name not in ALL_JOINTS or shape[-1] not in (len(model.driven), len(found.independent)):
        return None
    how = ALL_JOINTS[name].format(name)
    return f"{name} is of all {model.n} joints, not of the drives alone ({drives}): {how}"


def closed_terms(robot: "Robot", q: Any, qd: Any, qdd: Any) -> dict[str, np.ndarray]:
    """Parts of the torques of the drives, (..., n).

    Z^T of those of all joints, qd = Z qd_i, shared by the drives: least |tau_a|, Z_a^T tau_a given.
    """
    refuse_undriven(robot)
    own, drives = list(robot.independent), list(robot.driven)
    q, qd, qdd = (
        as_batch(x, name, (robot.n,), f"robot {robot.name!r}", partial(drive_hint, robot))
        for x, name in ((q, "q"), (qd, "qd"), (qdd, "qdd"))
    )
    total = robot.inverse_dynamics(q, qd, qdd)
    Z = robot.joint_rates(q[..., None, :], np.eye(robot.dof))  # rows: one of them moves
    share = None if own == drives else np.linalg.pinv(Z[..., drives])

    def reduced(torques: np.ndarray) -> np.ndarray:
        return np.einsum("...ij,...j->...i", Z, torques)

    def of_drives(part: np.ndarray) -> np.ndarray:
        if share is not None:
            part = np.einsum("...ij,...j->...i", share, part)
        found = np.zeros((*np.broadcast_shapes(part.shape[:-1], total.shape[:-1]), robot.n))
        found[..., drives] = part
        return found

    parts = {
        "inertial": np.einsum("...ij,...j->...i", robot.mass_matrix(q), qdd[..., own]),
        "coriolis": np.einsum("...ij,...j->...i", robot.coriolis_matrix(q, qd), qd[..., own]),
        "gravity": robot.gravity_torque(q),
    }
    parts |= {name: reduced(part) for name, part in robot._effect_torques(q, qd).items()}
    found = {name: of_drives(part) for name, part in parts.items()}
    if robot.rubs_under_load:
        found["friction"] = found["friction"] + robot.load_friction(q, qd, qdd)
    return found


class LoopTerms(NamedTuple):
    """The closures at one state, in the rows that count: qd = Z qd_i, qdd = Z qdd_i + gamma."""

    J: np.ndarray  # (rows, n)
    bias: np.ndarray  # Jd qd
    Z: np.ndarray  # (n, dof)
    gamma: np.ndarray  # Zd qd_i
    f: np.ndarray  # forces of the closures


def loop_arrays(
    chain: Chain, q: Sequence[float], qd: Sequence[float], torques: Sequence[float]
) -> tuple[LoopTerms | None, np.ndarray]:
    """The closures of a motion that takes these torques of the tree, and those of the drives.

    An open arm has none, and drives at all joints.
    """
    if chain.mobility is None:
        return None, np.array(torques)
    on = Closed(chain, q, MATH)
    f, tau, _ = on.shared(torques)
    bias = np.array(on.jacobian_dot(qd)) @ np.asarray(qd)
    terms = on.J, bias, np.transpose(on.Z), on.drift(qd, qd), f
    return LoopTerms(*(np.array(x) for x in terms)), np.array(tau)


def refuse_open(
    calls: "Calls", given: Mapping[str, Any], dtype: Any = None, results: Sequence[Any] = ()
) -> None:
    """Name the sample, the loop and how far it is open, or how near it is to singular.

    Only samples whose `results` are NaN are looked at; one that was given NaN is no error.
    """
    if calls.chain.mobility is None:
        return
    lost, state = _lost_states(calls, given, results)
    if not lost.any():
        return
    q, name = state["q"], calls.model.name
    refuse_unclosed(calls, q, state.get("qd"))
    refuse_singular_loops(calls, q)
    if "qdd" in state and _opens(calls, q, state["qd"], state["qdd"]):
        raise ClosureError(
            f"qdd opens the loops of robot {name!r}",
            "robot.joint_accelerations(q, qd, qdd_active) gives those of all joints",
        )
    if dtype is not None and np.dtype(dtype) == np.float32:
        raise ClosureError(
            f"the loops of robot {name!r} do not close within {calls.chain.tolerance:g} in float32",
            "robot.with_closure_limits(tolerance=1e-4, condition=1e3) suits that precision",
        )


def _lost_states(
    calls: "Calls", given: Mapping[str, Any], results: Sequence[Any]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Samples given as numbers without a result (all, if there are no results); q, qd and qdd,
    with an assembly at rest in place of the other samples."""
    arrays = {k: np.asarray(x, dtype=float) for k, x in given.items() if x is not None}
    finite = []
    for name, x in arrays.items():
        trailing = len(input_shape(name, calls.model))
        finite.append(np.isfinite(x).all(axis=tuple(range(x.ndim - trailing, x.ndim))))
    lost = np.logical_and.reduce(np.broadcast_arrays(*finite))
    for x in results:
        lost = lost & ~np.isfinite(x).all(axis=tuple(range(lost.ndim, x.ndim)))
    state = {name: arrays[name] for name in ("q", "qd", "qdd") if name in arrays}
    if not lost.all() and lost.any():
        rest = np.array(known_assemblies(calls.chain, calls.model)[0])
        state = {
            name: np.where(lost[..., None], x, rest if name == "q" else 0.0)
            for name, x in state.items()
        }
    return lost, state


def _opens(calls: "Calls", q: np.ndarray, qd: Any, qdd: np.ndarray) -> bool:
    """Whether accelerations differ from those that the independent ones decide."""
    assert calls.chain.mobility is not None
    own = qdd[..., list(calls.chain.mobility.independent)]
    follow = calls.interpreted("joint_accelerations", {"q": q, "qd": qd, "qdd_active": own})
    bound = calls.chain.tolerance * (1.0 + np.abs(follow).max())
    return bool((np.abs(follow - qdd) > 0.1 * bound).any())


def refuse_unclosed(robot: "Robot | Calls", q: np.ndarray, qd: Any = None) -> None:
    """Name the sample and the loop that q does not close, or that qd opens."""
    calls: Any = getattr(robot, "_calls", robot)  # either is taken
    model, chain = calls.model, calls.chain
    if chain.mobility is None:
        return
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
    pivots = np.diagonal(np.linalg.qr(dependent.T, mode="r")) ** 2  # of J J^T, as in _gram
    usual = np.maximum((dependent**2).sum(axis=1), chain.mobility.sizes)
    with np.errstate(divide="ignore"):
        condition = np.sqrt((usual / pivots).max())
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
