"""Closures over any scalar: how far the loops are open, J and dJ/dt of what holds them.

A closure between frames A and B, with d = p_B - p_A, holds components of R_A^T d and products a.b
of their axes, or the length of d (see `dynamis.model.closure`). Joint i, with axis z through o,
moves what lies beyond it; s is 1 where that is B, -1 where it is A, and a joint that carries both
frames moves neither against the other:

    d/dt R_A^T d = R_A^T sum s z x (p_B - o) qd        d/dt a.b = (b x a) . sum s z qd
"""

from typing import Any, NamedTuple

from ..model.chain import Chain, ChainClosure
from ..model.closure import KINDS
from ..spatial.frames import Frame, compose
from ..spatial.functions import Functions
from ..spatial.rotations import rotate_back, transpose
from ..spatial.vectors import ZERO, Scalars, Vector, add, cross, dot, negate, scale, subtract
from . import coupling
from .kinematics import poses, speeds
from .newton_euler import Exertion

HALF_TURN = 2.0  # more than any product of axes


class Speed(NamedTuple):
    """Angular velocity of a link, velocity of a point of it."""

    w: Vector = ZERO
    v: Vector = ZERO


def closure_error(chain: Chain, q: Scalars, fn: Functions) -> list[Any]:
    """How far every condition of the closures is from being met, m or rad, (rows,)."""
    where = poses(chain, coupling.positions(chain, q), fn)
    return errors_of(chain, ends_of(chain, where), fn)


Ends = list[tuple[Frame, Frame]]


def ends_of(chain: Chain, where: list[Frame]) -> Ends:
    """The two frames of every closure in the reference frame, from those of the joints."""
    return [_frames(closure, where) for closure in chain.closures]


def errors_of(chain: Chain, ends: Ends, fn: Functions) -> list[Any]:
    """`closure_error` from the frames of the closures."""
    pairs = zip(chain.closures, ends, strict=True)
    return [e for closure, (A, B) in pairs for e in _errors(closure, A, B, fn)]


def _frames(closure: ChainClosure, where: list[Frame]) -> tuple[Frame, Frame]:
    """Its two frames in the reference frame."""
    A, B = (frame if link < 0 else compose(where[link], frame) for link, frame in closure.ends)
    return A, B


def _errors(closure: ChainClosure, A: Frame, B: Frame, fn: Functions) -> list[Any]:
    kind, d = KINDS[closure.kind], subtract(B.p, A.p)
    if closure.length is not None:
        return [fn.sqrt(dot(d, d)) - closure.length]
    along = rotate_back(A.R, d)
    a, b = transpose(A.R), transpose(B.R)
    turns = [sum(s * dot(a[i], b[j]) for s, i, j in turn) for turn in kind.turns]
    if kind.same:
        facing = sum(dot(a[k], b[k]) for k in kind.same)
        turns[0] = turns[0] + fn.select(facing > 0.0, 0.0, HALF_TURN)
    return [*(along[k] for k in kind.along), *turns]


def closure_jacobian(chain: Chain, q: Scalars, fn: Functions) -> list[list[Any]]:
    """J with d/dt closure_error = J qd, (rows, n)."""
    where = poses(chain, coupling.positions(chain, q), fn)
    return jacobian_of(chain, where, ends_of(chain, where), fn)


def jacobian_of(
    chain: Chain, where: list[Frame], ends: Ends, fn: Functions, closed: bool = False
) -> list[list[Any]]:
    """`closure_jacobian` from the frames of joints and closures.

    `closed`: for loops that are closed, in shorter terms.
    """
    rows = []
    for closure, (A, B) in zip(chain.closures, ends, strict=True):
        length = closure.length if closed else None
        direct, turns = _directions(closure, A, B, fn, length)
        meets = closed and len(KINDS[closure.kind].along) == len(B.p)  # then both points are one
        columns = {}
        for i, sign in _movers(chain, closure):
            z, o = transpose(where[i].R)[2], where[i].p
            end = A.p if sign < 0 and (closure.length is not None or meets) else B.p
            turning = chain.joints[i].kind == "revolute"
            v = cross(z, subtract(end, o)) if turning else z
            linear = [sign * dot(e, v) for e in direct]
            columns[i] = [*linear, *(sign * dot(u, z) if turning else 0.0 for u in turns)]
        rows += _rows(chain, closure, columns)
    return rows


def closure_exertions(
    chain: Chain, where: list[Frame], f: Scalars, fn: Functions
) -> list[tuple[Exertion, Exertion]]:
    """What the links of every closure exert on it by its forces f, those of the second negative.

    f are what the first link exerts on the second, by rows; both act at the second frame's origin.
    """
    found, rows = [], iter(f)
    for closure, (A, B) in zip(chain.closures, ends_of(chain, where), strict=True):
        direct, turns = _directions(closure, A, B, fn)
        force = add(ZERO, *(scale(next(rows), e) for e in direct))
        moment = add(ZERO, *(scale(next(rows), u) for u in turns))
        (first, _), (second, _) = closure.ends
        on_second = Exertion(second, B.p, negate(force), negate(moment))
        found.append((Exertion(first, B.p, force, moment), on_second))
    return found


