"""`dynamis show`: geometry, bodies, friction, drives and limits of a robot."""

from typing import Any

import numpy as np
from rich.table import Table

from ..model.formats.tables import model_table
from ..model.link import Link
from ..model.quantity import Expression, resolve
from ..robot import Robot, load
from .arguments import Json, Place, RobotName, place, units
from .printing import data, data_json, number, table

DH = ("theta", "d", "a", "alpha", "offset")
URDF = ("parent", "xyz", "rpy", "axis")


def run(robot: RobotName, *, q: Place = None, json: Json = False) -> int:
    """Print a robot's geometry, bodies, friction, drives and limits.

    A PLACE is the name of a configuration, or numbers in radians and metres with commas or spaces;
    90deg is accepted.

    For example:

      dynamis show puma560
      dynamis show planar-rr --q 30deg 45deg
      dynamis show arm.urdf --json

    Args:
        q: Also print the tool pose, the gravity torque and the mass matrix at this position.
    """
    found = load(robot)
    there = None if q is None else place(found, q, "q")
    if json:
        facts = model_table(found.model)
        data_json(facts if there is None else facts | {"at": at(found, there)})
        return 0
    data(summary(found))
    for part in (geometry(found), bodies(found), joints(found)):
        data(part)
    if there is not None:
        data(tool(found, there))
        data(loads(found, there))
    return 0


def at(robot: Robot, q: np.ndarray) -> dict[str, Any]:
    """Tool pose, gravity torque and mass matrix at a position."""
    kernels = (robot.fk, robot.gravity_torque, robot.mass_matrix)
    tool, weight, mass = (kernel(q).tolist() for kernel in kernels)
    return {"q": q.tolist(), "tool": tool, "gravity_torque": weight, "mass_matrix": mass}


def tool(robot: Robot, q: np.ndarray) -> str:
    """Tool pose in one line."""
    from ..transforms import to_rpy

    T = robot.fk(q)
    xyz, rpy = (" ".join(number(round(x, 9)) for x in v) for v in (T[:3, 3], to_rpy(T[:3, :3])))
    return f"tool at q  xyz {xyz} m, rpy {rpy} rad"


def loads(robot: Robot, q: np.ndarray) -> Table:
    """Gravity torque of every joint, and the rows of the mass matrix."""
    found, (position, effort) = at(robot, q), units(robot)
    header = ("joint", f"q ({position})", f"gravity torque ({effort})")
    header += tuple(f"M{i + 1}" for i in range(robot.n))
    columns = zip(q, found["gravity_torque"], found["mass_matrix"], strict=True)
    rows = [
        (name, *(number(round(x, 9)) for x in (own, weight, *row)))
        for name, (own, weight, row) in zip(robot.joint_names, columns, strict=True)
    ]
    return table("at q: gravity torque and mass matrix (SI)", header, rows, right=header[1:])


def summary(robot: Robot) -> str:
    """Name, description, gravity and the like, one line each."""
    model = robot.model
    lines = [f"{robot.name}: {robot.n} joints, {model.convention}", model.description]
    lines.append(f"gravity  {_vector(model.gravity)} m/s^2")
    for name in ("base", "tool"):
        pose = getattr(model, name)
        if any(pose.xyz) or any(pose.rpy):
            lines.append(f"{name:7}  xyz {_vector(pose.xyz)} m, rpy {_vector(pose.rpy)} rad")
    if model.payload is not None:
        load_at = _vector(model.payload.com)
        lines.append(f"payload  {_quantity(model.payload.mass)} kg at {load_at} m")
    if model.values:
        given = ", ".join(f"{name} = {number(v)}" for name, v in model.values.items())
        lines.append(f"values   {given}")
    for name, q in model.configurations.items():
        lines.append(f"q {name}: {_vector(q)}")
    return "\n".join(line for line in lines if line)


def geometry(robot: Robot) -> Table:
    """The DH table, or the placements of the joints of a URDF."""
    model = robot.model
    if model.convention == "urdf":
        columns = ("joint", "kind", *URDF)
        rows = [[str(x.joint_name), x.joint, *_placement(x, model.base_name)] for x in model.links]
        return table("joints (m, rad)", columns, rows)
    columns = ("joint", "kind", *DH)
    rows = [[str(x.joint_name), x.joint, *_dh_row(x, i + 1)] for i, x in enumerate(model.links)]
    return table(f"{model.convention} DH table (m, rad)", columns, rows, right=DH)


def _dh_row(link: Link, i: int) -> list[str]:
    variable = "theta" if link.joint == "revolute" else "d"
    return [f"q{i}" if name == variable else _quantity(getattr(link, name)) for name in DH]


def _placement(link: Link, base: str) -> list[str]:
    zero, z = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    vectors = (link.xyz or zero, link.rpy or zero, link.axis or z)
    return [link.parent or base, *(_vector(v) for v in vectors)]


def bodies(robot: Robot) -> Table:
    """Masses, centres of mass and inertias."""
    columns = ("link", "mass", "com", "Ixx Iyy Izz Ixy Iyz Ixz about com")
    rows = [[str(link.name), *_body(link)] for link in robot.model.links]
    return table("bodies (kg, m, kg m^2)", columns, rows, right=("mass",))


def _body(link: Link) -> list[str]:
    if link.linear is not None:
        return [_quantity(link.linear[0]), "", f"linear {_vector(link.linear)}"]
    com = _vector(link.com or (0.0, 0.0, 0.0))
    if link.com_factor is not None:
        com = f"{_quantity(link.com_factor)} p"
    return [_quantity(link.mass), com, _vector(link.inertia)]


def joints(robot: Robot) -> Table:
    """Friction on the joint's side, drive on the motor's, limits."""
    columns = ("joint", "viscous", "coulomb", "law", "gear", "rotor", "motor friction", "limits")
    rows = [
        [str(link.joint_name), *_friction(link), *_drive(link), _limits(link, robot)]
        for link in robot.model.links
    ]
    return table("friction, drives and limits (SI)", columns, rows)


def _friction(link: Link) -> list[str]:
    f = link.friction
    offset = f" + {_quantity(f.offset)}" if f.offset else ""
    return [_quantity(f.viscous), _pair(f.coulomb) + offset, f.law]


def _drive(link: Link) -> list[str]:
    drive = link.drive
    if drive is None:
        return ["", "", ""]
    own = f"{_quantity(drive.viscous)}, {_pair(drive.coulomb)}"
    return [_quantity(drive.gear), _quantity(drive.rotor_inertia), own]


def _limits(link: Link, robot: Robot) -> str:
    if link.mimic is not None:
        leader, factor, start = link.mimic
        return f"{_quantity(factor)} {leader} + {_quantity(start)}"
    if link.limits is None:
        return ""
    low, high = (number(float(resolve(x, robot.model.values))) for x in link.limits)
    return f"{low} to {high}"


def _pair(pair: tuple) -> str:
    return " / ".join(_quantity(x) for x in pair)


def _vector(values: tuple) -> str:
    return " ".join(_quantity(x) for x in values)


def _quantity(value: object) -> str:
    return value.text if isinstance(value, Expression) else number(float(value))  # type: ignore[arg-type]
