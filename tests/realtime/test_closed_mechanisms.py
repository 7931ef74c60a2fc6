"""Controllers of closed mechanisms outside Python: C, C++, MATLAB, FMU, the plant over UDP."""

import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime import Law, controller_cost
from dynamis.realtime.c_text import SIMULATED, recorded, sample_rows
from dynamis.realtime.cost import COMPILERS
from dynamis.realtime.fmu.export import export_fmu
from dynamis.realtime.loop.plant import PlantServer, tracking_table
from tests.thorough import thorough_but

from .laws_in_c import REPLAY, InPython, Library, passes, write
from .loops import SteppedLoop, built
from .test_loop_plant import LockStep

DT = 2e-3
LAWS = {
    "pid": lambda r: dy.control.JointPID(400.0, 100.0, 30.0, gravity=True),
    "torque": lambda r: dy.control.ComputedTorque(900.0, 60.0, 500.0, limit=80.0),
    "platform": lambda r: dy.control.TaskSpace(900.0, 60.0),
    "adaptive": lambda r: dy.control.SlotineLi(20.0, 15.0, 0.05),
}


@cache
def law_of(kind, name="five-bar", **options):
    robot = dy.load(name)
    return Law(LAWS[kind](robot), robot, DT, **options)


def moved(robot):
    start = robot.home[list(robot.driven)]
    return start, dy.trajectory.quintic(start, start + np.linspace(0.3, -0.2, len(start)), 0.8)


@pytest.mark.usefixtures("gcc", "compiled")
@pytest.mark.parametrize(
    ("kind", "dtype", "trig"),
    thorough_but(
        [("adaptive", "float64", "libm"), ("torque", "float32", "own")],
        [("pid", "float64", "libm"), ("torque", "float64", "own"), ("platform", "float64", "own"),
         ("adaptive", "float64", "libm"), ("torque", "float32", "own")],
    ),
)  # fmt: skip
def test_the_self_test_passes(tmp_path, kind, dtype, trig):
    law = law_of(kind)
    assert sample_rows(law, 50).how == SIMULATED
    passes(write(law, tmp_path, dtype, trig), libm=trig == "libm")


@pytest.mark.thorough
@pytest.mark.usefixtures("gcc", "compiled")
def test_seconds_of_a_closed_loop_have_the_torques_of_python(tmp_path):
    law = law_of("torque")
    robot, (start, _) = law.robot, moved(law.robot)
    there = dy.trajectory.sine(start, 0.25, 0.7, [0.3, 1.9])
    q0 = robot.project(robot.home)
    run = dy.simulate(
        robot, 3.0, DT, q0=q0, controller=law.controller, reference=there, sample_time=DT
    )
    seen = run.measured
    library, here = Library(law, tmp_path), InPython(law)
    found, expected = [], []
    for one, rows in ((library, found), (here, expected)):
        one.start(seen.q[0], seen.qd[0])
        for k, t in enumerate(seen.t):
            torque, status = one.step(seen.q[k], seen.qd[k], there(t))
            assert status == 0
            rows.append(torque)
    scale = np.abs(expected).max(axis=0)
    assert (np.abs(np.array(found) - expected) <= 1e-12 * scale).all()
    assert (np.abs(np.array(found)[:-1] - seen.tau[:-1]) <= REPLAY["float64"] * scale).all()


@pytest.mark.usefixtures("gcc")
def test_a_singular_configuration_in_c(tmp_path):
    """Drives led to where the couplers are in line: as in Python, safe before it, and for good."""
    law = law_of("torque")
    robot = law.robot
    start = robot.home[list(robot.driven)]
    away = start + np.outer(np.linspace(0.0, 1.5, 400), [1.0, -1.0])
    library, here = Library(law, tmp_path), InPython(law)
    told = []
    for one in (library, here):
        one.start(start, np.zeros(2))
        rows = [*away, *away[::-1]]
        told.append([one.step(q, np.zeros(2), [q, [0.0, 0.0], [0.0, 0.0]])[1] for q in rows])
    assert told[0] == told[1]
    first = told[0].index(1)
    assert not any(told[0][:first]) and set(told[0][first + 1 :]) == {2}


