"""Arms with elastic joints: every motor behind an elastic gear as a joint of its own.

    M(q) q'' + h(q, q') + f_link = e + external,    B th'' + f_motor = tau - e

q are the joints, th their motors in units of the joint (motor angle / gear), B the reflected rotor
inertias, e what the gears transmit (`elements.gears`). All kernels of a robot are those of the
rigid one; simulations, resonances and linearisations take the `expanded` chain, whose coordinates
are q and then th. After Spong, 1987.
"""

from dataclasses import replace
from typing import Any

from ..model.chain import Body, Chain, Elasticity, Joint, Motor, Resistance, joint_friction
from ..spatial.frames import Frame
from ..spatial.functions import zero
from ..spatial.inertia import NAMES, from_linear
from ..spatial.vectors import unit

NOTHING = from_linear([0.0] * len(NAMES))


def expanded(chain: Chain) -> Chain:
    """The chain with the motors of elastic joints as joints of their own, after all others.

    A motor takes its inertia, friction, limits, losses and circuit along; friction under load is
    that of its gear, before the elasticity.
    """
    gears = chain.elastic
    if not gears:
        return chain
    size, links = len(chain.joints) + len(gears), chain.links
    motors = [_padded(x, i, size) for i, x in enumerate(chain.motors)]
    resistances = list(chain.resistances)
    driven = list(chain.driven)
    for k, gear in enumerate(gears):
        i = gear.joint
        resistances[i], own = _sides(chain.resistances[i], chain.motors[i])
        resistances.append(own)
        motors.append(motors[i]._replace(row=tuple(unit(links + k, size))))
        motors[i] = _none(i, size)
        c = coordinate(chain, gear)
        driven = [chain.n + k if x == c else x for x in driven]
    body = Body(NOTHING, None, Frame(), NOTHING)
    joint = Joint("revolute", -1, Frame(), turns=False)
    return replace(
        chain,
        joints=(*chain.joints, *([joint] * len(gears))),
        bodies=(*chain.bodies, *([body] * len(gears))),
        resistances=tuple(resistances),
        motors=tuple(motors),
        coupling=_coupling(chain),
        shift=(*chain.shift, *([0.0] * len(gears))),
        driven=tuple(driven),
        elastic=tuple(x._replace(motor=links + k) for k, x in enumerate(gears)),
    )


def coordinate(chain: Chain, gear: Elasticity) -> int:
    """The coordinate of the joint behind an elastic gear."""
    if chain.coupling is None:
        return gear.joint
    return next(c for c, w in enumerate(chain.coupling[gear.joint]) if not zero(w))


def motor_coordinate(chain: Chain, gear: Elasticity) -> int:
    """The coordinate of a motor that moves by itself, of an expanded chain."""
    return gear.motor if chain.coupling is None else chain.coupling[gear.motor].index(1.0)


def _sides(whole: Resistance, motor: Motor) -> tuple[Resistance, Resistance]:
    """Friction of the joint, and of its motor in the same law; each warms by itself."""
    link = joint_friction(whole, motor)._replace(load=0.0)
    own = {"viscous": motor.viscous, "plus": motor.plus, "minus": motor.minus, "offset": 0.0}
    rest = {"own": None, "viscous_minus": None, "load": whole.load, "memory": ()}
    thermal = None if zero(motor.viscous) else whole.thermal
    return link, whole._replace(**own, **rest, thermal=thermal)


def _padded(motor: Motor, i: int, size: int) -> Motor:
    return motor._replace(row=(*motor.row, *([0.0] * (size - len(motor.row)))))


def _none(i: int, size: int) -> Motor:
    """No motor: that of the joint behind an elastic gear."""
    return Motor(tuple(unit(i, size)), 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, False)


def _coupling(chain: Chain) -> tuple[tuple[Any, ...], ...] | None:
    if chain.coupling is None:
        return None
    more = len(chain.elastic)
    rows = [(*row, *([0.0] * more)) for row in chain.coupling]
    return (*rows, *(tuple(unit(chain.n + k, chain.n + more)) for k in range(more)))
