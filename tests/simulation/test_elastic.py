"""Elastic joints and backlash in motion: exact values, orders, laws, the rigid arm as limit."""

import math
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dynamis as dy
from dynamis.errors import DynamisWarning, ModelError, OptionError
from dynamis.simulation.elastic.vibration import vibration
from dynamis.simulation.tableau import ROS34PW2
from tests.elastic_arms import elastic
from tests.thorough import thorough_but

B, M = 0.2, 0.5  # motor and link of the two masses, kg m^2
MASS = 1.0 / (1.0 / B + 1.0 / M)  # that their gear feels
ROUNDING = 1e-12

pytestmark = pytest.mark.usefixtures("compiled")


def two_masses(
    K: float | None, z: float = 0.0, coulomb: tuple[float, float] = (0.0, 0.0), **drive
) -> dy.Robot:
    """A link and its motor; `coulomb` of motor and link."""
    elastic = {} if K is None else {"stiffness": K, "damping": 2.0 * z * math.sqrt(K * MASS)}
    own = dy.Drive(rotor_inertia=B, coulomb=coulomb[0], **elastic, **drive)
    link = dy.Link(inertia=(0, 0, M, 0, 0, 0), friction=dy.Friction(coulomb=coulomb[1]), drive=own)
    return dy.Robot.from_dh("two masses", convention="standard", gravity=(0, 0, 0), links=[link])


def two_links(K: float | None = 1e4, D: float = 1.0, **drive) -> dy.Robot:
    """A planar arm of two links with elastic joints."""
    elastic = {} if K is None else {"stiffness": K, "damping": D, **drive}
    links = [
        dy.Link(
            a=a, mass=m, com=(-0.5 * a, 0, 0), inertia=(0, I, I, 0, 0, 0),
            drive=dy.Drive(gear=100, rotor_inertia=J, **elastic),
        )
        for a, m, I, J in ((0.5, 5.0, 0.1, 5e-5), (0.4, 3.0, 0.04, 2e-5))
    ]  # fmt: skip
    return dy.Robot.from_dh("two links", convention="standard", gravity=(0, -9.81, 0), links=links)


def simulated(robot: dy.Robot, duration: float, **options) -> "dy.Run":
    return dy.simulate(robot, duration, check_step=False, **options)


def by_scipy(robot: dy.Robot, duration: float, torque, q0, motor0) -> np.ndarray:
    """q and motor at the end by DOP853 from the equations of both sides."""
    n, drives = robot.n, [x.drive for x in robot.model.links]
    rotor = np.array([x.gear**2 * x.rotor_inertia for x in drives])
    K, D, K3 = (
        np.array([getattr(x, k) for x in drives]) for k in ("stiffness", "damping", "hardening")
    )

    def rate(t, y):
        q, th, qd, thd = np.split(y, 4)
        d, dd = th - q, thd - qd
        e = K * d + K3 * d**3 + D * dd
        bias = robot.inverse_dynamics(q, qd, np.zeros(n))
        links = robot.mass_matrix(q) - np.diag(rotor)
        return np.concatenate([qd, thd, np.linalg.solve(links, e - bias), (torque(t) - e) / rotor])

    start = np.concatenate([q0, motor0, np.zeros(2 * n)])
    found = solve_ivp(rate, (0.0, duration), start, method="DOP853", rtol=1e-12, atol=1e-13)
    return found.y[: 2 * n, -1]


# modes, momentum, order


def test_two_masses_ring_at_their_free_mode():
    run = simulated(two_masses(1e3), 0.2, dt=1e-4, q0=[0.0], motor0=[0.01])
    w = math.sqrt(1e3 * (1 / B + 1 / M))
    assert run.integrator == "rk4"
    np.testing.assert_allclose(run.deflection[:, 0], 0.01 * np.cos(w * run.t), atol=1e-10)


