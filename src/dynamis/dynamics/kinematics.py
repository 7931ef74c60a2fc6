"""Where the links are and how the tool moves."""

from collections.abc import Sequence
from typing import Any

from ..model.chain import Chain
from ..spatial.frames import ORIGIN, Frame, compose, matrix
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, moved, plus
from ..spatial.rotations import rotate_back, transpose
from ..spatial.vectors import ZERO, Vector, add, cross, scale, subtract
from . import coupling


def motions(chain: Chain, x: Sequence[Any], fn: Functions) -> list[Frame]:
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
            axis = (R[0][2], R[1][2], R[2][2])
            frames.append(Frame(R, add(p, scale(xi, axis))))
    return frames


def inertias(chain: Chain, x: Sequence[Any]) -> list[Inertia]:
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


def poses(chain: Chain, x: Sequence[Any], fn: Functions) -> list[Frame]:
    """Each joint frame seen from the reference frame."""
    result: list[Frame] = []
    for joint, motion in zip(chain.joints, motions(chain, x, fn), strict=True):
        result.append(motion if joint.parent < 0 else compose(result[joint.parent], motion))
    return result


def fk(
    chain: Chain,
    q: Sequence[Any],
    fn: Functions,
    link: int | None = None,
    offset: Frame | None = None,
) -> tuple:
    """Pose of the tool, or of a frame fixed in a link's joint frame (-1: the base), 4x4."""
    link, pose = (chain.tip, chain.tool) if link is None else (link, offset or ORIGIN)
    if link < 0:
        return matrix(pose)
    all_motions = motions(chain, coupling.positions(chain, q), fn)
    for i in chain.ancestors(link):
        pose = compose(all_motions[i], pose)
    return matrix(pose)


def frames(chain: Chain, q: Sequence[Any], fn: Functions) -> tuple:
    """Base frame and every link frame, in the user's own frames, (links + 1, 4, 4)."""
    where = poses(chain, coupling.positions(chain, q), fn)
    bodies = chain.bodies[: chain.links]
    user = [matrix(compose(T, body.user)) for T, body in zip(where, bodies, strict=False)]
    return (matrix(chain.base), *user)


def jacobian(
    chain: Chain,
    q: Sequence[Any],
    fn: Functions,
    link: int | None = None,
    offset: Frame | None = None,
    frame: str = "base",
) -> list:
    """J(q): (v, w) = J qd of the tool (or another frame), linear rows first, (6, n)."""
    columns, turn = _columns(chain, coupling.positions(chain, q), fn, link, offset)
    return _rows(chain, [(*_seen(turn, v, frame), *_seen(turn, w, frame)) for v, w in columns])


def jacobian_dot(
    chain: Chain,
    q: Sequence[Any],
    qd: Sequence[Any],
    fn: Functions,
    link: int | None = None,
    offset: Frame | None = None,
    frame: str = "base",
) -> list:
    """dJ/dt along qd, (6, n).

    In base axes the column of a revolute joint z x (t - o) changes by zd x (t - o) + z x (td - od),
    with zd = w x z. In tool axes the tool frame turns as well: d(R^T v) = R^T (vd - w x v).
    """
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    columns, turn = _columns(chain, x, fn, link, offset)
    origins = _origins(chain, x, fn, link, offset)
    speeds = _speeds(chain, x, xd, fn)
    vt, wt = _tip_speed(columns, xd)
    result = []
    for i, (v, w) in enumerate(columns):
        if v is ZERO and w is ZERO:
            result.append((0.0,) * 6)
            continue
        z, o, t = origins[i]
        wi, vi = speeds[i]
        zd = cross(wi, z)
        if chain.joints[i].kind == "revolute":
            vd = add(cross(zd, subtract(t, o)), cross(z, subtract(vt, vi)))
            wd = zd
        else:
            vd, wd = zd, ZERO
        if frame == "tool":
            vd, wd = subtract(vd, cross(wt, v)), subtract(wd, cross(wt, w))
        result.append((*_seen(turn, vd, frame), *_seen(turn, wd, frame)))
    return _rows(chain, result)


def _seen(turn: Any, v: Vector, frame: str) -> Vector:
    return rotate_back(turn, v) if frame == "tool" else v


def _rows(chain: Chain, columns: list) -> list:
    return [coupling.rates_transposed(chain, row) for row in zip(*columns, strict=True)]


def _target(chain: Chain, where: list[Frame], link: int | None, offset: Frame | None) -> Frame:
    if link is None:
        return compose(where[chain.tip], chain.tool)
    T = ORIGIN if link < 0 else where[link]
    return compose(T, offset or ORIGIN)


def _columns(
    chain: Chain, x: Sequence[Any], fn: Functions, link: int | None, offset: Frame | None
) -> tuple[list[tuple[Vector, Vector]], Any]:
    """(linear, angular) column of every tree joint in base axes, and the tool's rotation."""
    where = poses(chain, x, fn)
    target = _target(chain, where, link, offset)
    moving = set(chain.ancestors(chain.tip if link is None else link))
    columns: list[tuple[Vector, Vector]] = []
    for i, joint in enumerate(chain.joints):
        if i not in moving:
            columns.append((ZERO, ZERO))
            continue
        z = transpose(where[i].R)[2]
        if joint.kind == "revolute":
            columns.append((cross(z, subtract(target.p, where[i].p)), z))
        else:
            columns.append((z, ZERO))
    return columns, target.R


def _origins(
    chain: Chain, x: Sequence[Any], fn: Functions, link: int | None, offset: Frame | None
) -> list[tuple[Vector, Vector, Vector]]:
    where = poses(chain, x, fn)
    t = _target(chain, where, link, offset).p
    return [(transpose(T.R)[2], T.p, t) for T in where]


def _speeds(
    chain: Chain, x: Sequence[Any], xd: Sequence[Any], fn: Functions
) -> list[tuple[Vector, Vector]]:
    """Angular velocity of each link and velocity of its joint frame's origin, in base axes."""
    where = poses(chain, x, fn)
    result: list[tuple[Vector, Vector]] = []
    for joint, T, rate in zip(chain.joints, where, xd, strict=True):
        z = transpose(T.R)[2]
        if joint.parent < 0:
            w, v = ZERO, ZERO
        else:
            w, v = result[joint.parent]
            v = add(v, cross(w, subtract(T.p, where[joint.parent].p)))
        if joint.kind == "revolute":
            w = add(w, scale(rate, z))
        else:
            v = add(v, scale(rate, z))
        result.append((w, v))
    return result


def _tip_speed(columns: list[tuple[Vector, Vector]], xd: Sequence[Any]) -> tuple[Vector, Vector]:
    v = w = ZERO
    for (cv, cw), rate in zip(columns, xd, strict=True):
        v, w = add(v, scale(rate, cv)), add(w, scale(rate, cw))
    return v, w
