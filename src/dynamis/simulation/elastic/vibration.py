"""Vibration of elastic joints next to the step: which integrator a simulation takes.

Explicit steps follow a mode of w rad/s while w dt is at most `RESOLVED`; beyond it they lose it and
then blow up. Where a mode of the arm is faster, the step is implicit in the gears (`stiff_gears`):
stable for any stiffness, with the modes that it does not resolve damped.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...compile.arrays import NUMPY
from ...dynamics import equation
from ...dynamics.elastic import expanded
from ...errors import OptionError
from ...lazy import once
from ...model.chain import Chain
from ...spatial.functions import MATH
from ..tableau import RK4, ROS34PW2, Tableau, round_step
from .backlash import with_backlash
from .stiff_gears import elastic_gears, stiffened

if TYPE_CHECKING:
    from ...robot import Robot

RESOLVED = 0.7  # w dt of the fastest mode that explicit steps follow: RK4 damps it by 0.02 %
CONFIGURATIONS = 24  # that the modes are looked at in


class Vibration(NamedTuple):
    """The fastest vibration of the elastic joints of a robot, wherever it is, rad/s.

    `contacts` are those of every gear with backlash by itself.
    """

    frequency: float
    decay: float
    contacts: tuple[float, ...] = ()

    def resolved(self, dt: float) -> bool:
        """Whether explicit steps of dt follow it."""
        return max(self.frequency, self.decay) * dt <= RESOLVED


def vibration(robot: "Robot") -> Vibration:
    """The fastest vibration in any configuration that is looked at, motors free to move."""
    return once(robot, "vibration", lambda: _vibration(robot))


def _vibration(robot: "Robot") -> Vibration:
    chain = expanded(robot.chain)
    fastest = np.max([_fastest(chain, q) for q in configurations(robot)], axis=0)
    w2, decay, *contacts = fastest.tolist()
    return Vibration(math.sqrt(w2), decay, tuple(map(math.sqrt, contacts)))


def short_contacts(robot: "Robot", dt: float) -> tuple[bool, ...]:
    """Of every gear with backlash, whether teeth that meet part again within about a step."""
    if not robot.chain.with_backlash:
        return ()
    return tuple(w * dt > RESOLVED for w in vibration(robot).contacts)


def configurations(robot: "Robot") -> list[np.ndarray]:
    """Home, those that the model names, and random ones within the limits, always the same."""
    found = [robot.home, *robot.configurations.values()]
    if not robot.model.closures:
        low, high = (np.clip(x, -math.pi, math.pi) for x in robot.limits.T)
        random = np.random.default_rng(0).random((CONFIGURATIONS, robot.n))
        found += list(low + (high - low) * random)
    return found


def _fastest(chain: Chain, q: np.ndarray) -> np.ndarray:
    """The largest eigenvalues of M^-1 K and M^-1 D; K / m of every gear with backlash."""
    gears = elastic_gears(chain)
    x = [*map(float, q), *(float(q[gear.joint]) for gear in gears)]
    M = np.array(equation.mass_matrix(chain, x, MATH), dtype=float)
    values = np.linalg.eigvalsh(M)
    if not values[0] > 1e-12 * values[-1]:  # a link without mass: as stiff as can be
        return np.array([math.inf, 0.0, *([math.inf] * len(chain.with_backlash))])
    zero: list[list[float]] = [[0.0] * len(M) for _ in M]
    half = np.linalg.inv(np.linalg.cholesky(M))
    found = []
    for numbers in (_stiffnesses(gears), [float(x.gear.damping) for x in gears]):
        K = np.array(stiffened(zero, gears, numbers))
        found.append(float(np.linalg.eigvalsh(half @ K @ half.T)[-1]))
    inverse = half.T @ half
    for own in with_backlash(gears):
        i, j = own.joint, own.motor
        mobility = inverse[i, i] - 2.0 * inverse[i, j] + inverse[j, j]
        found.append(float(own.gear.stiffness) * mobility)
    return np.array(found)


def _stiffnesses(gears: list) -> list[float]:
    return [float(x.gear.stiffness) for x in gears]


def fastest_friction(robot: "Robot", q: np.ndarray, dt: float, gamma: float) -> tuple[float, int]:
    """The largest eigenvalue of W^-1 D in any of q (k, n), 1/s, and the joint it is due to.

    D is viscous friction of links and of motors behind elastic gears, W their inertia in a step of
    dt: with `gamma` above 0 (`ROS34PW2`) gears tie motor and link, else each moves by itself.
    """
    chain = expanded(robot.chain)
    gears = elastic_gears(chain)
    x = [*q.T, *(q[:, gear.joint] for gear in gears)]
    h = gamma * dt
    tied = [h * float(x.gear.damping) + h * h * float(x.gear.stiffness) for x in gears]
    M = stiffened(equation.mass_matrix(chain, x, NUMPY), gears, tied)
    W = np.array([[np.broadcast_to(value, len(q)) for value in row] for row in M]).T
    W = W[np.isfinite(W).all((1, 2))]
    W = W[np.linalg.eigvalsh(W)[:, 0] > 0.0]
    if not len(W):
        return 0.0, 0
    D = np.array([float(r.mean_viscous) for r in chain.resistances])
    inverse = np.linalg.inv(W)
    k = int(np.argmax(np.diagonal(inverse, axis1=1, axis2=2).max(0) * D))
    joint = {gear.motor: gear.joint for gear in gears}.get(k, k)
    return float(np.linalg.eigvals(inverse * D).real.max()), joint


def integrator_for(robot: "Robot", tableau: Tableau, dt: float) -> Tableau:
    """The integrator of a simulation in steps of dt: implicit where joints vibrate faster.

    One that was asked for by name and cannot follow is refused.
    """
    if not robot.chain.elastic:
        if tableau.gamma:
            raise OptionError(
                f"integrator {tableau.name!r} is for elastic joints, and robot {robot.name!r} has "
                "none",
                'use integrator="rk4", or give a drive its stiffness',
            )
        return tableau
    fastest = vibration(robot)
    if tableau.gamma or tableau.adaptive or fastest.resolved(dt):
        return tableau
    if tableau is RK4:
        return ROS34PW2
    rate = max(fastest.frequency, fastest.decay)
    what = f"robot {robot.name!r} vibrates at {fastest.frequency / math.tau:.4g} Hz in its elastic"
    if fastest.decay > fastest.frequency:
        what = f"damping of robot {robot.name!r} takes {1.0 / fastest.decay:.2g} s in its elastic"
    raise OptionError(
        f"{what} joints, too fast for {tableau.name} in steps of dt = {dt:g} s",
        'use integrator="rk4", which takes an implicit step here, or '
        f"dt = {round_step(RESOLVED / rate):g} s",
    )
