"""The same arm with other masses or other friction."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..model.friction import Friction
from ..robot import Robot

INERTIAL = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


def heavier(robot: Robot, percent: float) -> Robot:
    """Every body `percent` denser: masses, moments and inertias grow together."""
    if percent == 0.0:
        return robot
    parameters = robot.parameters
    inertial = [name.rsplit(".", 1)[-1] in INERTIAL for name in parameters.names]
    return robot.with_parameters(parameters.values * np.where(inertial, 1.0 + percent / 100.0, 1.0))


def frictionless(robot: Robot) -> Robot:
    """Without friction at joints and motors."""
    return _with_friction(robot, [Friction()] * len(robot.model.links))


def rubbing(robot: Robot, torque: Any) -> Robot:
    """With viscous and Coulomb friction, 3 % each of a usual `torque` per joint (n,)."""
    sizes = iter(0.03 * np.asarray(torque, float))
    friction = [
        Friction()
        if link.mimic is not None
        else Friction(viscous=(size := float(next(sizes))), coulomb=(size, -size))
        for link in robot.model.links
    ]
    return _with_friction(robot, friction)


def has_friction(robot: Robot) -> bool:
    """Whether anything resists the joints."""
    return bool(np.any(robot.friction_torque(np.ones(robot.n)) != 0.0))


def _with_friction(robot: Robot, friction: list[Friction]) -> Robot:
    links = []
    for link, own in zip(robot.model.links, friction, strict=True):
        drive = link.drive
        if drive is not None:
            drive = replace(drive, viscous=0.0, coulomb=(0.0, 0.0))
        links.append(replace(link, friction=own, drive=drive))
    return Robot(replace(robot.model, links=tuple(links)))
