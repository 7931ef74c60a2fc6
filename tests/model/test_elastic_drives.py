"""Elastic drives in files and in what is made of a robot: kept, or gone with their joint."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ModelError
from dynamis.model.drive import ELASTIC

pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
FIELDS = ("gear", "rotor_inertia", "stiffness", *ELASTIC)


def arm() -> dy.Robot:
    robot = dy.load("puma560")
    for i in range(1, robot.n):  # one is rigid
        own = {"damping": 0.5 + i, "hardening": 1e5 + i, "backlash": 1e-3 * i}
        robot = robot.with_drive(i, stiffness=1e4 + i, **own)
    return robot


def drives(robot):
    return {x.joint_name: [getattr(x.drive, k) for k in FIELDS] for x in robot.model.links}


@pytest.mark.parametrize("suffix", [".toml", ".urdf"])
def test_files_keep_them(suffix, tmp_path):
    arm().save(path := tmp_path / f"arm{suffix}")
    assert drives(dy.load(path)) == drives(arm())


def test_a_locked_joint_takes_its_gear_along(tmp_path):
    arm().save(path := tmp_path / "arm.urdf")
    held = dy.load(path, lock={"joint3": 0.4})
    assert drives(held) == {k: v for k, v in drives(arm()).items() if k != "joint3"}
    assert len(held.chain.elastic) == 4


def test_another_tip_keeps_them(tmp_path):
    arm().save(path := tmp_path / "arm.urdf")
    assert drives(dy.load(path, tip="link3")) == drives(arm())


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.with_payload(1.0),
        lambda x: x.with_gravity((0, 0, 1)),
        lambda x: x.with_parameters(x.parameters.values),
        lambda x: x.with_friction(0.0, 0.0),
        lambda x: x.to_dh("modified"),
        lambda x: x.to_dh("modified").to_dh("standard"),
    ],
)
def test_variations_keep_them(change):
    assert drives(change(arm())) == drives(arm())


def test_another_convention_moves_alike():
    robot, torque = arm().with_friction(0.0, 0.0), [10.0, -20.0, 5.0, 0.3, 0.2, 0.1]
    for i in range(robot.n):
        robot = robot.with_drive(i, backlash=0.0, viscous=0.0, coulomb=0.0)
    runs = [
        dy.simulate(x, 0.05, q0=np.full(6, 0.1), torque=torque, check_step=False)
        for x in (robot, robot.to_dh("modified"))
    ]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-9)
    np.testing.assert_allclose(runs[1].motor, runs[0].motor, atol=1e-9)


def test_full_rotors_are_refused_by_name():
    with pytest.raises(ModelError, match=r'joint2.*rotors="full"') as error:
        dy.Robot(replace(arm().model, rotors="full"))
    assert 'rotors="reflected"' in error.value.hint