@pytest.mark.parametrize("K", [1e3, 1e6, 1e9])
def test_momentum_is_kept(K):
    run = simulated(two_masses(K), 10.0, q0=[0.0], qd0=[0.3], motor_rate0=[1.0], save_every=100)
    assert np.abs(B * run.motor_rate + M * run.qd - 0.35).max() < 1e-12 * max(1.0, K / 1e6)


def test_the_implicit_step_is_of_third_order():
    robot, q0 = two_links(), np.array([0.3, 0.4])
    torque, motor0 = (lambda t: np.array([20 * math.sin(9 * t), 4 * math.cos(7 * t)])), q0 + 1e-3
    exact = by_scipy(robot, 0.2, torque, q0, motor0)
    errors = []
    for dt in (2e-3, 1e-3, 5e-4, 2.5e-4):
        run = simulated(
            robot, 0.2, dt=dt, q0=q0, motor0=motor0, torque=torque, integrator="ros34pw2"
        )
        errors.append(np.abs(np.concatenate([run.q[-1], run.motor[-1]]) - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] > 2.8 and errors[-1] < 1e-6


@pytest.mark.parametrize("hardening", [0.0, 2e8])
def test_both_steps_agree_with_scipy(hardening):
    robot, q0 = two_links(2e3, 0.5, hardening=hardening), np.array([0.3, 0.4])
    torque = lambda t: np.array([5.0 * math.sin(9 * t), 1.0])  # noqa: E731
    exact = by_scipy(robot, 0.1, torque, q0, q0)
    run = simulated(robot, 0.1, dt=1e-4, q0=q0, motor0=q0, torque=torque)
    assert run.integrator == "rk4"
    np.testing.assert_allclose(np.concatenate([run.q[-1], run.motor[-1]]), exact, atol=1e-8)


def test_the_rigid_arm_is_the_limit():
    """|q - q_rigid| K stays the same, until the error of the step is all that is left."""
    q0, torque = np.array([0.3, 0.4]), [20.0, 4.0]
    rigid = simulated(two_links(None), 0.2, dt=1e-4, q0=q0, torque=torque).q[-1]
    gaps = {}
    for K in (1e3, 1e4, 1e5, 1e6, 1e9, 1e12):
        soft = two_links(K, 2.0 * 0.5 * math.sqrt(K * 0.1))
        gaps[K] = np.abs(simulated(soft, 0.2, q0=q0, torque=torque).q[-1] - rigid).max()
    scaled = [gaps[K] * K for K in (1e3, 1e4, 1e5, 1e6)]
    assert max(scaled) < 1.1 * min(scaled)
    assert gaps[1e9] < 1e-6 and gaps[1e12] < 1e-6


def test_energy_is_kept_by_resolved_springs():
    run = simulated(two_links(1e3, 0.0), 2.0, dt=2e-4, q0=[0.3, 0.4])
    total = run.energy.total
    assert np.ptp(total) < 1e-5 * np.ptp(run.energy.kinetic)


def test_every_kernel_is_that_of_the_rigid_arm():
    soft, rigid = two_links(), two_links(None)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5, 2))
    assert (soft.inverse_dynamics(q, qd, qdd) == rigid.inverse_dynamics(q, qd, qdd)).all()
    assert (soft.parameters.values == rigid.parameters.values).all()


# friction on both sides


@pytest.mark.parametrize(
    ("K", "leaves", "way"),
    [(1e5, 0.501, 0.00119089), (1e7, 0.501, 0.00119048), (1e9, 0.502, 0.00119012)],
)
def test_stiff_joints_leave_rest_when_they_should(K, leaves, way):
    """With bare masses motor and link of a stiff gear would hold each other for ever."""
    robot = two_masses(K, 0.03, (1.5, 1.0))
    run = simulated(robot, 0.6, q0=[0.0], torque=lambda t: [5.0 * t])
    assert run.integrator == "ros34pw2"
    assert run.t[np.argmax(run.qd[:, 0] != 0.0)] == pytest.approx(leaves, abs=1e-9)
    assert run.q[-1, 0] == pytest.approx(way, rel=2e-5)


