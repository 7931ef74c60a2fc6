"""Motors of elastic joints outside `dy.simulate`: simulators, tables, files and copies of runs."""

import pickle

import numpy as np
import pytest

import dynamis as dy
from tests.simulation.test_elastic import simulated, two_links

pytestmark = pytest.mark.usefixtures("compiled")

Q0, TAU = [0.3, 0.4], [-20.0, 4.0]

BACKLASH = 2e-3


def with_backlash(stiffness=2e3) -> dy.Robot:
    """Teeth of two gears that leave their flanks and come back, resolved by the steps."""
    return two_links(stiffness, 0.5, backlash=BACKLASH)


@pytest.mark.parametrize("robot", [with_backlash(), two_links(1e6)], ids=["rk4", "ros34pw2"])
def test_single_steps_are_those_of_a_run(robot):
    run = simulated(robot, 0.2, q0=Q0, torque=TAU)
    sim = dy.Simulator(robot)
    sim.reset(Q0)
    assert (sim.motor == run.motor[0]).all() and (sim.motor_rate == run.motor_rate[0]).all()
    for k in range(1, 201):
        sim.step(TAU)
        assert (sim.q == run.q[k]).all() and (sim.motor == run.motor[k]).all()
    assert (sim.motor_rate == run.motor_rate[-1]).all() and (sim.motor != sim.q).all()
    if robot.chain.with_backlash:  # teeth that meet and part
        within = np.abs(run.deflection) < BACKLASH
        assert within.any(axis=0).all() and not within.all(axis=0).any()


def test_a_simulator_starts_motors_where_they_are_given():
    sim, motor, rate = dy.Simulator(two_links()), np.array([0.301, 0.399]), np.array([0.1, 0.0])
    sim.reset(Q0, motor0=motor, motor_rate0=rate)
    assert (sim.motor == motor).all() and (sim.motor_rate == rate).all()
    run = sim.run(0.01)
    again = simulated(two_links(), 0.01, q0=Q0, motor0=motor, motor_rate0=rate)
    assert (run.motor == again.motor).all()


def test_motors_of_an_ensemble_and_of_rigid_joints():
    robot = two_links().with_drive(0, stiffness=None, damping=0.0)
    sim = dy.Simulator(robot)
    q0 = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    sim.reset(q0)
    sim.step(TAU, 10)
    assert sim.motor.shape == (3, 2) and (sim.motor[:, 0] == sim.q[:, 0]).all()
    for k, start in enumerate(q0):
        one = simulated(robot, 0.01, q0=start, torque=TAU)
        assert (sim.motor[k] == one.motor[-1]).all()
        assert (sim.motor_rate[k] == one.motor_rate[-1]).all()
    rigid = dy.Simulator(two_links(None))
    rigid.reset(Q0)
    rigid.step(TAU)
    assert (rigid.motor == rigid.q).all() and (rigid.motor_rate == rigid.qd).all()


MOTORS = ["motor1", "motor2", "motor_rate1", "motor_rate2"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables_have_the_motors(library):
    pytest.importorskip(library)
    run = simulated(with_backlash(), 0.1, q0=Q0)
    table = getattr(run, f"to_{library}")()
    assert list(table.columns)[-4:] == MOTORS
    for name, column in zip(MOTORS, [*run.motor.T, *run.motor_rate.T], strict=True):
        assert (np.array(table[name]) == column).all()
    log = dy.read_log(table)
    assert (log.q == run.q).all() and (log.tau == run.tau).all()
    rigid = getattr(simulated(two_links(None), 0.01, q0=Q0), f"to_{library}")()
    assert not [name for name in rigid.columns if name.startswith("motor")]


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_files_have_the_motors(tmp_path, kind):
    run = simulated(with_backlash(), 0.1, q0=Q0)
    path = run.save(tmp_path / f"run.{kind}")
    log = dy.read_log(path)
    assert (log.q == run.q).all() and (log.qd == run.qd).all()
    if kind == "npz":
        kept = np.load(path)
        assert (kept["motor"] == run.motor).all() and (kept["motor_rate"] == run.motor_rate).all()
    else:
        kept = np.genfromtxt(path, delimiter=",", names=True)
        assert (np.stack([kept[name] for name in MOTORS[:2]], axis=1) == run.motor).all()


def test_copies_of_runs_keep_their_motors():
    run = simulated(with_backlash(), 0.1, q0=[[0.3, 0.4], [0.1, -0.2]])
    for copied in (pickle.loads(pickle.dumps(run)), run.numpy()):
        assert (copied.motor == run.motor).all() and (copied.motor_stuck == run.motor_stuck).all()
        assert (copied.deflection == run.deflection).all()


def test_what_is_measured_is_the_motor_side(tmp_path):
    law = dy.control.JointPID(kp=400.0, kd=20.0)
    for side, seen in (("motor", "motor"), ("link", "q")):
        run = simulated(
            two_links(), 0.1, q0=Q0, controller=law, reference=Q0, sensors=dy.Sensors(side=side)
        )
        assert run.measured is not None
        assert (run.measured.q == getattr(run, seen)).all()
        log = dy.read_log(run.save(tmp_path / f"{side}.csv", measured=True))
        assert (log.q == getattr(run, seen)).all()
