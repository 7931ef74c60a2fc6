"""Kinds of unknowns, and what a robot says of the friction of its joints."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...arguments import choice, one_of
from ...errors import shown
from ...model.friction import Friction, sides
from ...model.link import Link
from ...model.parameters import parameter_places
from ...model.quantity import resolve
from ..friction.models import BRISTLE_COLUMNS, Bristle, FrictionModel

if TYPE_CHECKING:
    from ...robot import Robot

# kinds of unknowns: "body", "rotor", those of friction (FrictionModel.columns), and these
RIGID = ("body", "rotor", "spring", "load law")
LAW_CONSTANTS = ("load law", "friction law")  # of laws of one's own: of either sign
MAYBE_HIDDEN = ("spring", *LAW_CONSTANTS)  # other unknowns may give the same torque
BESIDE_ROBOT = (  # no parameters of a robot: columns of their own
    *("root", "load", "thermal"),
    *BRISTLE_COLUMNS,
)
WITH_COLUMNS = (*BESIDE_ROBOT, "memory")  # columns that the regressor of a robot does not have
NOT_NEGATIVE = (  # friction feeds no power in
    *("viscous", "viscous-", "coulomb", "load", "memory"),
    *BRISTLE_COLUMNS,
)
PASSIVE_KINDS = ("viscous", "viscous-", "coulomb", "memory")  # friction of passive joints
PASSIVE_CHOICES = ("described", "all", "none")  # words for passive joints with friction

LEAST_VISCOUS = 1e-6  # N m s/rad: a viscous coefficient that a root can be a multiple of
DEPENDENT = 1e-8  # of a column: less is left of one that is a sum of others
UNIT_LOAD = 2.0**-10  # friction under load whose shape over velocity alone matters
LARGEST_LOAD = 0.3  # of the torque that a gear transmits: no gear loses more by friction


class Unknown(NamedTuple):
    """One unknown: its column of the regressor is Y @ `column`, its value `group` @ parameters."""

    name: str
    kind: str
    joint: int  # of friction, -1 for bodies, rotors, springs and loads
    column: np.ndarray  # (p,)
    group: np.ndarray  # (p,)


def reference_temperatures(robot: "Robot") -> list[float]:
    """Reference temperature of every joint, deg C."""
    model = robot.model
    own = {str(x.joint_name): x.friction.reference_temperature for x in model.links}
    return [float(resolve(own[name], model.values)) for name in robot.joint_names]


def bristle_at(friction: FrictionModel, robot: "Robot", joint: str) -> Bristle:
    """The bristles of a joint by a friction model, else by the constants of its law."""
    if joint in friction.bristles:
        return friction.bristles[joint]
    link = next(x for x in robot.model.links if x.joint_name == joint)
    constants = link.friction.constants
    return Bristle(1.0, 0.0, float(constants["velocity"]), float(constants["stiffness"]), 0.0)


def plain_friction(robot: "Robot") -> np.ndarray:
    """Which parameters are viscous and Coulomb friction and offsets of joints, (p,) bool."""
    every = parameter_places(robot.model)
    return np.array([place.is_friction and place.part != "laws" for place in every])


def may_rub_under_load(link: Link) -> bool:
    """Whether a link's friction can grow with its load."""
    return link.mimic is None and link.friction.law != "lugre"


def passive_joints(robot: "Robot", asked: str | Sequence[str]) -> tuple[str, ...]:
    """The passive joints whose friction is sought: by name, all, none, or those described so."""
    links = [link for link in robot.model.links if link.passive and link.mimic is None]
    names = tuple(str(link.joint_name) for link in links)
    if isinstance(asked, (list, tuple)):
        for name in asked:
            one_of(name, names, f"passive_friction: there is no passive joint {shown(name)}")
        return tuple(asked)
    choice(asked, "passive_friction", PASSIVE_CHOICES)
    if asked == "described":
        values = robot.model.values
        return tuple(str(link.joint_name) for link in links if _has_friction(link.friction, values))
    return names if asked == "all" else ()


def _has_friction(friction: Friction, values: Mapping[str, float]) -> bool:
    """Whether a joint is described with viscous or Coulomb friction, or a law of one's own."""
    coefficients = (*sides(friction.viscous), *friction.coulomb)
    return friction.own is not None or any(resolve(x, values) for x in coefficients)
