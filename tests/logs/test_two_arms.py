"""One arm of a robot with two, joints held still, signs: options of commands that read logs."""

import json

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.cli.logs import Reading, TorqueReading
from dynamis.errors import FileError, OptionError

from .test_log import motion

T = np.arange(1500) * 0.01


def link(name, mass):
    inertia = '<inertia ixx="0.02" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/>'
    return (
        f'<link name="{name}"><inertial><origin xyz="0.1 0 0.02"/><mass value="{mass}"/>{inertia}'
        "</inertial></link>"
    )


def joint(name, parent, child, axis, kind="revolute"):
    limit = '<limit lower="-3" upper="3" effort="50" velocity="9"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.3 0 0.1"/><axis xyz="{axis}"/>{limit}</joint>'
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A torso with two arms of two joints, and logs of the left one while all else stands."""
    path = tmp_path_factory.mktemp("two")
    parts = [link("base", 1), link("chest", 5), joint("torso", "base", "chest", "0 0 1")]
    for k, side in enumerate(("left", "right")):
        parts += [link(f"{side}_upper", 2 + k), link(f"{side}_lower", 1 + k)]
        parts.append(joint(f"{side}_shoulder", "chest", f"{side}_upper", "0 1 0"))
        parts.append(joint(f"{side}_elbow", f"{side}_upper", f"{side}_lower", "0 1 0"))
    (path / "two.urdf").write_text(f'<robot name="two">{"".join(parts)}</robot>')
    whole = dy.load(path / "two.urdf")
    for name, shift in (("first", 0.0), ("second", 1.3)):
        q, qd, qdd = (np.zeros((len(T), whole.n)) for _ in range(3))
        left = [whole.joint_names.index(f"left_{x}") for x in ("shoulder", "elbow")]
        q[:, left], qd[:, left], qdd[:, left], _ = motion(T + shift, 2)
        tau = whole.inverse_dynamics(q, qd, qdd)
        columns = {"time": T}
        for k, x in enumerate(whole.joint_names):
            columns |= {f"{x}_pos": q[:, k], f"{x}_vel": qd[:, k], f"{x}_Trq": -tau[:, k]}
        (path / "logs").mkdir(exist_ok=True)
        np.savez(path / "logs" / f"{name}.npz", **columns)
    return path


def test_joints_that_are_kept(folder):
    path = folder / "two.urdf"
    whole, left = dy.load(path), dy.load(path, joints="left_*")
    assert left.joint_names == ("left_shoulder", "left_elbow")
    assert left.model.tool_name == "left_lower"
    assert dy.load(path, joints=["right_*", "torso"], lock={"left_elbow": 0.5}).n == 3
    q, qd, qdd = (np.linspace(0.1, x, 2) for x in (0.7, -0.4, 1.1))
    place = [whole.joint_names.index(x) for x in left.joint_names]
    full = [np.zeros(whole.n) for _ in range(3)]
    for x, values in zip(full, (q, qd, qdd), strict=True):
        x[place] = values
    expected = whole.inverse_dynamics(*full)[place]
    np.testing.assert_allclose(left.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12)
    assert dy.load(path, joints=whole.joint_names).joint_names == whole.joint_names
    assert dy.load("panda", joints="joint*").n == 7


@pytest.mark.parametrize("joints", ["middle_*", [], [3], 3, ["left_*", "left_wrist"]])
def test_joints_that_are_none(folder, joints):
    with pytest.raises((FileError, OptionError), match="joints"):
        dy.load(folder / "two.urdf", joints=joints)


def test_one_arm_is_identified_from_a_folder(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    words = ["identify", "two.urdf", "logs", "--joints", "left_*", "--units", "tau=-1"]
    assert main([*words, "--friction", "none", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["held_out"]["joints"] == ["left_shoulder", "left_elbow"]
    assert [x["log"] for x in found["training"]] == ["first", "second"]
    assert found["held_out"]["as_logged"]["relative_error_overall"] < 1e-3


@pytest.mark.parametrize("estimator", ["weighted", "feasible"])
def test_a_wrong_sign_is_repaired_by_what_the_finding_says(folder, capsys, monkeypatch, estimator):
    """Without noise no consistent arm is near torques of the wrong sign: the solver finds none."""
    monkeypatch.chdir(folder)
    words = ["identify", "two.urdf", "logs/first.npz", "--joints", "left_*", "--friction", "none"]
    words += ["--estimator", estimator]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "--units tau=-1" in said
    assert main([*words, "--units", "tau=-1"]) == 0


def test_joints_of_the_log_in_the_order_of_the_robot(folder):
    log = folder / "logs" / "first.npz"
    arm = dy.load("planar-2link")
    for joints in ("left_shoulder,left_elbow", "right_shoulder,left_elbow"):
        found = Reading(joints=joints).log(log, arm)
        q = [np.load(log)[f"{x}_pos"] for x in joints.split(",")]
        np.testing.assert_array_equal(found.q, np.stack(q, axis=1))
    both = {"t": T, "q": 0.01 * T[:, None] + np.arange(3.0), "tau": np.ones((len(T), 3))}
    np.savez(folder / "bare.npz", **both)
    found = Reading(joints="2,0").log(folder / "bare.npz", arm)
    np.testing.assert_array_equal(found.q, both["q"][:, [2, 0]])


def test_options_of_the_robot(folder):
    path = str(folder / "two.urdf")
    arm = Reading(lock="torso=30deg,left_elbow=0.2", tip="right_lower").robot(path)
    assert arm.joint_names == ("left_shoulder", "right_shoulder", "right_elbow")
    assert arm.model.tool_name == "right_lower"
    direct = dy.load(path, lock={"torso": np.radians(30), "left_elbow": 0.2}, tip="right_lower")
    np.testing.assert_allclose(arm.fk([0.1] * 3), direct.fk([0.1] * 3), atol=1e-15)
    held = Reading(joints="left_*", lock="torso=1").robot(path)
    assert held.joint_names == ("left_shoulder", "left_elbow")
    with pytest.raises(OptionError, match="lock gives 'torso' no value"):
        Reading(lock="torso=").robot(path)
    with pytest.raises(FileError, match="lock names 'leg'"):
        Reading(lock="leg=0").robot(path)
    assert TorqueReading().robot("panda").n == 7
