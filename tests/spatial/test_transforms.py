"""The desk's helpers: rotations, Euler angles, homogeneous and DH matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamis as dy
from dynamis import transforms as tr

number = st.floats(-3, 3, allow_nan=False)


@given(number, number, number, number, st.sampled_from(["standard", "modified"]))
def test_dh_matrix_is_the_product_of_its_four_motions(theta, d, a, alpha, convention):
    z = tr.pose(tr.rotz(theta), (0, 0, d))
    x = tr.pose(tr.rotx(alpha), (a, 0, 0))
    A = tr.dh(theta, d, a, alpha, convention)
    assert np.allclose(A, z @ x if convention == "standard" else x @ z, atol=1e-12)
    assert np.allclose(A @ tr.dh_inverse(theta, d, a, alpha, convention), np.eye(4), atol=1e-12)
    assert np.allclose(tr.inverse(A), tr.dh_inverse(theta, d, a, alpha, convention), atol=1e-12)


@given(number, number, number, number, st.sampled_from(["standard", "modified"]))
def test_frames_of_a_robot_are_products_of_its_dh_matrices(q1, q2, a, alpha, convention):
    links = [
        dy.Link(a=a, alpha=alpha, d=0.3, offset=0.2),
        dy.Link(joint="prismatic", a=-0.4, alpha=0.7, theta=0.5, offset=0.1),
    ]
    robot = dy.Robot.from_dh("two", convention=convention, links=links)
    A1 = tr.dh(q1 + 0.2, 0.3, a, alpha, convention)
    A2 = tr.dh(0.5, q2 + 0.1, -0.4, 0.7, convention)
    frames = robot.frames([q1, q2])  # of right angles up to 1e-11 `tr.dh` takes exact ones
    assert np.allclose(frames[1], A1, atol=2e-11)
    assert np.allclose(frames[2], A1 @ A2, atol=2e-11)
    assert np.allclose(robot.fk([q1, q2]), A1 @ A2, atol=2e-11)


def test_composed_rotation_of_document_002():
    """Rx(alpha) Ry(phi) Rz(theta), entry by entry: the printed product has slips."""
    a, p, t = 0.3, 0.5, 0.7
    R = tr.rotx(a) @ tr.roty(p) @ tr.rotz(t)
    ca, sa, cp, sp, ct, st_ = *_cs(a), *_cs(p), *_cs(t)
    expected = [
        [cp * ct, -cp * st_, sp],
        [sa * sp * ct + ca * st_, -sa * sp * st_ + ca * ct, -sa * cp],
        [-ca * sp * ct + sa * st_, ca * sp * st_ + sa * ct, ca * cp],
    ]
    assert np.allclose(R, expected, atol=1e-12)
    assert np.allclose(tr.from_euler((a, p, t), "xyz"), R, atol=1e-12)


def _cs(angle):
    return np.cos(angle), np.sin(angle)


def test_round_trips():
    R = tr.from_rpy(0.1, -0.2, 0.3)
    assert np.allclose(tr.to_rpy(R), (0.1, -0.2, 0.3))
    assert np.allclose(tr.from_quaternion(tr.to_quaternion(R)), R)
    assert np.allclose(tr.to_euler(tr.pose(tr.from_euler((0.1, 0.2, 0.3)))), (0.1, 0.2, 0.3))
    assert np.allclose(tr.translation(1, 2, 3) @ [0, 0, 0, 1], [1, 2, 3, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tr.dh(0, 0, 0, 0, "modifed"), "did you mean 'modified'"),
        (lambda: tr.from_euler((1, 2, 3), "xxz"), "Euler sequence is 'xxz'"),
        (lambda: tr.to_rpy(np.eye(2)), r"shape \(2, 2\), expected \(3, 3\)"),
        (lambda: tr.inverse(np.diag([2, 1, 1, 1])), "not a rigid motion"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(dy.errors.DynamisError, match=message):
        call()


length, turn = st.floats(0.01, 5.0), st.floats(-3.1, 3.1)


@given(length, turn, number, st.floats(0.01, 3.1))
def test_polar_cylindrical_and_spherical_coordinates(r, theta, z, phi):
    """By rotations: what turns about z by theta, and leans from z by phi."""
    flat = tr.rotz(theta) @ (r, 0, 0)
    assert np.allclose(tr.from_polar(r, theta), flat[:2], atol=1e-12)
    assert np.allclose(tr.to_polar(flat[:2]), (r, theta), atol=1e-12)
    high = flat + np.array([0, 0, z])
    assert np.allclose(tr.from_cylindrical(r, theta, z), high, atol=1e-12)
    assert np.allclose(tr.to_cylindrical(high), (r, theta, z), atol=1e-12)
    leaning = tr.rotz(theta) @ tr.roty(phi) @ (0, 0, r)
    assert np.allclose(tr.from_spherical(r, theta, phi), leaning, atol=1e-12)
    assert np.allclose(tr.to_spherical(leaning), (r, theta, phi), atol=1e-12)
    assert np.allclose(tr.from_spherical(r, theta, -phi), tr.rotz(np.pi) @ leaning, atol=1e-12)


def test_angles_on_axes_and_at_the_origin():
    assert tr.to_polar((0, 0)).tolist() == [0, 0] and tr.to_spherical((0, 0, 0)).tolist() == [0] * 3
    assert tr.to_cylindrical((0, 0, -2)).tolist() == [0, 0, -2]
    assert np.allclose(tr.to_spherical((0, 0, -2)), (2, 0, np.pi))
    for call in (tr.from_polar, tr.from_cylindrical, tr.from_spherical):
        rest = (0.1,) * (1 if call is tr.from_polar else 2)
        for bad in (-1.0, np.nan, np.inf):
            with pytest.raises(dy.errors.OptionError, match="r is"):
                call(bad, *rest)


@given(st.tuples(number, number, number), st.floats(0.1, 10.0), st.sampled_from([1.0, -1.0]))
def test_homogeneous_coordinates(p, w, sign):
    """A factor w changes nothing; a pose moves points, and turns directions, which have w = 0."""
    h, T = tr.to_homogeneous(p, sign * w), tr.pose(tr.from_rpy(0.1, 0.2, 0.3), (1, 2, 3))
    assert h[3] == sign * w and np.allclose(h[:3], sign * w * np.array(p), atol=1e-12)
    assert np.allclose(tr.from_homogeneous(h), p, atol=1e-12)
    assert np.allclose(tr.from_homogeneous(T @ h), T[:3, :3] @ p + T[:3, 3], atol=1e-12)
    direction = tr.to_homogeneous(p, 0.0)
    assert direction.tolist() == [*p, 0] and np.allclose((T @ direction)[:3], T[:3, :3] @ p)


def test_a_direction_is_no_point():
    with pytest.raises(dy.errors.OptionError, match="w = 0 is a direction"):
        tr.from_homogeneous((1, 2, 3, 0))
    with pytest.raises(dy.errors.OptionError, match="above 1e308"):
        tr.from_homogeneous((1e200, 0, 0, 1e-200))
    with pytest.raises(dy.errors.OptionError, match="above 1e308"):
        tr.to_homogeneous((1e200, 0, 0), 1e200)
