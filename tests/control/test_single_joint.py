"""One joint under PID: stability, errors that stay, and responses, each by an independent way."""

import control
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from dynamis.control.single_joint import SingleJoint
from dynamis.errors import OptionError, ShapeError

PD = SingleJoint(inertia=0.8, damping=0.3, gain=2.0, kp=5.0, kd=0.7)
PID = SingleJoint(inertia=0.8, damping=0.3, gain=2.0, kp=5.0, ki=3.0, kd=0.7)
LOOPS = {"PD": PD, "PID": PID}
INTEGRATION = 1e-8  # solve_ivp runs at rtol 1e-10

positive = st.floats(0.05, 20.0)


def loops(draw_ki=positive):
    return st.builds(SingleJoint, positive, positive, positive, positive, draw_ki, positive)


def integrated(loop, t, tau_p, q_d, qd0):
    """q(t) from the plant and the regulator as they stand, q_d constant after 0."""

    def rate(_, x):
        q, qd, integral = x
        e = q - q_d
        u = -loop.kp * e - loop.ki * integral - loop.kd * qd
        return qd, (loop.gain * u - tau_p - loop.damping * qd) / loop.inertia, e

    run = solve_ivp(rate, (0, t[-1]), (0, qd0, 0), t_eval=t, rtol=1e-10, atol=1e-12)
    return run.y[0]


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_step_disturbance_is_the_integrated_one(loop):
    t = np.linspace(0, 8, 60)
    expected = integrated(loop, t, tau_p=2.5, q_d=0.0, qd0=0.0)
    np.testing.assert_allclose(loop.step_disturbance(t, 2.5), expected, atol=INTEGRATION)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_step_reference_is_the_integrated_one(loop):
    t = np.linspace(0, 8, 60)
    kick = loop.gain * loop.kd * 1.5 / loop.inertia
    expected = integrated(loop, t, tau_p=0.0, q_d=1.5, qd0=kick)
    np.testing.assert_allclose(loop.step_reference(t, 1.5), expected, atol=INTEGRATION)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_responses_are_those_of_the_transfer_functions(loop):
    t = np.linspace(0, 6, 400)
    _, e = loop.error_from_disturbance.step(T=t)
    np.testing.assert_allclose(loop.step_disturbance(t), e, atol=1e-10)
    _, e = loop.error_from_reference.step(T=t)
    np.testing.assert_allclose(loop.step_reference(t) - 1.0, e, atol=1e-10)
    _, q = loop.position_from_reference.step(T=t)
    np.testing.assert_allclose(loop.step_reference(t), q, atol=1e-10)


@given(loop=loops(st.one_of(st.just(0.0), positive)), w=st.floats(0.1, 50))
def test_error_is_minus_that_of_document_002(loop, w):
    """At s = j w: e = -(tau_p + (J s + B) s q_d) / (k R + (J s + B) s)."""
    s = 1j * w
    J, B, k = loop.inertia, loop.damping, loop.gain
    R = loop.kp + loop.kd * s + loop.ki / s
    below = k * R + (J * s + B) * s
    assume(abs(below) > 1e-3)
    value = {
        name: np.polyval(tf.num, s) / np.polyval(tf.den, s)
        for name in ("error_from_disturbance", "error_from_reference", "position_from_reference")
        for tf in [getattr(loop, name)]
    }
    assert value["error_from_disturbance"] == pytest.approx(-1 / below, rel=1e-9)
    assert value["error_from_reference"] == pytest.approx(-(J * s + B) * s / below, rel=1e-9)
    assert value["position_from_reference"] == pytest.approx(k * R / below, rel=1e-9)
    L = loop.open_loop
    assert np.polyval(L.num, s) / np.polyval(L.den, s) == pytest.approx(
        k * R / ((J * s + B) * s), rel=1e-9
    )


def test_disturbance_that_pd_leaves_and_pid_rejects():
    assert PD.disturbance_error == -1 / (2.0 * 5.0)
    assert PID.disturbance_error == 0.0
    late = np.array([200.0])
    np.testing.assert_allclose(PD.step_disturbance(late, 3.0), 3.0 * PD.disturbance_error)
    np.testing.assert_allclose(PID.step_disturbance(late, 3.0), 0.0, atol=1e-12)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_ramp_error(loop):
    """A ramp is the integral of a step: its error is the limit of e / q_d over s."""
    t = np.linspace(0, 60, 20_001)
    e = loop.step_reference(t) - 1.0
    total = np.sum((e[1:] + e[:-1]) / 2 * np.diff(t))
    assert total == pytest.approx(loop.ramp_error, abs=1e-5)


