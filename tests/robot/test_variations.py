"""Robots that differ from another in one thing."""

import numpy as np
import pytest

import dynamis as dy
from tests.simulation.arms import pair


def test_with_friction_is_that_of_the_links_and_survives_a_file(tmp_path):
    arm = pair().with_friction(viscous=[2.0, (1.0, 3.0)], coulomb=0.5, offset=0.1)
    np.testing.assert_allclose(arm.friction_torque([1.0, -1.0]), [2.6, -3.4])
    arm.save(tmp_path / "arm.toml")
    assert dy.load(tmp_path / "arm.toml") == arm
    assert not arm.with_friction().friction_torque([1.0, 1.0]).any()


def test_with_friction_refuses_another_number_of_joints_by_name():
    with pytest.raises(dy.errors.ShapeError, match=r"viscous has 3 entries, .* 2: joint1, joint2"):
        pair().with_friction(viscous=[1.0, 2.0, 3.0])
    with pytest.raises(dy.errors.DynamisError, match="stickiness"):
        pair().with_friction(stickiness=1.0)


def test_with_friction_of_a_joint_is_that_of_its_mimics(tmp_path):
    links = [
        dy.Link(joint="revolute", a=0.5, mass=1.0),
        dy.Link(joint="revolute", a=0.5, mass=1.0, mimic=("joint1", -1.0, 0.0)),
    ]
    arm = dy.Robot.from_dh("mirror", convention="standard", links=links)
    rubs = arm.with_friction(viscous=2.0)
    assert [link.friction.viscous for link in rubs.model.links] == [2.0, 2.0]
