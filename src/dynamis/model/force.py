"""What forces on the arm share that have data of their own: springs, and whatever is added.

A new one is a class that extends `Force`, and a list of them a field of `Model`: files, names,
symbols, parameters, the chain and its variations follow. `dynamics.elements` says what it does.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from ..spatial.vectors import Vector

End = tuple[int, Vector]  # tree index (-1: the base), and a point in that joint's frame


class Force:
    """Base of frozen dataclasses that are one row of a list; every one has a `name`."""

    name: Any
    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def ends(self) -> Mapping[str, str]:
        """Fields that name the links it acts on, and those of the points in their frames."""
        return {}

    @property
    def joints(self) -> Sequence[str]:
        """Fields that name joints it acts at."""
        return ()

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of what the torque is linear in."""
        return ()

    @property
    def signed(self) -> Sequence[str]:
        """Those of the coefficients that may be negative."""
        return ()

    def _on_chain(self, ends: tuple[End, ...], joint: int, number: Callable[[Any], Any]) -> Any:
        """A named tuple to compute with that has `ends`, `joint` (-1: none) and `coefficients`.

        `number` gives the value of a field.
        """
        raise NotImplementedError
