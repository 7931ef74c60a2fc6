"""Newton-Euler with every vector in base coordinates (document 001, algorithm 1), for trees.

Outwards: w = w_p + qd z, and so on with the world's axes; inwards: forces and moments about each
joint's origin. Kept for teaching and comparison: the inertias must be turned at every step.
"""

from collections.abc import Sequence
from typing import Any

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import force_and_moment, rotated
from ..spatial.rotations import rotate, transpose
from ..spatial.vectors import ZERO, Vector, add, cross, dot, scale, subtract
from .kinematics import inertias, poses
from .newton_euler import moving_base


def newton_euler_base(
    chain: Chain,
    x: Sequence[Any],
    xd: Sequence[Any],
    xdd: Sequence[Any],
    fn: Functions,
    wrench: Sequence[Any] | None = None,
    base_motion: Sequence[Any] | None = None,
) -> list:
    """Torque of every tree joint; arguments as for `newton_euler`."""
    where = poses(chain, x, fn)
    start = moving_base(chain, base_motion)
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
    if wrench is not None:
        loads[chain.tip] = _with_wrench(chain, where[chain.tip], loads[chain.tip], wrench)
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


def _with_wrench(chain: Chain, tip: Any, load: tuple, wrench: Sequence[Any]) -> tuple:
    f = rotate(tip.R, rotate(chain.tool.R, tuple(wrench[0:3])))
    n = rotate(tip.R, rotate(chain.tool.R, tuple(wrench[3:6])))
    arm = rotate(tip.R, chain.tool.p)
    return add(load[0], f), add(load[1], n, cross(arm, f))
