"""FIGAROH's identification (`figaroh`, on Pinocchio) on the torques of a log.

The steps of its `BaseIdentification.solve`, by the public functions of its tools: the regressor of
all parameters, columns without effect left out, base parameters by two QR decompositions, least
squares, and, `weighted`, once more with the variance of each joint (Gautier 1997). Unknown are the
bodies, viscous and Coulomb friction and an offset of each joint, rotor inertias where they are
sought. Its own filters are left out: the samples are those of the other rows.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import DynamisWarning, OptionError
from ..identify.processing import Samples
from ..interop.pinocchio import to_pinocchio
from ..lazy import package
from ..robot import Robot
from .sysid import Fitted, uncoupled

WHAT = "FIGAROH's identification"
FRICTION = "viscous, Coulomb, offset"
ROWS = 4000  # of all motions that the regressor is built from
PIECE = 2000  # rows of a motion at a time, of which torques are predicted
ZERO = 1e-3  # FIGAROH's own: squared length of a column that has no effect
RANK = 1e-6  # FIGAROH's own: of the QR decomposition
RELATIVE = 1e-4  # of the largest pivot, which FIGAROH advises where columns are badly excited
TOOLS = ("tools.regressor", "tools.qrdecomposition", "tools.solver", "backends.pinocchio")


def fit(robot: Robot, motions: Sequence[Samples], rotors: bool, weighted: bool) -> Fitted:
    """Base parameters by FIGAROH's tools from samples of one or more motions."""
    tools = {x: package(f"figaroh.{x}", "figaroh", WHAT, "figaroh") for x in TOOLS}
    try:
        return _fit(tools, robot, motions, rotors, weighted)
    except (ValueError, IndexError, np.linalg.LinAlgError) as error:
        raise OptionError(f"FIGAROH: {error}") from None


def _fit(
    tools: Mapping[str, Any], robot: Robot, motions: Sequence[Samples], rotors: bool, weighted: bool
) -> Fitted:
    regressor = _regressor(tools, robot, rotors)
    every = max(1, sum(map(len, motions)) // ROWS)
    parts = []
    for s in motions:
        rows = s.q, s.qd, s.qdd, s.low_passed(s.tau), s.weight
        parts.append([x[::every] for x in rows])
    q, qd, qdd, tau, weight = (np.concatenate(x) for x in zip(*parts, strict=True))
    scale = weight.T.ravel()  # joint after joint, as its regressor is stacked
    W, b = regressor(q, qd, qdd) * scale[:, None], tau.T.ravel() * scale
    names = {str(k): 0.0 for k in range(W.shape[1])}
    left_out, kept = tools["tools.regressor"].get_index_eliminate(W, names, ZERO)
    reduced = tools["tools.regressor"].build_regressor_reduced(W, left_out)
    qr = tools["tools.qrdecomposition"].QRDecomposer(tolerance=RANK, relative_tolerance=RELATIVE)
    base, _, _, values = qr.double_decomposition(b, reduced, kept)
    if weighted:
        values = _weighted(tools["tools.solver"], base, b, values, robot.n)
    columns = np.array([int(x) for x in kept])[qr.get_base_indices()]

    def torque(s: Samples) -> np.ndarray:
        pieces = [slice(k, k + PIECE) for k in range(0, len(s.q), PIECE)]
        found = [regressor(s.q[x], s.qd[x], s.qdd[x])[:, columns] @ values for x in pieces]
        return np.concatenate([x.reshape(robot.n, -1).T for x in found])

    note = f"{len(values)} base parameters from {len(q)} rows"
    note += ", without the coupling of its motors" if robot.model.gear_matrix is not None else ""
    return Fitted(torque, note)


def _regressor(tools: Mapping[str, Any], robot: Robot, rotors: bool) -> Callable[..., np.ndarray]:
    """FIGAROH's regressor of a motion, (n N, p), joint after joint in the robot's order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)  # friction, which is identified
        model = to_pinocchio(uncoupled(robot))
    if model.nq != robot.n:
        raise OptionError("FIGAROH: a joint without limits has two coordinates in Pinocchio")
    backend = tools["backends.pinocchio"].PinocchioBackend.from_model(model)
    arm, build = SimpleNamespace(model=model, backend=backend), tools["tools.regressor"]
    at = np.array([model.joints[model.getJointId(name)].idx_v for name in robot.joint_names])
    config = {
        **{"has_friction": True, "has_joint_offset": True, "has_actuator_inertia": rotors},
        **{"is_joint_torques": True, "act_idxv": list(range(robot.n))},
    }
    place = np.argsort(at)

    def regressor(*state: np.ndarray) -> np.ndarray:
        W = build.build_regressor_basic(arm, *(x[:, place] for x in state), config)
        return W.reshape(robot.n, len(state[0]), -1)[at].reshape(len(W), -1)

    return regressor


def _weighted(
    solver: Any, base: np.ndarray, b: np.ndarray, values: np.ndarray, n: int
) -> np.ndarray:
    """Least squares with the variance that each joint has with the values before."""
    left = (b - base @ values).reshape(n, -1)
    deviation = np.linalg.norm(left, axis=1) / np.sqrt(max(left.shape[1] - len(values), 1))
    scale = np.repeat(1.0 / np.maximum(deviation, 1e-12), left.shape[1])
    return solver.solve_linear_system(base * scale[:, None], b * scale, method="lstsq")[0]
