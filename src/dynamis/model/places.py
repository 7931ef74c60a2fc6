"""The order of the parameter vector: where a chain holds every number its torque is linear in.

Ten per link, five per joint, then what coupled motors, unbalanced rotors, viscous friction by
direction, friction with memory, springs, loads and friction laws of one's own add. A new parameter
gets its place here; names, values, columns of the regressor and all who look for a kind of
parameter follow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from ..spatial.inertia import NAMES, from_linear, linear, transformed
from .memory import MOST, parameter_name


class Place(NamedTuple):
    """A parameter: the part of the chain, which one of these, and its field or number there."""

    part: str  # "bodies", "motors", "resistances", "unbalance", "forces", "loads", "laws", "memory"
    index: int  # link, joint, force or load
    field: Any

    @property
    def is_rotor(self) -> bool:
        """Whether it is the rotor inertia of a joint."""
        return self.part == "motors" and self.field in ROTOR

    @property
    def is_friction(self) -> bool:
        """Whether it is friction of a joint or of its motor, offset and laws included."""
        return self.part in (*OF_RESISTANCES, "motors") and not self.is_rotor

    @property
    def sign(self) -> int:
        """1 for what is never negative, -1 for never positive, 0 for either or unknown."""
        if self.part in ("motors", "resistances"):
            return SIGNS[self.field]
        return int(self.part == "memory" or (self.part == "bodies" and self.field == 0))


OF_RESISTANCES = ("resistances", "laws", "memory")  # parts that are friction of a joint
# names of the fields of motors and resistances
ROTOR = {"inertia": "rotor_inertia"}
FRICTION = {"viscous": "viscous", "plus": "coulomb+", "minus": "coulomb-", "offset": "offset"}
BACKWARDS = {"viscous_minus": "viscous-"}  # moving negative; "viscous" is then moving positive
MOTOR = {"viscous": "motor_viscous", "plus": "motor_coulomb+", "minus": "motor_coulomb-"}
SIGNS = {"inertia": 1, "viscous": 1, "viscous_minus": 1, "plus": 1, "minus": -1, "offset": 0}
UNBALANCE = ("unbalance_x", "unbalance_y")
JOINT_NAMES = (*ROTOR.values(), *FRICTION.values())
MEMORY = tuple(map(parameter_name, range(MOST)))
TAKEN = {*JOINT_NAMES, *MOTOR.values(), *UNBALANCE, *MEMORY}  # names no constant of a law may have


@dataclass
class Parts:
    """The parts of a chain that hold parameters, while it is built."""

    bodies: list[Any]
    resistances: list[Any]
    motors: list[Any]
    unbalance: dict[int, Any]  # of the rotors that are bodies, by joint
    forces: list[Any]
    loads: list[Any]


def places(c: Any) -> list[Place]:
    """The place of every parameter of a Chain or of its Parts, in order."""
    return list(_places(c))


def _places(c: Any) -> Iterator[Place]:
    for i in range(len(c.resistances)):
        yield from (Place("bodies", i, k) for k in range(len(NAMES)))
    for i in range(len(c.resistances)):
        yield from joint_places(i)
    for i, motor in enumerate(c.motors):
        if motor.coupled:
            yield from (Place("motors", i, field) for field in MOTOR)
    for i in c.unbalance:
        yield from (Place("unbalance", i, k) for k in range(len(UNBALANCE)))
    for i, resistance in enumerate(c.resistances):
        if resistance.viscous_minus is not None:
            yield from (Place("resistances", i, field) for field in BACKWARDS)
    for i, resistance in enumerate(c.resistances):
        yield from (Place("memory", i, k) for k in range(len(resistance.memory)))
    for part in ("forces", "loads"):
        for i, thing in enumerate(getattr(c, part)):
            yield from (Place(part, i, k) for k in range(len(thing.coefficients)))
    for i, resistance in enumerate(c.resistances):
        if resistance.own is not None:
            yield from (Place("laws", i, k) for k in range(len(resistance.own.coefficients)))


def joint_places(i: int) -> Iterator[Place]:
    """The places of the five parameters that every joint has."""
    yield from (Place("motors", i, field) for field in ROTOR)
    yield from (Place("resistances", i, field) for field in FRICTION)


def value(c: Any, place: Place) -> Any:
    """The parameter at a place of a chain."""
    part, i, field = place
    if part == "bodies":
        return linear(c.bodies[i].user_inertia)[field]
    if part == "unbalance":
        return c.unbalance[i][field]
    if part == "memory":
        return c.resistances[i].memory[field].weight
    thing = c.resistances[i].own if part == "laws" else getattr(c, part)[i]
    return getattr(thing, field) if isinstance(field, str) else thing.coefficients[field]


def put(parts: Parts, values: Sequence[Any]) -> None:
    """Set every parameter."""
    by_place = zip(places(parts), values, strict=True)
    for (part, i), group in groupby(by_place, key=lambda x: x[0][:2]):
        _put(parts, part, i, {place.field: x for place, x in group})


def _put(parts: Parts, part: str, i: int, values: Mapping[Any, Any]) -> None:
    """Set those of one thing."""
    every = tuple(values.values())
    if part == "unbalance":
        parts.unbalance[i] = every
        return
    things = parts.resistances if part in OF_RESISTANCES else getattr(parts, part)
    thing = things[i]
    if part == "bodies":
        own = from_linear(every)
        changes = {"inertia": transformed(thing.user, own), "user_inertia": own, "slide": None}
    elif part == "memory":
        pairs = zip(thing.memory, every, strict=True)
        changes = {"memory": tuple(x._replace(weight=weight) for x, weight in pairs)}
    elif part == "laws":
        changes = {"own": thing.own._replace(coefficients=every)}
    else:
        named = part in ("motors", "resistances")
        changes = dict(values) if named else {"coefficients": every}
    things[i] = thing._replace(**changes)


def full_name(place: Place, model: Any) -> str:
    """OWNER.NAME of a parameter of a model."""
    part, i, field = place
    if part == "bodies":
        return f"{model.link_names[i]}.{NAMES[field]}"
    if part in ("forces", "loads"):
        owner = getattr(model, part)[i]
        own = owner.coefficients if part == "forces" else owner.linear
        return f"{owner.name}.{own[field]}"
    names: Mapping[str, Any] = {
        "motors": ROTOR | MOTOR,
        "resistances": FRICTION | BACKWARDS,
        "unbalance": UNBALANCE,
        "laws": model.links[i].friction.linear,
        "memory": MEMORY,
    }
    return f"{model.tree_joint_names[i]}.{names[part][field]}"
