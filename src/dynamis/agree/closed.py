"""Closed mechanisms next to dense algebra, Pinocchio's constrained dynamics, MuJoCo's equalities.

Both engines hold ball and weld closures. A pin is two balls apart on its axis: six conditions, of
which one repeats another, which both engines take.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dynamics.mobility import known_assemblies, size
from ..errors import ClosureError, DynamisWarning, SingularError
from ..interop.mjcf import APART, to_mjcf
from ..interop.pinocchio import pinocchio_model
from ..interop.rigid_tree import NotRepresentableError, rigid_tree
from ..lazy import package
from ..robot import Robot

HELD = ("ball", "pin", "weld")
SPREAD = 0.4  # rad, or sizes of the mechanism, about a known assembly
MOST_RATE = 20.0  # of a joint that follows, next to those that decide
TRIES = 20  # of a state


def closed_states(robot: Robot, count: int, seed: int) -> dict[str, np.ndarray]:
    """States that close, about an assembly: q, qd and qdd, v and a of the independent joints.

    Those where a joint follows much faster than the others lead are left out.
    """
    rng, kept = np.random.default_rng(seed), []
    home = np.array(known_assemblies(robot.chain, robot.model)[0])
    turning = [kind == "revolute" for kind in robot.joint_kinds]
    spread = SPREAD * np.where(turning, 1.0, size(robot.chain))
    for _ in range(TRIES * count):
        if len(kept) == count:
            break
        try:
            q = robot.project(home + spread * rng.uniform(-1.0, 1.0, robot.n))
            Z = robot.joint_rates(np.tile(q, (robot.dof, 1)), np.eye(robot.dof))
        except (ClosureError, SingularError):
            continue
        kept += [q] if np.abs(Z).max() < MOST_RATE else []
    q = np.array(kept).reshape(-1, robot.n)
    v, a = rng.normal(size=(2, len(q), robot.dof))
    qd = robot.joint_rates(q, v)
    qdd = robot.joint_accelerations(q, qd, a)
    return {"q": q, "qd": qd, "qdd": qdd, "v": v, "a": a, "tau": rng.normal(size=q.shape)}


def dense_forward_dynamics(
    robot: Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, **given: Any
) -> np.ndarray:
    """qdd of M qdd + h = tau + J^T f, J qdd + dJ/dt qd = 0 by the null space of J, in NumPy.

    M and h are those of the tree (`given` are its wrenches), dJ/dt differences of J along qd, of
    eighth order.
    """
    tree, found = robot.without_closures(), []
    h = tree.inverse_dynamics(q, qd, np.zeros_like(q), **given)
    M, J, bias = tree.mass_matrix(q), robot.closure_jacobian(q), closure_bias(robot, q, qd)
    for k in range(len(q)):
        _, s, V = np.linalg.svd(J[k])
        N = V[int((s > 1e-8 * s[0]).sum()) :].T
        a = -np.linalg.pinv(J[k], rcond=1e-8) @ bias[k]
        x = np.linalg.solve(N.T @ M[k] @ N, N.T @ (tau[k] - h[k] - M[k] @ a))
        found.append(a + N @ x)
    return np.array(found)


def closure_bias(robot: Robot, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """dJ/dt qd by differences of J along qd, (samples, rows)."""
    h = 8e-3 / (1.0 + np.abs(qd).max(axis=-1, keepdims=True))
    found: Any = 0.0
    for k, w in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
        ahead, back = (robot.closure_jacobian(q + s * k * h * qd) for s in (1, -1))
        found = found + w / h[..., None] * (ahead - back)
    return np.einsum("...ij,...j->...i", found, qd)


def refuse_tied(robot: Robot) -> None:
    """Mimics, motors of several joints and spinning rotors are not compared beside closures."""
    if robot.chain.coupling is not None:
        raise NotRepresentableError("not representable: joints are tied to others beside closures")


class ConstrainedPinocchio:
    """A closed mechanism in Pinocchio: its tree and rigid constraints between its joints."""

    def __init__(self, robot: Robot):
        refuse_tied(robot)
        pin = self.pin = package("pinocchio", "pin", "a Pinocchio model", "peers")
        tree = robot.without_closures()
        self.model, joints = pinocchio_model(rigid_tree(tree, np.zeros(tree.n)), robot.gravity)
        self.order = [self.model.joints[j].idx_v for j in joints]
        self.held = pin.StdVec_RigidConstraintModel()
        for kind, *ends in self._ends(robot, [*joints, 0]):
            frame = pin.ReferenceFrame.LOCAL
            self.held.append(pin.RigidConstraintModel(kind, self.model, *ends, frame))
        self.rows = pin.StdVec_RigidConstraintData([x.createData() for x in self.held])
        self.data = self.model.createData()
        pin.initConstraintDynamics(self.model, self.data, self.held, self.rows)

    def _ends(self, robot: Robot, joints: list[int]) -> Iterator[list[Any]]:
        """Kind, and joint and placement of both ends; the universe is the last of the joints."""
        kinds, SE3 = self.pin.ContactType, self.pin.SE3
        for closure, own in zip(robot.model.closures, robot.chain.closures, strict=True):
            if own.kind not in HELD:
                what = f"closure {closure.name!r} is a {own.kind}"
                raise NotRepresentableError(f"not representable: {what}, expected {HELD}")
            kind = kinds.CONTACT_6D if own.kind == "weld" else kinds.CONTACT_3D
            for z in (0.0, APART)[: 2 if own.kind == "pin" else 1]:
                found = [kind]
                for link, frame in own.ends:
                    place = SE3(np.array(frame.R, dtype=float), np.array(frame.p, dtype=float))
                    found += [joints[link], place * SE3(np.eye(3), np.array([0.0, 0.0, z]))]
                yield found

    def settings(self, accuracy: float = 1e-14, most: int = 200) -> Any:
        """Of its iteration over constraints that repeat each other."""
        return self.pin.ProximalSettings(accuracy, accuracy, 1e-10, most)

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations of one state."""
        theirs = np.empty((3, len(self.order)))
        theirs[:, self.order] = q, qd, tau
        found = self.pin.constraintDynamics(
            self.model, self.data, *theirs, self.held, self.rows, self.settings()
        )
        return found[self.order]


