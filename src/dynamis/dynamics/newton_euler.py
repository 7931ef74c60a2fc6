"""Recursive Newton-Euler in link frames (Luh, Walker, Paul 1980), for trees.

Outwards, with E = R^T of the joint's motion and p its origin in the parent:

    w  = E w_p + z qd                      (revolute)
    wd = E wd_p + z qdd + (E w_p) x z qd   (revolute)
    a  = E (a_p + U_p p) [+ z qdd + 2 w x z qd]   (prismatic), U = [wd] + [w][w]

Inwards: F = m a + U h, N = I wd + w x (I w) + h x a, summed over what the link carries.
Gravity is an acceleration of the base, upwards.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..model.chain import Chain
from ..spatial.frames import Frame, compose
from ..spatial.functions import Functions
from ..spatial.inertia import (
    Inertia,
    force_and_moment,
    rotated,
    second_moments,
    symmetric_matrix,
    times,
)
from ..spatial.rotations import Matrix3, rotate, rotate_back, transpose
from ..spatial.vectors import ZERO, Scalars, Vector, add, cross, dot, scale, subtract
from .kinematics import inertias, motions, poses

Given = Scalars | None


class LinkMotion(NamedTuple):
    """How one link moves, in its own joint frame."""

    w: Vector
    wd: Vector
    a: Vector  # of the joint frame's origin, gravity included
    U: Matrix3  # [wd] + [w][w]: U r is the acceleration of r relative to the origin


def turning(w: Vector, wd: Vector) -> Matrix3:
    """U = [wd] + [w][w]"""
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return (
        (-yy - zz, xy - wd[2], xz + wd[1]),
        (xy + wd[2], -xx - zz, yz - wd[0]),
        (xz - wd[1], yz + wd[0], -xx - yy),
    )


def outward(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions, base_motion: Given = None
) -> tuple[list, list[LinkMotion]]:
    """Motion of every link, and the joint motions that led there."""
    base = moving_base(chain, base_motion)
    frames = motions(chain, x, fn)
    links: list[LinkMotion] = []
    turns: dict[int, Turn] = {}  # of joints that a parallel one follows
    followed = {joint.parent for joint in chain.joints if joint.parallel}
    for i, joint in enumerate(chain.joints):
        before = base if joint.parent < 0 else links[joint.parent]
        R, p = frames[i]
        a = rotate_back(R, add(before.a, rotate(before.U, p)))
        if joint.parallel:
            t = turns[joint.parent]
            turns[i] = Turn(t.w, t.wd, t.x + x[i], t.xd + xd[i], t.xdd + xdd[i])
            w, wd = _spun(turns[i], fn)
        else:
            if i in followed:
                P = joint.placement.R
                held = rotate_back(P, before.w), rotate_back(P, before.wd)
                turns[i] = Turn(*held, x[i], xd[i], xdd[i])
            w, wd = rotate_back(R, before.w), rotate_back(R, before.wd)
            if joint.kind == "revolute":
                wd = (wd[0] + w[1] * xd[i], wd[1] - w[0] * xd[i], wd[2] + xdd[i])
                w = (w[0], w[1], w[2] + xd[i])
        if joint.kind == "prismatic":
            rate = 2.0 * xd[i]
            a = (a[0] + w[1] * rate, a[1] - w[0] * rate, a[2] + xdd[i])
        links.append(LinkMotion(w, wd, a, turning(w, wd)))
    return frames, links


class Turn(NamedTuple):
    """A joint's turn about its axis, seen from a frame that does not turn with it.

    On parallel axes angles, rates and accelerations add up.
    """

    w: Vector  # of what carries the axis
    wd: Vector
    x: Any
    xd: Any
    xdd: Any


def _spun(t: Turn, fn: Functions) -> tuple[Vector, Vector]:
    """Angular velocity and acceleration in the turned frame."""
    c, s = fn.cos(t.x), fn.sin(t.x)
    R = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    w, wd = rotate_back(R, t.w), rotate_back(R, t.wd)
    wd = (wd[0] + w[1] * t.xd, wd[1] - w[0] * t.xd, wd[2] + t.xdd)
    return (w[0], w[1], w[2] + t.xd), wd


def moving_base(chain: Chain, base_motion: Given) -> LinkMotion:
    """The base at rest under gravity, or with given w, wd and a (nine numbers, reference axes)."""
    if base_motion is None:
        return LinkMotion(ZERO, ZERO, scale(-1.0, chain.gravity), (ZERO, ZERO, ZERO))
    w, wd, a = (tuple(base_motion[k : k + 3]) for k in (0, 3, 6))
    return LinkMotion(w, wd, subtract(a, chain.gravity), turning(w, wd))


def wrench_of(body: Inertia, motion: LinkMotion, moments: bool = False) -> tuple[Vector, Vector]:
    """F = m a + U h,  N = I wd + w x (I w) + h x a

    By second moments S (the integrals of r r^T) the first two terms of N are the integral of
    r x (U r), the skew part of U S.
    """
    F = add(scale(body.m, motion.a), rotate(motion.U, body.h))
    if moments:
        N = _skew_part(motion.U, symmetric_matrix(second_moments(body.I)))
    else:
        N = add(times(body.I, motion.wd), cross(motion.w, times(body.I, motion.w)))
    return F, add(N, cross(body.h, motion.a))


def _skew_part(U: Matrix3, S: Matrix3) -> Vector:
    """(US)_zy - (US)_yz, (US)_xz - (US)_zx, (US)_yx - (US)_xy"""
    return (
        dot(U[2], S[1]) - dot(U[1], S[2]),
        dot(U[0], S[2]) - dot(U[2], S[0]),
        dot(U[1], S[0]) - dot(U[0], S[1]),
    )


def exerted(chain: Chain, wrench: Given, link_forces: Given) -> list[tuple[int, Frame, Scalars]]:
    """What the robot exerts on the world: link, frame in its joint frame, (f, n) in that frame."""
    found = [] if wrench is None else [(chain.tip, chain.tool, wrench)]
    users = [body.user for body in chain.bodies[: chain.links]]
    rows = () if link_forces is None else zip(users, link_forces, strict=True)
    return found + [(i, user, force) for i, (user, force) in enumerate(rows)]


class Exertion(NamedTuple):
    """Force and moment that a link exerts at a point; all in the reference frame."""

    link: int  # tree index; -1: the base
    point: Vector
    force: Vector
    moment: Vector = ZERO


def reactions(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions,
    wrench: Given = None, base_motion: Given = None, link_forces: Given = None,
    exertions: Sequence[Exertion] = (),
) -> list[Scalars]:  # fmt: skip
    """(f, n) that every link gets from the one before, in the frame of its joint, (links, 6).

    The recursion of `newton_euler`, whose torque is the component about or along the joint's axis;
    `exertions` are what links exert besides.
    """
    frames, loads = _loads(chain, x, xd, xdd, fn, wrench, base_motion, link_forces)
    where = poses(chain, x, fn) if exertions else []
    for i, place, force, moment in exertions:
        if i >= 0:
            R, p = where[i]
            f, arm = rotate_back(R, force), rotate_back(R, subtract(place, p))
            F, N = loads[i]
            loads[i] = add(F, f), add(N, rotate_back(R, moment), cross(arm, f))
    pairs = carried(chain, frames, loads)[: chain.links]
    return [_at_joint(chain, i, frames[i], f, n) for i, (f, n) in enumerate(pairs)]


def _at_joint(chain: Chain, i: int, motion: Frame, f: Vector, n: Vector) -> Scalars:
    """(f, n) of canonical joint frame i in the user's frame of the joint."""
    k, own = _joint_frame(chain, i)
    if k != i:
        f, n = rotate(motion.R, f), rotate(motion.R, n)
        n = add(n, cross(motion.p, f))
    n = subtract(n, cross(own.p, f))
    return [*rotate_back(own.R, f), *rotate_back(own.R, n)]


