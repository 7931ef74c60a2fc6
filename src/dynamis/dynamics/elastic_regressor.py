"""The regressor of arms with elastic joints: both sides of every gear, linear in their parameters.

    Y(q, q', q'', th, th', th'') parameters = torques: of joints (0 behind an elastic gear), motors

The parameters are those of the rigid arm, in their order, then friction of the motors, then
stiffness, damping and hardening of the gears. Rotors accelerate with th; friction of an elastic
joint is that of its link side, where the rigid arm has the sum of both. Left out, as there:
friction under load, and what a law of one's own gives without its linear constants.
"""

from typing import Any

from ..errors import ModelError
from ..model.chain import Chain
from ..model.model import Model
from ..model.parameters import parameter_names
from ..model.places import MOTOR, Place, full_name, places, value
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, transposed
from . import elements
from .elastic import coordinate, expanded
from .elements.gears import FIELDS
from .instant import Instant


def elastic_regressor(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, motor: Scalars, motor_rate: Scalars,
    motor_acceleration: Scalars, fn: Functions,
) -> list[list[Any]]:  # fmt: skip
    """Y, (n + elastic joints, parameters); of `motor` the entries of rigid joints do nothing."""
    whole, own = expanded(chain), [coordinate(chain, gear) for gear in chain.elastic]
    pairs = (q, motor), (qd, motor_rate), (qdd, motor_acceleration)
    x, xd, xdd = ([*side, *(th[k] for k in own)] for side, th in pairs)
    found = elements.columns(Instant(whole, fn, x, xd, xdd))
    return transposed([found[place] for place in _places(chain)])


def _places(chain: Chain) -> list[Place]:
    """Where the expanded chain holds every parameter."""
    moved = {gear.joint: chain.links + k for k, gear in enumerate(chain.elastic)}
    rotor = {Place("motors", i, "inertia"): Place("motors", k, "inertia") for i, k in moved.items()}
    rigid = [rotor.get(place, place) for place in places(chain)]
    motors = [Place("resistances", k, field) for k in moved.values() for field in MOTOR]
    gears = [Place("elastic", k, field) for k in range(len(moved)) for field in FIELDS]
    return [*rigid, *motors, *gears]


def elastic_parameters(model: Model, chain: Chain) -> tuple[tuple[str, ...], list[Any]]:
    """Names and values of the parameters of both sides, values over the chain's scalars."""
    whole, joints = expanded(chain), [gear.joint for gear in chain.elastic]
    motors = [full_name(Place("motors", i, field), model) for i in joints for field in MOTOR]
    gears = [f"{model.tree_joint_names[i]}.{field}" for i in joints for field in FIELDS]
    names = (*parameter_names(model), *motors, *gears)
    taken = [name for name in gears if names.count(name) > 1]
    if taken:
        raise ModelError(
            f"{taken[0]} is a parameter of the elastic gear and of the joint's friction law",
            "rename the constant of the friction law",
        )
    return names, [value(whole, place) for place in _places(chain)]
