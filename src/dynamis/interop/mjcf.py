"""MJCF text, both ways: bodies with one hinge or slide each; read by MuJoCo's own compiler.

What a text says is checked before MuJoCo sees it. Of the files it names only those in the model's
own folder are opened: includes, and meshes that a moving body takes its mass from.
"""

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ..arguments import checked
from ..dynamics import coupling
from ..errors import FileError
from ..lazy import package
from ..model.features import CLOSURES, PASSIVE
from ..model.formats.tables import MOST_ROWS, located, read_bytes
from ..model.formats.urdf_elements import DEEPEST, parsed
from ..model.formats.urdf_write import free_name, spaced, writable
from ..model.quantity import resolve
from ..robot import Robot
from ..spatial.frames import Frame, compose, inverse, point, translation
from .mjcf_gears import differs, held_at_elastic_joints, rotor_positions, write_gears
from .mujoco_model import ENDS, TOOL, from_mujoco
from .rigid_tree import NotRepresentableError, RigidBody, TreeJoint, branch_by_branch, user_tree
from .unsupported import plain, shapes, warn_unsupported

EXPECTED = "MJCF: <mujoco> with a <worldbody>"
KINDS = {"revolute": "hinge", "prismatic": "slide"}
LEAST = 1e-14  # kg and kg m^2 of what has none, above MuJoCo's mjMINVAL
ROUNDING = 1e-12
HELD = (
    *("gravity", "joint limits", "effort limits", "rotor inertia", "springs"),
    *("named frames", "configurations", "joint and link names", CLOSURES, PASSIVE),
    *("elastic joints", "backlash"),
)
APART = 0.1  # m, on the axis of a pin: where the second of its two connects is


@checked
def to_mjcf(robot: Robot) -> str:
    """The robot as MJCF text; MuJoCo itself is not needed.

    Bodies are the user's link frames, sites the named frames and the tool, keyframes the
    configurations; every joint that moves by itself has a motor of its name. Coulomb friction is
    `frictionloss` and a mimic an `equality`, which MuJoCo treats as soft constraints; torsion
    springs belong to their joints, linear ones are tendons between two sites. Ball and weld
    closures are `connect` and `weld` between two sites, a pin two `connect` apart on its axis; they
    are soft too, and other kinds are refused. The motor of an elastic joint is a rotor of its own,
    which a fixed tendon as spring and damper ties to the joint. A link without mass or inertia gets
    1e-14 kg or kg m^2, which MuJoCo needs.
    """
    arm = plain(robot, "MuJoCo", mimics=True)
    own = user_tree(arm)
    tree = [joint._replace(body=_filled(joint.body)) for joint in own]
    bodies: list[str] = []
    for name in arm.link_names:
        bodies.append(free_name(name, ["world", *bodies]))
    root, nodes = mjcf_element(tree, arm.chain.gravity, bodies, arm.model.tree_joint_names)
    root.set("model", writable(robot.name))
    _joints(nodes, arm)
    rotors = write_gears(root, nodes, arm)
    _sites(root, nodes, arm)
    lost = _springs(root, nodes, arm)
    actuators = SubElement(root, "actuator")
    for name in (arm.joint_names[k] for k in arm.active):
        moved = rotors[name].moved if name in rotors else {"joint": name}
        SubElement(actuators, "motor", {"name": name, **moved})
    _mimics(root, arm)
    _closures(root, nodes, arm)
    keys = SubElement(root, "keyframe")
    for name, q in arm.configurations.items():
        x = coupling.positions(arm.chain, q.tolist())
        rows = [float(x[i]) for i in branch_by_branch(tree)] + rotor_positions(arm, q, rotors)
        SubElement(keys, "key", name=writable(name), qpos=spaced(rows))
    lost += [*_differs(arm, own, tree), *differs(arm), *shapes(robot.model)]
    warn_unsupported(robot, "MJCF", (*HELD, *held_at_elastic_joints(arm)), lost)
    indent(root)
    return tostring(root, encoding="unicode") + "\n"


