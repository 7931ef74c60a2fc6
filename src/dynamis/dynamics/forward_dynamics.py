"""Forward dynamics: the mass matrix after Walker and Orin (1982), and articulated bodies.

1. every column of M by a full inverse dynamics with a unit acceleration;
2. likewise, but only links that move and torques on or below the diagonal;
3. composite bodies: beyond joint j everything is one rigid body;
4. no M at all: conjugate gradients, each step one inverse dynamics.

M x = b is solved unrolled, over any scalar, by M = L D L^T. A pivot that is lost in the rounding of
its own diagonal entry is poisoned to NaN: a singular M never gives a plausible acceleration.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, plus, symmetric_matrix, transformed
from ..spatial.rotations import Matrix3, multiply, rotate, rotate_back, transpose
from ..spatial.vectors import (
    ZERO,
    Scalars,
    Vector,
    Z,
    add,
    cross,
    dot,
    inner,
    scale,
    transposed,
    unit,
)
from .coriolis import REST, Twist, axis_rate, into, momentum, product, rate, velocities
from .kinematics import inertias, motions
from .newton_euler import (
    Given,
    LinkMotion,
    inward,
    moving_base,
    newton_euler,
    turning,
    wrench_of,
)

Matrix = list[list[Any]]
PIVOT = 1e-13  # smallest pivot relative to the diagonal entry it comes from
STEPS_PER_JOINT = 4  # of the conjugate gradients; n would do without rounding


def factor(M: Sequence[Scalars], fn: Functions) -> tuple[list[list[Any]], list[Any]]:
    """L (unit lower, rows) and the pivots D of M = L D L^T; one division per pivot."""
    size = range(len(M))
    L: list[list[Any]] = [[0.0] * len(M) for _ in size]
    D: list[Any] = []
    for j in size:
        LD = [L[j][k] * D[k] for k in range(j)]
        d = M[j][j]
        for k in range(j):
            d = d - L[j][k] * LD[k]
        D.append(fn.select(d > PIVOT * M[j][j], d, math.nan))
        inverse = 1.0 / D[j]
        for i in range(j + 1, len(M)):
            s = M[i][j]
            for k in range(j):
                s = s - L[i][k] * LD[k]
            L[i][j] = s * inverse
    return L, D


def substitute(L: Sequence[Scalars], D: Scalars, b: Scalars) -> list[Any]:
    """x from L D L^T x = b."""
    size = len(D)
    y = list(b)
    for i in range(size):
        for k in range(i):
            y[i] = y[i] - L[i][k] * y[k]
    x = [yi * (1.0 / d) for yi, d in zip(y, D, strict=True)]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            x[i] = x[i] - L[k][i] * x[k]
    return x


def solve(M: Sequence[Scalars], b: Scalars, fn: Functions) -> list[Any]:
    """x = M^-1 b"""
    return substitute(*factor(M, fn), b)


def pivots_from_tip(M: Sequence[Scalars], fn: Functions) -> list[Any]:
    """Pivots of M taken from its last entry on, in the order of its rows."""
    return factor([row[::-1] for row in M[::-1]], fn)[1][::-1]


def accelerating_torque(chain: Chain, x: Scalars, xdd: Scalars, fn: Functions) -> list:
    """M xdd over the tree by one Newton-Euler: at rest, on a base in free fall."""
    falling = [0.0] * 6 + list(chain.gravity)
    return newton_euler(chain, x, [0.0] * len(chain.joints), xdd, fn, None, falling)


def mass_matrix_1(chain: Chain, x: Scalars, fn: Functions) -> Matrix:
    """M by columns: qdd = e_j."""
    size = len(chain.joints)
    columns = [accelerating_torque(chain, x, unit(j, size), fn) for j in range(size)]
    return transposed(columns)


def mass_matrix_2(chain: Chain, x: Scalars, fn: Functions) -> Matrix:
    """M by half columns: links before joint j do not move, and M is symmetric."""
    size = len(chain.joints)
    frames, bodies = motions(chain, x, fn), inertias(chain, x)
    M: Matrix = [[0.0] * size for _ in range(size)]
    for j in range(size):
        moving = {i for i in range(size) if j in chain.ancestors(i)}
        links = _accelerated(chain, frames, j, moving)
        none = ZERO, ZERO
        loads = [wrench_of(bodies[i], links[i]) if i in moving else none for i in range(size)]
        tau = inward(chain, frames, loads)
        for i in moving:
            M[i][j] = M[j][i] = tau[i]
    return M


def _accelerated(chain: Chain, frames: list, j: int, moving: set[int]) -> dict[int, LinkMotion]:
    """Unit acceleration of joint j, seen by the links it moves."""
    links: dict[int, LinkMotion] = {}
    for i in sorted(moving):
        if i == j:
            wd, a = (Z, ZERO) if chain.joints[j].kind == "revolute" else (ZERO, Z)
        else:
            R, p = frames[i]
            before = links[chain.joints[i].parent]
            wd = rotate_back(R, before.wd)
            a = rotate_back(R, add(before.a, cross(before.wd, p)))
        links[i] = LinkMotion(ZERO, wd, a, turning(ZERO, wd))
    return links


def mass_matrix_3(chain: Chain, x: Scalars, fn: Functions) -> Matrix:
    """M by composite bodies; what joint j alone would need, carried down to every joint before."""
    size = len(chain.joints)
    frames, composite = motions(chain, x, fn), inertias(chain, x)
    M: Matrix = [[0.0] * size for _ in range(size)]
    for j in range(size - 1, -1, -1):
        f, n = _unit_load(chain.joints[j].kind, composite[j])
        for i in chain.ancestors(j):
            M[i][j] = M[j][i] = n[2] if chain.joints[i].kind == "revolute" else f[2]
            R, p = frames[i]
            f = rotate(R, f)
            n = add(rotate(R, n), cross(p, f))
        parent = chain.joints[j].parent
        if parent >= 0:
            composite[parent] = plus(composite[parent], transformed(frames[j], composite[j]))
    return M


def _unit_load(kind: str, body: Inertia) -> tuple[Vector, Vector]:
    """Force and moment that give a body a unit acceleration about or along z."""
    hx, hy, _ = body.h
    if kind == "revolute":
        _, _, _, xz, yz, zz = body.I
        return (-hy, hx, 0.0), (xz, yz, zz)
    return (0.0, 0.0, body.m), (hy, -hx, 0.0)


def conjugate_gradients(
    apply: Callable[[list[Any]], list[Any]], b: Scalars, fn: Functions
) -> list[Any]:
    """x from M x = b by a fixed number of guarded steps; `apply` is x -> M x."""
    nothing = 0.0 * sum(b)  # NaN where any of b is
    x: list[Any] = [nothing for _ in b]
    r, p = list(b), list(b)
    rr = inner(r, r)
    for _ in range(STEPS_PER_JOINT * len(r)):
        Mp = apply(p)
        pMp = inner(p, Mp)
        going = pMp > 0.0
        alpha = fn.select(going, rr / fn.select(going, pMp, 1.0), 0.0)
        x = [xi + alpha * pi for xi, pi in zip(x, p, strict=True)]
        r = [ri - alpha * mi for ri, mi in zip(r, Mp, strict=True)]
        new = inner(r, r)
        beta = fn.select(rr > 0.0, new / fn.select(rr > 0.0, rr, 1.0), 0.0)
        p = [ri + beta * pi for ri, pi in zip(r, p, strict=True)]
        rr = new
    return x


MASS_MATRICES = {
    "walker-orin-1": mass_matrix_1,
    "walker-orin-2": mass_matrix_2,
    "walker-orin-3": mass_matrix_3,
}


# Articulated bodies (Featherstone), for trees, in link frames. Spatial inertia as three blocks:
# n = A w + B v, f = B^T w + M v.
#
#     inwards:   U = I S,  D = S.U + rotor,  u = tau - S.p,
#                I_a = I - U U^T / D,  p_a = p + I_a c + U u / D, carried to the parent
#     outwards:  a' = X a_p + c,  qdd = (u - U.a') / D,  a = a' + S qdd


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
    mass = (m, 0.0, 0.0), (0.0, m, 0.0), (0.0, 0.0, m)
    return Articulated(symmetric_matrix(body.I), skew(body.h), mass)


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
    chain: Chain, x: Scalars, xd: Scalars, tau: Scalars, rotor: Scalars, fn: Functions,
    base_motion: Given = None,
) -> list:  # fmt: skip
    """qdd of every tree joint; `rotor` is the reflected rotor inertia of each.

    A base that moves is seen from a frame that has the velocity of its origin.
    """
    base = moving_base(chain, base_motion)
    size = len(chain.joints)
    frames = motions(chain, x, fn)
    bodies = inertias(chain, x)
    V = velocities(chain, frames, xd, REST if base_motion is None else Twist(base.w, ZERO))
    axes = [axis_rate(joint.kind, 1.0) for joint in chain.joints]
    c = [product(v, _scaled(s, axis)) for v, s, axis in zip(V, xd, axes, strict=True)]
    I = [rigid(b) for b in bodies]
    p = [rate(v, momentum(b, v)) for v, b in zip(V, bodies, strict=True)]
    U, D, u = (dict[int, Any]() for _ in range(3))
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
    start = Twist(base.wd, base.a)
    qdd, a = [], []
    for i, joint in enumerate(chain.joints):
        t = _sum(into(frames[i], start if joint.parent < 0 else a[joint.parent]), c[i])
        qdd.append((u[i] - _along(t, U[i])) / D[i])
        a.append(_sum(t, _scaled(qdd[i], axes[i])))
    return qdd


def _reduced(I: Articulated, p: tuple, U: tuple, D: Any, u: Any, c: Twist) -> tuple:
    """I - U U^T / D, and its bias p + I_a c + U u / D."""
    Uf, Un = U
    k = 1.0 / D
    outer = ((Un, Un), (Un, Uf), (Uf, Uf))
    Ia = Articulated(*(_plus(X, _outer(*ab, k), -1.0) for X, ab in zip(I, outer, strict=True)))
    f, n = Ia.times(c)
    return Ia, (add(p[0], f, scale(u * k, Uf)), add(p[1], n, scale(u * k, Un)))


def _scaled(s: Any, t: Twist) -> Twist:
    return Twist(scale(s, t.w), scale(s, t.v))


def _sum(a: Twist, b: Twist) -> Twist:
    return Twist(add(a.w, b.w), add(a.v, b.v))


def _along(t: Twist, wrench: tuple[Vector, Vector]) -> Any:
    """Power of a wrench (force, moment) on a motion."""
    return dot(t.v, wrench[0]) + dot(t.w, wrench[1])
