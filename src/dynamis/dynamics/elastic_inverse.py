"""Inverse dynamics of arms with elastic joints: torques and motions of the motors for one of links.

    e = M(q) q'' + h(q, q') + f_link          what every gear transmits, with e' and e''
    K s + K3 s^3 = e,   th = q + s            the motor, with th' and th''
    tau = B th'' + f_motor(th') + e

The links' Newton-Euler runs over jets (`spatial.jet`): e' and e'' need the third and the fourth
derivative of q. With damping th solves a differential equation, e = K s + K3 s^3 + D s', of
which laws of control take the slow one up to (D / K)^2, as far as four derivatives reach; the
kernel is exact and refuses it. Backlash leaves it open which teeth touch, and is refused. Coulomb
friction of the links is taken as constant between its steps. After Spong, 1987, and De Luca, 1988.
"""

from dataclasses import replace

from ..errors import OptionError
from ..model.chain import Chain, Elasticity
from ..model.friction import sides
from ..model.model import Model
from ..model.quantity import resolve
from ..spatial.functions import Functions, zero
from ..spatial.jet import Jet, jet_functions, parts
from ..spatial.vectors import Scalars
from . import projected
from .elastic import coordinate, expanded
from .elements import friction
from .elements.gears import static_deflection

Motors = tuple[Scalars, Scalars, Scalars]


def elastic_inverse_dynamics(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, qddd: Scalars, qdddd: Scalars,
    fn: Functions,
) -> Motors:  # fmt: skip
    """Torques of the motors in units of the joints, motor positions and motor rates, (n,) each."""
    if not chain.elastic:
        return projected.inverse_dynamics(chain, q, qd, qdd, fn), q, qd
    derivatives = q, qd, qdd, qddd, qdddd
    x, xd, xdd = (
        [Jet(*each) for each in zip(*derivatives[k : k + 3], strict=True)] for k in range(3)
    )
    through = projected.inverse_dynamics(link_side(chain), x, xd, xdd, jet_functions(fn))
    tau = [parts(t)[0] for t in through]
    motor, rate, own = list(q), list(qd), expanded(chain).resistances[chain.links :]
    for gear, resistance in zip(chain.elastic, own, strict=True):
        k = coordinate(chain, gear)
        th = x[k] + _deflection(gear, through[k], fn)
        motor[k], rate[k] = th.value, th.rate
        carried = chain.motors[gear.joint].inertia * th.acceleration + tau[k]
        tau[k] = carried + friction.torque(resistance, th.rate, fn)
        if not zero(resistance.load):
            share = friction.load_share(resistance, th.rate, fn)
            tau[k] = tau[k] + share * fn.max(carried, -carried)
    return tau, motor, rate


def link_side(chain: Chain) -> Chain:
    """The chain without the motors of its elastic joints: torques are those of their gears."""
    whole, size = expanded(chain), chain.links
    motors = tuple(x._replace(row=x.row[: len(chain.joints)]) for x in whole.motors[:size])
    return replace(chain, motors=motors, resistances=whole.resistances[:size], elastic=())


SLOW_PASSES = 2  # of e - D s': terms up to (D / K)^2, the last that e'' decides


def _deflection(gear: Elasticity, e: Jet, fn: Functions) -> Jet:
    """s of K s + K3 s^3 + D s' = e, slow where D is not 0: without the swing that dies out."""
    s = _spring_deflection(gear, e, fn)
    if zero(gear.damping):
        return s
    for _ in range(SLOW_PASSES):
        value, rate = e.value - gear.damping * s.rate, e.rate - gear.damping * s.acceleration
        s = _spring_deflection(gear, Jet(value, rate, e.acceleration), fn)
    return s


def _spring_deflection(gear: Elasticity, e: Jet, fn: Functions) -> Jet:
    """s of K s + K3 s^3 = e: Kt s' = e', Kt s'' + 6 K3 s s'^2 = e''."""
    s = static_deflection(gear, e.value, fn)
    if zero(gear.hardening):
        return Jet(s, e.rate / gear.stiffness, e.acceleration / gear.stiffness)
    slope = gear.stiffness + 3.0 * gear.hardening * (s * s)
    rate = e.rate / slope
    return Jet(s, rate, (e.acceleration - 6.0 * gear.hardening * s * (rate * rate)) / slope)


def refuse_undetermined(model: Model, of: str = "elastic_inverse_dynamics") -> None:
    """Name the joint whose motor does not follow from the motion of the links at one instant.

    `of` is what computes it: a law of control takes gears with damping.
    """
    law, instead = of != "elastic_inverse_dynamics", "take torques from a robot without it, robot"
    if law:
        instead = "give the law a model without it, model=robot"
    for link in model.links:
        if link.drive is None or link.drive.stiffness is None:
            continue
        given = link.drive.damping, link.drive.backlash, sides(link.friction.viscous)
        damping, backlash, viscous = resolve(given, model.values)
        endless = link.friction.law == "grotjahn" and link.friction.constants["ratio"] != 0.0
        name = link.joint_name
        reasons = (
            (
                damping and not law,
                f"drive.damping {damping}: its motor then follows a differential equation",
                f"{instead}.with_drive({name!r}, damping=0)",
            ),
            (
                backlash,
                f"drive.backlash {backlash}: the motion does not decide which teeth touch",
                f"{instead}.with_drive({name!r}, backlash=0)",
            ),
            (
                endless and any(viscous),
                "friction of law 'grotjahn', of endless slope at rest: so is the motor's rate",
                'use law="smooth" with the same ratio',
            ),
        )
        for is_so, words, hint in reasons:
            if is_so:
                raise OptionError(f"{of}: joint {name!r} has {words}", hint)