def closure_jacobian_dot(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[list[Any]]:
    """dJ/dt along qd, (rows, n)."""
    x, xd = coupling.positions(chain, q), coupling.rates(chain, qd)
    where, moving = poses(chain, x, fn), speeds(chain, x, xd, fn)
    rows = []
    for closure in chain.closures:
        A, B = _frames(closure, where)
        a, b = (
            _speed(moving, where, k, T.p) for (k, _), T in zip(closure.ends, (A, B), strict=True)
        )
        direct, turns = _directions(closure, A, B, fn)
        direct_dot, turns_dot = _direction_rates(closure, A, B, a, b, direct, fn)
        columns = {}
        for i, sign in _movers(chain, closure):
            z, o = transpose(where[i].R)[2], where[i].p
            w, od = moving[i]
            zd = cross(w, z)
            end, end_dot = (A.p, a.v) if closure.length is not None and sign < 0 else (B.p, b.v)
            turning = chain.joints[i].kind == "revolute"
            v, vd = z, zd
            if turning:
                r, rd = subtract(end, o), subtract(end_dot, od)
                v, vd = cross(z, r), add(cross(zd, r), cross(z, rd))
            linear = [
                sign * (dot(ed, v) + dot(e, vd)) for e, ed in zip(direct, direct_dot, strict=True)
            ]
            pairs = zip(turns, turns_dot, strict=True)
            angular = [sign * (dot(ud, z) + dot(u, zd)) if turning else 0.0 for u, ud in pairs]
            columns[i] = [*linear, *angular]
        rows += _rows(chain, closure, columns)
    return rows


def _movers(chain: Chain, closure: ChainClosure) -> list[tuple[int, float]]:
    """Tree joints that move one of its frames against the other, and s."""
    first, second = (set(chain.ancestors(link)) for link, _ in closure.ends)
    return [(i, 1.0 if i in second else -1.0) for i in sorted(first ^ second)]


def _directions(
    closure: ChainClosure, A: Frame, B: Frame, fn: Functions, length: Any = None
) -> tuple[list[Vector], list[Vector]]:
    """What each row multiplies: velocities, and angular velocities; `length` of a rod, if known."""
    if closure.length is not None:
        d = subtract(B.p, A.p)
        return [scale(1.0 / (fn.sqrt(dot(d, d)) if length is None else length), d)], []
    kind, a, b = KINDS[closure.kind], transpose(A.R), transpose(B.R)
    turns = [add(*(scale(s, cross(b[j], a[i])) for s, i, j in turn)) for turn in kind.turns]
    return [a[k] for k in kind.along], turns


def _direction_rates(
    closure: ChainClosure, A: Frame, B: Frame, a: Speed, b: Speed, direct: list, fn: Functions
) -> tuple[list[Vector], list[Vector]]:
    """Their rates."""
    if closure.length is not None:
        (n,), d, dd = direct, subtract(B.p, A.p), subtract(b.v, a.v)
        across = subtract(dd, scale(dot(n, dd), n))
        return [scale(1.0 / fn.sqrt(dot(d, d)), across)], []
    kind, x, y = KINDS[closure.kind], transpose(A.R), transpose(B.R)
    xd, yd = [cross(a.w, v) for v in x], [cross(b.w, v) for v in y]
    turns = [
        add(
            *(scale(s, cross(yd[j], x[i])) for s, i, j in turn),
            *(scale(s, cross(y[j], xd[i])) for s, i, j in turn),
        )
        for turn in kind.turns
    ]
    return [xd[k] for k in kind.along], turns


def _speed(moving: list, where: list[Frame], link: int, point: Vector) -> Speed:
    if link < 0:
        return Speed()
    w, v = moving[link]
    return Speed(w, add(v, cross(w, subtract(point, where[link].p))))


def _rows(chain: Chain, closure: ChainClosure, columns: dict[int, list[Any]]) -> list[list[Any]]:
    """Rows over the coordinates of columns over some joints of the tree."""
    size = len(KINDS[closure.kind].rows)
    empty = [0.0] * size
    tree = [columns.get(i, empty) for i in range(len(chain.joints))]
    return [list(coupling.torques(chain, row)) for row in zip(*tree, strict=True)]


def closes(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """Flag of a configuration that closes every loop."""
    good: Any = 1.0
    for e in closure_error(chain, q, fn):
        good = good * (e <= chain.tolerance) * (e >= -chain.tolerance)
    return good
