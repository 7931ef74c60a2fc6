"""Letters for the lengths of a DH table: one for every length that is not zero."""

from collections.abc import Iterator
from dataclasses import replace

from ..model.dh.procedure import row_lengths
from ..model.model import Model
from ..model.pose import Pose
from ..model.quantity import CONSTANTS, FUNCTIONS, Expression

LETTERS = ("numbered", "by-place")


def with_letters(model: Model, letters: str) -> Model:
    """The model with a letter for each of its lengths that is a number other than 0.

    "numbered" is l1, l2, ... in the order of the table, "by-place" d1, a2, ... as in its columns.
    Equal lengths get letters of their own: that they are equal is a fact of this arm only. Letters
    stand for positive lengths; symbols that the model has are kept.
    """
    taken = {*model.symbols, *CONSTANTS, *FUNCTIONS}
    numbered = (f"l{k}" for k in range(1, 10**6))
    values = dict(model.values)

    def lettered(value: object, place: str) -> object:
        if not isinstance(value, float) or value == 0.0:
            return value
        name = next(_free(numbered if letters == "numbered" else _doubled(place), taken))
        values[name] = abs(value)
        return Expression(name if value > 0.0 else f"-{name}")

    links = []
    for i, link in enumerate(model.links, 1):
        changes = {
            name: lettered(getattr(link, name), f"{letter}{i - shift}")
            for name, letter, shift in row_lengths(link, model.convention)
        }
        links.append(replace(link, **changes))
    xyz = tuple(lettered(x, f"t{axis}") for x, axis in zip(model.tool.xyz, "xyz", strict=True))
    tool = Pose(xyz, model.tool.rpy)  # type: ignore[arg-type]
    return replace(model, links=tuple(links), tool=tool, values=values)


def _free(names: Iterator[str], taken: set[str]) -> Iterator[str]:
    return (name for name in names if name not in taken)


def _doubled(place: str) -> Iterator[str]:
    """d1, then dd1, ddd1, ..."""
    yield from (place[0] * k + place[1:] for k in range(1, 100))
