"""Frames, velocities, Jacobian and statics step by step, over polynomials and over floats."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...dynamics import coupling
from ...dynamics.kinematics import poses
from ...model.model import Model
from ...spatial.frames import ORIGIN, Frame, compose, inverse, matrix
from ...spatial.functions import MATH
from ...spatial.rotations import ABOUT, multiply, rotate, rotate_back, transpose
from ...spatial.vectors import ZERO, Vector, Z, add, cross, dot, inner, scale, subtract
from ..derivation.newton_euler import axis, standard
from ..derivation.setting import (
    NAMED_FROM,
    Raw,
    Setting,
    StepDraft,
    frames_step,
    link_frames,
    numbered,
    own,
    table_step,
)
from .place import Place

FORCES = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
REPRESENTED = 1e-12  # determinant of the rates of Euler angles below which they do not exist
TURN = r"{}^{i}R_{i-1} \, \omega_{i-1}"
SPIN = r" + \dot{q}_{i} \, {}^{i}z"
ORIGINS = {  # velocity of the origin of frame i: carried by the link itself, or by the one before
    True: r"v_{i} = {}^{i}R_{i-1} \, v_{i-1} + \omega_{i} \times p_{i}",
    False: r"v_{i} = {}^{i}R_{i-1} \left(v_{i-1} + \omega_{i-1} \times {}^{i-1}p_{i}\right)",
}
COLUMNS = {
    "revolute": r"J_{i} = \left(z \times \left(p_{\mathrm{e}} - p\right), z\right)",
    "prismatic": r"J_{i} = \left(z, 0\right)",
}


@dataclass(frozen=True)
class Target:
    """The place of a Jacobian over a setting's scalars, and how the joints move it."""

    link: int  # of the tree; -1: the base
    offset: Frame  # in its joint frame
    pose: Frame  # in the reference frame
    where: Sequence[Frame]  # of every joint frame
    moving: frozenset[int]  # joints that move it


def target(s: Setting, place: Place, values: Mapping[str, Any]) -> Target:
    """The place of a Jacobian."""
    found = place.on(s.model, s.chain, s.fn, values)
    link, offset = found["link"], found["offset"]
    where = poses(s.chain, s.x, s.fn)
    pose = compose(ORIGIN if link < 0 else where[link], offset)
    return Target(link, offset, pose, where, frozenset(s.chain.ancestors(link)))


def columns(s: Setting, t: Target) -> list[tuple[Vector, Vector]]:
    """(linear, angular) column of every joint of the tree in base axes."""
    found = []
    for i, joint in enumerate(s.chain.joints):
        z = transpose(t.where[i].R)[2]
        if i not in t.moving:
            found.append((ZERO, ZERO))
        elif joint.kind == "revolute":
            found.append((cross(z, subtract(t.pose.p, t.where[i].p)), z))
        else:
            found.append((z, ZERO))
    return found


def rows_of(s: Setting, pairs: Sequence[tuple[Vector, Vector]]) -> list[list[Any]]:
    """Six rows over the coordinates."""
    return [
        list(coupling.torques(s.chain, row))
        for row in zip(*((*v, *w) for v, w in pairs), strict=True)
    ]


class Twins:
    """Results that equal an earlier one at every position: found over polynomials, by name."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self._known: dict[Any, str] = {}

    def raw(self, s: Setting, name: str, value: Any) -> Raw:
        """A result, with the name of its twin."""
        if s.fn is not MATH:
            key = tuple(_key(x) for row in value for x in (row if _is_row(row) else (row,)))
            twin = self._known.setdefault(key, name)
            if twin != name:
                self.names[name] = twin
        return Raw(name, value, self.names.get(name))


def _is_row(x: Any) -> bool:
    return isinstance(x, (tuple, list))


def _key(x: Any) -> Any:
    terms = getattr(x, "terms", None)
    return frozenset(terms.items()) if terms is not None else frozenset({((), x)} if x else ())


def kinematic_steps(
    s: Setting, place: Place, values: Mapping[str, Any], forces: Sequence[Any] | None, twins: Twins
) -> Iterator[StepDraft]:
    """Frames, pose, velocities, columns of the Jacobian, Euler angles, statics."""
    t = target(s, place, values)
    yield table_step(s)
    frames = frames_step(s)
    yield frames._replace(items=[twins.raw(s, x.name, x.value) for x in frames.items])
    yield _pose_step(s, place, t, twins)
    yield _velocities(s)
    pairs = columns(s, t)
    seen = pairs
    if place.frame == "tool":
        seen = [(rotate_back(t.pose.R, v), rotate_back(t.pose.R, w)) for v, w in pairs]
    yield _axes(s, t, twins)
    rows = rows_of(s, seen)
    yield _jacobian(s, place, rows)
    if place.sequence is not None:
        yield _analytic(s, place, t, rows_of(s, pairs))
    yield _statics(s, rows, forces)


def _pose_step(s: Setting, place: Place, t: Target, twins: Twins) -> StepDraft:
    """From the link's own frame to the tool or the point, and all the way."""
    items, number = [], t.link + 1
    if t.link >= 0:
        user = s.chain.bodies[t.link].user
        last = matrix(compose(inverse(user), t.offset))
        items.append(Raw(rf"{{}}^{{{number}}}T", last))
    items.append(twins.raw(s, r"{}^{0}T", matrix(t.pose)))
    text = (
        "T is the pose of the tool, or of the link or point asked for, in frame "
        f"{number} of the link that carries it and in the reference frame."
    )
    formula = rf"{{}}^{{0}}T = {{}}^{{0}}A_{{{number}}} \, {{}}^{{{number}}}T"
    return StepDraft(_title(s.model, place), text, (formula,) if t.link >= 0 else (), items)


