"""Folders of logs: all read in order, all that is wrong named at once."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError, FileError, KeywordError

from .test_read_log import arrays, same, two_links


@pytest.fixture
def folder(tmp_path):
    """Three logs, and what is none."""
    for k, name in enumerate(("b.npz", "a.csv", "c.npz")):
        data = arrays()
        dy.Log(**(data | {"q": data["q"] + 0.1 * k})).save(tmp_path / name)
    (tmp_path / "notes.md").write_text("# by hand")
    (tmp_path / "below").mkdir()
    return tmp_path


def test_a_folder_is_read_in_the_order_of_its_names(folder):
    logs = dy.read_logs(folder, window=(0.0, 1.0))
    assert [x.name for x in logs] == ["a", "b", "c"]
    assert all(len(x) == 101 for x in logs)
    for log, k in zip(logs, (1, 0, 2), strict=True):
        same(log, {"q": arrays()["q"][:101] + 0.1 * k}, atol=1e-12)
    both = dy.read_logs([folder / "c.npz", folder])
    assert [x.name for x in both] == ["c", "a", "b", "c"]
    (one,) = dy.read_logs(folder / "a.csv")
    assert one.name == "a" and dy.read_logs([]) == []


def test_notes_beside_the_logs_are_left_alone(folder):
    (folder / "notes.txt").write_text("Arm 3, 20 kg.\nJoint 2 was warm; 1.5 h\n\n")
    assert [x.name for x in dy.read_logs(folder)] == ["a", "b", "c"]
    text = (folder / "a.csv").read_text()
    for name, separator in (("d.txt", ","), ("e.txt", " ; "), ("f.txt", " ")):
        (folder / name).write_text(text.replace(",", separator))
    assert [x.name for x in dy.read_logs(folder)] == [*"abcdef"]
    with pytest.raises(FileError, match=r"notes\.txt"):
        dy.read_logs([folder, folder / "notes.txt"])


def test_all_that_cannot_be_read_is_named_at_once(folder):
    (folder / "a.csv").write_text("t,q1,tau1\n")
    (folder / "d.npz").write_bytes(b"PK")
    np.savez(folder / "e.npz", t=np.arange(5.0))
    with pytest.raises(FileError, match="3 of 5 logs cannot be read") as error:
        dy.read_logs(folder)
    said = str(error.value)
    assert all(x in said for x in ("a.csv has a header but no rows", "d.npz", "e.npz has no 'q'"))
    assert "\nhint: " in said


def test_one_that_cannot_be_read_is_refused_as_by_read_log(folder):
    (folder / "a.csv").write_text("t,q1,tau1\n")
    with pytest.raises(FileError, match=r"a\.csv has a header but no rows"):
        dy.read_logs(folder)


def test_logs_of_several_robots_are_refused_by_name(folder):
    dy.Log(**arrays(3)).save(folder / "d.csv")
    with pytest.raises(FileError, match="several robots: 2 joints: a, b, c; 3 joints: d"):
        dy.read_logs(folder)
    with pytest.raises(DynamisError, match=r"d\.csv has 3 joints"):
        dy.read_logs(folder, robot=two_links("j1", "j2"))
    assert len(dy.read_logs(folder, joints=[0, 1])) == 4


def test_what_is_no_folder_of_logs(folder):
    with pytest.raises(FileError, match="there is no log in"):
        dy.read_logs(folder / "below")
    with pytest.raises(FileError, match="does not exist"):
        dy.read_logs(folder / "nowhere")
    with pytest.raises(KeywordError, match="sampletime"):
        dy.read_logs(folder, sampletime=0.1)
