"""MJCF text as our robot: compiled by MuJoCo and read as its models are.

What the text says is checked before MuJoCo sees it. Of the files it names only those in the model's
own folder are opened: includes, and meshes that a moving body takes its mass from.
"""

import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from ..arguments import checked
from ..errors import FileError
from ..lazy import package
from ..model.formats.tables import MOST_ROWS, located, plain_message, read_bytes
from ..model.formats.urdf_elements import parsed
from ..robot import Robot
from .mujoco_model import from_mujoco
from .rigid_tree import NotRepresentableError

MOST_ELEMENTS = 100_000  # after copies are made
DEEPEST = 200  # elements within each other
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
def from_mjcf(source: Any, tip: str | None = None) -> Robot:
    """The robot of MJCF text, or of a file if `source` is a path; `tip` as in `from_mujoco`.

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
        return from_mujoco(_asked(mujoco, spec.compile), tip)


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
    root = _parsed(data)
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
                inner += [(x, path.parent) for x in reversed(_parsed(read_bytes(path)))]
    return root


def _parsed(data: bytes) -> Element:
    try:
        return parsed(data)
    except FileError as error:
        hint = "expected MJCF: <mujoco> with a <worldbody>"
        raise FileError(plain_message(error), hint) from None


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
