"""Torque of a body held by the tool, from its momentum: no acceleration is needed.

    tau = d/dt (P parameters) - B parameters,   P = J^T h,   B = Jd^T h - J^T (v x* h - f)

h is the body's momentum (linear, then about the tool's origin), v the velocity of the tool and f
the weight, all in tool axes and linear in the ten parameters.
"""

from typing import Any

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import times
from ..spatial.rotations import rotate_back
from ..spatial.vectors import Scalars, add, cross, matrix_times, scale, subtract
from .gibbs_appell import INERTIAL, unit_inertia
from .kinematics import fk, jacobian, jacobian_dot


def momentum_columns(
    chain: Chain, q: Scalars, qd: Scalars, fn: Functions
) -> tuple[list[list[Any]], list[list[Any]]]:
    """(P, B), each (n, 10)."""
    J, Jd = jacobian(chain, q, fn, "tool"), jacobian_dot(chain, q, qd, fn, "tool")
    T, joints = fk(chain, q, fn), range(chain.n)
    twist = matrix_times(J, qd)
    v, w = (twist[0], twist[1], twist[2]), (twist[3], twist[4], twist[5])
    down = rotate_back((T[0][:3], T[1][:3], T[2][:3]), chain.gravity)
    P: list[list[Any]] = [[0.0] * INERTIAL for _ in joints]
    B: list[list[Any]] = [[0.0] * INERTIAL for _ in joints]
    for k in range(INERTIAL):
        body = unit_inertia(k)
        p = add(scale(body.m, v), cross(w, body.h))
        about = add(cross(body.h, v), times(body.I, w))
        force = subtract(cross(w, p), scale(body.m, down))
        moment = subtract(add(cross(w, about), cross(v, p)), cross(body.h, down))
        h, acting = (*p, *about), (*force, *moment)
        for j in joints:
            P[j][k] = sum(J[i][j] * h[i] for i in range(6))
            B[j][k] = sum(Jd[i][j] * h[i] - J[i][j] * acting[i] for i in range(6))
    return P, B
