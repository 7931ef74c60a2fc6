"""Newton-Euler link by link, in the user's own frames (Luh, Walker and Paul 1980).

Every vector of link i is in frame i. In the standard convention the joint sits at the origin of
frame i - 1, so n_i is a moment about that point; otherwise it sits at the origin of frame i.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...dynamics.lagrange_euler import user_inertias
from ...dynamics.newton_euler import outward, turning
from ...errors import ModelError
from ...spatial.inertia import Symmetric, symmetric_matrix, times, to_com
from ...spatial.rotations import rotate, rotate_back
from ...spatial.vectors import ZERO, Vector, add, cross, dot, negate, scale
from ...spatial.vectors import Z as Z_AXIS
from .setting import (
    NAMED_FROM,
    Raw,
    Setting,
    StepDraft,
    coordinate_torques,
    frames_step,
    has_rotor_or_friction,
    link_frames,
    of_tree,
    own,
    plain_tree,
    rotor_and_friction,
    table_step,
    torque,
)


class LinkBody(NamedTuple):
    """A link by its centre of mass, in its own frame."""

    m: Any
    s: Vector
    I: Symmetric  # about the centre of mass


class Moving(NamedTuple):
    """How a link moves and what that takes, in its own frame."""

    w: Vector
    wd: Vector
    vd: Vector  # of the frame's origin, gravity included
    full: tuple[Vector, Vector]  # w and wd without names
    F: Vector = ZERO
    N: Vector = ZERO


OUTWARD = {
    "revolute": (
        r"\omega_{i} = {}^{i}R_{i-1} \left(\omega_{i-1} + z \, \dot{q}_{i}\right)",
        r"\dot{\omega}_{i} = {}^{i}R_{i-1} \left(\dot{\omega}_{i-1} + z \, \ddot{q}_{i} + "
        r"\omega_{i-1} \times z \, \dot{q}_{i}\right)",
        r"\dot{v}_{i} = {}^{i}R_{i-1} \, \dot{v}_{i-1} + \dot{\omega}_{i} \times p_{i} + "
        r"\omega_{i} \times \left(\omega_{i} \times p_{i}\right)",
    ),
    "prismatic": (
        r"\omega_{i} = {}^{i}R_{i-1} \, \omega_{i-1}",
        r"\dot{\omega}_{i} = {}^{i}R_{i-1} \, \dot{\omega}_{i-1}",
        r"\dot{v}_{i} = {}^{i}R_{i-1} \left(\dot{v}_{i-1} + z \, \ddot{q}_{i}\right) + "
        r"\dot{\omega}_{i} \times p_{i} + \omega_{i} \times \left(\omega_{i} \times p_{i}\right) "
        r"+ 2 \, \omega_{i} \times \left({}^{i}R_{i-1} \, z \, \dot{q}_{i}\right)",
    ),
}
CENTRE = (
    r"a_{i} = \dot{v}_{i} + \dot{\omega}_{i} \times s_{i} + "
    r"\omega_{i} \times \left(\omega_{i} \times s_{i}\right)",
    r"F_{i} = m_{i} \, a_{i}",
    r"N_{i} = I_{i} \, \dot{\omega}_{i} + \omega_{i} \times \left(I_{i} \, \omega_{i}\right)",
)
FORCE = r"f_{i} = F_{i} + {}^{i}R_{i+1} \, f_{i+1}"
MOMENT = {
    True: r"n_{i} = {}^{i}R_{i+1} \, n_{i+1} + p_{i} \times {}^{i}R_{i+1} \, f_{i+1} + "
    r"\left(p_{i} + s_{i}\right) \times F_{i} + N_{i}",
    False: r"n_{i} = {}^{i}R_{i+1} \, n_{i+1} + {}^{i}p_{i+1} \times {}^{i}R_{i+1} \, f_{i+1} + "
    r"s_{i} \times F_{i} + N_{i}",
}
TORQUE = {
    "revolute": r"\tau_{i} = n_{i}^{T} \, {}^{i}z",
    "prismatic": r"\tau_{i} = f_{i}^{T} \, {}^{i}z",
}


def newton_steps(s: Setting) -> Iterator[StepDraft]:
    """Frames, bodies, base, every link outwards, every link inwards, torques."""
    plain_tree(s, "newton-euler")
    yield table_step(s)
    yield frames_step(s)
    yield _rotations(s)
    bodies = [_body(s, i) for i in range(len(s.links))]
    yield _bodies(s, bodies)
    base = Moving(ZERO, ZERO, rotate_back(s.chain.base.R, negate(s.chain.gravity)), (ZERO, ZERO))
    yield _base(s, base)
    moving: list[Moving] = []
    for i, body in enumerate(bodies):
        parent = s.model.parents[i]
        link, draft = _outwards(s, i, body, base if parent < 0 else moving[parent])
        moving.append(link)
        yield draft
    yield from _inwards(s, bodies, moving)


def standard(s: Setting) -> bool:
    """Whether joint i sits at the origin of frame i - 1."""
    return s.model.convention == "standard"


def axis(s: Setting, i: int) -> Vector:
    """The joint's z in the link's own frame."""
    return rotate_back(s.links[i].bodies[0].user.R, Z_AXIS)


def _rotations(s: Setting) -> StepDraft:
    items = []
    for i, frame in enumerate(link_frames(s)):
        before = s.model.parents[i] + 1
        items.append(Raw(rf"{{}}^{{{before}}}R_{{{i + 1}}}", frame.R))
        items += own(i + 1, p=rotate_back(frame.R, frame.p))
    text = (
        "R turns vectors of a link's frame into the frame before it, its transpose turns them "
        "back; p goes from the origin of the frame before to the origin of the link's own frame, "
        "in coordinates of the latter."
    )
    return StepDraft("Rotations and origins", text, (r"{}^{i}R_{i-1} = {}^{i-1}R_{i}^{T}",), items)


def _body(s: Setting, i: int) -> LinkBody:
    (inertia,) = user_inertias(s.links[i], [s.x[i]])
    if inertia.m:
        return LinkBody(*to_com(inertia))
    if any(inertia.h):
        raise ModelError(
            f"link {s.model.links[i].name!r} has a first moment but no mass, so it has no centre "
            "of mass to write Newton's equation for",
            "use method 'lagrange-euler' or 'gibbs-appell'",
        )
    return LinkBody(inertia.m, ZERO, inertia.I)


def _bodies(s: Setting, bodies: list[LinkBody]) -> StepDraft:
    items = []
    for k, body in enumerate(bodies, 1):
        items += [Raw(f"m_{{{k}}}", body.m), *own(k, s=body.s, I=symmetric_matrix(body.I))]
    text = (
        "Mass m, centre of mass s from the origin of the link's own frame, and inertia I about "
        "the centre of mass, in axes of that frame."
    )
    return StepDraft("Bodies", text, items=items)


def _base(s: Setting, base: Moving) -> StepDraft:
    text = (
        "The base is at rest. Gravity enters as an acceleration of the base, opposite to the "
        "free fall: every link then carries its weight without further ado."
    )
    if len(s.links) >= NAMED_FROM:
        text += (
            " Entries that are more than one product get names for the links that follow: w2x is "
            "the x entry of w2, and so on."
        )
    return StepDraft("Base", text, items=own(0, w=base.w, wd=base.wd, vd=base.vd))


def _outwards(s: Setting, i: int, body: LinkBody, before: Moving) -> tuple[Moving, StepDraft]:
    """w, wd, vd, a, F and N of one link."""
    k, kind = i + 1, s.model.links[i].joint
    w, wd = _turn(s, i, before.full)
    moving = Moving(s.vector(f"w{k}", w), s.vector(f"wd{k}", wd), ZERO, (w, wd))
    vd = _origin(s, i, moving, before)
    moving = moving._replace(vd=s.vector(f"vd{k}", vd))
    a = add(moving.vd, rotate(turning(moving.w, moving.wd), body.s))
    a_named = s.vector(f"a{k}", a)
    F = scale(body.m, a_named)
    N = add(times(body.I, moving.wd), cross(moving.w, times(body.I, moving.w)))
    items = own(k, w=w, wd=wd, vd=vd, a=a, F=F, N=N)
    first = next(j for j, link in enumerate(s.model.links) if link.joint == kind)
    text = f"As for link {first + 1}."
    formulas: tuple[str, ...] = ()
    if i == first:
        text = (
            "Angular velocity and acceleration of the link, acceleration of the origin of its "
            "frame and of its centre of mass, and what that takes: the force F on it and the "
            "moment N about its centre of mass."
        )
        formulas = (*_outward_formulas(s, kind), *CENTRE)
    draft = StepDraft(f"Link {k} outwards ({s.model.links[i].joint_name})", text, formulas, items)
    return moving._replace(F=s.vector(f"F{k}", F), N=s.vector(f"N{k}", N)), draft


def _outward_formulas(s: Setting, kind: str) -> tuple[str, ...]:
    if standard(s):
        return OUTWARD[kind]
    w, wd, _ = OUTWARD[kind]
    inside = (
        r"{}^{i}R_{i-1} \left(\dot{v}_{i-1} + \dot{\omega}_{i-1} \times {}^{i-1}p_{i} + "
        r"\omega_{i-1} \times \left(\omega_{i-1} \times {}^{i-1}p_{i}\right)\right)"
    )
    slide = r" + z \, \ddot{q}_{i} + 2 \, \omega_{i} \times z \, \dot{q}_{i}"
    if kind == "revolute":
        own = r"{}^{i}R_{i-1} \, \omega_{i-1}"
        w = rf"\omega_{{i}} = {own} + z \, \dot{{q}}_{{i}}"
        wd = (
            r"\dot{\omega}_{i} = {}^{i}R_{i-1} \, \dot{\omega}_{i-1} + z \, \ddot{q}_{i} + "
            rf"\left({own}\right) \times z \, \dot{{q}}_{{i}}"
        )
        slide = ""
    return w, wd, rf"\dot{{v}}_{{i}} = {inside}{slide}"


def _turn(s: Setting, i: int, before: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
    """Angular velocity and acceleration: the engine's own step, on a base that moves."""
    link = s.links[i]
    state = ([s.x[i]], [s.xd[i]], [s.xdd[i]])
    _, (motion,) = outward(link, *state, s.fn, (*before[0], *before[1], *ZERO))
    R = link.bodies[0].user.R
    return rotate_back(R, motion.w), rotate_back(R, motion.wd)