def mjcf_element(
    tree: list[TreeJoint], gravity: Iterable[float], bodies: Sequence[str], joints: Sequence[str]
) -> tuple[Element, list[Element]]:
    """A <mujoco> element with the tree, and the <body> of each joint."""
    root = Element("mujoco")
    SubElement(root, "compiler", angle="radian", autolimits="true")
    SubElement(root, "option", gravity=spaced(gravity))
    world = SubElement(root, "worldbody")
    nodes: list[Element] = []
    for i, joint in enumerate(tree):
        parent = world if joint.parent < 0 else nodes[joint.parent]
        nodes.append(_body(parent, joint, bodies[i], joints[i]))
    return root, nodes


def _body(parent: Element, joint: TreeJoint, name: str, joint_name: str) -> Element:
    node = SubElement(parent, "body", {"name": writable(name), **_place(joint.R, joint.p)})
    SubElement(
        node, "joint", name=writable(joint_name), type=KINDS[joint.kind], pos=spaced(joint.anchor),
        axis=spaced(joint.axis), armature=repr(float(joint.armature)),
    )  # fmt: skip
    body = {"pos": spaced(joint.body.com), "mass": repr(float(joint.body.mass))}
    SubElement(node, "inertial", {**body, **_principal(joint.body.inertia)})
    return node


def _principal(I: np.ndarray) -> dict[str, str]:
    """Principal moments and axes; a flat body's, where rounding alone breaks the triangle."""
    if not np.any(I - np.diag(np.diag(I))):
        return {"diaginertia": spaced(np.diag(I))}
    (low, middle, high), axes = np.linalg.eigh(I)
    if low + middle < high < (low + middle) * (1.0 + ROUNDING):
        high = low + middle
    return {"diaginertia": spaced((low, middle, high)), "xyaxes": spaced(axes[:, :2].T.ravel())}


def _filled(body: RigidBody) -> RigidBody:
    """The body with enough mass and inertia for MuJoCo; what is impossible stays so."""
    low, _, high = np.linalg.eigvalsh(body.inertia)
    lacking = LEAST - low if -ROUNDING * high <= low < LEAST else 0.0
    if body.mass >= LEAST and not lacking:
        return body
    return RigidBody(max(body.mass, LEAST), body.com, body.inertia + lacking * np.eye(3))


def _place(R: Any, p: Any) -> dict[str, str]:
    R = np.asarray(R, dtype=float)
    return {"pos": spaced(p), "xyaxes": spaced((*R[:, 0], *R[:, 1]))}


def _joints(nodes: list[Element], robot: Robot) -> None:
    values = robot.model.values
    rows = zip(nodes, robot.model.links, robot.chain.resistances, strict=True)
    for node, link, resistance in rows:
        joint = next(node.iter("joint"))
        joint.set("damping", repr(float(resistance.mean_viscous)))
        joint.set("frictionloss", repr(float(resistance.mean_coulomb)))
        ends = [float(resolve(x, values)) for x in link.limits or ()]
        if ends and np.isfinite(ends).all():
            joint.set("range", spaced(ends))
        effort = resolve(link.effort_limit, values)
        if effort is not None:
            joint.set("actuatorfrcrange", spaced((-effort, effort)))


def _mimics(root: Element, robot: Robot) -> None:
    ties = Element("equality")
    for name, mimic in ((str(x.joint_name), x.mimic) for x in robot.model.links if x.mimic):
        leader, factor, start = (mimic[0], *(resolve(x, robot.model.values) for x in mimic[1:]))
        names = {"joint1": writable(name), "joint2": writable(leader)}
        curve = spaced((float(start), float(factor), 0.0, 0.0, 0.0))
        SubElement(ties, "joint", names, polycoef=curve)
    root.extend([ties] if len(ties) else [])


