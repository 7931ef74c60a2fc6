"""Any chain as a DH arm in the convention asked for."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from ...arguments import duplicate
from ...errors import ModelError, warn
from ...spatial.frames import Frame, compose, inverse, point
from ...spatial.functions import MATH
from ...spatial.inertia import transformed_back, turned_entries
from ...spatial.rotations import normalised, rotate, rotate_back, rotation_z_to, transpose
from ...spatial.vectors import add, scale, subtract
from ..chain import Chain, Joint, chain
from ..closure import Closure
from ..conventions import CONVENTIONS
from ..drive import RIGID, Drive
from ..force import Force
from ..geometry import Geometry, moved_shape
from ..link import Link
from ..model import FORCES, Model, NamedFrame
from ..pose import pose
from ..quantity import numeric
from .axes import Axis, axis_of, common_normal
from .procedure import (
    Bar,
    Construction,
    DhChain,
    arm_size,
    check_convention,
    construct,
    snapped,
    tidy,
)

DRIFT = 1e-9  # how far the converted arm may be off (radians, arm sizes, torques) in silence
REFUSED = 1e-4  # and how far before there is no table
STATES = 3  # in which both arms are compared
UNFELT = 1e-6  # a torque this small next to the others is judged as if it were so large
TINY = 1e-300
ROUNDING = 1e-14  # a component this small next to the largest is a rounding error

ROW = ("theta", "d", "a", "alpha", "offset")
GEOMETRY = {name for row in CONVENTIONS.values() for name in row.fields}


class _Poses(NamedTuple):
    """Where things are at q = 0, in the reference frame."""

    joints: list[Frame]  # canonical joint frames, rotors after the links
    users: list[Frame]  # the user's link frames; the last one is the user's base


def to_dh(model: Model, convention: str) -> Model:
    """The arm in a DH convention: same q, same poses, same torques, with numbers for symbols.

    A model already in that convention is returned as it is.
    """
    check_convention(convention)
    if model.convention == convention:
        return model
    refuse_tree(model)
    _refuse_sliding_centres(model)
    placed = _placed(model)
    old, _, at, tool = placed
    rows, base, _, doubt = _constructed(old, convention, at, tool).chain
    bare = Model(name=old.name, convention=convention, links=rows, base=pose(base, "base"))
    result, size = _rebuilt(placed, bare)
    certify(old, result, size, doubt or _drift(old, at, _poses(chain(bare)), size))
    return result


def to_placements(model: Model) -> Model:
    """The arm with a placement (xyz, rpy) for every joint, as URDF has, and numbers for symbols.

    Link frames of a DH arm become its joint frames: same q, same poses, same torques.
    """
    if model.convention == "urdf":
        return replace(numeric(model, model.values), values={})
    _refuse_sliding_centres(model)
    placed = _placed(model)
    old, _, at, _ = placed
    rows, before = [], old.base.frame({})
    for link, T in zip(old.links, at.joints, strict=False):
        place = pose(compose(inverse(before), T), "placement")
        parent = rows[-1].name if rows else None
        own = {"name": link.name, "joint_name": link.joint_name, "parent": parent}
        rows.append(Link(joint=link.joint, xyz=place.xyz, rpy=place.rpy, **own))
        before = T
    bare = Model(name=old.name, convention="urdf", links=tuple(rows), base=old.base)
    result, size = _rebuilt(placed, bare)
    certify(old, result, size, None)
    return result


def _rebuilt(placed: "_Placed", bare: Model) -> tuple[Model, float]:
    """All of a model over the joints of a `bare` one in another convention, and the arm's size."""
    old, c, at, tool = placed
    n, tip = len(old.links), old.tip
    size = arm_size([subtract(T.p, c.base.p) for T in (*at.joints[:n], tool)])
    new = _poses(chain(bare))
    moves = [
        snapped(compose(inverse(a), b), size) for a, b in zip(at.users, new.users, strict=True)
    ]
    links = []
    for i, (link, row) in enumerate(zip(old.links, bare.links, strict=True)):
        changes = {name: getattr(row, name) for name in GEOMETRY} | _body(link, moves[i], size)
        drive = _drive(link.drive, c.joints[n + i], at.joints[n + i], new)
        links.append(replace(link, **changes, drive=drive))
    result = replace(
        old,
        convention=bare.convention,
        links=tuple(links),
        base=bare.base,
        tool=pose(snapped(compose(inverse(new.users[tip]), tool), size), "tool"),
        frames=tuple(_named_frame(old, frame, moves, size) for frame in old.frames),
        closures=tuple(_closure(old, closure, moves) for closure in old.closures),
        geometry=tuple(_shape(old, shape, moves) for shape in old.geometry),
        **{name: tuple(_force(old, x, moves) for x in getattr(old, name)) for name in FORCES},
    )
    return result, size