def _origin(s: Setting, i: int, own: Moving, before: Moving) -> Vector:
    """Acceleration of the origin of frame i, by the link's own turning or by the one before's."""
    R, p = link_frames(s)[i]
    if standard(s):
        vd = add(rotate_back(R, before.vd), rotate(turning(own.w, own.wd), rotate_back(R, p)))
    else:
        carried = rotate(turning(before.w, before.wd), p)
        vd = rotate_back(R, add(before.vd, carried))
    if s.model.links[i].joint == "prismatic":
        z = axis(s, i)
        vd = add(vd, scale(s.xdd[i], z), scale(2.0 * s.xd[i], cross(own.w, z)))
    return vd


def _inwards(s: Setting, bodies: list[LinkBody], moving: list[Moving]) -> Iterator[StepDraft]:
    frames, size = link_frames(s), len(bodies)
    carried: list[tuple[Vector, Vector]] = [(ZERO, ZERO)] * size  # about each frame's origin
    tau: list[Any] = [0.0] * size
    extra = rotor_and_friction(s)
    for i in range(size - 1, -1, -1):
        k, joint = i + 1, s.model.links[i].joint
        R, p = frames[i]
        f = add(moving[i].F, carried[i][0])
        n = add(carried[i][1], cross(bodies[i].s, moving[i].F), moving[i].N)
        if standard(s):
            n = add(n, cross(rotate_back(R, p), f))
        own_f, own_n = s.vector(f"f{k}", f), s.vector(f"n{k}", n)
        tau[i] = dot(own_n if joint == "revolute" else own_f, axis(s, i)) + extra[i]
        yield _inward_draft(s, i, f, n, tau[i])
        parent = s.model.parents[i]
        if parent >= 0:
            down_f, down_n = rotate(R, own_f), rotate(R, own_n)
            if not standard(s):
                down_n = add(down_n, cross(p, down_f))
            total = carried[parent]
            carried[parent] = add(total[0], down_f), add(total[1], down_n)
    text = "The torques (forces, for prismatic joints) that make the arm move so."
    yield StepDraft("Torques", of_tree(s) or text, items=coordinate_torques(s, tau))


def _inward_draft(s: Setting, i: int, f: Vector, n: Vector, tau: Any) -> StepDraft:
    k, joint = i + 1, s.model.links[i].joint
    last = max(j for j, link in enumerate(s.model.links) if link.joint == joint)
    where = f"the origin of frame {k - 1 if standard(s) else k}"
    text = f"As for link {last + 1}; moments about {where}."
    formulas: tuple[str, ...] = ()
    if i == last:
        text = (
            f"The force f and the moment n about {where} that the link before exerts on this one "
            "to move it and all it carries, and their part along the joint."
        )
        more = ""
        if has_rotor_or_friction(s):
            text += " Friction and the rotor behind its gear add to it."
            more = r" + \tau_{\mathrm{joint}}"
        last_line = TORQUE[joint].replace(r"\tau", torque(s.model)) + more
        formulas = (FORCE, MOMENT[standard(s)], last_line)
    along = Raw(rf"{{}}^{{{k}}}z", axis(s, i))
    items = [*own(k, f=f, n=n), along, Raw(rf"{torque(s.model)}_{{{k}}}", tau)]
    return StepDraft(f"Link {k} inwards ({s.model.links[i].joint_name})", text, formulas, items)