def _closures(root: Element, nodes: list[Element], robot: Robot) -> None:
    """Closures as equalities between two sites."""
    ties, chain = Element("equality"), robot.chain
    for closure, own in zip(robot.model.closures, chain.closures, strict=True):
        if closure.kind not in ("ball", "weld", "pin"):
            raise NotRepresentableError(
                f"not representable: closure {closure.name!r} is a {closure.kind}, and MuJoCo "
                "holds ball, pin and weld",
                "make it of joints of the tree and one of these; robot.without_closures() is "
                "the tree",
            )
        for more, z in (("", 0.0), ("_axis", APART))[: 2 if closure.kind == "pin" else 1]:
            name = f"{closure.name}{more}"
            ends = [writable(f"{name}{end}") for end in ENDS]
            for site, (link, frame) in zip(ends, own.ends, strict=True):
                parent, place = next(root.iter("worldbody")), compose(frame, translation(0, 0, z))
                if link >= 0:
                    parent = nodes[link]
                    place = compose(inverse(chain.bodies[link].user), place)
                SubElement(parent, "site", {"name": site, **_place(place.R, place.p)})
            tag = "weld" if closure.kind == "weld" else "connect"
            SubElement(ties, tag, name=writable(name), site1=ends[0], site2=ends[1])
    root.extend([ties] if len(ties) else [])


def _sites(root: Element, nodes: list[Element], robot: Robot) -> None:
    """Named frames and the tool, whose name is kept in a <custom> text."""
    model, c = robot.model, robot.chain
    names: list[str] = []

    def add(name: str, at: int | None, place: Frame) -> None:
        parent = next(root.iter("worldbody")) if at is None else nodes[at]
        names.append(free_name(name, names))
        SubElement(parent, "site", {"name": writable(names[-1]), **_place(place.R, place.p)})

    for frame in model.frames:
        at = None if frame.link is None else model.link_names.index(frame.link)
        place = frame.pose.frame(model.values)
        add(frame.name, at, compose(c.base, place) if at is None else place)
    add(model.tool_name, model.tip, model.tool.frame(model.values))
    SubElement(SubElement(root, "custom"), "text", name=TOOL, data=names[-1])


def _springs(root: Element, nodes: list[Element], robot: Robot) -> list[str]:
    """Torsion springs at their joints, linear ones as tendons; those MuJoCo cannot hold in words.

    preload + stiffness (l - rest) = stiffness (l - springlength)
    """
    tendons, lost = Element("tendon"), []
    for spring, own in zip(robot.model.springs, robot.chain.springs, strict=True):
        if spring.kind == "gas":
            continue
        k, preload, damping = (*own.coefficients, 0.0)[:3]
        zero = own.constants["rest"] - (preload / k if k else 0.0)
        joint = next(nodes[own.joint].iter("joint")) if own.joint >= 0 else None
        again = joint is not None and "stiffness" in joint.attrib
        if (not k and preload) or again or (joint is None and zero < 0.0):
            lost.append(f"spring {spring.name!r} (MuJoCo has one stiffness and a rest length each)")
            continue
        if joint is not None:
            joint.set("stiffness", repr(float(k)))
            joint.set("springref", repr(float(zero)))
            joint.set("damping", repr(float(joint.get("damping", 0.0)) + float(damping)))
            continue
        given = {"stiffness": k, "damping": damping, "springlength": zero}
        numbers = {key: repr(float(x)) for key, x in given.items()}
        tendon = SubElement(tendons, "spatial", {"name": writable(str(spring.name)), **numbers})
        for end, (link, place) in zip(("from", "to"), own.ends, strict=True):
            parent, frame = next(root.iter("worldbody")), Frame()
            if link >= 0:
                parent, frame = nodes[link], robot.chain.bodies[link].user
            site = writable(f"{spring.name}_{end}")
            SubElement(parent, "site", name=site, pos=spaced(point(inverse(frame), place)))
            SubElement(tendon, "site", site=site)
    root.extend([tendons] if len(tendons) else [])
    return lost


def _differs(robot: Robot, own: list[TreeJoint], tree: list[TreeJoint]) -> Iterator[str]:
    """Bodies that MuJoCo's compiler would not take, or takes with what they lack, in words."""
    both = zip(robot.link_names, own, tree, strict=True)
    lacking = [name for name, a, b in both if a.body is not b.body]
    if lacking:
        yield f"that {', '.join(lacking)} lack mass or inertia ({LEAST} kg, kg m^2 is written)"
    for name, joint in zip(robot.link_names, tree, strict=True):
        low, middle, high = np.linalg.eigvalsh(joint.body.inertia)
        if low <= 0.0 or (low + middle) * (1.0 + ROUNDING) < high:
            yield f"MuJoCo refuses {name!r}: its inertia breaks the triangle inequality"


