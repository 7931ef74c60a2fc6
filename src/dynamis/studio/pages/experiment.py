"""Simulations of the Simulate page: free motion, or a move under a controller."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ...control import ComputedTorque, Controller, JointPID, PointToPoint, SlotineLi
from ...errors import OptionError
from ...ik.follow import follow
from ...model.friction import Friction
from ...model.model import with_friction as model_with_friction
from ...robot import Robot
from ...simulation import Run
from ...simulation.simulator import simulated
from ...trajectory import quintic

# the same arm with other masses or other friction

INERTIAL = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def heavier(robot: Robot, percent: float) -> Robot:
    """Every body `percent` denser: masses, moments and inertias grow together."""
    parameters = robot.parameters
    inertial = [name.rsplit(".", 1)[-1] in INERTIAL for name in parameters.names]
    return robot.with_parameters(parameters.values * np.where(inertial, 1.0 + percent / 100.0, 1.0))


def frictionless(robot: Robot) -> Robot:
    """Without friction at joints and motors."""
    return Robot(model_with_friction(robot.model, [Friction()] * len(robot.model.links)))


def with_friction(robot: Robot, torque: Any) -> Robot:
    """With viscous and Coulomb friction, 3 % each of a usual `torque` per drive."""
    sizes = iter(0.03 * np.asarray(torque, float))
    friction = [
        Friction()
        if link.mimic is not None or follows
        else Friction(viscous=(size := float(next(sizes))), coulomb=(size, -size))
        for link, follows in zip(robot.model.links, robot.model.follows, strict=True)
    ]
    return Robot(model_with_friction(robot.model, friction))


def has_friction(robot: Robot) -> bool:
    """Whether anything resists the joints."""
    return bool(np.any(robot.friction_torque(np.ones(robot.n)) != 0.0))


SMALL, RANDOM = "small move", "random"
STEP = {
    "revolute": 0.5,
    "prismatic": 0.2,
}  # rad, m of a small move, and at most a quarter of the way
VISIBLE = 0.3  # rad or m: the least that a joint moves to a target that the page chooses
MOST_STEPS = 500_000
MOST_ROWS = 20_000  # kept of a run
SPREAD = 1.5  # rad or m: how far a random target of a joint without limits may be


@dataclass(frozen=True)
class Gains:
    """How a controller is tuned; what a law has no use for it ignores."""

    bandwidth: float = 20.0  # rad/s
    damping: float = 1.0
    integral: bool = False
    model_error: float = 0.0  # percent: how much too heavy the controller believes the arm
    adaptation: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """A simulation to run; without a target the arm falls from q0."""

    robot: Robot
    q0: np.ndarray
    duration: float = 3.0
    dt: float = 1e-3
    friction: bool = True
    target: np.ndarray | None = None
    moving: float = 2.0  # seconds from q0 to the target
    law: str = "Computed torque"
    gains: Gains = Gains()
    simulation: Mapping[str, Any] = field(default_factory=dict)  # further options of it

    def run(self) -> tuple[Run, Controller | None, Any]:
        """The run, its controller and its reference."""
        steps = self.duration / self.dt if self.dt > 0 else np.inf
        if not steps <= MOST_STEPS:
            raise OptionError(
                f"{self.duration:g} s in steps of {self.dt:g} s, expected at most "
                f"{MOST_STEPS} steps",
                "shorten the duration or lengthen the time step",
            )
        arm = self.robot if self.friction else frictionless(self.robot)
        controller = reference = None
        if self.target is not None:
            controller = tuned(self.law, arm, self.q0, self.gains)
            only_a_place = isinstance(controller, PointToPoint)
            seen = list(arm.driven)  # a controller moves the drives
            start, target = np.array(self.q0, float)[seen], np.array(self.target, float)[seen]
            reference = target if only_a_place else quintic(start, target, self.moving)
        found = simulated(
            arm, self.duration, self.dt, self.q0, controller=controller, reference=reference,
            save_every=max(1, int(np.ceil(steps / MOST_ROWS))), progress=False, **self.simulation,
        )  # fmt: skip
        return found, controller, reference


TUNED = tuple(x.name for x in fields(Gains))
# laws, and the gains that each has a use for
LAWS: Mapping[str, tuple[str, ...]] = {
    "Computed torque": ("bandwidth", "damping", "integral", "model_error"),
    "PID per joint": ("bandwidth", "damping", "integral"),
    "PID and gravity": ("bandwidth", "damping", "integral", "model_error"),
    "Point to point": ("bandwidth", "damping", "model_error"),
    "Adaptive (Slotine-Li)": ("bandwidth", "model_error", "adaptation"),
}


def tuned(law: str, arm: Robot, q0: np.ndarray, g: Gains) -> Controller:
    """The controller of an arm at q0."""
    model = heavier(arm, g.model_error) if g.model_error else None
    given = arm, g.bandwidth, g.damping, q0, g.integral
    match law:
        case "Computed torque":
            return ComputedTorque.from_bandwidth(
                arm, g.bandwidth, g.damping, g.integral, model=model
            )
        case "PID per joint":
            return JointPID.from_bandwidth(*given, derivative="error")
        case "PID and gravity":
            return JointPID.from_bandwidth(*given, derivative="error", gravity=True, model=model)
        case "Point to point":
            return PointToPoint.from_bandwidth(arm, g.bandwidth, g.damping, model=model)
        case "Adaptive (Slotine-Li)":
            return SlotineLi.from_bandwidth(arm, g.bandwidth, g.adaptation, q0, model=model)
    raise OptionError(f"there is no law {law!r}")


def targets(robot: Robot) -> tuple[str, ...]:
    """Names of places to move to."""
    named = [name for name in robot.configurations if name not in ("zero", SMALL, RANDOM)]
    return (*named, "zero", SMALL, RANDOM)


def away(robot: Robot, start: Any, first: str = "") -> str:
    """A named pose that is visibly away from a pose (`first` if that is), else a small move."""
    named = [x for x in targets(robot) if x not in (SMALL, RANDOM)]
    for name in sorted(named, key=lambda x: x != first):
        q = target(robot, name, np.random.default_rng(0), start)
        if robot.closure_status(q) == 0.0 and np.abs(q - start).max() > VISIBLE:
            return name
    return SMALL


def target(robot: Robot, name: str, rng: np.random.Generator, start: Any = None) -> np.ndarray:
    """A place by name; "random" is another one every time, within the limits.

    A small move goes from `start` (default: home) towards the middle of the limits. A closed
    mechanism goes to these two only as far as its drives lead it from there.
    """
    if name in robot.configurations:
        return np.array(robot.configurations[name], float)
    if name == "zero":
        return np.array(robot.home)
    if name not in (SMALL, RANDOM):
        raise OptionError(f"robot {robot.name!r} has no configuration {name!r}")
    limits = np.asarray(robot.limits, float).reshape(robot.n, 2)
    bounded = np.isfinite(limits).all(axis=1)
    low = np.where(bounded, limits[:, 0], -SPREAD)
    high = np.where(bounded, limits[:, 1], SPREAD)
    begin = np.array(robot.home if start is None else start, float)
    if name == RANDOM:
        wanted = rng.uniform(low, high)
    else:
        most = np.array([STEP[kind] for kind in robot.joint_kinds])
        step = np.minimum(most, 0.25 * np.abs(high - low))
        wanted = begin + np.where(begin > 0.5 * (low + high), -step, step)
    return follow(robot, begin, wanted[list(robot.independent)]).q
