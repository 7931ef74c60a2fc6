"""Place of a Jacobian: a point on a link, the axes it is written in, and angles of the link."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...arguments import choice
from ...errors import OptionError
from ...model.chain import Chain
from ...model.friction import Friction
from ...model.model import Model
from ...model.pose import Pose
from ...model.quantity import Expression, quantities, resolve
from ...robot.placing import FRAMES, place_in
from ...spatial.frames import compose, translation
from ...spatial.functions import Functions
from ...transforms import SEQUENCES

TURNS = {"rpy": "zyx"}  # roll, pitch and yaw are these in the opposite order


@dataclass(frozen=True)
class Place:
    """The tool, or the origin of a link or frame by name, or a point given in its frame."""

    link: str | None = None
    point: tuple[Any, Any, Any] | None = None
    frame: str = "base"
    euler: str | None = None

    @property
    def sequence(self) -> str | None:
        """The axes of the Euler angles, in the order of the turns."""
        return TURNS.get(self.euler or "", self.euler)

    def on(self, model: Model, chain: Chain, fn: Functions, values: Mapping[str, Any]) -> dict:
        """Tree index and offset over a chain's scalars, as `dynamics.kinematics` takes them."""
        found = place_in(model, chain, self.link, values, fn)
        if self.point is not None:
            at = resolve(self.point, values, fn)
            found["offset"] = compose(found["offset"], translation(*at))
        return found


def place(
    model: Model, link: Any = None, point: Any = None, frame: Any = "base", euler: Any = None
) -> Place:
    """A checked place on a robot."""
    choice(frame, "frame", FRAMES)
    if euler is not None:
        euler = euler.lower() if isinstance(euler, str) else euler
        choice(euler, "euler", (*TURNS, *SEQUENCES))
    if point is not None:
        point = quantities(point, 3, "point")
        used = {name for x in point if isinstance(x, Expression) for name in x.symbols}
        if unknown := sorted(used - {*model.symbols}):
            raise OptionError(
                f"point has the symbol {unknown[0]!r}, which robot {model.name!r} has not",
                f"its symbols: {', '.join(model.symbols) or 'none'}",
            )
    return Place(link, point, frame, euler)


def massless(model: Model) -> bool:
    """True if nothing in a model gives a torque: no masses, rotors, friction, springs or loads."""
    links = (
        x.mass == 0.0 and x.linear is None and x.drive is None
        and all(entry == 0.0 for entry in x.inertia or ())
        and x.friction == Friction()
        for x in model.links
    )  # fmt: skip
    others = (model.payload, model.springs, model.loads, model.gear_matrix, model.closures)
    return all(links) and not any(others)


def geometry_of(model: Model) -> Model:
    """The model without bodies, drives, friction and springs; values of what is left."""
    links = tuple(
        replace(
            x, mass=0.0, com=None, com_factor=None, inertia=None, linear=None, drive=None,
            friction=Friction(), velocity_limit=None, effort_limit=None,
        )
        for x in model.links
    )  # fmt: skip
    bare = replace(
        model, links=links, payload=None, springs=(), loads=(), gear_matrix=None,
        rotors="reflected", findings=(), kept_elements=None, values={}, gravity=(0.0, 0.0, 0.0),
    )  # fmt: skip
    values = {name: x for name, x in model.values.items() if name in bare.symbols}
    return replace(bare, values=values)


def with_letters(model: Model) -> Model:
    """The lengths of a DH table, its base and its tool as letters with values.

    a and d are numbered as the books do: a2 is that of link 2, in the modified table the one
    between axes 2 and 3. A letter that the model uses itself is not taken.
    """
    if model.convention == "urdf":
        return model
    taken, values = {*model.symbols}, dict(model.values)

    def letter(name: str, value: Any) -> Any:
        if isinstance(value, Expression) or value == 0.0 or name in taken:
            return value
        values[name] = value
        return Expression(name)

    before = 1 if model.convention == "modified" else 0
    links = tuple(
        replace(x, a=letter(f"a{k - before}", x.a), d=letter(f"d{k}", x.d))
        for k, x in enumerate(model.links, 1)
    )
    poses = {
        name: Pose(
            tuple(letter(f"{x}_{name[0]}", v) for x, v in zip("xyz", T.xyz, strict=True)), T.rpy
        )
        for name, T in (("base", model.base), ("tool", model.tool))
    }
    return replace(model, links=links, values=values, **poses)