def _title(model: Model, place: Place) -> str:
    """Title of the step of a pose."""
    name = place.link or model.tool_name
    if place.point is not None:
        return f"Pose of a point of {name}"
    return "Pose of the tool" if place.link is None else f"Pose of {name}"


def _velocities(s: Setting) -> StepDraft:
    """Angular velocity and velocity of the origin of every link frame, in that frame."""
    items: list[Raw] = []
    moving: list[tuple[Vector, Vector]] = []
    for i, (R, p) in enumerate(link_frames(s)):
        parent, z = s.model.parents[i], axis(s, i)
        w0, v0 = moving[parent] if parent >= 0 else (ZERO, ZERO)
        w, turn = rotate_back(R, w0), scale(s.xd[i], z)
        kind = s.model.links[i].joint
        if kind == "revolute":
            w = add(w, turn)
        if standard(s):
            named = s.vector(f"w{i + 1}", w)
            v = add(rotate_back(R, v0), cross(named, rotate_back(R, p)))
        else:
            v = rotate_back(R, add(v0, cross(w0, p)))
            named = s.vector(f"w{i + 1}", w)
        if kind == "prismatic":
            v = add(v, turn)
        moving.append((named, s.vector(f"v{i + 1}", v)))
        items += own(i + 1, w=w, v=v)
    text = (
        "Angular velocity of every link and velocity of the origin of its frame, in that frame, "
        "from the base outwards; the base is at rest. A revolute joint adds its rate about its "
        "axis z to the angular velocity, a prismatic joint adds its rate along z to the velocity."
    )
    if len(s.links) >= NAMED_FROM:
        text += (
            " Entries that are more than one product get names for the links that follow: w2x is "
            "the x entry of w2, and so on."
        )
    kinds = {link.joint for link in s.model.links}
    angular = rf"\omega_{{i}} = {TURN}" + (SPIN if "revolute" in kinds else "")
    linear = ORIGINS[standard(s)] + (SPIN if kinds == {"prismatic"} else "")
    found = [angular, linear]
    if len(kinds) == 2:
        found += [rf"\text{{prismatic:}} \quad \omega_{{i}} = {TURN}"]
        found += [rf"\text{{prismatic:}} \quad {ORIGINS[standard(s)]}{SPIN}"]
    return StepDraft("Velocities link by link", text, tuple(found), items)


def _axes(s: Setting, t: Target, twins: Twins) -> StepDraft:
    """z and p of every joint that moves the place, and the place itself."""
    items = []
    for i in sorted(t.moving):
        if i >= s.chain.links:
            continue
        k = s.model.parents[i] + 1 if standard(s) else i + 1
        items.append(twins.raw(s, f"z_{{{k}}}", transpose(t.where[i].R)[2]))
        items.append(twins.raw(s, f"p_{{{k}}}", t.where[i].p))
    items.append(twins.raw(s, r"p_{\mathrm{e}}", t.pose.p))
    which = "i - 1" if standard(s) else "i"
    text = (
        f"z is the unit vector along the axis of joint i, p a point on it, the origin of frame "
        f"{which}, and p_e the origin of T, all in the reference frame."
    )
    if s.model.convention == "urdf":
        text = text.replace(f"the origin of frame {which}", "where the joint sits")
    return StepDraft("Axes of the joints", text, items=items)


def _jacobian(s: Setting, place: Place, rows: list[list[Any]]) -> StepDraft:
    """Column by column."""
    items = [Raw(f"J_{{{k + 1}}}", column) for k, column in enumerate(zip(*rows, strict=True))]
    letter = r"\mathrm{t}" if place.frame == "tool" else "0"
    items.append(Raw(rf"{{}}^{{{letter}}}J", rows))
    text = (
        "Column i of J is what a unit rate of joint i gives: three entries of the velocity of the "
        "origin of T, three of the angular velocity."
    )
    kinds = [x for x in COLUMNS if any(link.joint == x for link in s.model.links)]
    several = len(kinds) > 1
    formulas = [rf"\text{{{x}:}} \quad {COLUMNS[x]}" if several else COLUMNS[x] for x in kinds]
    if place.frame == "tool":
        text += " The entries are in axes of T: those in axes of the reference frame times R^T."
    if s.chain.coupling is not None:
        text += " A joint that follows another adds its column to the one of its leader."
    return StepDraft("Jacobian, column by column", text, tuple(formulas), items)


