"""Springs on the arm: the torques that hold against them, their columns and their energy.

A spring of tension F over the length l asks tau = F dl/dq of the joints. dl/dq of a joint that
moves one end only is the velocity of that end along the spring; a joint that carries both ends
changes nothing.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...errors import ModelError
from ...model.chain import Chain, ChainSpring
from ...model.places import Place
from ...spatial.frames import point
from ...spatial.functions import MATH, Functions, zero
from ...spatial.rotations import transpose
from ...spatial.vectors import Scalars, Vector, cross, dot, inner, scale, subtract
from .. import coupling
from ..instant import Instant
from ..kinematics import poses
from ..newton_euler import Exertion
from .element import TREE, Element, places_of

COINCIDENT = 1e-18  # m^2


def spring_torque(chain: Chain, q: Scalars, fn: Functions, qd: Scalars | None = None) -> Scalars:
    """Torque of every coordinate that holds the arm against its springs, at rest or at qd, (n,)."""
    x = coupling.positions(chain, q)
    xd = [0.0] * len(x) if qd is None else coupling.rates(chain, qd)
    return coupling.torques(chain, spring_tree(chain, x, xd, fn))


def spring_tree(chain: Chain, x: Scalars, xd: Scalars, fn: Functions) -> list[Any]:
    """Torque of every joint of the tree."""
    total: list[Any] = [0.0] * len(x)
    for spring, columns in zip(chain.springs, spring_columns(chain, x, xd, fn), strict=True):
        for coefficient, column in zip(spring.coefficients, columns, strict=True):
            if not zero(coefficient):
                total = [t + coefficient * c for t, c in zip(total, column, strict=True)]
    return total


def spring_columns(chain: Chain, x: Scalars, xd: Scalars, fn: Functions) -> list[list[list[Any]]]:
    """d tau / d coefficient over the tree, for every coefficient of every spring."""
    where = poses(chain, x, fn) if any(s.joint < 0 for s in chain.springs) else []
    found = []
    for spring in chain.springs:
        shapes, slope = _shapes(chain, spring, where, x, xd, fn)
        found.append([[shape * g for g in slope] for shape in shapes])
    return found


def _shapes(
    chain: Chain, spring: ChainSpring, where: list, x: Scalars, xd: Scalars, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """What each coefficient is multiplied by in the tension, and the slope of the length."""
    length, slope = _length(chain, spring, where, x, fn)
    shapes = [*tensions(spring, length, fn)]
    if len(spring.coefficients) > len(shapes):
        shapes.append(inner(slope, xd))
    return shapes, slope


def spring_exertions(
    chain: Chain, x: Scalars, xd: Scalars, where: list, fn: Functions
) -> list[Exertion]:
    """What links exert on springs between two points: the tension, outwards along the line."""
    found: list[Exertion] = []
    for spring in chain.springs:
        if spring.joint < 0:
            shapes, _ = _shapes(chain, spring, where, x, xd, fn)
            first, second = ends(spring, where)
            along = subtract(second, first)
            tension = inner(spring.coefficients, shapes)
            pull = scale(tension / fn.sqrt(dot(along, along)), along)
            (i, _), (j, _) = spring.ends
            found += [Exertion(i, first, scale(-1.0, pull)), Exertion(j, second, pull)]
    return found


def spring_energy(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """Energy stored in the springs; zero at their rest lengths and angles."""
    x = coupling.positions(chain, q)
    where, total = poses(chain, x, fn), 0.0
    for spring in chain.springs:
        s = _length(chain, spring, where, x, fn)[0]
        for coefficient, part in zip(spring.coefficients, energies(spring, s, fn), strict=False):
            total = total + coefficient * part
    return total


def _length(
    chain: Chain, spring: ChainSpring, where: list, x: Scalars, fn: Functions
) -> tuple[Any, list[Any]]:
    """Length (angle of a torsion spring), and its slope over the joints of the tree."""
    if spring.joint >= 0:
        return x[spring.joint], [1.0 if i == spring.joint else 0.0 for i in range(len(x))]
    first, second = ends(spring, where)
    along = subtract(second, first)
    length = fn.sqrt(dot(along, along))
    moves_first, moves_second = (set(chain.ancestors(link)) for link, _ in spring.ends)
    slope: list[Any] = [0.0] * len(x)
    for i in moves_first ^ moves_second:
        place, sign = (second, 1.0) if i in moves_second else (first, -1.0)
        slope[i] = sign * (dot(along, _velocity(chain, i, where, place)) / length)
    return length, slope


def ends(spring: ChainSpring, where: list) -> list[Vector]:
    """Its two points in the reference frame."""
    return [place if link < 0 else point(where[link], place) for link, place in spring.ends]


def squared_lengths(chain: Chain, q: Scalars, fn: Functions) -> list[Any]:
    """l^2 of every spring between two points."""
    where = poses(chain, coupling.positions(chain, q), fn)
    lines = [subtract(*ends(spring, where)) for spring in chain.springs if spring.joint < 0]
    return [dot(along, along) for along in lines]


def refuse_coincident(chain: Chain, names: Sequence[str]) -> None:
    """Refuse a spring whose two points are one, wherever the joints are: it pulls nowhere."""
    places = [[0.4 * k + 0.7 * i for i in range(chain.n)] for k in range(3)]
    rows = zip(*(squared_lengths(chain, q, MATH) for q in places), strict=True)
    between = [name for name, s in zip(names, chain.springs, strict=True) if s.joint < 0]
    for name, squares in zip(between, rows, strict=True):
        if max(squares) < COINCIDENT:
            raise ModelError(
                f"spring {name!r} has both its points in one place wherever the joints are",
                "give from_point and to_point that are apart",
            )


def _velocity(chain: Chain, i: int, where: list, place: Vector) -> Vector:
    """Velocity of a point that joint i moves at unit rate."""
    z = transpose(where[i].R)[2]
    if chain.joints[i].kind == "prismatic":
        return z
    return cross(z, subtract(place, where[i].p))


def tensions(spring: ChainSpring, length: Any, fn: Functions) -> tuple[Any, ...]:
    """What each coefficient is multiplied by, damping left out."""
    c = spring.constants
    if spring.law == "straight":
        return length - c["rest"], 1.0
    if spring.law == "table":
        steps = _steps(c, length, fn)
        return (c["forces"][0] + sum(slope * s for slope, s, _ in steps),)
    s = length - c["rest"]
    pressure = _power(c["gas_length"] / _gas(spring, s), c["exponent"], fn)
    return (pressure if spring.law == "pull" else -pressure,)


def energies(spring: ChainSpring, length: Any, fn: Functions) -> tuple[Any, ...]:
    """Integrals of the shapes over the length, from rest on (of a table from its first length)."""
    c = spring.constants
    if spring.law == "table":
        first = c["forces"][0] * (length - c["lengths"][0])
        return (first + sum(k * s * (beyond + 0.5 * s) for k, s, beyond in _steps(c, length, fn)),)
    s = length - c["rest"]
    if spring.law == "straight":
        return 0.5 * (s * s), s
    V, n, left = c["gas_length"], c["exponent"], _gas(spring, s)
    if getattr(n, "is_Integer", isinstance(n, float)) and n == 1:  # of SymPy, too
        return (V * fn.log(V / left),)
    return (V * (_power(V / left, n - 1.0, fn) - 1.0) / (n - 1.0),)


def _gas(spring: ChainSpring, s: Any) -> Any:
    """The gas column; drawing out a cylinder that pulls makes it shorter."""
    V = spring.constants["gas_length"]
    return V - s if spring.law == "pull" else V + s


def _power(x: Any, exponent: Any, fn: Functions) -> Any:
    """x^exponent; NaN where there is no gas left, for an exponent of 1 too."""
    return fn.exp(exponent * fn.log(x))


def _steps(c: Any, length: Any, fn: Functions) -> list[tuple[Any, Any, Any]]:
    """(slope, way within, way beyond) of every straight part of a table."""
    found = []
    rows = zip(c["lengths"], c["forces"], strict=True)
    for (l0, f0), (l1, f1) in pairwise(rows):
        within = fn.max(0.0, fn.min(length - l0, l1 - l0))
        found.append(((f1 - f0) / (l1 - l0), within, fn.max(0.0, length - l1)))
    return found


class Springs(Element):
    """The springs of a chain."""

    over = TREE
    name = "spring"

    def acts(self, chain: Chain) -> bool:
        """Whether it has springs."""
        return bool(chain.springs)

    def torque(self, at: Instant) -> Scalars:
        """F dl/dx of all of them."""
        return spring_tree(at.chain, at.x, at.xd, at.fn)

    def exertions(self, at: Instant) -> Sequence[Exertion]:
        """Tensions of those between two points; torsion springs act in their joints."""
        return spring_exertions(at.chain, at.x, at.xd, at.poses, at.fn)

    def columns(self, at: Instant) -> Mapping[Place, Scalars]:
        """Those of the coefficients that each is linear in."""
        return places_of(at.chain, ChainSpring, spring_columns(at.chain, at.x, at.xd, at.fn))

    def energy(self, at: Instant) -> Any:
        """Energy stored in all of them."""
        return spring_energy(at.chain, at.q, at.fn)


SPRINGS = Springs()