def _joint_frame(chain: Chain, i: int) -> tuple[int, Frame]:
    """The link (-1: the base) that the user's frame of a joint is fixed to, and the frame there."""
    k = chain.joints[i].parent if chain.frames_before else i
    return k, chain.base if k < 0 else chain.bodies[k].user


def joint_frames(chain: Chain, where: list[Frame]) -> list[Frame]:
    """The user's frames of the joints in the reference frame: that of `reactions`."""
    found = [_joint_frame(chain, i) for i in range(chain.links)]
    return [own if k < 0 else compose(where[k], own) for k, own in found]


def newton_euler(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions,
    wrench: Given = None, base_motion: Given = None, link_forces: Given = None,
) -> list:  # fmt: skip
    """Torque of every tree joint.

    `wrench` (f, n) is what the tool exerts on the world, `link_forces` the same of every link.
    """
    frames, loads = _loads(chain, x, xd, xdd, fn, wrench, base_motion, link_forces)
    return inward(chain, frames, loads)


def _loads(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions,
    wrench: Given, base_motion: Given, link_forces: Given,
) -> tuple[list, list]:  # fmt: skip
    """Joint motions, and the load (force, moment) of every link in its joint frame."""
    frames, links = outward(chain, x, xd, xdd, fn, base_motion)
    bodies = inertias(chain, x)
    loads = [
        wrench_of(inertia, motion, body.moments)
        for inertia, motion, body in zip(bodies, links, chain.bodies, strict=True)
    ]
    return frames, _pushed(loads, chain, wrench, link_forces)


