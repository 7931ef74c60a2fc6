"""Co-simulation units: valid, the numbers of NumPy, the same bytes; hostile names stay names."""

import runpy
import sys
import xml.etree.ElementTree as ET
import zipfile
from functools import cache

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.law import BAD, LATCHED, RUNNING, Law
from dynamis.errors import FileError, OptionError
from dynamis.export.export import model_hash
from dynamis.realtime.fmu.export import export_fmu
from dynamis.simulation import tasks
from dynamis.spatial.functions import MATH
from tests.simulation.own_states import Aging, Maxwell
from tests.thorough import thorough_but

fmpy = pytest.importorskip("fmpy")
from fmpy.fmi2 import FMU2Slave  # noqa: E402
from fmpy.fmi3 import FMU3Slave  # noqa: E402
from fmpy.validation import validate_fmu  # noqa: E402

VERSIONS = thorough_but(["3.0"], ["3.0", "2.0"])  # tests/realtime/test_fmu_c.py has both
ROUNDING = 1e-11  # relative, after some hundred steps in another order of operations


class Slave:
    """A unit driven by hand, with values by name, whatever its version."""

    def __init__(self, path, folder, token=None):
        found = fmpy.read_model_description(str(path))
        self.names = {v.name: v.valueReference for v in found.modelVariables}
        self.new = found.fmiVersion == "3.0"
        unzipped = fmpy.extract(str(path), str(folder))
        make = FMU3Slave if self.new else FMU2Slave
        self.unit = make(
            guid=token or found.guid, unzipDirectory=unzipped, instanceName="one",
            modelIdentifier=found.coSimulation.modelIdentifier,
        )  # fmt: skip
        self.said = []
        if self.new:
            self.unit.instantiate(logMessage=lambda env, status, kind, text: self.said.append(text))
        else:
            self.unit.instantiate()

    def begin(self, **parameters):
        if not self.new:
            self.unit.setupExperiment(startTime=0.0)
        for name, values in parameters.items():
            self.put(name, values)
        self.unit.enterInitializationMode()
        self.unit.exitInitializationMode()
        return self

    def references(self, name):
        if name in self.names:
            return [self.names[name]]
        return [r for n, r in self.names.items() if n.startswith(f"{name}[")]

    def put(self, name, values):
        values = np.broadcast_to(values, len(self.references(name))).tolist()
        (self.unit.setFloat64 if self.new else self.unit.setReal)(self.references(name), values)

    def see(self, name):
        get = self.unit.getFloat64 if self.new else self.unit.getReal
        return np.array(get(self.references(name)))

    def status(self):
        get = self.unit.getInt32 if self.new else self.unit.getInteger
        return get([self.names["status"]])[0]

    def step(self, t, length):
        self.unit.doStep(t, length)

    def end(self):
        self.unit.terminate()
        self.unit.freeInstance()


@pytest.fixture(scope="module")
def robot():
    return dy.load("rppr")


@pytest.fixture(scope="module")
def law(robot):
    return Law(dy.control.ComputedTorque(kp=100.0, kd=20.0), robot, 0.005, limit=50.0)


def unit_of(what, path, *options):
    """The unit of an arm, or of a law of one."""
    law = what if isinstance(what, Law) else None
    return export_fmu(getattr(what, "robot", what), path, *options, law=law)


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    """The path of the unit of an arm or law, made once."""

    @cache
    def made(what, fmi="3.0"):
        return unit_of(what, tmp_path_factory.mktemp("unit") / "x.fmu", fmi)

    return made


@pytest.mark.parametrize("fmi", VERSIONS)
def test_units_are_valid(unit, robot, law, fmi):
    for what in (robot, law):
        path = unit(what, fmi)
        assert validate_fmu(str(path)) == []
        found = fmpy.read_model_description(str(path))
        assert found.fmiVersion == fmi and found.coSimulation is not None
        assert len(fmpy.supported_platforms(str(path))) >= 1