@pytest.mark.thorough
@pytest.mark.parametrize("cc", thorough_but(["gcc"], COMPILERS))
def test_the_same_instructions_for_every_sample(cc):
    for tool in (cc, "objdump", "valgrind"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    cost = controller_cost(law_of("torque"), compiler=cc)
    assert cost.constant and cost.compiled[0].jumps == 0 and cost.compiled[0].linked == ()


@pytest.mark.usefixtures("compiled")
def test_the_whole_folder_and_its_class(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("no g++")
    law = law_of("torque")
    dy.export_controller(law.robot, law.controller, tmp_path, DT)
    text = (tmp_path / "README.md").read_text()
    assert "Newton" in text and all(name in text for name in law.robot.drive_names)
    assert law.robot.joint_names[1] not in text  # a passive joint
    (tmp_path / "main.cpp").write_text('#include "five_bar_computedtorque.hpp"\nint main() {}\n')
    command = ["g++", "-std=c++17", "-Wall", "-Werror", "-c", "main.cpp", "-o", "main.o"]
    subprocess.run(command, cwd=tmp_path, check=True)


@pytest.mark.usefixtures("compiled")
def test_octave_runs_the_law(tmp_path):
    octave = shutil.which("octave-cli")
    if octave is None:
        pytest.skip("GNU Octave is not installed (apt-get install octave)")
    law = law_of("torque")
    dy.export_controller(law.robot, law.controller, tmp_path, DT, target="matlab")
    q, qd, wanted, _ = sample_rows(law, 3)
    tau = recorded(law, q, qd, wanted)
    column = lambda x: "[" + ";".join(f"{v:.17g}" for v in x) + "]"  # noqa: E731
    steps = [f"s = five_bar_computedtorque_init({column(q[0])}, {column(qd[0])});"]
    for a, b, w in zip(q, qd, wanted, strict=True):
        rows = ";".join(",".join(f"{v:.17g}" for v in row) for row in w.reshape(3, -1))
        call = f"five_bar_computedtorque_step(s, {column(a)}, {column(b)}, [{rows}])"
        steps.append(f"[tau, s, status] = {call}; fprintf('%.17g\\n', tau);")
    words = [octave, "--norc", "--quiet", "--eval", " ".join(steps)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = np.array(done.stdout.split(), float).reshape(3, -1)
    np.testing.assert_allclose(found, tau, rtol=1e-12)


@pytest.mark.thorough
@pytest.mark.usefixtures("compiled")
def test_units_of_mechanism_and_controller(tmp_path):
    fmu = pytest.importorskip("tests.realtime.test_fmu")
    law = law_of("torque")
    robot, (_, move) = law.robot, moved(law.robot)
    arm = fmu.Slave(export_fmu(robot, tmp_path / "arm.fmu", dt=1e-3), tmp_path / "a").begin()
    computer = fmu.Slave(export_fmu(robot, tmp_path / "law.fmu", law=law), tmp_path / "b").begin()
    np.testing.assert_array_equal(arm.see("q"), robot.home)
    sim = dy.Simulator(robot, 1e-3)
    sim.reset(robot.home)
    here, drives = InPython(law), list(robot.driven)
    here.start(robot.home[drives], np.zeros(2))
    for k in range(100):
        q, qd, wanted = arm.see("q")[drives], arm.see("qd")[drives], move(DT * k)
        for name, values in zip(
            ("q", "qd", "q_ref", "qd_ref", "qdd_ref"), (q, qd, *wanted), strict=True
        ):
            computer.put(name, values)
        computer.step(DT * k, DT)
        tau, _ = here.step(q, qd, wanted)
        np.testing.assert_allclose(computer.see("tau"), tau, rtol=1e-11, atol=1e-11)
        arm.put("tau", tau)
        arm.step(DT * k, DT)
        torque = np.zeros(robot.n)
        torque[drives] = tau
        sim.step(torque, 2)
    np.testing.assert_allclose(arm.see("q"), sim.q, atol=1e-11)
    assert np.abs(robot.closure_error(arm.see("q"))).max() < 1e-12
    arm.end()
    computer.end()


@pytest.mark.usefixtures("compiled")
def test_a_loop_moves_the_plant_over_udp(cc, tmp_path):
    law = law_of("torque")
    robot, (_, move) = law.robot, moved(law.robot)
    program = built(cc, tmp_path, law.controller, robot, DT, reference=move)
    server = PlantServer(robot, 0, q0=robot.home, rate=1.0 / DT)
    loop = SteppedLoop(program, "--port", server.port, "--cycles", 450, "--json")
    server.clock = LockStep(loop)
    plant = server.run()
    assert plant.joints == robot.drive_names and not plant.message
    assert loop.told().returncode == 0
    tracked = tracking_table(plant, move)
    assert tracked.running == 1.0 and tracked.largest.max() < 5e-3


@pytest.mark.usefixtures("compiled")
def test_an_observer_leaves_as_c(tmp_path):
    if shutil.which("make") is None or shutil.which("gcc") is None:
        pytest.skip("no make and gcc")
    robot = dy.load("five-bar")
    dy.export_observer(robot, dy.control.MomentumObserver(40.0), tmp_path, DT)
    done = subprocess.run(
        ["make", "test"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
