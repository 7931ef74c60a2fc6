"""Elements of a URDF that a model has no place for: kept when it is read, put back when written.

<visual>, <collision>, <transmission>, <gazebo>, <material>, <ros2_control> and whatever else other
tools read. They are data: no file that they name is opened here.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from xml.etree.ElementTree import Element

from ...errors import worded
from ..model import KeptElements, Model
from .packages import mesh_file
from .urdf_elements import EXTENSION

# what the writer makes itself
LINK_TAGS = ("inertial",)
JOINT_TAGS = ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic", EXTENSION)
ROBOT_TAGS = ("link", "joint", EXTENSION)
PACKAGE = "package://"
ACTUATED = ("transmission", "ros2_control")  # elements that name joints
FILES = ("mesh", "texture")  # elements whose filename is that of a file; a plugin's is a library's


def kept_elements(root: Element, model: Model, folder: Path | None) -> KeptElements | None:
    """Elements of a <robot> beyond the model made of it; None if there are none.

    Links that never move keep their <inertial> too. `folder` is that of the file. What the
    geometry of the model was read from is not kept twice.
    """
    read = {id(x.source.element) for x in model.geometry if x.source is not None}
    still = {model.base_name, *(frame.name for frame in model.frames if frame.link is None)}
    links, joints = root.findall("link"), root.findall("joint")
    fixed = {_child(x): str(x.get("name")) for x in joints if x.get("type") == "fixed"}
    kept = KeptElements(
        robot=tuple(_others(root, ROBOT_TAGS)),
        links=_by_name(((x, () if x.get("name") in still else LINK_TAGS) for x in links), read),
        joints=_by_name((x, JOINT_TAGS) for x in joints),
        attributes={
            key: text
            for key, text in root.attrib.items()
            if key != "name" and not text.endswith("/xacro")
        },
        fixed_joints=fixed,
        convention=model.convention,
        folder=folder,
    )
    return kept if kept.robot or kept.links or kept.joints or fixed else None


def _others(element: Element, own: Iterable[str], read: Collection[int] = ()) -> Iterator[Element]:
    return (child for child in element if child.tag not in own and id(child) not in read)


def _by_name(
    rows: Iterable[tuple[Element, Iterable[str]]], read: Collection[int] = ()
) -> dict[str, tuple[Element, ...]]:
    found = {str(element.get("name")): tuple(_others(element, own, read)) for element, own in rows}
    return {name: elements for name, elements in found.items() if elements}


def _child(joint: Element) -> str:
    child = joint.find("child")
    return "" if child is None else str(child.get("link"))


def words_of(kept: KeptElements | None) -> list[str]:
    """The kinds of elements that are kept: <visual>, <collision>, ..."""
    if kept is None:
        return []
    rows = (*kept.links.values(), *kept.joints.values(), kept.robot)
    tags = dict.fromkeys(element.tag for row in rows for element in row)
    return [f"<{tag}>" + " of the base" * (tag in LINK_TAGS) for tag in tags]


def renamed_elements(
    kept: KeptElements | None, links: Mapping[str, str], joints: Mapping[str, str]
) -> KeptElements | None:
    """Elements of links and joints that have other names, and others that refer to them."""
    if kept is None or all(a == b for names in (links, joints) for a, b in names.items()):
        return kept
    robot = deepcopy(kept.robot)
    for element in robot:
        about = element.get("reference", "")
        if about in links or about in joints:
            element.set("reference", {**joints, **links}[about])
        for x in element.findall("joint") if element.tag in ACTUATED else ():
            x.set("name", joints.get(str(x.get("name")), str(x.get("name"))))
    return replace(
        kept,
        robot=robot,
        links={links.get(name, name): x for name, x in kept.links.items()},
        joints={joints.get(name, name): x for name, x in kept.joints.items()},
    )


def put_back(robot: Element, model: Model, folder: Path | None) -> list[str]:
    """Add what is kept to a <robot> element; returns what has no place there, in words.

    Names of mesh files are made relative to `folder`, where the file will be.
    """
    kept = model.kept_elements
    if kept is None:
        return []
    links = {str(x.get("name")): x for x in robot.findall("link")}
    _rename_fixed_joints(robot, kept.fixed_joints)
    joints = {str(x.get("name")): x for x in robot.findall("joint")}
    lost: dict[str, list[str]] = {}
    framed = links if model.convention == kept.convention else {}  # else links have other frames
    for places, rows in ((framed, kept.links), (joints, kept.joints)):
        for name, elements in rows.items():
            for element in elements:
                if name in places:
                    places[name].append(moved_files(element, kept.folder, folder))
                else:
                    lost.setdefault(element.tag, []).append(repr(name))
    moving = {name for name, x in joints.items() if x.get("type") != "fixed"}
    for element in kept.robot:
        missing = [x for x in _joints_named(element) if x not in moving]
        about = element.get("reference")
        missing += [about] if about and about not in links and about not in joints else []
        if missing:
            lost.setdefault(element.tag, []).extend(map(repr, missing))
        else:
            robot.append(moved_files(element, kept.folder, folder))
    robot.attrib |= {k: text for k, text in kept.attributes.items() if k not in robot.attrib}
    return [f"<{tag}> of {worded(dict.fromkeys(names))}" for tag, names in lost.items()]


def packages_lost(model: Model, folder: Path | None) -> list[str]:
    """Packages whose meshes are found from the file that was read, but not from `folder`."""
    kept, names = model.kept_elements, set[tuple[str, Path]]()
    rows = [] if kept is None else [*kept.links.values(), *kept.joints.values(), kept.robot]
    parts = [(kept.folder, x) for row in rows for element in row for x in element.iter()]  # type: ignore[union-attr]
    own = [x.source for x in model.geometry if x.source is not None]
    parts += [(x.folder, y) for x in own if x.element is not None for y in x.element.iter()]
    for old, part in parts:
        name = str(part.get("filename"))
        if old is not None and part.tag in FILES and name.startswith(PACKAGE):
            names.add((name, old))
    lost = {
        name.removeprefix(PACKAGE).partition("/")[0]
        for name, old in names
        if folder is not None and folder != old
        and mesh_file(name, old / "robot.urdf") is not None
        and mesh_file(name, folder / "robot.urdf") is None
    }  # fmt: skip
    return sorted(lost)


def _joints_named(element: Element) -> Iterator[str]:
    """Joints that a <transmission> or a <ros2_control> moves."""
    if element.tag in ACTUATED:
        yield from (str(x.get("name")) for x in element.findall("joint") if x.get("name"))


def _rename_fixed_joints(robot: Element, names: Mapping[str, str]) -> None:
    """Fixed joints called as in the file, where that name is free."""
    joints = robot.findall("joint")
    taken = {str(joint.get("name")) for joint in joints}
    for joint in joints:
        name = names.get(_child(joint))
        if joint.get("type") == "fixed" and name and name not in taken:
            joint.set("name", name)
            taken.add(name)


def moved_files(element: Element, old: Path | None, new: Path | None) -> Element:
    """A copy whose relative file names, seen from the folder `new`, are the files they were."""
    copy = deepcopy(element)
    for part in copy.iter():
        name = part.get("filename")
        if part.tag in FILES and name:
            part.set("filename", moved_name(name, old, new))
    return copy


def moved_name(name: str, old: Path | None, new: Path | None) -> str:
    """The name of a file that is seen from another folder."""
    if old is None or new is None or old == new or not _is_relative(name):
        return name
    return _seen_from(new, old / name)


def _is_relative(name: str) -> bool:
    absolute = PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute()
    return "://" not in name and not absolute


def _seen_from(folder: Path, file: Path) -> str:
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:  # on another drive of Windows
        return file.as_posix()
