"""Residuals of every kind of observation: exact at the truth, columns are derivatives."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.calibration.residuals import block, registration, rotation_of

from .simulated import (
    FRAME,
    TARGET,
    K,
    built,
    held_at,
    motion,
    points,
    poses,
    postures,
    sockets,
)  # fmt: skip

ROBOT = dy.load("puma560")
ARM = built(ROBOT)
Q = postures(ROBOT, 30)


def plane(arm, **more):
    """The target on a plane, x + 2 z = 0.3 (in direction)."""
    normal = np.array([1.0, 0.0, 2.0]) / np.sqrt(5.0)
    q = postures(arm.robot, 60)
    p = motion(arm, q).point(TARGET)
    on = p - np.outer(p @ normal - 0.3, normal)
    return K.Plane(held_at(arm, on, q), **more)


def touch(arm, **more):
    """The target on a point of the second link."""
    at, q = np.array([0.4, 0.1, 0.05]), postures(arm.robot, 40)
    for _ in range(60):
        there = arm.model.motion(arm.values, block_of(arm, q).at, 1, False).point(at)
        now = motion(arm, q)
        J = arm.robot.jacobian(q)
        J = J[:, :3] + np.cross(J[:, 3:], (now.R @ TARGET)[:, :, None], axis=1)
        J[:, :, :2] = 0.0  # joints before the link move both
        left = (there - now.point(TARGET))[:, :, None]
        q = q + np.clip((np.linalg.pinv(J, rcond=1e-3) @ left)[:, :, 0], -0.3, 0.3)
    good = np.linalg.norm(left[:, :, 0], axis=1) < 1e-12
    return K.Touch(q[good], link="link2", **more)


def block_of(arm, q):
    return block(arm.robot, K.Points(q, np.zeros((len(q), 3))), None)


def two_arms(arm, **more):
    """The targets of two arms at the same points, the other's base 1.5 m away."""
    other = dy.load("panda")
    q_other = postures(other, 60, 3)
    base = np.linalg.inv(FRAME)
    base[:3, 3] = (0.1, 0.2, -0.1)
    p = other.fk(q_other)[:, :3, 3]
    where = p @ base[:3, :3].T + base[:3, 3]
    q, rows = postures(arm.robot, 60, 4), []
    for k in range(60):
        one = held_at(arm, where[k], q[k : k + 1])
        rows.append(one[0] if len(one) else None)
    kept = [k for k, x in enumerate(rows) if x is not None]
    return K.Touch(
        np.array([rows[k] for k in kept]), other=other, q_other=q_other[kept],
        at=np.zeros(3), **more,
    )  # fmt: skip


SETS = {
    "points": lambda: points(ARM, Q),
    "points, target given": lambda: points(ARM, Q, target=TARGET),
    "points, frame given": lambda: points(ARM, Q, frame=FRAME),
    "poses": lambda: poses(ARM, Q),
    "sockets": lambda: sockets(ARM, places=3, count=6),
    "one socket": lambda: K.Sockets({"a": sockets(ARM, places=1, count=9).places["place 0"][0]}),
    "plane": lambda: plane(ARM),
    "plane, given": lambda: plane(ARM, normal=(1.0, 0.0, 2.0), offset=0.3),
    "touch": lambda: touch(ARM),
    "two arms": lambda: two_arms(ARM),
}


@pytest.mark.parametrize("kind", [x for x in SETS if not x.startswith(("plane", "two"))])
def test_places_are_found_exactly(kind):
    """Without noise, for the arm as it is, linear least squares find instrument and target."""
    one = block(ROBOT, SETS[kind](), None)
    state = one.start(ARM.model, ARM.values)
    parts = one.parts(ARM.model, ARM.values, state)
    assert max(np.abs(part.r).max() for part in parts) < 1e-9
    target = state["target"]
    np.testing.assert_allclose(target[:3, 3] if target.ndim == 2 else target, TARGET, atol=1e-8)


@pytest.mark.parametrize("kind", SETS)
def test_columns_of_residuals_are_derivatives(kind):
    one = block(ROBOT, SETS[kind](), None)
    state = one.start(ARM.model, ARM.values)
    parts = one.parts(ARM.model, ARM.values, state)
    step = 1e-6

    def residuals(values, places):
        return [part.r for part in one.parts(ARM.model, values, places)]

    def check(columns, ends, what):
        for column, a, b in zip(columns, *ends, strict=True):
            np.testing.assert_allclose(column, (a - b) / (2 * step), atol=2e-3, err_msg=what)

    for k in range(len(ARM.values)):
        move = step * (np.arange(len(ARM.values)) == k)
        ends = [residuals(ARM.values + s * move, state) for s in (1, -1)]
        check([part.J[k] for part in parts], ends, ARM.model.parameters[k].name)
    size = one.size(state)
    assert all(len(part.Jn) == size for part in parts)
    for k in range(size):
        move = step * (np.arange(size) == k)
        ends = [residuals(ARM.values, one.moved(state, s * move)) for s in (1, -1)]
        check([part.Jn[k] for part in parts], ends, f"place {k}")


def test_registration_names_unit_and_hand():
    arm = motion(ARM, Q)
    m = points(ARM, Q).position
    for factor, mirror in ((1.0, 1.0), (1000.0, 1.0), (1.0, -1.0)):
        found = registration(arm, factor * m * (1.0, 1.0, mirror), None)
        assert found.scale == pytest.approx(1.0 / factor, rel=1e-9)
        assert found.mirrored == (mirror < 0)
        np.testing.assert_allclose(found.target, TARGET, atol=1e-9)


def test_a_rotation_vector_turns_about_itself():
    w = np.array([0.3, -0.4, 1.2])
    R = rotation_of(w)
    np.testing.assert_allclose(R @ w, w, atol=1e-15)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert np.trace(R) == pytest.approx(1.0 + 2.0 * np.cos(np.linalg.norm(w)))
    np.testing.assert_allclose(rotation_of(1e-9 * w), np.eye(3), atol=2e-9)