@given(loop=loops(st.one_of(st.just(0.0), positive)))
def test_routh_agrees_with_the_roots(loop):
    assume(abs(loop.stability_margin) > 1e-6)
    assert loop.stable == bool(np.all(np.roots(loop.characteristic).real < 0))
    assert loop.stable == (loop.stability_margin > 0)


@pytest.mark.parametrize("factor, stable", [(0.999, True), (1.0, False), (1.001, False)])
def test_the_border_of_ki(factor, stable):
    """(B + k kd) kp = J ki, from both sides."""
    J, B, k, kp, kd = 0.5, 0.25, 2.0, 4.0, 0.375  # exact in binary
    loop = SingleJoint(J, B, k, kp, factor * (B + k * kd) * kp / J, kd)
    assert loop.stable is stable
    assert loop.ki_limit == 8.0
    real = np.roots(loop.characteristic).real.max()
    assert abs(real) < 1e-9 if factor == 1.0 else (real < 0) == stable
    assert loop.stability_margin == -real


def test_no_gain_and_wrong_signs_are_unstable():
    assert not SingleJoint(1.0).stable
    assert not SingleJoint(1.0, kp=1.0).stable  # swings for ever
    assert SingleJoint(1.0, 0.1, kp=1.0).stable
    assert not SingleJoint(1.0, 0.1, kp=-1.0).stable
    assert not SingleJoint(1.0, 0.1, kp=1.0, ki=-0.01).stable
    assert not SingleJoint(1.0, 0.1, kp=1.0, kd=-0.2).stable


@pytest.mark.parametrize("name", ["disturbance_error", "ramp_error"])
def test_an_unstable_loop_has_no_steady_error(name):
    with pytest.raises(OptionError, match=r"not stable(.|\n)*ki below 0.5"):
        getattr(SingleJoint(1.0, 0.5, kp=1.0, ki=0.6), name)


@given(J=positive, k=positive, w=st.floats(0.5, 30), z=st.floats(0.3, 2), a=st.floats(0.05, 2))
def test_bandwidth_places_the_poles(J, k, w, z, a):
    B = 0.5 * J * w * z
    pair = np.array([1, 2 * z * w, w**2])
    pd = SingleJoint.from_bandwidth(J, B, k, bandwidth=w, damping_ratio=z)
    np.testing.assert_allclose(pd.characteristic, J * pair, rtol=1e-12)
    pid = SingleJoint.from_bandwidth(J, B, k, bandwidth=w, damping_ratio=z, integral=a)
    np.testing.assert_allclose(pid.characteristic, J * np.polymul(pair, [1, a * w]), rtol=1e-12)
    assert pd.stable and pid.stable and pd.ki == 0.0


def test_peers_read_the_transfer_functions():
    loop = control.tf(PID.open_loop.num, PID.open_loop.den)
    closed = control.feedback(loop, 1)
    np.testing.assert_allclose(
        np.sort_complex(control.poles(closed)), np.sort_complex(PID.poles), atol=1e-9
    )


def test_times_may_have_any_shape():
    assert PID.step_disturbance(1.0).shape == ()
    assert PID.step_reference([[0, 1], [2, 3]]).shape == (2, 2)
    assert PID.step_reference([0, 0])[0] == 0.0


def test_wrong_numbers_are_named():
    for name in ("inertia", "gain"):
        with pytest.raises(OptionError, match=f"{name} is 0"):
            SingleJoint(**{"inertia": 1.0, name: 0.0})
    with pytest.raises(OptionError, match="damping is -1"):
        SingleJoint(1.0, -1.0)
    for wrong in (np.nan, np.inf, "5", [1.0], None):
        with pytest.raises(OptionError, match="kp is"):
            SingleJoint(1.0, kp=wrong)  # type: ignore[arg-type]
    for wrong in ([-1.0], [np.nan], [np.inf]):
        with pytest.raises(OptionError, match="times"):
            PID.step_reference(wrong)
    with pytest.raises(ShapeError, match="t holds"):
        PID.step_reference("now")
    with pytest.raises(OptionError, match="bandwidth is -1"):
        SingleJoint.from_bandwidth(1.0, bandwidth=-1.0)
    with pytest.raises(OptionError, match="at least 5 rad/s"):
        SingleJoint.from_bandwidth(1.0, 10.0, bandwidth=2.0)