def _with_rotors(model: Model) -> Model:
    """The model with the place of every rotor, its gears rigid."""
    drives = [x.drive and replace(x.drive, **RIGID) for x in model.links]
    links = tuple(replace(x, drive=y) for x, y in zip(model.links, drives, strict=True))
    return replace(model, rotors="full", links=links)


def _drift(model: Model, at: _Poses, new: _Poses, size: float) -> str | None:
    """The first joint axis that is not where it was, in words."""
    for link, a, b in zip(model.links, at.joints, new.joints, strict=False):
        T = compose(inverse(a), b)  # a turn about and a shift along z, if all is well
        error = math.hypot(T.R[0][2], T.R[1][2])
        if link.joint == "revolute":
            error = max(error, math.hypot(*T.p[:2]) / size)
        if error > DRIFT:
            return (
                f"the axis of joint {link.joint_name!r} is off by {error:.1g} in the DH table: it "
                "is nearly, but not quite, parallel to its neighbour"
            )
    return None


def certify(old: Model, new: Model, size: float, doubt: str | None) -> None:
    """Evaluate both arms: say aloud how far they differ, or refuse the table."""
    units = [size if kind == "prismatic" else 1.0 for kind in old.joint_kinds]
    place, torque = _difference(chain(old), chain(new), size, units)
    off = (
        f"next to {old.name!r} the tool is off by {place:.1g} (rad, or sizes of the arm) and "
        f"torques by {torque:.1g} of their size"
    )
    said = f"{doubt}; {off}" if doubt else off
    if not max(place, torque) <= REFUSED:
        raise ModelError(
            f"no DH table holds robot {old.name!r}: {said}",
            "correct the angles between the joints: pi/2 is 1.5707963267948966",
        )
    if doubt or max(place, torque) > DRIFT:
        warn(said)


def _difference(a: Chain, b: Chain, size: float, units: list[float]) -> tuple[float, float]:
    """How far two arms differ: the tool (rad, arm sizes), torques (each by its largest)."""
    from ...dynamics.equation import rigid_torque  # what a table is worth shows when it is used
    from ...dynamics.kinematics import fk

    place, torques, errors = 0.0, [TINY] * a.n, [0.0] * a.n
    for k in range(STATES):
        phases = [[1.0 + k + 3.3 * j + 7.1 * i for i in range(a.n)] for j in range(3)]
        x = [[u * math.sin(y) for u, y in zip(units, row, strict=True)] for row in phases]
        for row, other in zip(fk(a, x[0], MATH)[:3], fk(b, x[0], MATH)[:3], strict=True):
            gaps = [abs(c - d) for c, d in zip(row, other, strict=True)]
            place = max(place, *gaps[:3], gaps[3] / size)
        q, qd, qdd = x
        both = zip(
            rigid_torque(a, q, qd, qdd, MATH), rigid_torque(b, q, qd, qdd, MATH), strict=True
        )
        for i, (tau, other) in enumerate(both):
            torques[i], errors[i] = max(torques[i], abs(tau)), max(errors[i], abs(tau - other))
    least = UNFELT * max(torques)
    return place, max(e / max(t, least) for e, t in zip(errors, torques, strict=True))


class _Placed(NamedTuple):
    """A model of numbers, its chain, where things are at q = 0, and the tool there."""

    model: Model
    chain: Chain
    at: _Poses
    tool: Frame


def _placed(model: Model) -> _Placed:
    old = replace(numeric(model, model.values), values={})
    c = chain(_with_rotors(old))
    at = _poses(c)
    return _Placed(old, c, at, compose(at.joints[old.tip], c.tool))


def construction(model: Model, convention: str) -> Construction:
    """The procedure on a model's axes; of a model in that convention, what its own table chose.

    Its rows are those of `to_dh`.
    """
    check_convention(convention)
    refuse_tree(model)
    old, _, at, tool = _placed(model)
    if model.convention == convention:
        return _own_construction(old, at, tool)
    return _constructed(old, convention, at, tool)


def _constructed(model: Model, convention: str, at: _Poses, tool: Frame) -> Construction:
    """The procedure; the last frame should be the tool, or the frame of the last link."""
    last = len(model.links) - 1
    end = tool if model.tip == last else at.users[last]
    return construct(_axes(model, at), convention, at.users[-1], end)


def _axes(model: Model, at: _Poses) -> list[Axis]:
    return [axis_of(link.joint, T) for link, T in zip(model.links, at.joints, strict=False)]


