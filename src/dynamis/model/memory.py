"""Friction with memory: the hysteresis of a joint that turns back before it slides.

    tau = sum_k weight_k z_k / radius_k,    dz_k/dt = qd, held within -radius_k <= z_k <= radius_k

An element is a spring that slips once it is stretched by its radius (a stop operator; in parallel
the model of Prandtl and Ishlinskii, or Maxwell slip). The weights are parameters, the radii are
not: the torque is not linear in them. What holds for a joint's rad holds for m of a slide.
"""

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from ..arguments import is_list, strict
from ..errors import ModelError, counted, shown
from .quantity import quantities, quantity_text, settle
from .schema import About

MOST = 16  # elements of a joint


@strict
@dataclass(frozen=True)
class Memory:
    """Elements of friction that stretch before they slip: dy.Memory(radii=(1e-3,), weights=(2.0,)).

    `radii` are the displacements after which each slips (rad or m), `weights` the torque that each
    has then (N m or N). One number stands for one element.
    """

    radii: Annotated[Any, About("displacement at which each slips", "{position}", 0, above=0.0)]
    weights: Annotated[Any, About("torque of each when it slips", "{torque}", 0)]

    def __post_init__(self) -> None:
        rows = {}
        for name in ("radii", "weights"):
            given = getattr(self, name)
            given = [*given] if is_list(given) else [given]
            if not 0 < len(given) <= MOST:
                raise ModelError(
                    f"memory.{name} has {counted(len(given), 'entry')}, expected 1 to {MOST}"
                )
            rows[name] = quantities(given, len(given), f"memory.{name}")
        radii, weights = rows["radii"], rows["weights"]
        for radius in radii:
            if not (isinstance(radius, float) and radius > 0.0):
                raise ModelError(f"memory.radii has {radius}, expected numbers above 0")
        if len({*radii}) != len(radii):
            raise ModelError(
                f"memory.radii is {shown(radii)}, expected different numbers",
                "elements of one radius act as one: add their weights",
            )
        if len(weights) != len(radii):
            raise ModelError(
                f"memory.weights has {counted(len(weights), 'entry')}, expected {len(radii)}: one "
                "for each radius"
            )
        settle(self, radii=radii, weights=weights)

    def __len__(self) -> int:
        return len(self.radii)

    @property
    def text(self) -> str:
        """Weights and radii as people write them: 0.5 at 0.001, 0.8 at 0.02."""
        pairs = zip(self.weights, self.radii, strict=True)
        return ", ".join(f"{quantity_text(w)} at {quantity_text(r)}" for w, r in pairs)


class Stretch(NamedTuple):
    """An element on a chain; radius 0: it slips at once, as Coulomb friction does."""

    radius: Any
    weight: Any


def parameter_name(k: int) -> str:
    """Name of the weight of an element: memory1, memory2, ..."""
    return f"memory{k + 1}"
