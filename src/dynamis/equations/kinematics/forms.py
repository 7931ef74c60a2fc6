"""Inverse kinematics by hand: the closed forms of the textbooks, where they fit.

Two joints in a plane (`_turning_pair`, `_sliding_pair`) reach a point of that plane; a joint across
the plane turns it (`_waist`); a spherical wrist turns what it carries, so that its centre is
reached first (Pieper 1968).
"""

from typing import Any

import sympy as sp

from ...model.model import Model
from ..scalars.scalars import EXACT, Exact, plain
from ..scalars.simplify import tidy
from .inverse import HandInverse
from .rows import QUARTER, Rows, along_axis, arm_rows, shifted


def hand_inverse(model: Model) -> HandInverse | None:
    """The closed form of an arm's table, or None."""
    arm = arm_rows(model)
    if arm is None:
        return None
    for form in (_planar, _scara, _spatial, _wrist):
        found = form(arm)
        if found is not None:
            return found
    return None


def _begin(arm: Rows, position: bool) -> HandInverse:
    found = HandInverse(arm.model, needs="position" if position else "pose")
    return found


def _goal(h: HandInverse, arm: Rows, carried: Any) -> list[Any]:
    """The point to be reached in the frame of the first joint, by letters if it takes any.

    `carried` is the way from the point to the tool's origin, in axes of the tool.
    """
    p: Any = sp.Matrix([sp.Symbol(f"p_{x}", real=True) for x in "xyz"])
    R = sp.Matrix(3, 3, lambda i, j: sp.Symbol(f"r{i + 1}{j + 1}", real=True))
    w = p - R * carried
    if arm.base != sp.eye(4):
        w = arm.base[:3, :3].T * (w - arm.base[:3, 3])
    if w == p:
        title, text, items = h.steps[-1]
        h.steps[-1] = title, f"{text} {ITSELF}", items
        return list(p)
    return [h.let(f"w_{x}", sp.expand(e)) for x, e in zip("xyz", w, strict=True)]


def _turn_goal(h: HandInverse, arm: Rows) -> Any:
    """Rotation that the joints have to give: base and end taken off."""
    R = sp.Matrix(3, 3, lambda i, j: sp.Symbol(f"r{i + 1}{j + 1}", real=True))
    return arm.base[:3, :3].T * R * arm.end[:3, :3].T


def _planar(arm: Rows) -> HandInverse | None:
    """Two joints in a plane, or three of them with the direction of the tool."""
    kinds, n = arm.kinds, len(arm.rows)
    if kinds == "RR" and arm.turns(0) == (0,):
        h = _begin(arm, True)
        h.step("Inverse kinematics: the point", POINT)
        w = _goal(h, arm, sp.zeros(3, 1))
        end = arm.end[:3, 3]
        return h if _turning_pair(h, arm, 0, w[0], w[1], (end[0], end[1])) else None
    if kinds == "RP" and arm.turns(0) in ((1,), (-1,)):
        h = _begin(arm, True)
        h.step("Inverse kinematics: the point", POINT)
        w = _goal(h, arm, sp.zeros(3, 1))
        end = along_axis(arm.rows[1], arm.rows[1].theta) * arm.end
        return h if _sliding_pair(h, arm, 0, w[0], w[1], end[:3, 3]) else None
    if kinds == "RRR" and n == 3 and arm.turns(0, 1) == (0, 0):
        h = _begin(arm, False)
        h.step("Inverse kinematics: the direction", DIRECTION)
        R = _turn_goal(h, arm)
        phi = h.let("phi_e", sp.atan2(R[1, 0], R[0, 0]))
        end = arm.end[:3, 3]
        carried = arm.end[:3, :3].T * end
        h.step("Inverse kinematics: the last axis", LAST_AXIS)
        w = _goal(h, arm, carried)
        if not _turning_pair(h, arm, 0, w[0], w[1], (arm.rows[1].a, sp.Integer(0))):
            return None
        before = sum(arm.rows[k].angle(h.joints[k]) for k in range(2))
        h.turn(2, arm.rows[2], phi - before)
        lengths = [sp.Abs(arm.rows[0].a), sp.Abs(arm.rows[1].a), sp.sqrt(end[0] ** 2 + end[1] ** 2)]
        h.reach = _three_bars(lengths)
        return h
    return None


