"""Distances of solids: next to another engine, by their laws, over every scalar."""

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from dynamis.compile.arrays import NUMPY
from dynamis.spatial.frames import Frame
from dynamis.spatial.functions import MATH
from dynamis.spatial.geometry import Plane, box, capsule, nearest, sphere
from tests.thorough import thorough_but

EXACT = 1e-12  # m, of bodies within a metre
OTHER = 1e-9  # m, of an engine that searches
KINDS = ("sphere", "capsule", "box")
coal = pytest.importorskip("coal", reason="needs coal, which comes with pin")


def turns(rng, count):
    """Random rotations (count, 3, 3)."""
    q, r = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    q *= np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]
    return q * np.sign(np.linalg.det(q))[:, None, None]


def columns(x):
    return tuple(x[..., k] for k in range(3))


def frame(R, p):
    rows: Any = tuple(tuple(R[:, i, j] for j in range(3)) for i in range(3))
    return Frame(rows, columns(p))


def bodies(kind, count, rng):
    """Random bodies over arrays, and the same ones of coal with their places."""
    R, p = turns(rng, count), rng.uniform(-0.8, 0.8, (count, 3))
    radius, length = rng.uniform(0.05, 0.4, count), rng.uniform(0.0, 1.2, count)
    size = rng.uniform(0.05, 1.2, (count, 3))
    if kind == "sphere":
        return sphere(columns(p), radius), [coal.Sphere(r) for r in radius], (R, p)
    if kind == "capsule":
        half = R[:, :, 2] * length[:, None] / 2.0
        solid = capsule(columns(p - half), columns(p + half), radius)
        return solid, [coal.Capsule(*x) for x in zip(radius, length, strict=True)], (R, p)
    return box(frame(R, p), columns(size)), [coal.Box(*x) for x in size], (R, p)


def by_coal(one, other):
    """Distances of pairs of bodies, the tolerance of the other engine tightened."""
    request = coal.DistanceRequest()
    request.gjk_tolerance, request.epa_tolerance = 1e-12, 1e-10
    request.gjk_max_iterations = request.epa_max_iterations = 1000
    found = []
    (shapes, (R, p)), (others, (S, s)) = one, other
    for k, (a, b) in enumerate(zip(shapes, others, strict=True)):
        A, B = coal.Transform3s(R[k], p[k]), coal.Transform3s(S[k], s[k])
        found.append(coal.distance(a, A, b, B, request, coal.DistanceResult()))
    return np.array(found)


@pytest.mark.parametrize("count", thorough_but([500], [500, 20_000]))
@pytest.mark.parametrize(("first", "second"), [*combinations_with_replacement(KINDS, 2)])
def test_distances_are_those_of_another_engine(first, second, count):
    rng = np.random.default_rng(count)
    (a, *one), (b, *other) = bodies(first, count, rng), bodies(second, count, rng)
    found = nearest(a, b, NUMPY)
    expected = by_coal(one, other)
    assert (expected > 0.0).any() and (expected < 0.0).any()
    assert np.abs(found.distance - expected).max() < OTHER
    across = np.stack(found.b, axis=-1) - np.stack(found.a, axis=-1)
    assert np.abs(np.linalg.norm(across, axis=1) - np.abs(found.distance)).max() < 1e-9
    swapped = nearest(b, a, NUMPY)
    assert np.abs(swapped.distance - found.distance).max() < EXACT


@pytest.mark.parametrize("kind", KINDS)
def test_height_above_a_plane(kind):
    """The lowest of many points of a body."""
    rng = np.random.default_rng(1)
    body, _, _ = bodies(kind, 300, rng)
    normal = np.array([0.36, -0.48, 0.8])
    plane = Plane((0.1, 0.2, -0.3), tuple(normal))
    found = nearest(body, plane, NUMPY)
    if body.half is None:
        core = np.stack([np.stack(body.a, axis=-1), np.stack(body.b, axis=-1)])
    else:
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        R = np.array(body.frame.R).transpose(2, 0, 1)
        offsets = np.einsum("kij,ckj->cki", R, signs[:, None] * np.stack(body.half, axis=-1))
        core = offsets + np.stack(body.frame.p, axis=-1)
    heights = (core - plane.point) @ normal
    assert np.abs(found.distance - (heights.min(axis=0) - body.radius)).max() < EXACT
    below = nearest(plane, body, NUMPY)
    assert np.abs(np.stack(below.b) - np.stack(found.a)).max() < EXACT
    assert np.abs((np.stack(found.b, axis=-1) - plane.point) @ normal).max() < EXACT


def test_special_places():
    """Parallel and crossing segments, points that are segments, corners on faces."""
    still = Frame()
    cube = box(still, (2.0, 2.0, 2.0))

    def apart(a, b):
        return nearest(a, b, MATH).distance

    line = capsule((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 0.1)
    assert apart(line, capsule((0.0, 1.0, 0.0), (1.0, 1.0, 0.0), 0.2)) == pytest.approx(0.7)
    assert apart(line, capsule((2.0, 0.0, 0.0), (3.0, 0.0, 0.0), 0.2)) == pytest.approx(0.7)
    assert apart(line, capsule((0.5, -1.0, 0.0), (0.5, 1.0, 0.0), 0.2)) == pytest.approx(-0.3)
    assert apart(line, capsule((0.0, 1.0, 0.0), (0.0, 1.0, 0.0), 0.2)) == pytest.approx(0.7)
    assert apart(sphere((0.0, 0.0, 0.0), 0.1), cube) == pytest.approx(-1.1)
    assert apart(sphere((0.0, 0.0, 3.0), 0.5), cube) == pytest.approx(1.5)
    assert apart(sphere((2.0, 2.0, 2.0), 0.5), cube) == pytest.approx(math.sqrt(3) - 0.5)
    through = capsule((-3.0, 0.2, 0.0), (3.0, 0.2, 0.0), 0.1)
    assert apart(through, cube) == pytest.approx(-0.9)
    assert apart(capsule((-3.0, 1.5, 0.0), (3.0, 1.5, 0.0), 0.1), cube) == pytest.approx(0.4)
    assert apart(capsule((1.0, 1.0, 3.0), (1.0, 1.0, 2.0), 0.1), cube) == pytest.approx(0.9)
    beside = box(Frame(p=(3.0, 0.0, 0.0)), (2.0, 2.0, 2.0))
    assert apart(beside, cube) == pytest.approx(1.0)
    rod = box(still, (0.1, 0.1, 5.0))  # through both faces, no corner of either inside
    assert apart(rod, cube) == pytest.approx(-1.05)
    assert apart(cube, cube) == pytest.approx(-2.0)


def test_a_number_that_is_none_gives_none():
    for other in (sphere((0.0, 0.0, 0.0), 0.1), box(Frame(), (1.0, 1.0, 1.0))):
        found = nearest(sphere((math.nan, 0.0, 0.0), 0.1), other, MATH)
        assert math.isnan(found.distance)
    corner = box(Frame(p=(0.0, math.nan, 0.0)), (1.0, 1.0, 1.0))
    assert math.isnan(nearest(corner, box(Frame(), (1.0, 1.0, 1.0)), MATH).distance)
    arrays = nearest(sphere((np.array([0.0, np.nan]), 0.0, 3.0), 0.1), corner, NUMPY)
    assert np.isnan(arrays.distance).all()


def test_two_planes_are_refused():
    with pytest.raises(ValueError, match="two planes"):
        nearest(Plane((0, 0, 0), (0, 0, 1)), Plane((0, 0, 1), (0, 0, 1)), MATH)
