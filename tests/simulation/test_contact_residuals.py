"""Residuals of contacts along motions of an arm of six joints with friction: press, slide, peg,
tool face. The bound is that of the solver, 1e-8 m/s, in 99 of 100 steps that touch."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy

pytestmark = [pytest.mark.usefixtures("compiled"), pytest.mark.thorough]
DOWN = np.diag([1.0, -1.0, -1.0])  # the tool looks down
HOME = np.array([0.0, -1.22, 0.49, 0.0, -2.4, -3.14])
PLACE = np.array([0.45, -0.15, -0.1])


def arm(**shape):
    model = dy.load("puma560").model
    return dy.Robot(replace(model, geometry=(dy.Geometry(link="link6", **shape),)))


def joints(x, y, z, tilt=0.0):
    """The solution of inverse kinematics that is nearest to the elbow of the motions."""
    T = np.eye(4)
    c, s = np.cos(tilt), np.sin(tilt)
    T[:3, :3] = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ DOWN
    T[:3, 3] = x, y, z
    found = np.array([np.asarray(q) for q in dy.load("puma560").ik(T)])
    return found[np.argmin(np.abs(found - HOME).sum(axis=1))]


def moved(robot, world, reference, duration):
    law = dy.control.ComputedTorque(kp=400.0, kd=40.0)
    run = dy.simulate(
        robot, duration, q0=joints(*PLACE), controller=law, reference=reference, world=world,
        check_step=False,
    )  # fmt: skip
    return run.contacts


def press():
    x, y, z = PLACE
    table = dy.Plane(offset=z - 0.03, friction=0.4)
    return arm(kind="sphere", radius=0.03), [table], joints(x, y, z - 0.01), 2.0


def slide():
    x, y, z = PLACE
    table = dy.Plane(offset=z - 0.03, friction=0.4)
    ways = joints(x, y, z - 0.01), joints(x, y + 0.25, z - 0.01)
    return arm(kind="sphere", radius=0.03), [table], dy.trajectory.quintic(*ways, 1.0), 1.5


def peg():
    x, y, z = PLACE
    walls = [dy.Plane(normal=(s, 0, 0), offset=s * x - 0.0202, friction=0.3) for s in (1.0, -1.0)]
    ways = joints(*PLACE), joints(x + 0.002, y, z - 0.1, 0.02)
    shape = {"kind": "capsule", "from_": (0, 0, 0), "to": (0, 0, 0.08), "radius": 0.02}
    return arm(**shape), walls, dy.trajectory.quintic(*ways, 1.0), 1.5


def face():
    x, y, z = PLACE
    table = dy.Plane(offset=z - 0.02, friction=0.4)
    ways = joints(x, y, z - 0.01), joints(x + 0.05, y + 0.15, z - 0.01)
    shape = {"kind": "box", "size": (0.08, 0.08, 0.04)}
    return arm(**shape), [table], dy.trajectory.quintic(*ways, 1.0), 1.5


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
@pytest.mark.parametrize("scene", [press, slide, peg, face])
def test_residuals_along_a_motion(scene):
    found = moved(*scene())
    touching = np.flatnonzero(found.touching.any(axis=-1))
    residuals = found.residual[touching[touching > 0]]  # the first has nothing to start from
    assert len(residuals) > 1000
    assert (residuals < 1e-8).mean() >= 0.99
    assert found.unsolved == int((found.residual > 1e-8).sum())
    assert found.distance.min() > -1e-5
