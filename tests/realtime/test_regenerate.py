"""regenerate.py beside exported files: the same bytes again, from files and numbers alone."""

import json
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime import Law
from dynamis.realtime.reference_file import read_reference, reference_text
from dynamis.realtime.regenerate import spelt
from tests.thorough import thorough_but

pytestmark = pytest.mark.usefixtures("compiled")  # the runs that self-tests replay
control, trajectory = dy.control, dy.trajectory
HOSTILE = ['"""\n*/ import evil #', "'); evil() #\\", "a\r\nb\0\u202e日本 ${evil} `evil`"]


def other(robot):
    """The robot with every parameter off by a little: numbers with all their digits."""
    return robot.with_parameters(robot.parameters.values * (1.0 + 1.0 / 3.0))


CONTROLLERS = {
    "pid": lambda r: control.JointPID.from_bandwidth(r, 8.0, integral=True, limit=[50, np.inf]),
    "point": lambda r: control.PointToPoint(np.float32(0.1), [np.float64(1 / 3), 2]),
    "torque": lambda r: control.ComputedTorque.from_bandwidth(
        r, 8.0, integral=True, model=other(r)
    ),
    "own model": lambda r: control.ComputedTorque(1.0, 1.0, model=r),
    "forward": lambda r: control.FeedForward.from_bandwidth(r, 8.0),
    "adaptive": lambda r: control.SlotineLi.from_bandwidth(
        r, 8.0, 0.1, adapt=("*.m",), start_from=r.parameters.values / 3
    ),
    "task": lambda r: control.TaskSpace.from_bandwidth(r, 8.0, task=[True, True, *[False] * 4]),
    "impedance": lambda r: control.Impedance(stiffness=100.0, damping=20.0, task="position"),
}
PLANS = {
    "cubic": lambda r: trajectory.cubic([0.1, 0.2], [0.3, 1 / 3], 0.7),
    "quintic": lambda r: trajectory.quintic([0.1, 0.2], [0.3, 1 / 3], 0.7, qd1=0.1),
    "septic": lambda r: trajectory.septic([0.1, 0.2], [0.3, 1 / 3], 0.7, 0.1, 0.2, 0.3, 1, 1 / 7),
    "via": lambda r: trajectory.via([[0, 0], [0.1, 1 / 3], [0.4, 0.2]], [0, 0.3, 0.7]),
    "trapezoid": lambda r: trajectory.trapezoid([0.1, 0.2], [0.3, 1 / 3], 0.9),
    "fourier": lambda r: trajectory.fourier(
        [[0.1, 0.2]] * 2, [[1 / 3, 0.3]] * 2, 0.9, harmonics=[2, 5]
    ),
    "sine": lambda r: trajectory.sine([0.1, 0.2], 1 / 3, [0.5, 0.7], 0.1, duration=0.3),
    "line": lambda r: trajectory.line(
        r, r.fk([0.3, 0.9])[:3, 3], r.fk([0.4, 1.1])[:3, 3], 0.5, task="position"
    ),
}  # fmt: skip


def exported(folder, controller, robot, **options):
    return {
        f.name: f.read_bytes() for f in dy.export_controller(robot, controller, folder, **options)
    }


def again(folder, target, monkeypatch):
    """What the script writes to another folder."""
    monkeypatch.setattr(sys, "argv", ["regenerate.py", str(target)])
    runpy.run_path(str(folder / "regenerate.py"), run_name="__main__")
    return {f.name: f.read_bytes() for f in target.iterdir()}


@pytest.mark.parametrize("kind", thorough_but(["pid", "torque"], CONTROLLERS))
def test_controllers(tmp_path, monkeypatch, kind):
    robot = dy.load("planar-2link")
    controller = CONTROLLERS[kind](robot)
    options = {"limit": np.array([7.0, 1 / 3]), "safe": "gravity", "safe_damping": 0.3, "latch": 5}
    files = exported(tmp_path / "a", controller, robot, **options)
    assert again(tmp_path / "a", tmp_path / "b", monkeypatch) == files
    another = "planar_2link_computedtorque_model.toml" in files
    assert another == (kind == "torque")


@pytest.mark.parametrize("kind", PLANS)
def test_trajectories(tmp_path, monkeypatch, kind):
    robot = dy.load("planar-2link")
    options = {"reference": PLANS[kind](robot), "dtype": "float32", "trig": "own"}
    options |= {"velocity": "difference", "velocity_filter": 30.0, "sample_time": 1 / 300}
    files = exported(tmp_path / "a", control.JointPID(kp=10.0, kd=1.0), robot, **options)
    assert again(tmp_path / "a", tmp_path / "b", monkeypatch) == files


def test_time_optimal_comes_back(tmp_path):
    pytest.importorskip("toppra")
    robot = dy.load("planar-2link")
    plan = trajectory.time_optimal(robot, [[0, 0], [0.4, 0.3], [0.8, 0.1]], velocity=1, torque=5000)
    (tmp_path / "plan.json").write_text(reference_text(plan))
    t = np.linspace(-0.1, plan.duration + 0.1, 99)
    for a, b in zip(plan(t), read_reference(tmp_path / "plan.json")(t), strict=True):
        assert (a == b).all()