@pytest.mark.parametrize("K", [1e3, 1e5, 1e7, 1e9])
def test_what_friction_holds_rests_bit_for_bit(K):
    robot = two_masses(K, 0.03, (1.5, 1.0))
    run = simulated(robot, 3.0, q0=[0.0], qd0=[0.3], torque=[0.9 * 2.5])
    for values in (run.q, run.motor):
        assert (values[1500:] == values[1500]).all()
    assert (run.qd[1500:] == 0.0).all() and (run.motor_rate[1500:] == 0.0).all()
    assert run.motor_stuck[-1].all() and run.stuck[-1].all()


@pytest.mark.parametrize("K", thorough_but([1e8], [1e6, 1e8, 1e10]))
def test_stick_slip_of_stiff_joints_is_that_of_the_rigid_joint(K):
    def law(t, q, qd):
        return [6.0 * math.sin(7.0 * t) - 0.1 * qd[0]]

    rigid = simulated(two_masses(None, coulomb=(1.5, 1.0)), 1.0, q0=[0.0], controller=law)
    soft = simulated(two_masses(K, 0.03, (1.5, 1.0)), 1.0, q0=[0.0], controller=law)
    assert soft.q[-1, 0] == pytest.approx(rigid.q[-1, 0], abs=1e-5)


def test_stick_slip_agrees_with_steps_of_any_length():
    robot, torque = two_masses(1e3, 0.03, (1.5, 1.0)), lambda t: [6.0 * math.sin(7.0 * t)]
    exact = simulated(robot, 1.0, dt=1e-2, q0=[0.0], torque=torque, integrator="dormand-prince")
    for integrator in ("rk4", "ros34pw2"):
        run = simulated(robot, 1.0, q0=[0.0], torque=torque, integrator=integrator)
        assert run.q[-1, 0] == pytest.approx(exact.q[-1, 0], abs=3e-5)


def test_a_stop_takes_the_motor_of_a_stiff_gear_along():
    link = dy.Link(
        inertia=(0, 0, M, 0, 0, 0), limits=(-1.0, 0.5),
        drive=dy.Drive(rotor_inertia=B, stiffness=1e9, damping=100.0),
    )  # fmt: skip
    robot = dy.Robot.from_dh("stop", convention="standard", gravity=(0, 0, 0), links=[link])
    run = simulated(robot, 1.0, q0=[0.0], qd0=[1.0], stops=True, restitution=0.5)
    assert run.q.max() <= 0.5 + 1e-12
    assert run.qd[-1, 0] == pytest.approx(-0.5, abs=1e-3)
    assert run.motor_rate[-1, 0] == pytest.approx(-0.5, abs=1e-3)


# backlash


@pytest.mark.parametrize("e", [1.0, 0.5])
def test_an_impact_of_teeth_is_exact(e):
    z = -math.log(e) / math.hypot(math.pi, math.log(e))
    run = simulated(
        two_masses(1e9, z, backlash=5e-3), 0.0095, q0=[0.0], qd0=[0.0], motor_rate0=[1.0]
    )
    assert run.motor_rate[-1, 0] == pytest.approx(1.0 - (1.0 + e) * MASS / B, abs=ROUNDING)
    assert run.qd[-1, 0] == pytest.approx((1.0 + e) * MASS / M, abs=ROUNDING)
    lost = run.energy.total[0] - run.energy.total[-1]
    assert lost == pytest.approx(0.5 * MASS * (1.0 - e * e), abs=ROUNDING)


@pytest.mark.parametrize(
    ("K", "loss"), [(1e4 * MASS, 1e-6), (1e5 * MASS, 3e-4), (1e7 * MASS, 1e-12)]
)
def test_teeth_create_no_energy(K, loss):
    """`loss`: of one impact, at most."""
    run = simulated(
        two_masses(K, backlash=5e-3), 10.0, q0=[0.0], qd0=[-0.2857], motor_rate0=[0.7143]
    )
    total = run.energy.total / run.energy.total[0]
    impacts = (np.diff(np.sign(run.motor_rate - run.qd)[:, 0]) != 0.0).sum()
    assert total.max() < 1.0 + 1e-9 and total[-1] > 1.0 - loss * impacts


