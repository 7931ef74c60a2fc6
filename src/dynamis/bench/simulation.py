"""Simulation: a step of RK4 next to MuJoCo's, and thousands of arms at once."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..agree.mujoco_peer import mjcf
from ..agree.rigid_tree import RigidBody, TreeJoint, rigid_tree
from ..control import ComputedTorque
from ..model.friction import Friction
from ..robot import Robot
from ..simulate.loop import MachineLoop
from ..simulate.machinery import Machinery
from ..simulate.settings import settings
from ..simulate.simulate import simulate
from .table import Figure
from .timing import together

GROUP = "simulation"
STEPS, DT, ARMS = 1000, 1e-3, 4096
SPECK = 1e-9  # kg: MuJoCo has no massless bodies


def simulation(robot: Robot) -> Iterator[Figure]:
    """Seconds per step; the error is the largest difference of q after one second."""
    viscous, start = without_coulomb(robot), 0.3 * np.ones(robot.n)
    free, held = Stepper(viscous, start), Stepper(robot, start)
    closed = Stepper(viscous, start, controller=ComputedTorque(100.0, 20.0), reference=start + 0.2)
    if find_spec("mujoco") is not None:
        peer = MujocoStepper(viscous, start)
        error = float(np.abs(free.last() - peer.last()).max())
        rows = (
            ("RK4 step, viscous friction", free, 5.0, error),
            ("RK4 step under computed torque", closed, 5.0, None),
            ("RK4 step with friction that holds", held, None, None),
        )
        for what, stepper, target, difference in rows:
            ours, theirs = together(stepper.go, peer.go, rounds=7)
            yield Figure(
                GROUP, what, robot.name, ours / STEPS, "MuJoCo RK4", theirs / STEPS, target,
                difference,
            )  # fmt: skip
    yield _ensemble(viscous, start, free, "RK4 step of one of 4096 arms, one thread")
    yield _ensemble(robot, start, held, "the same with friction that holds")


def _ensemble(robot: Robot, start: np.ndarray, alone: "Stepper", what: str) -> Figure:
    spread = start + 0.1 * np.random.default_rng(0).normal(size=(ARMS, robot.n))
    many = Stepper(robot, spread, save_every=STEPS, threads=1)
    ours, one = together(many.go, alone.go, rounds=2)
    return Figure(GROUP, what, robot.name, ours / STEPS / ARMS, "one arm alone", one / STEPS)


def without_coulomb(robot: Robot) -> Robot:
    """The same arm with viscous friction only."""
    links = []
    for link, resistance in zip(robot.model.links, robot.chain.resistances, strict=True):
        drive = link.drive and replace(link.drive, coulomb=0.0, viscous=0.0)
        friction = Friction(viscous=resistance.viscous)
        links.append(replace(link, friction=friction, drive=drive))
    return Robot(replace(robot.model, links=tuple(links)))


class Stepper:
    """A compiled simulation of 1000 steps that starts over every time it is run."""

    def __init__(self, robot: Robot, q0: np.ndarray, **options: Any):
        defaults = {name: p.default for name, p in inspect.signature(simulate).parameters.items()}
        del defaults["robot"]
        given = {**defaults, "duration": STEPS * DT, "dt": DT, "q0": q0, **options}
        self.s = settings(robot, **given)
        self.m = Machinery(self.s)
        self.loop = MachineLoop(self.m.tasks, self.s.count, self.s.threads)
        self.signals, self.constants = self.m.signals(0, STEPS), self.m.constants()
        every = self.s.save_every
        kept = 2 * robot.n
        self.rows = np.zeros((self.s.count, STEPS // every, kept))
        self.x = self.m.start()

    def go(self) -> None:
        """1000 steps."""
        self.x = self.m.start() if self.s.count == 1 else self.x
        early, every = self.m.slots.integrated, self.s.save_every
        kept = min(early, self.rows.shape[2])
        self.loop.run(self.x, 0, STEPS, self.signals, self.constants, self.rows, kept, every)

    def last(self) -> np.ndarray:
        """Where the arm is after them."""
        self.go()
        return self.m.slots.part(self.x, "q")[0]


class MujocoStepper:
    """The same arm in MuJoCo with RK4, nothing that touches."""

    def __init__(self, robot: Robot, q0: np.ndarray):
        mujoco: Any = import_module("mujoco")
        self.mj, self.q0 = mujoco, q0
        tree = [_with_speck(joint) for joint in rigid_tree(robot, q0)]
        balls = [_as_ball(joint) for joint in tree]
        self.model = mujoco.MjModel.from_xml_string(mjcf(balls, robot.chain.gravity))
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self.model.opt.timestep = DT
        self.model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
        self.order = [int(self.model.joint(f"j{i}").dofadr[0]) for i in range(robot.n)]
        for i, resistance in zip(self.order, robot.chain.resistances, strict=True):
            self.model.dof_damping[i] = resistance.viscous
        self.data = mujoco.MjData(self.model)
        for i, joint in enumerate(tree):  # the PUMA's inertias break the triangle inequality
            body, (moments, axes) = f"b{i}", np.linalg.eigh(joint.body.inertia)
            axes[:, 2] *= np.linalg.det(axes)
            self.model.body(body).inertia = moments
            mujoco.mju_mat2Quat(self.model.body(body).iquat, axes.ravel())
        mujoco.mj_setConst(self.model, self.data)

    def go(self) -> None:
        """1000 steps."""
        self.mj.mj_resetData(self.model, self.data)
        self.data.qpos[self.order] = self.q0
        self.mj.mj_step(self.model, self.data, STEPS)

    def last(self) -> np.ndarray:
        """Where the arm is after them."""
        self.go()
        return self.data.qpos[self.order].copy()


def _with_speck(joint: TreeJoint) -> TreeJoint:
    """A body without mass as armature of its joint and a speck of mass."""
    if joint.body.mass > 0.0:
        return joint
    about = float(joint.body.inertia[2, 2])
    speck = RigidBody(SPECK, np.zeros(3), SPECK * np.eye(3))
    return joint._replace(armature=joint.armature + about, body=speck)


def _as_ball(joint: TreeJoint) -> TreeJoint:
    """A body that MuJoCo's compiler accepts; its own inertia is put in afterwards."""
    return joint._replace(body=joint.body._replace(inertia=SPECK * np.eye(3)))
