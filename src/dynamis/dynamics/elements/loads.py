"""Loads of one's own: torques that the drives must supply besides, their columns, their energy.

Each is a law of the coordinates q and their rates, kept as a tape (see `dynamis.model.law`).
"""

from collections.abc import Mapping
from typing import Any

from ...model.chain import Chain, OwnLaw
from ...model.places import Place
from ...spatial.functions import Functions
from ...spatial.vectors import Scalars, plus
from ..instant import Instant
from .element import COORDINATES, Element


def load_torque(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[Any]:
    """Torque of every coordinate against the loads, (n,)."""
    total: list[Any] = [0.0] * chain.link_coordinates
    for load in chain.loads:
        total = plus(total, load.torque(fn, **_of_links(chain, q=q, qd=qd)))
    return _of_all(chain, total)


def load_rates(chain: Chain, load: OwnLaw, q: Scalars, qd: Scalars, fn: Functions) -> list[Any]:
    """d/dt of the states of a load."""
    return load.rate(fn, **_of_links(chain, q=q, qd=qd))


def load_rest(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[Any]:
    """The part of the loads that no parameter multiplies, (n,)."""
    total: list[Any] = [0.0] * chain.link_coordinates
    for load in chain.loads:
        total = plus(total, load.parts(fn, **_of_links(chain, q=q, qd=qd))[0])
    return _of_all(chain, total)


def load_energy(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """Energy of the loads that say theirs; the others have none."""
    known = [(load, load.energy) for load in chain.loads if load.energy is not None]
    own = _of_links(chain, q=q)
    return sum((load.run(tape, fn, **own)[0] for load, tape in known), 0.0)


def _of_links(chain: Chain, **motion: Scalars) -> dict[str, Scalars]:
    """Arguments of a law: the coordinates of links."""
    return {name: x[: chain.link_coordinates] for name, x in motion.items()}


def _of_all(chain: Chain, torques: list[Any]) -> list[Any]:
    """Torques of links, and none of motors that move by themselves."""
    return [*torques, *([0.0] * (chain.n - chain.link_coordinates))]


class Loads(Element):
    """The loads of a chain."""

    over = COORDINATES
    name = "load"

    def acts(self, chain: Chain) -> bool:
        """Whether it has loads."""
        return bool(chain.loads)

    def torque(self, at: Instant) -> Scalars:
        """Torque against all of them."""
        return load_torque(at.chain, at.q, at.qd, at.fn)

    def columns(self, at: Instant) -> Mapping[Place, Scalars]:
        """Those of the constants that each is linear in."""
        found = {}
        for i, load in enumerate(at.chain.loads):
            own = load.parts(at.fn, **_of_links(at.chain, q=at.q, qd=at.qd))[1]
            found |= {Place("loads", i, k): _of_all(at.chain, x) for k, x in enumerate(own)}
        return found

    def energy(self, at: Instant) -> Any:
        """Energy of those that store some."""
        return load_energy(at.chain, at.q, at.fn)


LOADS = Loads()
