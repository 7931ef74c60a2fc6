"""The command line: output, JSON, exit codes, errors."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

import dynamis as dy
from dynamis.agree import peers
from dynamis.cli import COMMANDS, main, run_of
from dynamis.cli.agree import _chosen as every_robot
from dynamis.cli.robots import first_sentence
from dynamis.cli.simulate import motion
from dynamis.model import catalogue
from dynamis.model.formats.files import load_model
from tests.thorough import thorough_but

from ..closed_mechanisms import OPEN_ARMS

ESCAPE = "\x1b"
SOURCE = Path(dy.__file__).parents[1]
BROKEN = 'schema = 1\nname = "x"\nconvention = "standard"\n[[link]]\njoint = "revolut"\n'


def shell(*words, **env):
    """`python -m dynamis ...` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "dynamis", *words],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **env},
    )


MERGED = """<robot name="x"><link name="base"/>
<link name="arm"><inertial><origin xyz="0.1 0.3 0.7"/><mass value="0.3"/>
<inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="same"><inertial><origin xyz="0.1 0.3 0.7"/><mass value="0.3"/>
<inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>
<joint name="f" type="fixed"><parent link="arm"/><child link="same"/></joint></robot>"""


def test_show_gives_merged_bodies_about_their_centre_and_names_the_tool(capsys, tmp_path):
    path = tmp_path / "x.urdf"
    path.write_text(MERGED)
    assert main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert "0.6   0.1 0.3 0.7   0.02 0.04 0.06 0 0 0 " in out
    assert "tool     same on arm (tip= chooses another)" in out


def test_a_warning_is_plain_text(tmp_path):
    path = tmp_path / "x.urdf"
    path.write_text(MERGED.replace('value="0.3"', 'value="$(optenv MASS 0.3)"', 1))
    found = shell("show", str(path))
    assert found.returncode == 0 and found.stderr.startswith("warning: link 'arm'")
    assert "DynamisWarning" not in found.stderr


