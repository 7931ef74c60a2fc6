"""The drive of a joint: a motor behind a gear or a screw.

Everything here is on the motor's side. A gear ratio may be negative; inertia and viscous friction
reflect to the joint with G squared, Coulomb friction with |G|. The Coulomb pair is ordered by the
joint's direction: (joint moving positive, joint moving negative). A screw of lead p (metres per
motor turn, negative if left-handed) is a gear of G = 2 pi / p.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..arguments import strict
from ..errors import ModelError
from ..spatial.vectors import Vector
from .friction import coulomb_pair
from .quantity import (
    Expression,
    Scalar,
    check_direction,
    quantity,
    settle,
    settle_quantities,
)

CIRCUIT = (  # the fields of the motor's circuit: each above zero where it is given
    *("resistance", "inductance", "torque_constant"),
    *("voltage_limit", "current_limit", "current_bandwidth"),
)


@strict
@dataclass(frozen=True, kw_only=True)
class Drive:
    """Gear or screw, rotor, motor friction, efficiency and limits of one joint.

    A prismatic joint's drive may give the `lead` of its screw instead of the gear ratio: `gear`
    then reads 2 pi / lead.

    A motor with a `torque_constant` K (N m/A, which is also its back-EMF in V s/rad) is a DC motor
    when simulated: torque K i from the current i, voltage R i + L di/dt + K w at motor speed w,
    held within `current_limit` (A) and `voltage_limit` (V) to either side. With an `inductance` L
    (H) the amplifier's current loop follows at `current_bandwidth` (rad/s); without, at once.
    A motor without `torque_constant` is an ideal source of torque within `limits`.

    The fields from `rotor_link` on matter only with full rotor kinetics (`rotors="full"`): the
    link that carries the motor (default: the one before the joint), the spin axis and a point of
    it in that link's frame (default: the joint's axis), and the rotor's unbalance (mass times
    eccentricity, kg m, along x and y of the rotor at motor angle zero).
    """

    gear: Scalar = 1.0
    lead: Scalar | None = None
    rotor_inertia: Scalar = 0.0
    viscous: Scalar = 0.0
    coulomb: Any = (0.0, 0.0)
    efficiency: Scalar = 1.0
    limits: Any = None  # (lowest, highest) motor torque
    resistance: Scalar | None = None
    inductance: Scalar = 0.0
    torque_constant: Scalar | None = None
    voltage_limit: Scalar | None = None
    current_limit: Scalar | None = None
    current_bandwidth: Scalar = 1000.0
    rotor_link: str | None = None
    rotor_axis: Vector | None = None
    rotor_position: Vector | None = None
    unbalance: tuple[Scalar, Scalar] = (0.0, 0.0)

    @staticmethod
    def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
        """A lead fills the gear; one that says something else is refused."""
        if given.get("lead") is None:
            return dict(given)
        lead = quantity(given["lead"], "drive.lead")
        gear, own = screw_gear(lead), given.get("gear")
        if own is not None and quantity(own, "drive.gear") != gear:
            raise ModelError(
                f"drive gives both gear {own} and lead {lead}, expected one of them",
                "a lead alone means gear = 2 pi / lead",
            )
        return {**given, "lead": lead, "gear": gear}

    def __post_init__(self) -> None:
        settle_quantities(self, "drive.", gear=1, rotor_inertia=1, viscous=1, efficiency=1)
        settle(self, coulomb=coulomb_pair(self.coulomb, "drive.coulomb"))
        settle_quantities(self, "drive.", unbalance=2, limits=2, rotor_axis=3, rotor_position=3)
        check_direction(self.rotor_axis, "drive.rotor_axis")
        if isinstance(self.efficiency, float) and not self.efficiency > 0:
            raise ModelError(f"drive.efficiency is {self.efficiency}, expected above 0, at most 1")
        settle_quantities(self, "drive.", **dict.fromkeys(CIRCUIT, 1))
        for name in CIRCUIT:
            value, default = getattr(self, name), self.__dataclass_fields__[name].default
            if isinstance(value, float) and value != default and not value > 0:
                raise ModelError(f"drive.{name} is {value}, expected above 0")
        missing = [x for x in ("resistance", "torque_constant") if getattr(self, x) is None]
        if self.voltage_limit is not None and missing:
            raise ModelError(
                f"drive.voltage_limit is {self.voltage_limit}, without drive.{missing[0]}: "
                "a voltage limits nothing unless the motor's circuit is known",
                "give resistance (ohm) and torque_constant (N m/A) too, or limits (N m) instead",
            )


def screw_gear(lead: Scalar) -> Scalar:
    """Motor radians per metre of a screw: 2 pi / lead."""
    if isinstance(lead, Expression):
        return Expression(f"2*pi/({lead.text})")
    if lead == 0.0 or not math.isfinite(math.tau / lead):
        raise ModelError(f"drive.lead is {lead}, expected metres per motor turn, such as 0.005")
    return math.tau / lead
