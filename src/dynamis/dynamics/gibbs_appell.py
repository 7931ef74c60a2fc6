"""Gibbs-Appell: the observation matrix W of tau = W Phi, built recursively (Rosillo 2010).

Body i contributes to the moment about joint k's origin, in frame k,

    A    (3x6)  R eta^         for its second moments, only turned on the way down
    B1   (3x3)  R B1 - ...     for its first moment: -[a] at home, plus p x (R eta~)
    B2   (3x1)                 for its mass: zero at home, plus p x (R a)

and to the force by eta~ = [wd] + [w][w] and a. Row k picks z of the moment (revolute) or of the
force (prismatic: rows that Rosillo (2010) leaves out).
"""

from typing import Any, NamedTuple

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, from_linear, linear, transformed
from ..spatial.rotations import Matrix3, rotate, transpose
from ..spatial.vectors import ZERO, Scalars, Vector, add, cross, matrix_times, transposed
from . import coupling
from .coupling import combined
from .kinematics import inertias
from .newton_euler import LinkMotion, outward

INERTIAL = 10


class Wrench(NamedTuple):
    """Columns of moment and force of one body, seen from one joint frame."""

    A: list[Vector]  # six columns: Ixx Ixy Iyy Ixz Iyz Izz
    B1: list[Vector]  # three columns of the first moment
    eta: list[Vector]  # their force
    B2: Vector
    a: Vector  # force of the mass


def home(motion: LinkMotion) -> Wrench:
    """Columns in the body's own frame: F = m a + U h, N = I wd + w x (I w) + h x a."""
    (x, y, z), (dx, dy, dz) = motion.w, motion.wd
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    A = [
        (dx, xz, -xy),
        (dy - xz, dx + yz, xx - yy),
        (-yz, dy, xy),
        (dz + xy, zz - xx, dx - yz),
        (yy - zz, dz - xy, dy + xz),
        (yz, -xz, dz),
    ]
    ax, ay, az = motion.a
    B1 = [(0.0, -az, ay), (az, 0.0, -ax), (-ay, ax, 0.0)]  # -[a], by columns: e x a
    return Wrench(A, B1, list(transpose(motion.U)), ZERO, motion.a)


def down(w: Wrench, R: Matrix3, p: Vector) -> Wrench:
    """Columns about the parent joint's origin, in its frame."""
    A = [rotate(R, c) for c in w.A]
    eta, a = [rotate(R, c) for c in w.eta], rotate(R, w.a)
    B1 = [add(rotate(R, b), cross(p, e)) for b, e in zip(w.B1, eta, strict=True)]
    B2 = add(rotate(R, w.B2), cross(p, a))
    return Wrench(A, B1, eta, B2, a)


def row(kind: str, w: Wrench) -> tuple[Any, ...]:
    """Ten entries of W: z of the moment, or of the force."""
    if kind == "revolute":
        return (w.B2[2], *(c[2] for c in w.B1), *(c[2] for c in w.A))
    return (w.a[2], *(c[2] for c in w.eta), *(0.0,) * 6)


def observation_matrix(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions
) -> list[list[Any]]:
    """W over the tree: joints by ten canonical parameters per body."""
    frames, links = outward(chain, x, xd, xdd, fn)
    size = len(chain.joints)
    W: list[list[Any]] = [[0.0] * (INERTIAL * size) for _ in range(size)]
    for i, motion in enumerate(links):
        columns = home(motion)
        for k in chain.ancestors(i):
            W[k][INERTIAL * i : INERTIAL * (i + 1)] = row(chain.joints[k].kind, columns)
            columns = down(columns, *frames[k])
    return W


def gibbs_appell(chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions) -> list:
    """tau = W Phi over the tree's joints."""
    phi = [value for body in inertias(chain, x) for value in linear(body)]
    W = observation_matrix(chain, x, xd, xdd, fn)
    return matrix_times(W, phi)


class GibbsAppell(NamedTuple):
    """The observation matrix and what is extracted from it, (26) to (31) of document 003."""

    W: Any  # (..., joints, 10 links), canonical joint frames
    phi: Any
    tau: Any
    G: Any
    C: Any  # the vector of centrifugal and Coriolis torques
    M: Any
    loops: Any = None  # of a mechanism with closures: dynamis.robot.closing.LoopTerms


def coordinate_matrix(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions
) -> list[list[Any]]:
    """W over the coordinates: torques by ten canonical parameters per body."""
    x, xd, xdd = coupling.positions(chain, q), coupling.rates(chain, qd), coupling.rates(chain, qdd)
    W = observation_matrix(chain, x, xd, xdd, fn)
    return transposed(coupling.torques(chain, column) for column in transposed(W))


def in_user_frames(chain: Chain, W: list[list[Any]]) -> list[list[Any]]:
    """Columns of the canonical parameters as columns of the parameters in the user's frames."""
    maps = [_map(body.user) for body in chain.bodies]
    result = []
    for r in W:
        new: list[Any] = []
        for i, columns in enumerate(maps):
            own = r[INERTIAL * i : INERTIAL * (i + 1)]
            new += [combined(column, own) for column in columns]
        result.append(new)
    return result


def _map(user: Any) -> list[tuple[Any, ...]]:
    """Canonical parameters of each unit parameter in the user's frame."""
    return [linear(transformed(user, unit_inertia(k))) for k in range(INERTIAL)]


def unit_inertia(*entries: int) -> Inertia:
    """The body whose parameters are one at these entries, and else zero."""
    return from_linear([float(k in entries) for k in range(INERTIAL)])
