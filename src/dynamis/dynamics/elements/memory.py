"""Friction with memory along a motion: how far its elements are stretched from sample to sample.

What a control computer remembers of them is one list: the stretch of every element, then the
position that its joint had.
"""

from dataclasses import replace
from typing import Any

from ...model.chain import Chain, Resistance
from ...model.memory import Stretch
from ...spatial.functions import Functions
from ...spatial.vectors import Scalars
from .. import coupling
from .friction import BRISTLE, stretched, stretching


def elements(chain: Chain) -> list[tuple[int, Stretch]]:
    """Joint of the tree and element, in the order of their parameters."""
    return [(i, x) for i, r in enumerate(chain.resistances) for x in stretching(r)]


def bristles(chain: Chain) -> list[tuple[int, Resistance]]:
    """Joint of the tree and friction of every joint whose friction bends bristles."""
    return [(i, r) for i, r in enumerate(chain.resistances) if r.law in BRISTLE]


def relaxed(chain: Chain, q: Scalars) -> list[Any]:
    """Elements that are not stretched, with their joints at q."""
    joints = coupling.positions(chain, q)
    found = elements(chain)
    return [*([0.0] * len(found)), *(joints[i] for i, _ in found)]


def followed(chain: Chain, memory: Scalars, q: Scalars, fn: Functions) -> list[Any]:
    """Elements whose joints went straight to q."""
    joints, found = coupling.positions(chain, q), elements(chain)
    rows = zip(found, memory[: len(found)], memory[len(found) :], strict=True)
    stretches = [stretched(z + (joints[i] - before), x, fn) for (i, x), z, before in rows]
    return [*stretches, *(joints[i] for i, _ in found)]


def torque(chain: Chain, memory: Scalars) -> Scalars:
    """Torque of stretched elements on the coordinates, (n,)."""
    tree: list[Any] = [0.0] * len(chain.joints)
    for (i, x), z in zip(elements(chain), memory, strict=False):
        tree[i] = tree[i] + x.weight / x.radius * z
    return coupling.torques(chain, tree)


def without(chain: Chain) -> Chain:
    """The chain whose friction has no memory."""
    return replace(chain, resistances=tuple(r._replace(memory=()) for r in chain.resistances))
