"""The effects that act on an arm, one per file: torque, columns of the regressor, energy.

    tau = sum of the torques of ELEMENTS       Y = their columns, in the order of `model.places`

A new force is one file here, one row in ELEMENTS, and its data in `model` (the chain, and
`model.places` for what the torque is linear in). The order of ELEMENTS is that of the additions,
which decides the last bits: new ones go to the end of their level.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ...model.chain import Chain
from ...model.places import Place
from ...spatial.functions import Functions
from ...spatial.vectors import Scalars, plus
from .. import coupling
from ..instant import Instant
from ..newton_euler import Exertion
from .bodies import BODIES
from .element import COORDINATES, TREE, Element
from .friction import FRICTION
from .gears import GEARS
from .loads import LOADS
from .rotors import ROTORS
from .springs import SPRINGS

ELEMENTS: tuple[Element, ...] = (BODIES, ROTORS, FRICTION, SPRINGS, LOADS, GEARS)
FORCES = tuple(e for e in ELEMENTS if e not in (BODIES, ROTORS))  # all that is no inertia
EFFECTS = tuple(e for e in FORCES if e is not GEARS)  # of a robot; its motors move with the joints
Choice = Callable[[Element], bool]


def everything(element: Element) -> bool:
    """Every element."""
    return True


def frictionless(element: Element) -> bool:
    """Everything but friction and its offset."""
    return element is not FRICTION


def without_rotors(element: Element) -> bool:
    """Everything but friction and rotors: those are in the mass matrix, or behind the gears."""
    return element not in (FRICTION, ROTORS)


def applied(element: Element) -> bool:
    """Forces besides inertia, weight and friction: springs and loads."""
    return element in FORCES and element is not FRICTION


def torque(at: Instant, chosen: Choice = everything) -> Scalars:
    """Torques of the coordinates for the elements chosen, (n,)."""
    tree, own = _sum(at, chosen, TREE), _sum(at, chosen, COORDINATES)
    if tree is None:
        return [0.0] * at.chain.n if own is None else own
    tau = coupling.torques(at.chain, tree)
    return tau if own is None else plus(tau, own)


def tree_torque(at: Instant, chosen: Choice = everything) -> Scalars:
    """Torques of the joints of a tree whose coordinates are its first joints."""
    tree, own = _sum(at, chosen, TREE), _sum(at, chosen, COORDINATES)
    tree = [0.0] * len(at.chain.joints) if tree is None else tree
    return tree if own is None else plus(tree, [*own, *([0.0] * (len(tree) - len(own)))])


def _sum(at: Instant, chosen: Choice, over: str) -> Scalars | None:
    """The sum of the elements over the tree, or over the coordinates."""
    total: Scalars | None = None
    for element in ELEMENTS:
        if element.over == over and chosen(element) and element.acts(at.chain):
            own = element.torque(at)
            total = own if total is None else plus(total, own)
    return total


def exertions(at: Instant) -> list[Exertion]:
    """Forces that links exert on all elements."""
    return [x for e in ELEMENTS if e.acts(at.chain) for x in e.exertions(at)]


def effect_torques(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[Scalars]:
    """Torques of the coordinates for each of EFFECTS, (effects, n)."""
    at = Instant(chain, fn, q, qd, [0.0] * chain.n)
    return [torque(at, lambda x, own=own: x is own) for own in EFFECTS]


def columns(at: Instant, chosen: Choice = everything) -> dict[Place, Scalars]:
    """d tau / d parameter over the coordinates for the elements chosen, by places."""
    found: dict[Place, Scalars] = {}
    for element in filter(chosen, ELEMENTS):
        own: Mapping[Place, Scalars] = element.columns(at)
        if element.over == TREE:
            own = {place: coupling.torques(at.chain, c) for place, c in own.items()}
        found |= own
    return found


def potential_energy(at: Instant) -> Any:
    """The energy of everything that stores some."""
    stored = [e.energy(at) for e in ELEMENTS if e.acts(at.chain)]
    first, *others = [energy for energy in stored if energy is not None]
    for other in others:
        first = first + other
    return first
