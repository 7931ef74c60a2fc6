"""Laws for arms that ring in C: the bits of the simulation, references with jerk and snap."""

import runpy
import subprocess

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.realtime import Law
from tests.control.test_elastic_laws import rpr, soft, soft_five_bar

from .laws_in_c import InPython, Library, control, passes, write

pytestmark = pytest.mark.usefixtures("gcc", "compiled")
H = 1e-3
ARMS = {"two links": soft, "prismatic": rpr}
LAWS = {
    "motor": lambda r: control.MotorPD.from_bandwidth(r, 15.0, limit=400.0),
    "flatness": lambda r: control.FlatnessFeedForward.from_bandwidth(r, 15.0, limit=400.0),
    "states": lambda r: control.StateFeedback.from_bandwidth(r, 30.0, H),
    "notch": lambda r: control.Notch(control.MotorPD.from_bandwidth(r, 8.0), 40.0, limit=400.0),
}


def move(robot):
    return dy.trajectory.nonic([0.1, 0.2, 0.3][: robot.n], [0.4, 0.4, -0.1][: robot.n], 0.15)


def simulated(law, plan):
    """Measured positions and rates, and torques, of a closed loop."""
    reference = plan if law.reference is None else None
    run = dy.simulate(
        law.robot, 0.2, q0=plan(0.0).q + 0.01, controller=law, reference=reference,
        sensors=dy.Sensors(), check_step=False,
    )  # fmt: skip
    seen = run.measured
    return seen.t, seen.q, seen.qd, seen.tau


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("kind", LAWS)
def test_the_bits_of_the_simulation(tmp_path, kind, arm):
    robot = ARMS[arm]()
    law, plan = Law(LAWS[kind](robot), robot, H), move(robot)
    t, q, qd, tau = simulated(law, plan)
    rows = plan.derivatives(t)[: law.rows]
    assert len(rows) == (3 if kind in ("motor", "notch") else 5)
    compiled, own = Library(law, tmp_path, trig="own"), InPython(law)
    compiled.start(q[0], qd[0])
    own.start(q[0], qd[0])
    largest = np.abs(tau).max()
    for k in range(len(t) - 1):
        wanted = [row[k] for row in rows]
        torque, status = compiled.step(q[k], qd[k], wanted)
        assert status == 0
        np.testing.assert_array_equal(torque, tau[k])
        python, _ = own.step(q[k], qd[k], wanted)
        assert np.abs(python - torque).max() <= 1e-12 * largest


@pytest.mark.parametrize("kind", ["flatness", "states"])
def test_the_self_test_has_jerk_and_snap(tmp_path, kind):
    robot = soft()
    passes(write(Law(LAWS[kind](robot), robot, H), tmp_path))


def test_the_bits_of_a_closed_mechanism(tmp_path):
    robot = soft_five_bar()
    law, place = Law(control.MotorPD(60.0, 8.0), robot, H), robot.home[list(robot.driven)] + 0.05
    run = dy.simulate(
        robot, 0.1, controller=law, reference=place, sensors=dy.Sensors(), check_step=False
    )
    seen, still = run.measured, np.zeros(2)
    compiled = Library(law, tmp_path, trig="own")
    compiled.start(seen.q[0], seen.qd[0])
    for k in range(len(seen.t) - 1):
        torque, status = compiled.step(seen.q[k], seen.qd[k], (place, still, still))
        assert status == 0
        np.testing.assert_array_equal(torque, seen.tau[k])


def test_a_shaped_trajectory_inside(tmp_path):
    robot = soft()
    modes = control.closed_loop_modes(robot, control.MotorPD(2000.0, 50.0), [0.3, 0.3])
    plan = dy.trajectory.zvd(move(robot), modes[:2])
    law = Law(control.FlatnessFeedForward([2e3, 2e2], [50.0, 5.0]), robot, H, plan)
    t, q, qd, tau = simulated(law, plan)
    compiled = Library(law, tmp_path, trig="own")
    compiled.start(q[0], qd[0])
    for k in range(len(t) - 1):
        np.testing.assert_array_equal(compiled.step(q[k], qd[k], t[k])[0], tau[k])
    passes(write(law, tmp_path), libm=False)


def test_the_cpp_header_takes_jerk_and_snap(tmp_path):
    robot = soft()
    law = control.FlatnessFeedForward(60.0, 9.0)
    files = dy.export_controller(robot, law, tmp_path, H)
    (header,) = (f for f in files if f.suffix == ".hpp")
    (tmp_path / "main.cpp").write_text(
        f'#include "{header.name}"\n'
        f"using controller = dynamis::{header.stem}::controller;\n"
        "int main() {\n"
        "    controller law({0.1, 0.2}, {0, 0});\n"
        "    controller::vector tau{};\n"
        "    const controller::vector q{0.1, 0.2}, zero{};\n"
        "    return law.step(q, zero, q, zero, zero, zero, zero, tau);\n"
        "}\n"
    )
    command = ["g++", "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", "main.cpp"]
    subprocess.run(command, cwd=tmp_path, check=True)
    text = (tmp_path / f"{header.stem}.h").read_text()
    assert "double jerk[2];" in text and "double snap[2];" in text


@pytest.mark.parametrize("kind", ["notch", "states"])
def test_files_are_made_again(tmp_path, monkeypatch, kind):
    robot = soft()
    plan = dy.trajectory.zvd(move(robot), [(3.0, 0.1)])
    law = LAWS[kind](robot)
    files = dy.export_controller(robot, law, tmp_path / "a", H, reference=plan)
    monkeypatch.setattr("sys.argv", ["regenerate.py", str(tmp_path / "b")])
    runpy.run_path(str(tmp_path / "a" / "regenerate.py"))
    for file in files:
        assert (tmp_path / "b" / file.name).read_text() == file.read_text(), file.name


@pytest.mark.parametrize("target", ["ros2", "fmu"])
def test_targets_whose_references_have_no_jerk_are_refused(tmp_path, target):
    robot, law = soft(), control.FlatnessFeedForward(60.0, 9.0)
    with pytest.raises(OptionError, match="put the trajectory inside"):
        dy.export_controller(robot, law, tmp_path, H, target=target)
    dy.export_controller(robot, law, tmp_path / "in", H, target=target, reference=move(robot))


def test_gains_that_drive_a_resonance_are_warned_of(tmp_path):
    robot = soft()
    law = control.MotorPD([2000.0, 200.0], [1200.0, 5.0])
    with pytest.warns(dy.errors.DynamisWarning, match="the rotor alone counts"):
        dy.export_controller(robot, law, tmp_path, H)
    hard = control.Notch(control.MotorPD([2000.0, 200.0], [50.0, 5.0]), [3.3, 7.0], 0.0, 1.0)
    with pytest.warns(dy.errors.DynamisWarning, match=r"grows .* a period under Notch, sampled"):
        dy.export_controller(robot, hard, tmp_path, H)
    fine = control.StateFeedback.from_bandwidth(robot, 30.0, H)
    dy.export_controller(robot, fine, tmp_path / "fine", H)
