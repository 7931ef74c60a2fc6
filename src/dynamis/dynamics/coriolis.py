"""Coriolis terms with two velocities: C(q, qd) qd_ref, such that Mdot - 2C is skew.

Spatial Newton-Euler in which the link moves with V = (w, v) and is asked about Vr:

    A = X A_p + S qdd + V x S qd_ref,      F = I A + B(I, V) Vr
    B(I, V) Vr = 1/2 [V x* (I Vr) + Vr x* (I V) - I (V x Vr)]

(Echeandia and Wensing 2021; Niemeyer and Slotine 1991). With qd_ref = qd it is inverse dynamics.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, times
from ..spatial.rotations import Matrix3, rotate_back
from ..spatial.vectors import ZERO, Vector, add, cross, scale, subtract
from . import coupling, drives
from .kinematics import inertias, motions
from .newton_euler import inward


class Twist(NamedTuple):
    """A spatial motion vector: angular part w, linear part v of the frame's origin."""

    w: Vector = ZERO
    v: Vector = ZERO


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


def outward_two(
    chain: Chain,
    x: Sequence[Any],
    xd: Sequence[Any],
    xr: Sequence[Any],
    xdd: Sequence[Any],
    fn: Functions,
    gravity: bool,
) -> tuple[list, list[Two]]:
    """Velocity, reference velocity and acceleration of every link."""
    start = scale(-1.0, chain.gravity) if gravity else ZERO
    frames = motions(chain, x, fn)
    links: list[Two] = []
    for i, joint in enumerate(chain.joints):
        before = Two(Twist(), Twist(), Twist(ZERO, start))
        before = before if joint.parent < 0 else links[joint.parent]
        V, Vr, A = (into(frames[i], t) for t in before)
        V, Vr, A = (_plus_axis(joint.kind, t, s[i]) for t, s in ((V, xd), (Vr, xr), (A, xdd)))
        ref = _plus_axis(joint.kind, Twist(), xr[i])
        spin = product(V, ref)
        links.append(Two(V, Vr, Twist(add(A.w, spin.w), add(A.v, spin.v))))
    return frames, links


def _plus_axis(kind: str, t: Twist, s: Any) -> Twist:
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
    chain: Chain,
    x: Sequence[Any],
    xd: Sequence[Any],
    xr: Sequence[Any],
    xdd: Sequence[Any],
    fn: Functions,
    gravity: bool = True,
) -> list:
    """M qdd + C(q, qd) qd_ref + g of the tree's bodies."""
    frames, links = outward_two(chain, x, xd, xr, xdd, fn, gravity)
    loads = [body_force(b, link) for b, link in zip(inertias(chain, x), links, strict=True)]
    return inward(chain, frames, loads)


def two_velocity_torque(
    chain: Chain,
    q: Sequence[Any],
    qd: Sequence[Any],
    qdd: Sequence[Any],
    qd_ref: Sequence[Any],
    fn: Functions,
) -> Sequence[Any]:
    """M qdd + C(q, qd) qd_ref + g, (n,)."""
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    xr = coupling.rates(chain, qd_ref)
    xdd = coupling.rates(chain, qdd)
    tree = two_velocity(chain, x, xd, xr, xdd, fn)
    rotor = drives.rotor_torque(chain, xdd)
    return coupling.torques(chain, [a + b for a, b in zip(tree, rotor, strict=True)])


def coriolis_times(
    chain: Chain, q: Sequence[Any], qd: Sequence[Any], seed: Sequence[Any], fn: Functions
) -> Sequence[Any]:
    """C(q, qd) seed, (n,)."""
    x, xd, xr = coupling.positions(chain, q), coupling.rates(chain, qd), coupling.rates(chain, seed)
    rest = [0.0] * len(chain.joints)
    return coupling.torques(chain, two_velocity(chain, x, xd, xr, rest, fn, gravity=False))


def coriolis_matrix(
    chain: Chain, q: Sequence[Any], qd: Sequence[Any], fn: Functions
) -> Sequence[Sequence[Any]]:
    """C(q, qd), (n, n): the column of joint j involves only the links that j moves."""
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    size = len(chain.joints)
    rest = [0.0] * size
    frames, links = outward_two(chain, x, xd, rest, rest, fn, gravity=False)
    bodies = inertias(chain, x)
    C: list[list[Any]] = [[0.0] * size for _ in range(size)]
    for j in range(size):
        loads: list[tuple[Vector, Vector]] = [(ZERO, ZERO)] * size
        moved: dict[int, Two] = {}
        for i in range(j, size):
            parent = chain.joints[i].parent
            if i == j:
                axis = _plus_axis(chain.joints[j].kind, Twist(), 1.0)
                moved[i] = Two(links[i].V, axis, product(links[i].V, axis))
            elif parent in moved:
                _, Vr, A = moved[parent]
                moved[i] = Two(links[i].V, into(frames[i], Vr), into(frames[i], A))
            else:
                continue
            loads[i] = body_force(bodies[i], moved[i])
        for i, value in enumerate(inward(chain, frames, loads)):
            C[i][j] = value
    return coupling.matrix(chain, C)