MOST_ELEMENTS = 100_000  # after copies are made
# MuJoCo answers neither these nor attributes without a value by an error that leaves it usable
NAN = re.compile(r"[+-]?nan(\(\w*\))?", re.IGNORECASE)
COUNTED = ("body", "joint", "site")
REFUSED = {  # element -> what it makes of the arm
    "attach": "names another model",
    "composite": "makes soft bodies",
    "flexcomp": "makes soft bodies",
    "deformable": "makes soft bodies",
    "plugin": "names code of its own",
}
# what is seen, sensed or touched moves nothing; what is left out names no file and takes no memory
UNSEEN = (
    *("texture", "material", "skin", "hfield", "visual", "statistic", "camera", "light"),
    *("sensor", "contact", "size", "numeric", "tuple", "extension", "lengthrange"),
)
OPEN = "from_mujoco(mujoco.MjModel.from_xml_path(path)) opens whatever the file names"


@checked
def from_mjcf(source: Any, tip: str | None = None, lock: Mapping[str, Any] | None = None) -> Robot:
    """The robot of MJCF text, or of a file if `source` is a path; the rest as in `from_mujoco`.

    Only files in the folder of that path are opened; text has none.
    """
    mujoco = package("mujoco", "mujoco", "from_mjcf", "mujoco")
    data, path = _source(source)
    with located("MJCF" if path is None else str(path)):
        folder = None if path is None else path.parent.resolve()
        root = _whole(data, folder)
        _check(root)
        files = _tidy(root)
        spec = _asked(mujoco, mujoco.MjSpec.from_string, tostring(root, encoding="unicode"))
        _load_meshes(mujoco, spec, files, folder)
        return from_mujoco(_asked(mujoco, spec.compile), tip, lock)


def _source(source: Any) -> tuple[bytes, Path | None]:
    """Bytes and their file; text that begins as XML does is the description itself."""
    if isinstance(source, bytes):
        return source, None
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        return source.lstrip("\ufeff").encode("utf-8"), None
    if not isinstance(source, (str, os.PathLike)) or not os.fspath(source):
        raise FileError(f"{source!r} was given, expected MJCF text or the path of a file")
    return read_bytes(Path(source)), Path(source)


def _whole(data: bytes, folder: Path | None) -> Element:
    """The <mujoco> element with what it includes; document types and entities are refused."""
    root = parsed(data, EXPECTED)
    if root.tag != "mujoco":
        raise FileError(f"the root element is <{root.tag}>, expected <mujoco> (MJCF)")
    seen: set[Path] = set()
    todo = [(root, folder)]
    while todo:
        element, here = todo.pop()
        inner = [(x, here) for x in reversed(element)]
        element[:] = []
        while inner:
            child, near = inner.pop()
            if child.tag != "include":
                element.append(child)
                todo.append((child, near))
                continue
            name = child.get("file", "")
            path = _inside(name, folder, near)
            if path in seen:
                raise FileError(f"<include> names {name!r} a second time")
            seen.add(path)
            with located(name):
                inner += [(x, path.parent) for x in reversed(parsed(read_bytes(path), EXPECTED))]
    return root


def _inside(name: str, folder: Path | None, *more: Path | None) -> Path:
    """A file the model names, in its own folder or below."""
    for near in (folder, *more):
        try:
            path = None if near is None else (near / name).resolve()
            if path is not None and path.is_relative_to(str(folder)) and path.is_file():
                return path
        except (OSError, RuntimeError, ValueError):  # names no system has
            continue
    where = "text has none" if folder is None else f"looked in {folder}"
    raise FileError(f"the file {name!r} is not in the model's folder ({where})", OPEN)


