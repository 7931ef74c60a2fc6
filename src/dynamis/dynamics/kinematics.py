"""Where the links are and how the tool moves."""

from typing import Any

from ..model.chain import Chain
from ..spatial.frames import ORIGIN, Frame, compose, matrix
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, moved, plus
from ..spatial.rotations import Matrix3, rotate_back, transpose
from ..spatial.vectors import ZERO, Scalars, Vector, add, cross, scale, subtract
from . import coupling


def motions(chain: Chain, x: Scalars, fn: Functions) -> list[Frame]:
    """Each joint frame seen from its parent's, at tree positions x."""
    frames = []
    for joint, xi in zip(chain.joints, x, strict=True):
        R, p = joint.placement
        if not joint.turns:
            frames.append(joint.placement)
        elif joint.kind == "revolute":
            c, s = fn.cos(xi), fn.sin(xi)
            rows = [(a * c + b * s, b * c - a * s, z) for a, b, z in R]
            frames.append(Frame((rows[0], rows[1], rows[2]), p))
        else:
            frames.append(Frame(R, add(p, scale(xi, transpose(R)[2]))))
    return frames


def inertias(chain: Chain, x: Scalars) -> list[Inertia]:
    """Each link's inertia in its joint frame; a sliding centre of mass is taken where it is now."""
    result = []
    for body, xi in zip(chain.bodies, x, strict=True):
        inertia = body.inertia
        if body.slide is not None:
            inertia = moved(inertia, (0.0, 0.0, body.slide * xi))
        if body.load is not None:
            inertia = plus(inertia, body.load)
        result.append(inertia)
    return result


def poses(chain: Chain, x: Scalars, fn: Functions) -> list[Frame]:
    """Each joint frame seen from the reference frame."""
    result: list[Frame] = []
    for joint, motion in zip(chain.joints, motions(chain, x, fn), strict=True):
        result.append(motion if joint.parent < 0 else compose(result[joint.parent], motion))
    return result


def fk(
    chain: Chain, q: Scalars, fn: Functions, link: int | None = None, offset: Frame | None = None
) -> tuple:
    """Pose of the tool, or of a frame fixed in a link's joint frame (-1: the base), 4x4."""
    link, pose = (chain.tip, chain.tool) if link is None else (link, offset or ORIGIN)
    if link < 0:
        return matrix(pose)
    all_motions = motions(chain, coupling.positions(chain, q), fn)
    for i in chain.ancestors(link):
        pose = compose(all_motions[i], pose)
    return matrix(pose)


def frames(chain: Chain, q: Scalars, fn: Functions) -> tuple:
    """Base frame and every link frame, in the user's own frames, (links + 1, 4, 4)."""
    where = poses(chain, coupling.positions(chain, q), fn)
    bodies = chain.bodies[: chain.links]
    user = [matrix(compose(T, body.user)) for T, body in zip(where, bodies, strict=False)]
    return (matrix(chain.base), *user)


def jacobian(chain: Chain, q: Scalars, fn: Functions, frame: str = "base", **place: Any) -> list:
    """J(q): (v, w) = J qd of the tool or what else `place` is, linear rows first, (6, n).

    `place` is as for `fk`: the `link`, and the `offset` of a frame in it.
    """
    columns, turn = _columns(chain, coupling.positions(chain, q), fn, **place)
    return _rows(chain, columns, turn, frame)


def jacobian_dot(
    chain: Chain, q: Scalars, qd: Scalars, fn: Functions, frame: str = "base", **place: Any
) -> list:
    """dJ/dt along qd, (6, n).

    In base axes the column of a revolute joint z x (t - o) changes by zd x (t - o) + z x (td - od),
    with zd = w x z. In tool axes the tool frame turns as well: d(R^T v) = R^T (vd - w x v).
    """
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    columns, turn = _columns(chain, x, fn, **place)
    where, T = _placed(chain, x, fn, **place)
    vt = wt = ZERO
    for (v, w), rate in zip(columns, xd, strict=True):
        vt, wt = add(vt, scale(rate, v)), add(wt, scale(rate, w))
    result = []
    for joint, o, (v, w), (wi, vi) in zip(
        chain.joints, where, columns, speeds(chain, x, xd, fn), strict=True
    ):
        if v is ZERO and w is ZERO:
            result.append((ZERO, ZERO))
            continue
        z = transpose(o.R)[2]
        zd = cross(wi, z)
        vd, wd = zd, ZERO
        if joint.kind == "revolute":
            vd = add(cross(zd, subtract(T.p, o.p)), cross(z, subtract(vt, vi)))
            wd = zd
        if frame == "tool":
            vd, wd = subtract(vd, cross(wt, v)), subtract(wd, cross(wt, w))
        result.append((vd, wd))
    return _rows(chain, result, turn, frame)


def _rows(chain: Chain, columns: list[tuple[Vector, Vector]], turn: Matrix3, frame: str) -> list:
    """Rows over the coordinates of (linear, angular) columns, in base or in tool axes."""
    if frame == "tool":
        columns = [(rotate_back(turn, v), rotate_back(turn, w)) for v, w in columns]
    return [coupling.torques(chain, r) for r in zip(*((*v, *w) for v, w in columns), strict=True)]


def _placed(
    chain: Chain, x: Scalars, fn: Functions, link: int | None = None, offset: Frame | None = None
) -> tuple[list[Frame], Frame]:
    """Pose of every joint frame, and of the tool or what else is asked for."""
    where = poses(chain, x, fn)
    if link is None:
        return where, compose(where[chain.tip], chain.tool)
    return where, compose(ORIGIN if link < 0 else where[link], offset or ORIGIN)


def _columns(
    chain: Chain, x: Scalars, fn: Functions, link: int | None = None, offset: Frame | None = None
) -> tuple[list[tuple[Vector, Vector]], Matrix3]:
    """(linear, angular) column of every tree joint in base axes, and the rotation of the frame."""
    where, target = _placed(chain, x, fn, link, offset)
    moving = set(chain.ancestors(chain.tip if link is None else link))
    columns: list[tuple[Vector, Vector]] = []
    for i, joint in enumerate(chain.joints):
        z = transpose(where[i].R)[2]
        if i not in moving:
            columns.append((ZERO, ZERO))
        elif joint.kind == "revolute":
            columns.append((cross(z, subtract(target.p, where[i].p)), z))
        else:
            columns.append((z, ZERO))
    return columns, target.R


def speeds(chain: Chain, x: Scalars, xd: Scalars, fn: Functions) -> list[tuple[Vector, Vector]]:
    """Angular velocity of each link and velocity of its joint frame's origin, in base axes."""
    where = poses(chain, x, fn)
    result: list[tuple[Vector, Vector]] = []
    for joint, T, rate in zip(chain.joints, where, xd, strict=True):
        w, v = ZERO, ZERO
        if joint.parent >= 0:
            w, v = result[joint.parent]
            v = add(v, cross(w, subtract(T.p, where[joint.parent].p)))
        turn = scale(rate, transpose(T.R)[2])
        result.append((add(w, turn), v) if joint.kind == "revolute" else (w, add(v, turn)))
    return result
