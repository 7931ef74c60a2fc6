"""Drives that lose power, saturate, and have circuits."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from tests.simulation.arms import GRAVITY, bar, pair, slider, spinner

LOSSY = {"gear": 20.0, "rotor_inertia": 2e-3, "viscous": 1e-3, "efficiency": 0.7}


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


@pytest.fixture(scope="module")
def geared():
    return pair(bar(drive=dy.Drive(**LOSSY, coulomb=0.01)), bar(drive=dy.Drive(**LOSSY)))


def motor_torque(robot, run):
    """What the motion needs behind the gears, motor friction and rotor included."""
    qdd = np.gradient(run.qd, run.t, axis=0, edge_order=2)
    return robot.motor_torque(run.q, run.qd, qdd)


@pytest.mark.parametrize(
    "torque, qd0", [([60.0, 30.0], [1.0, 1.0]), ([-40.0, -15.0], [3.0, 1.0]), ([0.0, 0.0], [2, -2])]
)
def test_the_motion_needs_the_torque_that_was_commanded(geared, torque, qd0):
    """Driving, braking, coasting: fed back into motor_torque it gives the command over the gear."""
    run = dy.simulate(geared, 0.1, 5e-4, q0=[-0.5, 0.3], qd0=qd0, torque=torque)
    error = np.abs(motor_torque(geared, run) - np.array(torque) / 20.0)
    assert error[2:-2].max() < 1e-4  # of the differences that give the acceleration


def test_losses_slow_a_driving_motor_and_brake_a_driven_one():
    """One flywheel: (I + eta J G^2) a = eta tau while driving, (I + J G^2 / eta) a = tau / eta."""
    I, J, G, eta = 0.5, 2e-3, 10.0, 0.6
    robot = spinner(drive=dy.Drive(gear=G, rotor_inertia=J, efficiency=eta), inertia=I)
    driving = dy.simulate(robot, 0.2, torque=[3.0], qd0=[0.1])
    a = eta * 3.0 / (I + eta * J * G**2)
    np.testing.assert_allclose(driving.qd[:, 0], 0.1 + a * driving.t, rtol=1e-9)
    braking = dy.simulate(robot, 0.2, torque=[-3.0], qd0=[5.0])
    a = -(3.0 / eta) / (I + J * G**2 / eta)
    np.testing.assert_allclose(braking.qd[:, 0], 5.0 + a * braking.t, rtol=1e-9)
    ideal = dy.simulate(robot, 0.2, torque=[3.0], qd0=[0.1], drives=False)
    np.testing.assert_allclose(ideal.qd[:, 0], 0.1 + 3.0 / (I + J * G**2) * ideal.t, rtol=1e-12)


def test_a_screw_lifts_evenly_with_the_torque_of_its_lead():
    """rppr, joint 2: F lead / (2 pi eta)."""
    robot = dy.load("rppr")
    F, v, lead, eta = 13 * 9.8, 0.2, 0.025, 0.85
    q, qd = np.zeros(4), np.array([0.0, v, 0.0, 0.0])
    tau = robot.inverse_dynamics(q, qd, np.zeros(4))
    rub = 0.05 * v
    assert tau[1] == pytest.approx(F + rub)
    motor = robot.motor_torque(q, qd, np.zeros(4))[1]
    assert motor == pytest.approx((F + rub) * lead / (2 * np.pi * eta))
    command = tau.copy()
    command[1] = motor * 2 * np.pi / lead
    assert command[1] == pytest.approx((F + rub) / eta)
    run = dy.simulate(robot, 0.2, 1e-3, qd0=qd, torque=command)
    np.testing.assert_allclose(run.qd[:, 1], v, rtol=1e-9)
    short = dy.simulate(robot, 0.2, 1e-3, qd0=qd, torque=command * [1, 0.99, 1, 1])
    assert short.qd[-1, 1] < v - 1e-3


class TestCircuit:
    """v = R i + L di/dt + k w, torque k i."""

    V, R, k, G = 24.0, 2.0, 0.05, 30.0

    def motor(self, **more):
        options = {"gear": self.G, "resistance": self.R, "torque_constant": self.k} | more
        return spinner(drive=dy.Drive(**options), inertia=0.5)

    def test_no_load_speed(self):
        """It ends at V / (k G), however much is asked for."""
        robot = self.motor(voltage_limit=self.V)
        run = dy.simulate(robot, 6.0, torque=[1e4], save_every=100)
        assert run.qd[-1, 0] == pytest.approx(self.V / (self.k * self.G), rel=1e-5)
        rate = (self.k * self.G) ** 2 / (self.R * 0.5)  # of its mechanical time constant
        speed = self.V / (self.k * self.G) * (1 - np.exp(-rate * run.t))
        np.testing.assert_allclose(run.qd[:, 0], speed, atol=1e-6)

    def test_stall_torque(self):
        robot = self.motor(voltage_limit=self.V)
        run = dy.simulate(robot, 0.01, torque=[-1e4])
        assert run.tau[0, 0] == pytest.approx(-self.k * self.V / self.R * self.G)

    def test_current_limit(self):
        robot = self.motor(current_limit=4.0, voltage_limit=self.V)
        run = dy.simulate(robot, 0.01, torque=[1e4])
        assert run.tau[0, 0] == pytest.approx(4.0 * self.k * self.G)
        small = dy.simulate(robot, 0.01, torque=[1.0])
        np.testing.assert_allclose(small.tau, 1.0)

    def test_a_free_current_dies_with_the_time_constant(self):
        """Locked by its inertia, at the voltage limit: i = V / R (1 - exp(-t R / L))."""
        L = 0.02
        robot = spinner(
            drive=dy.Drive(gear=1.0, resistance=self.R, torque_constant=self.k, inductance=L,
                           voltage_limit=self.V),
            inertia=1e6,
        )  # fmt: skip
        run = dy.simulate(robot, 0.05, 1e-4, torque=[1e4])
        current = self.V / self.R * (1 - np.exp(-run.t * self.R / L))
        np.testing.assert_allclose(run.states["current"][:, 0], current, rtol=1e-5)
        np.testing.assert_allclose(run.tau[:, 0], self.k * current, rtol=1e-5)

    def test_the_current_loop_follows_at_its_bandwidth(self):
        robot = self.motor(inductance=1e-3, current_bandwidth=500.0)
        run = dy.simulate(robot, 0.02, 1e-4, torque=[3.0])
        np.testing.assert_allclose(run.tau[:, 0], 3.0 * (1 - np.exp(-500 * run.t)), atol=1e-5)

    def test_drives_off(self):
        robot = self.motor(inductance=1e-3, current_limit=1.0, voltage_limit=1.0)
        run = dy.simulate(robot, 0.02, torque=[30.0], drives=False)
        np.testing.assert_array_equal(run.tau, 30.0)
        np.testing.assert_allclose(run.qd[:, 0], 60.0 * run.t, rtol=1e-12)


@pytest.mark.parametrize("gear", [10.0, -10.0])
def test_motor_torques_are_limited(gear):
    """Limits are the motor's; a negative gear turns them over."""
    robot = spinner(drive=dy.Drive(gear=gear, limits=(-0.2, 0.5)))
    highest = {10.0: (-2.0, 5.0), -10.0: (-5.0, 2.0)}[gear]
    for wanted in (-50.0, -1.0, 1.0, 50.0):
        run = dy.simulate(robot, 0.01, torque=[wanted])
        np.testing.assert_allclose(run.tau, np.clip(wanted, *highest))
        run = dy.simulate(robot, 0.01, controller=lambda t, q, qd, w=wanted: [w])
        np.testing.assert_allclose(run.tau, np.clip(wanted, *highest))
    free = dy.simulate(robot, 0.01, torque=[50.0], drives=False)
    np.testing.assert_array_equal(free.tau, 50.0)


