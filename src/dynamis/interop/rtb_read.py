"""A robot of the Robotics Toolbox as ours: DH arms, and trees of elementary transforms (URDF)."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import checked
from ..lazy import package
from ..model.drive import Drive
from ..model.link import Link
from ..model.pose import pose
from ..robot import Robot
from ..spatial.frames import compose, from_matrix, matrix
from .lost import say
from .rigid_tree import NotRepresentableError
from .rtb_write import gravity_sign
from .sketches import Draft, free

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
        names.append(free(str(link.name or f"link{i + 1}"), names))
        kind = "revolute" if link.isrevolute else "prismatic"
        sign = -1.0 if flips[i] else 1.0
        constant = {"d": sign * link.d} if link.isrevolute else {"theta": sign * link.theta}
        ends = behind[i : i + 2] if robot.mdh else before[i : i + 2]
        alpha = _wrapped(link.alpha + np.pi * (ends[0] != ends[1]))
        place = {"a": link.a, "alpha": alpha, "offset": sign * link.offset, **constant}
        R = HALF_TURN[:3, :3] if ends[1] else np.eye(3)
        inertia = _symmetric(R @ link.I @ R)
        body = {"mass": float(link.m), "com": (R @ link.r).tolist(), "inertia": inertia}
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
            own = _joint_fields(link)
            ends = (parent, name)
            draft.joint(wanted, ends, place, kind, axis, index=int(link.jindex), **own)
        draft.weigh(name, link.m, link.r, link.I)
    found = Robot(draft.model(robot.name or "robot", tip, **fields))
    return found if tip is not None else _with_tool(found, robot)


def _with_tool(found: Robot, robot: Any) -> Robot:
    """The tool where the toolbox has it, behind a gripper too, if it has just one."""
    if len(robot.ee_links) != 1:
        return found
    if getattr(robot, "grippers", None):
        say("the Robotics Toolbox", robot.name, ["the gripper's links (its tool is kept)"])
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
    known = bool(np.isfinite(limits).all())
    return {
        "drive": None if drive == Drive() else drive,
        "limits": tuple(limits.tolist()) if known else None,
    }


def _symmetric(I: Any) -> list[list[float]]:
    I = np.asarray(I, dtype=float)
    return (0.5 * (I + I.T)).tolist()


def _wrapped(angle: float) -> float:
    """The same angle in (-pi, pi], untouched if it is there."""
    return float(angle) if -np.pi < angle <= np.pi else float(np.pi - (np.pi - angle) % (2 * np.pi))


def _configurations(robot: Any) -> dict[str, tuple[float, ...]]:
    """The named joint positions that have a number per joint."""
    rows = {str(k): np.asarray(v, dtype=float).reshape(-1) for k, v in robot.configs.items()}
    return {k: tuple(v.tolist()) for k, v in rows.items() if len(v) == robot.n}