class ConstrainedMujoco:
    """A closed mechanism in MuJoCo, extrapolated to constraints that are exact.

    MuJoCo solves J qacc + R f = -dJ/dt qvel - b J qvel - k r (from 4.0 with the first term). At
    states that close the last two are zero, whatever solref. R = (1 - d) / d diag, where the
    impedance d of solimp is at most 0.9999 and diag an estimate of J M^-1 J^T by body_invweight0.
    This is made 1e-3 of what it was, and the accelerations at three R are extrapolated to R = 0.
    """

    SHARES = np.array([1.2e-4, 2.4e-4, 3.6e-4])  # (1 - d) / d

    def __init__(self, robot: Robot):
        refuse_tied(robot)
        self.mj = package("mujoco", "mujoco", "a MuJoCo model", "mujoco")
        with warnings.catch_warnings(action="ignore", category=DynamisWarning):
            text = to_mjcf(robot)
        try:
            self.model = self.mj.MjModel.from_xml_string(text)
        except ValueError as error:
            raise NotRepresentableError(f"not representable: MuJoCo says {error}") from None
        self.data = self.mj.MjData(self.model)
        names = robot.model.tree_joint_names
        self.order = [int(self.model.joint(name).dofadr[0]) for name in names]

    def place(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> None:
        """Set one state."""
        self.data.qpos[self.order], self.data.qvel[self.order] = q, qd
        self.data.qfrc_applied[self.order] = tau

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations of one state; the model's own softness stays as it was."""
        model, data, rows, x = self.model, self.data, [], self.SHARES
        soft = model.body_invweight0.copy(), model.eq_solimp.copy(), model.opt.tolerance
        self.place(q, qd, tau)
        model.body_invweight0[:], model.opt.tolerance = 1e-3 * soft[0], 0.0
        for s in x:
            d = 1.0 / (1.0 + s)
            model.eq_solimp[:] = (d, d, 1.0, 0.5, 2.0)
            data.qacc_warmstart[:] = 0.0
            self.mj.mj_forward(model, data)
            rows.append(data.qacc[self.order].copy())
        model.body_invweight0[:], model.eq_solimp[:], model.opt.tolerance = soft
        weights = [np.prod([b / (b - a) for b in x if b != a]) for a in x]
        return np.tensordot(weights, np.array(rows), 1)
