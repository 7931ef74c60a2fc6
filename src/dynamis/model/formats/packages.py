"""Folders of ROS packages: `package://NAME/...` and `$(find NAME)` without a ROS installation.

A package is a folder with a package.xml that has its name; a folder of that name without one counts
too. This file imports nothing of dynamis: the process that runs xacro runs it by its path.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

DEEPEST = 8  # folders from that of a package down to a file of it
BESIDE = 2  # folders above a package in which others may be: a stack, a workspace
NAME = re.compile(rb"<name>\s*([\w-]+)\s*</name>")
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
LARGEST_MANIFEST = 1_000_000  # bytes
LISTS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
MESHES = (".stl", ".obj", ".glb", ".gltf", ".dae", ".ply", ".off")


def package_folder(name: str, near: Path) -> Path | None:
    """The folder of a package: nearest to a file, or else where the environment says."""
    return _first(name, _near(name, near)) or _first(name, _listed(name))


def places(near: Path) -> str:
    """Where packages are looked for, in words."""
    above = folders_above(near)
    given = (f"{key} ({os.environ.get(key) or 'not set'})" for key in LISTS)
    return f"{above[0]}, the {len(above) - 1} folders above it, beside them, {', '.join(given)}"


def _first(name: str, folders: Iterator[Path]) -> Path | None:
    if not re.fullmatch(r"[\w-]+", name):
        return None
    return next((x for x in folders if x.is_dir() and _package_name(x) == name), None)


def _near(name: str, near: Path) -> Iterator[Path]:
    """Folders above a file, and those beside them."""
    for up in folders_above(near):
        yield up
        yield from _inside(up, name)


def _listed(name: str) -> Iterator[Path]:
    """Folders of packages in ROS_PACKAGE_PATH, share/NAME of those in AMENT_PREFIX_PATH."""
    packages, prefixes = (os.environ.get(key, "").split(os.pathsep) for key in LISTS)
    for folder in map(Path, filter(None, packages)):
        yield folder
        yield from _inside(folder, name)
        yield from _inside(folder, name, "*/*/package.xml")  # workspace/src/REPOSITORY/PACKAGE
    for prefix in map(Path, filter(None, prefixes)):
        yield prefix / "share" / name


def folders_above(path: Path) -> list[Path]:
    """The folder of a file and those above it: up to its package's, and BESIDE more.

    Without a package.xml the folder above the file's is taken for the package's.
    """
    folder = path.resolve().parent
    above = [folder, *folder.parents]
    manifests = ((up / "package.xml").is_file() for up in above[: DEEPEST + 1])
    root = next((i for i, there in enumerate(manifests) if there), 1)
    return above[: root + BESIDE + 1]


def _inside(folder: Path, name: str, pattern: str = "*/package.xml") -> Iterator[Path]:
    """Folders in this one: that of the name first, then those with a package.xml, in order."""
    yield folder / name
    try:
        yield from sorted(path.parent for path in folder.glob(pattern))
    except OSError:  # a folder that may not be listed
        return


def _package_name(folder: Path) -> str:
    """The name in a folder's package.xml; the folder's own name if there is none."""
    manifest = folder / "package.xml"
    try:
        if not manifest.is_file():
            return folder.name
        with manifest.open("rb") as file:
            found = NAME.search(COMMENT.sub(b"", file.read(LARGEST_MANIFEST)))
    except OSError:
        return ""
    return found[1].decode() if found else ""


def mesh_file(name: str, urdf: Path) -> Path | None:
    """The file a mesh's name means, below the URDF's folder or one a little above it.

    That of a package may also lie in a package that the environment lists.
    """
    above, listed = folders_above(urdf), None
    if name.startswith("package://"):
        package, _, rest = unquote(name.removeprefix("package://")).partition("/")
        near, listed = _first(package, _near(package, urdf)), _first(package, _listed(package))
        tried = [folder / rest for folder in (near, listed) if folder is not None]
        tried += [up / package / rest for up in above] + [up / rest for up in above]
    elif name.startswith("file://"):
        tried = [Path(unquote(name.removeprefix("file://")))]
    else:
        tried = [above[0] / name]
    for place in tried:
        file = place.resolve()
        inside = file.is_relative_to(above[-1]) or (
            listed is not None and Path(os.path.normpath(place)).is_relative_to(listed)
        )
        if inside and file.suffix.lower() in MESHES and file.is_file():
            return file
    return None


def file_of(shape: Any) -> Path | None:
    """The file of a mesh or hull (a `Geometry`), seen from its source or the current folder."""
    if getattr(shape.source, "closed", False):
        return None
    folder = getattr(shape.source, "folder", None) or Path.cwd()
    return mesh_file(shape.file, folder / "robot.urdf")
