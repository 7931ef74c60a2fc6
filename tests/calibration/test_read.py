"""Observations from files, and `dynamis calibrate`."""

import json
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import DynamisError, FileError, OptionError, ShapeError
from dynamis.transforms import to_quaternion

from .simulated import K, built, points, poses, postures, sockets

ROBOT = dy.load("puma560")
read: Any = K.read_observations


def table(path, columns):
    """A text file of named columns."""
    values = np.column_stack(list(columns.values()))
    rows = [",".join(columns), *(",".join(map(repr, row)) for row in values.tolist())]
    path.write_text("\n".join(rows))
    return path


def joints(q, name="q{}"):
    return {name.format(k + 1): x for k, x in enumerate(q.T)}


@pytest.fixture(scope="module")
def seen():
    arm = built(ROBOT)
    arm = arm._replace(values=np.where(arm.model.of_kind("zero"), arm.values, 0.0))
    return arm, points(arm, postures(ROBOT, 60), 2e-5)


def test_points_of_a_table(seen, tmp_path):
    _, own = seen
    xyz = dict(zip("xyz", own.position.T, strict=True))
    found = read(table(tmp_path / "a.csv", joints(own.q) | xyz), robot=ROBOT)
    assert isinstance(found, K.Points)
    np.testing.assert_array_equal(found.q, own.q)
    np.testing.assert_array_equal(found.position, own.position)
    np.savez(tmp_path / "a.npz", q=own.q, position=own.position, temperature=own.q[:, 0])
    found = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(found.temperature, own.q[:, 0])


def test_units_and_names_are_mapped(seen, tmp_path):
    _, own = seen
    columns = joints(np.degrees(own.q), "a{} [deg]")
    columns |= {f"p{x} [mm]": 1e3 * y for x, y in zip("xyz", own.position.T, strict=True)}
    path = table(tmp_path / "b.csv", columns)
    found = read(path, columns={"q": "a*", "position": ["px", "py", "pz"]})
    np.testing.assert_allclose(found.q, own.q, rtol=1e-12)
    np.testing.assert_allclose(found.position, own.position, rtol=1e-12)
    xyz = dict(zip("xyz", own.position.T, strict=True))
    plain = table(tmp_path / "c.csv", joints(np.degrees(own.q)) | xyz)
    found = read(plain, units={"q": "deg", "position": "mm"})
    np.testing.assert_allclose(found.position, 1e-3 * own.position)
    named = dict(zip(ROBOT.joint_names, own.q.T, strict=True))
    found = read(table(tmp_path / "d.csv", named), "plane", robot=ROBOT)
    np.testing.assert_array_equal(found.q, own.q)


def test_poses_of_a_table(seen, tmp_path):
    arm, own = seen
    T = poses(arm, own.q).pose
    quaternion = np.array([to_quaternion(x[:3, :3]) for x in T])
    columns = joints(own.q) | dict(zip("xyz", T[:, :3, 3].T, strict=True))
    columns |= dict(zip(["qx", "qy", "qz", "qw"], quaternion.T, strict=True))
    found = read(table(tmp_path / "p.csv", columns), "poses")
    np.testing.assert_allclose(found.pose, T, atol=1e-12)


def test_sockets_of_folders_arrays_and_columns(seen, tmp_path):
    arm, _ = seen
    own = sockets(arm, places=2, count=5)
    for place, both in own.places.items():
        (tmp_path / "folder" / place).mkdir(parents=True)
        for k, q in enumerate(both):
            table(tmp_path / "folder" / place / f"{k}.csv", joints(q))
    arrays: Any = {f"{p}/{k}": q for p, x in own.places.items() for k, q in enumerate(x)}
    np.savez(tmp_path / "s.npz", **arrays)
    rows = [
        (*q, place, k) for place, x in own.places.items() for k, both in enumerate(x) for q in both
    ]
    text = [",".join([*joints(own.postures), "place", "socket"])]
    text += [",".join(map(str, row)) for row in rows]
    (tmp_path / "s.csv").write_text("\n".join(text))
    for source in ("folder", "s.npz", "s.csv"):
        found = read(tmp_path / source, "sockets", distance=0.05, robot=ROBOT)
        assert list(found.places) == list(own.places) and found.distance == 0.05
        for a, b in zip(found.places.values(), own.places.values(), strict=True):
            np.testing.assert_allclose(np.vstack(a), np.vstack(b))
    one = read(tmp_path / "s.npz", "sockets", places="*1")
    assert list(one.places) == ["place 1"]
    with pytest.raises(FileError, match="no place 'nowhere'"):
        read(tmp_path / "s.npz", "sockets", places="nowhere")


def test_two_names_make_a_pair_only_together(tmp_path):
    q = postures(ROBOT, 4)
    np.savez(tmp_path / "x.npz", left_0=q, left_1=q, right_0=q, panda=q)
    found = read(tmp_path / "x.npz", "sockets")
    assert {k: len(v) for k, v in found.places.items()} == {"left": 2, "right_0": 1, "panda": 1}


def test_what_cannot_be_read_is_said(seen, tmp_path):
    _, own = seen
    path = table(tmp_path / "a.csv", joints(own.q))
    with pytest.raises(FileError, match="has no position"):
        read(path)
    with pytest.raises(OptionError, match="kind"):
        read(path, "lines")
    with pytest.raises(OptionError, match="nothing of a calibration"):
        read(path, columns={"tau": "x"})
    with pytest.raises(OptionError, match="distance is for"):
        read(path, distance=0.1)
    with pytest.raises(ShapeError, match="expected 7"):
        read(path, "plane", robot=dy.load("panda"))
    with pytest.raises(DynamisError, match="does not exist"):
        read(tmp_path / "nothing.csv")
    bad = joints(own.q) | dict(zip("xyz", own.position.T, strict=True))
    bad |= dict.fromkeys(["qx", "qy", "qz", "qw"], np.ones(60))
    with pytest.raises(ShapeError, match="quaternion has length 2"):
        read(table(tmp_path / "q.csv", bad), "poses")


def test_the_command(seen, tmp_path, capsys):
    _, own = seen
    path = table(tmp_path / "a.csv", joints(own.q) | dict(zip("xyz", own.position.T, strict=True)))
    out = tmp_path / "as_built.toml"
    page = tmp_path / "out.html"
    words = ["--save", str(out), "--report", str(page), "--validate", str(path)]
    assert main(["calibrate", "puma560", str(path), *words]) == 0
    for said in ("Before and after", "validation", "joint2.zero", "tool.x", "Residuals"):
        assert said in page.read_text()
    said = capsys.readouterr().out
    assert "held out" in said and "joint2.zero" in said and "good" in said
    assert np.abs(dy.load(out).fk(own.q) - ROBOT.fk(own.q)).max() > 1e-4
    assert main(["calibrate", "puma560", str(path), "--units", "position=mm", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["level"] == "not usable" and not found["ok"]
