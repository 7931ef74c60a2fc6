"""Base of the elements: one effect on an arm each."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...model.chain import Chain
from ...model.places import Place
from ...spatial.vectors import Scalars
from ..instant import Instant
from ..newton_euler import Exertion

TREE, COORDINATES = "tree", "coordinates"  # over what the torques of an element are


class Element:
    """One effect on an arm, over the whole chain: its data are there, it says what they do."""

    over: str
    name: str  # of its part of the torque

    def acts(self, chain: Chain) -> bool:
        """Whether the chain has any of it; without it there are zeros at least."""
        return True

    def torque(self, at: Instant) -> Scalars:
        """Torques that the drives must supply for it."""
        raise NotImplementedError

    def exertions(self, at: Instant) -> Sequence[Exertion]:
        """Forces that links exert on it; what acts between a joint's two links needs none."""
        return ()

    def columns(self, at: Instant) -> Mapping[Place, Scalars]:
        """d torque / d parameter, by the places of its parameters."""
        raise NotImplementedError

    def energy(self, at: Instant) -> Any:
        """Energy it stores; None: it stores none."""
        return None


def places_of(
    chain: Chain, kind: type, columns: Iterable[Sequence[Scalars]]
) -> dict[Place, Scalars]:
    """Columns of the coefficients of all forces of a kind, by their places."""
    numbers = (i for i, x in enumerate(chain.forces) if isinstance(x, kind))
    rows = zip(numbers, columns, strict=True)
    return {Place("forces", i, k): column for i, own in rows for k, column in enumerate(own)}


def entry(i: int, value: Any, size: int) -> list[Any]:
    """A column with one value, at i."""
    return [value if k == i else 0.0 for k in range(size)]
