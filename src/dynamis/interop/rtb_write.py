"""Our robot as a Robotics Toolbox DHRobot, friction included where its law is the toolbox's.

A URDF chain goes through its standard DH table.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arguments import checked
from ..dynamics.kinematics import inertias
from ..errors import DynamisError
from ..lazy import package
from ..model.chain import Resistance
from ..model.link import Link
from ..model.quantity import resolve
from ..robot import Robot
from ..spatial.frames import matrix
from ..spatial.inertia import transformed_back
from .lost import plain, say_lost
from .rigid_tree import NotRepresentableError, RigidBody, rigid_body

HELD = (
    *("gravity", "joint limits", "rotor inertia", "gear ratios"),
    *("asymmetric Coulomb friction (its mean is taken)", "configurations"),
)
# DHRobot.rne in C leaves out the rotation of a first link that slides; rne_python has it right
FAULT = "peer's fault: its compiled rne is wrong where the first joint is prismatic"
STRAIGHT = 1e-9  # m/s^2


@checked
def to_rtb(robot: Robot, convention: str | None = None) -> Any:
    """The robot as a `roboticstoolbox.DHRobot`, in its own convention or in the one asked for.

    Friction and rotors stand on the motor's side, as the toolbox has them; gravity has the sign
    of the toolbox installed.
    """
    package("roboticstoolbox", "roboticstoolbox-python", "to_rtb", "peers")
    arm = dh_arm(plain(robot, "the Robotics Toolbox"), convention)
    say_lost(robot, "the Robotics Toolbox", HELD, [FAULT] if is_faulty(arm) else [])
    return dh_robot(arm, np.zeros(arm.n))


def dh_robot(robot: Robot, q: np.ndarray) -> Any:
    """A DH arm as a DHRobot; q matters only where a centre of mass slides with it."""
    rtb = package("roboticstoolbox", "roboticstoolbox-python", "a DHRobot", "peers")
    SE3 = package("spatialmath", "spatialmath-python", "a DHRobot", "peers").SE3
    values = robot.model.values
    bodies = _user_bodies(robot, q)
    rows = [_link(rtb, robot, i, body) for i, body in enumerate(bodies)]
    base, tool = (
        SE3(np.array(matrix(p.frame(values)), dtype=float), check=False)
        for p in (robot.model.base, robot.model.tool)
    )
    found = rtb.DHRobot(rows, name=robot.name, base=base, tool=tool)
    found.gravity = gravity_sign(rtb) * robot.gravity
    for name, at in robot.configurations.items():
        found.addconfiguration(name, at)
    return found


def gravity_sign(rtb: Any) -> float:
    """1 where the toolbox's gravity is the acceleration of free fall, -1 in older versions."""
    return -float(np.sign(rtb.DHRobot([rtb.RevoluteDH()]).gravity[2]))


def dh_arm(robot: Robot, convention: str | None = None) -> Robot:
    """The robot itself if it is a DH arm, else the one with the same torques."""
    own = robot.model.convention
    if convention in (None, own) and own != "urdf":
        return robot
    try:
        return robot.to_dh(convention or "standard")
    except DynamisError as error:
        first = str(error).split("\n", maxsplit=1)[0]
        raise NotRepresentableError(f"not representable: {first}", error.hint) from None


def is_faulty(robot: Robot) -> bool:
    """Whether the first joint slides, and in standard DH also something pulls across it."""
    base = np.array(robot.chain.base.R, dtype=float)
    across = np.cross(robot.gravity, base[:, 2])
    harmless = robot.model.convention == "standard" and np.abs(across).max() < STRAIGHT
    return robot.model.links[0].joint == "prismatic" and not harmless


def _user_bodies(robot: Robot, q: np.ndarray) -> list[RigidBody]:
    """Each link's body in its DH frame, where it is at q."""
    chain = robot.chain
    held = zip(chain.bodies, inertias(chain, q.tolist()), robot.link_names, strict=True)
    return [rigid_body(transformed_back(b.user, inertia), name) for b, inertia, name in held]


def _link(rtb: Any, robot: Robot, i: int, body: RigidBody) -> Any:
    """One row of the table with its body, rotor and friction on the motor's side."""
    model, link = robot.model, robot.model.links[i]
    kinds = {
        ("standard", "revolute"): rtb.RevoluteDH,
        ("standard", "prismatic"): rtb.PrismaticDH,
        ("modified", "revolute"): rtb.RevoluteMDH,
        ("modified", "prismatic"): rtb.PrismaticMDH,
    }
    motor, resistance = robot.chain.motors[i], robot.chain.resistances[i]
    gear = motor.gear or 1.0
    limits = robot.limits[i]
    return kinds[model.convention, link.joint](
        **_geometry(link, model.values),
        name=str(link.name),
        m=body.mass,
        r=body.com,
        I=body.inertia,
        G=gear,
        Jm=motor.inertia / gear**2,
        qlim=limits.copy() if np.isfinite(limits).all() else None,
        **_friction(resistance, gear),
    )


def _geometry(link: Link, values: Mapping[str, Any]) -> dict[str, float]:
    constant = "d" if link.joint == "revolute" else "theta"
    names: tuple[str, ...] = (constant, "a", "alpha", "offset")
    return {name: float(resolve(getattr(link, name), values)) for name in names}


def _friction(resistance: Resistance, gear: float) -> dict[str, Any]:
    coulomb = [resistance.plus / abs(gear), resistance.minus / abs(gear)]
    return {"B": resistance.viscous / gear**2, "Tc": coulomb}