@pytest.mark.parametrize(
    ("K", "period", "amplitude", "near"),
    [
        (2e3, 0.638718, 0.007233, 0.001),
        pytest.param(2e4, 0.642043, 0.006387, 0.001, marks=pytest.mark.thorough),
        pytest.param(2e5, 0.644104, 0.006182, 0.03, marks=pytest.mark.thorough),
        pytest.param(2e6, 0.644818, 0.006122, 0.01, marks=pytest.mark.thorough),
    ],
)
def test_the_limit_cycle_of_a_position_loop(K, period, amplitude, near):
    drive = dy.Drive(
        rotor_inertia=B, viscous=1.2, stiffness=K, damping=0.1 * math.sqrt(K * MASS), backlash=5e-3
    )
    link = dy.Link(inertia=(0, 0, M, 0, 0, 0), friction=dy.Friction(viscous=0.3), drive=drive)
    robot = dy.Robot.from_dh("cycle", convention="standard", gravity=(0, 0, 0), links=[link])
    run = simulated(
        robot, 20.0, q0=[0.05], motor0=[0.05], sensors=dy.Sensors(side="link"),
        controller=lambda t, q, qd: [-60.0 * q[0]],
    )  # fmt: skip
    t, q = run.t[10_000:], run.q[10_000:, 0]
    up = np.flatnonzero((q[:-1] < 0.0) & (q[1:] >= 0.0))
    crossings = t[up] - q[up] * (t[up + 1] - t[up]) / (q[up + 1] - q[up])
    assert np.diff(crossings).mean() == pytest.approx(period, rel=5e-3)
    assert q.max() == pytest.approx(amplitude, rel=near)


@pytest.mark.parametrize("K", [2e3, 2e5, 1e9])
def test_steps_of_any_length_end_where_teeth_meet_or_part(K):
    """A contact is half a vibration of the spring, whatever its stiffness: it leaves e of u."""
    z, w = 0.05, math.sqrt(K / MASS)
    e = math.exp(-math.pi * z / math.sqrt(1.0 - z * z))
    contact = math.pi / (w * math.sqrt(1.0 - z * z))
    run = simulated(
        two_masses(K, z, backlash=5e-3), 0.005 + contact + 4e-3, dt=1e-3, q0=[[0.0], [0.0]],
        motor_rate0=[[1.0], [1.0]], integrator="dormand-prince",
    )  # fmt: skip
    assert run.integrator == "dormand-prince"
    rate, motor = (1.0 + e) * MASS / M, 1.0 - (1.0 + e) * MASS / B
    np.testing.assert_allclose(run.qd[:, -1, 0], rate, atol=1e-7)
    np.testing.assert_allclose(run.motor_rate[:, -1, 0], motor, atol=1e-7)


def test_backlash_of_an_arm_in_steps_of_any_length():
    robot, start = two_links(1e4, 2.0, backlash=2e-3), {"q0": [0.3, 0.4]}
    short = simulated(robot, 0.1, dt=1e-5, save_every=100, **start)
    run = simulated(robot, 0.1, integrator="dormand-prince", **start)
    assert {*np.unique(run.flank)} >= {0.0, 1.0}
    np.testing.assert_allclose(run.q[-1], short.q[-1], atol=1e-8)
    np.testing.assert_allclose(run.motor[-1], short.motor[-1], atol=1e-8)


# starts, sides, ensembles, misuse


def test_motors_start_where_gears_carry_the_arm():
    robot = two_links(1e4, 20.0, hardening=1e7)
    run = simulated(robot, 0.5, q0=[0.3, 0.4], torque=robot.gravity_torque([0.3, 0.4]))
    np.testing.assert_allclose(run.transmitted[0], robot.gravity_torque([0.3, 0.4]), rtol=1e-12)
    np.testing.assert_allclose(run.q, np.tile([0.3, 0.4], (len(run.t), 1)), atol=1e-9)


