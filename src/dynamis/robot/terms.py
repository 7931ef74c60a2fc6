"""Sums and products of what a robot's kernels give, over arrays."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile import arrays
from ..compile.kernels import KERNELS
from ..errors import ShapeError, shown
from .closing import closed_terms

if TYPE_CHECKING:
    from . import Robot
    from .calls import Calls


def operational_inertia(robot: "Robot", q: Any) -> np.ndarray:
    """(J M^-1 J^T)^-1 of the tool in base axes, (..., 6, 6), by the pseudo-inverse."""
    J = robot.drive_jacobian(q)
    M = robot.mass_matrix(q)
    robot._refuse_singular(q)
    with np.errstate(invalid="ignore"):
        mobility = J @ np.linalg.solve(M, np.swapaxes(J, -1, -2))
    known = np.isfinite(mobility).all(axis=(-1, -2), keepdims=True)
    inertia = np.linalg.pinv(np.where(known, mobility, 0.0), rcond=1e-10, hermitian=True)
    return np.where(known, inertia, np.nan)


def manipulability(J: np.ndarray) -> np.ndarray:
    """Yoshikawa's measure sqrt(det(J J^T)) of a Jacobian's rows, (...,)."""
    if J.shape[-2] > J.shape[-1]:
        J = np.swapaxes(J, -1, -2)
    with np.errstate(invalid="ignore"):
        return np.sqrt(np.maximum(np.linalg.det(J @ np.swapaxes(J, -1, -2)), 0.0))


def torque_terms(robot: "Robot", q: Any, qd: Any, qdd: Any) -> dict[str, np.ndarray]:
    """Parts of the torque by name, (..., n)."""
    if robot.model.closures:
        return closed_terms(robot, q, qd, qdd)
    zero = np.zeros(robot.n)
    gravity, effects = robot.gravity_torque(q), robot._effect_torques(q, qd)
    moving = robot.inverse_dynamics(q, qd, zero)
    inertial = robot.inverse_dynamics(q, qd, qdd) - moving
    coriolis = moving - gravity - sum(effects.values())
    if robot.rubs_under_load:
        still, both = (robot.load_friction(q, qd, a) for a in (zero, qdd))
        coriolis, inertial = coriolis - still, inertial - (both - still)
        effects["friction"] = effects["friction"] + both
    return {"inertial": inertial, "coriolis": coriolis, "gravity": gravity} | effects


def effect_torques(calls: "Calls", q: Any, qd: Any) -> dict[str, np.ndarray]:
    """Torques of all joints, (..., n), for friction and whatever else acts on the robot."""
    from ..dynamics.elements import EFFECTS

    found = calls("effect_torques", {"q": q, "qd": qd}, {})
    acting = [k for k, effect in enumerate(EFFECTS) if effect.acts(calls.chain)]
    return {EFFECTS[k].name: found[..., k, :] for k in acting}


def named_parts(
    given: Mapping[str, np.ndarray], options: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Arrays by name, of one shape, in `out` if it is given."""
    names, parts = tuple(given), np.broadcast_arrays(*given.values())
    own = dict.fromkeys(names) if options.get("out") is None else options["out"]
    if not isinstance(own, Mapping) or set(own) != set(names):
        raise ShapeError(f"out is {shown(own)}, expected a dictionary of {', '.join(names)}")
    rest = {key: value for key, value in options.items() if key != "out"}
    return {
        name: arrays.stored([part], {**rest, "out": own[name]})
        for name, part in zip(names, parts, strict=True)
    }


def derived_by_inverse(robot: "Robot", tau: Any) -> bool:
    """Whether derivatives of forward dynamics are those of inverse dynamics through M^-1.

    So they are where their kernel would be too large, if tau acts at the independent joints alone
    and no friction takes a part of it.
    """
    if not KERNELS["forward_dynamics_derivatives"].too_large(robot.model):
        return False
    following = [k for k in range(robot.n) if k not in robot.independent]
    if not following or arrays.foreign((tau,)):
        return True
    (given,) = robot._calls.arrays({"tau": tau})
    return not given[..., following].any() and not robot.rubs_under_load


def forward_derivatives(robot: "Robot", q: Any, qd: Any, tau: Any, wrench: Any) -> list[np.ndarray]:
    """Derivatives of forward dynamics from those of inverse dynamics: -M^-1 dtau, M^-1."""
    qdd = robot.forward_dynamics(q, qd, tau, wrench=wrench)
    dq, dqd, M = robot.inverse_dynamics_derivatives(q, qd, qdd, wrench)
    inverse = np.linalg.inv(M)
    return [-inverse @ dq, -inverse @ dqd, inverse]