def _check(root: Element) -> None:
    """Elements that make another machine of it, and how many there are with their copies."""
    counts: Counter[str] = Counter()
    todo = [(root, 1, 1)]
    while todo:
        element, copies, depth = todo.pop()
        tag = str(element.tag)
        if depth > DEEPEST:
            raise FileError(
                f"is nested too deep, expected at most {DEEPEST} elements within each other"
            )
        if tag in REFUSED and (len(element) or element.attrib):
            raise NotRepresentableError(f"not representable: <{tag}> {REFUSED[tag]}", OPEN)
        for key, text in element.attrib.items():
            if key != "name" and (not text.strip() or any(map(NAN.fullmatch, text.split()))):
                raise FileError(f"<{tag}> has {key}={text!r}, expected numbers or a word")
        if tag == "replicate":
            text = element.get("count", "1")
            if not (text.isascii() and text.isdecimal() and len(text) < 10):
                raise FileError(f"<replicate> has count {text!r}, expected a whole number")
            copies *= int(text)
        counts[tag] += copies
        if max(counts[x] for x in COUNTED) > MOST_ROWS or counts.total() > MOST_ELEMENTS:
            raise FileError(
                f"has more than {MOST_ROWS} bodies, joints or sites, or {MOST_ELEMENTS} elements"
            )
        todo += [(x, copies, depth + 1) for x in element]


def _tidy(root: Element) -> dict[str, str]:
    """Leave out what moves nothing; returns the file of each mesh by the name it has from here."""
    told = {key: text for x in root.iter("compiler") for key, text in x.attrib.items()}
    folder = told.get("meshdir", told.get("assetdir", ""))
    files = {}
    for element in root.iter():
        for child in [x for x in element if x.tag in UNSEEN or x.get("hfield") is not None]:
            element.remove(child)
        element.attrib.pop("material", None)
        if element.tag == "site" and element.attrib.pop("mesh", None) is not None:
            element.attrib.pop("type", None)
        if element.tag == "mesh" and element.get("file") is not None:
            path = PurePath(element.attrib["file"])
            path = PurePath(path.name) if told.get("strippath") == "true" else path
            element.attrib.setdefault("name", path.stem)
            element.set("file", f"{len(files)}{path.suffix}")
            files[element.attrib["file"]] = str(folder / path)
        elif element.get("file") is not None:
            raise FileError(f"<{element.tag}> names the file {element.get('file')!r}", OPEN)
    for compiler in root.iter("compiler"):
        for key in ("meshdir", "assetdir", "strippath"):
            compiler.attrib.pop(key, None)
    # muscles are not simulated to find how long they become
    SubElement(SubElement(root, "compiler"), "lengthrange", mode="none")
    return files


def _load_meshes(mujoco: Any, spec: Any, files: Mapping[str, str], folder: Path | None) -> None:
    """Meshes that bodies take their mass from; the rest is left out with its geoms."""
    weighed: dict[str, str] = {}
    always = spec.compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    todo = [(spec.worldbody, True)]
    while todo:
        body, fixed = todo.pop()
        fixed = fixed and not body.joints
        todo += [(x, fixed) for x in body.bodies]
        known = body.explicitinertial and not always
        for geom in (x for x in body.geoms if x.meshname):
            if known or (fixed and spec.compiler.settotalmass <= 0):
                spec.delete(geom)
            else:
                weighed[geom.meshname] = body.name
    assets = {}
    for mesh in spec.meshes:
        if mesh.name not in weighed:
            spec.delete(mesh)
        elif mesh.file:
            with located(f"body {weighed[mesh.name]!r}, whose mass comes from a mesh"):
                assets[mesh.file] = read_bytes(_inside(files[mesh.file], folder))
    spec.assets = assets


def _asked(mujoco: Any, call: Callable[..., Any], *arguments: Any) -> Any:
    """What MuJoCo answers; its warnings are left out, which would write a file."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        with warnings.catch_warnings(action="ignore"):
            return call(*arguments)
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError) as error:
        words = re.sub(r",? line \d+", "", " ".join(str(error).split()))
        raise FileError(f"MuJoCo refuses it: {words}") from None
    finally:
        mujoco.set_mju_user_warning(before)
