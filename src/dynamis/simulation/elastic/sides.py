"""States and forces of the joints and of the motors behind elastic gears, apart and together.

Together they are those of all coordinates of the expanded chain: motors stand after the joints,
and the torques of the drives act on the motors.
"""

from dataclasses import dataclass, replace
from typing import Any

from ...spatial.vectors import Scalars
from ..state import Acting, PlantState
from .stiff_gears import ElasticGear, Rates

SIDES = {  # parts of links, and of motors behind elastic gears, that stand one after the other
    "q": "motor", "qd": "motor_rate", "friction": "motor_friction", "direction": "motor_direction",
}  # fmt: skip
DRIVES = ("tau", "command")  # torques of the drives, by joint


@dataclass(frozen=True)
class Sides:
    """The coordinates of `joints` joints, then of the motors of elastic gears.

    Without such gears all that is asked for is what was given.
    """

    joints: int
    gears: list[ElasticGear]

    def joined(self, x: PlantState) -> PlantState:
        """State over all coordinates."""
        if not self.gears:
            return x
        both = {a: [*getattr(x, a), *getattr(x, b)] for a, b in SIDES.items()}
        drives = {name: self._to_motors(getattr(x, name)) for name in DRIVES}
        return replace(x, **both, **drives)

    def parted(self, x: PlantState) -> PlantState:
        """State of joints and of motors apart."""
        if not self.gears:
            return x
        n, both = self.joints, {}
        for a, b in SIDES.items():
            both[a], both[b] = getattr(x, a)[:n], getattr(x, a)[n:]
        drives = {name: self._from_motors(getattr(x, name)) for name in DRIVES}
        return replace(x, **both, **drives)

    def rates_apart(self, rates: Rates) -> dict[str, list[Any]]:
        """Rates of joints and of motors apart."""
        n = self.joints
        both = {"motor": rates["q"][n:], "motor_rate": rates["qd"][n:]}
        return {**rates, "q": rates["q"][:n], "qd": rates["qd"][:n], **both}  # type: ignore

    def all_forces(self, acting: Acting) -> Acting:
        """Forces over all coordinates: those from outside act on the links."""
        if not self.gears:
            return acting
        torque, external, links = acting.torque, acting.external, acting.link_forces
        zeros = [0.0] * len(self.gears)
        return replace(
            acting,
            torque=None if torque is None else self._to_motors(torque),
            external=None if external is None else [*external, *zeros],
            link_forces=None if links is None else [*links, *([[0.0] * 6] * len(zeros))],
        )

    def _to_motors(self, torques: Scalars) -> list[Any]:
        elastic = [x.joint for x in self.gears]
        rigid = [0.0 if i in elastic else t for i, t in enumerate(torques)]
        return [*rigid, *(torques[i] for i in elastic)]

    def _from_motors(self, torques: Scalars) -> list[Any]:
        by_joint = list(torques[: self.joints])
        for gear in self.gears:
            by_joint[gear.joint] = torques[gear.motor]
        return by_joint
