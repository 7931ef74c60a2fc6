"""Kane's equations (Kane and Levinson 1983): partial velocities times forces, in reference axes.

With link i turning at w_i and the origin of its frame moving at v_i, both linear in the rates,

    W_ir = d w_i / d qd_r,   V_ir = d v_i / d qd_r          (partial velocities)
    wd_i = sum_r W_ir qdd_r + (dW_ir/dt) qd_r,   a_i likewise by V
    F*_r = - sum_i (V_ir . R_i + W_ir . T_i)                (generalised inertia forces)
    F_r  = sum_i (V_ir . m_i g + W_ir . (c_i x m_i g))      (generalised active forces: weight)
    tau_r + F_r + F*_r = 0 read for tau:   tau = -(F + F*)

R_i and T_i are what moves the link, force and moment about the origin of its frame (the user's).
Accelerations come from the rates of the partial velocities, not from a recursion. O(n^2).
"""

from typing import Any, NamedTuple

from ...model.chain import Chain
from ...spatial.frames import Frame, compose
from ...spatial.functions import Functions
from ...spatial.inertia import force_and_moment
from ...spatial.rotations import rotate, rotate_back, transpose
from ...spatial.vectors import ZERO, Scalars, Vector, add, cross, dot, scale, subtract
from ..kinematics import poses
from ..lagrange_euler import user_inertias

Partial = dict[int, Vector]  # by the number of the joint; others do not move the link


class Kane(NamedTuple):
    """The intermediate results: vectors per link in reference axes, forces per joint."""

    W: list[Partial]  # partial angular velocities
    V: list[Partial]  # partial velocities of the origins
    w: list[Vector]
    v: list[Vector]
    wd: list[Vector]
    a: list[Vector]
    R: list[Vector]  # force and moment about the origin that move each link so
    T: list[Vector]
    active: list[Any]
    inertia: list[Any]
    tau: list[Any]


def kane_terms(chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions) -> Kane:
    """Every intermediate result at one state, over the tree's joints."""
    joints = poses(chain, x, fn)
    links = [compose(T, body.user) for T, body in zip(joints, chain.bodies, strict=True)]
    above = [sorted(chain.ancestors(i)) for i in range(len(joints))]
    axes = [transpose(T.R)[2] for T in joints]
    turns = [joint.kind == "revolute" for joint in chain.joints]

    def moves(r: int, point: Vector) -> Vector:
        return cross(axes[r], subtract(point, joints[r].p)) if turns[r] else axes[r]

    W = [{r: axes[r] if turns[r] else ZERO for r in rows} for rows in above]
    V = [{r: moves(r, T.p) for r in rows} for rows, T in zip(above, links, strict=True)]
    at_joint = [{r: moves(r, joints[i].p) for r in rows} for i, rows in enumerate(above)]
    w, v, u = ([_combined(row, xd) for row in rows] for rows in (W, V, at_joint))
    rates = [cross(w[r], axes[r]) for r in range(len(joints))]

    def turning(r: int) -> Vector:  # rate of a partial angular velocity
        return rates[r] if turns[r] else ZERO

    def moving(r: int, i: int) -> Vector:  # rate of the partial velocity of origin i
        if not turns[r]:
            return rates[r]
        arm = subtract(links[i].p, joints[r].p)
        return add(cross(rates[r], arm), cross(axes[r], subtract(v[i], u[r])))

    wd, a, R, T = [], [], [], []
    bodies = user_inertias(chain, x)
    for i, rows in enumerate(above):
        wd.append(add(_combined(W[i], xdd), _combined({r: turning(r) for r in rows}, xd)))
        a.append(add(_combined(V[i], xdd), _combined({r: moving(r, i) for r in rows}, xd)))
        state = (rotate_back(links[i].R, y) for y in (w[i], wd[i], a[i]))
        own = force_and_moment(bodies[i], *state)
        R.append(rotate(links[i].R, own[0]))
        T.append(rotate(links[i].R, own[1]))
    weights = [_weight(chain, T, b) for T, b in zip(links, bodies, strict=True)]
    active = _generalised(W, V, weights)
    inertia = [-x for x in _generalised(W, V, list(zip(R, T, strict=True)))]
    tau = [-(x + y) for x, y in zip(active, inertia, strict=True)]
    return Kane(W, V, w, v, wd, a, R, T, active, inertia, tau)


def kane(chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions) -> list:
    """tau over the tree's joints."""
    return kane_terms(chain, x, xd, xdd, fn).tau


def _combined(partial: Partial, rates: Scalars) -> Vector:
    """Sum of the partial velocities times the rates."""
    return add(*(scale(rates[r], vector) for r, vector in partial.items()))


def _weight(chain: Chain, link: Frame, body: Any) -> tuple[Vector, Vector]:
    """Weight of a link and its moment about the origin of its frame."""
    return scale(body.m, chain.gravity), cross(rotate(link.R, body.h), chain.gravity)


def _generalised(W: list[Partial], V: list[Partial], wrenches: list) -> list[Any]:
    """Forces and moments on the links as forces of the joints."""
    total: list[Any] = [0.0] * len(W)
    for turn, move, (force, moment) in zip(W, V, wrenches, strict=True):
        for r, axis in turn.items():
            total[r] = total[r] + dot(move[r], force) + dot(axis, moment)
    return total