def test_a_lossy_gear_holds_what_its_motor_friction_holds():
    drive = dy.Drive(gear=10.0, coulomb=1.0, rotor_inertia=1e-3, efficiency=0.5)
    robot = slider(drive=drive, gravity=GRAVITY, mass=1.0)
    up = 10.0 + GRAVITY / 0.5  # of what is left of the motor's torque half arrives
    down = -10.0 + GRAVITY * 0.5
    for load in (0.999 * up, 0.999 * down):
        held = dy.simulate(robot, 1.0, torque=[load], save_every=100)
        assert (held.q == 0.0).all() and held.stuck.all()
    assert dy.simulate(robot, 0.1, torque=[1.01 * up]).q[-1, 0] > 0
    assert dy.simulate(robot, 0.1, torque=[1.05 * down]).q[-1, 0] < 0


@pytest.mark.parametrize("integrator", ["rk4", "dormand-prince"])
def test_a_screw_holds_within_the_band_of_its_losses(integrator):
    """eta W <= F <= W / eta holds exactly; beyond, what arrives accelerates."""
    robot = slider(drive=dy.Drive(lead=0.025, efficiency=0.85), gravity=GRAVITY, mass=10.0)
    W = 10.0 * GRAVITY
    for share in (0.86, 0.95, 1.0, 1.1, 1.17):
        run = dy.simulate(robot, 0.5, 5e-3, torque=[share * W], integrator=integrator)
        assert (run.q == 0.0).all() and run.stuck.all()
    for share, arrives in ((0.8, 0.8 / 0.85), (1.3, 1.3 * 0.85)):
        run = dy.simulate(robot, 0.5, 5e-3, torque=[share * W], integrator=integrator)
        assert run.q[-1, 0] == pytest.approx(0.5 * (arrives - 1.0) * GRAVITY * 0.25, rel=1e-9)


FAST = [
    ({"current_bandwidth": 4000.0}, {}, ["current_bandwidth 4000", "0.00056", "2500"]),
    ({"current_bandwidth": 2000.0}, {"integrator": "euler"}, ["euler", "1800"]),
    ({"inductance": 1e-4, "voltage_limit": 48.0}, {}, ["R/L 10000", "0.00022"]),
]


@pytest.mark.parametrize("circuit, how, words", FAST)
def test_a_current_too_fast_for_the_step_is_refused(circuit, how, words):
    motor = {"resistance": 1.0, "inductance": 1e-3, "torque_constant": 0.1, **circuit}
    robot = spinner(drive=dy.Drive(gear=50, **motor))
    with pytest.raises(OptionError) as found:
        dy.simulate(robot, 0.1, 1e-3, torque=[1.0], **how)
    for word in ("'joint1'", "dt = 0.001", *words):
        assert word in str(found.value)
    for fine in ({"dt": 2e-4}, {"integrator": "dormand-prince"}, {"drives": False}):
        assert not dy.simulate(robot, **{"duration": 0.02, "torque": [1.0], **how, **fine}).diverged


def test_without_a_voltage_limit_the_windings_set_no_pace():
    motor = {"resistance": 1.0, "inductance": 1e-4, "torque_constant": 0.1}
    run = dy.simulate(spinner(drive=dy.Drive(gear=50, **motor)), 0.1, 1e-3, torque=[1.0])
    assert run.tau[-1, 0] == pytest.approx(1.0)
