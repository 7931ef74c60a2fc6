"""Co-simulation units of elastic arms: the bits of `dy.simulate`, motors that start in place."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime.fmu.export import export_fmu
from tests.realtime.test_fmu import Slave, fmpy, validate_fmu
from tests.simulation.test_elastic import two_links
from tests.thorough import thorough_but

pytestmark = pytest.mark.usefixtures("compiled")

Q0 = [0.3, 0.4]


def puma() -> dy.Robot:
    """A PUMA with friction on both sides, and gears that steps of 1 ms do not resolve."""
    robot = dy.load("puma560")
    for joint, stiffness in enumerate((1e4, 2e4, 1e4, 1e3, 1e3, 1e3)):
        robot = robot.with_drive(joint, stiffness=stiffness, damping=1.0)
    return robot


def five_bar() -> dy.Robot:
    robot = dy.load("five-bar")
    for joint in robot.driven:
        robot = robot.with_drive(joint, rotor_inertia=1e-3, stiffness=1e7, damping=1.0)
    return robot


def rubbing(**more) -> dy.Robot:
    """Friction on both sides."""
    robot = two_links(**more).with_friction(viscous=0.1, coulomb=0.5)
    return robot.with_drive(0, coulomb=2e-3).with_drive(1, coulomb=1e-3)


ARMS = {
    "hard backlash": lambda: rubbing(K=1e8, D=50.0, backlash=1e-3),
    "backlash in part": lambda: rubbing(K=2e3, D=0.5, backlash=2e-3).with_drive(1, stiffness=1e8),
    "resolved": lambda: rubbing(K=2e3, D=0.5),
    "backlash": lambda: two_links(2e3, 0.5, backlash=2e-3),
    "ros34pw2": lambda: two_links(1e6, hardening=1e9),
    "one of two": lambda: two_links(1e6).with_drive(0, stiffness=None, damping=0.0),
    "puma560": puma,
    "five-bar": five_bar,
}
SEEN = ("q", "qd", "motor", "motor_rate")


@pytest.mark.parametrize(
    ("name", "fmi"),
    thorough_but(
        [("hard backlash", "2.0"), ("one of two", "3.0")],
        [("hard backlash", "2.0"), ("backlash in part", "3.0"), ("resolved", "2.0"),
         ("backlash", "2.0"), ("one of two", "3.0"), ("ros34pw2", "3.0"), ("puma560", "2.0"),
         ("five-bar", "3.0")],
    ),
)  # fmt: skip
def test_an_elastic_arm_has_the_bits_of_simulate(tmp_path, name, fmi):
    robot, dt = ARMS[name](), 1e-3
    path = export_fmu(robot, tmp_path / "arm.fmu", fmi, dt=dt)
    assert validate_fmu(str(path)) == []
    q0 = robot.home if robot.model.closures else np.linspace(0.3, 0.5, robot.n)
    slave = Slave(path, tmp_path / "x").begin(q0=q0)
    sim = dy.Simulator(robot, dt)
    sim.reset(q0)
    rng = np.random.default_rng(0)
    for k in range(100):
        for part in SEEN:  # from the start on
            np.testing.assert_array_equal(slave.see(part), getattr(sim, part))
        tau = np.zeros(robot.n)
        tau[list(robot.active)] = rng.uniform(-10.0, 10.0, len(robot.active))
        slave.put("tau", tau[list(robot.active)])
        slave.step(k * dt, dt)
        sim.step(tau)
    assert (sim.motor != sim.q).sum() == len(robot.chain.elastic)
    slave.end()


def test_motors_start_beside_equilibrium(tmp_path):
    robot = two_links(1e4).with_drive(0, stiffness=None, damping=0.0)
    path = export_fmu(robot, tmp_path / "arm.fmu")
    names = [v.name for v in fmpy.read_model_description(str(path)).modelVariables]
    assert [x for x in names if x.startswith("motor")] == [
        "motor_offset0[2]", "motor_rate_offset0[2]", "motor[1]", "motor[2]", "motor_rate[1]",
        "motor_rate[2]",
    ]  # fmt: skip
    start = {"q0": Q0, "qd0": [0.1, -0.2], "motor_offset0": 1e-3, "motor_rate_offset0": 0.5}
    slave = Slave(path, tmp_path / "x").begin(**start)
    rest = dy.simulate(robot, 1e-3, q0=Q0, check_step=False).motor[0]
    motor, rate = rest + np.array([0.0, 1e-3]), np.array([0.1, 0.3])
    sim = dy.Simulator(robot)
    sim.reset(Q0, start["qd0"], motor0=motor, motor_rate0=rate)
    np.testing.assert_array_equal(slave.see("motor"), motor)
    slave.step(0.0, 0.05)
    sim.step(steps=50)
    for part in SEEN:
        np.testing.assert_allclose(slave.see(part), getattr(sim, part), rtol=1e-9, atol=1e-12)
    slave.end()


def test_inputs_are_those_of_the_drives_of_an_arm_with_a_passive_joint(tmp_path):
    first, second = two_links().model.links
    links = [first, replace(second, passive=True, drive=None)]
    robot = dy.Robot.from_dh("one drive", convention="standard", gravity=(0, -9, 0), links=links)
    slave = Slave(export_fmu(robot, tmp_path / "arm.fmu"), tmp_path / "x").begin(q0=Q0)
    sim = dy.Simulator(robot)
    sim.reset(Q0)
    slave.put("tau", 3.0)
    slave.step(0.0, 0.1)
    sim.step([3.0, 0.0], 100)
    for part in SEEN:
        np.testing.assert_array_equal(slave.see(part), getattr(sim, part))
    slave.end()


def refusal(path, folder, **start) -> str:
    """What a unit says to its first step."""
    slave = Slave(path, folder).begin(**start)
    with pytest.raises(Exception, match=r"(?i)dostep"):
        slave.step(0.0, 1e-3)
    return " ".join(map(str, slave.said))


def test_starts_and_steps_that_cannot_be_are_refused(tmp_path):
    path = export_fmu(two_links(1e4, backlash=2e-3), tmp_path / "arm.fmu")
    said = refusal(path, tmp_path / "a", q0=Q0, motor_offset0=0.02)
    assert "farther from its joint than backlash and load allow" in said
    assert "longer than the step that was chosen" in refusal(path, tmp_path / "b", q0=Q0, h=2e-3)
    fine = Slave(path, tmp_path / "c").begin(q0=Q0, motor_offset0=-1e-3, h=5e-4)
    fine.step(0.0, 1e-3)
    fine.end()


def test_the_description_says_what_it_is(tmp_path):
    path = export_fmu(two_links(1e6, backlash=2e-3), tmp_path / "arm.fmu", dt=1e-5)
    about = fmpy.read_model_description(str(path)).description
    assert "elastic gears with backlash" in about and "Runge-Kutta steps of order 4" in about
    path = export_fmu(two_links(1e6), tmp_path / "arm.fmu")
    assert "Rosenbrock steps of order 3" in fmpy.read_model_description(str(path)).description
