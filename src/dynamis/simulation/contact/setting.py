"""The points where a robot may touch a world, and what a simulation with one cannot do."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...dynamics.drives import lossy
from ...errors import OptionError, counted, worded
from ...model.geometry import SOLIDS, Geometry, carrier, solid_of
from ...model.quantity import resolve
from ...model.world import Obstacle, obstacles
from ...spatial.geometry import Plane, Solid
from ..rows import shared_motors
from .points import ContactPoint, Material, Point, Stop, points_of

if TYPE_CHECKING:
    from ...robot import Robot

MOST = 24  # points of one arm: the work of a step grows with their third power
NO_STOP = 1e9  # rad or m


def contact_points(robot: "Robot", world: Any) -> tuple[ContactPoint, ...]:
    """Every place where a shape for collision of a link may touch an obstacle of the world."""
    around = obstacles(world)
    if not around:
        return ()
    soft = next((name for name, x in around.items() if x.stiffness is not None), None)
    if soft is not None:
        raise OptionError(
            f"obstacle {soft!r} has stiffness, but contacts are simulated as rigid only",
            "leave stiffness and damping out",
        )
    shapes = _shapes(robot)
    found: list[ContactPoint] = []
    for shape in shapes:
        link, place = carrier(robot.model, shape.link)
        if link < 0:
            continue
        solid = solid_of(shape, robot.model.values, place)
        for name, obstacle in around.items():
            _refuse_pair(shape, solid, name, obstacle)
            material = _material(robot, shape, obstacle)
            names = str(shape.name), name
            found += points_of(names, link, solid, obstacle.solid, material)
    if len(found) > MOST:
        raise OptionError(
            f"robot {robot.name!r} may touch the world at {len(found)} points, at most {MOST} are "
            f"simulated: {_most_of(found)}",
            'leave shapes that touch nothing out of the world with use="visual", or describe them '
            "by spheres: one point each",
        )
    return tuple(found)


def stops_as_points(
    stops: Sequence[tuple[float, float] | None], restitution: float
) -> tuple[Stop, ...]:
    """Joint stops beside contacts: points without friction."""
    material = Material(0.0, restitution)
    return tuple(
        Stop(i, max(stop[0], -NO_STOP), min(stop[1], NO_STOP), material)
        for i, stop in enumerate(stops)
        if stop is not None
    )


def refuse_beside_contacts(robot: "Robot", drives: bool, adaptive: bool, dtype: str) -> None:
    """Refuse by name what is not simulated together with contacts."""
    chain = robot.chain
    reasons: Mapping[str, Any] = {
        "elastic joints": chain.elastic,
        "closures": chain.closures,
        "gears that lose power": drives and lossy(chain),
        "motors that several joints share, with Coulomb friction": shared_motors(chain),
        "steps of any length (integrator 'dormand-prince')": adaptive,
        "single precision (dtype 'float32')": dtype == "float32",
    }
    hints = {
        "gears that lose power": "drives=False leaves losses, limits and circuits of motors out",
        "steps of any length (integrator 'dormand-prince')": "integrator='rk4' takes fixed steps",
        "elastic joints": "robot with rigid joints: leave Drive.stiffness out",
    }
    reason = next((name for name, there in reasons.items() if there), None)
    if reason is not None:
        raise OptionError(
            f"a world around robot {robot.name!r} beside {reason} is not simulated",
            hints.get(reason, "simulate without world"),
        )


def refuse_within_obstacles(robot: "Robot", points: Sequence[Point], q: Any, most: float) -> None:
    """Refuse a start at which a shape is within an obstacle, by name."""
    from .history import distances

    named = [p for p in points if isinstance(p, ContactPoint)]
    d = distances(robot, named, q)
    k, at = divmod(int(d.argmin()), d.shape[-1]) if d.size else (0, 0)
    if d.size and not d[k, at] >= -most:
        which = f" of arm {k}" if len(q) > 1 else ""
        shape, obstacle = named[at].names
        raise OptionError(
            f"shape {shape!r}{which} starts {-d[k, at]:.3g} m within {obstacle!r} of the world",
            "start outside: robot.distance(q, world) tells how far shapes are apart",
        )


def _shapes(robot: "Robot") -> list[Geometry]:
    """Shapes for collision; others than spheres, capsules and boxes are refused."""
    shapes = [x for x in robot.model.geometry if "collision" in x.use]
    if not any(carrier(robot.model, x.link)[0] >= 0 for x in shapes):
        raise OptionError(
            f"a world was given, but no link of robot {robot.name!r} has geometry for collision",
            'give shapes: [[geometry]] in its file, or geometry=[dy.Geometry(kind="sphere", '
            'link="tool", radius=...)]',
        )
    others = [x for x in shapes if x.kind not in SOLIDS]
    if others:
        what = f"{counted(len(others), 'shape')} of {robot.name!r} for collision"
        raise OptionError(
            f"{what} ({worded(f'{x.name}: {x.kind}' for x in others)}): contacts are of "
            f"{', '.join(SOLIDS)}",
            'describe these links by capsules or boxes for collision, and use="visual" for meshes',
        )
    return shapes


def _refuse_pair(shape: Geometry, solid: Solid, name: str, obstacle: Obstacle) -> None:
    """Refuse pairs whose edges and faces may lie along each other: these touch at no one point."""
    other = obstacle.solid
    if isinstance(other, Plane) or other.is_point or solid.is_point:
        return
    kind = type(obstacle).__name__.lower()
    raise OptionError(
        f"contacts of a {shape.kind} with a {kind} are not simulated: {shape.name!r} and {name!r}",
        "describe the link by spheres there, or the obstacle by planes or spheres",
    )


def _material(robot: "Robot", shape: Geometry, obstacle: Obstacle) -> Material:
    """Of a pair: the obstacle's, or the geometric mean and the larger of both."""
    values = robot.model.values
    friction, restitution = obstacle.friction, obstacle.restitution
    if shape.friction is not None:
        friction = math.sqrt(friction * float(resolve(shape.friction, values)))
    if shape.restitution is not None:
        restitution = max(restitution, float(resolve(shape.restitution, values)))
    return Material(friction, restitution)


def _most_of(points: Sequence[ContactPoint]) -> str:
    """Numbers of points of the shapes with the most."""
    count: dict[str, int] = {}
    for p in points:
        count[p.names[0]] = count.get(p.names[0], 0) + 1
    return ", ".join(f"{name} {k}" for name, k in sorted(count.items(), key=lambda x: -x[1])[:4])
