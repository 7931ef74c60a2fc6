"""The files of an exported controller: where they come from, names, options, refusals."""

import ast
import re
import zipfile

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisWarning, OptionError
from dynamis.realtime import Law

from .laws_in_c import (
    CONTROLLERS,
    INF,
    NAN,
    control,
    passes,
    write,
)

pytestmark = pytest.mark.usefixtures("gcc")


def test_exporting_twice_gives_the_same_bytes(tmp_path):
    robot = dy.load("planar-2link")
    for folder in ("a", "b"):
        law = CONTROLLERS["torque"](robot)
        dy.export_controller(dy.load("planar-2link"), law, tmp_path / folder, trig="own")
    files = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert len(files) == 10
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_every_file_says_where_it_comes_from(tmp_path):
    robot = dy.load("planar-2link")
    files = dy.export_controller(
        robot, control.ComputedTorque(kp=64.0, kd=np.array([16.0, 1 / 3])), tmp_path, 0.002,
        limit=[5.0, 0.1 + 0.2], velocity="difference", velocity_filter=40.0, dtype="float32",
    )  # fmt: skip
    for file in files:
        if file.suffix == ".toml":  # the robot itself, as it is saved
            continue
        text = file.read_text()
        assert f"dynamis {dy.__version__}" in text, file.name
        assert "Again: python regenerate.py" in text, file.name
        assert "1e+300" not in text, file.name
        assert re.search(r"Model [0-9a-f]{16}, robot [0-9a-f]{16}, program [0-9a-f]{16}", text), (
            file.name
        )
        assert "Controller: ComputedTorque(kp=64.0" in text, file.name
        words = ["sample_time=0.002", "limit=[5.0, 0.30000000000000004]", "ramp=1.0"]
        words += ["velocity_filter=40.0", "dtype='float32'", "0.3333333333333333"]
        for option in words:
            assert option in text, (file.name, option)


def test_another_model_has_another_hash(tmp_path):
    def model(mass):
        links = [dy.Link(mass=mass, a=1.0)]
        robot = dy.Robot.from_dh("one", convention="standard", links=links)
        folder = tmp_path / str(mass)
        dy.export_controller(robot, control.JointPID(kp=1.0), folder)
        return re.search("Model ([0-9a-f]+)", (folder / "README.md").read_text())[1]

    assert model(1.0) != model(1.0 + 1e-12)


