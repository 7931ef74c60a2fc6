"""Poor data get a diagnosis, not a model."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.friction.models import friction_named
from dynamis.identify.motion import late_velocities
from dynamis.identify.processing import Processing, prepare
from dynamis.identify.unknowns import unknowns
from dynamis.identify.verdict.diagnose import LogError, excerpt, late_torque

from .motions import arm, log_of, series

ROBOT = arm()
GOOD = log_of(ROBOT)


def changed(**arrays):
    given = {"t": GOOD.t, "q": GOOD.q, "qd": GOOD.qd, "tau": GOOD.tau}
    return dy.Log(**{**given, **arrays})


def test_a_good_log_has_no_findings():
    assert dy.identify(ROBOT, GOOD, friction="asymmetric", held_out=False).findings == ()


@pytest.mark.parametrize(
    "log, said",
    [
        (changed(q=np.full(GOOD.q.shape, 0.3), qd=np.zeros(GOOD.q.shape)), "no joint moves"),
        (GOOD.rows(0, 20), "20 rows in"),
        (changed(tau=np.full(GOOD.q.shape, 2.0)), "tau1 never changes: it is always 2"),
        (changed(q=np.degrees(GOOD.q), qd=np.degrees(GOOD.qd)), "degrees"),
        (changed(qd=np.degrees(GOOD.qd)), "is not the rate of q1: 57.3 times its size"),
        (changed(qd=GOOD.qd[:, ::-1]), "is not the rate of"),
    ],
    ids=["still", "short", "constant torque", "degrees", "velocity units", "swapped velocities"],
)
def test_errors(log, said):
    with pytest.raises(LogError, match=said) as raised:
        dy.identify(ROBOT, log, friction="asymmetric")
    assert raised.value.findings and raised.value.hint


def test_there_is_one_limit_beyond_which_angles_may_be_degrees():
    """What reading a log questions is what identification refuses, and nothing else."""
    for reach, doubted in ((12.5, False), (12.6, True), (20.0, True)):
        q = GOOD.q - GOOD.q[:, :1].max() * np.array([1.0, 0.0]) + np.array([reach, 0.0])
        arrays = {"t": GOOD.t, "q": q, "qd": GOOD.qd, "tau": GOOD.tau}
        said = [f.what for f in dy.read_log(arrays).findings]
        assert any("are these degrees" in x for x in said) == doubted
        if doubted:
            with pytest.raises(LogError, match="are these degrees, or motor angles"):
                dy.identify(ROBOT, dy.Log(**arrays), friction="asymmetric")
            told = dy.read_log(arrays, units={"q": "rad"}).window(0.0, 8.0)
            options = {"friction": "asymmetric", "estimator": "weighted", "held_out": False}
            for one in (told, dy.identify(ROBOT, told, force=True, **options)):
                levels = {f.level for f in one.findings if "q1 reaches" in f.what}
                assert levels == {"note"}
        else:
            dy.identify(ROBOT, dy.Log(**arrays), friction="asymmetric", held_out=False, force=True)


def lagging(lag, spoilt=0):
    """A log whose velocities come late, and go on at its end where the arm was stopped."""
    t, q, qd, _ = series(4)
    late = np.stack([np.interp(t - lag, t, v) for v in qd.T], axis=1)
    if spoilt:
        q = np.array(q)
        q[-spoilt:] = q[-spoilt - 1]
    noise = np.random.default_rng(1).normal(size=(2, *q.shape))
    return dy.Log(t=t, q=q + 1e-6 * noise[0], qd=late + 1e-3 * noise[1], tau=q)


@pytest.mark.parametrize("spoilt", [0, 20, 60])
@pytest.mark.parametrize("lag", [0.0, 2.5e-3, 10e-3])
def test_the_lag_of_velocities_is_that_of_the_motion_not_of_its_end(lag, spoilt):
    assert late_velocities([lagging(lag, spoilt)]) == pytest.approx(lag, abs=0.3e-3)


def test_the_lag_of_the_velocities_of_a_real_arm(data):
    """They follow by half a sample; at the end the recorded velocity goes on, the arm does not."""
    names = {"t": "times", "q": "positions", "qd": "velocities", "tau": "torques"}
    log = dy.read_log(data / "lwr4" / "measurements_1.npz", names)
    assert late_velocities([log]) == pytest.approx(2.5e-3, abs=0.3e-3)


def findings(log):
    estimate = dy.identify(
        ROBOT, log, friction="asymmetric", estimator="weighted", held_out=False, force=True
    )
    return " | ".join(f.what for f in estimate.findings)


REFUSED = {
    "torques swapped": (changed(tau=GOOD.tau[:, ::-1]), "swapped the error falls"),
    "positions swapped": (changed(q=GOOD.q[:, ::-1], qd=GOOD.qd[:, ::-1]), "swapped the error"),
    "one sign": (changed(tau=GOOD.tau * (1, -1)), "the sign of the torque of joint"),
    "every sign": (changed(tau=-GOOD.tau), "opposite sign"),
    "N mm": (changed(tau=1000.0 * GOOD.tau), "times what the robot as described needs"),
    "saturated": (changed(tau=np.clip(GOOD.tau, -15.0, 15.0)), "saturated"),
}


@pytest.mark.parametrize("log, said", REFUSED.values(), ids=REFUSED)
def test_a_diagnosis_instead_of_a_model(log, said):
    """Whatever the estimator; who insists gets numbers, with the same diagnosis beside them."""
    for estimator in ("weighted", "feasible"):
        with pytest.raises(LogError, match=said) as raised:
            dy.identify(ROBOT, log, friction="asymmetric", estimator=estimator)
        assert "force=True" in raised.value.hint
    assert said in findings(log)


def test_a_joint_that_rests_at_its_largest_torque_is_not_saturated():
    """A motion that ends at rest, stretched out."""
    t, q, qd, qdd = series(0)
    still = np.arange(1, 2001) / 200
    held = [
        np.concatenate([x, np.repeat(x[-1:] * keep, 2000, axis=0)])
        for x, keep in zip((q, qd, qdd), (1, 0, 0), strict=True)
    ]
    tau = ROBOT.inverse_dynamics(*held)
    tau += 1e-3 * np.random.default_rng(0).normal(size=tau.shape)
    log = dy.Log(t=np.concatenate([t, t[-1] + still]), q=held[0], qd=held[1], tau=tau)
    assert "saturated" not in findings(log)


def test_torques_of_another_arm_are_said():
    """A diagnosis instead of a model, unless one insists."""
    rng = np.random.default_rng(0)
    log = changed(tau=10.0 * rng.normal(size=GOOD.q.shape))
    with pytest.raises(LogError, match="no model of this robot explains the torques") as raised:
        dy.identify(ROBOT, log, friction="asymmetric")
    assert any("explains only" in f.what for f in raised.value.findings)
    assert dy.identify(ROBOT, log, friction="asymmetric", force=True, held_out=False).findings


def test_saturation_with_noise_is_said():
    noise = 1e-3 * np.random.default_rng(0).normal(size=GOOD.q.shape)
    assert "saturated" in findings(changed(tau=np.clip(GOOD.tau, -15.0, 15.0) + noise))


def test_a_joint_that_stands_still_is_said():
    t, q, qd, qdd = series(0)
    for x in (q, qd, qdd):
        x[:, 1] = 0.0
    log = dy.Log(
        t=t, q=q, qd=qd, tau=ROBOT.inverse_dynamics(q, qd, qdd) + 1e-3 * np.sin(t)[:, None]
    )
    assert "joint2 do not move" in findings(log)
    tremble = q + [0.0, 1e-3] * np.random.default_rng(0).normal(size=q.shape)
    assert "joint2 do not move" in findings(dy.Log(t=t, q=tremble, qd=qd, tau=log.tau))


@pytest.mark.parametrize("delays, named", [((0.05, 0.05), True), ((0.03, 0.08), False)])
def test_a_torque_is_late_if_both_halves_show_the_same_delay(delays, named):
    late = [
        np.stack([np.interp(GOOD.t - d, GOOD.t, x) for x in GOOD.tau.T], axis=1) for d in delays
    ]
    log = changed(tau=np.where(GOOD.t[:, None] < GOOD.t.mean(), *late))
    sought = unknowns(ROBOT, friction_named("smooth"), None)
    found = [*late_torque(sought, excerpt(prepare(log, Processing(dead_zone=0.03))[0]), log.step)]
    assert [("comes 50 ms late" in f.what) for f in found] == [True] * named
