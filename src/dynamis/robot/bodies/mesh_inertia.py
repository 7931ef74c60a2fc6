"""Mass, centre of mass and inertia of a body of even density, by the triangles of its surface.

By the divergence theorem a closed surface is a sum of tetrahedra from the origin to its triangles,
with signs. Of the one with corners 0, a, b, c and D = a . (b x c)

    volume = D / 6,   integral of x = D / 24 s,   integral of x x^T = D / 120 (A A^T + s s^T)

with s = a + b + c and A the matrix of columns a, b, c.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import checked, flag, number, positive
from ...compile.arrays import numbers
from ...errors import FileError, OptionError, shown
from ...spatial.inertia import Inertia, entries, symmetric_of, to_com
from .meshes import read_triangles

HOLES = 1e-3  # sum of a closed surface's area vectors, next to its area: beyond, it is open
LARGE = 20.0  # m; a longer body is more likely given in millimetres


@dataclass(frozen=True)
class MeshInertia:
    """A body of even density: mass, centre of mass, inertia about it, volume.

    `com` and `inertia` (xx, yy, zz, xy, yz, xz) are along the axes of the mesh.
    """

    mass: float  # kg
    com: tuple[float, float, float]  # m
    inertia: tuple[float, ...]  # kg m^2
    volume: float  # m^3

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a link: `robot.with_link("link3", **found.fields)`."""
        return {"mass": self.mass, "com": self.com, "inertia": self.inertia}


@checked
def inertia_of_mesh(
    file: str | Path,
    density: float | None = None,
    mass: float | None = None,
    *,
    scale: float | Sequence[float] = 1.0,
    hull: bool = False,
) -> MeshInertia:
    """Propose mass, centre of mass and inertia of a link by a mesh of its surface.

    The body is full and of even density: give `density` in kg/m^3 or the `mass` in kg. `scale`, one
    number or three, takes coordinates to metres (0.001 of millimetres). `hull` takes the convex
    hull, for a surface that is open.
    """
    if (density is None) == (mass is None):
        raise OptionError("give density= or mass=: one of them")
    per_volume = None if density is None else positive(density, "density", "kg/m^3")
    whole = None if mass is None else positive(mass, "mass", "kg")
    triangles = read_triangles(file) * _scale(scale)
    flag(hull, "hull")
    with np.errstate(all="ignore"):  # a mesh may hold anything
        body = volume_of(hull_of(triangles) if hull else triangles)
    if body is None:
        raise FileError(
            f"{file}: its surface is open, or has no volume",
            "close it, or take its convex hull with hull=True",
        )
    size = float(np.ptp(triangles.reshape(-1, 3), axis=0).max())
    if size > LARGE:
        raise FileError(
            f"{file}: it is {size:.3g} m long, expected at most {LARGE:g} m",
            "of a mesh in millimetres: scale=0.001",
        )
    factor = per_volume if whole is None else whole / body.m
    assert factor is not None
    _, com, I = to_com(body)
    inertia = tuple(float(factor * x) for x in entries(I))
    centre: Any = tuple(map(float, com))
    return MeshInertia(float(factor * body.m), centre, inertia, float(body.m))


def volume_of(triangles: np.ndarray) -> Inertia | None:
    """A body of 1 kg/m^3 within a closed surface (k, 3, 3), about the origin; None if it is open.

    Triangles may all be turned inside out.
    """
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    areas = np.cross(b - a, c - a)
    if not np.linalg.norm(areas.sum(axis=0)) <= HOLES * np.linalg.norm(areas, axis=1).sum():
        return None
    middle = triangles.reshape(-1, 3).mean(axis=0)
    seen = triangles - middle
    D = np.einsum("ij,ij->i", seen[:, 0], np.cross(seen[:, 1], seen[:, 2]))
    s = seen.sum(axis=1)
    volume, first = D.sum() / 6.0, (D @ s) / 24.0
    second = np.einsum("k,kai,kaj->ij", D, seen, seen) + np.einsum("k,ki,kj->ij", D, s, s)
    second /= 120.0
    if volume < 0.0:
        volume, first, second = -volume, -first, -second
    if not volume > 0.0 or not np.isfinite(second).all():
        return None
    second = second + np.outer(middle, first) + np.outer(first, middle)
    second = second + volume * np.outer(middle, middle)
    first = first + volume * middle
    I = np.trace(second) * np.eye(3) - second
    return Inertia(float(volume), tuple(first.tolist()), symmetric_of(I.tolist()))


def hull_of(triangles: np.ndarray) -> np.ndarray:
    """Triangles of the convex hull, outward, (k, 3, 3)."""
    from scipy.spatial import ConvexHull, QhullError

    points = np.unique(triangles.reshape(-1, 3), axis=0)
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        raise FileError("its points have no hull with a volume") from None
    corners = points[hull.simplices]
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    return np.where(inward[:, None, None], corners[:, ::-1], corners)


def _scale(scale: Any) -> np.ndarray:
    if not hasattr(scale, "__len__") or isinstance(scale, str):
        return np.full(3, number(scale, "scale"))
    found = numbers(scale, "scale", "expected a number, or three")
    if found.shape != (3,) or not np.isfinite(found).all():
        raise OptionError(f"scale is {shown(scale)}, expected a number, or three")
    return found