@pytest.mark.parametrize("kind", PLANS)
def test_a_trajectory_comes_back_to_the_last_digit(tmp_path, kind):
    robot = dy.load("planar-2link")
    plan = PLANS[kind](robot)
    (tmp_path / "plan.json").write_text(reference_text(plan))
    back = read_reference(tmp_path / "plan.json")
    assert type(back) is type(plan) and back.duration == plan.duration
    t = np.linspace(-0.1, plan.duration + 0.1, 99)
    for a, b in zip(plan(t), back(t), strict=True):
        assert (a == b).all()
    laws = [Law(control.JointPID(kp=10.0), robot, 0.01, one) for one in (plan, back)]
    assert laws[0].program().hash == laws[1].program().hash


@pytest.mark.parametrize("target", ["matlab", "casadi", "ros2"])
def test_other_targets(tmp_path, monkeypatch, target):
    robot = dy.load("planar-2link")
    files = exported(tmp_path / "a", control.JointPID(kp=10.0), robot, target=target)
    assert again(tmp_path / "a", tmp_path / "b", monkeypatch) == files


@pytest.mark.thorough
def test_by_hand_in_a_process_of_its_own(tmp_path):
    robot = dy.load("scara")
    law = control.ComputedTorque.from_bandwidth(robot, 8.0, integral=True, model=other(robot))
    plan = trajectory.via(np.outer([0, 0.3, 0.1], np.arange(1, 4) / 6), [0, 0.4, 0.9])
    files = exported(tmp_path / "a", law, robot, reference=plan, dtype="float32", trig="own")
    command = [sys.executable, "regenerate.py", str(tmp_path / "b")]
    done = subprocess.run(command, cwd=tmp_path / "a", capture_output=True, text=True, check=True)
    assert done.stderr == "" and len(done.stdout.splitlines()) == len(files) == 12
    assert {f.name: f.read_bytes() for f in (tmp_path / "b").iterdir()} == files
    here = [sys.executable, str(tmp_path / "b" / "regenerate.py")]  # into its own folder
    subprocess.run(here, cwd=tmp_path, capture_output=True, check=True)
    assert {f.name: f.read_bytes() for f in (tmp_path / "b").iterdir()} == files
    assert {p.name for p in tmp_path.iterdir()} == {"a", "b"}


