"""3-vectors as tuples of three scalars; vectors and matrices of any size as lists of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Scalars = Sequence[Any]  # one entry per joint
Vector = tuple[Any, Any, Any]

ZERO: Vector = (0.0, 0.0, 0.0)
X: Vector = (1.0, 0.0, 0.0)
Y: Vector = (0.0, 1.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)


def add(*vectors: Vector) -> Vector:
    """a + b + ..."""
    x, y, z = vectors[0]
    for v in vectors[1:]:
        x, y, z = x + v[0], y + v[1], z + v[2]
    return x, y, z


def subtract(a: Vector, b: Vector) -> Vector:
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def negate(a: Vector) -> Vector:
    """-a"""
    return -a[0], -a[1], -a[2]


def scale(s: Any, a: Vector) -> Vector:
    """s a"""
    return s * a[0], s * a[1], s * a[2]


def dot(a: Vector, b: Vector) -> Any:
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """a x b"""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def unit(j: int, size: int) -> list[float]:
    """e_j"""
    return [float(i == j) for i in range(size)]


def plus(a: Scalars, b: Scalars) -> list[Any]:
    """a + b, of any length."""
    return [x + y for x, y in zip(a, b, strict=True)]


def less(a: Scalars, b: Scalars) -> list[Any]:
    """a - b, of any length."""
    return [x - y for x, y in zip(a, b, strict=True)]


def inner(a: Scalars, b: Scalars) -> Any:
    """a . b, of any length."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def matrix_times(A: Sequence[Scalars], x: Scalars) -> list[Any]:
    """A x"""
    return [inner(row, x) for row in A]


def transposed(A: Iterable[Scalars]) -> list[list[Any]]:
    """A^T"""
    return [list(column) for column in zip(*A, strict=True)]


def slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Where parts of these sizes lie in one vector, one after the other."""
    found, start = {}, 0
    for name, size in sizes.items():
        found[name] = slice(start, start + size)
        start += size
    return found