def _pushed(loads: list, chain: Chain, wrench: Given, link_forces: Given) -> list:
    """Loads (force, moment) of the links with what they exert on the world."""
    for i, (R, p), force in exerted(chain, wrench, link_forces):
        f = rotate(R, tuple(force[0:3]))
        n = add(rotate(R, tuple(force[3:6])), cross(p, f))
        F, N = loads[i]
        loads[i] = add(F, f), add(N, n)
    return loads


def exerted_torque(chain: Chain, x: Scalars, fn: Functions, link_forces: Given) -> list:
    """J^T w of what the links exert on the world, over the tree's joints."""
    still = [(ZERO, ZERO)] * len(chain.joints)
    return inward(chain, motions(chain, x, fn), _pushed(still, chain, None, link_forces))


def inward(chain: Chain, frames: list, loads: list[tuple[Vector, Vector]]) -> list:
    """Joint torques that carry the loads (force, moment) of the links."""
    pairs = zip(chain.joints, carried(chain, frames, loads), strict=True)
    return [n[2] if joint.kind == "revolute" else f[2] for joint, (f, n) in pairs]


def carried(
    chain: Chain, frames: list, loads: list[tuple[Vector, Vector]]
) -> list[tuple[Vector, Vector]]:
    """Force f and moment n that every link gets from the one before, in its joint frame."""
    loads = list(loads)
    for i in range(len(loads) - 1, -1, -1):
        joint, (f, n) = chain.joints[i], loads[i]
        if joint.parent >= 0:
            R, p = frames[i]
            f, n = rotate(R, f), rotate(R, n)
            F, N = loads[joint.parent]
            loads[joint.parent] = add(F, f), add(N, n, cross(p, f))
    return loads


# Newton-Euler with every vector in base coordinates (Torres-Torriti 2011, algorithm 1), for trees.
#
# Outwards: w = w_p + qd z, and so on with the world's axes; inwards: forces and moments about each
# joint's origin. Kept for teaching and comparison: the inertias must be turned at every step.


def newton_euler_base(
    chain: Chain, x: Scalars, xd: Scalars, xdd: Scalars, fn: Functions,
    wrench: Given, base: Given, link_forces: Given = None,
) -> list:  # fmt: skip
    """Torque of every tree joint; arguments as for `newton_euler`."""
    where = poses(chain, x, fn)
    start = moving_base(chain, base)
    links: list[tuple[Vector, Vector, Vector]] = []  # w, wd, a of each joint frame's origin
    loads: list[tuple[Vector, Vector]] = []
    for i, (joint, body) in enumerate(zip(chain.joints, inertias(chain, x), strict=True)):
        w, wd, a = start[:3] if joint.parent < 0 else links[joint.parent]
        origin = ZERO if joint.parent < 0 else where[joint.parent].p
        p, z = subtract(where[i].p, origin), transpose(where[i].R)[2]
        a = add(a, cross(wd, p), cross(w, cross(w, p)))
        if joint.kind == "revolute":
            wd = add(wd, scale(xdd[i], z), cross(w, scale(xd[i], z)))
            w = add(w, scale(xd[i], z))
        else:
            a = add(a, scale(xdd[i], z), scale(2.0, cross(w, scale(xd[i], z))))
        links.append((w, wd, a))
        loads.append(force_and_moment(rotated(body, where[i].R), w, wd, a))
    for i, frame, force in exerted(chain, wrench, link_forces):
        loads[i] = _with_wrench(where[i], frame, loads[i], force)
    tau: list[Any] = [0.0] * len(loads)
    for i in range(len(loads) - 1, -1, -1):
        joint, (f, n) = chain.joints[i], loads[i]
        z = transpose(where[i].R)[2]
        tau[i] = dot(n if joint.kind == "revolute" else f, z)
        if joint.parent >= 0:
            arm = subtract(where[i].p, where[joint.parent].p)
            F, N = loads[joint.parent]
            loads[joint.parent] = add(F, f), add(N, n, cross(arm, f))
    return tau


def _with_wrench(link: Frame, frame: Frame, load: tuple, wrench: Scalars) -> tuple:
    f = rotate(link.R, rotate(frame.R, tuple(wrench[0:3])))
    n = rotate(link.R, rotate(frame.R, tuple(wrench[3:6])))
    arm = rotate(link.R, frame.p)
    return add(load[0], f), add(load[1], n, cross(arm, f))
