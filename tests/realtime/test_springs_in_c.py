"""Sprung arms in C: kernels and controllers along a recorded run, units, constant work."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.law import Law
from dynamis.realtime import controller_cost
from dynamis.realtime.fmu.export import export_fmu

from ..dynamics.test_load_friction import rubbing
from ..dynamics.test_temperature import thermal
from ..random_robots import sprung
from .laws_in_c import Library, kernel_in_c

EQUAL = 1e-12  # of the largest torque of the joint
pytestmark = pytest.mark.usefixtures("compiled")


@pytest.fixture(scope="module")
def arm():
    """A UR10e with a spring, two cylinders and a torsion spring at its shoulder and elbow."""
    robot = dy.load("ur10e")
    base, shoulder, upper, fore = (robot.model.base_name, *robot.link_names[:3])
    gas = {"kind": "gas", "force": 900.0, "gas_length": 1.5, "rest_length": 0.4}
    springs = (
        dy.Spring(**{"from": shoulder}, from_point=(0.1, 0.3, 0.1), to=fore,
                  to_point=(-0.2, 0.1, 0), stiffness=400.0, rest_length=0.3, damping=8.0),
        dy.Spring(**{"from": base}, from_point=(0.3, 0, 0.1), to=upper, to_point=(-0.3, 0.1, 0.1),
                  law="pull", exponent=1.3, **gas),
        dy.Spring(**{"from": base}, from_point=(0, 0.4, 0.2), to=upper, to_point=(-0.2, 0, 0.2),
                  kind="gas", law="table", lengths=[0.1, 0.5, 1.5], forces=[20.0, 90.0, 60.0]),
        dy.Spring(kind="torsion", joint=robot.joint_names[1], stiffness=90.0, rest_angle=-1.2),
    )  # fmt: skip
    return dy.Robot(replace(robot.model, springs=springs))


@pytest.fixture(scope="module")
def law(arm):
    rng = np.random.default_rng(2)
    a, b = 0.1 * rng.normal(size=(2, 6, 4))
    move = dy.trajectory.fourier(a, b, 5.0, [0.2, -1.3, 1.2, -0.9, 0.7, 0.1])
    return Law(dy.control.ComputedTorque.from_bandwidth(arm, 10.0), arm, 0.005, move)


@pytest.fixture(scope="module")
def run(arm, law, compiled):
    """Ten seconds under computed torque."""
    start = law.reference(0.0)[0]
    return dy.simulate(arm, 10.0, 1e-3, q0=start, controller=law, drives=False)


@pytest.mark.parametrize("name", ["inverse_dynamics", "spring_torque", "potential_energy"])
def test_kernels_along_ten_seconds(tmp_path, arm, run, name):
    qdd = np.gradient(run.qd, run.t, axis=0)
    given = [run.q, run.qd, qdd] if name == "inverse_dynamics" else [run.q]
    wanted = getattr(arm, name)(*given).reshape(len(run.t), -1)
    got = kernel_in_c(arm, name, tmp_path)(wanted.shape[1], *given)
    assert len(got) == 10_001 and np.ptp(run.q, axis=0).min() > 0.15
    assert (np.abs(got - wanted).max(axis=0) <= EQUAL * np.abs(wanted).max(axis=0)).all()


@pytest.mark.parametrize("trig", ["own", "libm"])
def test_the_controller_replayed(tmp_path, arm, law, run, trig):
    """The torques of the run, from the C, at every sample."""
    compiled, samples = Library(law, tmp_path, "float64", trig), slice(0, -1, 5)
    q, qd, t, tau = run.q[samples], run.qd[samples], run.t[samples], run.tau[samples]
    compiled.start(q[0], qd[0])
    got = []
    for place, speed, time in zip(q, qd, t, strict=True):
        torque, status = compiled.step(place, speed, (time,))
        assert status == 0
        got.append(torque)
    worst = np.abs(np.array(got) - tau).max(axis=0) / np.abs(tau).max(axis=0)
    assert len(got) == 2000 and worst.max() < EQUAL
    assert np.abs(arm.spring_torque(q)).max() > 10.0


@pytest.mark.thorough
@pytest.mark.parametrize("cc, dtype", [("gcc", "float32"), ("clang", "float64")])
def test_square_roots_and_powers_take_the_same_work(cc, dtype):
    for tool in (cc, "objdump", "valgrind"):
        if not shutil.which(tool):
            pytest.skip(f"no {tool}")
    robot = sprung(dy.load("planar-2link"), 5)
    law = Law(dy.control.ComputedTorque(kp=90.0, kd=18.0), robot, 0.005)
    cost = controller_cost(law, dtype=dtype, compiler=cc)
    (row,) = (r for r in cost.compiled if r.target == "x86-64")
    assert cost.constant and row.jumps == 0 and row.linked == ()


@pytest.mark.parametrize("trig", ["own", "libm"])
def test_a_controller_knows_friction_under_load(tmp_path, trig):
    """Identified friction under load acts in the C as in Python, at the desired velocity."""
    robot = rubbing(dy.load("puma560"), "smooth", 0.12, viscous=(2.0, 3.0), coulomb=1.0)
    move = dy.trajectory.quintic(np.zeros(6), 0.5 * np.ones(6), 0.5)
    law = Law(dy.control.ComputedTorque.from_bandwidth(robot, 10.0), robot, 0.005, move)
    run = dy.simulate(robot, 0.5, 1e-3, q0=np.zeros(6), controller=law, drives=False)
    compiled, samples = Library(law, tmp_path, "float64", trig), slice(0, -1, 5)
    compiled.start(run.q[0], run.qd[0])
    rows = zip(run.q[samples], run.qd[samples], run.t[samples], strict=True)
    got = np.array([compiled.step(q, qd, (t,))[0] for q, qd, t in rows])
    wanted = run.tau[samples]
    assert (np.abs(got - wanted).max(axis=0) <= EQUAL * np.abs(wanted).max(axis=0)).all()
    q, qd, qdd = move(run.t[samples])
    np.testing.assert_allclose(wanted[20], robot.inverse_dynamics(q, qd, qdd)[20], rtol=3e-2)


@pytest.mark.parametrize("fmi, forces", [("3.0", "springs"), ("2.0", "load and temperature")])
def test_the_unit_of_an_arm_is_that_of_simulate(tmp_path, fmi, forces):
    pytest.importorskip("fmpy")
    from .test_fmu import ROUNDING, Slave

    robot = sprung(dy.load("planar-2link"), 5)
    if forces != "springs":
        robot = thermal(dy.load("planar-2link"), load=0.1, law="coulomb", heating=(0.5, 0.5))
    path = export_fmu(robot, tmp_path / "arm.fmu", fmi, dt=1e-3)
    q = np.array([0.3, -0.4])
    slave = Slave(path, tmp_path / "x").begin(q0=q, qd0=0 * q)
    sim = dy.Simulator(robot, 1e-3)
    sim.reset(q)
    for k in range(100):
        tau = np.array([np.sin(0.1 * k), 0.2])
        slave.put("tau", tau)
        slave.step(0.002 * k, 0.002)
        sim.step(tau, 2)
    assert np.abs(sim.q - q).max() > 1e-2
    np.testing.assert_allclose(slave.see("q"), sim.q, rtol=ROUNDING, atol=ROUNDING)
    slave.end()
