"""Friction with memory next to the step: elements that are too stiff for it slip at once.

A stretched element is a spring. Elements whose springs would let a joint vibrate faster than steps
follow are taken as Coulomb friction of the same torque, the stiffest first.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...dynamics import equation
from ...errors import counted, worded
from ...lazy import once
from ...model.chain import Chain
from ...model.check.finding import Finding
from ...spatial.functions import MATH
from ..tableau import round_step
from .vibration import RESOLVED, configurations

if TYPE_CHECKING:
    from ...robot import Robot


class Unresolved(NamedTuple):
    """An element that slips at once: the tree joint, its number there, and rad/s of its spring."""

    joint: int
    number: int
    frequency: float


def unresolved(robot: "Robot", dt: float) -> list[Unresolved]:
    """Elements of friction with memory that steps of dt do not follow."""
    found = []
    for i, resistance in enumerate(robot.chain.resistances):
        if not resistance.memory:
            continue
        mobility = once(robot, "mobility of joints", lambda: _mobility(robot))[i]
        left = 0.0
        stiff = [float(x.weight) / float(x.radius) for x in resistance.memory]
        for k in np.argsort(stiff):  # soft ones first: those left over are the stiffest
            left += max(stiff[k], 0.0)
            frequency = float(np.sqrt(left * mobility))
            if not frequency * dt <= RESOLVED:
                found.append(Unresolved(i, int(k), frequency))
    return found


def _mobility(robot: "Robot") -> np.ndarray:
    """The largest acceleration per torque of every tree joint, wherever the robot is."""
    most = np.zeros(robot.chain.links)
    for q in configurations(robot):
        M = np.array(equation.mass_matrix(robot.chain, [*map(float, q)], MATH), dtype=float)
        values = np.linalg.eigvalsh(M)
        if not values[0] > 1e-12 * values[-1]:
            return np.full(robot.chain.links, np.inf)
        own = np.diagonal(np.linalg.inv(M))
        rows = robot.chain.coupling
        if rows is not None:
            factors = np.array([[float(w) for w in row] for row in rows[: robot.chain.links]])
            own = (factors * factors) @ own
        most = np.maximum(most, own)
    return most


def slipping_finding(robot: "Robot", dt: float) -> list[Finding]:
    """A note on the elements that steps of dt do not follow; none where they follow all."""
    found = unresolved(robot, dt)
    if not found:
        return []
    names, fastest = robot.model.tree_joint_names, max(x.frequency for x in found)
    joints = worded(dict.fromkeys(repr(names[x.joint]) for x in found))
    what = (
        f"{counted(len(found), 'element')} of friction with memory ({joints}) slipped at once, as "
        f"Coulomb friction does: stretched they vibrate too fast for steps of {dt:g} s"
    )
    remedy = "nothing, unless motions before sliding matter"
    if np.isfinite(fastest):
        remedy = f"for motions before sliding use dt={round_step(RESOLVED / fastest):g}"
    return [Finding("note", "step", what, remedy)]


def slipping_at_once(chain: Chain, elements: list[Unresolved]) -> Chain:
    """The chain with these elements as Coulomb friction."""
    resistances = list(chain.resistances)
    for i, k, _ in elements:
        memory = list(resistances[i].memory)
        memory[k] = memory[k]._replace(radius=0.0)
        resistances[i] = resistances[i]._replace(memory=tuple(memory))
    return replace(chain, resistances=tuple(resistances))