def test_sensors_are_on_the_motor_unless_they_are_on_the_link():
    robot = two_links(1e3)
    law = dy.control.PointToPoint([200.0, 100.0], [20.0, 10.0])
    for side, of in (("motor", "motor"), ("link", "q")):
        options = {"controller": law, "reference": [0.5, 0.2], "sensors": dy.Sensors(side=side)}
        run = simulated(robot, 0.1, q0=[0.0, 0.0], **options)
        np.testing.assert_array_equal(run.measured.q, getattr(run, of))


def test_teeth_between_sides_that_friction_holds_rest_in_float32_too():
    """Nothing moves them, and the mass that they feel is the largest number there is."""
    puma = dy.load("puma560").with_friction(viscous=0.1, coulomb=0.3)
    robot = puma.with_drive(3, stiffness=1e3, damping=1.0, backlash=5e-4)
    start = {"q0": [0.1, 0.5, -1.2, 0.4, 0.5, 0.2], "dt": 2e-4}
    single, double = (simulated(robot, 0.01, dtype=x, **start) for x in ("float32", "float64"))
    assert double.stuck[:, 3].all() and double.motor_stuck[:, 3].all()
    np.testing.assert_allclose(single.q[-1], double.q[-1], atol=1e-5)


def test_rigid_joints_beside_elastic_ones():
    robot = two_links().with_drive(0, stiffness=None, damping=0.0)
    run = simulated(robot, 0.1, q0=[0.3, 0.4])
    assert (run.motor[:, 0] == run.q[:, 0]).all() and (run.motor[:, 1] != run.q[:, 1]).any()


def test_an_ensemble_has_the_bits_of_its_arms():
    robot = two_masses(1e7, 0.03, (1.5, 1.0), backlash=1e-3)
    q0 = np.linspace(0.0, 0.4, 5)[:, None]
    every = simulated(robot, 0.2, q0=q0, torque=lambda t: [20.0 * t])
    for k, start in enumerate(q0):
        one = simulated(robot, 0.2, q0=start, torque=lambda t: [20.0 * t])
        assert (one.q == every.q[k]).all() and (one.motor == every.motor[k]).all()


def test_code_of_steps_that_are_called_in_parts_is_that_of_whole_ones(monkeypatch):
    from dynamis.simulation import tasks

    robot = two_masses(1e7, 0.03, (1.5, 1.0))
    whole = simulated(robot, 0.6, q0=[0.0], torque=lambda t: [5.0 * t])
    monkeypatch.setattr(tasks, "INLINE", 10)
    again = dy.Robot(robot.with_gravity((0, 0, -1e-300)).model)
    parts = simulated(again, 0.6, q0=[0.0], torque=lambda t: [5.0 * t])
    np.testing.assert_allclose(parts.q, whole.q, rtol=1e-12, atol=1e-15)


def test_operations_of_a_step_next_to_those_of_the_rigid_arm():
    def length(robot: dy.Robot) -> int:
        return dy.Simulator(robot).assembly.plant_task.program().length

    puma = dy.load("puma560")
    bare = puma.with_friction(0.0, 0.0)
    for i in range(bare.n):
        bare = bare.with_drive(i, viscous=0.0, coulomb=0.0)
    both = elastic(puma).with_friction(viscous=0.1, coulomb=0.5)  # motors keep their own
    assert length(elastic(bare)) <= 1.6 * length(bare)
    assert length(both) <= 2.2 * length(puma)


def test_a_study_that_varies_nothing_is_the_simulation():
    robot, torque = two_links(), [20.0, 4.0]
    study = dy.study(robot, 0.1, samples=2, measure=("peak_torque",), seed=0, torque=torque)
    run = simulated(robot, 0.1, torque=torque)
    assert (study.replay(0).q == run.q).all() and (study.replay(1).motor == run.motor).all()


