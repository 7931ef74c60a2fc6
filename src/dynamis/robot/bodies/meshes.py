"""Triangles of mesh files: STL and OBJ are read here, other formats by trimesh (extra `mesh`).

A mesh is data: files of at most LARGEST bytes are read, and nothing that they name is opened.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...arguments import path_of
from ...errors import DynamisError, FileError
from ...lazy import package
from ...model.formats.packages import MESHES, file_of
from ...model.formats.tables import located

if TYPE_CHECKING:
    from ...model.geometry import Geometry

LARGEST = 50_000_000  # bytes of a mesh
FARTHEST = 1e6  # of a coordinate, in whatever unit
LARGEST_TEXT = 10_000_000  # bytes of a mesh in words
VERTEX = re.compile(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)")
POINT = re.compile(rb"(?m)^[ \t]*v[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)")
FACE = re.compile(rb"(?m)^[ \t]*f[ \t]+([^\r\n]*)")
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
HEAD = 84  # bytes before the triangles


def read_triangles(path: str | Path) -> np.ndarray:
    """Corners of the triangles of a mesh file, (k, 3, 3)."""
    where = path_of(path)
    suffix = where.suffix.lower()
    with located(str(where)):
        if suffix not in MESHES:
            listed = ", ".join(MESHES)
            raise FileError(f"has suffix {suffix!r}, expected a mesh in a file of {listed}")
        if not where.is_file():
            raise FileError("there is no such file")
        size = where.stat().st_size
        if size > LARGEST:
            raise FileError(f"has {size} bytes, expected at most {LARGEST}")
        if suffix not in READERS:
            return _by_trimesh(where)
        try:
            data = where.read_bytes()
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}") from None
        found = READERS[suffix](data)
        if not len(found):
            raise FileError("has no triangles")
        if not (np.abs(found) <= FARTHEST).all():
            raise FileError(f"has corners that are not finite, or beyond {FARTHEST:g}")
        return found


def triangles_of(shape: "Geometry") -> np.ndarray:
    """Corners of a mesh or hull of a model, (k, 3, 3), scaled."""
    path = file_of(shape)
    if path is None:
        raise FileError(
            f"geometry {shape.name!r}: {shape.file!r} is not there, or no mesh that can be read",
            f"expected a file of {', '.join(MESHES)} below the folder of the robot's file",
        )
    return read_triangles(path) * np.array(shape.scale, dtype=float)


def _words(data: bytes) -> bytes:
    if len(data) > LARGEST_TEXT:
        raise FileError(f"is a text of {len(data)} bytes, expected at most {LARGEST_TEXT}")
    return data


def _numbers(rows: list[tuple[bytes, ...]]) -> np.ndarray:
    try:
        return np.array(rows, dtype=float).reshape(-1, 3)
    except ValueError:
        raise FileError("has a corner that is not three numbers") from None


def _stl(data: bytes) -> np.ndarray:
    """STL, binary or text."""
    count = int.from_bytes(data[HEAD - 4 : HEAD], "little") if len(data) >= HEAD else 0
    if count and len(data) == HEAD + count * TRIANGLE.itemsize:
        return np.frombuffer(data, TRIANGLE, count, HEAD)["corners"].astype(float)
    if data[:5] != b"solid":
        raise FileError("is no STL: neither text nor as long as its number of triangles says")
    points = _numbers(VERTEX.findall(_words(data)))
    if len(points) % 3:
        raise FileError(f"has {len(points)} corners, which are no triangles")
    return points.reshape(-1, 3, 3)


def _obj(data: bytes) -> np.ndarray:
    """Wavefront OBJ: faces of three or more corners, as fans of triangles."""
    points = _numbers(POINT.findall(_words(data)))
    corners: list[int] = []
    for row in FACE.findall(data):
        try:
            face = [int(word.partition(b"/")[0]) for word in row.partition(b"#")[0].split()]
        except ValueError:
            raise FileError("has a face whose corners are not numbers of points") from None
        if len(face) < 3 or not all(1 <= abs(k) <= len(points) for k in face):
            raise FileError(f"has a face of corners {face[:8]} among {len(points)} points")
        face = [k - 1 if k > 0 else len(points) + k for k in face]
        for k in range(1, len(face) - 1):
            corners += (face[0], face[k], face[k + 1])
    return points[np.array(corners, dtype=int)].reshape(-1, 3, 3)


def _by_trimesh(path: Path) -> np.ndarray:
    purpose = f"reading a mesh from a {path.suffix.lower()} file"
    trimesh = package("trimesh", "trimesh", purpose, "mesh", "STL and OBJ need nothing")
    try:
        mesh = trimesh.load(path, force="mesh")
        return np.asarray(mesh.triangles, dtype=float).reshape(-1, 3, 3)
    except DynamisError:
        raise
    except Exception as error:  # readers of meshes raise whatever they like
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise FileError(f"is no mesh that can be read: {why}") from None


READERS = {".stl": _stl, ".obj": _obj}