def answer(capsys, *words):
    """Exit code, and the JSON on stdout."""
    code = main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal on which no cell is folded."""
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def no_peers(monkeypatch):
    """Comparisons without the time that other engines take to import."""
    monkeypatch.setattr(peers, "find_spec", lambda name: None)


@pytest.fixture
def arm(tmp_path):
    """A robot file of the user."""
    link = dy.Link(a=1.0, mass=2.0, com=(-0.5, 0, 0), inertia=(0.1, 0.2, 0.2))
    path = tmp_path / "my [bold]arm.toml"
    dy.Robot.from_dh("my [bold]arm", convention="standard", links=[link]).save(path)
    return str(path)


# help


def test_help_lists_every_command():
    ran = shell("--help")
    assert ran.returncode == 0
    assert ran.stderr == ""
    for name, summary in COMMANDS.items():
        assert name in ran.stdout
        assert summary in ran.stdout


def test_help_is_quick():
    """It imports nothing that takes long."""
    code = (
        "import json, sys; from dynamis.cli import main; main(['--help']); "
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    modules = json.loads(ran.stderr)
    slow = {"rich", "tyro", "scipy", "sympy", "pinocchio", "mujoco", "casadi", "llvmlite"}
    assert not slow & set(modules)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "72")
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert f"  dynamis {name}" in out
    assert "--json" in out
    assert all(len(line) <= 72 for line in out.splitlines() if line[:1].isalpha())


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dynamis {dy.__version__}\n"


def test_without_words_it_helps(capsys):
    assert main([]) == 0
    assert "usage: dynamis" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_silent_about_nothing(name, capsys):
    with pytest.raises(SystemExit):
        main([name, "--help"])
    out = capsys.readouterr().out
    assert "None" not in out and "default: False" not in out


def test_zero_is_a_default_worth_saying(capsys):
    with pytest.raises(SystemExit):
        main(["agree", "--help"])
    assert "Seed of the random states. (default: 0)" in capsys.readouterr().out


# commands


def test_robots_lists_the_catalogue(capsys):
    assert main(["robots"]) == 0
    out = capsys.readouterr().out
    assert all(f" {name} " in out for name in catalogue.names())


def test_robots_json(capsys):
    code, entries = answer(capsys, "robots")
    assert code == 0
    assert [entry["name"] for entry in entries] == list(catalogue.names())
    puma = next(entry for entry in entries if entry["name"] == "puma560")
    assert (puma["joints"], puma["dof"], puma["convention"]) == ("RRRRRR", 6, "standard")
    assert all(entry["description"] for entry in entries)


def test_first_sentence():
    assert first_sentence("An arm, d1 = 0.3 m long. More.") == "An arm, d1 = 0.3 m long."
    assert first_sentence("Made in MATLAB. More.") == "Made in MATLAB."
    assert first_sentence("R. Paul made it\nlong ago. More.") == "R. Paul made it long ago."
    assert first_sentence("no stop") == "no stop"


def test_every_robot_has_a_first_sentence_of_its_own():
    """Whole, not cut at an abbreviation such as J. Mech. Design, and not that of another robot."""
    texts = {name: " ".join(load_model(name).description.split()) for name in catalogue.names()}
    first = {name: first_sentence(text) for name, text in texts.items()}
    assert len(set(first.values())) == len(first)
    for name, said in first.items():
        after = texts[name].removeprefix(said).split()
        assert said.count("(") == said.count(")"), name
        assert not re.search(r"\b(J|Mech|Int|Proc|Conf|Trans|Vol|al)\.$", said), name
        assert not after or after[0][0].isupper() or after[0].startswith(("alpha", "lc")), name


@pytest.mark.parametrize("name", thorough_but(["puma560", "scara", "delta"], catalogue.names()))
def test_show_every_robot(name, capsys):
    assert main(["show", name]) == 0
    out = capsys.readouterr().out
    robot = dy.load(name)
    for word in (*robot.joint_names, *robot.link_names, "gravity", "friction"):
        assert word in out


def test_show_prints_the_dh_table(capsys):
    main(["show", "puma560"])
    line = next(x for x in capsys.readouterr().out.splitlines() if "joint3" in x)
    assert line.split() == ["joint3", "revolute", "q3", "0.15005", "0.0203", "-1.5708", "0"]


def test_show_lists_limits_of_speed_and_torque_and_a_simulation_warns_of_them(capsys):
    assert main(["show", "ur5e"]) == 0
    shown = capsys.readouterr().out
    assert "velocity limit" in shown and "torque limit" in shown and " 150 " in shown
    assert main(["show", "planar-rr"]) == 0
    assert "torque limit" not in capsys.readouterr().out
    words = ["simulate", "ur5e", "--start", "0,0,0,0,0,0", "--goal", "6,0,0,0,0,0"]
    assert main([*words, "--duration", "0.02", "--move", "0.02", "--dt", "0.01"]) == 0
    said = capsys.readouterr().err
    assert "warning: torque of 'shoulder_pan_joint' " in said and "s, limit " in said
    assert "warning: reference velocity of 'shoulder_pan_joint' " in said
    assert "torque limit" in dy.load("ur5e")._repr_html_()


def test_show_writes_a_file_to_start_from(capsys, tmp_path):
    path = tmp_path / "arm.toml"
    assert main(["show", "planar-2link", "--save", str(path)]) == 0
    assert f"wrote {path}" in capsys.readouterr().err
    assert dy.load(path) == dy.load("planar-2link")
    assert main(["show", "planar-2link", "--save", str(tmp_path / "arm.txt")]) == 2
    assert ".toml, .urdf" in capsys.readouterr().err
    (tmp_path / "mine.toml").write_text('nombre = "mi brazo"')
    assert main(["show", str(tmp_path / "mine.toml")]) == 2
    assert "dynamis show planar-2link --save arm.toml" in capsys.readouterr().err


def test_show_json_is_the_file(capsys):
    code, table = answer(capsys, "show", "puma560")
    assert code == 0
    assert table["name"] == "puma560"
    assert table["link"][1]["mass"] == 17.4


def test_show_lists_springs_and_what_they_hold(capsys, tmp_path):
    springs = (
        dy.Spring(name="balance", from_point=(0, 0.5, 0), to="link1", stiffness=400.0),
        dy.Spring(kind="torsion", joint="joint2", stiffness=5.0, rest_angle=0.25),
        dy.Spring(kind="gas", to="link2", from_point=(0, 9, 0), force=7.0, gas_length=40.0),
    )
    warm = dy.Friction(viscous=2.0, temperature_slope=-0.01)
    model = dy.load("planar-2link").model
    links = tuple(replace(link, friction=warm) for link in model.links)
    arm, path = dy.Robot(replace(model, springs=springs, links=links)), str(tmp_path / "arm.toml")
    arm.save(path)
    assert main(["show", path, "--q", "0.3", "0.4"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for words in (
        "balance (linear) base to link1 stiffness 400, preload 0, rest length 0",
        "spring2 (torsion) at joint2 stiffness 5, preload 0, rest angle 0.25",
        "spring3 (gas) base to link2 pull, force 7, rest length 0, gas length 40, exponent 1",
        "viscous (N m s/rad) temperature slope (1/K)",
        "joint2 2 -0.01",
        "gravity torque, spring torque and mass matrix",
    ):
        assert words in out
    found = answer(capsys, "show", path, "--q", "0.3,0.4")[1]
    assert np.array_equal(found["at"]["spring_torque"], arm.spring_torque([0.3, 0.4]))
    assert "balance (linear)" in arm._repr_html_()


def test_show_a_file_with_odd_names(capsys, arm):
    assert main(["show", arm]) == 0
    assert "my [bold]arm: 1 joint," in capsys.readouterr().out


def test_show_draws_frames_and_names(capsys, tmp_path):
    path = tmp_path / "arm.png"
    assert main(["show", "planar-rr", "--q", "30deg", "45deg", "--plot", str(path)]) == 0
    assert f"wrote {path}" in capsys.readouterr().err.replace("\n", "")
    drawn = np.asarray(Image.open(path).convert("RGB")).reshape(-1, 3)
    for colour in ("#d62828", "#2a9d3a", "#f08c2e"):  # axes x and y, joints
        near = np.abs(drawn - 255 * np.array(to_rgb(colour))).max(axis=1) < 12
        assert near.sum() > 50, colour
    assert main(["show", "planar-rr", "--plot", str(tmp_path / "arm.xyz")]) == 2
    assert "arm.xyz" in capsys.readouterr().err


def test_show_at_a_pose(capsys):
    assert main(["show", "planar-rr", "--q", "30deg", "45", "deg"]) == 0
    out = capsys.readouterr().out
    robot, q = dy.load("planar-rr"), np.radians([30, 45])
    x, y, _ = robot.fk(q)[:3, 3]
    assert f"xyz {x:.6g} {y:.6g} 0 m, rpy 0 0 1.309 rad" in out
    assert "gravity torque (N m)" in out
    line = [x for x in out.splitlines() if "joint2" in x][-1].split()
    row = [q[1], robot.gravity_torque(q)[1], *robot.mass_matrix(q)[1]]
    assert [float(x) for x in line[1:]] == pytest.approx(row, rel=1e-5)
    _, found = answer(capsys, "show", "planar-rr", "--q", "30deg,45deg")
    assert np.array_equal(found["at"]["tool"], robot.fk(q))
    assert np.array_equal(found["at"]["gravity_torque"], robot.gravity_torque(q))
    assert np.array_equal(found["at"]["mass_matrix"], robot.mass_matrix(q))


def test_check_reports_findings(capsys):
    assert main(["check", "puma560"]) == 0
    out = capsys.readouterr().out
    assert "warning" in out
    assert "no mass" in out


def test_check_fails_on_an_error(capsys):
    code, found = answer(capsys, "check", "sixr")
    assert code == 1
    assert not found["ok"]
    assert {"level", "where", "what", "remedy", "joints"} == set(found["findings"][0])
    assert found["findings"][0]["level"] == "error"


def test_check_of_a_clean_robot_says_so(capsys, tmp_path):
    link = dy.Link(a=1.0, mass=2.0, com=(-0.5, 0, 0), inertia=(0.1, 0.2, 0.2), limits=(-3, 3))
    path = tmp_path / "clean.toml"
    down = (0, -9.81, 0)
    dy.Robot.from_dh("clean", convention="standard", gravity=down, links=[link]).save(path)
    assert main(["check", str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.out == "clean: no findings\n" and not printed.err


def test_agree_prints_the_table(capsys, no_peers):
    assert main(["agree", "planar-rr", "--samples", "3"]) == 0
    printed = capsys.readouterr()
    assert "planar-rr: agrees" in printed.out
    assert "gibbs-appell" in printed.out
    assert "not installed: pip install pin" in printed.out
    assert printed.err == "comparing planar-rr\n"


def test_agree_json(capsys, no_peers):
    code, (table,) = answer(capsys, "agree", "rppr", "--samples", "3", "--seed", "5")
    assert code == 0
    assert (table["robot"], table["samples"], table["seed"]) == ("rppr", 3, 5)
    assert table["ok"] is True
    assert all(row["ok"] for row in table["rows"])
    (gap,) = [row for row in table["rows"] if row["source"] == "regressor"]
    assert gap["difference"] is None
    assert "com_factor" in gap["reason"]


def test_agree_gives_one_line_per_robot(capsys, no_peers):
    some = {"planar-rr", "scara", "irb140"}  # the last has no masses
    assert main(["agree", *some, "--samples", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {x.split()[0] for x in lines if x.strip()} >= some


def test_agree_all_is_every_open_arm():
    assert set(every_robot((), True)) >= set(OPEN_ARMS)
    assert not any(load_model(name).closures for name in every_robot((), True))


def test_agree_fails_above_a_limit(capsys, no_peers, monkeypatch):
    monkeypatch.setattr("dynamis.agree.table.LIMIT", 0.0)
    assert main(["agree", "puma560", "--samples", "2"]) == 1
    assert "puma560: disagrees" in capsys.readouterr().out
    assert main(["agree", "puma560", "scara", "--samples", "2"]) == 1
    assert "puma560, gibbs-appell, inverse dynamics: " in capsys.readouterr().out


# wrong input


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (["agre"], "command 'agre' does not exist", "did you mean 'agree'?"),
        (["show", "puma56"], "'puma56' is neither", "did you mean 'puma560'?"),
        (["agree"], "no robot was given", "--all"),
        (["agree", "puma560", "--all"], "both --all and puma560", ""),
        (["agree", "puma560", "--samples", "0"], "samples is 0", ""),
        (["check", "nowhere/arm.toml"], "nowhere", ""),
        (["check", "nowhere/arm.urdf"], "nowhere", ""),
        (["show", "."], "directory", ""),
        (["show", "puma560", "--jsn"], "option '--jsn' does not exist", "did you mean '--json'?"),
        (["simulate", "puma560", "--gaol=1"], "option '--gaol'", "did you mean '--goal'?"),
        (["simulate", "planar-rr", "--goal", "zro"], "goal is 'zro', expected 2", "'zero'?"),
        (["simulate", "planar-rr", "--goal", "1"], "expected 2: joint1, joint2", "--goal 0.1,0.2"),
        (["show", "planar-rr", "--q", "0,5", "-0,3"], "q has 4 numbers", "point: --q 0.5 -0.3"),
        (["show", "scara", "--q", "π/4", "0", "30 deg"], "q of joint3 is 30deg", "a length"),
        (
            ["simulate", "planar-rr", "--goal", "1,1", "--kp", "0,5", "0,3", "--kd", "1"],
            "kp has 4 numbers, expected 1 or 2",
            "decimals have a point: --kp 0.5 0.3",
        ),
        (["equations", "planar-rr", "--q", "m1,2"], "q is 'm1,2', expected 2 numbers", "zero"),
        (["show", "planar-rr", "--q", "1,,x"], "q is '1,,x', expected 2 numbers", "zero"),
        (["simulate", "planar-rr", "--kpp", "1"], "option '--kpp'", "did you mean '--kp'?"),
        (["simulate", "planar-rr", "--kp", "1"], "--kp was given without --controller", "pid"),
        (
            ["simulate", "planar-rr", "--controller", "point-to-point", "--ki", "3"],
            "point-to-point has no gain ki",
            "gains of point-to-point are --kp and --kd: 1 value, or 2 as in --kp 100,90",
        ),
        (
            ["simulate", "planar-rr", "--goal", "1,1", "--kp", "1", "2", "3", "--kd", "1"],
            "kp has 3 numbers, expected 1 or 2: joint1, joint2",
            "gains of computed-torque are --kp, --kd and --ki",
        ),
        (
            ["study", "planar-rr", "--goal", "1,1", "--kp", "9", "--mass", "0.1"],
            "computed-torque was given kp without kd",
            "--bandwidth",
        ),
        (
            ["simulate", "planar-rr", "--controller", "pid", "--kp", "1", "--bandwidth", "5"],
            "--bandwidth and --kp were both given",
            "leave one out",
        ),
        (["export", "planar-rr", "--safe", "zero"], "--safe is an option of controllers", "too"),
        (
            ["export", "planar-rr", "fk", "--controller", "pid"],
            "--controller was given with the function 'fk'",
            "one by one",
        ),
        (
            ["export", "planar-rr", "--controller", "pid", "--safe-damping", "aut"],
            "--safe-damping is 'aut', expected one number, one per joint, or \"auto\"",
            "",
        ),
        (
            ["simulate", "planar-rr", "--controller", "piid"],
            "--controller is 'piid', expected 'pid', 'point-to-point', 'computed-torque', 'feed",
            "did you mean 'pid'?",
        ),
        (["export", "planar-rr", "--safe=no"], "--safe is 'no', expected 'zero', 'gravity'", ""),
        (["simulate", "planar-rr", "--dt", "1,5x"], "--dt is '1,5x', expected a number", ""),
        (["agree", "--samples", "2.5"], "--samples is '2.5', expected a whole number", ""),
        (["simulate", "planar-rr", "--dt"], "--dt was given without a value", ""),
        (["export", "planar-rr", "--safe", "--json"], "--safe was given without a value", ""),
        (["simulate"], "missing from dynamis simulate: ROBOT", "see dynamis simulate --help"),
        (["robots", "more"], "unexpected argument: more", "see dynamis robots --help"),
        (["completion", "bosh"], "invalid choice 'bosh' for argument 'shell'", "completion --help"),
    ],
)
def test_errors_go_to_stderr_with_a_hint(words, said, hint, capsys):
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error: " in printed.err
    assert said in printed.err
    assert hint in printed.err


def test_a_robot_without_configurations_says_so(capsys, arm):
    assert main(["simulate", arm, "--goal", "home"]) == 2
    assert (
        "no named configurations: give numbers, or add [configurations]" in capsys.readouterr().err
    )


@pytest.mark.parametrize("folder", ["", "sub/"])
def test_a_file_without_its_suffix_is_pointed_at(capsys, tmp_path, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / folder / "my_arm.toml").write_text(BROKEN)
    assert main(["check", f"{folder}my_arm"]) == 2
    assert f"hint: did you mean '{folder}my_arm.toml'?" in capsys.readouterr().err


def test_a_broken_file_gives_no_traceback(tmp_path):
    path = tmp_path / "broken.toml"
    path.write_text(BROKEN)
    ran = shell("show", str(path))
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr
    assert "hint: did you mean 'revolute'?" in ran.stderr


@pytest.mark.parametrize("words", [["show"], ["show", "puma560", "--jsn"], ["agree", "--samples"]])
def test_wrong_usage_exits_with_2(words):
    ran = shell(*words)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr


# simulate


def test_a_pid_keeps_up_with_its_quintic(compiled, capsys):
    goal = ("--goal", "0.5,-0.4,0.6,0.2,0.3,0.1", "--bandwidth", "30", "--controller", "pid")
    code, found = answer(capsys, "simulate", "puma560", *goal)
    assert code == 0 and found["message"] == "" and found["end"] == 2.0
    lag = 0.3 * 2 / 30  # rad at the mean speed, if the velocity itself were damped
    assert max(found["rms_error"]) < 0.6 * lag


def test_what_the_step_damps_of_elastic_joints_is_said(capsys, tmp_path):
    soft = dy.load("planar-2link")
    for k in range(2):
        soft = soft.with_drive(k, rotor_inertia=1e-4, gear=100, stiffness=1e6)
    soft.save(tmp_path / "soft.toml")
    line = ["simulate", str(tmp_path / "soft.toml"), "--duration", "0.01"]
    assert main(line) == 0
    said = capsys.readouterr().err
    assert "elastic joints: ros34pw2 in steps of 0.001 s damps modes above 97 Hz" in said
    code, found = answer(capsys, *line)
    assert code == 0 and found["integrator"] == "ros34pw2"
    assert max(found["numerical_damping"]["ratios"]) > 0.005
    _, found = answer(capsys, "simulate", "planar-2link", "--duration", "0.01")
    assert found["integrator"] == "rk4" and found["numerical_damping"] is None


MOVE = ("--start", "hanging", "--duration", "0.02")


@pytest.mark.parametrize(
    "words",
    [
        ["--goal", "-1.5,0.5"],
        ["--goal", "-1.5", "0.5"],
        ["--goal=-1.5 0.5"],
        ["--goal", "[-1.5, 0.5]"],
        ["--goal", "-1.5,", "0.5"],
        ["--goal", "-3/2", "1/2"],
        ["--goal", "-85.94366926962348deg,28.64788975654116deg"],
        ["--goal", "-85.94366926962348 deg", "28.64788975654116 deg"],
        ["--goal", "-85.94366926962348", "deg", "28.64788975654116", "deg"],
    ],
)
def test_a_place_as_people_write_it(words, capsys):
    for line in (["planar-rr", *words, *MOVE], [*words, "planar-rr", *MOVE]):
        assert main(["simulate", *line]) == 0
        said = capsys.readouterr().err
        assert said == "planar-rr, 0.02 s: computed torque, bandwidth 10 rad/s, to -1.5, 0.5\n"


def test_degrees_without_their_name_are_doubted(capsys):
    main(["simulate", "planar-rr", "--goal", "90", "12.5", "--duration", "0.01"])
    said = capsys.readouterr().err
    assert "goal of joint1 is 90 rad, 14 turns: degrees? write 90deg" in said
    assert "joint2" not in said
    main(["show", "planar-rr", "--q", "30", "45"])
    assert "q of joint2 is 45 rad, 7 turns: degrees? write 45deg" in capsys.readouterr().err
    main(["simulate", "cartesian-xy", "--goal", "90", "90", "--duration", "0.01"])
    assert "degrees" not in capsys.readouterr().err


def test_simulate_follows_a_file(capsys, tmp_path):
    points = tmp_path / "points.csv"
    points.write_text("t [ms],joint1 [deg],joint2 [deg]\n0,10,0\n20,11,1\n50,12,0\n")
    line = ["simulate", "planar-2link", "--reference", str(points)]
    code, found = answer(capsys, *line)
    assert code == 0 and found["end"] == 0.05 and max(found["rms_error"]) < 1e-3
    assert found["q"]["joint1"] == pytest.approx(math.radians(12), abs=1e-3)  # from 10 degrees on
    code, found = answer(capsys, *line, "--duration", "0.02")
    assert code == 0 and found["end"] == 0.02
    assert main(line) == 0
    assert "along points.csv" in capsys.readouterr().err
    points.write_text("q1,q2\n0,0\n0.1,0\n")
    code, found = answer(capsys, *line, "--duration", "0.2")
    assert code == 0 and found["end"] == 0.2
    assert main(line) == 2  # neither times, nor a duration, nor velocity limits
    assert "has no times" in capsys.readouterr().err
    assert main([*line, "--goal", "0.1,0.1"]) == 2
    assert "both given" in capsys.readouterr().err
    points.write_text("t,q1,q2\n0,0,0\n1,nan,0\n")
    assert main(line) == 2
    assert "points.csv, line 3, column 'q1'" in capsys.readouterr().err


def test_joints_that_stuck_the_whole_time_are_named(capsys, tmp_path):
    short = ["--duration", "0.1"]
    path = tmp_path / "arm.toml"
    dy.load("planar-rr").with_friction(coulomb=[0.0, 1e3]).save(path)
    assert main(["simulate", str(path), "--goal", "0.1,0.1", "--controller", "pid", *short]) == 0
    said = capsys.readouterr().err
    assert "warning: joint2 stuck the whole time although the reference moves" in said
    main(["simulate", str(path), "--goal", "0.1,0", "--controller", "pid", *short])
    assert "the whole time" not in capsys.readouterr().err


def test_a_step_that_is_too_coarse_is_named(capsys):
    fall = ["simulate", "pendulum3", "--duration", "2.5"]
    assert main([*fall, "--dt", "0.1"]) == 0
    said = capsys.readouterr().err
    assert "too coarse, its position is wrong by about" in said and "; use --dt 0.02" in said
    main([*fall, "--dt", "0.02"])
    assert "coarse" not in capsys.readouterr().err
    main([*fall, "--dt", "0.1", "--json"])
    error = json.loads(capsys.readouterr().out)["step_error"]
    assert error["joint"] in dy.load("pendulum3").joint_names and error["needed"] == 0.02
    main([*fall, "--dt", "0.02", "--json"])
    assert json.loads(capsys.readouterr().out)["step_error"] is None


def test_a_simulation_that_diverges_says_so_in_its_exit_code(capsys):
    code, found = answer(capsys, "simulate", "planar-rr", "--goal", "90,45", "--duration", "0.1")
    assert code == 1 and found["diverged"] and found["message"].startswith("diverged at t = ")
    words = " ".join((run_of("simulate").__doc__ or "").split())
    assert "0 if the simulation reaches its end, 1 if it ends early (diverged" in words


def test_a_move_that_ends_before_the_simulation(capsys):
    line = ["simulate", "planar-2link", "--goal", "0.1,0.2", "--duration", "0.05"]
    code, found = answer(capsys, *line, "--move", "0.03")
    assert code == 0 and found["end"] == 0.05
    assert list(found["q"].values()) == pytest.approx([0.1, 0.2], abs=1e-3)
    arm = dy.load("planar-2link")
    given = (arm, None, None, "0.1,0.2", None)
    options, duration, how = motion(*given, seconds=0.5)
    assert duration == 2.0 and how.endswith("to 0.1, 0.2 in 0.5 s")
    assert options["reference"].duration == 0.5
    assert motion(*given)[0]["reference"].duration == 2.0
    assert main([*line, "--move", "0.1"]) == 2
    assert "move is 0.1 s, expected at most the duration, 0.05 s" in capsys.readouterr().err
    assert main([*line, "--move", "0"]) == 2
    assert main(["simulate", "planar-2link", "--goal", "1"]) == 2
    assert "goal has 1 number, expected 2: joint1, joint2" in capsys.readouterr().err
    assert main(["simulate", "planar-2link", "--move", "1"]) == 2
    assert "without --goal" in capsys.readouterr().err


def test_gains_of_the_command_line_are_the_controllers(capsys):
    line = ["simulate", "planar-2link", "--goal", "0.1,0.2", "--duration", "0.05"]
    gains = ["--kp", "900", "400", "--kd", "60,30", "--ki", "200", "--torque-limit", "300"]
    code, found = answer(capsys, *line, "--controller", "pid", *gains)
    arm, fixed = dy.load("planar-2link"), {"gravity": True, "derivative": "error"}
    law = dy.control.JointPID((900.0, 400.0), 200.0, (60.0, 30.0), limit=300.0, **fixed)
    move = dy.trajectory.quintic([0.0, 0.0], [0.1, 0.2], 0.05)
    run = dy.simulate(arm, 0.05, controller=law, reference=move)
    assert code == 0 and list(found["q"].values()) == run.q[-1].tolist()
    assert found["gains"] == {"kp": [900.0, 400.0], "ki": [200.0] * 2, "kd": [60.0, 30.0]}
    assert found["largest_torque"] == np.abs(run.tau).max(axis=0).tolist()
    assert max(found["largest_torque"]) == 300.0
    assert main([*line, "--kp", "100", "--kd", "20"]) == 0
    said = capsys.readouterr().err
    assert "computed torque (kp 100; ki 0; kd 20), to 0.1, 0.2\n" in said
    assert main([*line, "--bandwidth", "20", "10", "--torque-limit", "900"]) == 0
    said = capsys.readouterr().err
    assert "computed torque, bandwidth 20, 10 rad/s, torque limit 900, to" in said


def test_a_controller_is_exported(capsys, tmp_path):
    words = [
        "--controller",
        "computed-torque",
        "--kp",
        "400",
        "--kd",
        "40",
        "--sample-time",
        "0.001",
    ]
    (tmp_path / "points.csv").write_text("t,q1,q2\n0,0,0\n1,0.1,0.2\n")
    words += ["--reference", str(tmp_path / "points.csv"), "--torque-limit", "200,100"]
    code, files = answer(
        capsys, "export", "planar-2link", *words, "--directory", str(tmp_path / "a")
    )
    arm, law = dy.load("planar-2link"), dy.control.ComputedTorque(400.0, 40.0, limit=(200.0, 100.0))
    move = dy.trajectory.from_file(tmp_path / "points.csv", arm)
    own = dy.export_controller(arm, law, tmp_path / "b", 0.001, reference=move)
    assert code == 0 and [Path(x).name for x in files] == [x.name for x in own]
    assert all(Path(x).read_bytes() == y.read_bytes() for x, y in zip(files, own, strict=True))


@pytest.mark.parametrize("given", ["auto", "2,1"])
def test_a_controller_is_exported_with_damping(capsys, tmp_path, given):
    words = ["--controller", "pid", "--safe", "gravity", "--safe-damping", given]
    code, files = answer(
        capsys, "export", "planar-2link", *words, "--target", "matlab", "--directory", str(tmp_path)
    )
    damping = "'auto'" if given == "auto" else "[2.0, 1.0]"
    assert code == 0 and f"safe_damping={damping}" in Path(files[0]).read_text()


def test_simulate_warns_of_errors_in_the_description(capsys, tmp_path):
    link = dy.Link(a=1.0, mass=2.0, com=(-0.5, 0, 0), inertia=(0.1, 0.2, 0.2), limits=(3, -3))
    path = tmp_path / "reversed.toml"
    dy.Robot.from_dh("reversed", convention="standard", links=[link]).save(path)
    assert main(["simulate", str(path), "--duration", "0.01"]) == 0
    said = capsys.readouterr().err
    assert f"warning: check reports 1 error: dynamis check {path}\n" in said
    assert main(["simulate", "scara", "--duration", "0.01"]) == 0
    assert "check" not in capsys.readouterr().err


def test_warnings_of_a_file_are_said_in_one_line(capsys, tmp_path):
    link = dy.Link(a=1.0, alpha=90.0, mass=2.0, com=(-0.5, 0, 0), inertia=(0.1, 0.2, 0.2))
    path = tmp_path / "degrees.toml"
    dy.Robot.from_dh("degrees", convention="standard", links=[link]).save(path)
    for command in (["simulate", str(path), "--duration", "0.01"], ["show", str(path)]):
        assert main(command) == 0
        said = capsys.readouterr().err
        assert said.count(f"warning: check reports 1 warning: dynamis check {path}\n") == 1
    assert main(["show", "puma560"]) == 0  # its page says what is known of it
    assert not capsys.readouterr().err


def test_a_run_beyond_its_limits_mentions_stops(capsys, tmp_path):
    link = dy.Link(a=1.0, mass=2.0, com=(-0.5, 0, 0), inertia=(0.1, 0.2, 0.2), limits=(-0.1, 1))
    path = tmp_path / "bar.toml"
    arm = dy.Robot.from_dh("bar", convention="standard", links=[link], gravity=(0, -9.81, 0))
    arm.save(path)
    fall = ["simulate", str(path), "--duration", "0.5", "--dt", "0.01"]
    assert main(fall) == 0
    assert "hint: --stops simulates end stops at the joint limits\n" in capsys.readouterr().err
    assert main([*fall, "--stops"]) == 0
    assert "--stops" not in capsys.readouterr().err


def test_simulate_says_what_it_did(capsys, tmp_path):
    film = tmp_path / "run.csv"
    assert main(["simulate", "planar-rr", "--duration", "0.01", "--save", str(film)]) == 0
    free = capsys.readouterr()
    assert "end (rad)" in free.out and "largest torque (N m)" in free.out
    assert free.err == f"planar-rr, 0.01 s: free motion, no controller\nwrote {film}\n"
    main(["simulate", "scara", "--duration", "0.01", "--controller", "pid", "--bandwidth", "5"])
    held = capsys.readouterr()
    assert "end (rad or m)" in held.out and "RMS error (rad or m)" in held.out
    what, gains = held.err.splitlines()
    assert what == (
        "scara, 0.01 s: pid with gravity compensation, derivative of the error, "
        "bandwidth 5 rad/s, keeps the initial position"
    )
    law = dy.control.JointPID.from_bandwidth(dy.load("scara"), 5.0)
    kp, kd = (", ".join(f"{x:.6g}" for x in row) for row in (law.kp, law.kd))
    assert gains == f"gains: kp {kp}; ki 0; kd {kd}"
    assert main(["simulate", "planar-rr", "--goal", "90,45", "--duration", "0.1"]) == 1
    assert "the simulation ended early: diverged at" in capsys.readouterr().err
    assert main(["simulate", "planar", "rr"]) == 2
    assert "error: unexpected argument: rr\n" in capsys.readouterr().err


# streams


def test_no_colours_in_a_pipe():
    ran = shell("check", "puma560")
    assert ESCAPE not in ran.stdout + ran.stderr
    assert ESCAPE in shell("check", "puma560", FORCE_COLOR="1").stdout


def test_stdout_is_json_alone():
    ran = shell("check", "puma560", "--json")
    assert json.loads(ran.stdout)["robot"] == "puma560"
    assert ran.stderr == ""


@pytest.mark.parametrize("words", [["show", "puma560"], ["show", "puma560", "--json"]])
def test_a_reader_that_stops_early_is_no_error(words):
    command = [sys.executable, "-m", "dynamis", *words]
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env) as process:
        process.stdout.close()  # before anything was written
        assert process.stderr.read() == ""


def test_ascii_terminals_are_served():
    ran = shell("show", "puma560", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.returncode == 0
    assert ran.stdout.isascii()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_one_line(tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dynamis", "show", "planar-rr"], stdout=full,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.strip() == "error: cannot write: No space left on device"
