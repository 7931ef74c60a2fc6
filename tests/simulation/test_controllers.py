"""Controllers in the loop: asked at every stage, held between samples, late, or compiled."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import ComputedTorque, ControlLoop, JointPID, MomentumObserver
from dynamis.control.sensors import Sensors
from dynamis.errors import OptionError
from tests.simulation.arms import bar, exact, order, pair, slider

KP, KD = 40.0, 6.0
START = {"q0": [0.3, -0.4], "qd0": [0.5, 0.0]}


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


@pytest.fixture(scope="module")
def arm():
    return pair(bar(dy.Friction(viscous=0.5)), bar(dy.Friction(viscous=0.2)))


def feedback(t, q, qd):
    return -KP * q - KD * qd


def test_a_function_asked_at_every_stage_keeps_order_four(arm):
    t = np.linspace(0, 0.4, 11)
    q, _ = exact(arm, t, START["q0"], START["qd0"], feedback)
    errors = []
    for k in range(3):
        run = dy.simulate(arm, 0.4, 0.02 / 2**k, **START, controller=feedback, save_every=2 * 2**k)
        errors.append(np.abs(run.q - q).max())
        np.testing.assert_array_equal(run.tau, feedback(run.t, run.q, run.qd))
    np.testing.assert_allclose(order(errors), 4.0, atol=0.35)
    adaptive = dy.simulate(
        arm, 0.4, 0.04, **START, controller=feedback, integrator="dormand-prince", tolerance=1e-11
    )
    np.testing.assert_allclose(adaptive.q, q, atol=1e-9)
    np.testing.assert_allclose(adaptive.tau, feedback(0, adaptive.q, adaptive.qd), atol=1e-12)


def test_a_function_is_told_the_time(arm):
    seen = []
    dy.simulate(arm, 0.02, 0.01, controller=lambda t, q, qd: seen.append(t) or 0.0 * q)
    np.testing.assert_allclose(sorted(set(np.round(seen, 12))), np.arange(5) * 0.005, atol=1e-12)


ENCODER = Sensors(encoder=2e-3, velocity_filter=30.0, position_noise=3e-4)


@pytest.mark.parametrize("duration", [0.1, 0.104, 0.1005, 0.1005 + 0.004])
@pytest.mark.parametrize("sensors", [None, ENCODER], ids=["exact", "encoder"])
@pytest.mark.parametrize("delay", [0.0, 3e-3, 4e-3, 8e-3])
def test_a_sampled_function_is_the_same_law_compiled(arm, delay, sensors, duration):
    """Held between samples, with a delay of nothing, of part of a sample, and of a whole one."""
    options = {"sample_time": 8e-3, "delay": delay, "sensors": sensors, "duration": duration}
    law = JointPID(KP, 0.0, KD)
    law = dy.simulate(arm, **START, controller=law, reference=[0.0, 0.0], **options)
    function = dy.simulate(arm, **START, controller=feedback, **options)
    for name in ("t", "q", "qd", "tau"):
        np.testing.assert_allclose(getattr(law, name), getattr(function, name), atol=1e-11)
    for a, b in zip(law.measured, function.measured, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-11)


def test_torques_are_held_and_late(arm):
    """tau(k) = law(measured(k)) from `delay` after the sample on; nothing before the first."""
    run = dy.simulate(
        arm, 0.08, **START, controller=feedback, sample_time=8e-3, delay=3e-3, sensors=Sensors()
    )
    for k in range(9):
        wanted = feedback(0, run.q[8 * k], run.qd[8 * k])
        np.testing.assert_array_equal(run.tau[8 * k + 3 : 8 * k + 11], [wanted] * 8)
    np.testing.assert_array_equal(run.tau[:3], 0.0)


@pytest.mark.parametrize("law", [
    JointPID(60.0, 30.0, 9.0, gravity=True, limit=25.0),
    ComputedTorque(60.0, 15.0, 40.0),
], ids=["pid", "computed-torque"])  # fmt: skip
def test_a_loop_of_ones_own_computes_the_same_torques(arm, law):
    path = dy.trajectory.quintic([0.3, -0.4], [-0.5, 0.8], 0.3)
    sensors = Sensors(encoder=1e-4, velocity_filter=60.0)
    run = dy.simulate(
        arm, 0.4, **START, controller=law, reference=path, sample_time=4e-3, sensors=sensors
    )
    loop = ControlLoop(law, arm, sample_time=4e-3)
    for k, (t, q, qd, tau) in enumerate(zip(*run.measured, strict=True)):
        wanted = [part[4 * k] for part in run.reference]
        np.testing.assert_allclose(loop.step(t, q, qd, *wanted), tau, atol=1e-12)
    np.testing.assert_array_equal(run.measured.tau, run.tau[::4])


@pytest.mark.parametrize("sensors", [None, ENCODER], ids=["exact", "encoder"])
def test_steps_of_any_length_end_at_every_sample(arm, sensors):
    options = {"controller": JointPID(KP, 5.0, KD), "reference": [0.2, 0.1], "sensors": sensors}
    options |= {"sample_time": 0.01, "duration": 0.2, **START}
    fine = dy.simulate(arm, dt=1e-3, **options)
    free = dy.simulate(arm, dt=5e-3, integrator="dormand-prince", tolerance=1e-11, **options)
    np.testing.assert_allclose(free.q, fine.q[::5], atol=1e-8)
    np.testing.assert_allclose(free.tau, fine.tau[::5], atol=1e-5)
    np.testing.assert_allclose(free.measured.q, fine.measured.q, atol=1e-8)


def test_the_controllers_own_sample_time_counts(arm):
    law = JointPID(KP, 0.0, KD, sample_time=5e-3)
    run = dy.simulate(arm, 0.05, **START, controller=law)
    np.testing.assert_allclose(run.measured.t, np.arange(11) * 5e-3, atol=1e-15)
    np.testing.assert_array_equal(run.tau[0:5], run.tau[[0] * 5])


def test_without_a_reference_the_start_is_the_place_to_be(arm):
    law = ComputedTorque(100.0, 20.0)
    run = dy.simulate(arm, 0.1, q0=[0.3, -0.4], controller=law)
    np.testing.assert_allclose(run.q, np.tile([0.3, -0.4], (101, 1)), atol=1e-9)
    np.testing.assert_array_equal(run.reference.q[5], [0.3, -0.4])


@pytest.mark.parametrize("way", [
    {},
    {"integrator": "dormand-prince"},
    {"controller": lambda t, q, qd: -KP * q},
    {"controller": lambda t, q, qd: -KP * q, "integrator": "dormand-prince"},
    {"controller": lambda t, q, qd: -KP * q, "sample_time": 2e-3},
    {"controller": JointPID(KP, 0.0, KD), "sample_time": 4e-3},
], ids=["free", "free-adaptive", "stages", "stages-adaptive", "held", "law"])  # fmt: skip
def test_the_observer_finds_what_pushes_whatever_drives_the_arm(arm, way):
    own = {} if "sample_time" in way else {"sample_time": 2e-3}
    watch = MomentumObserver(80.0, **own)
    run = dy.simulate(arm, 0.2, **START, observer=watch, external=[2.0, -1.0], **way)
    # it takes the torque at one instant for that of the whole sample
    moved = np.abs(np.diff(run.measured.tau, axis=0)).max()
    np.testing.assert_allclose(run.observed[-1], [2.0, -1.0], atol=0.05 + moved)
    assert run.measured.t[1] == pytest.approx(way.get("sample_time", 2e-3))
    np.testing.assert_array_equal(run.measured.q[-1], run.q[-1])


def test_feedback_sees_exactly_the_state_when_it_is_asked():
    """A function on a slider: v' = -v, sampled every step: v(k+1) = (1 - h / m) v(k)."""
    h, m = 0.05, 2.0
    run = dy.simulate(
        slider(mass=m), 1.0, h, qd0=[1.0], controller=lambda t, q, qd: -qd, sample_time=h
    )
    np.testing.assert_allclose(run.qd[:, 0], (1 - h / m) ** np.arange(21), rtol=1e-12)


@pytest.mark.parametrize("sample_time", [0.0025, 0.0033, 1 / 300, 0.0007])
def test_the_step_that_a_hint_proposes_is_taken(arm, sample_time):
    how = {"controller": JointPID(10.0, 0.0, 1.0), "sample_time": sample_time}
    with pytest.raises(OptionError, match=r"choose dt = (\S+)") as told:
        dy.simulate(arm, 0.01, 1e-3, **how)
    dy.simulate(arm, 0.01, float(str(told.value).split()[-1]), **how)
