"""`dynamis show`: geometry, bodies, friction, drives, limits, springs and closures of a robot."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from ..errors import counted
from ..files import checked_path
from ..model.closure import CLOSURE_COLUMNS, closure_texts
from ..model.formats.tables import model_table
from ..model.link import Link
from ..model.model import Model
from ..model.pose import Pose
from ..model.quantity import quantity_text as text
from ..model.spring import SPRING_COLUMNS, spring_row
from ..robot import Robot, load
from ..robot.html import bodies, geometry, joint_parts
from .arguments import (
    SAVED,
    Json,
    Place,
    RobotName,
    RunXacro,
    check_pictures,
    place,
    units,
    warn_of_findings,
)
from .printing import data, data_json, number, table, wrote

DH = ("theta", "d", "a", "alpha", "offset")
URDF = ("parent", "xyz", "rpy", "axis")


def run(
    robot: RobotName,
    *,
    q: Place = None,
    plot: Path | None = None,
    save: Path | None = None,
    run_xacro: RunXacro = False,
    json: Json = False,
) -> int:
    """Print a robot's geometry, bodies, friction, drives, limits, springs and closures.

    A PLACE is the name of a configuration, or numbers in radians and metres with commas or spaces;
    90deg is accepted.

    For example:

      dynamis show puma560
      dynamis show planar-rr --q 30deg 45deg
      dynamis show puma560 --plot frames.png
      dynamis show planar-2link --save arm.toml
      dynamis show arm.urdf --json

    Args:
        q: Also print the tool pose, the torques of gravity and springs and the mass matrix at this
            position.
        plot: Draw the arm, its frames and the names of its joints to this image, at --q (default:
            all joints at zero; of closed mechanisms home).
        save: Write the robot to this .toml or .urdf file, to start an arm of your own from.
    """
    check_pictures(plot)
    if save is not None:
        checked_path(save, SAVED, "robot")
    found = load(robot, run_xacro=run_xacro)
    there = None if q is None else place(found, q, "q")
    warn_of_findings(found, robot, quick=True)
    if plot is not None:
        found.plot(found.home if there is None else there, path=plot)
    if save is not None:
        found.save(save)
    if json:
        facts = model_table(found.model) | _motion(found)
        data_json(facts if there is None else facts | {"at": _at(found, there)})
        return 0
    data(_summary(found.model))
    if found.model.closures:
        data(_loops(found))
    for title, (columns, *right), rows in _tables(found.model):
        data(table(title, columns, rows, right=right))
    if there is not None:
        data(_tool(found, there))
        data(_loads(found, there))
    wrote(plot, save)
    return 0


def _at(robot: Robot, q: np.ndarray) -> dict[str, Any]:
    """Tool pose, torques of gravity and springs, mass matrix at a position."""
    kernels = (robot.fk, robot.gravity_torque, robot.mass_matrix)
    tool, weight, mass = (kernel(q) for kernel in kernels)
    found = {"q": q, "tool": tool, "gravity_torque": weight, "mass_matrix": mass}
    if robot.model.springs:
        by_joint = robot.joint_rates(q, np.eye(robot.dof))  # of the independent ones, like others
        found["spring_torque"] = by_joint @ robot.spring_torque(q)
    return found


def _motion(robot: Robot) -> dict[str, Any]:
    """Degrees of freedom of a mechanism with closures, and what moves it."""
    if not robot.model.closures:
        return {}
    names = robot.joint_names
    found: dict[str, Any] = {"dof": robot.dof}
    found["drives"] = [names[k] for k in robot.active]
    found["independent"] = [names[k] for k in robot.independent]
    name, count = _assemblies(robot)
    return found if name is None else found | {"assemblies": {name: count}}


def _assemblies(robot: Robot) -> tuple[str | None, int]:
    """The first configuration that closes, and how many ways there are with its drives."""
    for name, q in robot.configurations.items():
        if robot.closure_status(q) < 2.0:
            return name, len(robot.assemble(q[list(robot.independent)]))
    return None, 0


def _loops(robot: Robot) -> str:
    """Degrees of freedom, drives, passive joints and assemblies, one line each."""
    names = robot.joint_names
    lines = [f"dof      {robot.dof}: {', '.join(names[k] for k in robot.independent)}"]
    lines.append(f"drives   {', '.join(names[k] for k in robot.active)}")
    passive = [name for k, name in enumerate(names) if k not in robot.active]
    if passive:
        lines.append(f"passive  {', '.join(passive)}")
    name, count = _assemblies(robot)
    if name is not None:
        lines.append(f"closes   in {counted(count, 'way')} with the drives of {name!r}")
    return "\n".join(lines)


def _tool(robot: Robot, q: np.ndarray) -> str:
    from ..transforms import to_rpy

    T = robot.fk(q)
    xyz, rpy = (" ".join(number(round(x, 9)) for x in v) for v in (T[:3, 3], to_rpy(T[:3, :3])))
    return f"tool at q  xyz {xyz} m, rpy {rpy} rad"


def _loads(robot: Robot, q: np.ndarray) -> Table:
    """Torques of gravity and springs of every joint, and the rows of the mass matrix."""
    found, (position, effort) = _at(robot, q), units(robot)
    torques = [name for name in ("gravity_torque", "spring_torque") if name in found]
    words = [name.replace("_", " ") for name in torques]
    header = ("joint", f"q ({position})", *(f"{word} ({effort})" for word in words))
    header += tuple(f"M{i + 1}" for i in range(robot.dof))
    chosen, names = list(robot.independent), robot.joint_names
    columns = zip(q[chosen], *(found[name] for name in torques), strict=True)
    both = zip((names[k] for k in chosen), columns, found["mass_matrix"], strict=True)
    rows = [(name, *(number(round(x, 9)) for x in (*own, *row))) for name, own, row in both]
    title = f"at q: {', '.join(words)} and mass matrix (SI)"
    return table(title, header, rows, right=header[1:])


def _summary(model: Model) -> str:
    """Name, description, gravity and the like, one line each."""
    lines = [f"{model.name}: {model.size_text}, {model.convention}", model.description]
    lines.append(f"gravity  {text(model.gravity)} m/s^2")
    if placed := _pose(model.base):
        lines.append(f"base     {placed}")
    carrier = model.link_names[model.tip]
    named = [model.tool_name] if model.tool_name == carrier else [model.tool_name, f"on {carrier}"]
    lines.append(f"tool     {' '.join(named)} (tip= chooses another)")
    if placed := _pose(model.tool):
        lines.append(f"         {placed}")
    if model.payload is not None:
        lines.append(f"payload  {text(model.payload.mass)} kg at {text(model.payload.com)} m")
    if model.values:
        given = ", ".join(f"{name} = {number(v)}" for name, v in model.values.items())
        lines.append(f"values   {given}")
    lines += [f"q {name}: {text(q)}" for name, q in model.configurations.items()]
    given = {title.partition(",")[0] for title in joint_parts(model)}
    if missing := [x for x in ("friction", "drives", "limits") if x not in given]:
        lines.append(f"no {', '.join(missing)} of joints")
    return "\n".join(line for line in lines if line)


def _pose(pose: Pose) -> str:
    """A pose in words, nothing where it is the identity."""
    if not any(pose.xyz) and not any(pose.rpy):
        return ""
    return f"xyz {text(pose.xyz)} m, rpy {text(pose.rpy)} rad"


def _tables(model: Model) -> Iterator[tuple[str, tuple, list]]:
    """Title, columns (and those that are numbers) and rows of geometry, bodies and joints."""
    if model.convention == "urdf":
        both = zip(geometry(model)[1:], map(_kind, model.links), strict=True)
        rows = [[name, kind, *rest] for (name, _, *rest), kind in both]
        yield "joints (m, rad)", (("joint", "kind", *URDF),), rows
    else:
        rows = [[x.joint_name, _kind(x), *_dh_row(x, i + 1)] for i, x in enumerate(model.links)]
        yield f"{model.convention} DH table (m, rad)", (("joint", "kind", *DH), *DH), rows
    columns = ("link", "mass", "com", "Ixx Iyy Izz Ixy Iyz Ixz about com")
    yield "bodies (kg, m, kg m^2)", (columns, "mass"), list(bodies(model)[1:])
    yield from ((title, (head,), rows) for title, (head, *rows) in joint_parts(model).items())
    if model.springs:
        rows = [spring_row(spring, model.base_name) for spring in model.springs]
        yield "springs (SI)", (SPRING_COLUMNS,), rows
    if rows := closure_texts(model):
        yield "closures (m, rad)", (CLOSURE_COLUMNS,), rows


def _kind(link: Link) -> str:
    return f"{link.joint}, passive" if link.passive else link.joint


def _dh_row(link: Link, i: int) -> list[str]:
    variable = "theta" if link.joint == "revolute" else "d"
    return [f"q{i}" if name == variable else text(getattr(link, name)) for name in DH]