def sticky():
    """Friction that holds, losses, motor limits and joint limits."""
    drive = dy.Drive(gear=20.0, rotor_inertia=1e-3, coulomb=0.02, efficiency=0.8, limits=(-2, 2))
    friction = dy.Friction(coulomb=(2.0, -1.0), viscous=0.1)
    links = [
        dy.Link(
            joint="revolute", d=0, a=0.5, alpha=0, mass=3.0, com=(-0.25, 0, 0),
            inertia=(0.001, 0.06, 0.06), friction=friction, drive=drive, limits=(-0.6, 0.6),
        )
        for _ in range(2)
    ]  # fmt: skip
    return dy.Robot.from_dh("sticky", convention="standard", gravity=(0, -9.81, 0), links=links)


ARMS = {"rppr": lambda: dy.load("rppr"), "sticky": sticky}


@pytest.mark.parametrize(
    "name, fmi, inline",
    [("rppr", "2.0", None), ("sticky", "3.0", None), ("sticky", "2.0", 0)],
    ids=["rppr", "sticky", "sticky in parts"],
)
def test_the_arm_is_that_of_simulate(tmp_path, compiled, name, fmi, inline, monkeypatch):
    """One program: only sines may round otherwise. A long one calls its parts."""
    robot, stops = ARMS[name](), name == "sticky"
    with monkeypatch.context() as patch:
        if inline is not None:
            patch.setattr(tasks, "INLINE", inline)
        path = export_fmu(robot, tmp_path / "arm.fmu", fmi, dt=2e-3, stops=stops)
    with zipfile.ZipFile(path) as archive:
        (text,) = (archive.read(n) for n in archive.namelist() if n.endswith(".c"))
    assert (b"static void plant_step_1(" in text) == (inline is not None)
    rng = np.random.default_rng(5)
    q, qd = rng.uniform(-0.5, 0.5, (2, robot.n))
    slave = Slave(path, tmp_path / "x").begin(q0=q, qd0=qd)
    np.testing.assert_array_equal(slave.see("q"), q)
    sim, held = dy.Simulator(robot, 2e-3, stops=stops), 0
    sim.reset(q, qd)
    for k in range(50):
        tau = rng.uniform(-8.0, 8.0, robot.n)
        slave.put("tau", tau)
        slave.step(0.01 * k, 0.01)
        sim.step(tau, 5)  # h is 2 ms
        held += int((sim.qd == 0.0).sum())
        np.testing.assert_array_equal(slave.see("qd") == 0.0, sim.qd == 0.0)
    assert (held > 0) == stops  # by friction or at a stop
    np.testing.assert_allclose(slave.see("q"), sim.q, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(slave.see("qd"), sim.qd, rtol=ROUNDING, atol=10 * ROUNDING)
    slave.end()


def test_an_arm_without_sines_has_the_bits_of_simulate(tmp_path, compiled):
    robot = dy.load("cartesian-xy")
    slave = Slave(export_fmu(robot, tmp_path / "arm.fmu", "3.0", dt=2e-3), tmp_path / "x").begin()
    sim = dy.Simulator(robot, 2e-3)
    sim.reset()
    for k in range(30):
        tau = np.array([np.sin(k), 30.0 + k])
        slave.put("tau", tau)
        slave.step(0.002 * k, 0.002)
        sim.step(tau)
    assert sim.qd.all()
    np.testing.assert_array_equal(slave.see("q"), sim.q)
    np.testing.assert_array_equal(slave.see("qd"), sim.qd)
    slave.end()


def test_own_laws_with_states_have_the_bits_of_simulate(tmp_path, compiled):
    robot = dy.load("cartesian-xy").with_load(Maxwell(stiffness=400.0, damping=8.0))
    robot = robot.with_link(1, friction=dy.Friction(law=Aging(dry=4.0)))
    slave = Slave(export_fmu(robot, tmp_path / "arm.fmu", "3.0", dt=2e-3), tmp_path / "x").begin()
    sim, stuck = dy.Simulator(robot, 2e-3), 0
    sim.reset()
    for k in range(300):
        tau = np.array([50.0 * np.sin(0.1 * k), 19.62 + 8.0 * np.sin(0.02 * k)])
        slave.put("tau", tau)
        slave.step(0.002 * k, 0.002)
        sim.step(tau)
        stuck += sim.qd[1] == 0.0
        np.testing.assert_array_equal(slave.see("q"), sim.q)
        np.testing.assert_array_equal(slave.see("qd"), sim.qd)
    assert 10 < stuck < 290
    slave.end()


@pytest.mark.parametrize("fmi", VERSIONS)
def test_fmpy_simulates_the_arm(tmp_path, compiled, fmi):
    robot = dy.load("pendulum3")
    path = export_fmu(robot, tmp_path / "arm.fmu", fmi)
    start = np.array([0.1, -0.4, 0.3])
    values = {f"q0[{i + 1}]": x for i, x in enumerate(start)}
    run = fmpy.simulate_fmu(
        str(path), stop_time=0.1, step_size=1e-3, output_interval=1e-3, start_values=values
    )
    q = dy.simulate(robot, 1e-3 * (len(run) - 1), 1e-3, start).q[-1]
    assert run["time"][-1] == pytest.approx(0.1)
    got = [run[f"q[{i + 1}]"][-1] for i in range(robot.n)]
    assert np.abs(q - start).max() > 1e-3
    np.testing.assert_allclose(got, q, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_state_can_be_kept_and_taken_up_again(tmp_path, unit, robot, fmi):
    slave = Slave(unit(robot, fmi), tmp_path / "x").begin(q0=0.2)
    slave.step(0.0, 0.1)
    new = slave.new
    kept = slave.unit.getFMUState() if new else slave.unit.getFMUstate()
    slave.step(0.1, 0.1)
    there = slave.see("q")
    (slave.unit.setFMUState if new else slave.unit.setFMUstate)(kept)
    assert (slave.see("q") != there).any()
    slave.step(0.1, 0.1)
    np.testing.assert_array_equal(slave.see("q"), there)
    (slave.unit.freeFMUState if new else slave.unit.freeFMUstate)(kept)
    slave.end()


@pytest.mark.parametrize("fmi", VERSIONS)
def test_the_arm_refuses_nonsense_and_keeps_its_state(tmp_path, unit, robot, fmi):
    slave = Slave(unit(robot, fmi), tmp_path / "x").begin(q0=0.2)
    slave.step(0.0, 0.01)
    before = slave.see("q")
    slave.put("tau", np.nan)
    with pytest.raises(Exception, match=r"(?i)dostep"):
        slave.step(0.01, 0.01)
    np.testing.assert_array_equal(slave.see("q"), before)
    if slave.new:
        assert "no longer finite" in str(slave.said)
    with pytest.raises(Exception, match=r"(?i)set(float64|real)"):
        slave.put("q0", 0.0)  # a parameter, while it runs
    slave.put("tau", 0.0)
    slave.step(0.01, 0.01)
    assert np.isfinite(slave.see("q")).all()


@pytest.mark.parametrize("fmi", VERSIONS)
def test_another_token_is_not_accepted(tmp_path, unit, robot, fmi):
    with pytest.raises(Exception, match=r"(?i)instantiate"):
        Slave(unit(robot, fmi), tmp_path / "x", token="other")


@pytest.mark.parametrize("fmi", VERSIONS)
def test_the_controller_gives_the_torques_of_python(tmp_path, unit, robot, law, fmi):
    slave = Slave(unit(law, fmi), tmp_path / "x").begin()
    rng = np.random.default_rng(2)
    state = None
    for k in range(40):
        q, qd, *wanted = rng.uniform(-0.3, 0.3, (5, robot.n))
        rows = (q, qd, *wanted)
        for name, row in zip(("q", "qd", "q_ref", "qd_ref", "qdd_ref"), rows, strict=True):
            slave.put(name, row)
        slave.step(0.005 * k, 0.005)
        state = state or law.start(q.tolist(), qd.tolist(), MATH)
        lists = [row.tolist() for row in wanted]
        torque, state, status = law.step(state, q.tolist(), qd.tolist(), lists, MATH)
        scale = np.abs(torque).max()
        np.testing.assert_allclose(slave.see("tau"), torque, atol=ROUNDING * scale)
        assert slave.status() == status == RUNNING
    slave.end()


@pytest.mark.parametrize("fmi", VERSIONS)
def test_the_controller_is_safe_from_nan(tmp_path, unit, robot, law, fmi):
    slave = Slave(unit(law, fmi), tmp_path / "x").begin()
    seen = []
    for k, value in enumerate([0.1, np.nan, 0.1, np.nan, np.nan, 0.1]):
        slave.put("q", value)
        slave.step(0.005 * k, 0.005)
        seen.append(slave.status())
        assert np.isfinite(slave.see("tau")).all()
    assert seen == [RUNNING, BAD, RUNNING, BAD, LATCHED, LATCHED]


def test_samples_do_not_depend_on_the_communication_step(tmp_path, unit, robot, law):
    path, found = unit(law), []
    for k, length in enumerate((0.005, 0.0025, 0.02)):
        slave = Slave(path, tmp_path / f"{k}").begin()
        slave.put("q", 0.1)
        for i in range(round(0.1 / length)):
            slave.step(i * length, length)
        found.append(slave.see("tau"))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_trajectory_inside_needs_no_reference(tmp_path, robot):
    path = dy.trajectory.quintic(np.zeros(robot.n), 0.3 * np.ones(robot.n), duration=1.0)
    law = Law(
        dy.control.ComputedTorque(kp=100.0, kd=20.0), robot, 0.01, path, velocity="difference"
    )
    slave = Slave(unit_of(law, tmp_path / "law.fmu"), tmp_path / "x").begin()
    assert not slave.references("q_ref") and not slave.references("qd")
    slave.put("q", 0.05)
    place, zero = [0.05] * robot.n, [0.0] * robot.n
    state = law.start(place, zero, MATH)
    for k in range(30):
        slave.step(0.01 * k, 0.01)
        torque, state, _ = law.step(state, place, zero, 0.01 * k, MATH)
        np.testing.assert_allclose(slave.see("tau"), torque, rtol=1e-9, atol=1e-9)
    assert np.abs(torque).max() > 0.1


GRIPPER = """<robot name="gripper"><link name="base"/>{}
<joint name="turn" type="revolute"><parent link="base"/><child link="hand"/>
 <axis xyz="0 0 1"/><limit effort="9" velocity="9" lower="-1" upper="1"/></joint>
<joint name="l" type="prismatic"><parent link="hand"/><child link="left"/>
 <axis xyz="0 1 0"/><limit effort="9" velocity="9" lower="-1" upper="1"/></joint>
<joint name="r" type="prismatic"><parent link="hand"/><child link="right"/>
 <axis xyz="0 1 0"/><limit effort="9" velocity="9" lower="-1" upper="1"/>
 <mimic joint="l" multiplier="-1" offset="0.5"/></joint></robot>"""
LINK = (
    '<link name="{}"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_units_of_a_robot_with_a_joint_that_mimics(tmp_path, fmi):
    links = "".join(LINK.format(name) for name in ("hand", "left", "right"))
    (tmp_path / "g.urdf").write_text(GRIPPER.format(links))
    robot = dy.load(tmp_path / "g.urdf")
    law = Law(dy.control.JointPID(kp=1.0), robot, 0.005)
    assert robot.joint_names == ("turn", "l")
    units = {"q": ["rad", "m"], "qd": ["rad/s", "m/s"], "tau": ["N.m", "N"]}
    told = {
        robot: {**units, "q0": units["q"], "qd0": units["qd"]},
        law: {**units, "q_ref": units["q"], "qdd_ref": ["rad/s2", "m/s2"]},
    }
    for what, wanted in told.items():
        path = unit_of(what, tmp_path / "x.fmu", fmi)
        assert validate_fmu(str(path)) == []
        found = {v.name: v.unit for v in fmpy.read_model_description(str(path)).modelVariables}
        for name, pair in wanted.items():
            assert [found[f"{name}[1]"], found[f"{name}[2]"]] == pair, name


@pytest.mark.parametrize("fmi", VERSIONS)
def test_drives_alone_have_inputs(tmp_path, fmi):
    """A joint that nothing drives is seen, not driven."""
    bar = {"a": 0.5, "mass": 1.0, "com": (-0.25, 0, 0), "inertia": (0.001, 0.02, 0.02)}
    links = [dy.Link(**bar, passive=True), dy.Link(**bar)]
    robot = dy.Robot.from_dh("acrobot", convention="standard", links=links)
    path = export_fmu(robot, tmp_path / "x.fmu", fmi)
    assert validate_fmu(str(path)) == []
    found = fmpy.read_model_description(str(path)).modelVariables
    (tau,) = (v for v in found if v.causality == "input")
    assert tau.name == "tau[1]" and robot.joint_names[1] in tau.description
    assert {"q[1]", "q[2]"} <= {v.name for v in found if v.causality == "output"}


HOSTILE = '"/><evil a="&lt;]]>*/ #include <evil>\n\\??/\x00\x1b日本'


@pytest.mark.parametrize("fmi", VERSIONS)
def test_hostile_names_stay_names(tmp_path, fmi):
    links = [dy.Link(name=HOSTILE, joint_name=HOSTILE + "j", mass=1.0, a=1.0)]
    robot = dy.Robot.from_dh(HOSTILE, convention="standard", links=links)
    path = export_fmu(robot, tmp_path / "x.fmu", fmi)
    assert validate_fmu(str(path)) == []
    found = fmpy.read_model_description(str(path))
    shown = HOSTILE.replace("\n", "?").replace("\x00", "?").replace("\x1b", "?")
    assert found.modelName == shown
    assert found.modelVariables[-1].description == f"velocity, joint {shown}j"
    Slave(path, tmp_path / "y").begin(q0=0.1).step(0.0, 0.1)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_the_same_input_gives_the_same_bytes(tmp_path, unit, robot, law, fmi):
    for what in (robot, law):
        again = unit_of(what, tmp_path / "b" / "b.fmu", fmi)
        assert again.read_bytes() == unit(what, fmi).read_bytes()


@cache
def whole_law(robot):
    """A controller with everything that a unit must bring along to be made again."""
    other = robot.with_payload(1 / 3)
    controller = dy.control.ComputedTorque(kp=[100.0, 1 / 3, 5.0, 7.0], kd=20.0, model=other)
    move = dy.trajectory.quintic(np.zeros(robot.n), np.full(robot.n, 1 / 3), duration=0.7)
    return Law(controller, robot, 0.004, move, limit=np.full(robot.n, 50 / 3), safe="gravity")


@pytest.mark.parametrize(
    "kind, fmi", thorough_but([("law", "2.0")], [("arm", "3.0"), ("law", "2.0"), ("whole", "3.0")])
)
def test_a_unit_makes_itself_again(tmp_path, monkeypatch, unit, robot, law, kind, fmi):
    if kind == "arm":
        path = export_fmu(robot, tmp_path / "x.fmu", fmi, dt=1 / 3)
    else:
        path = unit(law if kind == "law" else whole_law(robot), fmi)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    monkeypatch.setattr(sys, "argv", ["regenerate.py", str(tmp_path / "new")])
    script = tmp_path / "unpacked" / "resources" / "regenerate.py"
    runpy.run_path(str(script), run_name="__main__")
    (new,) = (tmp_path / "new").iterdir()
    assert new.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("fmi", VERSIONS)
def test_a_unit_says_where_it_comes_from(unit, robot, fmi):
    law = whole_law(robot)
    for what in (robot, law):
        with zipfile.ZipFile(unit(what, fmi)) as archive:
            text = archive.read("modelDescription.xml")
            (name,) = (n for n in archive.namelist() if n.endswith(".c"))
            source = archive.read(name).decode()
            beside = [n for n in archive.namelist() if n.startswith("resources/")]
            files = {n: archive.read(n).decode() for n in beside}
        (found,) = ET.fromstring(text).iter("Origin")
        chain = robot.chain if what is robot else law.controller.model.chain
        assert found.get("version") == dy.__version__ and found.get("model") == model_hash(chain)
        notes = [note.text for note in found]
        for line in notes:
            assert f" * {line}\n" in source
        head = "\n".join(notes)
        assert found.get("model")[:16] in head and found.get("program")[:16] in head
        assert "Again: python resources/regenerate.py" in head and "1: joint1, 2: joint2" in head
        assert sum(f.endswith(".toml") for f in files) == (1 if what is robot else 2)
        for name, text in files.items():
            for line in notes:
                assert (line if name.endswith(".json") else f"# {line}\n") in text, name
    assert found.get("program") == law.program().hash
    assert "kp = [100.0, 0.333333, 5.0, 7.0]" in notes
    assert "limit=[16.666666666666668" in head and "safe='gravity'" in head
    assert f"target='fmu', fmi={fmi!r}" in head


def test_what_is_not_ours_is_not_promised_again(tmp_path, robot):
    class Own(dy.control.ComputedTorque):
        pass

    law = Law(Own(kp=1.0, kd=1.0), robot, 0.005)
    with zipfile.ZipFile(unit_of(law, tmp_path / "x.fmu")) as archive:
        assert [n for n in archive.namelist() if n.startswith("resources/")] == [
            "resources/rppr_own_robot.toml"
        ]
        assert b"regenerate.py" not in archive.read("modelDescription.xml")


def test_a_robot_exports_its_own_unit(tmp_path, unit, robot):
    (path,) = robot.export("forward_dynamics", target="fmu", directory=tmp_path / "out")
    assert path.read_bytes() == unit(robot).read_bytes()
    for names, dtype in (("inverse_dynamics", None), ("forward_dynamics", "float32")):
        with pytest.raises(OptionError, match="expected 'forward_dynamics' in float64"):
            robot.export(names, target="fmu", directory=tmp_path, dtype=dtype)


def test_bad_calls(tmp_path, robot, law, monkeypatch):
    for given, message in (
        ((robot, tmp_path / "a.fmu", "1.0"), "fmi is '1.0', expected '3.0', '2.0'"),
        ((robot, tmp_path / "a.zip"), "ends in .fmu"),
        ((robot, tmp_path / "a.fmu", "3.0", 0.0), "dt is 0.0, expected seconds above 0"),
        ((robot, tmp_path / "a.fmu", "3.0", np.nan), "dt is nan"),
        ((robot, tmp_path / "a.fmu", "3.0", True), "dt is True"),
        ((law, tmp_path / "a.fmu", "3.0", 0.01), "a controller has its sample time"),
        (("puma560", tmp_path / "a.fmu"), "robot is 'puma560', expected a Robot"),
    ):
        with pytest.raises(OptionError, match=message):
            unit_of(*given)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot write"):
        export_fmu(robot, tmp_path / "file" / "a.fmu")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OptionError, match="needs a C compiler"):
        export_fmu(robot, tmp_path / "a.fmu")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
