"""Mass matrix and forward dynamics after Walker and Orin (1982): four methods.

1. every column of M by a full inverse dynamics with a unit acceleration;
2. the same, but only links that move and torques on or below the diagonal;
3. composite bodies: beyond joint j everything is one rigid body;
4. no M at all: conjugate gradients, each step one inverse dynamics.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, plus, transformed
from ..spatial.rotations import rotate, rotate_back
from ..spatial.vectors import ZERO, Vector, add, cross
from .kinematics import inertias, motions
from .newton_euler import Motion, inward, outward, turning, wrench_of

Matrix = list[list[Any]]
STEPS_PER_JOINT = 4  # of the conjugate gradients; n would do without rounding


def _unit(j: int, size: int) -> list[float]:
    return [float(i == j) for i in range(size)]


def mass_matrix_1(chain: Chain, x: Sequence[Any], fn: Functions) -> Matrix:
    """M by columns: Newton-Euler at rest, without gravity, qdd = e_j."""
    size = len(chain.joints)
    columns = [_column(chain, x, _unit(j, size), fn) for j in range(size)]
    return [list(row) for row in zip(*columns, strict=True)]


def _column(chain: Chain, x: Sequence[Any], xdd: Sequence[Any], fn: Functions) -> list[Any]:
    rest = [0.0] * len(chain.joints)
    no_gravity = [0.0] * 6 + list(chain.gravity)
    frames, links = outward(chain, x, rest, xdd, fn, no_gravity)
    loads = [wrench_of(b, m) for b, m in zip(inertias(chain, x), links, strict=True)]
    return inward(chain, frames, loads)


def mass_matrix_2(chain: Chain, x: Sequence[Any], fn: Functions) -> Matrix:
    """M by half columns: links before joint j do not move, and M is symmetric."""
    size = len(chain.joints)
    frames, bodies = motions(chain, x, fn), inertias(chain, x)
    M: Matrix = [[0.0] * size for _ in range(size)]
    for j in range(size):
        moving = {i for i in range(size) if j in chain.ancestors(i)}
        links = _accelerated(chain, frames, j, moving)
        loads = [
            wrench_of(bodies[i], links[i]) if i in moving else (ZERO, ZERO) for i in range(size)
        ]
        tau = inward(chain, frames, loads)
        for i in moving:
            M[i][j] = M[j][i] = tau[i]
    return M


def _accelerated(chain: Chain, frames: list, j: int, moving: set[int]) -> dict[int, Motion]:
    """Unit acceleration of joint j, seen by the links it moves."""
    links: dict[int, Motion] = {}
    for i in sorted(moving):
        if i == j:
            revolute = chain.joints[j].kind == "revolute"
            wd, a = ((0.0, 0.0, 1.0), ZERO) if revolute else (ZERO, (0.0, 0.0, 1.0))
        else:
            R, p = frames[i]
            before = links[chain.joints[i].parent]
            wd = rotate_back(R, before.wd)
            a = rotate_back(R, add(before.a, cross(before.wd, p)))
        links[i] = Motion(ZERO, wd, a, turning(ZERO, wd))
    return links


def mass_matrix_3(chain: Chain, x: Sequence[Any], fn: Functions) -> Matrix:
    """M by composite bodies; what joint j alone would need, carried down to every joint before."""
    size = len(chain.joints)
    frames, composite = motions(chain, x, fn), inertias(chain, x)
    M: Matrix = [[0.0] * size for _ in range(size)]
    for j in range(size - 1, -1, -1):
        f, n = _unit_load(chain.joints[j].kind, composite[j])
        i = j
        while True:
            M[i][j] = M[j][i] = n[2] if chain.joints[i].kind == "revolute" else f[2]
            if chain.joints[i].parent < 0:
                break
            R, p = frames[i]
            f = rotate(R, f)
            n = add(rotate(R, n), cross(p, f))
            i = chain.joints[i].parent
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
    apply: Callable[[list[Any]], list[Any]], b: Sequence[Any], fn: Functions
) -> list[Any]:
    """x from M x = b by a fixed number of guarded steps; `apply` is x -> M x."""
    nothing = 0.0 * sum(b)  # NaN where any of b is
    x: list[Any] = [nothing for _ in b]
    r = list(b)
    p = list(b)
    rr = _dot(r, r)
    for _ in range(STEPS_PER_JOINT * len(r)):
        Mp = apply(p)
        pMp = _dot(p, Mp)
        going = pMp > 0.0
        alpha = fn.select(going, rr / fn.select(going, pMp, 1.0), 0.0)
        x = [xi + alpha * pi for xi, pi in zip(x, p, strict=True)]
        r = [ri - alpha * mi for ri, mi in zip(r, Mp, strict=True)]
        new = _dot(r, r)
        beta = fn.select(rr > 0.0, new / fn.select(rr > 0.0, rr, 1.0), 0.0)
        p = [ri + beta * pi for ri, pi in zip(r, p, strict=True)]
        rr = new
    return x


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    return sum(x * y for x, y in zip(a, b, strict=True))


MASS_MATRICES = {
    "walker-orin-1": mass_matrix_1,
    "walker-orin-2": mass_matrix_2,
    "walker-orin-3": mass_matrix_3,
}
