"""Friction laws: how viscous and Coulomb friction depend on velocity, one row per law.

tau_f = viscous V(qd) + coulomb_plus P(qd) + coulomb_minus N(qd) + offset + load S(qd) |T|

S = P - N, and T is the torque that a coordinate transmits: all it needs but friction. P acts when
the joint moves positive, N when it moves negative; both vanish at rest. A simulated joint may also
stick: then it is held within `static_limits`, and told in which direction it slides (`sliding`);
the bristles of `lugre` bend instead. None of the three holds the offset. A law of one's own adds
its torque to that of the coefficients, which is then that of "coulomb".

Friction with memory (`model/memory.py`) stretches in simulations; here it is at its largest.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...model.chain import Chain, OwnLaw, Resistance, Thermal
from ...model.memory import Stretch
from ...model.places import BACKWARDS, MOTOR, Place
from ...model.places import FRICTION as FIELDS
from ...spatial.functions import Functions, zero
from ...spatial.vectors import Scalars, less
from .. import coupling
from ..drives import motor_rate
from ..instant import Instant
from .element import TREE, Element, entry

Constants = Mapping[str, Any]
Three = tuple[Any, Any, Any]
Shape = Callable[..., Three]  # of qd, constants, fn and the direction of sliding

STICKS = frozenset({"coulomb", "stribeck", "grotjahn"})  # laws that hold a joint at rest
BRISTLE = frozenset({"lugre"})  # laws with a state of their own

HOLD = 1e-6  # of friction with memory, that holds a joint once it is at rest
NO_FRICTION = 1e-12  # N m; bristles that hold less than this hold nothing
SERIES = 1e-3  # below, (1 - exp(-a)) / a is taken from its series: right to 1e-14


def _sides(s: Any, fn: Functions) -> tuple[Any, Any]:
    return fn.max(s, 0.0), fn.max(-s, 0.0)


def coulomb(qd: Any, constants: Constants, fn: Functions, direction: Any = None) -> Three:
    """V = qd, P and N the two halves of sign(qd), or of the direction given for it."""
    return qd, *_sides(fn.sign(qd) if direction is None else direction, fn)


def smooth(qd: Any, constants: Constants, fn: Functions, direction: Any = None) -> Three:
    """sign(qd) replaced by tanh(qd / velocity), whatever the direction given.

    V = qd + ratio * qd / (qd^2 + velocity^2)^(1/3), a smooth |qd|^(1/3), where ratio is not 0.
    """
    V, ratio = qd, constants["ratio"]
    if not zero(ratio):
        speed = constants["velocity"]
        V = qd + ratio * (qd / (qd * qd + speed * speed) ** (1.0 / 3.0))
    return V, *_sides(fn.tanh(qd / constants["velocity"]), fn)


def stribeck(qd: Any, constants: Constants, fn: Functions, direction: Any = None) -> Three:
    """Coulomb friction times 1 + (static_ratio - 1) exp(-(qd / velocity)^2)."""
    factor = _stribeck_factor(qd, constants, fn)
    V, plus, minus = coulomb(qd, constants, fn, direction)
    return V, factor * plus, factor * minus


def _stribeck_factor(qd: Any, constants: Constants, fn: Functions) -> Any:
    u = qd / constants["velocity"]
    return 1.0 + (constants["static_ratio"] - 1.0) * fn.exp(-u * u)


def grotjahn(qd: Any, constants: Constants, fn: Functions, direction: Any = None) -> Three:
    """V = qd + ratio * sign(qd) |qd|^(1/3) (Grotjahn, Daemi, Heimann 2001)."""
    s = fn.sign(qd) if direction is None else direction
    size = s * qd if direction is None else fn.max(s * qd, 0.0)  # no root of the wrong direction
    return qd + constants["ratio"] * (s * size ** (1.0 / 3.0)), *_sides(s, fn)


SHAPES: Mapping[str, Shape] = {
    "coulomb": coulomb,
    "smooth": smooth,
    "stribeck": stribeck,
    "grotjahn": grotjahn,
    "lugre": stribeck,  # its steady state
}


def torque(resistance: Resistance, qd: Any, fn: Functions) -> Any:
    """Friction torque of one joint that transmits nothing."""
    shapes = SHAPES[resistance.law](qd, resistance.constants, fn)
    tau = _shaped(resistance, *shapes, fn) + resistance.offset
    if resistance.memory:
        tau = tau + memory_limit(resistance) * fn.sign(qd)
    return tau if resistance.own is None else tau + own(resistance.own, qd, fn.sign(qd), fn)


def _shaped(r: Resistance, V: Any, P: Any, N: Any, fn: Functions, direction: Any = None) -> Any:
    """viscous V + coulomb+ P + coulomb- N, viscous that of the direction (by default of V's)."""
    if r.viscous_minus is None:
        return r.viscous * V + r.plus * P + r.minus * N
    backwards = V < 0.0 if direction is None else direction < 0.0
    return fn.select(backwards, r.viscous_minus, r.viscous) * V + r.plus * P + r.minus * N


def own(law: OwnLaw, qd: Any, direction: Any, fn: Functions) -> Any:
    """Friction torque by a law of one's own, sliding in a direction (-1, 0 or 1)."""
    return law.torque(fn, qd=[qd], direction=[direction])[0]


def own_rates(law: OwnLaw, qd: Any, direction: Any, fn: Functions) -> list[Any]:
    """d/dt of the states of a law of one's own, sliding in a direction (0: held)."""
    return law.rate(fn, qd=[qd], direction=[direction])


def own_parts(law: OwnLaw, qd: Any, direction: Any, fn: Functions) -> tuple[Any, list[Any]]:
    """(the torque that no parameter multiplies, d tau / d constant) of a law of one's own."""
    (rest,), columns = law.parts(fn, qd=[qd], direction=[direction])
    return rest, [column[0] for column in columns]


def sliding(resistance: Resistance, qd: Any, direction: Any, fn: Functions) -> Any:
    """Friction torque, offset excluded, of a joint that slides in `direction` (+1 or -1).

    viscous V(qd) + coulomb F(qd), F = 1 or the Stribeck factor, coulomb the one of the direction.
    It continues smoothly where qd has come to rest and a little beyond.
    """
    shapes = SHAPES[resistance.law](qd, resistance.constants, fn, direction)
    tau = _shaped(resistance, *shapes, fn, direction)
    if resistance.memory:
        tau = tau + memory_hold(resistance) * direction
    return tau if resistance.own is None else tau + own(resistance.own, qd, direction, fn)


def sticks(resistance: Resistance) -> bool:
    """Whether this friction can hold a joint at rest."""
    if resistance.own is not None and resistance.own.torque_tape.takes("direction"):
        return True
    if resistance.memory:
        return True
    none = all(zero(x) for x in (resistance.plus, resistance.minus, resistance.load))
    return resistance.law in STICKS and not none


def static_limits(resistance: Resistance, fn: Functions) -> tuple[Any, Any]:
    """(lowest, highest) torque that friction holds at rest, offset excluded.

    static_ratio (or 1) times the Coulomb pair; (0, 0) for a law that never sticks. Of a law of
    one's own what it gives at rest in either direction.
    """
    low, high = 0.0, 0.0
    if resistance.law in STICKS:
        ratio = resistance.constants.get("static_ratio", 1.0)
        low, high = ratio * resistance.minus, ratio * resistance.plus
    if resistance.memory:
        width = memory_hold(resistance)
        low, high = low - width, high + width
    if resistance.own is not None:
        down, up = (own(resistance.own, 0.0, side, fn) for side in (-1.0, 1.0))
        low, high = low + down, high + up
    return low, high


def memory_limit(resistance: Resistance) -> Any:
    """Torque of friction with memory once every element slips."""
    return sum(x.weight for x in resistance.memory)


def memory_hold(resistance: Resistance) -> Any:
    """Torque by which friction with memory holds a joint at rest as Coulomb friction does.

    All of elements that slip at once, a millionth of others: a spring alone never comes to rest.
    """
    return sum(x.weight * (1.0 if zero(x.radius) else HOLD) for x in resistance.memory)


def stretching(resistance: Resistance) -> list[Stretch]:
    """Elements of friction with memory that stretch before they slip."""
    return [x for x in resistance.memory if not zero(x.radius)]


def stretched(z: Any, element: Stretch, fn: Functions) -> Any:
    """The stretch of an element that was led to z: it slips at its radius."""
    return fn.max(-element.radius, fn.min(z, element.radius))


def presliding(resistance: Resistance) -> tuple[Any, Any]:
    """Stiffness and damping of friction with memory, relaxed, in motions before it slips."""
    stiffness = sum((x.weight / x.radius for x in stretching(resistance)), 0.0)
    if resistance.law in BRISTLE and not (zero(resistance.plus) and zero(resistance.minus)):
        return resistance.constants["stiffness"], resistance.constants["damping"]
    return stiffness, 0.0


def lugre(resistance: Resistance, qd: Any, z: Any, h: Any, fn: Functions) -> tuple[Any, Any]:
    """Friction torque, offset excluded, of bristles bent by z, and the rate of z.

    torque = stiffness z + damping zd + viscous qd,  zd = phi(lam h) (qd - lam z),
    lam = stiffness |qd| / g(qd),  phi(a) = (1 - exp(-a)) / a,
    with g the Coulomb friction of qd's direction times the Stribeck factor (Canudas de Wit, Olsson,
    Astrom, Lischinsky 1995). phi is 1 for h = 0; for a step h it makes z + h zd the exact solution
    at constant qd, so that an explicit integrator never runs away however stiff the bristles.
    """
    stiffness, damping = resistance.constants["stiffness"], resistance.constants["damping"]
    side = fn.select(qd < 0.0, -resistance.minus, resistance.plus)
    g = fn.max(side * _stribeck_factor(qd, resistance.constants, fn), NO_FRICTION)
    lam = stiffness * fn.max(qd, -qd) / g
    zd = _phi(lam * h, fn) * (qd - lam * z)
    return stiffness * z + damping * zd + _shaped(resistance, qd, 0.0, 0.0, fn), zd


def _phi(a: Any, fn: Functions) -> Any:
    """(1 - exp(-a)) / a for a >= 0."""
    small, large = fn.min(a, SERIES), fn.max(a, SERIES)
    series = 1.0 - small * (0.5 - small * (1.0 / 6.0 - small / 24.0))
    return fn.select(a < SERIES, series, (1.0 - fn.exp(-large)) / large)


def columns(resistance: Resistance, qd: Any, fn: Functions) -> tuple[Any, ...]:
    """d tau / d (viscous, coulomb+, coulomb-, offset), and d viscous- where there is one."""
    V, P, N = SHAPES[resistance.law](qd, resistance.constants, fn)
    if resistance.viscous_minus is None:
        return V, P, N, 1.0
    return fn.max(V, 0.0), P, N, 1.0, fn.min(V, 0.0)


def motor_columns(chain: Chain, i: int, xd: Scalars, fn: Functions) -> tuple:
    """(V, P, N) of a motor coupled to several joints, at its own speed u = row . qd.

    Its law is that of its own joint.
    """
    resistance = chain.resistances[i]
    return SHAPES[resistance.law](motor_rate(chain.motors[i], xd), resistance.constants, fn)


def motor_friction(chain: Chain, i: int, xd: Scalars, fn: Functions) -> Any:
    """Friction of a motor coupled to several joints, in units of its joint."""
    motor, (V, P, N) = chain.motors[i], motor_columns(chain, i, xd, fn)
    return motor.viscous * V + motor.plus * P + motor.minus * N


def friction_tree(chain: Chain, xd: Scalars, fn: Functions) -> list:
    """Friction of every tree joint, coupled motors included; rotor bodies have none."""
    tau = [torque(r, x, fn) for r, x in zip(chain.resistances, xd, strict=False)]
    for i, motor in enumerate(chain.motors):
        if motor.coupled:
            own = motor_friction(chain, i, xd, fn)
            tau = [t + r * own for t, r in zip(tau, motor.row, strict=True)]
    return tau + [0.0] * (len(chain.joints) - len(tau))


def friction_columns(
    chain: Chain, xd: Scalars, fn: Functions, smoothing: Any = None
) -> dict[Place, Scalars]:
    """d tau / d parameter over the tree; `smoothing` (rad/s) has tanh(xd / smoothing) as sign."""
    found: dict[Place, Scalars] = {}
    size = len(chain.joints)

    def direction(rate: Any) -> Any:
        return fn.sign(rate) if smoothing is None else fn.tanh(rate / smoothing)

    for i, r in enumerate(chain.resistances):
        V, P, N, *others = columns(r, xd[i], fn)
        if smoothing is not None:
            P, N = _sides(direction(xd[i]), fn)
        for field, value in zip((*FIELDS, *BACKWARDS), (V, P, N, *others), strict=False):
            found[Place("resistances", i, field)] = entry(i, value, size)
        for k in range(len(r.memory)):
            found[Place("memory", i, k)] = entry(i, direction(xd[i]), size)
        if r.own is not None:
            for k, value in enumerate(own_parts(r.own, xd[i], direction(xd[i]), fn)[1]):
                found[Place("laws", i, k)] = entry(i, value, size)
    for i, motor in enumerate(chain.motors):
        if motor.coupled:
            shapes = motor_columns(chain, i, xd, fn)
            if smoothing is not None:
                u = motor_rate(motor, xd)
                shapes = u, *_sides(direction(u), fn)
            for field, value in zip(MOTOR, shapes, strict=True):
                own = [weight * value for weight in motor.row]
                found[Place("motors", i, field)] = own + [0.0] * (size - chain.links)
    return found


class JointFriction(Element):
    """Friction of the joints of a chain, and of motors that several of them share."""

    over = TREE
    name = "friction"

    def torque(self, at: Instant) -> Scalars:
        """Friction that does not know the load."""
        return friction_tree(at.chain, at.xd, at.fn)

    def columns(self, at: Instant) -> Mapping[Place, Scalars]:
        """Those of all coefficients; zeros with two velocities."""
        found = friction_columns(at.chain, at.xd, at.fn)
        if at.qd_ref is None:
            return found
        return {place: [0.0] * len(column) for place, column in found.items()}


FRICTION = JointFriction()


def friction_torque(
    chain: Chain, qd: Scalars, fn: Functions, temperature: Scalars | None = None
) -> Scalars:
    """Friction torque on the coordinates, (n,)."""
    chain = at_temperature(chain, temperature, fn)
    return coupling.torques(chain, friction_tree(chain, coupling.rates(chain, qd), fn))


# Friction under load. A coordinate that transmits T rubs by s |T| more, s = load S(qd). Of a torque
# n that is left after all other friction T = n / (1 + s sign(n)) arrives: T + s |T| grows with T as
# long as |s| < 1, so there is one answer only, coordinate by coordinate.


def load_dependent(chain: Chain) -> list[tuple[int, Resistance]]:
    """Coordinate and friction of every joint that rubs more under load; passive ones carry none."""
    rows = [(_coordinate(chain, i), r) for i, r in enumerate(chain.resistances) if not zero(r.load)]
    return [row for row in rows if row[0] in chain.driven]


def load_share(resistance: Resistance, qd: Any, fn: Functions, direction: Any = None) -> Any:
    """s: friction per transmitted torque, of the sign of the motion."""
    _, P, N = SHAPES[resistance.law](qd, resistance.constants, fn, direction)
    return resistance.load * (P - N)


def load_shares(chain: Chain, qd: Scalars, fn: Functions) -> list[Any]:
    """s of every coordinate, (n,)."""
    shares: list[Any] = [0.0] * chain.n
    for c, resistance in load_dependent(chain):
        shares[c] = load_share(resistance, qd[c], fn)
    return shares


def taken(n: Any, share: Any, fn: Functions) -> Any:
    """What friction under load takes of a torque n that all other friction has left."""
    return share * fn.max(n, -n) / (1.0 + share * fn.sign(n))


def load_friction(chain: Chain, qd: Scalars, T: Scalars, fn: Functions) -> list[Any]:
    """Friction under load of coordinates that transmit T, (n,)."""
    shares = load_shares(chain, qd, fn)
    return [0.0 if zero(s) else s * fn.max(t, -t) for s, t in zip(shares, T, strict=True)]


def driven_load_friction(chain: Chain, qd: Scalars, tau: Scalars, fn: Functions) -> list[Any]:
    """Friction under load of coordinates that are driven by tau, (n,)."""
    own, shares = friction_torque(chain, qd, fn), load_shares(chain, qd, fn)
    rows = zip(shares, tau, own, strict=True)
    return [0.0 if zero(s) else taken(t - f, s, fn) for s, t, f in rows]


def after_load_friction(
    chain: Chain, qd: Scalars, tau: Scalars, fn: Functions
) -> tuple[Chain, Scalars]:
    """The chain without friction under load, and what that friction leaves of driving torques."""
    if not load_dependent(chain):
        return chain, tau
    left = less(tau, driven_load_friction(chain, qd, tau, fn))
    return without_load_friction(chain), left


def without_load_friction(chain: Chain) -> Chain:
    """The chain whose friction does not know what it transmits."""
    return replace(chain, resistances=tuple(r._replace(load=0.0) for r in chain.resistances))


def _coordinate(chain: Chain, i: int) -> int:
    """The coordinate that moves a joint of the tree."""
    if chain.coupling is None:
        return i
    return next(c for c, w in enumerate(chain.coupling[i]) if not zero(w))


# Friction by temperature.


def thermal_joints(chain: Chain) -> list[tuple[int, int, Thermal]]:
    """(joint of the tree, its coordinate, its law) of viscous friction that feels temperature."""
    rows = enumerate(chain.resistances)
    return [(i, _coordinate(chain, i), r.thermal) for i, r in rows if r.thermal is not None]


def at_temperature(chain: Chain, temperature: Scalars | None, fn: Functions) -> Chain:
    """The chain with the viscous friction of these temperatures of the coordinates, deg C."""
    if temperature is None:
        return chain
    joints = {i: temperature[c] - law.reference for i, c, law in thermal_joints(chain)}
    return warmed(chain, joints, fn)


def warmed(chain: Chain, above: Mapping[int, Any], fn: Functions) -> Chain:
    """The chain whose joints are so much warmer than their reference temperatures, K."""
    resistances = list(chain.resistances)
    for i, rise in above.items():
        r = resistances[i]
        factor = fn.max(0.0, 1.0 + r.thermal.slope * rise)  # type: ignore[union-attr]
        back = None if r.viscous_minus is None else r.viscous_minus * factor
        resistances[i] = r._replace(viscous=r.viscous * factor, viscous_minus=back)
    return replace(chain, resistances=tuple(resistances))


def heating_rates(law: Thermal, rises: Scalars, power: Any) -> list[Any]:
    """d/dt of the two rises of a joint, K/s, at a power of friction in W."""
    parts = zip(law.heating, law.time, rises, strict=True)
    return [(heating * power - rise) / time for heating, time, rise in parts]
