"""Forward dynamics by articulated bodies (Featherstone), for trees, in link frames.

Spatial inertia as three blocks: n = A w + B v, f = B^T w + M v.

    inwards:   U = I S,  D = S.U + rotor,  u = tau - S.p,
               I_a = I - U U^T / D,  p_a = p + I_a c + U u / D, carried to the parent
    outwards:  a' = X a_p + c,  qdd = (u - U.a') / D,  a = a' + S qdd
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, symmetric_matrix
from ..spatial.rotations import Matrix3, multiply, rotate, transpose
from ..spatial.vectors import ZERO, Vector, add, cross, dot, scale
from .coriolis import Twist, into, momentum, product, rate
from .kinematics import inertias, motions
from .linear_solve import PIVOT


class Articulated(NamedTuple):
    """Blocks of a 6x6 symmetric spatial inertia."""

    A: Matrix3
    B: Matrix3
    M: Matrix3

    def times(self, t: Twist) -> tuple[Vector, Vector]:
        """(force, moment) for a motion."""
        return (
            add(rotate(transpose(self.B), t.w), rotate(self.M, t.v)),
            add(rotate(self.A, t.w), rotate(self.B, t.v)),
        )


def skew(v: Vector) -> Matrix3:
    """[v]: [v] u = v x u"""
    x, y, z = v
    return (0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)


def rigid(body: Inertia) -> Articulated:
    """A rigid body's blocks: I, [h], m E."""
    m = body.m
    return Articulated(
        symmetric_matrix(body.I), skew(body.h), ((m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, m))
    )


def _plus(P: Matrix3, Q: Matrix3, sign: float = 1.0) -> Matrix3:
    rows = [
        tuple(a + sign * b for a, b in zip(p, q, strict=True)) for p, q in zip(P, Q, strict=True)
    ]
    return rows[0], rows[1], rows[2]  # type: ignore[return-value]


def _outer(a: Vector, b: Vector, s: Any) -> Matrix3:
    return scale(a[0] * s, b), scale(a[1] * s, b), scale(a[2] * s, b)


def carried(T: tuple[Matrix3, Vector], I: Articulated) -> Articulated:
    """The inertia about the parent's origin, in its axes."""
    R, p = T
    back = transpose(R)
    A, B, M = (multiply(multiply(R, X), back) for X in I)
    P = skew(p)
    PM = multiply(P, M)
    BP = multiply(B, P)
    return Articulated(
        _plus(_plus(_plus(A, BP, -1.0), transpose(BP), -1.0), multiply(PM, P), -1.0),
        _plus(B, PM),
        M,
    )


def articulated_body(
    chain: Chain,
    x: Sequence[Any],
    xd: Sequence[Any],
    tau: Sequence[Any],
    rotor: Sequence[Any],
    fn: Functions,
) -> list:
    """qdd of every tree joint; `rotor` is the reflected rotor inertia of each."""
    size = len(chain.joints)
    frames = motions(chain, x, fn)
    bodies = inertias(chain, x)
    V = _velocities(chain, frames, xd)
    axes = [_axis(joint.kind) for joint in chain.joints]
    c = [product(v, _scaled(s, axis)) for v, s, axis in zip(V, xd, axes, strict=True)]
    I = [rigid(b) for b in bodies]
    p = [rate(v, momentum(b, v)) for v, b in zip(V, bodies, strict=True)]
    U: list[Any] = [None] * size
    D: list[Any] = [None] * size
    u: list[Any] = [None] * size
    for i in range(size - 1, -1, -1):
        S = axes[i]
        U[i] = I[i].times(S)
        full = _along(S, U[i]) + rotor[i]
        D[i] = fn.select(full > PIVOT * _along(S, rigid(bodies[i]).times(S)), full, math.nan)
        u[i] = tau[i] - _along(S, p[i])
        parent = chain.joints[i].parent
        if parent >= 0:
            Ia, pa = _reduced(I[i], p[i], U[i], D[i], u[i], c[i])
            R, o = frames[i]
            up = carried(frames[i], Ia)
            I[parent] = Articulated(*(_plus(a, b) for a, b in zip(I[parent], up, strict=True)))
            f = rotate(R, pa[0])
            n = add(rotate(R, pa[1]), cross(o, f))
            p[parent] = add(p[parent][0], f), add(p[parent][1], n)
    return _accelerations(chain, frames, axes, c, U, D, u)


def _accelerations(
    chain: Chain, frames: list, axes: list, c: list, U: list, D: list, u: list
) -> list:
    start = Twist(ZERO, scale(-1.0, chain.gravity))
    qdd, a = [], []
    for i, joint in enumerate(chain.joints):
        before = start if joint.parent < 0 else a[joint.parent]
        t = into(frames[i], before)
        t = Twist(add(t.w, c[i].w), add(t.v, c[i].v))
        qdd.append((u[i] - _along(t, U[i])) / D[i])
        s = _scaled(qdd[i], axes[i])
        a.append(Twist(add(t.w, s.w), add(t.v, s.v)))
    return qdd


def _reduced(I: Articulated, p: tuple, U: tuple, D: Any, u: Any, c: Twist) -> tuple:
    """I - U U^T / D, and its bias p + I_a c + U u / D."""
    Uf, Un = U
    k = 1.0 / D
    Ia = Articulated(
        _plus(I.A, _outer(Un, Un, k), -1.0),
        _plus(I.B, _outer(Un, Uf, k), -1.0),
        _plus(I.M, _outer(Uf, Uf, k), -1.0),
    )
    f, n = Ia.times(c)
    return Ia, (add(p[0], f, scale(u * k, Uf)), add(p[1], n, scale(u * k, Un)))


def _velocities(chain: Chain, frames: list, xd: Sequence[Any]) -> list[Twist]:
    V: list[Twist] = []
    for i, joint in enumerate(chain.joints):
        t = Twist() if joint.parent < 0 else into(frames[i], V[joint.parent])
        s = _scaled(xd[i], _axis(joint.kind))
        V.append(Twist(add(t.w, s.w), add(t.v, s.v)))
    return V


def _axis(kind: str) -> Twist:
    z = (0.0, 0.0, 1.0)
    return Twist(z, ZERO) if kind == "revolute" else Twist(ZERO, z)


def _scaled(s: Any, t: Twist) -> Twist:
    return Twist(scale(s, t.w), scale(s, t.v))


def _along(t: Twist, wrench: tuple[Vector, Vector]) -> Any:
    """Power of a wrench (force, moment) on a motion."""
    return dot(t.v, wrench[0]) + dot(t.w, wrench[1])