def _three_bars(lengths: list[Any]) -> list[tuple[str, Any]]:
    longest = sp.Max(*lengths)
    total = sp.Add(*lengths)
    return [(r"r_{\max}", total), (r"r_{\min}", sp.Max(0, 2 * longest - total))]


def _scara(arm: Rows) -> HandInverse | None:
    """Two joints in a plane, a slide across it, and a turn of the tool."""
    kinds, n = arm.kinds, len(arm.rows)
    if kinds not in ("RRP", "RRPR") or arm.turns(0)[0] != 0 or arm.turns(1)[0] not in (0, 2):
        return None
    if n == 4 and arm.turns(2)[0] not in (0, 2):
        return None
    h = _begin(arm, n == 3)
    h.step("Inverse kinematics: the point", POINT)
    flip = sp.Integer(1 if arm.rows[1].turn == 0 else -1)
    slide = arm.rows[2]
    inner = along_axis(slide, slide.theta) * shifted(slide.a, (slide.turn or 0) * QUARTER)
    if n == 3:
        whole, carried = inner * arm.end, sp.zeros(3, 1)
        last = whole[:3, 3]
    else:
        whole = inner * along_axis(arm.rows[3]) * arm.end
        carried = arm.end[:3, :3].T * sp.Matrix([arm.end[0, 3], arm.end[1, 3], 0])
        last = (inner * along_axis(arm.rows[3]))[:3, 3] + inner[:3, :3] * sp.Matrix(
            [0, 0, arm.end[2, 3]]
        )
    w = _goal(h, arm, carried)
    if not _turning_pair(h, arm, 0, w[0], w[1], (arm.rows[1].a + last[0], flip * last[1])):
        return None
    h.step("Inverse kinematics: the slide", SLIDE)
    height = arm.rows[0].d + arm.rows[1].d
    h.joint(2, sp.expand(flip * (w[2] - height) - last[2] - slide.offset))
    if n == 4:
        h.step("Inverse kinematics: the turn of the tool", TURN)
        R = _turn_goal(h, arm)
        phi = h.let("phi_e", sp.atan2(R[1, 0], R[0, 0]))
        more = flip * (-1 if slide.turn == 2 else 1)
        before = sum(arm.rows[k].angle(h.joints[k]) for k in range(2))
        h.turn(3, arm.rows[3], more * (phi - before - flip * slide.theta))
    return h


def _spatial(arm: Rows) -> HandInverse | None:
    """Three joints that carry a point: a waist, and two joints in a plane."""
    if len(arm.rows) != 3:
        return None
    end = arm.end[:3, 3]
    h = _begin(arm, True)
    h.step("Inverse kinematics: the point", POINT)
    w = _goal(h, arm, sp.zeros(3, 1))
    return h if _waist(h, arm, w, end) else None


def _wrist(arm: Rows) -> HandInverse | None:
    """Six joints whose last three axes meet in one point."""
    if arm.kinds[3:] != "RRR" or len(arm.rows) != 6:
        return None
    r3, r4, r5 = arm.rows[3], arm.rows[4], arm.rows[5]
    meet = r3.a == 0 and r4.a == 0 and r4.d == 0
    if not meet or arm.rows[3].turn not in (1, -1) or arm.rows[4].turn not in (1, -1):
        return None
    e4, e5 = int(r3.turn or 0), int(r4.turn or 0)
    if arm.rows[2].turn is None:
        return None
    h = _begin(arm, False)
    h.step("Inverse kinematics: the centre of the wrist", CENTRE)
    tip = arm.end[:3, 3] + sp.Matrix([0, 0, r5.d])
    w = _goal(h, arm, arm.end[:3, :3].T * tip)
    after = shifted(arm.rows[2].a, arm.rows[2].turn * QUARTER)
    centre: Any = after * sp.Matrix([0, 0, r3.d, 1])
    if not _waist(h, arm, w, centre[:3, :]):
        return None
    _wrist_turns(h, arm, e4, e5)
    return h


