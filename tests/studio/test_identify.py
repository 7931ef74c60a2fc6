"""The Identify page: a log is uploaded or made, hostile ones are refused, and a model comes out."""

import io
import os
import zipfile

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import FileError
from dynamis.studio.pages.columns import LEFT_OUT, FileColumns, guessed, mapping
from dynamis.studio.pages.identify import LARGEST_FILE, Trial, safe_name, uploaded_log

from .conftest import Tab
from .test_load import QuickTab, wait


def npz(**arrays):
    memory = io.BytesIO()
    np.savez(memory, **arrays)
    return memory.getvalue()


class Trap:
    """What runs when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("unpickled",)


@pytest.fixture(scope="module")
def robot():
    return dy.load("planar-rr")


@pytest.fixture(scope="module")
def recorded(robot, compiled):
    """A short log of an arm that is 10 % heavier than described."""
    return Trial(period=4.0).log(robot, lambda text: None)


@pytest.fixture(scope="module")
def page(browser, studio, robot):
    made = Tab(browser, studio)
    made.session.change_robot(robot)
    made.open("Identify")
    yield made
    made.close()


def upload(tab, name, content):
    """Give a file to the button for logs."""
    button = tab.page.get_by_role("button", name="Upload (.csv, .npz, .parquet)")
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
    button.locator("xpath=preceding-sibling::input").set_input_files(file)


def identified(tab):
    bench = tab.session.bench
    old = bench.estimate
    tab.press("Identify")
    tab.until(lambda: bench.estimate is not None and bench.estimate is not old)
    tab.says("relative error")
    return bench.estimate


def test_an_uploaded_log_becomes_a_model(page, robot, recorded):
    page.press("Identify")
    page.says("there is no log yet")
    upload(page, "run.npz", npz(t=recorded.t, q=recorded.q, tau=recorded.tau))
    page.until(lambda: page.session.bench.log is not None)
    page.says("2001 samples")
    found = identified(page)
    assert found.is_physical and found.held_out.relative_error_overall < 0.08
    page.until(lambda: page.page.locator(".uplot canvas").count() == 1)
    page.choose("Joint", "joint2")
    page.press("Use the identified model")
    page.until(lambda: page.session.robot is found.robot)
    q = np.array([0.4, 0.5])
    heavy = page.session.robot.gravity_torque(q) / robot.gravity_torque(q)
    assert np.abs(heavy - 1.1).max() < 0.03  # the log was of a heavier arm
    assert page.session.bench.estimate is found
    assert page.errors == []


def test_columns_are_chosen_with_the_mouse(page, robot, recorded):
    """A file with names of its own, in degrees: guessed as far as they say, the rest chosen."""
    page.session.change_robot(robot)
    degrees = np.rad2deg(recorded.q)
    rows = np.column_stack([recorded.t, degrees[:, 1], degrees[:, 0], recorded.tau])[:400]
    head = "clock,elbow,shoulder,motor torque 1,motor torque 2"
    text = "\n".join([head, *(",".join(f"{x:.9g}" for x in row) for row in rows)])
    upload(page, "bench.csv", text.encode())
    page.says("Which of the 5 columns is which?")
    page.press("Read with these columns")
    page.says("position: 2 of 2 joints have no column")
    page.choose("q of joint1", "shoulder")
    page.choose("q of joint2", "elbow")
    page.choose("Unit of q", "deg")
    page.press("Read with these columns")
    page.until(lambda: page.session.bench.log is not None)
    log = page.session.bench.log
    assert np.allclose(log.q, recorded.q[:400], atol=1e-6)
    assert np.allclose(log.tau, recorded.tau[:400], atol=1e-6)
    page.press("Choose its columns")
    page.until(lambda: page.field("q of joint1").input_value() == "shoulder")
    page.choose("q of joint2", "shoulder")
    page.press("Choose its columns")
    page.until(lambda: page.field("q of joint2").input_value() == "shoulder")
    assert page.field("Unit of q").input_value() == "deg"
    assert page.errors == []


def test_chosen_columns_are_there_again(compiled):
    """For a file with the same columns, also in a page that was loaded again."""
    from viser import UploadedFile

    from dynamis.studio import Studio

    columns, others = FileColumns(dict.fromkeys("abcde", 1)), FileColumns(dict.fromkeys("fghij", 1))
    studio = Studio("planar-rr", port=0)
    try:
        tabs = [QuickTab(studio) for _ in range(2)]
        wait(studio, lambda: len(studio.sessions) == 2)
        first, again = studio.sessions.values()
        with first.lock:
            panel = first._settings["identify.columns"]
            panel.offer(columns)
            fields = panel._fields()
            chosen = {name: x.options[-1] for name, x in fields.items() if hasattr(x, "options")}
            chosen["sample time"] = 0.004
            for name, value in chosen.items():
                fields[name].value = value
            panel.offer(others)
            assert {x.value for x in panel._chosen["q"]} == {LEFT_OUT}
            panel.offer(columns)
            assert {name: x.value for name, x in panel._fields().items()} == chosen
        head = ",".join("abcde").encode()
        first.bench.uploaded = UploadedFile("log.csv", head + 9 * b"\n1,2,3,4,5")
        again.adopt(first.work())
        assert again.bench.uploaded is first.bench.uploaded
        panel = again._settings["identify.columns"]
        wait(studio, lambda: panel.folder.visible)  # the form was open
        with again.lock:
            assert {name: x.value for name, x in panel._fields().items()} == chosen
        for tab in tabs:
            tab.close()
    finally:
        studio.stop()


def test_columns_are_guessed_by_their_names(robot):
    six = dy.load("puma560")
    joints = six.joint_names
    names = [
        "Time [ms]",
        *(f"{x}{k}" for k in (1, 10, 2, 3, 4, 5) for x in ("pos_", "vel_", "eff")),
    ]
    found = guessed(FileColumns(dict.fromkeys(names, 1)), joints)
    assert found["t"] == ["Time [ms]"] and found["tau"] == []  # "eff" is no word
    assert found["q"] == [f"pos_{k}" for k in (1, 2, 3, 4, 5, 10)]
    whole = guessed(FileColumns({"stamp": 1, "qd": 6, "q": 6, "torque": 6, "pose": 7}), joints)
    assert whole == {"t": ["stamp"], "q": ["q"], "qd": ["qd"], "tau": ["torque"]}
    wide = FileColumns({"stamp": 1, "q": 2, "torque": 2})
    chosen = {"t": [LEFT_OUT], "q": ["q"], "tau": ["torque"]}
    options = mapping(wide, robot, chosen, {"q": "deg"})
    assert options["columns"] == {"t": None, "q": "q", "qd": None, "tau": "torque"}
    assert options["units"] == {"q": ["deg", "deg"]}


def test_a_log_can_be_made_here(page, robot):
    page.session.change_robot(robot)
    assert page.session.bench.log is None and page.session.bench.estimate is None
    page.type("Seconds", "3")
    page.press("Simulate a log")
    page.until(lambda: page.session.bench.log is not None)
    page.choose("Estimator", "weighted")
    found = identified(page)
    assert found.estimator == "weighted"
    page.says("largest of")


def test_a_hostile_log_is_refused_on_the_page(page, recorded, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = page.session.bench.log
    upload(page, "run.npz", npz(t=recorded.t, q=np.array([Trap()] * 9), tau=recorded.tau))
    page.says("pickled objects")
    assert not (tmp_path / "unpickled").exists()
    upload(page, "<img src=x onerror=alert(1)>.csv", b"\x00\xff\x00\xff")
    page.says("img_src_x_onerror")
    assert page.session.bench.log is kept
    assert page.errors == []


def bomb():
    memory = io.BytesIO(npz(tau=np.zeros((9, 2))))
    with (
        zipfile.ZipFile(memory, "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("q.npy", "w", force_zip64=True) as file,
    ):
        shape = {"descr": "<f8", "fortran_order": False, "shape": (300 * 1024**2 // 16, 2)}
        np.lib.format.write_array_header_1_0(file, shape)
        for _ in range(300):
            file.write(bytes(1024**2))
    return memory.getvalue()


def arrow_bomb():
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    memory = io.BytesIO()
    column = pa.array(np.zeros(6_000_000))
    names = ("t", "q1", "q2", "tau1", "tau2")
    parquet.write_table(pa.table(dict.fromkeys(names, column)), memory, compression="zstd")
    return memory.getvalue()


T = np.arange(50) * 0.01
HOSTILE = {
    "empty.csv": (b"", "is empty"),
    "run.exe": (b"MZ", "is no log"),
    "run": (b"t,q1\n", "is no log"),
    "run.npz": (b"PK\x03\x04 not really", "not an .npz archive"),
    "pickle.npz": (lambda: npz(q=np.array([Trap()] * 9), tau=np.zeros(9)), "pickled objects"),
    "bomb.npz": (bomb, "holds 300 MiB .* at most 200 MiB"),
    "bomb.parquet": (arrow_bomb, "holds 228.9 MiB .* at most 200 MiB"),
    "broken.parquet": (b"PAR1 nonsense PAR1", "cannot be read as Parquet"),
    "binary.csv": (bytes(range(256)) * 20, "is not text"),
    "columns.csv": (b"a,b,c\n1,2,3\n4,5,6\n", "has no 'q' or 'q1'"),
    "joints.npz": (lambda: npz(t=T, q=np.ones((50, 7)), tau=np.ones((50, 7))), "7 joints, robot"),
    "nan.csv": (b"t,q1,q2,tau1,tau2\n" + b"0,nan,1,1,1\n1,nan,1,1,1\n", "2 of 2 rows hold NaN"),
    "still.npz": (
        lambda: npz(t=0 * T, q=np.ones((50, 2)), tau=np.ones((50, 2))),
        "every time stamp is the same",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_logs_are_refused(name, robot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, said = HOSTILE[name]
    with pytest.raises(FileError, match=said) as caught:
        uploaded_log(name, content() if callable(content) else content, robot)
    assert "/tmp" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_large_file_is_refused(robot):
    with pytest.raises(FileError, match="51 MB, expected at most 50 MB"):
        uploaded_log("run.csv", b"0" * (LARGEST_FILE + 1024**2), robot)


def test_names_of_files_are_tamed():
    assert safe_name("../../etc/pass wd.CSV") == ("pass_wd.csv", ".csv")
    assert safe_name("C:\\logs\\run.npz") == ("run.npz", ".npz")
    assert safe_name("") == ("log", "")
    assert len(safe_name("x" * 500 + ".csv")[0]) < 80


def test_a_log_that_moves_nothing_is_refused(robot):
    q = np.ones((400, 2))
    log = uploaded_log("run.npz", npz(t=np.arange(400) * 0.01, q=q, tau=q), robot)
    with pytest.raises(dy.errors.DynamisError):
        dy.identify(robot, log)
