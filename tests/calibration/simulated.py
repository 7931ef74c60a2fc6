"""Arms built with known errors, and what would be measured at their tools."""

from typing import NamedTuple

import numpy as np

import dynamis as dy
from dynamis.calibration.error_model import ErrorModel, Postures
from dynamis.calibration.fit import start
from dynamis.calibration.identifiable import independent
from dynamis.calibration.residuals import blocks_of, rotation_of

K = dy.calibration
FRAME = np.eye(4)
FRAME[:3, :3], FRAME[:3, 3] = rotation_of(np.array([0.4, -1.1, 2.0])), (1.2, -3.0, 0.4)
TARGET = np.array([0.04, -0.03, 0.12])
HOLDER = np.eye(4)  # pose of a target
HOLDER[:3, :3], HOLDER[:3, 3] = rotation_of(np.array([0.3, 0.2, -0.5])), TARGET


class Built(NamedTuple):
    """An arm as described, its error model, and the errors it has."""

    robot: dy.Robot
    model: ErrorModel
    values: np.ndarray


def postures(robot, count, seed=0):
    """Joint positions over most of the joints' ranges."""
    low, high = robot.limits.T
    slides = np.array(robot.joint_kinds) == "prismatic"
    reach = np.where(slides, 0.4, 2.5)
    low, high = np.maximum(low, -reach), np.minimum(high, reach)
    return np.random.default_rng(seed).uniform(low, high, (count, robot.n))


def built(robot, seed=0, size=0.3, only=None, **more):
    """An arm with errors of `size` tolerances; `only` says which parameters have one."""
    largest = np.abs(robot.gravity_torque(postures(robot, 50, 7))).max(axis=0)
    model = ErrorModel(robot, largest=largest, **more)
    values = size * model.priors * np.random.default_rng(seed).normal(size=len(model.parameters))
    return Built(robot, model, values if only is None else np.where(only, values, 0.0))


def identifiable(robot, sets, **more):
    """Parameters that sets of observations tell apart."""
    model = built(robot, **more).model
    return independent(start(model, blocks_of(robot, sets, None)))


def motion(arm, q, **more):
    """Where the tool of the arm as built is."""
    at = Postures(q, arm.robot.gravity_torque(q), **more)
    return arm.model.motion(arm.values, at, columns=False)


def points(arm, q, noise=0.0, seed=1, **more):
    """Positions of a target in an instrument's frame."""
    p = motion(arm, q).point(TARGET) @ FRAME[:3, :3].T + FRAME[:3, 3]
    p = p + noise * np.random.default_rng(seed).normal(size=p.shape)
    return K.Points(q, p, **more)


def poses(arm, q, noise=0.0, seed=1, **more):
    """Poses of a target in an instrument's frame; angles with noise of 1 mrad per mm."""
    found, rng = motion(arm, q), np.random.default_rng(seed)
    T = np.tile(np.eye(4), (len(q), 1, 1))
    T[:, :3, :3], T[:, :3, 3] = found.R, found.p
    T = FRAME @ T @ HOLDER
    for one in T:
        one[:3, :3] = rotation_of(noise * rng.normal(size=3)) @ one[:3, :3]
        one[:3, 3] += noise * rng.normal(size=3)
    return K.Poses(q, T, **more)


def held_at(arm, where, q, steps=25):
    """Joint positions near q whose target is at a point: each by Newton's method."""
    found = q.copy()
    for _ in range(steps):
        now = motion(arm, found)
        left = where - now.point(TARGET)
        J = arm.robot.jacobian(found)
        J = J[:, :3] + np.cross(J[:, 3:], (now.R @ TARGET)[:, :, None], axis=1)
        step = np.linalg.pinv(J) @ left[:, :, None]
        found = found + np.clip(step[:, :, 0], -0.3, 0.3)
    left = np.linalg.norm(where - motion(arm, found).point(TARGET), axis=1)
    return found[left < 1e-12]


def sockets(arm, places=6, count=25, noise=0.0, distance=0.05, seed=1, **more):
    """Places with two sockets, each reached from many postures; noise is on joint positions."""
    rng = np.random.default_rng(seed)
    found = {}
    for k in range(places):
        centre = motion(arm, postures(arm.robot, 1, seed + k)).point(TARGET)[0] * 0.8
        both = []
        for side in (0.0, distance):
            where, near = centre + np.array([side, 0, 0]), postures(arm.robot, 3 * count, k + 50)
            q = held_at(arm, where, near)
            both.append(q[:count] + noise * rng.normal(size=q[:count].shape))
        found[f"place {k}"] = both
    return K.Sockets(found, distance=distance, **more)