def _waist(h: HandInverse, arm: Rows, w: list[Any], point: Any) -> bool:
    """q1 from the view from above, then the two joints in the plane it turns.

    `point` is in the frame after the motion of joint 3 (a = d = 0 there).
    """
    r1, r2, r3 = arm.rows[:3]
    if r1.kind != "revolute" or r2.kind != "revolute" or r1.turn not in (1, -1):
        return False
    e1 = int(r1.turn)
    if r3.kind == "revolute":
        if r2.turn != 0:
            return False
        across = r2.d + r3.d + point[2]
    else:
        if r2.turn not in (1, -1):
            return False
        c, s = sp.cos(r3.theta), sp.sin(r3.theta)
        along_y = s * point[0] + c * point[1]
        across = r2.d + int(r2.turn) * along_y
        point = sp.Matrix([c * point[0] - s * point[1], along_y, point[2]])
    h.step("Inverse kinematics: the first joint", WAIST)
    side = h.sign("sigma1")
    if across == 0:
        h.turn(0, r1, sp.atan2(side * w[1], side * w[0]))
        r = h.let("r", side * sp.sqrt(w[0] ** 2 + w[1] ** 2))
    else:
        r = h.let("r", side * sp.sqrt(w[0] ** 2 + w[1] ** 2 - across**2))
        h.turn(0, r1, sp.atan2(w[1], w[0]) - sp.atan2(-e1 * across, r))
    u = h.let("u", r - r1.a) if r1.a != 0 else r
    v = w[2] - r1.d
    if e1 * v != w[2]:
        v = h.let("v", e1 * v)
    if r3.kind == "revolute":
        return _turning_pair(h, arm, 1, u, v, (point[0], point[1]))
    return _sliding_pair(h, arm, 1, u, v, point)


def _turning_pair(
    h: HandInverse, arm: Rows, i: int, X: Any, Y: Any, point: tuple[Any, Any]
) -> bool:
    """Joints i and i + 1 about parallel axes: the triangle of two bars and the way to the point."""
    h.step("Inverse kinematics: two joints in a plane", TRIANGLE)
    a = arm.rows[i].a
    x, y = (sp.sympify(e) for e in point)
    if a == 0 or x == y == 0:
        return False
    elbow = h.sign(f"sigma{i + 2}")
    if y == 0:
        b, delta = x, sp.Integer(0)
    elif x == 0:
        b, delta = y, sp.pi / 2
    else:
        b = h.let("b", sp.sqrt(x**2 + y**2))
        delta = h.let("delta", sp.atan2(y, x))
    bar = sp.sqrt(x**2 + y**2)
    k = i + 2
    C = h.let(f"C{k}", (X**2 + Y**2 - a**2 - b**2) / (2 * a * b))
    S = h.let(f"S{k}", elbow * sp.sqrt(1 - C**2))
    h.turn(i + 1, arm.rows[i + 1], sp.atan2(S, C) - delta)
    h.turn(i, arm.rows[i], sp.atan2(Y, X) - sp.atan2(b * S, a + b * C))
    h.reach = [
        (r"r_{\max}", sp.Abs(a) + bar),
        (r"r_{\min}", sp.Abs(sp.Abs(a) - bar)),
    ]
    return True


def _sliding_pair(h: HandInverse, arm: Rows, i: int, X: Any, Y: Any, point: Any) -> bool:
    """Joint i turns, joint i + 1 slides across its axis."""
    h.step("Inverse kinematics: a turn and a slide", SLIDER)
    row, slide = arm.rows[i], arm.rows[i + 1]
    e = int(row.turn or 0)
    beside = row.a + point[0]
    sign = h.sign(f"sigma{i + 2}")
    s = h.let("s", sign * sp.sqrt(X**2 + Y**2 - beside**2))
    h.turn(i, row, sp.atan2(Y, X) - sp.atan2(-e * s, beside))
    h.joint(i + 1, s - point[2] - slide.offset)
    h.reach = [(r"r_{\min}", sp.Abs(beside))] if beside != 0 else []
    return True


