"""Elastic gears between joints and motors that move by themselves (see `dynamics.elastic`).

With d = th - q, motor position less joint position, in units of the joint, a gear transmits

    e = K s + K3 s^3 + D d'[engaged],    s = d - min(max(d, -b), b)

from the motor to the joint. The teeth touch where |d| > b; within the backlash nothing acts.
"""

from collections.abc import Mapping
from typing import Any

from ...model.chain import Chain, Elasticity
from ...model.places import Place
from ...spatial.functions import Functions, zero
from ...spatial.vectors import Scalars
from ..instant import Instant
from .element import TREE, Element

FIELDS = ("stiffness", "damping", "hardening")  # that the torque is linear in


def moving_motors(chain: Chain) -> list[Elasticity]:
    """Elastic gears whose motors move by themselves."""
    return [x for x in chain.elastic if x.motor >= 0]


def deflection(gear: Elasticity, d: Any, fn: Functions) -> Any:
    """Deflection of the teeth in contact, 0 within the backlash."""
    if zero(gear.backlash):
        return d if zero(gear.rest) else d - gear.rest
    return d - fn.max(-gear.backlash, fn.min(d, gear.backlash))


def engaged(gear: Elasticity, d: Any, fn: Functions) -> Any:
    """1 where the teeth touch, 0 within the backlash."""
    if zero(gear.backlash):
        return 1.0
    return 1.0 - (d > -gear.backlash) * (d < gear.backlash)


def transmitted(gear: Elasticity, d: Any, rate: Any, fn: Functions) -> Any:
    """Torque from motor to joint."""
    stiffness, damping, hardening = shapes(gear, d, rate, fn)
    total = gear.stiffness * stiffness
    if not zero(gear.hardening):
        total = total + gear.hardening * hardening
    return total if zero(gear.damping) else total + gear.damping * damping


def shapes(gear: Elasticity, d: Any, rate: Any, fn: Functions) -> tuple[Any, Any, Any]:
    """What stiffness, damping and hardening are multiplied by."""
    s = deflection(gear, d, fn)
    if not zero(gear.backlash):
        rate = fn.select(engaged(gear, d, fn) > 0.0, rate, 0.0)
    return s, rate, s * s * s


def stored(gear: Elasticity, d: Any, fn: Functions) -> Any:
    """Energy of the deflection: K s^2 / 2 + K3 s^4 / 4."""
    s = deflection(gear, d, fn)
    square = s * s
    energy = 0.5 * gear.stiffness * square
    return energy if zero(gear.hardening) else energy + 0.25 * gear.hardening * (square * square)


def tangent(gear: Elasticity, d: Any, fn: Functions) -> Any:
    """de/dd of the teeth in contact: K + 3 K3 s^2."""
    if zero(gear.hardening):
        return gear.stiffness
    s = deflection(gear, d, fn)
    return gear.stiffness + 3.0 * gear.hardening * (s * s)


def static_deflection(gear: Elasticity, torque: Any, fn: Functions) -> Any:
    """s of K s + K3 s^3 = torque, by Cardano: 3 torque / K / (v^2 + 1 + 1 / v^2).

    v^3 = b + sqrt(b^2 + 1), b = |torque| / (2 K3) (3 K3 / K)^(3/2): nothing cancels.
    """
    linear = torque / gear.stiffness
    if zero(gear.hardening):
        return linear
    ratio = 3.0 * gear.hardening / gear.stiffness
    b = 1.5 * fn.max(linear, -linear) * fn.sqrt(ratio)
    square = (b + fn.sqrt(b * b + 1.0)) ** (2.0 / 3.0)
    return 3.0 * linear / (square + 1.0 + 1.0 / square)


class Gears(Element):
    """The elastic gears of a chain whose motors move by themselves."""

    over = TREE
    name = "gear"

    def acts(self, chain: Chain) -> bool:
        """Whether a motor moves by itself."""
        return bool(moving_motors(chain))

    def torque(self, at: Instant) -> Scalars:
        """e of every motor, -e of its joint."""
        total: list[Any] = [0.0] * len(at.x)
        for gear in moving_motors(at.chain):
            e = transmitted(gear, *_difference(gear, at), at.fn)
            total[gear.joint] = total[gear.joint] - e
            total[gear.motor] = total[gear.motor] + e
        return total

    def columns(self, at: Instant) -> Mapping[Place, Scalars]:
        """Those of stiffness, damping and hardening."""
        found = {}
        for k, gear in enumerate(moving_motors(at.chain)):
            for field, x in zip(FIELDS, shapes(gear, *_difference(gear, at), at.fn), strict=True):
                column: list[Any] = [0.0] * len(at.x)
                column[gear.joint], column[gear.motor] = -x, x
                found[Place("elastic", k, field)] = column
        return found

    def energy(self, at: Instant) -> Any:
        """Energy of the deflections."""
        return sum(
            stored(gear, _difference(gear, at)[0], at.fn) for gear in moving_motors(at.chain)
        )


def _difference(gear: Elasticity, at: Instant) -> tuple[Any, Any]:
    """d and its rate."""
    return at.x[gear.motor] - at.x[gear.joint], at.xd[gear.motor] - at.xd[gear.joint]


GEARS = Gears()
