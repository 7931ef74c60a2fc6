"""Robots of the Robotics Toolbox, both ways: friction where its law is the toolbox's.

A URDF chain goes to it through its standard DH table.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import checked
from ..dynamics.kinematics import inertias
from ..errors import DynamisError
from ..lazy import package
from ..model.drive import Drive
from ..model.formats.urdf_write import free_name
from ..model.link import Link
from ..model.pose import pose
from ..model.quantity import resolve
from ..robot import Robot
from ..spatial.frames import compose, from_matrix, matrix
from ..spatial.inertia import transformed_back
from .draft import Draft
from .rigid_tree import NotRepresentableError, RigidBody, rigid_body
from .unsupported import plain, warn_left_out, warn_unsupported

HELD = (
    *("gravity", "joint limits", "rotor inertia", "gears"),
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
    warn_unsupported(robot, "the Robotics Toolbox", HELD, [FAULT] if is_faulty(arm) else [])
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
        raise NotRepresentableError(f"not representable: {error.message}", error.hint) from None


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
    table = "DH" if model.convention == "standard" else "MDH"
    motor, resistance = robot.chain.motors[i], robot.chain.resistances[i]
    gear = motor.gear or 1.0
    limits = robot.limits[i]
    geometry = ("d" if link.joint == "revolute" else "theta", "a", "alpha", "offset")
    return getattr(rtb, f"{link.joint.capitalize()}{table}")(
        **{name: float(resolve(getattr(link, name), model.values)) for name in geometry},
        name=str(link.name),
        m=body.mass,
        r=body.com,
        I=body.inertia,
        G=gear,
        Jm=motor.inertia / gear**2,
        qlim=limits.copy() if np.isfinite(limits).all() else None,
        B=resistance.mean_viscous / gear**2,
        Tc=[resistance.plus / abs(gear), resistance.minus / abs(gear)],
    )


AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
HALF_TURN = np.diag([1.0, -1.0, -1.0, 1.0])  # about x


@checked
def from_rtb(robot: Any, tip: str | None = None) -> Robot:
    """The robot of a `DHRobot`, or of a `Robot`/`ERobot` (as its URDF loader gives).

    B, Tc, Jm and G become the drive, on the motor's side. `tip` names the link that is the tool
    of a tree.
    """
    rtb = package("roboticstoolbox", "roboticstoolbox-python", "from_rtb", "peers")
    if not isinstance(robot, rtb.Robot):
        raise NotRepresentableError(
            f"{type(robot).__name__} was given, expected a DHRobot or a Robot of the toolbox"
        )
    gravity = gravity_sign(rtb) * np.asarray(robot.gravity, dtype=float)
    fields = {"gravity": tuple(gravity.tolist()), "configurations": _configurations(robot)}
    if isinstance(robot, rtb.DHRobot):
        return _dh(robot, fields)
    return _tree(robot, tip, fields)


def _dh(robot: Any, fields: dict[str, Any]) -> Robot:
    """A DH table. Joints that move backwards (flip) have their axis turned by a half turn about x:

    Rz(-q) Tz(d) = Rx(pi) Rz(q) Tz(-d) Rx(pi), where the half turns join the twists around them.
    """
    names: list[str] = []
    links = []
    flips = [bool(link.isflip) for link in robot.links]
    # the frame before joint i is turned if it flips, in modified DH the one behind it
    before, behind = [*flips, False], [False, *flips]
    for i, link in enumerate(robot.links):
        names.append(free_name(str(link.name or f"link{i + 1}"), names))
        kind = "revolute" if link.isrevolute else "prismatic"
        sign = -1.0 if flips[i] else 1.0
        constant = {"d": sign * link.d} if link.isrevolute else {"theta": sign * link.theta}
        ends = behind[i : i + 2] if robot.mdh else before[i : i + 2]
        alpha = _wrapped(link.alpha + np.pi * (ends[0] != ends[1]))
        place = {"a": link.a, "alpha": alpha, "offset": sign * link.offset, **constant}
        R = HALF_TURN[:3, :3] if ends[1] else np.eye(3)
        I = R @ link.I @ R
        body = {"mass": float(link.m), "com": (R @ link.r).tolist()}
        body["inertia"] = (0.5 * (I + I.T)).tolist()
        numbers = {key: float(value) for key, value in place.items()}
        links.append(Link(joint=kind, name=names[-1], **numbers, **body, **_joint_fields(link)))
    base, tool = np.asarray(robot.base.A, dtype=float), np.asarray(robot.tool.A, dtype=float)
    return Robot.from_dh(
        robot.name or "robot",
        convention="modified" if robot.mdh else "standard",
        links=links,
        base=(base @ HALF_TURN if flips[0] and not robot.mdh else base).tolist(),
        tool=(HALF_TURN @ tool if flips[-1] and robot.mdh else tool).tolist(),
        **fields,
    )


def _tree(robot: Any, tip: str | None, fields: dict[str, Any]) -> Robot:
    """A tree of links, each some constant transforms and perhaps a joint behind them."""
    draft, names = Draft(root="world"), {}
    base = from_matrix(robot.base.A.tolist())
    for link in robot.links:
        parent = "world" if link.parent is None else names[id(link.parent)]
        name = names[id(link)] = draft.link(str(link.name or "link"))
        place = from_matrix((np.eye(4) if link.Ts is None else link.Ts).tolist())
        place = compose(base, place) if link.parent is None else place
        if not link.isjoint:
            draft.joint(f"{name}_fixed", (parent, name), place)
        else:
            sign = -1.0 if link.v.isflip else 1.0
            named = link.v.kind if hasattr(link.v, "kind") else link.v.axis  # Rx, .., tz
            axis = np.multiply(sign, AXES[named[-1]])
            kind = "revolute" if link.v.isrotation else "prismatic"
            wanted = str(getattr(link, "_joint_name", None) or f"{name}_joint")
            own = {"index": int(link.jindex), **_joint_fields(link)}
            draft.joint(wanted, (parent, name), place, kind, axis, **own)
        draft.weigh(name, link.m, link.r, link.I)
    found = Robot(draft.model(robot.name or "robot", tip, **fields))
    return found if tip is not None else _with_tool(found, robot)


def _with_tool(found: Robot, robot: Any) -> Robot:
    """The tool where the toolbox has it, behind a gripper too, if it has just one."""
    if len(robot.ee_links) != 1:
        return found
    if getattr(robot, "grippers", None):
        gripper = ["the gripper's links (its tool is kept)"]
        warn_left_out("the Robotics Toolbox", robot.name, gripper)
    q, last = np.zeros(found.n), found.link_names[-1]
    tool = np.linalg.inv(found.fk(q, link=last)) @ robot.fkine(q).A
    model = found.model
    if np.allclose(tool, matrix(model.tool.frame({})), atol=1e-12) and model.tool_link is None:
        return found
    return Robot(replace(model, tool=pose(tool.tolist(), "tool"), tool_link=None, tool_name="tool"))


def _joint_fields(link: Any) -> dict[str, Any]:
    """Motor side: the toolbox's B, Tc, Jm, G are our drive's."""
    drive = Drive(
        gear=float(link.G),
        rotor_inertia=float(link.Jm),
        viscous=float(link.B),
        coulomb=tuple(float(x) for x in link.Tc),
    )
    limits = np.array([np.inf] if not link.isjoint or link.qlim is None else link.qlim)
    ends = tuple(limits.tolist()) if np.isfinite(limits).all() else None
    return {"drive": None if drive == Drive() else drive, "limits": ends}


def _wrapped(angle: float) -> float:
    """The angle in (-pi, pi], untouched if it is there."""
    return float(angle) if -np.pi < angle <= np.pi else float(np.pi - (np.pi - angle) % (2 * np.pi))


def _configurations(robot: Any) -> dict[str, tuple[float, ...]]:
    """The named joint positions that have a number per joint."""
    rows = {str(k): np.asarray(v, dtype=float).reshape(-1) for k, v in robot.configs.items()}
    return {k: tuple(v.tolist()) for k, v in rows.items() if len(v) == robot.n}
