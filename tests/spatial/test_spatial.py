"""Axioms of vectors, rotations, frames and inertias."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamis.spatial import frames, inertia, rotations, vectors
from dynamis.spatial.functions import MATH, cos_sin

EXACT = 1e-12
number = st.floats(-3, 3, allow_nan=False)
vector = st.tuples(number, number, number)
SEQUENCES = [a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if a != b and b != c]


def close(a, b, tolerance=EXACT):
    assert np.allclose(np.array(a, float), np.array(b, float), rtol=0, atol=tolerance), (a, b)


@given(vector, vector, vector)
def test_vector_identities(a, b, c):
    close(vectors.cross(a, b), np.cross(a, b))
    close(vectors.dot(a, vectors.cross(a, b)), 0.0)
    close(vectors.add(a, b, c), np.array(a) + b + c)
    jacobi = vectors.add(
        vectors.cross(a, vectors.cross(b, c)),
        vectors.cross(b, vectors.cross(c, a)),
        vectors.cross(c, vectors.cross(a, b)),
    )
    close(jacobi, (0, 0, 0), 1e-11)


@given(vector)
def test_rotations_are_rotations(angles):
    for R in (
        rotations.rotation_from_rpy(angles),
        rotations.rotation_from_euler(angles, "zyz"),
        rotations.rotation_x(angles[0]),
        rotations.rotation_y(angles[1]),
        rotations.rotation_z(angles[2]),
    ):
        close(np.array(R) @ np.array(R).T, np.eye(3))
        close(np.linalg.det(R), 1.0)
        close(rotations.rotate_back(R, rotations.rotate(R, angles)), angles)


@given(vector)
def test_rpy_round_trip(angles):
    R = rotations.rotation_from_rpy(angles)
    close(rotations.rotation_from_rpy(rotations.rpy_from_rotation(R)), R, 1e-8)


@pytest.mark.parametrize("sequence", SEQUENCES)
@given(angles=vector)
def test_euler_round_trip(sequence, angles):
    R = rotations.rotation_from_euler(angles, sequence)
    again = rotations.rotation_from_euler(rotations.euler_from_rotation(R, sequence), sequence)
    close(again, R, 1e-8)


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize(
    "second", [0.0, math.pi, math.pi / 2, -math.pi / 2, 3e-9, math.pi / 2 + 3e-9]
)
def test_euler_at_the_singular_points(sequence, second):
    R = rotations.rotation_from_euler((0.3, second, -0.7), sequence)
    again = rotations.rotation_from_euler(rotations.euler_from_rotation(R, sequence), sequence)
    close(again, R, 1e-11)


def test_euler_zyz_is_the_product_about_moving_axes():
    a, b, c = 0.3, -0.4, 0.9
    product = (
        np.array(rotations.rotation_z(a))
        @ np.array(rotations.rotation_y(b))
        @ np.array(rotations.rotation_z(c))
    )
    close(rotations.rotation_from_euler((a, b, c), "zyz"), product)


@given(vector, number)
def test_quaternions_and_axis_angle(axis, angle):
    if np.linalg.norm(axis) < 1e-3:
        return
    R = rotations.rotation_from_axis_angle(rotations.normalised(axis), angle)
    x, y, z, w = rotations.quaternion_from_rotation(R)
    assert w >= 0
    close(x * x + y * y + z * z + w * w, 1.0)
    close(rotations.rotation_from_quaternion((x, y, z, w)), R)
    close(rotations.rotate(R, axis), axis, 1e-11)


@given(vector)
def test_rotation_z_to(axis):
    if np.linalg.norm(axis) < 1e-3:
        return
    u = rotations.normalised(axis)
    R = rotations.rotation_z_to(u)
    close(rotations.rotate(R, (0, 0, 1)), u, 1e-10)
    close(np.array(R) @ np.array(R).T, np.eye(3), 1e-7)


@pytest.mark.parametrize("axis", [(0, 0, 1), (0, 0, -1), (1, 0, 0), (0, -1, 0)])
def test_rotation_z_to_coordinate_axes_is_exact(axis):
    entries = {abs(x) for row in rotations.rotation_z_to(axis) for x in row}
    assert entries <= {0.0, 1.0}


@given(vector, vector, vector)
def test_frames(xyz, rpy, v):
    A = frames.from_xyz_rpy(xyz, rpy)
    close(frames.matrix(frames.compose(A, frames.inverse(A))), np.eye(4))
    close(frames.point(A, v), (np.array(frames.matrix(A)) @ [*v, 1])[:3])
    close(frames.matrix(frames.from_matrix(frames.matrix(A))), frames.matrix(A))


def test_right_angles_are_exact():
    for k in range(-8, 9):
        c, s = cos_sin(k * math.pi / 2)
        assert {abs(c), abs(s)} == {0.0, 1.0}
    assert cos_sin(1.5708)[0] != 0.0  # four digits are not a right angle
    assert cos_sin(1.57079632679)[0] == 0.0  # eleven are


@given(vector, vector, vector, st.floats(0.1, 3))
def test_inertia_moves_like_a_cloud_of_points(c, xyz, rpy, m):
    """Transforming the ten parameters equals transforming the points they sum over."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 3)) * 0.3 + c
    T = frames.from_xyz_rpy(xyz, rpy)
    moved = points @ np.array(T.R).T + xyz
    expected = cloud(moved, m)
    got = inertia.transformed(T, inertia.from_linear(cloud(points, m)))
    close(inertia.linear(got), expected, 1e-9)
    back = inertia.transformed_back(T, got)
    close(inertia.linear(back), cloud(points, m), 1e-9)


def cloud(points, m):
    """Ten parameters of equal masses at points."""
    S = m * points.T @ points
    I = np.trace(S) * np.eye(3) - S
    h = m * points.sum(0)
    return (m * len(points), *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2])


def test_com_form_round_trip_and_pseudo_inertia():
    a = inertia.from_com(2.0, (0.1, 0.2, 0.3), (0.4, 0.01, 0.5, 0.02, 0.03, 0.6))
    m, c, Ic = inertia.to_com(a)
    close((m, *c, *Ic), (2.0, 0.1, 0.2, 0.3, 0.4, 0.01, 0.5, 0.02, 0.03, 0.6))
    J = np.array(inertia.pseudo_inertia(a))
    S = J[:3, :3]
    close(np.trace(S) * np.eye(3) - S, inertia.symmetric_matrix(a.I))
    close(J[3], (*a.h, a.m))


def test_functions_on_floats_never_raise():
    assert math.isnan(MATH.sin(math.inf))
    assert math.isnan(MATH.sqrt(-1.0))
    assert MATH.exp(1e4) == math.inf
    assert math.isnan(MATH.sign(math.nan))
    assert math.isnan(MATH.min(1.0, math.nan))
    assert math.isnan(MATH.max(math.nan, 1.0))


@given(st.floats(-300.0, 300.0), st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
def test_a_direction_has_no_length(exponent, v):
    """normalised(s v) = normalised(v) for every s that leaves numbers."""
    if max(map(abs, v)) < 1e-3:
        return
    u = rotations.normalised(tuple(x * 10.0**exponent for x in v))
    assert math.hypot(*u) == pytest.approx(1.0, abs=1e-12)
    assert u == pytest.approx(rotations.normalised(tuple(v)), abs=2e-12)
