"""Simulation: a step of RK4 next to MuJoCo's, thousands of arms at once, one control cycle."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..agree.peers import mjcf
from ..agree.table import relative_difference
from ..control import ComputedTorque, Controller, ControlLoop
from ..interop.rigid_tree import RigidBody, TreeJoint, rigid_tree
from ..model.friction import Friction
from ..model.model import with_friction
from ..robot import Robot
from ..simulation.assembly import Assembly
from ..simulation.loop import Given, MachineLoop, Record
from ..simulation.options import Options
from ..simulation.settings import settings, spanned, started
from ..simulation.simulator import simulate
from ..trajectory import quintic
from .table import Figure, timed, together

GROUP = "simulation"
STEPS, DT, ARMS = 1000, 1e-3, 4096
SPECK = 1e-9  # kg: MuJoCo has no massless bodies


def simulation_figures(robot: Robot) -> Iterator[Figure]:
    """Seconds per step; the error is the largest difference of q after one second.

    It is from MuJoCo with viscous friction, from half the step under control, from Dormand-Prince
    with static friction, and from the arm alone for one of many.
    """
    viscous, start = without_coulomb(robot), 0.3 * np.ones(robot.n)
    motion = quintic(start, start + 0.4, 2 * STEPS * DT)  # still moving at the end
    law = {"controller": ComputedTorque(100.0, 20.0), "reference": motion}
    free, held = Stepper(viscous, start), Stepper(robot, start)
    closed = Stepper(viscous, start, **law)
    if find_spec("mujoco") is not None:
        peer = MujocoStepper(viscous, start)
        finer = _end(viscous, start, dt=DT / 2, sample_time=DT, **law)
        exact = _end(robot, start, integrator="dormand-prince")
        rows = (
            ("RK4 step, viscous friction", free, "MuJoCo RK4", 5.0, peer.last()),
            ("RK4 step under computed torque", closed, "MuJoCo RK4, no controller", 5.0, finer),
            ("RK4 step with static friction", held, "MuJoCo RK4, viscous", None, exact),
        )
        for what, stepper, beside, target, there in rows:
            error = float(np.abs(stepper.last() - there).max())
            given = {"peer": beside, "target": target, "error": error, "each": STEPS}
            yield timed(GROUP, what, robot.name, stepper.go, peer.go, **given)
    yield _ensemble(viscous, start, free, f"RK4 step of one of {ARMS} arms")
    yield _ensemble(robot, start, held, f"RK4 step of one of {ARMS} arms with static friction")
    cycle = control_cycle(robot, ComputedTorque.from_bandwidth(robot, 50.0, integral=True))
    what, (ours, theirs, error) = "one control cycle, computed torque with integral", cycle
    yield Figure(GROUP, what, robot.name, ours, "in Python", theirs, error=error)


def _end(robot: Robot, start: np.ndarray, dt: float = DT, **options: Any) -> np.ndarray:
    return simulate(robot, STEPS * DT, dt, start, **options).q[-1]


def _ensemble(robot: Robot, start: np.ndarray, alone: "Stepper", what: str) -> Figure:
    spread = start + 0.1 * np.random.default_rng(0).normal(size=(ARMS, robot.n))
    many = Stepper(robot, spread, save_every=STEPS, threads=1)
    error = float(np.abs(many.last() - Stepper(robot, spread[0]).last()).max())
    ours, one = (t / STEPS for t in together(many.go, alone.go, rounds=2))
    what = f"{what}; steps/s per core: {ARMS / ours:.1e}"
    return Figure(GROUP, what, robot.name, ours / ARMS, "one arm alone", one, error=error)


class Cycle(NamedTuple):
    """Seconds of one control cycle; the torques of both differ by so much, relatively."""

    compiled: float
    python: float
    difference: float


def control_cycle(robot: Robot, controller: Controller) -> Cycle:
    """A controller for one sample: as `dy.simulate` compiles it, and a `ControlLoop` in Python."""
    q, rest = 0.3 * np.ones(robot.n), np.zeros(robot.n)
    law = {"controller": controller, "reference": q + 0.2, "sample_time": DT}
    machine = Stepper(robot, q, only="computer", save_every=STEPS, **law)
    loop = ControlLoop(controller, robot, DT)

    def step() -> np.ndarray:
        return loop.step(0.0, q, rest, q + 0.2)

    compiled, python = together(machine.go, step)
    loop.reset()
    tau = [step() for _ in range(STEPS)][-1]
    computed = machine.m.slots.part(machine.x, "computed")[0]
    return Cycle(compiled / STEPS, python, relative_difference(computed, tau))


def without_coulomb(robot: Robot) -> Robot:
    """The arm with viscous friction only."""
    own = [Friction(viscous=x.mean_viscous) for x in robot.chain.resistances]
    return Robot(with_friction(robot.model, own))


class Stepper:
    """A compiled simulation of 1000 steps, or one task of it, that starts over at every run."""

    def __init__(self, robot: Robot, q0: np.ndarray, only: str | None = None, **options: Any):
        every = options.pop("save_every", 1)
        given = settings(robot, Options(**{"dt": DT, **options}))
        self.s = spanned(started(given, q0, None, None), STEPS * DT, every)
        m = self.m = Assembly(given)
        chosen = [k for k, task in enumerate(m.tasks) if only in (None, task.name)]
        o = given.options
        self.loop = MachineLoop([m.tasks[k] for k in chosen], self.s.count, o.dtype, given.threads)
        rows = m.signals(self.s, 0, STEPS), m.constants(self.s)
        self.given = Given(*([row[k] for k in chosen] for row in rows))
        self.rows = np.zeros((self.s.count, STEPS // every, 2 * robot.n))
        self.start = m.start(self.s)
        self.x = self.start.copy()

    def go(self) -> None:
        """1000 steps."""
        self.x[...] = self.start
        early, every = self.m.slots.integrated, self.s.span.save_every
        kept = min(early, self.rows.shape[2])
        self.loop.run(self.x, 0, STEPS, self.given, Record(self.rows, kept, every))

    def last(self) -> np.ndarray:
        """Where the (first) arm is after them."""
        self.go()
        return self.m.slots.part(self.x, "q")[0]


class MujocoStepper:
    """The arm in MuJoCo with RK4, without contacts."""

    def __init__(self, robot: Robot, q0: np.ndarray):
        mujoco: Any = import_module("mujoco")
        self.mj, self.q0 = mujoco, q0
        tree = [_with_speck(joint) for joint in rigid_tree(robot, q0)]
        # what MuJoCo's compiler accepts: their own inertia is put in afterwards
        balls = [x._replace(body=x.body._replace(inertia=SPECK * np.eye(3))) for x in tree]
        self.model = self.compiled(mjcf(balls, robot.chain.gravity))
        self.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
        self.model.opt.timestep = DT
        self.model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_DAMPER)
        self.order = [int(self.model.joint(f"j{i}").dofadr[0]) for i in range(robot.n)]
        for i, resistance in zip(self.order, robot.chain.resistances, strict=True):
            self.model.dof_damping[i] = resistance.mean_viscous
        self.data = mujoco.MjData(self.model)
        for i, joint in enumerate(tree):  # the PUMA's inertias break the triangle inequality
            body, (moments, axes) = f"b{i}", np.linalg.eigh(joint.body.inertia)
            axes[:, 2] *= np.linalg.det(axes)
            self.model.body(body).inertia = moments
            mujoco.mju_mat2Quat(self.model.body(body).iquat, axes.ravel())
        mujoco.mj_setConst(self.model, self.data)

    def compiled(self, text: str) -> Any:
        """The model of a text."""
        return self.mj.MjModel.from_xml_string(text)

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
