"""Derivations from energies: Lagrange-Euler in its ten classical steps, and Gibbs-Appell.

Gibbs-Appell is the observation matrix of Rosillo et al. (2010) row by row, tau = W Phi.
"""

from collections.abc import Iterator
from typing import Any

from ...dynamics.gibbs_appell import Wrench, down, home, row
from ...dynamics.lagrange_euler import LagrangeEuler, lagrange_euler_terms, user_inertias
from ...dynamics.lagrange_euler import product as matrix_product
from ...dynamics.newton_euler import LinkMotion, outward, turning
from ...spatial.inertia import NAMES, Inertia, linear, pseudo_inertia
from ...spatial.rotations import rotate, rotate_back
from ...spatial.vectors import Vector, add
from ..loops import product
from .setting import (
    Raw,
    Setting,
    StepDraft,
    coordinate_torques,
    entry,
    frames_step,
    has_rotor_or_friction,
    index,
    joint_torque,
    link_frames,
    numbered,
    own,
    plain_tree,
    rotor_and_friction,
    table_step,
)

ZERO4 = ((0.0,) * 4,) * 4
TRACED = 3  # joints up to which the matrices whose traces are summed are printed too
OF_TRACES = "The matrices whose traces are summed come first."
TRACES = {
    "Inertia matrix D": r"E_{ijk} = U_{kj} \, J_{k} \, U_{ki}^{T}",
    "Coriolis and centrifugal coefficients": r"G_{ikmj} = U_{jkm} \, J_{j} \, U_{ji}^{T}",
}
STEPS = (
    (
        "Derivatives of the transformations",
        "How each frame moves with each joint. Frames before the joint do not move with it.",
        (r"U_{ij} = \frac{\partial {}^{0}A_{i}}{\partial q_{j}}",),
    ),
    (
        "Second derivatives",
        "How those derivatives move with each joint; the order of the two joints does not matter.",
        (r"U_{ijk} = \frac{\partial U_{ij}}{\partial q_{k}} = U_{ikj}",),
    ),
    (
        "Pseudo-inertia matrices",
        "The integrals of r r^T over each link, r = (x, y, z, 1) in the link's own frame: second "
        "moments, first moments m r and mass.",
        (r"J_{i} = \int r \, r^{T} \, dm",),
    ),
    (
        "Inertia matrix D",
        "",
        (r"d_{ij} = \sum_{k=\max(i,j)}^{n} \mathrm{Tr}\left(U_{kj} \, J_{k} \, U_{ki}^{T}\right)",),
    ),
    (
        "Coriolis and centrifugal coefficients",
        "The factor of a product of two velocities in the torque of joint i.",
        (
            r"h_{ikm} = \sum_{j=\max(i,k,m)}^{n} "
            r"\mathrm{Tr}\left(U_{jkm} \, J_{j} \, U_{ji}^{T}\right)",
        ),
    ),
    (
        "Coriolis and centrifugal torques H",
        "",
        (r"h_{i} = \sum_{k=1}^{n} \sum_{m=1}^{n} h_{ikm} \, \dot{q}_{k} \, \dot{q}_{m}",),
    ),
    (
        "Gravity torques C",
        "g is the acceleration of free fall as a row (gx, gy, gz, 0) in the reference frame, r the "
        "centre of mass of a link in its own frame.",
        (r"C_{i} = -\sum_{j=1}^{n} m_{j} \, g \, U_{ji} \, {}^{j}r_{j}",),
    ),
)