def _analytic(s: Setting, place: Place, t: Target, rows: list[list[Any]]) -> StepDraft:
    """The Jacobian of Euler angles: omega = B times their rates."""
    sequence = place.sequence or ""
    names = ("phi", "theta", "psi")
    angles = _euler_angles(s, t.pose.R, sequence, names)
    B = _rates(s, sequence, angles)
    det = dot(B[0], cross(B[1], B[2]))
    turns = ", ".join(sequence)
    text = (
        f"The rotation r of T by three angles about moving axes {turns}. Their rates give the "
        "angular velocity by B, so the Jacobian of the angles has the inverse of B before its "
        "angular rows; z2x is the x entry of z2, and so on."
    )
    formulas = (
        r"\omega = B \left(\dot{\phi}, \dot{\theta}, \dot{\psi}\right)^{T}",
        r"J_{\mathrm{A}} = \left(J_{v}, B^{-1} \, J_{\omega}\right)",
    )
    items = [Raw(rf"\{n}", x) for n, x in zip(names, angles[1], strict=True)]
    items.append(Raw("B", tuple(zip(*B, strict=True))))
    items.append(Raw(r"\det\left(B\right)", det))
    lost = abs(det) < REPRESENTED if s.fn is MATH else not det
    if lost:
        text += " Here the determinant of B is zero: these angles cannot say how it turns."
        return StepDraft("Jacobian of Euler angles", text, formulas, items)
    inverse_rows = [cross(B[1], B[2]), cross(B[2], B[0]), cross(B[0], B[1])]
    turns_of = [_named_axis(s, i, w) for i, w in enumerate(zip(*rows[3:], strict=True))]
    angular = [[dot(row, w) / det for w in turns_of] for row in inverse_rows]
    items.append(Raw(r"J_{\mathrm{A}}", [*rows[:3], *angular]))
    return StepDraft("Jacobian of Euler angles", text, formulas, items)


def _named_axis(s: Setting, i: int, w: Any) -> Vector:
    """The angular part of a column: the joint's z, by the names of its entries if it is long."""
    if s.chain.coupling is not None:
        return w
    return s.vector(f"z{s.model.parents[i] + 1 if standard(s) else i + 1}", w)


Angles = tuple[list[Any], list[Any]]  # to go on with, and what they stand for


def _euler_angles(s: Setting, R: Any, sequence: str, names: Sequence[str]) -> Angles:
    """Angles about moving axes i, j, k: Ri(first) Rj(second) Rk(third), the second from 0 to pi
    (i = k) or up to a quarter turn."""
    i, j, k = ("xyz".index(letter) for letter in sequence)
    o = 3 - i - j
    parity = 1.0 if (j - i) % 3 == 1 else -1.0

    def r(row: int, column: int) -> Any:
        return s.letter(f"r{row + 1}{column + 1}", R[row][column])

    if i == k:
        size = s.fn.sqrt(r(i, j) * r(i, j) + r(i, o) * r(i, o))
        found = [(r(j, i), -parity * r(o, i)), (size, r(i, i)), (r(i, j), parity * r(i, o))]
    else:
        size = s.fn.sqrt(r(i, i) * r(i, i) + r(i, j) * r(i, j))
        found = [
            (-parity * r(j, k), r(k, k)), (parity * r(i, k), size), (-parity * r(i, j), r(i, i)),
        ]  # fmt: skip
    values = [s.fn.atan2(y, x) for y, x in found]
    return [s.letter(n, x) for n, x in zip(names, values, strict=True)], values


def _rates(s: Setting, sequence: str, angles: Angles) -> list[Vector]:
    """Columns of B: the axes that the three angles turn about."""
    first, second, _ = angles[0]
    e = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": Z}
    R1 = ABOUT[sequence[0]](first, s.fn)
    R2 = multiply(R1, ABOUT[sequence[1]](second, s.fn))
    return [e[sequence[0]], rotate(R1, e[sequence[1]]), rotate(R2, e[sequence[2]])]


def _statics(s: Setting, rows: list[list[Any]], forces: Sequence[Any] | None) -> StepDraft:
    """tau = J^T F."""
    text = (
        "What the joints give when T presses on the world with the force f and the moment n, in "
        "the axes of J and without weight: the joints and the force have the same power, so it is "
        "the transpose of J."
    )
    totals: list[Any] = [None] * len(rows[0])  # no number without a force
    if forces is not None:
        totals = [inner(forces, column) for column in zip(*rows, strict=True)]
    formulas = (
        r"\tau = J^{T} \, F, \quad F = \left(f_{x}, f_{y}, f_{z}, n_{x}, n_{y}, n_{z}\right)",
        r"\tau^{T} \, \dot{q} = F^{T} \, v = F^{T} \, J \, \dot{q}",
    )
    return StepDraft("Statics", text, formulas, numbered(r"\tau", totals))
