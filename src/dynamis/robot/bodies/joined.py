"""Pairs of bodies that are no pairs for collision: on one link, or where a joint holds both."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...spatial.frames import Frame, inverse, point
from ...spatial.functions import MATH
from ...spatial.geometry import Solid, nearest, sphere
from ...spatial.vectors import ZERO, Vector
from .body import AnyBody, Body, is_bodily

if TYPE_CHECKING:
    from .. import Robot

STILL, ONE_LINK, JOINED = "both are still", "both are on one link", "their links are joined"
AS_NEAR = 1e-3  # m: parts of a link that are as near to a joint hold it


def never_apart(
    robot: "Robot", bodies: Sequence[AnyBody]
) -> Callable[[AnyBody, AnyBody], str | None]:
    """Why two bodies of an arm are no pair; None if they are one.

    Of links with several parts (a base with torso, head and a locked arm, in a description with
    frames for each) only those parts are joined that are nearest to the joint.
    """
    joints = _joints(robot)
    holders = {
        (i, j): tuple(_nearest_parts(robot, bodies, link, p) for link, p in ends)
        for (i, j), ends in joints.items()
    }

    def reason(a: AnyBody, b: AnyBody) -> str | None:
        for i in a.links:
            for j in b.links:
                if i == j:
                    return STILL if i < 0 else ONE_LINK
                held = holders.get((i, j)) or holders.get((j, i), ())[::-1]
                if held and a.on in held[0] and b.on in held[1]:
                    return JOINED
        return None

    return reason


def _joints(robot: "Robot") -> dict[tuple[int, int], tuple[tuple[int, Vector], ...]]:
    """Links that a joint or a closure joins, with the place of it on both in their joint frames.

    Of a closed mechanism: also those that have a link without a body between them.
    """
    chain, parents = robot.chain, robot.model.parents
    found = {
        (i, parent): ((i, ZERO), (parent, chain.joints[i].placement.p))
        for i, parent in enumerate(parents)
    }
    for closure in chain.closures:
        if closure.kind != "rod":
            (a, A), (b, B) = closure.ends
            found[a, b] = (a, A.p), (b, B.p)

    def body(i: int) -> int:
        while not is_bodily(chain, i):
            i = parents[i]
        return i

    if chain.closures:
        for (i, j), ((_, p), (_, q)) in list(found.items()):
            a, b = body(i), body(j)
            if (a, b) not in found and (b, a) not in found:
                found[a, b] = (a, p), (b, q)
    return found


def _nearest_parts(
    robot: "Robot", bodies: Sequence[AnyBody], link: int, p: Vector
) -> set[str | None]:
    """Parts of a link, by `on`, that hold a point or are nearest to it."""
    apart: dict[str | None, float] = {}
    for body in bodies:
        if link not in body.links:
            continue
        far = 0.0
        if isinstance(body, Body):
            far = max(_distance(robot, body, p), 0.0)
        apart[body.on] = min(far, apart.get(body.on, np.inf))
    least = min(apart.values(), default=0.0)
    return {on for on, far in apart.items() if far <= least + AS_NEAR}


def _distance(robot: "Robot", body: Body, p: Vector) -> float:
    """Of a point in the joint frame of a body's link."""
    if isinstance(body.solid, Solid):
        return float(nearest(body.solid, sphere(p, 0.0), MATH).distance)
    from .coal_shapes import CoalShape, coal_nearest, coal_twin

    own: Any = body.solid
    if not isinstance(own, CoalShape):
        return np.inf  # a plane, which is no part of an arm
    user = Frame() if body.link < 0 else robot.chain.bodies[body.link].user
    seen = coal_twin(sphere(point(inverse(user), p), 1e-9))
    return coal_nearest((0, own), (0, seen), np.eye(4)[None]).distance
