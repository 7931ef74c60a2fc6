"""Object code on disk: found again, never trusted blindly."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.backends import cache

SCRIPT = """
import sys
import numpy as np, dynamis as dy
r = dy.load("planar-rr")
print(r.inverse_dynamics(np.array([.1, .2]), np.array([.3, .4]), np.array([.5, .6])).tolist())
print(sorted(m for m in ("casadi", "sympy") if m in sys.modules))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "cache"
    monkeypatch.setenv("DYNAMIS_CACHE", str(path))
    monkeypatch.setenv("DYNAMIS_COMPILE", "on")
    return path


def torque(robot):
    return robot.inverse_dynamics(np.array([0.1, 0.2]), np.array([0.3, 0.4]), np.array([0.5, 0.6]))


def process():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=os.environ
    )
    return done.stdout.splitlines()


def test_a_second_process_does_not_trace(folder):
    first, traced = process()
    assert "casadi" in traced
    assert len(cache.entries()) == 1
    second, traced = process()
    assert second == first and traced == "[]"


def test_different_models_and_kernels_have_different_entries(folder):
    robot = dy.load("planar-rr")
    torque(robot)
    torque(robot.with_payload(1.0))
    robot.gravity_torque([0.1, 0.2])
    robot.gravity_torque([0.1, 0.2], dtype="float32")
    assert len(cache.entries()) == 4
    torque(dy.load("planar-rr"))
    assert len(cache.entries()) == 4
    assert cache.clear() == 4 and cache.entries() == []


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "header"])
def test_a_damaged_entry_is_compiled_anew(folder, damage):
    expected = torque(dy.load("planar-rr"))
    (entry,) = cache.entries()
    data = bytearray(entry.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flipped":
        data[-200] ^= 1
    elif damage == "empty":
        data = bytearray()
    else:
        data[0] ^= 1
    entry.write_bytes(bytes(data))
    assert np.array_equal(torque(dy.load("planar-rr")), expected)
    assert cache.read(entry.stem) is not None  # whole again


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are a POSIX matter")
def test_a_folder_others_may_write_to_is_refused(folder):
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.warns(dy.errors.DynamisWarning, match="others may write to it"):
        torque(dy.load("planar-rr"))
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are a POSIX matter")
def test_a_folder_of_someone_else_is_refused(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.warns(dy.errors.DynamisWarning, match="belongs to user"):
        torque(dy.load("planar-rr"))
    assert list(folder.iterdir()) == []


def test_off(folder, monkeypatch):
    monkeypatch.setenv("DYNAMIS_CACHE", "off")
    torque(dy.load("planar-rr"))
    assert cache.folder() is None and cache.entries() == [] and not folder.exists()


def test_a_folder_that_cannot_be_made_only_warns(monkeypatch, folder, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("DYNAMIS_CACHE", str(blocked / "below"))
    with pytest.warns(dy.errors.DynamisWarning, match="not cached"):
        torque(dy.load("planar-rr"))


def test_many_processes_at_once(folder):
    jobs = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = {job.communicate()[0].splitlines()[0] for job in jobs}
    assert len(answers) == 1 and all(job.returncode == 0 for job in jobs)
    assert not list(Path(folder).glob("*.tmp")) and len(cache.entries()) == 1
