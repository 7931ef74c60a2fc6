"""Rotors as their joints feel them: an inertia reflected through the gears."""

from collections.abc import Mapping

from ...model.places import Place
from ...spatial.vectors import Scalars
from ..drives import motor_rate, rotor_torque
from ..instant import Instant
from .element import TREE, Element


class Rotors(Element):
    """The reflected rotors of a chain; those that are bodies of the tree belong to BODIES."""

    over = TREE
    name = "rotor"

    def torque(self, at: Instant) -> Scalars:
        """rotor_matrix xdd"""
        return rotor_torque(at.chain, at.xdd)

    def columns(self, at: Instant) -> Mapping[Place, Scalars]:
        """row u of every motor, u = row . xdd."""
        c, found = at.chain, {}
        rest = [0.0] * (len(c.joints) - c.links)
        for i, motor in enumerate(() if c.rotors else c.motors):
            u = motor_rate(motor, at.xdd)
            found[Place("motors", i, "inertia")] = [r * u for r in motor.row] + rest
        return found


ROTORS = Rotors()
