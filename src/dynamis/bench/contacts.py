"""A step with four contacts next to MuJoCo's: a box at the end of an arm, pressed on a plane."""

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..model.geometry import Geometry
from ..model.world import Plane
from ..robot import Robot
from .simulation import GROUP, STEPS, MujocoStepper, Stepper, without_coulomb
from .table import Figure, timed

SIZE = (0.08, 0.08, 0.04)
PUSH, FRICTION = 40.0, 0.4  # N on the plane


def contact_figures(robot: Robot) -> Iterator[Figure]:
    """Seconds per step beside RK4 and Euler of MuJoCo, whose contacts are soft.

    The error is how far the arm, which ought to rest, moved in a second.
    """
    if find_spec("mujoco") is None:
        return
    q0 = 0.3 * np.ones(robot.n)
    face = Geometry(kind="box", link=robot.link_names[-1], size=SIZE)
    arm = without_coulomb(robot)
    arm = Robot(replace(arm.model, geometry=(face,)))
    T = arm.fk(q0)
    last = np.asarray(arm.frames(q0))[-1]
    R, p = last[:3, :3], last[:3, 3]
    normal = R[:, 2]
    lever = np.cross(p - T[:3, 3], -PUSH * normal)
    torque = arm.gravity_torque(q0) + arm.jacobian(q0).T @ [*(-PUSH * normal), *lever]
    foot = p - 0.5 * SIZE[2] * normal
    plane = Plane(normal=tuple(normal), offset=float(foot @ normal), friction=FRICTION)
    ours = Stepper(arm, q0, torque=torque, world=[plane])
    error = float(np.abs(ours.last() - q0).max())
    for integrator in ("RK4", "Euler"):
        peer = Pressed(arm, q0, torque, foot, normal, integrator.upper())
        moved = float(np.abs(peer.last() - q0).max())
        beside = f"MuJoCo {integrator}, {peer.data.ncon} contacts, moves {moved:.0e} rad"
        what = f"RK4 step with four contacts beside {integrator}"
        given = {"peer": beside, "error": error, "each": STEPS}
        yield timed(GROUP, what, robot.name, ours.go, peer.go, **given)


class Pressed(MujocoStepper):
    """The arm in MuJoCo with a box on its last link and a plane below it."""

    def __init__(
        self, robot: Robot, q0: np.ndarray, torque: np.ndarray, foot: np.ndarray,
        normal: np.ndarray, integrator: str,
    ):  # fmt: skip
        self.place, self.foot, self.normal = robot.chain.bodies[robot.chain.tip].user, foot, normal
        self.body, self.torque = f"b{robot.chain.tip}", torque
        super().__init__(robot, q0)
        self.model.opt.integrator = getattr(self.mj.mjtIntegrator, f"mjINT_{integrator}")

    def compiled(self, text: str) -> Any:
        """The model of a text, with contacts."""
        mj, spec = self.mj, self.mj.MjSpec.from_string(text)
        spec.option.disableflags = 0
        quaternion = np.zeros(4)
        mj.mju_mat2Quat(quaternion, np.asarray(self.place.R, float).ravel())
        box = spec.body(self.body).add_geom()
        box.type, box.size = mj.mjtGeom.mjGEOM_BOX, [0.5 * x for x in SIZE]
        box.pos, box.quat, box.mass = list(self.place.p), quaternion, 0.0
        plane = spec.worldbody.add_geom()
        plane.type, plane.size, plane.pos = mj.mjtGeom.mjGEOM_PLANE, [5, 5, 0.1], self.foot
        upright = np.zeros(4)
        mj.mju_quatZ2Vec(upright, self.normal)
        plane.quat = upright
        for geom in (box, plane):
            geom.friction, geom.condim = [FRICTION, 0.0, 0.0], 3
        return spec.compile()

    def go(self) -> None:
        """1000 steps."""
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[self.order] = self.q0
        self.data.qfrc_applied[self.order] = self.torque
        self.mj.mj_step(self.model, self.data, STEPS)