def test_a_closed_mechanism_with_elastic_drives():
    robot = dy.load("five-bar")
    for k in robot.driven:
        soft = robot.with_drive(k, rotor_inertia=1e-3, stiffness=1e7, damping=1.0)
        robot = soft
    run = simulated(robot, 0.2)
    assert run.integrator == "ros34pw2"
    assert np.abs(robot.closure_error(run.q)).max() < 1e-8


@pytest.mark.parametrize("coulomb", thorough_but([0.01], [0.0, 0.01]))
def test_a_closed_mechanism_with_stiff_drives_is_the_rigid_one(coulomb):
    """Motors go along where loops are closed after a step: else stiff gears would be stretched."""
    robot = dy.load("five-bar")
    for k in robot.driven:
        robot = robot.with_drive(k, gear=1.0, rotor_inertia=2e-3, coulomb=coulomb)
    rigid = simulated(robot, 0.1, dt=1e-4, save_every=10)
    for K in (1e9, 1e12):
        soft = robot
        for k in robot.driven:
            soft = soft.with_drive(k, stiffness=K)
        run = simulated(soft, 0.1)
        assert run.message == ""
        np.testing.assert_allclose(run.q, rigid.q, atol=2e-6)
        assert np.abs(run.transmitted).max() < 10.0


def test_the_step_says_what_it_is():
    soft = two_links(1e6)
    assert vibration(soft).frequency == pytest.approx(2.0 * math.pi * robot_fastest(soft), rel=0.2)
    assert simulated(soft, 0.01, q0=[0.0, 0.0]).integrator == ROS34PW2.name
    assert simulated(soft, 0.001, dt=1e-5, q0=[0.0, 0.0]).integrator == "rk4"
    with pytest.raises(OptionError, match="too fast for heun"):
        simulated(soft, 0.01, integrator="heun")
    with pytest.raises(OptionError, match="is for elastic joints"):
        simulated(two_links(None), 0.01, integrator="ros34pw2")


def test_the_implicit_step_damps_as_much_as_it_says():
    """Of a mode with a damping ratio z the envelope falls by exp(-z w t)."""
    run = simulated(two_masses(2e4), 0.2, q0=[0.0], motor0=[0.01], integrator="ros34pw2")
    said, w = run.numerical_damping, math.sqrt(2e4 / MASS)
    assert said.frequencies == pytest.approx([w / math.tau]) and said.ratios[0] > 1e-3
    envelope = np.hypot(run.deflection[:, 0], (run.motor_rate - run.qd)[:, 0] / w)
    seen = -math.log(envelope[-1] / envelope[0]) / (w * run.t[-1])
    assert said.ratios[0] == pytest.approx(seen, rel=0.02)


def test_what_the_step_damps_is_said():
    soft, law = two_links(1e5), dy.control.PointToPoint([200.0, 100.0], [20.0, 10.0])
    run = simulated(soft, 0.01, q0=[0.3, 0.4], controller=law, reference=[0.3, 0.4])
    (note,) = (x for x in run.check() if x.level == "note")
    assert (note.level, note.where) == ("note", "step")
    assert "ros34pw2 in steps of 0.001 s damps modes above 97 Hz" in note.what
    assert "240.9 Hz by 4.4 %" in note.what and "81.86" not in note.what
    assert note.remedy.startswith("use dt=0.0002, sample_time=0.001 to follow the fastest")
    fine = simulated(soft, 0.01, dt=2e-4, q0=[0.3, 0.4])
    assert fine.integrator == "rk4" and fine.check() == []
    assert fine.numerical_damping.ratios.max() < 5e-3
    assert simulated(two_links(None), 0.01).numerical_damping is None


def test_links_that_follow_no_step_are_said_so():
    run = simulated(two_masses(1e9), 0.01, q0=[0.0])
    assert run.numerical_damping.ratios[0] > 0.5
    assert run.numerical_damping.needed == 5e-6


