"""Lagrange-Euler after Uicker (1965): tau = D qdd + H + C, in the user's frames.

U_ij = d 0A_i / d q_j = W_j 0A_i with W_j the joint's screw as a 4x4 matrix, and
U_ijk = W_k U_ij (k before j). With the pseudo-inertias J:

    d_ij  = sum_k tr(U_kj J_k U_ki^T)
    h_ikm = sum_j tr(U_jkm J_j U_ji^T),   h_i = sum h_ikm qd_k qd_m
    c_i   = - sum_j g U_ji (m r)_j

O(n^4), for teaching: every intermediate matrix is kept.
"""

from typing import Any, NamedTuple

from ..model.chain import Chain
from ..spatial.frames import Frame, compose, matrix
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, pseudo_inertia, transformed_back
from ..spatial.rotations import transpose
from ..spatial.vectors import Scalars, cross, inner, negate
from .kinematics import inertias, poses

Matrix4 = tuple  # rows of four


class LagrangeEuler(NamedTuple):
    """The intermediate results of the ten steps."""

    A: Any  # 0A_i
    U: Any  # U[i][j]
    UU: Any  # U_ijk as UU[i][j][k]
    J: Any  # pseudo-inertias
    D: Any
    h: Any  # h_ikm as h[i][k][m]
    H: Any
    C: Any
    tau: Any
    loops: Any = None  # of a mechanism with closures: dynamis.robot.closing.LoopTerms

    @property
    def D_traces(self) -> Any:
        """U_kj J_k U_ki^T as [i, j, k], of arrays: the sum of their traces over k is d_ij."""
        UJ = (self.U @ self.J[:, None]).transpose(1, 0, 2, 3)  # [j, k]
        return UJ[None] @ self.U.transpose(1, 0, 3, 2)[:, None]

    @property
    def h_traces(self) -> Any:
        """U_jkm J_j U_ji^T as [i, k, m, j], of arrays: the sum of their traces over j is h_ikm."""
        UJ = (self.UU @ self.J[:, None, None]).transpose(1, 2, 0, 3, 4)  # [k, m, j]
        return UJ[None] @ self.U.transpose(1, 0, 3, 2)[:, None, None]


def screw(kind: str, pose: Frame) -> Matrix4:
    """W: d pose / d q = W pose, for motion about or along the pose's z."""
    z = transpose(pose.R)[2]
    if kind == "prismatic":
        return (*((0.0, 0.0, 0.0, zi) for zi in z), (0.0,) * 4)
    x, y, w = negate(cross(z, pose.p))
    return (
        (0.0, -z[2], z[1], x),
        (z[2], 0.0, -z[0], y),
        (-z[1], z[0], 0.0, w),
        (0.0, 0.0, 0.0, 0.0),
    )


def product(A: Matrix4, B: Matrix4) -> Matrix4:
    """A B"""
    columns = tuple(zip(*B, strict=True))
    return tuple(tuple(inner(a, b) for b in columns) for a in A)


def lagrange_euler_terms(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions
) -> LagrangeEuler:
    """Steps 2 to 10 at one state, over the tree's joints."""
    size = range(len(chain.joints))
    where = poses(chain, x, fn)
    W = [screw(joint.kind, T) for joint, T in zip(chain.joints, where, strict=True)]
    A = [matrix(compose(T, b.user)) for T, b in zip(where, chain.bodies, strict=True)]
    J = [pseudo_inertia(inertia) for inertia in user_inertias(chain, x)]
    above = [set(chain.ancestors(i)) for i in size]
    U = [[product(W[j], A[i]) if j in above[i] else None for j in size] for i in size]
    UU = [[[_second(W, U[i], j, k) for k in size] for j in size] for i in size]
    JU = [[None if u is None else product(u, J[i]) for u in U[i]] for i in size]
    D = [[sum((_trace(U[k][j], JU[k][i]) for k in size), 0.0) for j in size] for i in size]
    h = [
        [[sum((_trace(UU[j][k][m], JU[j][i]) for j in size), 0.0) for m in size] for k in size]
        for i in size
    ]
    H = [sum((h[i][k][m] * xd[k] * xd[m] for k in size for m in size), 0.0) for i in size]
    C = [-sum((_weight(chain, U[j][i], J[j]) for j in size), 0.0) for i in size]
    tau = [sum((D[i][j] * xdd[j] for j in size), H[i] + C[i]) for i in size]
    return LagrangeEuler(A, U, UU, J, D, h, H, C, tau)


def lagrange_euler(chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions) -> list:
    """tau = D qdd + H + C over the tree's joints."""
    return lagrange_euler_terms(chain, x, xd, xdd, fn).tau


def user_inertias(chain: Chain, x: Scalars) -> list[Inertia]:
    """Inertia of each link about the origin of the user's frame, at tree positions x."""
    moving = inertias(chain, x)
    return [
        b.user_inertia if b.slide is None else transformed_back(b.user, now)
        for b, now in zip(chain.bodies, moving, strict=True)
    ]


def _second(W: list, row: list, j: int, k: int) -> Matrix4 | None:
    first, last = min(j, k), max(j, k)
    if row[j] is None or row[k] is None:
        return None
    return product(W[first], row[last])


def _trace(A: Matrix4 | None, B: Matrix4 | None) -> Any:
    """tr(A B^T); the last row is zero."""
    if A is None or B is None:
        return 0.0
    return inner(A[0], B[0]) + inner(A[1], B[1]) + inner(A[2], B[2])


def _weight(chain: Chain, U: Matrix4 | None, J: Matrix4) -> Any:
    """g U (m r), the last column of J being (m r, m)."""
    if U is None:
        return 0.0
    moment = tuple(row[3] for row in J)
    return sum(g * inner(row, moment) for g, row in zip(chain.gravity, U, strict=False))
