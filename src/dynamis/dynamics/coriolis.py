"""Coriolis terms with two velocities: C(q, qd) qd_ref, such that Mdot - 2C is skew.

Spatial Newton-Euler in which the link moves with V = (w, v) and is asked about Vr:

    A = X A_p + S qdd + V x S qd_ref,      F = I A + B(I, V) Vr
    B(I, V) Vr = 1/2 [V x* (I Vr) + Vr x* (I V) - I (V x Vr)]

(Echeandia and Wensing 2021; Niemeyer and Slotine 1991). With qd_ref = qd it is inverse dynamics.
"""

from typing import Any, NamedTuple

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, times
from ..spatial.rotations import Matrix3, rotate, rotate_back
from ..spatial.vectors import ZERO, Scalars, Vector, add, cross, dot, plus, scale, subtract
from . import coupling, drives
from .kinematics import inertias, motions
from .newton_euler import inward


class Twist(NamedTuple):
    """A spatial motion vector: angular part w, linear part v of the frame's origin."""

    w: Vector = ZERO
    v: Vector = ZERO


REST = Twist()


class Two(NamedTuple):
    """A link's velocity, its reference velocity and its spatial acceleration."""

    V: Twist
    Vr: Twist
    A: Twist


def into(frame: tuple[Matrix3, Vector], t: Twist) -> Twist:
    """A parent's motion seen from a child frame at (R, p)."""
    R, p = frame
    return Twist(rotate_back(R, t.w), rotate_back(R, add(t.v, cross(t.w, p))))


def product(a: Twist, b: Twist) -> Twist:
    """a x b of motions."""
    return Twist(cross(a.w, b.w), add(cross(a.w, b.v), cross(a.v, b.w)))


def momentum(body: Inertia, t: Twist) -> tuple[Vector, Vector]:
    """I t as (linear, angular about the origin)."""
    return (
        subtract(scale(body.m, t.v), cross(body.h, t.w)),
        add(times(body.I, t.w), cross(body.h, t.v)),
    )


