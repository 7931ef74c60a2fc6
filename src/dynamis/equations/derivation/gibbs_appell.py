"""Gibbs-Appell: the observation matrix of Rosillo et al. (2010) row by row, tau = W Phi."""

from collections.abc import Iterator
from typing import Any

from ...dynamics.gibbs_appell import Wrench, down, home, row
from ...dynamics.lagrange_euler import user_inertias
from ...dynamics.newton_euler import Motion, outward, turning
from ...spatial.inertia import NAMES, linear
from ...spatial.rotations import rotate, rotate_back
from ...spatial.vectors import Vector, add
from .parts import (
    Draft,
    Raw,
    coordinate_torques,
    frames_step,
    has_rotor_or_friction,
    index,
    link_frames,
    plain_tree,
    rotor_and_friction,
    table_step,
)
from .setting import Setting

ETA = r"\tilde{\eta} = \tilde{\dot{\omega}} + \tilde{\omega} \, \tilde{\omega}"
AT_HOME = (
    r"A_{ii} = \hat{\dot{\omega}}_{i} + \tilde{\omega}_{i} \, \hat{\omega}_{i}",
    r"B1_{ii} = -\tilde{a}_{i}",
    r"B2_{ii} = 0",
)
DOWN = (
    r"A_{ki} = {}^{k}R_{k+1} \, A_{k+1,i}",
    r"B1_{ki} = {}^{k}R_{k+1} \, B1_{k+1,i} + {}^{k}\tilde{p}_{k+1} \, {}^{k}R_{i} \, "
    r"\tilde{\eta}_{i}",
    r"B2_{ki} = {}^{k}R_{k+1} \, B2_{k+1,i} + {}^{k}\tilde{p}_{k+1} \, {}^{k}R_{i} \, a_{i}",
)


def gibbs_steps(s: Setting) -> Iterator[Draft]:
    """Frames, motion, parameters, W row by row, torques."""
    plain_tree(s, "gibbs-appell")
    yield table_step(s)
    yield frames_step(s)
    motions, draft = _motions(s)
    yield draft
    phi = [linear(inertia) for inertia in _inertias(s)]
    yield _parameters(phi)
    size, frames = len(s.links), link_frames(s)
    W: list[list[Any]] = [[(0.0,) * len(NAMES)] * size for _ in range(size)]
    blocks = [home(motion) for motion in motions]  # each seen from the frame it has come down to
    for k in range(size - 1, -1, -1):
        items = []
        for i in range(size - 1, k - 1, -1):
            if k not in s.chain.ancestors(i):
                continue
            block, raws = _kept(s, k, i, blocks[i])
            W[k][i] = row(s.model.links[k].joint, down(block, *s.links[k].bodies[0].user))
            items += [*raws, Raw(f"W_{{{index(k + 1, i + 1)}}}^{{T}}", W[k][i])]
            blocks[i] = down(block, *frames[k])
        yield _row_draft(s, k, items)
    yield _torques(s, W, phi)


def _inertias(s: Setting) -> list[Any]:
    return [user_inertias(link, [x])[0] for link, x in zip(s.links, s.x, strict=False)]


def _motions(s: Setting) -> tuple[list[Motion], Draft]:
    """w, wd and a of every link in the user's frames: the engine's, turned into them."""
    items, motions = [], []
    _, canonical = outward(s.chain, s.x, s.xd, s.xdd, s.fn)
    for i, (motion, body) in enumerate(zip(canonical, s.chain.bodies, strict=True)):
        R, p = body.user
        origin = add(motion.a, rotate(motion.U, p))
        values = [rotate_back(R, v) for v in (motion.w, motion.wd, origin)]
        letters = ("w", "wd", "a")
        w, wd, a = (s.vector(f"{x}{i + 1}", v) for x, v in zip(letters, values, strict=True))
        motions.append(Motion(w, wd, a, turning(w, wd)))
        names = (r"\omega", r"\dot{\omega}", "a")
        items += [
            Raw(rf"{{}}^{{{i + 1}}}{name}_{{{i + 1}}}", v)
            for name, v in zip(names, values, strict=True)
        ]
    text = (
        "Angular velocity and acceleration of every link, and the acceleration of the origin of "
        "its frame, in that frame; gravity is in it as an acceleration of the base."
    )
    return motions, Draft("Motion of the links", text, items=items)


def _parameters(phi: list) -> Draft:
    text = (
        "Ten parameters per link, in its own frame and about its origin: mass, first moments, "
        "second moments. The torque is linear in them: " + ", ".join(NAMES) + "."
    )
    items = [Raw(rf"\Phi_{{{i + 1}}}", values) for i, values in enumerate(phi)]
    return Draft("Parameters", text, (r"\tau = W \, \Phi",), items)


def _kept(s: Setting, k: int, i: int, block: Wrench) -> tuple[Wrench, list[Raw]]:
    """The block to go on with (long entries by name) and its three matrices."""
    at = index(k + 1, i + 1)
    raws = [
        Raw(f"A_{{{at}}}", _rows(block.A)),
        Raw(f"B1_{{{at}}}", _rows(block.B1)),
        Raw(f"B2_{{{at}}}", block.B2),
    ]
    if k == i:
        return block, raws
    named = Wrench(
        s.matrix(f"A{at}", block.A),
        s.matrix(f"B{at}", block.B1),
        s.matrix(f"E{at}", block.eta),
        s.vector(f"b{at}", block.B2),
        s.vector(f"g{at}", block.a),
    )
    extra = [
        Raw(rf"E_{{{at}}}", _rows(block.eta)),
        Raw(rf"g_{{{at}}}", block.a),
    ]
    return named, [*raws, *extra]


def _row_draft(s: Setting, k: int, items: list[Raw]) -> Draft:
    joint = s.model.links[k].joint
    what = "the moment about" if joint == "revolute" else "the force along"
    if k < len(s.links) - 1:
        name = s.model.links[k].joint_name
        return Draft(
            f"Row {k + 1} of W ({name})",
            f"The same seen from frame {k + 1}; the row is {what} the axis of joint {k + 1}.",
            items=items,
        )
    text = (
        f"What each link takes per unit of its parameters, seen from frame {k + 1}: "
        "A for its second moments, B1 for its first moments, B2 for its mass, moments about the "
        "origin of that frame (E and g are the forces of the last two). The row of W is "
        f"{what} the axis of joint {k + 1}."
    )
    formulas = (*AT_HOME, *DOWN, ETA)
    return Draft(f"Row {k + 1} of W ({s.model.links[k].joint_name})", text, formulas, items)


def _torques(s: Setting, W: list, phi: list) -> Draft:
    extra = rotor_and_friction(s)
    tree = []
    for k, blocks in enumerate(W):
        total = extra[k]
        for block, values in zip(blocks, phi, strict=True):
            for w, value in zip(block, values, strict=True):
                total = total + w * value
        tree.append(total)
    text = "Every row of W times the parameters."
    formula = r"\tau_{k} = \sum_{i=k}^{n} W_{ki} \, \Phi_{i}"
    if has_rotor_or_friction(s):
        text += " Friction, and rotors behind their gears, add to the torque of their own joint."
        formula += r" + \tau_{\mathrm{joint}}"
    items = [Raw(rf"\tau_{{{i + 1}}}", x) for i, x in enumerate(coordinate_torques(s, tree))]
    return Draft("Torques", text, (formula,), items)


def _rows(columns: list[Vector]) -> tuple:
    return tuple(zip(*columns, strict=True))
