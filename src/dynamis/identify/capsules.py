"""An arm as capsules: a rod along each link, thickened; over any scalar.

A link goes from its joint across to the axis of the next joint and along that axis to it. The
distance of two rods is exact and has no branch, so that it can be traced.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import hypot
from typing import Any, NamedTuple

from ..dynamics import coupling
from ..dynamics.kinematics import poses
from ..model.chain import Chain
from ..spatial.frames import Frame, point
from ..spatial.functions import Functions
from ..spatial.rotations import transpose
from ..spatial.vectors import ZERO, Vector, add, dot, scale, subtract

SHORTEST = 1e-6  # m; a shorter rod is a point of its neighbours
TINY = 1e-12  # m^2, or its square: keeps divisions and roots of points and parallels finite


class Rod(NamedTuple):
    """One straight piece of a link, ends in its joint frame (link -1: the reference frame)."""

    link: int
    start: Vector
    end: Vector
    slide: bool = False  # a prismatic joint's rod: its start stays where the joint is mounted


def rods(chain: Chain) -> tuple[Rod, ...]:
    """The pieces of an arm, base first; pieces without length are left out."""
    found: list[Rod] = []
    size = chain.links
    for i in range(-1, size):
        if i >= 0 and chain.joints[i].kind == "prismatic":
            found.append(Rod(i, ZERO, ZERO, slide=True))
        begin = chain.base.p if i < 0 else ZERO
        for c in range(size):
            if chain.joints[c].parent == i:
                placement = chain.joints[c].placement
                found += _pieces(i, (begin, _foot(begin, placement), placement.p))
        if i == chain.tip:
            found += _pieces(i, (ZERO, chain.bodies[i].user.p, chain.tool.p))
    return tuple(found)


def _pieces(link: int, corners: Sequence[Vector]) -> list[Rod]:
    return [Rod(link, a, b) for a, b in pairwise(corners) if hypot(*subtract(b, a)) > SHORTEST]


def _foot(begin: Vector, placement: Frame) -> Vector:
    """Of the perpendicular from a point to the axis of a joint."""
    axis = transpose(placement.R)[2]
    return add(placement.p, scale(dot(subtract(begin, placement.p), axis), axis))


def ends(chain: Chain, pieces: Sequence[Rod], q: Any, fn: Functions) -> list[tuple[Vector, Vector]]:
    """Both ends of every rod in the reference frame at coordinates q."""
    x = coupling.positions(chain, q)
    where = poses(chain, x, fn)
    placed = []
    for rod in pieces:
        if rod.link < 0:
            placed.append((rod.start, rod.end))
            continue
        T = where[rod.link]
        start = (0.0, 0.0, -x[rod.link]) if rod.slide else rod.start
        placed.append((point(T, start), point(T, rod.end)))
    return placed


def segment_distance(a: Vector, b: Vector, c: Vector, d: Vector, fn: Functions) -> Any:
    """Least distance between the segments a b and c d, exact to sqrt(TINY) = 1e-6 m.

    The squared distance is a convex function of the places s, t in [0, 1] along both: it is least
    at its stationary point if that lies inside, else on an edge, where one place is an end.
    """
    u, v, w = subtract(b, a), subtract(d, c), subtract(a, c)
    uu, uv, vv, uw, vw = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    s = _unit((uv * vw - vv * uw) / fn.max(uu * vv - uv * uv, TINY * TINY), fn)
    t = _unit((uv * s + vw) / fn.max(vv, TINY), fn)
    least = _apart(w, s, u, t, v)
    for s0 in (0.0, 1.0):
        t = _unit((uv * s0 + vw) / fn.max(vv, TINY), fn)
        least = fn.min(least, _apart(w, s0, u, t, v))
    for t0 in (0.0, 1.0):
        s = _unit((uv * t0 - uw) / fn.max(uu, TINY), fn)
        least = fn.min(least, _apart(w, s, u, t0, v))
    return fn.sqrt(fn.max(least, TINY))


def _unit(x: Any, fn: Functions) -> Any:
    return fn.min(fn.max(x, 0.0), 1.0)


def _apart(w: Vector, s: Any, u: Vector, t: Any, v: Vector) -> Any:
    between = subtract(add(w, scale(s, u)), scale(t, v))
    return dot(between, between)