def rate(t: Twist, momentum: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """t x* (linear, angular)"""
    f, n = momentum
    return cross(t.w, f), add(cross(t.w, n), cross(t.v, f))


class Rates(NamedTuple):
    """Velocities, reference velocities and accelerations of the tree's joints."""

    xd: Scalars
    xr: Scalars
    xdd: Scalars


def outward_two(
    chain: Chain, x: Scalars, rates: Rates, fn: Functions, gravity: bool = True
) -> tuple[list, list[Two]]:
    """Velocity, reference velocity and acceleration of every link."""
    base = Two(REST, REST, Twist(ZERO, scale(-1.0, chain.gravity) if gravity else ZERO))
    frames = motions(chain, x, fn)
    links: list[Two] = []
    for i, joint in enumerate(chain.joints):
        before = base if joint.parent < 0 else links[joint.parent]
        moved = (into(frames[i], t) for t in before)
        V, Vr, A = (axis_rate(joint.kind, s[i], t) for t, s in zip(moved, rates, strict=True))
        spin = product(V, axis_rate(joint.kind, rates.xr[i]))
        links.append(Two(V, Vr, Twist(add(A.w, spin.w), add(A.v, spin.v))))
    return frames, links


def velocities(chain: Chain, frames: list, xd: Scalars, base: Twist = REST) -> list[Twist]:
    """Velocity of every link, in its joint frame; `base` is that of the reference frame."""
    V: list[Twist] = []
    for i, joint in enumerate(chain.joints):
        still = joint.parent < 0 and base is REST
        before = base if joint.parent < 0 else V[joint.parent]
        V.append(axis_rate(joint.kind, xd[i], REST if still else into(frames[i], before)))
    return V


def axis_rate(kind: str, s: Any, t: Twist = REST) -> Twist:
    """t + S s: a motion and that of a joint about or along its z."""
    if kind == "revolute":
        return Twist((t.w[0], t.w[1], t.w[2] + s), t.v)
    return Twist(t.w, (t.v[0], t.v[1], t.v[2] + s))


def body_force(body: Inertia, link: Two) -> tuple[Vector, Vector]:
    """I A + B(I, V) Vr as (force, moment); linear in the body's ten parameters."""
    V, Vr, A = link
    f1, n1 = rate(V, momentum(body, Vr))
    f2, n2 = rate(Vr, momentum(body, V))
    f3, n3 = momentum(body, product(V, Vr))
    f, n = momentum(body, A)
    return (
        add(f, scale(0.5, subtract(add(f1, f2), f3))),
        add(n, scale(0.5, subtract(add(n1, n2), n3))),
    )


def two_velocity(
    chain: Chain, x: Scalars, rates: Rates, fn: Functions, gravity: bool = True
) -> list:
    """M qdd + C(q, qd) qd_ref + g of the tree's bodies."""
    frames, links = outward_two(chain, x, rates, fn, gravity)
    loads = [body_force(b, link) for b, link in zip(inertias(chain, x), links, strict=True)]
    return inward(chain, frames, loads)


def two_velocity_torque(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, qd_ref: Scalars, fn: Functions
) -> Scalars:
    """M qdd + C(q, qd) qd_ref + g, (n,)."""
    rates = Rates(*(coupling.rates(chain, v) for v in (qd, qd_ref, qdd)))
    tree = two_velocity(chain, coupling.positions(chain, q), rates, fn)
    rotor = drives.rotor_torque(chain, rates.xdd)
    return coupling.torques(chain, plus(tree, rotor))


def coriolis_times(chain: Chain, q: Scalars, qd: Scalars, seed: Scalars, fn: Functions) -> Scalars:
    """C(q, qd) seed, (n,)."""
    rest = [0.0] * len(chain.joints)
    rates = Rates(coupling.rates(chain, qd), coupling.rates(chain, seed), rest)
    tree = two_velocity(chain, coupling.positions(chain, q), rates, fn, gravity=False)
    return coupling.torques(chain, tree)


def coriolis_transposed(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> Scalars:
    """C(q, qd)^T qd, (n,): how the momentum M qd grows by the turning of the axes alone.

    S_i . h_i is the momentum of joint i, h_i that of all it moves, and the axis turns by V_i x S_i.
    """
    x, size = coupling.positions(chain, q), len(chain.joints)
    frames = motions(chain, x, fn)
    V = velocities(chain, frames, coupling.rates(chain, qd))
    moved = [momentum(body, t) for body, t in zip(inertias(chain, x), V, strict=True)]
    result: list[Any] = [0.0] * size
    for i in reversed(range(size)):
        (f, n), joint = moved[i], chain.joints[i]
        turning = product(V[i], axis_rate(joint.kind, 1.0))
        result[i] = dot(turning.v, f) + dot(turning.w, n)
        if joint.parent >= 0:
            R, p = frames[i]
            F, N = moved[joint.parent]
            f, n = rotate(R, f), rotate(R, n)
            moved[joint.parent] = add(F, f), add(N, n, cross(p, f))
    return coupling.torques(chain, result)


def coriolis_matrix(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> Scalars:
    """C(q, qd), (n, n): the column of joint j involves only the links that j moves."""
    x, size = coupling.positions(chain, q), len(chain.joints)
    frames, bodies = motions(chain, x, fn), inertias(chain, x)
    V = velocities(chain, frames, coupling.rates(chain, qd))
    C: list[list[Any]] = [[0.0] * size for _ in range(size)]
    for j in range(size):
        loads: list[tuple[Vector, Vector]] = [(ZERO, ZERO)] * size
        moved: dict[int, Two] = {}
        for i in range(j, size):
            parent = chain.joints[i].parent
            if i == j:
                axis = axis_rate(chain.joints[j].kind, 1.0)
                moved[i] = Two(V[i], axis, product(V[i], axis))
            elif parent in moved:
                _, Vr, A = moved[parent]
                moved[i] = Two(V[i], into(frames[i], Vr), into(frames[i], A))
            else:
                continue
            loads[i] = body_force(bodies[i], moved[i])
        for i, value in enumerate(inward(chain, frames, loads)):
            C[i][j] = value
    return coupling.matrix(chain, C)
