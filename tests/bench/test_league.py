"""The league: every estimator on every data set; a definition is data and stays in its folder."""

import hashlib
import json
import sys
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.bench import figaroh, sysid
from dynamis.bench.datasets import ENDING, SHIPPED, dataset, file_hash, found_in
from dynamis.bench.league import COLUMNS, League, LeagueRow, league
from dynamis.cli import main
from dynamis.errors import DynamisError, FileError, MissingPackageError, OptionError
from dynamis.identify import ESTIMATORS, Processing
from dynamis.identify.estimate import beside
from dynamis.identify.processing import prepare

NOISE = 0.02  # of the torque, each joint
PLAIN = """
robot = "planar-2link"
friction = "none"

[[train]]
log = "first.csv"
"""
TESTED = PLAIN + '\n[[test]]\nlog = "second.csv"\n'


def motion(robot, phase):
    """A log of 10 s: sums of sines, torque with noise."""
    t = np.arange(0.0, 10.0, 0.01)
    q, qd, qdd = (np.zeros((len(t), robot.n)) for _ in range(3))
    for j in range(robot.n):
        for k in (1, 2, 3):
            w = 0.2 * np.pi * k * (1 + 0.37 * j)
            q[:, j] += np.sin(w * t + phase + k) / k
            qd[:, j] += w * np.cos(w * t + phase + k) / k
            qdd[:, j] -= w**2 * np.sin(w * t + phase + k) / k
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau = tau + NOISE * tau.std(axis=0) * np.random.default_rng(0).normal(size=tau.shape)
    return dy.Log(t=t, q=q, qd=qd, tau=tau)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two data sets of a small arm: one with a test motion, one without."""
    here = tmp_path_factory.mktemp("recordings")
    robot = dy.load("planar-2link")
    for name, phase in (("first", 0.0), ("second", 1.0)):
        motion(robot, phase).save(here / f"{name}.csv")
        (here / "below").mkdir(exist_ok=True)
        motion(robot, phase).save(here / "below" / f"{name}.csv")
    (here / f"tested{ENDING}").write_text(TESTED)
    (here / "below" / f"split{ENDING}").write_text('name = "split one"' + PLAIN)
    return here


@pytest.fixture(scope="module")
def ours(folder):
    return league(folder, list(ESTIMATORS))


def test_every_estimator_on_every_data_set(ours):
    assert [(r.dataset, r.estimator) for r in ours.rows] == [
        (name, estimator) for name in ("tested", "split one") for estimator in ESTIMATORS
    ]
    for row in ours.rows:
        assert row.friction == "none"
        assert row.note == "" and row.physical is not None and row.seconds > 0.0


def test_errors_are_those_of_the_noise(ours, folder):
    """No more than noise is left over on motions that were not fitted, and no less."""
    logs = [dy.read_log(folder / f"{name}.csv") for name in ("first", "second")]
    floors = [NOISE * np.linalg.norm(x.tau.std(axis=0) * np.ones_like(x.tau)) for x in logs]
    first, second = (a / np.linalg.norm(x.tau) for a, x in zip(floors, logs, strict=True))
    for row in ours.rows[: len(ESTIMATORS)]:
        assert row.training_error == pytest.approx(first, rel=0.1)
        assert row.test_error == pytest.approx(second, rel=0.1)


def test_splits_are_named(ours):
    tested, split = ours.rows[0], ours.rows[-1]
    assert (tested.trained_on, tested.tested_on) == ("first", "second")
    assert split.trained_on == "first, first two thirds"
    assert split.tested_on == "last third"


def test_a_test_on_the_motion_of_the_training_is_called_a_repeat(folder, tmp_path):
    robot = dy.load("planar-2link")
    for name, phase in (("first", 0.0), ("again", 0.0), ("second", 1.0)):
        motion(robot, phase).save(tmp_path / f"{name}.csv")
    tests = "".join(f'\n[[test]]\nlog = "{name}.csv"\n' for name in ("again", "second"))
    (tmp_path / f"both{ENDING}").write_text(PLAIN + tests)
    again, new = league(tmp_path, ["ordinary"]).rows
    assert again.repeat is True and new.repeat is False
    place = COLUMNS.index("tested on")
    assert [x.cells()[place] for x in (again, new)] == ["again, a repeat", "second"]


def test_figures_are_those_of_identify(ours, folder):
    robot = dy.load("planar-2link")
    logs = [dy.read_log(folder / f"{name}.csv") for name in ("first", "second")]
    found = dy.identify(robot, logs[0], friction="none", estimator="weighted")
    rows = {(r.dataset, r.estimator): r for r in ours.rows}
    held = rows["split one", "weighted"].test_error
    assert held == pytest.approx(found.held_out.relative_error_overall, rel=1e-12)
    whole = rows["tested", "weighted"]
    found = dy.identify(robot, logs[0], friction="none", estimator="weighted", held_out=False)
    other = found.validate(logs[1]).relative_error_overall
    assert whole.test_error == pytest.approx(other, rel=1e-12)
    assert whole.training_error == pytest.approx(
        found.training[0].relative_error_overall, rel=1e-12
    )


def test_a_failure_is_a_row_and_the_rest_goes_on(folder, tmp_path):
    still = dy.read_log(folder / "first.csv")
    still = replace(still, q=np.zeros_like(still.q), qd=np.zeros_like(still.q))
    still.save(tmp_path / "first.csv")
    (tmp_path / f"a{ENDING}").write_text(PLAIN)
    (tmp_path / f"b{ENDING}").write_text(PLAIN + "rows = [0, 9999999]")
    (tmp_path / f"c{ENDING}").write_text(PLAIN + "[read]\ncolumns = { q = 'nothing' }")
    (tmp_path / "broken.toml").write_text("schema = 1")
    (tmp_path / f"d{ENDING}").write_text(PLAIN.replace("planar-2link", "broken.toml"))
    rows = league([tmp_path, folder / "below"], ["ordinary"]).rows
    assert [r.dataset for r in rows] == ["a", "b", "c", "d", "split one"]
    assert rows[3].note.startswith("not read: broken.toml: ")
    for row in rows[:-1]:
        assert row.test_error is None and row.note.startswith(("not run: ", "not read: "))
        assert str(tmp_path) not in row.note
    assert rows[-1].test_error is not None


def frozen(folder, **hashes):
    """A data set with the hashes of its files, or others."""
    for name in ("first", "second"):
        (folder / f"{name}.csv").exists() or motion(dy.load("planar-2link"), 0.3).save(
            folder / f"{name}.csv"
        )
    found = {f"{x}.csv": file_hash(folder / f"{x}.csv") for x in ("first", "second")} | hashes
    lines = "".join(f'"{name}" = "{value}"\n' for name, value in found.items() if value)
    (folder / f"arm{ENDING}").write_text(f"{TESTED}[sha256]\n{lines}")


def test_files_that_are_not_those_of_the_protocol_are_refused_by_name(tmp_path):
    frozen(tmp_path)
    assert file_hash(tmp_path / "first.csv") == hashlib.sha256(
        (tmp_path / "first.csv").read_bytes()
    ).hexdigest()  # fmt: skip
    (fine,) = league(tmp_path, ["ordinary"]).rows
    assert fine.note == ""
    with (tmp_path / "second.csv").open("a") as file:
        file.write("\n")
    (row,) = league(tmp_path, ["ordinary"]).rows
    assert row.note.startswith("not read: second.csv has SHA-256 ") and "first" not in row.note
    (row,) = league(tmp_path, ["ordinary"], ignore_hashes=True).rows
    assert row.test_error == fine.test_error
    frozen(tmp_path, **{"first.csv": None})
    (row,) = league(tmp_path, ["ordinary"]).rows
    assert row.note.startswith("not read: first.csv is not in [sha256]: it has ")


def test_the_row_at_which_the_test_begins(folder, tmp_path):
    """Two thirds of 1000 rows are 667: the same split, and another one."""
    (tmp_path / "first.csv").write_bytes((folder / "first.csv").read_bytes())
    path = tmp_path / f"arm{ENDING}"
    path.write_text(PLAIN)
    usual = dataset(path).split()
    path.write_text("test_from = 667" + PLAIN)
    same = dataset(path).split()
    assert np.array_equal(usual.test[0].t, same.test[0].t) and len(same.train[0]) == 667
    path.write_text("test_from = 400" + PLAIN + "rows = [100, 900]")
    other = dataset(path).split()
    assert (len(other.train[0]), len(other.test[0])) == (300, 500)
    assert other.whole is not None and other.trained_on == "first, first 300 rows"
    for given in ("100", "900", "5000"):
        path.write_text(f"test_from = {given}" + PLAIN + "rows = [100, 900]")
        with pytest.raises(FileError, match="test_from is"):
            dataset(path).split()


def test_rows_to_train_on_are_no_test(folder, tmp_path):
    for name in ("first", "second"):
        (tmp_path / f"{name}.csv").write_bytes((folder / f"{name}.csv").read_bytes())
    same = TESTED.replace("second", "first")
    (tmp_path / f"same{ENDING}").write_text(same)
    (row,) = league(tmp_path, ["ordinary"]).rows
    assert row.note.startswith("not read: ") and "rows to train on" in row.note
    apart = same.replace("[[test]]", "rows = [0, 600]\n\n[[test]]") + "rows = [600, 1000]"
    (tmp_path / f"same{ENDING}").write_text(apart)
    (row,) = league(tmp_path, ["ordinary"]).rows
    assert row.note == "" and row.test_error < 0.1


# MuJoCo's system identification


def test_mujoco_finds_the_arm_too(folder, monkeypatch):
    """Its model has the same torques, so only the noise is left over, by as many rows as it saw."""
    monkeypatch.setattr(sysid, "ROWS", 40)
    monkeypatch.setattr(sysid, "ITERATIONS", 8)
    ours, theirs = league(folder / "below", ["ordinary", "mujoco"]).rows
    assert theirs.estimator == "mujoco" and theirs.physical
    assert "inverse dynamics on" in theirs.note
    assert theirs.test_error < 1.2 * ours.test_error


def bodies(robot):
    """MuJoCo's model of a robot as it is, and through the toolbox's parameters of its bodies."""
    mujoco, toolbox = sysid.toolbox()
    spec, ones = sysid._spec(mujoco, robot), np.ones(robot.n)
    params = sysid._parameters(toolbox, spec, robot.joint_names, ones, ones, False)
    inertias = {k: p for k, p in params.items() if k.endswith("_inertia")}
    assert len(inertias) == robot.n
    written = toolbox.apply_param_modifiers(toolbox.ParameterDict(inertias), spec.copy())
    return mujoco, spec.compile(), written


@pytest.mark.parametrize("name", ["panda", "puma560", "scara"])
def test_parameters_change_nothing_where_they_start(name):
    robot = dy.load(name)  # one body of the PUMA 560 is impossible, those of the SCARA are thin
    mujoco, *models = bodies(robot)
    state = np.random.default_rng(0).uniform(-1, 1, (3, 20, robot.n))
    described, written = (sysid._torques(mujoco, m, robot.joint_names, *state) for m in models)
    assert np.abs(written - described).max() < 1e-9 * np.abs(described).max()


@pytest.mark.parametrize("name", ["figaroh", "figaroh-weighted"])
def test_figaroh_finds_the_arm_too(name, folder):
    """No more than noise is left over, though friction that the arm has not is sought too."""
    pytest.importorskip("figaroh")
    rows = league(folder, ["ordinary", name]).rows
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        assert (ours.estimator, theirs.estimator) == ("ordinary", name)
        assert theirs.physical is None and "base parameters from" in theirs.note
        assert theirs.test_error == pytest.approx(ours.test_error, rel=0.1)
        assert theirs.training_error == pytest.approx(ours.training_error, rel=0.02)


def test_figaroh_seeks_what_ours_seeks(tmp_path):
    """Bodies, friction and offsets of an arm with a sliding joint, from the torques of a motion."""
    pytest.importorskip("figaroh")
    robot = dy.load("stanford").with_friction(viscous=0.4, coulomb=0.7)
    log = motion(robot, 0.0)
    log = replace(log, tau=log.tau + 0.3)
    samples, _ = prepare(log, Processing(dead_zone=0.01))
    found = figaroh.fit(robot, samples, rotors=False, weighted=True)
    other = motion(robot, 0.4)
    check = beside(found.torque, robot, other, Processing())
    clean = check.measured + 0.3 - check.predicted
    assert np.linalg.norm(clean) < 0.05 * np.linalg.norm(check.measured)


def test_without_figaroh_the_row_says_so(folder, monkeypatch):
    for name in ("figaroh", "figaroh.tools.regressor"):
        monkeypatch.setitem(sys.modules, name, None)
    (row,) = league(folder / "below", ["figaroh"]).rows
    assert row.test_error is None
    assert row.note.startswith("not run: FIGAROH's identification needs the package figaroh")


def test_without_its_packages_the_row_says_so(folder, monkeypatch):
    def missing():
        raise MissingPackageError("MuJoCo's system identification is not installed")

    monkeypatch.setattr(sysid, "toolbox", missing)
    (row,) = league(folder / "below", ["mujoco"]).rows
    assert row.test_error is None
    assert row.note == "not run: MuJoCo's system identification is not installed"


# definitions


def test_definitions_of_the_package_are_found_by_their_folder(tmp_path):
    names = sorted(path.name.removesuffix(ENDING) for path in SHIPPED.glob(f"*{ENDING}"))
    assert names == ["emps", "lwr4", "panda", "tx40", "ur10e"]
    panda = tmp_path / "panda"
    panda.mkdir()
    with pytest.raises(OptionError, match="no data set"):
        found_in([tmp_path])
    (panda / "excitation.npz").write_bytes(b"")
    for given in ([tmp_path], [panda], [tmp_path, panda]):
        (one,) = found_in(given)
        assert one.name == "Panda" and one.robot == "panda" and one.folder == panda
    (panda / f"panda{ENDING}").write_text(
        'robot = "panda"\nname = "mine"\n[[train]]\nlog = "excitation.npz"'
    )
    (one,) = found_in([tmp_path])
    assert one.name == "mine"


@pytest.mark.parametrize("path", sorted(SHIPPED.glob(f"*{ENDING}")), ids=lambda p: p.name)
def test_definitions_read_their_logs(path, data):
    one = dataset(path, data / path.name.removesuffix(ENDING))
    split = one.split()
    assert len(split.test) >= 1 and all(log.n == split.robot.n for log in split.train)


HOSTILE = {
    "unknown key": ('run = "rm"\n' + PLAIN, "'run' is not a key"),
    "misspelt key": (PLAIN.replace("friction", "fricton"), "did you mean 'friction'"),
    "unknown key of read": (PLAIN + "[read]\nsource = 'x'", r"'source' in \[read\] is not a key"),
    "unlimited memory": (PLAIN + "[read]\nmax_bytes = 1e99", r"'max_bytes' in \[read\]"),
    "unknown key of a motion": (PLAIN + "exec = 1", r"'exec' in \[\[train\]\]"),
    "log above": (PLAIN.replace("first", "../first"), "inside the folder"),
    "log above, other slashes": (PLAIN.replace("first", "..\\\\first"), "inside the folder"),
    "log elsewhere": (PLAIN.replace("first.csv", "/etc/passwd"), "inside the folder"),
    "log on a drive": (PLAIN.replace("first.csv", "C:\\\\first.csv"), "inside the folder"),
    "log by a link": (PLAIN.replace("first", "link"), "not in the folder"),
    "log not there": (PLAIN.replace("first", "third"), "not in the folder"),
    "log of no text": (PLAIN.replace('"first.csv"', "3"), "expected a text"),
    "log with a zero": (PLAIN.replace("first.csv", "a\\u0000"), "inside the folder"),
    "log too long": (PLAIN.replace("first.csv", "a" * 900), "not in the folder"),
    "robot above": (PLAIN.replace("planar-2link", "../arm.toml"), "inside the folder"),
    "robot elsewhere": (PLAIN.replace("planar-2link", "/tmp/arm.urdf"), "inside the folder"),
    "robot unknown": (PLAIN.replace("planar-2link", "planar-9link"), "not in the folder"),
    "no robot": (PLAIN.replace("robot", "name"), "there is no robot"),
    "no motion": ('robot = "planar-2link"', r"there is no \[\[train\]\]"),
    "no log": ('robot = "planar-2link"\n[[train]]', "without log"),
    "train is a number": ('robot = "planar-2link"\ntrain = 1', "expected"),
    "train of numbers": ('robot = "planar-2link"\ntrain = [1]', "expected"),
    "many motions": ('robot = "planar-2link"\n' + "[[train]]\n" * 101, "at most 100"),
    "several to train, none to test": (PLAIN + '[[train]]\nlog = "second.csv"', r"no \[\[test\]\]"),
    "rows of three": (PLAIN + "rows = [1, 2, 3]", "expected"),
    "rows of text": (PLAIN + "rows = 'all'", "expected"),
    "read is no table": ("read = 1\n" + PLAIN, "expected a table"),
    "columns are no table": (PLAIN + "[read]\ncolumns = 1", "expected a table"),
    "friction unknown": (PLAIN.replace("none", "magic"), "magic"),
    "friction of a number": (PLAIN.replace('"none"', "1"), "expected a text"),
    "rotors of text": ("rotors = 'yes'\n" + PLAIN, "expected True or False"),
    "gears of text": ("gear_matrix = 'x'\n" + PLAIN, "gear_matrix"),
    "gears not square": ("gear_matrix = [[1, 2]]\n" + PLAIN, "as many rows"),
    "gears that are not numbers": ("gear_matrix = [[nan]]\n" + PLAIN, "finite"),
    "test_from and a test": ("test_from = 500" + TESTED, "test_from and"),
    "test_from of text": ("test_from = 'x'" + PLAIN, "test_from is 'x'"),
    "test_from below": ("test_from = -3" + PLAIN, "test_from is -3"),
    "hashes of no table": ("sha256 = 3" + PLAIN, "expected a table"),
    "hash of a number": (PLAIN + '[sha256]\n"first.csv" = 3', "64 digits"),
    "hash that is short": (PLAIN + '[sha256]\n"first.csv" = "abc"', "64 digits"),
    "no TOML": ("robot = ", "not valid TOML"),
    "nested deeply": ("a = " + "[" * 5000, "TOML"),
    "no UTF-8": (b"\xff\xfe", "UTF-8"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_definition_is_refused(kind, folder, tmp_path):
    given, said = HOSTILE[kind]
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    for x in (inside, outside):
        x.mkdir()
        for name in ("first.csv", "second.csv"):
            (x / name).write_bytes((folder / name).read_bytes())
    (inside / "link.csv").symlink_to(outside / "first.csv")
    path = inside / f"arm{ENDING}"
    path.write_bytes(given if isinstance(given, bytes) else given.encode())
    with pytest.raises(FileError, match=said) as error:
        dataset(path)
    assert str(error.value).startswith(path.name)


READ = (
    "columns = { q = 3.5 }", "columns = { q = { a = 1 } }", "columns = { x = 'q1' }",
    "units = 3", "units = { q = 'furlong' }", "units = { q = 2000-01-01 }",
    "sample_time = 'x'", "sample_time = -1", "joints = 5", "joints = [[1]]", "joints = [99]",
    "drive_gains = [1, 1]", "drive_gains = 'x'", "gear_matrix = [[1]]", "offset = [nan, 0]",
    "offset = 2000-01-01", "topic = 5",
)  # fmt: skip
MOTION = (
    "rows = ['a', 'b']", "rows = [1.5, 2]", "rows = [5, 5]", "rows = [-1, 9]", "rows = [[], {}]",
    "window = ['a', 1]", "window = [5, 1]", "window = [inf, nan]", "window = [100, 200]",
)  # fmt: skip


@pytest.mark.parametrize("said", [*READ, *MOTION])
def test_values_that_cannot_be_read_are_a_row(said, folder, tmp_path):
    (tmp_path / "first.csv").write_bytes((folder / "first.csv").read_bytes())
    given = f"{PLAIN}[read]\n{said}" if said in READ else f"{PLAIN}{said}"
    (tmp_path / f"arm{ENDING}").write_text(given)
    (row,) = league(tmp_path, ["ordinary"]).rows
    assert row.note.startswith("not read: ")


def test_definitions_ship_with_the_package():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["dynamis"]
    for path in SHIPPED.iterdir():
        name = path.relative_to(SHIPPED.parents[1]).as_posix()
        assert any(fnmatch(name, pattern) for pattern in patterns), name


def test_definitions_of_the_package_are_frozen(data):
    """Hashes of every file, and rows of every split, as the logs have them."""
    for one in found_in([data]):
        assert one.sha256 and one.changed_files() == []
        assert one.test or one.test_from
        if not one.test:
            split = one.split()
            early, _ = split.whole.split(2 / 3)
            assert len(split.train[0]) == one.test_from == len(early)


def test_gears_for_motors_that_turn_several_joints(folder, tmp_path):
    (tmp_path / "first.csv").write_bytes((folder / "first.csv").read_bytes())
    path = tmp_path / f"arm{ENDING}"
    path.write_text("gear_matrix = [[10, 0], [5, 20]]" + PLAIN)
    model = dataset(path).split().robot.model
    assert [link.drive.gear for link in model.links] == [10.0, 20.0]
    assert model.gear_matrix == ((10.0, 0.0), (5.0, 20.0))
    path.write_text("gear_matrix = [[10]]" + PLAIN)
    with pytest.raises(FileError, match="2 joints"):
        dataset(path).split()


@pytest.mark.parametrize(
    ("folders", "estimators"),
    [("nowhere", None), ([], None), (3, None), ([b"x"], None), ("", None), (None, None),
     (".", ["best"]), (".", [1]), (".", []), (".", "ordinary")],
)  # fmt: skip
def test_wrong_arguments(folders, estimators, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DynamisError):
        league(folders, estimators)


# the table


def test_a_page_holds_no_paths_and_no_markup_of_others(tmp_path):
    row = LeagueRow(
        "a|b <i>", "ordinary", "none", "x", "y", 0.0123, 0.02, False, 1.23456, "two\nlines"
    )
    page = League((row,), "a machine").save(tmp_path / "page.md").read_text()
    assert (
        "| a\\|b \\<i\\> | ordinary | none | x | y | 1.23 | 2.00 | no | 1.23 | two lines |" in page
    )
    assert "@" not in page and str(tmp_path) not in page and "a machine" in page


def test_command_line(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    page = tmp_path / "league.md"
    words = ["league", str(folder / "below"), "--estimators", "ordinary, feasible"]
    assert main([*words, "--output", str(page)]) == 0
    printed = capsys.readouterr()
    assert "split one" in printed.out and "robust" not in printed.out
    assert f"wrote {page}" in printed.err
    text = page.read_text()
    assert "| split one | ordinary | none | first, first two thirds |" in text
    assert str(folder) not in text
    assert main([*words, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [r["estimator"] for r in rows] == ["ordinary", "feasible"]
    assert all(0.0 < r["test_error"] < 0.1 for r in rows)
    assert main([*words, "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4 and lines[0].count("|") == len(COLUMNS) + 1


@pytest.mark.parametrize(
    ("more", "said"),
    [(["--estimators", "best"], "did you mean 'robust'"),
     (["--output", "league.html"], "expected one of .md"),
     (["--output", "nowhere/league.md"], "there is no folder")],
)  # fmt: skip
def test_command_line_refuses(more, said, folder, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["league", str(folder), *more]) == 2
    assert said in capsys.readouterr().err


def test_command_line_without_data_sets(tmp_path, capsys):
    assert main(["league", str(tmp_path)]) == 2
    printed = capsys.readouterr().err
    assert "no data set in" in printed and "folders emps, lwr4, panda, tx40, ur10e" in printed
    assert main(["league"]) == 2
