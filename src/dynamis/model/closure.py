"""Closures: two frames on two links held together, which make closed loops of a tree.

    ball        origins coincide                                           3 conditions
    universal   and x of the first stays perpendicular to y of the second  4
    pin         and their z axes coincide: a revolute joint                5
    weld        and all their axes                                         6
    slide       axes coincide, origins apart along z: a prismatic joint    5
    rod         origins at a fixed distance                                1

Conditions are written in the axes of the first frame, the force of a closure too. The moment of a
universal closure is about the cross product of x of the first frame and y of the second.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..arguments import choice, is_list, strict
from ..errors import ModelError, OptionError, shown
from .pose import Pose, pose
from .quantity import Scalar, quantity_text, settle
from .schema import About, settle_fields

if TYPE_CHECKING:
    from .model import Model

Turn = tuple[tuple[float, int, int], ...]  # sum of factor (axis of the first . axis of the second)
X, Y, Z = 0, 1, 2
AXES = "xyz"
ABOUT: tuple[Turn, ...] = (
    ((0.5, Z, Y), (-0.5, Y, Z)),
    ((0.5, X, Z), (-0.5, Z, X)),
    ((0.5, Y, X), (-0.5, X, Y)),
)


class Kind(NamedTuple):
    """What a closure holds: axes of position, turns about axes, axes that point the same way.

    A turn is small and equal to the angle about its axis near zero, and zero half a turn away too:
    of axes that must point the same way, the sum of their products decides.
    """

    along: tuple[int, ...] = (X, Y, Z)
    turns: tuple[Turn, ...] = ()
    about: tuple[str, ...] = ()
    same: tuple[int, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of its conditions, and of the forces and moments that hold them."""
        if not self.along and not self.turns:
            return ("length",)
        return (*(AXES[k] for k in self.along), *(f"about {axis}" for axis in self.about))


KINDS: Mapping[str, Kind] = {
    "ball": Kind(),
    "universal": Kind(turns=(((-1.0, X, Y),),), about=("x cross y",)),
    "pin": Kind(turns=(((-1.0, Y, Z),), ((1.0, X, Z),)), about=("x", "y"), same=(Z,)),
    "weld": Kind(turns=ABOUT, about=tuple(AXES), same=(X, Y, Z)),
    "slide": Kind(along=(X, Y), turns=ABOUT, about=tuple(AXES), same=(X, Y, Z)),
    "rod": Kind(along=()),
}


@strict
@dataclass(frozen=True, kw_only=True)
class Closure:
    """Two links held together at two frames, one in each.

    dy.Closure(kind="pin", between=("link2", "link4"), frames=({"xyz": (0.5, 0, 0)}, None))

    `between` names two links (None or its name: the base), `frames` are poses in them. Kinds:
    ball, universal (x of the first frame stays perpendicular to y of the second), pin (about z),
    weld, slide (along z), rod (of a fixed `length`, with a ball at each end).
    """

    kind: Annotated[str, About("ball, universal, pin, weld, slide or rod")] = "ball"
    name: Annotated[str | None, About("closure1, closure2, ...")] = None
    between: Annotated[Any, About("two links, or a link and the base")] = (None, None)
    frames: Annotated[Any, About("poses in them")] = (Pose(), Pose())
    length: Annotated[Scalar | None, About("of a rod", "m", above=0.0)] = None

    def __post_init__(self) -> None:
        choice(self.kind, "closure.kind", KINDS)
        for name, words in (("between", "two links"), ("frames", "two poses")):
            given = getattr(self, name)
            pair = tuple(given) if is_list(given) else ()
            if len(pair) != 2:
                raise ModelError(f"closure.{name} is {shown(given)}, expected {words}")
            settle(self, **{name: pair})
        for link in self.between:
            if not isinstance(link, str | None):
                raise ModelError(f"closure.between holds {shown(link)}, expected names of links")
        poses = (pose(x, f"closure.frames[{k}]") for k, x in enumerate(self.frames))
        settle(self, frames=tuple(poses))
        settle_fields(self, "closure.")
        if (self.length is not None) != (self.kind == "rod"):
            hint = "expected one for kind 'rod' and none for the others"
            raise ModelError(f"closure.length is {shown(self.length)}, {hint}")

    @property
    def rows(self) -> tuple[str, ...]:
        """Conditions of the closure: "x", "y", "z", "about x", ..., or "length".

        "about x cross y": x of the first frame, y of the second.
        """
        return KINDS[self.kind].rows


CLOSURE_COLUMNS = ("closure", "between", "frames", "holds")


def closure_texts(model: "Model") -> list[tuple[str, str, str, str]]:
    """The closures of a model for a table of CLOSURE_COLUMNS."""
    return [_row(closure) for closure in model.closures]


def _row(closure: Closure) -> tuple[str, str, str, str]:
    """Name and kind, its links, its frames, what it holds."""
    places = []
    for place in closure.frames:
        turned = any(isinstance(x, str) or x != 0.0 for x in place.rpy)
        rpy = f" rpy {quantity_text(place.rpy)}" if turned else ""
        places.append(quantity_text(place.xyz) + rpy)
    holds = ", ".join(closure.rows)
    if closure.length is not None:
        holds = f"length {quantity_text(closure.length)}"
    between = " to ".join(str(link) for link in closure.between)
    return f"{closure.name} ({closure.kind})", between, " to ".join(places), holds


TREE = "robot.without_closures() is the tree with every joint driven"


def refuse_closures(closures: Any, what: str, instead: str = TREE) -> None:
    """Say that something is not available where there are closures, and what to use instead."""
    if closures:
        raise OptionError(f"{what} is not available for mechanisms with closures", instead)
