"""The observer finds an external torque, with the time constant it was given."""

from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import MomentumObserver, Sample
from dynamis.errors import OptionError, ShapeError
from tests.random_robots import build

from .blocks import arm_of, gains_of

pytestmark = pytest.mark.usefixtures("compiled")  # the arm that is observed


def watched(robot, observer, external, steps, dt, tau=None, substeps=4, q0=None):
    """Estimates (steps, n) while a constant external torque acts besides constant torques."""
    n = robot.n
    arm, gains = arm_of(observer, robot), gains_of(observer, robot)
    q, qd = np.full(n, 0.3) if q0 is None else np.array(q0), np.zeros(n)
    tau = robot.gravity_torque(q) if tau is None else tau
    state = observer.start(arm, Sample(0.0, q.tolist(), qd.tolist(), gains))
    h, result = dt / substeps, []

    def slope(x):
        return np.r_[x[n:], robot.forward_dynamics(x[:n], x[n:], tau + external)]

    for k in range(steps):
        seen = k * dt, q.tolist(), qd.tolist(), gains, SimpleNamespace(**state)
        r, state = observer.step(arm, Sample(*seen, dt=dt, tau=tau.tolist()))
        result.append(r)
        x = np.r_[q, qd]
        for _ in range(substeps):
            k1 = slope(x)
            k2 = slope(x + h / 2 * k1)
            k3 = slope(x + h / 2 * k2)
            k4 = slope(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        q, qd = x[:n], x[n:]
    return np.array(result)


ARMS = {
    "planar-2link": (lambda: dy.load("planar-2link"), [20.0, -8.0]),
    "stanford": (lambda: dy.load("stanford"), [3.0, -2.0, 5.0, 0.5, -0.4, 0.2]),
    "rotors": (lambda: _smooth("full"), [3.0, -2.0, 1.0]),
    "smooth-friction": (lambda: _smooth("reflected"), [3.0, -2.0, 1.0]),
}


def _smooth(rotors):
    """A random arm whose friction does not jump: an integrator resolves it."""
    from dataclasses import replace

    robot = build("standard", ("revolute", "prismatic", "revolute"), 3, rotors=rotors)
    law = dy.Friction(viscous=1.0, coulomb=0.5, offset=0.3, law="smooth", velocity=0.3)
    links = tuple(replace(link, friction=law, drive=_plain(link)) for link in robot.model.links)
    return dy.Robot(replace(robot.model, links=links))


def _plain(link):
    from dataclasses import replace

    return replace(link.drive, coulomb=0.0, efficiency=1.0)


@pytest.mark.parametrize("make, external", ARMS.values(), ids=ARMS)
def test_a_constant_torque_is_found(make, external):
    robot, external = make(), np.array(external)
    dt, K = 1e-3, 60.0
    r = watched(robot, MomentumObserver(K), external, 251, dt)
    # r' = K (external - r) from 0, sampled
    expected = external * (1.0 - np.exp(-K * dt * np.arange(251)))[:, None]
    np.testing.assert_allclose(r, expected, atol=5e-3 * np.abs(external).max())
    np.testing.assert_allclose(r[-1], external, atol=2e-3 * np.abs(external).max())


def test_its_time_constant_is_one_over_the_gain():
    robot, external = dy.load("planar-2link"), np.array([10.0, 5.0])
    for K in (20.0, 80.0):
        r = watched(robot, MomentumObserver((K, 2 * K)), external, 150, 1e-3)
        for joint, gain in ((0, K), (1, 2 * K)):
            reached = np.argmax(r[:, joint] > external[joint] * (1 - np.exp(-1))) * 1e-3
            assert reached == pytest.approx(1 / gain, abs=2e-3)


@pytest.mark.parametrize("product", [0.1, 1.9, 5.0])
def test_stable_and_unbiased_however_fast(product):
    robot, external = dy.load("planar-2link"), np.array([10.0, 5.0])
    dt = 2e-3
    r = watched(robot, MomentumObserver(product / dt), external, 120, dt)
    np.testing.assert_allclose(r[-1], external, rtol=1e-3)


def test_without_contact_it_says_zero():
    robot = dy.load("planar-2link")
    r = watched(robot, MomentumObserver(50.0), np.zeros(2), 200, 1e-3, tau=np.array([5.0, -3.0]))
    assert np.abs(r).max() < 1e-2


def test_losses_of_gears_are_no_contact(compiled):
    """The simulated arm loses power in its gears, which its observer knows of."""
    from dataclasses import replace

    model = dy.load("planar-2link").model
    drive = dy.Drive(gear=50.0, viscous=1e-4, efficiency=0.7)
    links = tuple(replace(link, drive=drive) for link in model.links)
    robot = dy.Robot(replace(model, links=links))
    law = dy.control.ComputedTorque.from_bandwidth(robot, 20.0)
    move = dy.trajectory.quintic([0.2, 0.3], [0.8, -0.4], 0.5)
    ideal = (replace(x, drive=replace(drive, efficiency=1.0)) for x in links)
    lossless = dy.Robot(replace(model, links=tuple(ideal)))
    worst = []
    for known in (robot, lossless):
        watch = MomentumObserver(100.0, model=known)
        run = dy.simulate(robot, 0.5, q0=[0.2, 0.3], controller=law, reference=move, observer=watch)
        worst.append(np.abs(run.observed).max() / np.abs(run.tau).max())
    assert worst[0] < 0.03 and worst[1] > 0.2  # of the largest torque


def test_an_error_of_order_two_in_the_sample_time():
    robot, tau = dy.load("planar-2link"), np.array([100.0, -30.0])
    worst = [
        np.abs(watched(robot, MomentumObserver(50.0), np.zeros(2), n, dt, tau=tau)).max()
        for n, dt in ((101, 4e-3), (201, 2e-3))
    ]
    assert worst[0] / worst[1] > 3.0


def test_the_first_step_only_looks():
    robot, observer = dy.load("puma560"), MomentumObserver(50.0)
    arm, gains = arm_of(observer, robot), gains_of(observer, robot)
    measured = 0.0, [0.3] * 6, [0.4] * 6, gains
    state = observer.start(arm, Sample(*measured))
    seen = Sample(*measured, SimpleNamespace(**state), dt=1e-3, tau=[0.0] * 6)
    r, after = observer.step(arm, seen)
    assert r == [0.0] * 6 and set(after) == set(state)


def test_at_rest_stiction_is_reported_not_hidden():
    """A stuck joint: the motor pushes with less than the Coulomb friction, nothing moves."""
    robot, observer = dy.load("puma560"), MomentumObserver(50.0)
    low, high = observer.stiction(robot)
    friction = robot.chain.resistances
    np.testing.assert_allclose(high, [f.plus for f in friction])
    np.testing.assert_allclose(low, [f.minus for f in friction])
    arm, gains = arm_of(observer, robot), gains_of(observer, robot)
    q, push = np.full(6, 0.3), np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    tau = (robot.gravity_torque(q) + robot.friction_torque(np.zeros(6)) + push).tolist()
    measured = 0.0, q.tolist(), [0.0] * 6, gains
    state = observer.start(arm, Sample(*measured))
    for _ in range(400):
        seen = Sample(*measured, SimpleNamespace(**state), dt=1e-3, tau=tau)
        r, state = observer.step(arm, seen)
    np.testing.assert_allclose(r, -push, atol=1e-6)
    assert (low <= r).all() and (np.array(r) <= high).all()
    assert not MomentumObserver(50.0, friction="none").stiction(robot).any()


def test_friction_can_be_left_to_the_estimate():
    robot = _smooth("reflected")
    zero = np.zeros(3)
    tau = robot.gravity_torque(np.full(3, 0.3)) + np.array([2.0, 1.0, 0.5])
    known = watched(robot, MomentumObserver(200.0), zero, 100, 1e-3, tau=tau)
    unknown = watched(robot, MomentumObserver(200.0, friction="none"), zero, 100, 1e-3, tau=tau)
    assert np.abs(known[-1]).max() < 0.05 < np.abs(unknown[-1]).min()


def test_bad_input():
    robot = dy.load("planar-2link")
    with pytest.raises(OptionError, match=r"gain is 0\.0, expected numbers above 0"):
        MomentumObserver(0.0).gains(robot)
    with pytest.raises(ShapeError, match="expected one number or 2"):
        MomentumObserver((1.0, 2.0, 3.0)).gains(robot)
    with pytest.raises(OptionError, match="friction is 'desired'"):
        MomentumObserver(1.0, friction="desired")
    with pytest.raises(ShapeError, match="has 6 joints, expected 2"):
        MomentumObserver(1.0, model=dy.load("puma560")).gains(robot)
