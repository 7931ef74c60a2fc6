"""Object code on disk: found again, never trusted blindly."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile import cache
from dynamis.compile.service import forget, sources

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
    forget()  # what this process has compiled: the disk is asked
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


def test_two_entries_that_change_places_are_compiled_anew(folder):
    robot = dy.load("planar-rr")
    gravity = torque(robot), robot.gravity_torque([0.1, 0.2])
    first, second = cache.entries()
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    assert cache.read(first.stem) is None and cache.read(second.stem) is None
    robot = dy.load("planar-rr")
    found = torque(robot), robot.gravity_torque([0.1, 0.2])
    assert all(np.array_equal(a, b) for a, b in zip(found, gravity, strict=True))
    assert cache.read(first.stem) is not None and cache.read(second.stem) is not None


def test_a_damaged_entry_that_cannot_be_removed_is_compiled_anew(folder, monkeypatch):
    expected = torque(dy.load("planar-rr"))
    (entry,) = cache.entries()
    entry.write_bytes(entry.read_bytes()[:-100])

    def refused(*_, **__):
        raise OSError(30, "Read-only file system")

    for name in ("unlink", "rename", "replace", "remove"):
        monkeypatch.setattr(os, name, refused)
    assert np.array_equal(torque(dy.load("planar-rr")), expected)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="links and owners are a POSIX matter")
@pytest.mark.parametrize("kind", ["symbolic link", "writable by others", "folder", "pipe"])
def test_what_is_not_our_own_plain_file_is_not_read(folder, tmp_path, kind):
    expected = torque(dy.load("planar-rr"))
    (entry,) = cache.entries()
    if kind == "writable by others":
        entry.chmod(0o666)
    else:
        elsewhere = tmp_path / "elsewhere.o"
        shutil.move(entry, elsewhere)
        if kind == "symbolic link":
            entry.symlink_to(elsewhere)
        elif kind == "folder":
            entry.mkdir()
        else:
            os.mkfifo(entry)
    assert cache.read(entry.stem) is None
    assert np.array_equal(torque(dy.load("planar-rr")), expected)
    if kind != "folder":  # which stays in the way
        assert cache.read(entry.stem) is not None and not entry.is_symlink()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are a POSIX matter")
def test_an_entry_of_someone_else_is_not_read(folder, monkeypatch):
    torque(dy.load("planar-rr"))
    (entry,) = cache.entries()
    plain = os.fstat

    def theirs(handle):
        found = list(plain(handle))
        found[4] += 1  # st_uid
        return os.stat_result(found)

    assert cache.read(entry.stem) is not None
    monkeypatch.setattr(os, "fstat", theirs)
    assert cache.read(entry.stem) is None


FULL = """
import resource, signal, numpy as np, dynamis as dy
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
r = dy.load("planar-rr")
print(r.gravity_torque([0.1, 0.2]).tolist())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits on files are a POSIX matter")
def test_a_full_disk_leaves_nothing_behind(folder):
    done = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True, check=True)
    assert [file.name for file in folder.iterdir() if file.suffix != cache.SOURCES] == []
    assert done.stdout.strip() == str(dy.load("planar-rr").gravity_torque([0.1, 0.2]).tolist())


def test_what_a_dead_process_left_is_removed(folder):
    folder.mkdir(mode=0o700)
    left, now = folder / "left.tmp", folder / "now.tmp"
    left.write_bytes(b"half")
    now.write_bytes(b"half")
    os.utime(left, (0, 0))
    torque(dy.load("planar-rr"))
    assert not left.exists() and now.exists()  # another process may be writing it
    assert cache.clear() == 1 and list(folder.iterdir()) == []


def test_the_source_of_the_package_is_part_of_every_key(folder, tmp_path):
    """A copy in which one number differs, while the size and time of its file are the same."""
    script = SCRIPT + "from dynamis.compile.service import sources; print(sources())\n"
    original = Path(dy.__file__).parent
    found = []
    for old, new in (("", ""), ("", ""), ("0.5", "1.5")):
        copy = tmp_path / str(len(found)) / "dynamis"
        shutil.copytree(original, copy, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / "dynamics" / "energy.py"
        before = file.stat()
        file.write_text(file.read_text().replace(old, new) if old else file.read_text())
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert file.stat().st_size == before.st_size
        environment = {**os.environ, "PYTHONPATH": str(copy.parent)}
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.append(done.stdout.splitlines()[-1])
    assert found[0] == found[1] == sources() != found[2]
    assert len(cache.entries()) == 2


def test_many_processes_at_once(folder):
    jobs = [
        subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = {job.communicate()[0].splitlines()[0] for job in jobs}
    assert len(answers) == 1 and all(job.returncode == 0 for job in jobs)
    assert not list(Path(folder).glob("*.tmp")) and len(cache.entries()) == 1
