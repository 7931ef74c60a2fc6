"""Where the friction that a law compensates is taken: the desired velocity, the measured, nowhere.

At the measured velocity the sign of a joint near rest follows noise and delay, and the
compensation drives a limit cycle; the desired velocity has no such feedback.
"""

from ..generic import Arm
from .controller import Measured, Reference, Scalars

FRICTION = ("desired", "measured", "none")


def friction_compensation(
    arm: Arm, choice: str, measured: Measured, reference: Reference
) -> Scalars:
    """Friction torque, offset included, at the chosen velocity; zero for "none"."""
    if choice == "none":
        return [0.0] * arm.n
    return arm.friction_torque(reference.qd if choice == "desired" else measured.qd)