def _wrist_turns(h: HandInverse, arm: Rows, e4: int, e5: int) -> None:
    """q4, q5, q6 from the rotation that is left."""
    h.step("Inverse kinematics: the rotation left to the wrist", LEFT)
    G = _turn_goal(h, arm)
    letters = G
    if not all(e.is_Symbol or (-e).is_Symbol for e in G):
        letters = sp.Matrix(3, 3, lambda i, j: h.let(f"g{i + 1}{j + 1}", sp.expand(G[i, j])))
    R: Any = sp.eye(3)
    angles = []
    for k, row in enumerate(arm.rows[:3]):
        turns = row.kind == "revolute"
        angle = row.way * h.joints[k] if turns else sp.Integer(0)
        offset = row.way * row.offset if turns else row.theta
        if turns:
            angles.append(h.joints[k])
        R = R * _rotation(angle, offset) * shifted(sp.Integer(0), (row.turn or 0) * QUARTER)[:3, :3]
    parallel = {angles[0]: 0} | dict.fromkeys(angles[1:], 1)
    R = R.applyfunc(lambda e: tidy(e, parallel))
    N = {}
    for i, j in ((0, 2), (1, 2), (2, 2), (2, 0), (2, 1)):
        total = sp.Add(*(R[k, i] * letters[k, j] for k in range(3)))
        N[i, j] = h.let(f"n{i + 1}{j + 1}", total)
    h.step("Inverse kinematics: the wrist", WRIST)
    flip = h.sign("sigma5")
    S = h.let("S5", flip * sp.sqrt(N[0, 2] ** 2 + N[1, 2] ** 2))
    h.turn(4, arm.rows[4], sp.atan2(S, -e4 * e5 * N[2, 2]))
    h.turn(3, arm.rows[3], sp.atan2(e5 * flip * N[1, 2], e5 * flip * N[0, 2]))
    h.turn(5, arm.rows[5], sp.atan2(-e4 * flip * N[2, 1], e4 * flip * N[2, 0]))


def _rotation(angle: Any, offset: Any) -> Any:
    """Rz(angle + offset), the offset's cosine and sine exact."""
    c, s = (plain(f(Exact(offset))) for f in (EXACT.cos, EXACT.sin))
    a, b = (sp.cos(angle), sp.sin(angle)) if angle != 0 else (sp.Integer(1), sp.Integer(0))
    C, S = sp.expand(a * c - b * s), sp.expand(b * c + a * s)
    return sp.Matrix([[C, -S, 0], [S, C, 0], [0, 0, 1]])


GIVEN = "Given the pose T of the tool, with origin p and rotation r, the joints are looked for."
ITSELF = "Here it is p itself."
POINT = f"{GIVEN} The point w that they have to reach is p, seen from the first joint."
DIRECTION = f"{GIVEN} The angles of all three add up to the direction of the tool."
LAST_AXIS = "The axis of the last joint lies behind the tool, in the point w."
SLIDE = "The slide moves the point across the plane by itself."
TURN = "What is left of the rotation is the turn of the last joint."
CENTRE = (
    f"{GIVEN} The last three axes meet in the centre w of the wrist, which they do not move: it "
    "lies behind the tool, and the first three joints carry it there."
)
WAIST = (
    "The first joint turns the plane of the next two until it holds the point: r is the distance "
    "from its axis in that plane, with the sign of an arm that reaches forwards or over its back. "
    "From the second axis on the point is at u (or r) and v."
)
TRIANGLE = (
    "Two bars and the way to the point make a triangle; the law of cosines gives its angle at the "
    "elbow, the sign says on which side the elbow is."
)
SLIDER = (
    "The slide is as long as the way to the point, less what lies beside it; the sign says which "
    "way it points."
)
LEFT = (
    "The rotation that the first three joints leave to the wrist: n = R^T r, where R is the "
    "rotation of all that comes before the angle of joint 4."
)
WRIST = (
    "Three axes through one point are Euler angles of that rotation; the sign turns the wrist "
    "over. Where n13 and n23 are both zero the wrist is singular and only a sum of two angles "
    "counts."
)
