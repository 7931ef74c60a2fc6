"""Inertias and masses that do not fit the size of their links: placeholders, and wrong units."""

import math
from typing import TYPE_CHECKING

import numpy as np

from ..model.check.finding import Finding, Numbers, merged
from ..model.check.model import GYRATION
from ..spatial.inertia import Inertia, Symmetric, eigenvalues, to_com, transformed
from ..spatial.vectors import Vector
from .shapes import Shape, link_shapes

if TYPE_CHECKING:
    from . import Robot

# No body has a radius of gyration beyond its farthest point. Shapes may be simplified; of a link
# without shapes only its joints are known, and that it has some thickness.
BEYOND_SHAPES = 1.1
BEYOND_JOINTS = 1.5
THICKNESS = 0.1  # of the arm's reach
# kg/m^3; links of real arms have 290 to 6700 in the volumes of their meshes
HEAVIEST = 23_000.0  # osmium has 22 600
LIGHTEST = 50.0
# next to an even density: links of six careful descriptions have 0.37, and 0.7 to 1.2 of the
# radii; those of the UR5, UR10 and Panda are beyond
FARTHEST_CENTRE = 0.6  # of half the diagonal of the shapes
WIDER = 2.0  # of a radius of gyration
FILLED = 0.2  # of its box; a mesh that seems to have less may have faces turned inside out


def check_bodies(robot: "Robot") -> list[Finding]:
    """Findings on bodies next to the size of their links, by meshes where these can be read."""
    x, found = Numbers(robot.model), []
    shapes = link_shapes(robot.model)
    for i, link in enumerate(robot.model.links):
        body, where = x.body(link), f"link {link.name!r}"
        if body is None or body.m <= 0.0:
            continue
        shape = shapes.get(str(link.name))
        _, c, S = to_com(transformed(robot.chain.bodies[i].user, body))  # in its joint's frame
        k = math.sqrt(max(_moment(robot, i, S), 0.0) / body.m)
        if shape is not None:
            beyond = _beyond_shapes(where, k, body, shape)
            found += (beyond or _beside_even(where, body, shape)) + _density(where, body.m, shape)
        elif not robot.model.closures and k <= GYRATION * x.reach < math.inf:  # beyond: said
            size = max(_size(robot, i, c, x), THICKNESS * x.reach)
            found += _beyond_joints(where, k) if k > BEYOND_JOINTS * size else []
    return merged(found)


def _moment(robot: "Robot", i: int, S: Symmetric) -> float:
    """The largest moment that ever acts: of a link that turns about one axis only, that of it."""
    links, parents, turning, above = robot.model.links, robot.model.parents, [], i
    while above >= 0:
        turning += [above] if links[above].joint == "revolute" else []
        above = parents[above]
    if turning == [i]:
        return S[5]
    return eigenvalues(S)[-1] if turning else 0.0


def _size(robot: "Robot", i: int, c: Vector, x: Numbers) -> float:
    """Distance of a link's joints, and of its tool, from its centre of mass."""
    model, chain = robot.model, robot.chain
    ends = [math.hypot(*c)]
    for j, parent in enumerate(model.parents):
        if parent == i:
            slides = model.links[j].joint == "prismatic"
            travel = max(map(abs, x.all(model.links[j].limits) or (0.0,))) if slides else 0.0
            ends.append(math.dist(chain.joints[j].placement.p, c) + travel)
    return max(*ends, math.dist(chain.tool.p, c) if model.tip == i else 0.0)


def _beyond_shapes(where: str, k: float, body: Inertia, shape: Shape) -> list[Finding]:
    centre = np.array(body.h) / body.m
    reach = float(np.linalg.norm(shape.points - centre, axis=1).max())
    if k <= BEYOND_SHAPES * reach:
        return []
    what = (
        f"has radius of gyration {k:.3g} m, and its shapes end {reach:.3g} m from its centre of "
        "mass: no body of this size has such an inertia"
    )
    remedy = "correct its inertia (kg m^2, about the centre of mass) or its mass"
    return [Finding("warning", where, what, remedy)]


def _beyond_joints(where: str, k: float) -> list[Finding]:
    what = f"has radius of gyration {k:.2g} m, far more than the size by the joints: a placeholder?"
    remedy = "compare with the inertia of a body of the link's size: m (width^2 + length^2) / 12"
    return [Finding("note", where, what, remedy)]


def _beside_even(where: str, body: Inertia, shape: Shape) -> list[Finding]:
    """Next to a body of even density in its shapes: what is off by more than any link known."""
    even = shape.body
    if even is None or even.m < FILLED * shape.box:
        return []
    (m, c, I), (volume, middle, J) = to_com(body), to_com(even)
    found, remedy = [], "compare with dy.inertia_of_mesh(file, mass=...) of its mesh"
    size, away = 0.5 * float(np.linalg.norm(np.ptp(shape.points, axis=0))), math.dist(c, middle)
    if away > FARTHEST_CENTRE * size:
        place = ", ".join(f"{x:.3g}" for x in middle)
        what = f"has its centre of mass {away:.3g} m from the middle of its shapes, ({place})"
        found.append(Finding("note", where, what, remedy))
    own, of_even = (
        [math.sqrt(max(x, 0.0) / y) for x in eigenvalues(S)] for S, y in ((I, m), (J, volume))
    )
    ratios = [x / y for x, y in zip(own, of_even, strict=True) if y > 0.0]
    if ratios and not (min(ratios) >= 1.0 / WIDER and max(ratios) <= WIDER):
        radii, even_radii = (" ".join(f"{x:.3g}" for x in row) for row in (own, of_even))
        what = f"has radii of gyration {radii} m; filled evenly its shapes have {even_radii} m"
        found.append(Finding("note", where, what, remedy))
    return found


def _density(where: str, m: float, shape: Shape) -> list[Finding]:
    if shape.volume is None or shape.volume < FILLED * shape.box:
        solid, hollow = shape.box, None
    else:
        solid = hollow = shape.volume
    remedy = "correct its mass, or the scale of its mesh"
    if m > HEAVIEST * solid:
        what = f"weighs {m:g} kg in {_litres(solid)}, {m / solid:.0f} kg/m^3: no material has that"
        return [Finding("warning", where, what, remedy)]
    if hollow and m < LIGHTEST * hollow:
        what = f"weighs {m:g} kg in {_litres(hollow)}, {m / hollow:.1f} kg/m^3: as light as foam"
        return [Finding("note", where, what, remedy)]
    return []


def _litres(volume: float) -> str:
    return f"{1e3 * volume:.3g} l"