def lagrange_steps(s: Setting) -> Iterator[StepDraft]:
    """Frames, derivatives, inertias, D, H, C and the torque."""
    yield table_step(s)
    yield frames_step(s)
    size = range(len(s.chain.joints))
    pairs = [(i, j) for i in size for j in size]
    terms = lagrange_euler_terms(s.chain, s.x, s.xd, s.xdd, s.fn)
    loops = bool(s.model.closures)
    whole = lambda x: not loops or x is not None  # noqa: E731  # of a joint on the way to the link
    of_D, of_h = _traces(terms) if len(size) <= TRACED and not loops else ([], [])
    parts = (
        [
            entry("U", terms.U[i][j] or ZERO4, i, j, symmetric=False)
            for i, j in pairs
            if whole(terms.U[i][j])
        ],
        [
            entry("U", terms.UU[i][j][k] or ZERO4, i, j, k)
            for i, j in pairs
            for k in size
            if whole(terms.UU[i][j][k])
        ],
        numbered("J", map(pseudo_inertia, user_inertias(s.chain, s.x))),
        [*of_D, *(entry("d", terms.D[i][j], i, j) for i, j in pairs), Raw("D", terms.D)],
        [*of_h, *(entry("h", terms.h[i][k][m], i, k, m) for i, k in pairs for m in size)],
        [*numbered("h", terms.H), Raw("H", terms.H)],
        [*numbered("C", terms.C), Raw("C", terms.C)],
    )
    for (title, text, formulas), items in zip(STEPS, parts, strict=True):
        traced = TRACES.get(title) if of_D else None
        said = f"{text} {OF_TRACES}".lstrip() if traced else text
        yield StepDraft(title, said, (traced, *formulas) if traced else formulas, items)
    yield _torque(s, terms)


def _traces(terms: LagrangeEuler) -> tuple[list[Raw], list[Raw]]:
    """The matrices whose traces make up D and h: E by i, j, k and G by i, k, m, j."""
    size = range(len(terms.D))
    of_D, of_h = [], []
    for i in size:
        for j in size:
            for k in range(max(i, j), len(size)):
                E = _between(terms.U[k][j], terms.J[k], terms.U[k][i])
                of_D.append(Raw(f"E_{{{index(i + 1, j + 1, k + 1)}}}", E))
            for m in size:
                for k in range(max(i, j, m), len(size)):
                    G = _between(terms.UU[k][j][m], terms.J[k], terms.U[k][i])
                    of_h.append(Raw(f"G_{{{index(i + 1, j + 1, m + 1, k + 1)}}}", G))
    return of_D, of_h


def _between(U: Any, J: Any, V: Any) -> Any:
    """U J V^T; zero where a joint does not move the link."""
    if U is None or V is None:
        return ZERO4
    return matrix_product(matrix_product(U, J), tuple(zip(*V, strict=True)))


def _torque(s: Setting, terms: LagrangeEuler) -> StepDraft:
    extra = rotor_and_friction(s)
    tree = [a + b for a, b in zip(terms.tau, extra, strict=True)]
    text, formulas = joint_torque(s, "The equation of motion.", r"\tau = D \, \ddot{q} + H + C")
    items = numbered(r"{\tau_{\mathrm{joint}}}", extra) if has_rotor_or_friction(s) else []
    return StepDraft("Equation of motion", text, formulas, [*items, *coordinate_torques(s, tree)])


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


def gibbs_steps(s: Setting) -> Iterator[StepDraft]:
    """Frames, motion, parameters, W row by row, torques."""
    plain_tree(s, "gibbs-appell")
    yield table_step(s)
    yield frames_step(s)
    motions, draft = _motions(s)
    yield draft
    bodies = [user_inertias(link, [x])[0] for link, x in zip(s.links, s.x, strict=False)]
    phi = [linear(body) for body in bodies]
    yield _parameters(phi)
    if s.model.closures:
        yield _energy(motions, bodies)
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


def _motions(s: Setting) -> tuple[list[LinkMotion], StepDraft]:
    """w, wd and a of every link in the user's frames: the engine's, turned into them."""
    items, motions = [], []
    _, canonical = outward(s.chain, s.x, s.xd, s.xdd, s.fn)
    for k, (motion, body) in enumerate(zip(canonical, s.chain.bodies, strict=True), 1):
        R, p = body.user
        moving = {"w": motion.w, "wd": motion.wd, "a": add(motion.a, rotate(motion.U, p))}
        values = {letter: rotate_back(R, v) for letter, v in moving.items()}
        w, wd, a = (s.vector(f"{letter}{k}", v) for letter, v in values.items())
        motions.append(LinkMotion(w, wd, a, turning(w, wd)))
        items += own(k, **values)
    text = (
        "Angular velocity and acceleration of every link, and the acceleration of the origin of "
        "its frame, in that frame; gravity is in it as an acceleration of the base."
    )
    return motions, StepDraft("Motion of the links", text, items=items)


