"""The drive of a joint: a motor behind a gear or a screw, rigid or elastic.

Everything here is on the motor's side but stiffness, damping, hardening and backlash, which are in
units of the joint. A gear ratio may be negative; inertia and viscous friction
reflect to the joint with G squared, Coulomb friction with |G|. The Coulomb pair is ordered by the
joint's direction: (joint moving positive, joint moving negative). A screw of lead p (metres per
motor turn, negative if left-handed) is a gear of G = 2 pi / p.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from ..arguments import strict
from ..errors import ModelError, shown
from ..spatial.vectors import Vector
from .friction import coulomb_pair
from .quantity import Expression, Scalar, check_direction, quantity, settle
from .schema import About, schema, settle_fields

Circuit = partial(About, group="circuit", feature="motor circuits", above=0.0)
Rotor = partial(About, group="rotor", feature="rotor placement")  # with rotors="full"
Elastic = partial(About, group="elastic", feature="elastic joints", least=0.0)
Own = partial(About, feature="which friction is the joint's and which the motor's")


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
    A motor without `torque_constant` is an ideal source of torque within `limits`. What a control
    computer with converters (`dy.control.Board`) asks its amplifier for is `amplifier_gain` (A/V)
    times the volts of its D/A converter.

    With a `stiffness` K the joint is elastic when simulated: link position q and motor position th
    (in units of the joint, motor angle / gear) differ by d = th - q, and the gear transmits
    K d + hardening d^3 + damping d'. Teeth with `backlash` b touch where |d| > b: b is the free
    play to either side. Without stiffness it is rigid.

    The fields from `rotor_link` on matter only with full rotor kinetics (`rotors="full"`): the
    link that carries the motor (default: the one before the joint), the spin axis and a point of
    it in that link's frame (default: the joint's axis), and the rotor's unbalance (mass times
    eccentricity, kg m, along x and y of the rotor at motor angle zero).
    """

    gear: Annotated[Scalar, About("motor turns per joint turn", "{gear}", feature="gears")] = 1.0
    lead: Annotated[
        Scalar | None,
        About("of a screw, instead of gear", "m/turn", label="screw lead", feature="screw leads"),
    ] = None
    rotor_inertia: Annotated[Scalar, About("about its own axis", "kg m^2")] = 0.0
    viscous: Annotated[Scalar, Own("per speed", "N m s/rad", label="motor viscous")] = 0.0
    coulomb: Annotated[
        Any, Own("one number, or joint moving positive, negative", "N m", 0, label="motor Coulomb")
    ] = (0.0, 0.0)
    efficiency: Annotated[
        Scalar, About("of the gear, at most 1", "-", above=0.0, feature="gear efficiency")
    ] = 1.0
    limits: Annotated[
        Any,
        About("lowest, highest", "N m", 2, label="motor torque", feature="motor torque limits"),
    ] = None
    resistance: Annotated[Scalar | None, Circuit("of the windings", "ohm")] = None
    inductance: Annotated[Scalar, Circuit("of the windings", "H")] = 0.0
    torque_constant: Annotated[
        Scalar | None, Circuit("with it the motor is a DC motor when simulated", "N m/A")
    ] = None
    voltage_limit: Annotated[Scalar | None, Circuit("of the amplifier", "V")] = None
    current_limit: Annotated[Scalar | None, Circuit("of the amplifier", "A")] = None
    current_bandwidth: Annotated[
        Scalar, Circuit("of the current loop", "rad/s", label="current loop")
    ] = 1000.0
    amplifier_gain: Annotated[
        Scalar | None, Circuit("current per volt of a D/A converter", "A/V")
    ] = None
    stiffness: Annotated[
        Scalar | None,
        About("of gear and shaft; without it the joint is rigid", "{stiffness}", above=0.0,
              group="elastic", feature="elastic joints"),
    ] = None  # fmt: skip
    damping: Annotated[Scalar, Elastic("of the elastic joint", "{viscous}")] = 0.0
    hardening: Annotated[Scalar, Elastic("times the cube of its deflection", "{hardening}")] = 0.0
    backlash: Annotated[
        Scalar, Elastic("free play of the gear to either side", "{position}", feature="backlash")
    ] = 0.0
    rotor_link: Annotated[str | None, Rotor("link (or base) that carries the motor")] = None
    rotor_axis: Annotated[Vector | None, Rotor("that the rotor spins about", "-", 3)] = None
    rotor_position: Annotated[Vector | None, Rotor("a point of that axis", "m", 3)] = None
    unbalance: Annotated[
        tuple[Scalar, Scalar],
        Rotor("mass times eccentricity along x, y", "kg m", 2, feature="rotor unbalance"),
    ] = (0.0, 0.0)

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
        settle_fields(self, "drive.")
        settle(self, coulomb=coulomb_pair(self.coulomb, "drive.coulomb"))
        check_direction(self.rotor_axis, "drive.rotor_axis")
        if not isinstance(self.rotor_link, str | None):
            what = f"drive.rotor_link is {shown(self.rotor_link)}"
            raise ModelError(f"{what}, expected the name of a link")
        if self.stiffness is None and (given := [x for x in ELASTIC if getattr(self, x) != 0.0]):
            raise ModelError(
                f"drive.{given[0]} is {getattr(self, given[0])}, without drive.stiffness: "
                "a rigid joint has none",
                "give the stiffness of the gear too (joint side, N m/rad or N/m)",
            )
        missing = [x for x in ("resistance", "torque_constant") if getattr(self, x) is None]
        if self.voltage_limit is not None and missing:
            raise ModelError(
                f"drive.voltage_limit is {self.voltage_limit}, without drive.{missing[0]}: "
                "a voltage limits nothing unless the motor's circuit is known",
                "give resistance (ohm) and torque_constant (N m/A) too, or limits (N m) instead",
            )


ELASTIC = ("damping", "hardening", "backlash")  # what only an elastic joint has
RIGID: Mapping[str, Any] = {"stiffness": None, **dict.fromkeys(ELASTIC, 0.0)}
CIRCUIT = tuple(name for name, x in schema(Drive).items() if x.group == "circuit")


def screw_gear(lead: Scalar) -> Scalar:
    """Motor radians per metre of a screw: 2 pi / lead."""
    if isinstance(lead, Expression):
        return Expression(f"2*pi/({lead.text})")
    if lead == 0.0 or not math.isfinite(math.tau / lead):
        raise ModelError(f"drive.lead is {lead}, expected metres per motor turn, such as 0.005")
    return math.tau / lead
