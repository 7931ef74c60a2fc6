"""What drives a joint: a motor behind a gear.

Everything here is on the motor's side. A gear ratio may be negative; inertia and viscous friction
reflect to the joint with G squared, Coulomb friction with |G|. The Coulomb pair is ordered by the
joint's direction: (joint moving positive, joint moving negative).
"""

from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..spatial.vectors import Vector
from .friction import coulomb_pair
from .keywords import strict
from .quantity import Expression, Scalar, quantities, quantity


@strict
@dataclass(frozen=True, kw_only=True)
class Drive:
    """Gear, rotor, motor friction and efficiency of one joint.

    The fields from `rotor_link` on matter only with full rotor kinetics (`rotors="full"`): the
    link that carries the motor (default: the one before the joint), the spin axis and a point of
    it in that link's frame (default: the joint's axis), and the rotor's unbalance (mass times
    eccentricity, kg m, along x and y of the rotor at motor angle zero).
    """

    gear: Scalar = 1.0
    rotor_inertia: Scalar = 0.0
    viscous: Scalar = 0.0
    coulomb: Any = (0.0, 0.0)
    efficiency: Scalar = 1.0
    limits: Any = None  # (lowest, highest) motor torque
    rotor_link: str | None = None
    rotor_axis: Vector | None = None
    rotor_position: Vector | None = None
    unbalance: tuple[Scalar, Scalar] = (0.0, 0.0)

    def __post_init__(self) -> None:
        for name in ("gear", "rotor_inertia", "viscous", "efficiency"):
            object.__setattr__(self, name, quantity(getattr(self, name), f"drive.{name}"))
        object.__setattr__(self, "coulomb", coulomb_pair(self.coulomb, "drive.coulomb"))
        object.__setattr__(self, "unbalance", quantities(self.unbalance, 2, "drive.unbalance"))
        if self.limits is not None:
            object.__setattr__(self, "limits", quantities(self.limits, 2, "drive.limits"))
        for name in ("rotor_axis", "rotor_position"):
            if getattr(self, name) is not None:
                value = quantities(getattr(self, name), 3, f"drive.{name}")
                object.__setattr__(self, name, value)
        if any(isinstance(x, Expression) for x in self.rotor_axis or ()):
            given = [str(x) for x in self.rotor_axis or ()]
            raise ModelError(f"drive.rotor_axis is {given}, expected numbers")
        if self.rotor_axis is not None and not any(self.rotor_axis):
            raise ModelError("drive.rotor_axis is (0, 0, 0), expected a direction")
        if isinstance(self.efficiency, float) and not self.efficiency > 0:
            raise ModelError(f"drive.efficiency is {self.efficiency}, expected above 0, at most 1")
