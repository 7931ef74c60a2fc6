"""Gains that meet a resonance of elastic joints: named with joint, frequency and a way out."""

import math
import pickle
import warnings

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.law import Law
from dynamis.control.resonance import RINGS, ElasticLoop
from dynamis.control.stability import closed_loop, free_arm
from dynamis.errors import DynamisWarning
from tests.simulation.test_elastic import two_links

pytestmark = pytest.mark.usefixtures("compiled")
REST = [0.0, 0.0]


def pid(kp, kd) -> dy.control.JointPID:
    return dy.control.JointPID(kp=kp, ki=[0.0, 0.0], kd=kd)


def soft(**drive) -> dy.Robot:
    return two_links(2e3, 1.0, **drive).with_gravity((0, 0, 0))


def simulated(robot, law, duration=0.4, off=1e-6, **options):
    options = {"check_step": False, "reference": REST} | options
    return dy.simulate(robot, duration, q0=[off, 0.0], controller=law, **options)


def loop(robot, law, h=1e-3, **options) -> ElasticLoop:
    return ElasticLoop(Law(law, robot, h), robot, np.zeros(2), **options)


CASES = {  # gains, options, seconds until a deviation of 1e-9 is still small
    "link side": ([900.0, 300.0], [60.0, 20.0], {"sensors": dy.Sensors(side="link")}, 0.8),
    "delay": ([900.0, 300.0], [800.0, 300.0], {"delay": 1e-3}, 0.08),
    "part of a delay": (
        [900.0, 300.0], [1600.0, 600.0],
        {"delay": 1e-3, "sample_time": 2e-3, "dt": 1e-3, "sensors": dy.Sensors()}, 0.05,
    ),
    "differences": (
        [900.0, 300.0], [2000.0, 760.0], {"sensors": dy.Sensors(velocity="difference")}, 0.07
    ),
    "filtered": (
        [900.0, 300.0], [2000.0, 760.0],
        {"sensors": dy.Sensors(velocity="difference", velocity_filter=30.0)}, 0.3,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_oscillations_grow_as_said(case):
    """x[k + 1] = a x[k] + b x[k - 1] of the last samples has the eigenvalues of the mode."""
    kp, kd, options, duration = CASES[case]
    run = simulated(soft(), pid(kp, kd), duration, 1e-9, **options)
    mode = run.closed_loop_mode
    assert mode.grows
    h = options.get("sample_time", 1e-3)
    x = run.motor[:: round(h / 1e-3), run.robot.joint_names.index(mode.joint)]
    x = x[len(x) // 2 :]
    a, b = np.linalg.lstsq(np.stack([x[1:-1], x[:-2]], 1), x[2:], rcond=None)[0]
    s = np.log(np.roots([1.0, -a, -b]).astype(complex)[0]) / h
    assert abs(s.imag) / math.tau == pytest.approx(mode.frequency, rel=2e-3)
    assert -s.real / abs(s) == pytest.approx(mode.damping, rel=1e-2)
    assert mode.growth(0.01) == pytest.approx(math.exp(0.01 * s.real), rel=2e-2)


def test_a_law_by_the_bandwidth_of_the_rigid_arm_is_too_fast_for_light_motors():
    robot = soft()
    for k in range(2):
        robot = robot.with_drive(k, rotor_inertia=1e-6)
    with pytest.warns(DynamisWarning, match="bandwidth 20 rad/s: .* the rotor alone counts"):
        law = dy.control.JointPID.from_bandwidth(robot, 20.0)
    D = law.gains(robot)["kd"][0]
    said = f"takes {D * 1e-3 / 0.01:.3g} times the velocity of its motor away"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)
        run = simulated(robot, law)
    assert run.diverged and f"joint 'joint1': every 0.001 s the controller {said}" in run.message
    assert "lower the velocity gain of joint 'joint1' to " in run.message
    with pytest.warns(DynamisWarning, match="the rotor alone counts"):
        dy.simulate(robot, 0.05, q0=[1e-6, 0.0], controller=law, reference=REST)


@pytest.mark.parametrize(
    ("kp", "kd", "options"),
    [
        ([9000.0, 3000.0], [60.0, 20.0], {}),
        ([900.0, 300.0], [1200.0, 20.0], {}),
        ([9000.0, 3000.0], [60.0, 20.0], {"sensors": dy.Sensors(side="link")}),
    ],
)
def test_what_to_do_helps(kp, kd, options):
    robot = soft()
    mode = loop(robot, pid(kp, kd), **options).mode()
    assert mode is not None and mode.damping < RINGS
    if "encoders on the motors" in mode.remedy:
        assert not loop(robot, pid(kp, kd)).mode().grows
        return
    k = robot.joint_names.index(mode.joint)
    factor = float(mode.remedy.split(" times ")[0].split()[-1])
    for name, gain in (("position", kp), ("velocity", kd)):
        if name in mode.remedy:
            gain[:] = [
                x * (0.98 * factor if i == k or "every joint" in mode.remedy else 1.0)
                for i, x in enumerate(gain)
            ]
    assert loop(robot, pid(kp, kd), **options).mode() is None


def test_instability_is_warned_of_and_ringing_found():
    robot, law = soft(), pid([900.0, 300.0], [60.0, 20.0])
    said = r"joint 'joint2': an oscillation .* at 37\.\d Hz grows 2\.04 times a period .* link side"
    with pytest.warns(DynamisWarning, match=said):
        dy.simulate(
            robot, 0.4, q0=[1e-6, 0.0], controller=law, reference=REST,
            sensors=dy.Sensors(side="link"),
        )  # fmt: skip
    stiff = simulated(robot, pid([9000.0, 3000.0], [60.0, 20.0]), check_step=True)
    (found,) = (x for x in stiff.check() if x.where != "step")
    assert found.level == "warning" and "rings with a damping ratio of 0.0" in found.what
    assert simulated(robot, law).check() == []
    copy = pickle.loads(pickle.dumps(stiff))
    assert copy.closed_loop_mode == stiff.closed_loop_mode


def test_nothing_is_said_of_rigid_arms_and_functions():
    law = pid([9000.0, 3000.0], [60.0, 20.0])
    assert simulated(two_links(None), law).closed_loop_mode is None
    run = dy.simulate(soft(), 0.01, controller=lambda t, q, qd: -9e3 * q, check_step=False)
    assert run.closed_loop_mode is None


def test_teeth_count_as_in_contact():
    law = pid([900.0, 300.0], [60.0, 20.0])
    modes = [
        loop(robot, law, sensors=dy.Sensors(side="link")).mode()
        for robot in (soft(), soft(backlash=1e-3))
    ]
    assert modes[0].frequency == modes[1].frequency


def test_a_filter_without_memory_is_none():
    """Gains of a double integrator: differences, filtered at a pole of 0, and the delta in q."""
    arm, K, D = free_arm(np.eye(1), 1e-2), np.eye(1), np.eye(1)
    plain = np.sort_complex(np.linalg.eigvals(closed_loop(K, D, arm, 1e-2, True)))
    slow = np.linalg.eigvals(closed_loop(K, D, arm, 1e-2, True, math.exp(-1.0)))
    assert np.abs(plain).max() < 1.0 and np.abs(slow).max() < 1.0
    assert np.abs(np.sort_complex(slow) - plain).max() > 1e-4
