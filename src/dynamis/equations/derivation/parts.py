"""Parts that every derivation shares: drafts of steps, the geometry, and what joints add."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...dynamics import coupling, drives, friction
from ...dynamics.kinematics import motions, poses
from ...errors import ModelError
from ...model.dh.table import dh_table
from ...model.model import Model
from ...spatial.frames import Frame, compose, matrix
from .setting import Setting


class Raw(NamedTuple):
    """A named result over the setting's scalars: a scalar, a column or rows."""

    name: str
    value: Any
    same: str | None = None


class Draft(NamedTuple):
    """A step before it is written out."""

    title: str
    text: str
    formulas: tuple[str, ...] = ()
    items: Sequence[Raw] = ()
    table: tuple[tuple[str, ...], ...] = ()


def index(*numbers: int) -> str:
    """Subscripts run together while they are single digits."""
    return ("," if max(numbers) > 9 else "").join(map(str, numbers))


def link_frames(s: Setting) -> list[Frame]:
    """Each link's frame seen from the one before, both the user's."""
    frames = []
    for link, x in zip(s.links, s.x, strict=False):
        frames.append(compose(motions(link, [x], s.fn)[0], link.bodies[0].user))
    return frames


def geometry(model: Model) -> tuple[tuple[str, ...], ...]:
    """The cells of the DH table, or of where the joints of a URDF sit."""
    if model.convention != "urdf":
        return tuple(dh_table(model).cells())
    zero, z = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    rows = []
    for link in model.links:
        vectors = (link.xyz or zero, link.rpy or zero, link.axis or z)
        parent = link.parent or model.base_name
        rows.append((str(link.joint_name), link.joint, parent, *map(_numbers, vectors)))
    return (("joint", "type", "parent", "xyz", "rpy", "axis"), *rows)


def table_step(s: Setting) -> Draft:
    """The DH table, or where the joints of a URDF sit."""
    model = s.model
    if model.convention == "urdf":
        text = "Where each joint sits in the frame of the link before it, and its axis."
        return Draft("Joints", text, table=geometry(model))
    text = TABLES[model.convention] + "".join(f" {note}." for note in dh_table(model).notes())
    return Draft("Denavit-Hartenberg table", text, table=geometry(model))


TABLES = {
    "standard": (
        "Every link carries a frame by the rules of Denavit and Hartenberg (standard convention): "
        "joint i moves about or along z of frame i - 1, and frame i sits at the far end of link i."
    ),
    "modified": (
        "Every link carries a frame by the rules of Denavit and Hartenberg as Craig modified "
        "them: joint i moves about or along z of its own frame i."
    ),
}
FRAMES = {
    "standard": r"{}^{i-1}A_{i} = R_z(\theta_i) \, T_z(d_i) \, T_x(a_i) \, R_x(\alpha_i)",
    "modified": r"{}^{i-1}A_{i} = R_x(\alpha_{i}) \, T_x(a_{i}) \, R_z(\theta_i) \, T_z(d_i)",
    "urdf": r"{}^{i-1}A_{i} = T(\mathit{xyz}) \, R(\mathit{rpy}) \, R_{\mathrm{axis}}(q_i)",
}


def frames_step(s: Setting) -> Draft:
    """A matrices, one by one and from the reference frame."""
    items = []
    where = poses(s.chain, s.x, s.fn)
    for i, own in enumerate(link_frames(s)):
        before = s.model.parents[i] + 1
        first = rf"{{}}^{{{before}}}A_{{{i + 1}}}"
        items.append(Raw(first, matrix(own)))
        whole = rf"{{}}^{{0}}A_{{{i + 1}}}"
        if whole != first or s.model.base != type(s.model.base)():
            pose = matrix(compose(where[i], s.chain.bodies[i].user))
            items.append(Raw(whole, pose))
    text = (
        "The matrices that take coordinates of a link's frame to the frame before it, and their "
        "products, which take them to the reference frame. Short for sines and cosines: c1 is "
        "cos q1, s23 is sin(q2 + q3)."
    )
    formulas = (FRAMES[s.model.convention], r"{}^{0}A_{i} = {}^{0}A_{i-1} \, {}^{i-1}A_{i}")
    return Draft("Transformation matrices", text, formulas, items)


def rotor_and_friction(s: Setting) -> list[Any]:
    """What rotors and friction add to the torque of each link's joint."""
    rotor, friction_part = (
        drives.rotor_torque(s.chain, s.xdd),
        friction.friction_tree(s.chain, s.xd, s.fn),
    )
    return [a + b for a, b in zip(rotor, friction_part, strict=True)]


def has_rotor_or_friction(s: Setting) -> bool:
    """Whether some joint has friction or a rotor."""
    chain = s.chain
    values = [x for r in chain.resistances for x in (r.viscous, r.plus, r.minus, r.offset)]
    values += [x for m in chain.motors for x in (m.inertia, m.viscous, m.plus, m.minus)]
    return any(values)


def plain_tree(s: Setting, method: str) -> None:
    """Refuse what the link-by-link derivations do not write down."""
    if s.chain.rotors:
        raise ModelError(
            f"the {method} steps of {s.model.name!r} are not written for rotors = 'full'",
            "use rotors = 'reflected', or method 'lagrange-euler'",
        )


def coordinate_torques(s: Setting, tree: Sequence[Any]) -> Sequence[Any]:
    """Torques of the coordinates from those of the joints (they differ if joints mimic others)."""
    return coupling.torques(s.chain, tree)


def _numbers(values: Sequence[Any]) -> str:
    return " ".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in values)
