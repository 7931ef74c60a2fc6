"""Energies and momentum."""

from typing import Any

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import rotated, times
from ..spatial.rotations import rotate
from ..spatial.vectors import ZERO, Scalars, add, cross, dot, scale
from . import coupling, drives
from .coriolis import Twist, momentum, velocities
from .kinematics import inertias, motions, poses
from .springs import spring_energy


def kinetic_energy(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> Any:
    """T = sum 1/2 m v.v + v.(w x h) + 1/2 w.I w, plus 1/2 qd^T J qd of the reflected rotors."""
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    rotors = zip(xd, drives.rotor_torque(chain, xd), strict=True)
    total = 0.5 * sum((rate * torque for rate, torque in rotors), 0.0)
    twists = velocities(chain, motions(chain, x, fn), xd)
    for body, V in zip(inertias(chain, x), twists, strict=True):
        total = total + 0.5 * body.m * dot(V.v, V.v)
        total = total + dot(V.v, cross(V.w, body.h)) + 0.5 * dot(V.w, times(body.I, V.w))
    return total


def potential_energy(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """U = - sum g . (m p + R h), zero at the origin of the reference frame; and of springs."""
    x = coupling.positions(chain, q)
    moment = ZERO
    for body, T in zip(inertias(chain, x), poses(chain, x, fn), strict=True):
        moment = add(moment, scale(body.m, T.p), rotate(T.R, body.h))
    height = -dot(chain.gravity, moment)
    return height + spring_energy(chain, q, fn) if chain.springs else height


def spatial_momentum(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> tuple[Any, ...]:
    """Linear and angular momentum of the links about the reference origin, reference axes, (6,)."""
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    P, L = ZERO, ZERO
    where, twists = poses(chain, x, fn), velocities(chain, motions(chain, x, fn), xd)
    for body, V, T in zip(inertias(chain, x), twists, where, strict=True):
        turned = rotated(body, T.R)
        f, n = momentum(turned, Twist(rotate(T.R, V.w), rotate(T.R, V.v)))
        P, L = add(P, f), add(L, n, cross(T.p, f))
    return *P, *L