HOSTILE = [
    '*/ int main(void){return system("rm -rf /");} /*"\n#include <evil>\\\n??/',
    "*\\ int evil(void); /\\* x",
    "???/ ????/ ??/\\",
    "日本 ロボット \u202e é $(shell evil) ${evil} #[[ ]] %s %n",
    "a\r\nb\0c\x1b[0m `evil` | <b>",
    "x" * 500,
]


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_cannot_inject(tmp_path, name):
    links = [dy.Link(name=name, joint_name=name + "j", mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(name, convention="standard", links=links)
    files = dy.export_controller(robot, control.JointPID(kp=1.0), tmp_path, trig="own")
    for file in files:
        assert re.fullmatch(r"[A-Za-z0-9_.]+", file.name)
    for file in files:
        if file.suffix not in (".c", ".h", ".hpp"):
            continue
        text = file.read_text()
        assert text.isascii() and "??" not in text
        head = text[: text.index("*/")]
        assert head.count("/*") == 1 and "\\" not in head
        assert not re.search(r"\b(evil|system)\b", text[len(head) :])
    for file in tmp_path.glob("*[Mm]ake*"):
        for line in file.read_text().splitlines():
            assert line.startswith("#") or not re.search(r"\bevil\b", line)
            assert not (line.startswith("#") and line.endswith("\\"))
    script = (tmp_path / "regenerate.py").read_text()
    assert script.isascii()
    for node in ast.walk(ast.parse(script)):
        for word in (v for v in vars(node).values() if isinstance(v, str)):
            safe = re.fullmatch(r"[a-z0-9_]+_robot\.toml", word)
            assert safe or not re.search(r"evil|system", word)
    stem = next(f for f in files if f.suffix == ".h").with_suffix("")
    passes(stem, libm=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_time": 0}, "sample_time is 0, expected seconds above 0"),
        ({"sample_time": INF}, "sample_time is inf"),
        ({"sample_time": "fast"}, "sample_time is 'fast'"),
        ({"ramp": NAN}, "ramp is nan"),
        ({"safe": "zeros"}, "safe is 'zeros'"),
        ({"velocity": "guess"}, "velocity is 'guess'"),
        ({"velocity_filter": 5.0}, "velocity is 'measured'"),
        ({"velocity_filter": -5.0, "velocity": "difference"}, "velocity_filter is -5.0"),
        ({"limit": NAN}, "limit is nan"),
        ({"safe_damping": -1.0}, "safe_damping is -1.0"),
        ({"trig": "mine"}, "trig is 'mine'"),
        ({"sample_time": 0.01}, "the controller's own is 0.005"),
        ({"latch": 0}, "latch is 0"),
        ({"target": "matla"}, "target is 'matla'"),
        ({"target": "fmu", "dtype": "float32"}, "the variables of an FMU are float64"),
        ({"target": "fmu", "trig": "own"}, "trig is 'own', but target 'fmu'"),
        ({"target": "fmu", "fmi": "1.0"}, "fmi is '1.0'"),
        ({"target": "casadi", "dtype": "float32"}, "CasADi computes in float64"),
        ({"target": "matlab", "trig": "own"}, "trig is 'own', but target 'matlab'"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, message):
    robot = dy.load("planar-2link")
    controller = control.JointPID(kp=1.0, sample_time=0.005)
    with pytest.raises(dy.errors.DynamisError, match=re.escape(message)):
        dy.export_controller(robot, controller, tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_infinite_limits_and_numpy_numbers(tmp_path, dtype):
    robot = dy.load("planar-2link")
    controller = control.ComputedTorque(kp=np.float64(9.0), kd=6.0, limit=INF)
    law = Law(controller, robot, np.float64(0.005), limit=INF, ramp=1)
    passes(write(law, tmp_path, dtype, "own"), libm=False)


def test_what_is_no_controller_or_robot_is_refused(tmp_path):
    robot, law = dy.load("planar-2link"), dy.control.JointPID(1.0)
    with pytest.raises(OptionError, match=r"controller is 'pid', expected one of dy.control"):
        dy.export_controller(robot, "pid", tmp_path)
    for given in (("planar-2link", law), (law, "planar-2link")):
        with pytest.raises(OptionError, match=r"(?s)robot is .*expected a Robot.*use dy.load"):
            dy.export_controller(*given, tmp_path)


@pytest.mark.parametrize(
    ("controller", "message"),
    [
        (control.JointPID(kp=INF), "kp holds inf, expected finite numbers"),
        (control.ComputedTorque(kp=1.0, kd=[1.0, INF]), "kd holds inf"),
        (control.MomentumObserver(gain=10.0), "estimates external torques and commands none"),
        (control.SingleJoint(inertia=1.0), "analyses one joint on paper"),
        (3.0, "controller is 3.0"),
    ],
)
def test_what_is_no_controller_of_an_arm_is_refused(tmp_path, controller, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        dy.export_controller(dy.load("planar-2link"), controller, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("target", ["c", "fmu", "matlab"])
def test_a_folder_that_cannot_be(tmp_path, target):
    (tmp_path / "file").write_text("")
    with pytest.raises(dy.errors.FileError, match="cannot write"):
        dy.export_controller(
            dy.load("planar-2link"),
            control.JointPID(kp=1.0),
            tmp_path / "file" / "x",
            target=target,
        )


@pytest.mark.parametrize("fmi", ["3.0", "2.0"])
def test_a_unit_of_either_standard(tmp_path, fmi):
    (file,) = dy.export_controller(
        dy.load("planar-2link"), control.JointPID(kp=1.0), tmp_path, target="fmu", fmi=fmi
    )
    text = zipfile.ZipFile(file).read("modelDescription.xml").decode()
    assert f'fmiVersion="{fmi}"' in text


def test_unlimited_gains_say_none(tmp_path):
    robot = dy.load("planar-2link")
    dy.export_controller(robot, control.ComputedTorque(1.0, 1.0, limit=[5.0, INF]), tmp_path)
    assert "limit = [5.0, none]" in (tmp_path / "README.md").read_text()
    dy.export_controller(robot, control.ComputedTorque(1.0, 1.0), tmp_path)
    assert "limit = none" in (tmp_path / "README.md").read_text()


def test_the_page_tells_the_protocol(tmp_path):
    robot = dy.load("planar-2link")
    dy.export_controller(robot, control.JointPID(kp=1.0), tmp_path, 0.002, latch=7)
    text = (tmp_path / "README.md").read_text()
    plant = "dynamis plant planar_2link_jointpid_robot.toml --rate 500 --port 5600"
    for words in (plant, "--hold", "7 bad samples in a row", "0x314e5944", "56 bytes in all"):
        assert words in text
    head = (tmp_path / "planar_2link_jointpid.h").read_text()
    assert "SAFE (7 in a row" in head


def test_real_time_is_at_hand():
    from dynamis import realtime

    for name in realtime.__all__:
        assert callable(getattr(realtime, name)), name
    assert realtime.Law is Law
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = realtime.nothing


def test_long_names_keep_the_controllers_apart(tmp_path):
    import dataclasses

    long = dy.Robot(dataclasses.replace(dy.load("planar-2link").model, name="r" * 60))
    stems = {
        write(Law(law, long, 0.001), tmp_path).name
        for law in (dy.control.JointPID(1.0), dy.control.PointToPoint(1.0, 1.0))
    }
    assert len(stems) == 2 and all(len(stem) <= 40 for stem in stems)


def test_what_shakes_the_arm_or_passes_its_limits_is_said(tmp_path):
    """Written all the same: the model may lack the inertia of the arm's rotors."""
    arm = dy.load("ur5e")
    law = control.ComputedTorque(4e6, 4e3)
    with pytest.warns(DynamisWarning, match="takes 8 times the velocity"):
        assert dy.export_controller(arm, law, tmp_path / "a", 0.002)
    move = dy.trajectory.quintic(np.zeros(6), [0, 0, 90, 0, 0, 0], 60.0)
    with pytest.warns(DynamisWarning, match="reference position of 'elbow_joint' 90 rad"):
        assert dy.export_controller(
            arm, control.ComputedTorque.from_bandwidth(arm, 20.0), tmp_path / "b", reference=move
        )
    assert "not damped" not in (tmp_path / "b" / "README.md").read_text()


@pytest.mark.parametrize("target", ["c", "ros2"])
def test_the_readme_says_how_the_arm_is_let_down(tmp_path, target):
    arm = dy.load("planar-2link")
    law, told = control.JointPID(9.0, kd=1.0), {"safe": "gravity", "target": target}
    dy.export_controller(arm, law, tmp_path / "a", **told)
    text = (tmp_path / "a" / "README.md").read_text()
    assert 'by 20/s times the mass matrix times the velocity (`safe_damping` "auto")' in text
    assert "safe_damping='auto'," in (tmp_path / "a" / "regenerate.py").read_text()
    dy.export_controller(arm, law, tmp_path / "b", safe_damping=0, **told)
    assert "not damped (`safe_damping` is 0)" in (tmp_path / "b" / "README.md").read_text()


@pytest.mark.parametrize("velocity", ["measured", "difference"])
def test_a_position_gain_too_high_for_the_samples_is_said(velocity, tmp_path):
    """kp h^2 = 25 of a joint under computed torque: its discrete loop has an eigenvalue of -9."""
    arm, how = dy.load("planar-rr"), {"sample_time": 0.005, "velocity": velocity}
    with pytest.warns(DynamisWarning, match=r"every 0.005 s a deviation of joint 'joint\d' grows"):
        dy.export_controller(arm, control.ComputedTorque(1e6, 20.0), tmp_path / "high", **how)
    dy.export_controller(arm, control.ComputedTorque(1e4, 80.0), tmp_path / "low", **how)