def _parameters(phi: list) -> StepDraft:
    text = (
        "Ten parameters per link, in its own frame and about its origin: mass, first moments, "
        "second moments. The torque is linear in them: " + ", ".join(NAMES) + "."
    )
    return StepDraft("Parameters", text, (r"\tau = W \, \Phi",), numbered(r"\Phi", phi))


def _energy(motions: list[LinkMotion], bodies: list[Inertia]) -> StepDraft:
    """S of every link: 1/2 Tr(B J B^T), where a point r of it has the acceleration B (r, 1)."""
    items = []
    for motion, body in zip(motions, bodies, strict=True):
        J = pseudo_inertia(body)
        B = [(*turn, a) for turn, a in zip(motion.U, motion.a, strict=True)]
        items.append(0.5 * sum((product(b, [product(row, b) for row in J]) for b in B), 0.0))
    text = (
        "The acceleration energy S: half the square of the acceleration of every point, over the "
        "mass. J is the integral of r r^T with r = (x, y, z, 1): second moments, first moments and "
        "mass. Its derivatives by the accelerations of the joints are the torques of the tree, "
        "which the rows of W give next."
    )
    formulas = (
        r"S_{i} = \frac{1}{2} \int a^{T} \, a \, dm = \frac{1}{2} \, \mathrm{Tr}\left(B_{i} \, "
        r"J_{i} \, B_{i}^{T}\right), \quad B_{i} = \left(\tilde{\eta}_{i}, a_{i}\right)",
        r"S = \sum_{i=1}^{n} S_{i}",
        r"\Gamma_{k} = \frac{\partial S}{\partial \ddot{q}_{k}} = "
        r"\sum_{i=k}^{n} W_{ki} \, \Phi_{i}",
    )
    return StepDraft("Acceleration energy", text, formulas, numbered("S", items))


def _kept(s: Setting, k: int, i: int, block: Wrench) -> tuple[Wrench, list[Raw]]:
    """The block to go on with (long entries by name) and its three matrices."""
    at = index(k + 1, i + 1)
    parts = {"A": _rows(block.A), "B1": _rows(block.B1), "B2": block.B2}
    if k != i:
        parts |= {"E": _rows(block.eta), "g": block.a}
    raws = [Raw(f"{letter}_{{{at}}}", value) for letter, value in parts.items()]
    if k == i:
        return block, raws
    named = Wrench(
        s.matrix(f"A{at}", block.A),
        s.matrix(f"B{at}", block.B1),
        s.matrix(f"E{at}", block.eta),
        s.vector(f"b{at}", block.B2),
        s.vector(f"g{at}", block.a),
    )
    return named, raws


def _row_draft(s: Setting, k: int, items: list[Raw]) -> StepDraft:
    joint = s.model.links[k].joint
    what = "the moment about" if joint == "revolute" else "the force along"
    title = f"Row {k + 1} of W ({s.model.links[k].joint_name})"
    if k < len(s.links) - 1:
        text = f"The same seen from frame {k + 1}; the row is {what} the axis of joint {k + 1}."
        return StepDraft(title, text, items=items)
    text = (
        f"What each link takes per unit of its parameters, seen from frame {k + 1}: "
        "A for its second moments, B1 for its first moments, B2 for its mass, moments about the "
        "origin of that frame (E and g are the forces of the last two). The row of W is "
        f"{what} the axis of joint {k + 1}."
    )
    return StepDraft(title, text, (*AT_HOME, *DOWN, ETA), items)


def _torques(s: Setting, W: list, phi: list) -> StepDraft:
    extra = rotor_and_friction(s)
    tree = []
    for k, blocks in enumerate(W):
        total = extra[k]
        for block, values in zip(blocks, phi, strict=True):
            for w, value in zip(block, values, strict=True):
                total = total + w * value
        tree.append(total)
    formula = r"\tau_{k} = \sum_{i=k}^{n} W_{ki} \, \Phi_{i}"
    text, formulas = joint_torque(s, "Every row of W times the parameters.", formula)
    return StepDraft("Torques", text, formulas, coordinate_torques(s, tree))


def _rows(columns: list[Vector]) -> tuple:
    return tuple(zip(*columns, strict=True))