@pytest.mark.parametrize("target", ["c", "matlab", "casadi", "ros2"])
def test_every_file_of_text_says_whence_it_is(tmp_path, target):
    robot = dy.load("planar-2link")
    law = control.ComputedTorque.from_bandwidth(robot, 8.0, model=other(robot))
    files = exported(tmp_path, law, robot, reference=PLANS["via"](robot), target=target)
    texts = {name: b.decode() for name, b in files.items() if not name.endswith(".casadi")}
    assert {"_robot.toml", "_model.toml", "_reference.json"} < {
        name.removeprefix("planar_2link_computedtorque") for name in texts
    }
    for name, text in texts.items():
        assert f"ComputedTorque of planar-2link: generated by dynamis {dy.__version__}." in text, (
            name
        )
        assert re.search("Model [0-9a-f]{16}, .*program [0-9a-f]{16}", text), name
        assert re.search("Options: .*sample_time=0.005", text), name
        if name.endswith(".toml"):
            assert text.startswith("# ComputedTorque")
    plan = json.loads(texts["planar_2link_computedtorque_reference.json"])
    assert isinstance(plan["generated"], list) and plan["generated"][1].startswith("Again: python")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_come_back_and_do_nothing(tmp_path, monkeypatch, name):
    links = [dy.Link(name=name, joint_name=name + "j", mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(name, convention="standard", links=links)
    law = control.ComputedTorque(9.0, 6.0, model=other(robot))
    files = exported(tmp_path / "a", law, robot)
    assert again(tmp_path / "a", tmp_path / "b", monkeypatch) == files
    script = files["regenerate.py"].decode("ascii")
    code = re.sub("(?m)^#.*$", "", script)
    assert not re.search("evil", re.sub(r"""(?m)here / "[a-z0-9_]+\.toml"\)$""", "", code))
    stem = next(n for n in files if n.endswith("_robot.toml"))
    assert dy.load(tmp_path / "a" / stem).joint_names == robot.joint_names


@pytest.mark.parametrize("change", [{"kind": "os.system"}, {"times": 3}, {"kind": None}])
def test_a_file_is_data(tmp_path, change):
    table = json.loads(reference_text(trajectory.cubic(0.0, 1.0, 1.0)))
    (tmp_path / "plan.json").write_text(json.dumps({**table, **change}))
    with pytest.raises(dy.errors.FileError, match="not a trajectory of dynamis"):
        read_reference(tmp_path / "plan.json")
    with pytest.raises(dy.errors.FileError, match="cannot read"):
        read_reference(tmp_path / "none.json")


def test_a_law_of_ones_own_says_so(tmp_path):
    @dataclass(frozen=True)
    class Mine(control.JointPID):
        pass

    files = exported(tmp_path, Mine(kp=1.0), dy.load("planar-2link"))
    assert "regenerate.py" not in files
    assert b"with your own classes" in files["README.md"]


def test_values_are_spelt_exactly():
    given = [1, 1 / 3, np.float32(0.1), (np.int64(2),), np.eye(2), "a'\n\u202e", None, True]
    text = spelt(given)
    assert text.isascii()
    back = eval(text, {"__builtins__": {}})
    assert back == [
        1,
        1 / 3,
        float(np.float32(0.1)),
        (2,),
        [[1, 0], [0, 1]],
        "a'\n\u202e",
        None,
        True,
    ]
    assert spelt(float("-inf")) == 'float("-inf")' and spelt([object()]) is None


# kernels of a robot


@pytest.mark.parametrize(
    ("target", "dtype", "optimise"),
    [
        ("c", "float32", "operations"),
        ("matlab", "float64", "speed"),
        ("casadi", "float64", "nothing"),
    ],
)
def test_the_command_in_the_files_writes_them_again(tmp_path, target, dtype, optimise):
    name = "an arm's; rm -rf $HOME `evil`"
    links = [dy.Link(name="l", joint_name="j", mass=1 / 3, a=1.0)]
    robot = dy.Robot.from_dh(name, convention="standard", links=links)
    kernels = ["inverse_dynamics", "inverse_dynamics_derivatives:column"]
    a, b = tmp_path / "a", tmp_path / "b"
    files = robot.export(kernels, target, a, dtype, optimise)
    texts = [f.read_text() for f in files if f.suffix not in (".casadi", ".toml")]
    (command,) = {re.search("Again: (dynamis export .*)", text)[1] for text in texts}
    b.mkdir()
    (model,) = a.glob("*.toml")
    (b / model.name).write_bytes(model.read_bytes())
    line = command.replace("dynamis", f"{sys.executable} -m dynamis", 1)
    subprocess.run(line, shell=True, cwd=b, check=True, capture_output=True)
    assert {f.name for f in files} == {f.name for f in b.iterdir()}
    for file in files:
        assert file.read_bytes() == (b / file.name).read_bytes(), file.name
    for text in texts:
        assert re.search("Model [0-9a-f]{16}", text), text[:300]
        assert re.search("Program inverse_dynamics [0-9a-f]{16}", text)


MESH = """<robot name="m">
<link name="base"/>
<link name="arm">
 <inertial><origin xyz="0.1 0 0"/><mass value="1.5"/>
 <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
 <visual><geometry><mesh filename="package://somewhere/arm.stl"/></geometry></visual>
</link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/>
 <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="2"/></joint>
</robot>
"""


def test_a_robot_with_meshes(tmp_path, monkeypatch):
    (tmp_path / "m.urdf").write_text(MESH)
    robot = dy.load(tmp_path / "m.urdf")
    files = exported(tmp_path / "a", control.JointPID(kp=10.0), robot)
    assert again(tmp_path / "a", tmp_path / "b", monkeypatch) == files
    robot.export("inverse_dynamics", directory=tmp_path / "c")
    loaded = dy.load(tmp_path / "c" / "m_robot.toml")
    assert repr(loaded.chain) == repr(robot.chain)


def test_the_users_own_file_is_left_alone(tmp_path):
    own = tmp_path / "planar_2link.toml"
    dy.load("planar-2link").save(own)
    own.write_text("# mine\n" + own.read_text())
    dy.load(own).export("fk", directory=tmp_path)
    assert own.read_text().startswith("# mine")


def test_an_identified_model(tmp_path, monkeypatch):
    robot = dy.load("planar-2link")
    t = np.arange(0.0, 4.0, 0.01)
    state = trajectory.fourier([[0.4, 0.3]] * 2, [[0.2, -0.3], [0.5, 0.1]], 4.0)(t)
    tau = robot.inverse_dynamics(*state) + 0.1 * np.random.default_rng(0).normal(size=(400, 2))
    log = dy.Log(t=t, q=state.q, qd=state.qd, tau=tau)
    model = dy.identify(robot, log, friction="asymmetric", held_out=False).robot
    law = control.ComputedTorque(9.0, 6.0, model=model)
    files = exported(tmp_path / "a", law, robot)
    assert again(tmp_path / "a", tmp_path / "b", monkeypatch) == files
    back = dy.load(tmp_path / "a" / "planar_2link_computedtorque_model.toml")
    assert repr(back.chain) == repr(model.chain)


def test_one_hash_of_a_model(tmp_path):
    from dynamis.export.export import model_hash

    robot = dy.load("planar-2link")
    robot.export("fk", directory=tmp_path / "a")
    dy.export_controller(robot, control.JointPID(kp=1.0), tmp_path / "b")
    wanted = f"Model {model_hash(robot.chain)[:16]}"
    assert wanted in (tmp_path / "a" / "planar_2link.h").read_text()
    assert wanted in (tmp_path / "b" / "README.md").read_text()