@pytest.mark.parametrize("ensemble", [False, True])
def test_flanks_are_those_on_which_teeth_touch(ensemble):
    robot = two_links(1e4, 1.0, backlash=2e-3).with_drive(1, backlash=0.0)
    q0 = np.tile([0.3, 0.4], (3, 1)) if ensemble else [0.3, 0.4]
    run = simulated(robot, 0.5, dt=2e-4, q0=q0, torque=lambda t: [60 * math.sin(20 * t), 0.0])
    d, flank = run.deflection[..., 0], run.flank[..., 0]
    assert {*np.unique(flank)} == {-1.0, 0.0, 1.0} and run.flank.shape == run.q.shape
    assert (np.abs(d[flank == 0.0]) < 2e-3).all()
    assert (flank * d >= 2e-3 - 1e-12)[flank != 0.0].all()
    assert (run.flank[..., 1] == 0.0).all()  # elastic, without a gap
    assert (run.transmitted[..., 0][flank == 0.0] == 0.0).all()
    assert (run.transmitted[..., 0][flank != 0.0] != 0.0).all()
    assert (simulated(two_links(None), 0.01).flank == 0.0).all()


def robot_fastest(robot: dy.Robot) -> float:
    """The highest free mode in a few configurations, Hz, by the mass matrix of links and motors."""
    found = []
    for angle in np.linspace(-3.0, 3.0, 13):
        links = robot.mass_matrix([0.0, angle])
        rotor = np.diag([x.drive.gear**2 * x.drive.rotor_inertia for x in robot.model.links])
        K = np.diag([x.drive.stiffness for x in robot.model.links])
        both = np.block([[links - rotor, 0 * K], [0 * K, rotor]])
        found.append(
            np.linalg.eigvals(np.linalg.solve(both, np.block([[K, -K], [-K, K]]))).real.max()
        )
    return math.sqrt(max(found)) / (2.0 * math.pi)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stiffness": -1.0}, r"drive\.stiffness is -1\.0, expected above 0"),
        ({"damping": 1.0}, r"drive\.damping is 1\.0, without drive\.stiffness"),
        ({"backlash": 1e-3}, r"drive\.backlash is 0\.001, without drive\.stiffness"),
        ({"stiffness": 1e3, "backlash": -1e-3}, r"drive\.backlash is -0\.001, expected >= 0"),
        ({"stiffness": 1e3, "damping": -1.0}, r"drive\.damping is -1\.0, expected >= 0"),
    ],
)
def test_gears_that_cannot_be_are_refused(given, words):
    with pytest.raises(ModelError, match=words):
        dy.Drive(rotor_inertia=1e-4, **given)


def test_starts_of_motors_that_cannot_be_are_refused():
    with pytest.raises(OptionError, match=r"'joint1' is 0\.02 from the joint, beyond its backlash"):
        simulated(two_masses(1e5, backlash=5e-3), 0.1, q0=[0.0], motor0=[0.02])
    with pytest.raises(OptionError, match="no drive of robot 'two masses' is elastic"):
        simulated(two_masses(None), 0.1, motor0=[0.0])
    mixed = two_links().with_drive(0, stiffness=None, damping=0.0)
    with pytest.raises(OptionError, match="its drive is rigid"):
        simulated(mixed, 0.1, q0=[0.0, 0.0], motor0=[0.1, 0.0])
    with pytest.raises(OptionError, match=r"motor0 has shape \(3, 2\), expected \(2,\)$"):
        simulated(two_links(), 0.1, q0=[0.0, 0.0], motor0=np.zeros((3, 2)))


def test_motors_without_mass_or_of_their_own_are_refused():
    with pytest.raises(ModelError, match="no rotor_inertia"):
        dy.Robot.from_dh("x", convention="standard", links=[dy.Link(drive=dy.Drive(stiffness=1e3))])
    with pytest.raises(ModelError, match=r"joint 'joint1' has .* drive\.gear 0: its .* no mass"):
        two_links().with_drive(0, gear=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)
        with pytest.raises(ModelError, match='rotors="full"'):
            dy.Robot.from_dh(
                "x", convention="standard", rotors="full", links=two_links().model.links
            )
