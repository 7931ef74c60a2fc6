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
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, times
from ..spatial.rotations import Matrix3, rotate, rotate_back
from ..spatial.vectors import ZERO, Vector, add, cross, scale, subtract
from .kinematics import inertias, motions


class Motion(NamedTuple):
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
    chain: Chain,
    x: Sequence[Any],
    xd: Sequence[Any],
    xdd: Sequence[Any],
    fn: Functions,
    base_motion: Sequence[Any] | None = None,
) -> tuple[list, list[Motion]]:
    """Motion of every link, and the joint motions that led there."""
    base = moving_base(chain, base_motion)
    frames = motions(chain, x, fn)
    links: list[Motion] = []
    for i, joint in enumerate(chain.joints):
        before = base if joint.parent < 0 else links[joint.parent]
        R, p = frames[i]
        w, wd = rotate_back(R, before.w), rotate_back(R, before.wd)
        a = rotate_back(R, add(before.a, rotate(before.U, p)))
        if joint.kind == "revolute":
            wd = (wd[0] + w[1] * xd[i], wd[1] - w[0] * xd[i], wd[2] + xdd[i])
            w = (w[0], w[1], w[2] + xd[i])
        else:
            rate = 2.0 * xd[i]
            a = (a[0] + w[1] * rate, a[1] - w[0] * rate, a[2] + xdd[i])
        links.append(Motion(w, wd, a, turning(w, wd)))
    return frames, links


def moving_base(chain: Chain, base_motion: Sequence[Any] | None) -> Motion:
    """The base at rest under gravity, or with given w, wd and a (nine numbers, reference axes)."""
    if base_motion is None:
        zero = (ZERO, ZERO, ZERO)
        return Motion(ZERO, ZERO, scale(-1.0, chain.gravity), zero)
    w, wd, a = (tuple(base_motion[k : k + 3]) for k in (0, 3, 6))
    return Motion(w, wd, subtract(a, chain.gravity), turning(w, wd))


def wrench_of(body: Inertia, motion: Motion) -> tuple[Vector, Vector]:
    """F = m a + U h,  N = I wd + w x (I w) + h x a"""
    F = add(scale(body.m, motion.a), rotate(motion.U, body.h))
    N = add(
        times(body.I, motion.wd),
        cross(motion.w, times(body.I, motion.w)),
        cross(body.h, motion.a),
    )
    return F, N


def newton_euler(
    chain: Chain,
    x: Sequence[Any],
    xd: Sequence[Any],
    xdd: Sequence[Any],
    fn: Functions,
    wrench: Sequence[Any] | None = None,
    base_motion: Sequence[Any] | None = None,
) -> list:
    """Torque of every tree joint; `wrench` (f, n) is what the tool exerts on the world."""
    frames, links = outward(chain, x, xd, xdd, fn, base_motion)
    bodies = inertias(chain, x)
    loads = [wrench_of(body, motion) for body, motion in zip(bodies, links, strict=True)]
    if wrench is not None:
        f = rotate(chain.tool.R, tuple(wrench[0:3]))
        n = add(rotate(chain.tool.R, tuple(wrench[3:6])), cross(chain.tool.p, f))
        F, N = loads[chain.tip]
        loads[chain.tip] = add(F, f), add(N, n)
    return inward(chain, frames, loads)


def inward(chain: Chain, frames: list, loads: list[tuple[Vector, Vector]]) -> list:
    """Joint torques that carry the loads (force, moment) of the links."""
    loads = list(loads)
    tau: list[Any] = [0.0] * len(loads)
    for i in range(len(loads) - 1, -1, -1):
        f, n = loads[i]
        joint = chain.joints[i]
        tau[i] = n[2] if joint.kind == "revolute" else f[2]
        if joint.parent >= 0:
            R, p = frames[i]
            f, n = rotate(R, f), rotate(R, n)
            F, N = loads[joint.parent]
            loads[joint.parent] = add(F, f), add(N, n, cross(p, f))
    return tau