def _own_construction(model: Model, at: _Poses, tool: Frame) -> Construction:
    """The bars of a table that is there: x, a and alpha are those of its rows."""
    *links, base = at.users
    frames, lines = (base, *links), _axes(model, at)
    cases = ["", *(common_normal(a, b).case for a, b in pairwise(lines)), ""]
    standard = model.convention == "standard"
    bars = []
    for i, (T, case) in enumerate(zip(frames, cases, strict=True)):
        x, k = transpose(T.R)[0], i - 1 if standard else i
        row = model.links[k] if 0 <= k < len(model.links) else None
        a, alpha = (row.a, row.alpha) if row else (0.0, 0.0)
        shift = scale(a, x)
        start, end = (subtract(T.p, shift), T.p) if standard else (T.p, add(T.p, shift))
        bars.append(Bar(x, start, end, a, alpha, case))
    rows = tuple(Link(joint=x.joint, **{k: getattr(x, k) for k in ROW}) for x in model.links)
    chain = DhChain(rows, base, compose(inverse(frames[-1]), tool))
    placed = tuple(lines)
    return Construction(model.convention, placed, placed, tuple(bars), frames, tool, True, chain)


def refuse_tree(model: Model) -> None:
    """A DH table holds a single chain."""
    parents = model.parents
    twice = duplicate(parents)
    if twice is not None:
        names = [x for x, p in zip(model.link_names, parents, strict=True) if p == twice]
        at = model.base_name if twice < 0 else model.link_names[twice]
        raise ModelError(
            f"robot {model.name!r} is a tree: {at!r} carries {' and '.join(map(repr, names))}; "
            "a DH table holds a single chain",
            "lock the joints of all branches but one when loading: dy.load(path, lock={...})",
        )


def _refuse_sliding_centres(model: Model) -> None:
    """A centre of mass that moves with q is one of its own convention."""
    slides = next((link for link in model.links if link.slides), None)
    if slides is not None:
        raise ModelError(
            f"link {slides.name!r} has com_factor on a prismatic joint, which means something only "
            f"in the {model.convention} convention: its centre of mass moves with q",
            "give the link a constant com",
        )


def _poses(c: Chain) -> _Poses:
    joints: list[Frame] = []
    for joint in c.joints:
        parent = Frame() if joint.parent < 0 else joints[joint.parent]
        joints.append(compose(parent, joint.placement))
    users = [compose(joints[i], c.bodies[i].user) for i in range(c.links)]
    return _Poses(joints, [*users, c.base])


def _body(link: Link, T: Frame, size: float) -> dict[str, Any]:
    """com' = R^T (com - p), Ic' = R^T Ic R; the ten linear parameters moved as a whole."""
    if link.linear is not None:
        m, h, I = transformed_back(T, link.body({}, MATH))
        return {"linear": (m, *_clean(h), *_clean(I))}
    moved = tuple(tidy(x, size) for x in rotate_back(T.R, subtract(link.centre({}), T.p)))
    inertia = _clean(turned_entries(link.inertia, transpose(T.R)))
    return {"com": moved if link.mass else None, "com_factor": None, "inertia": inertia}


def _clean(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Rounding errors beside the largest number, and minus zero, become zero."""
    least = ROUNDING * max(abs(x) for x in numbers)
    return tuple(x if abs(x) > least else 0.0 for x in numbers)


def _drive(drive: Drive | None, rotor: Joint, place: Frame, new: _Poses) -> Drive | None:
    """The drive with its rotor's axis, position and unbalance in the new frame that carries it.

    A balanced rotor on its joint's own axis needs none of them.
    """
    if drive is None:
        return None
    own = drive.rotor_link, drive.rotor_axis, drive.rotor_position
    if own == (None, None, None) and not any(drive.unbalance):
        return drive
    T = compose(inverse(new.users[rotor.parent]), place)  # -1 is the base, last of the users
    axis = normalised(transpose(T.R)[2])
    turned = rotate_back(rotation_z_to(axis), rotate(T.R, (*drive.unbalance, 0.0)))
    return replace(drive, rotor_axis=axis, rotor_position=_clean(T.p), unbalance=turned[:2])


def _force(model: Model, force: Force, moves: list[Frame]) -> Force:
    """A force with its points in the new link frames."""
    points = {
        place: point(inverse(moves[model.link_index(getattr(force, link))]), getattr(force, place))
        for link, place in force.ends.items()
    }
    return replace(force, **points)


def _closure(model: Model, closure: Closure, moves: list[Frame]) -> Closure:
    """A closure with its frames in the new link frames."""
    frames = []
    for name, place in zip(closure.between, closure.frames, strict=True):
        T = compose(inverse(moves[model.link_index(name)]), place.frame({}))
        frames.append(pose(T, f"closure {closure.name!r}"))
    return replace(closure, frames=tuple(frames))


def _shape(model: Model, shape: Geometry, moves: list[Frame]) -> Geometry:
    """A shape in the new link frames; one of a named frame stays where it is there."""
    own = shape.link is None or shape.link in (model.base_name, *model.link_names)
    move = moves[model.link_index(shape.link)] if own else None
    return shape if move is None else moved_shape(shape, inverse(move))


def _named_frame(model: Model, frame: NamedFrame, moves: list[Frame], size: float) -> NamedFrame:
    move = moves[-1 if frame.link is None else model.link_names.index(frame.link)]
    T = compose(inverse(move), frame.pose.frame({}))
    return replace(frame, pose=pose(snapped(T, size), frame.name))
