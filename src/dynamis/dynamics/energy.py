"""Energies, momentum and the centre of mass."""

from typing import Any

from ..errors import ModelError
from ..model.chain import Chain
from ..spatial.frames import Frame
from ..spatial.functions import Functions, zero
from ..spatial.inertia import rotated, times
from ..spatial.rotations import rotate, transpose
from ..spatial.vectors import ZERO, Scalars, Vector, add, cross, dot, scale, subtract
from . import coupling, drives, elements
from .coriolis import Twist, momentum, velocities
from .instant import at_rest
from .kinematics import inertias, motions, poses


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
    """U = - sum g . (m p + R h), zero at the origin of the reference frame; springs and loads."""
    return elements.potential_energy(at_rest(chain, fn, q))


def com(chain: Chain, q: Scalars, fn: Functions) -> Vector:
    """Centre of mass of the whole arm in the reference frame, (3,)."""
    masses, moments, _ = _masses(chain, coupling.positions(chain, q), fn)
    return scale(1.0 / _total(masses), add(*moments))


def com_jacobian(chain: Chain, q: Scalars, fn: Functions) -> list:
    """J(q): velocity of the centre of mass = J qd, reference axes, (3, n)."""
    x = coupling.positions(chain, q)
    masses, moments, where = _masses(chain, x, fn)
    total, columns = _total(masses), []
    for j, joint in enumerate(chain.joints):
        carried = [i for i in range(len(where)) if j in chain.ancestors(i)]
        mass, moment = sum(masses[i] for i in carried), add(*(moments[i] for i in carried))
        z, slide = transpose(where[j].R)[2], chain.bodies[j].slide
        column = scale(mass, z)
        if joint.kind == "revolute":
            column = cross(z, subtract(moment, scale(mass, where[j].p)))
        if slide is not None:  # its own mass moves in the link
            column = add(column, scale(slide * chain.bodies[j].inertia.m, z))
        columns.append(scale(1.0 / total, column))
    return [coupling.torques(chain, row) for row in zip(*columns, strict=True)]


def _masses(chain: Chain, x: Scalars, fn: Functions) -> tuple[list, list[Vector], list[Frame]]:
    """Mass and first moment of every body, and the poses of the joint frames."""
    where, bodies = poses(chain, x, fn), inertias(chain, x)
    pairs = list(zip(bodies, where, strict=True))
    moments = [add(scale(body.m, T.p), rotate(T.R, body.h)) for body, T in pairs]
    return [body.m for body in bodies], moments, where


def _total(masses: list) -> Any:
    total = sum(masses)
    if zero(total):
        raise ModelError(
            "no link has a mass: the arm has no centre of mass", "give its links a mass"
        )
    return total


def centroidal_momentum(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> tuple[Any, ...]:
    """Linear momentum, then angular momentum about the centre of mass, reference axes, (6,)."""
    momentum = spatial_momentum(chain, q, qd, fn)
    P, L = momentum[:3], momentum[3:]
    return *P, *subtract(L, cross(com(chain, q, fn), P))


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
