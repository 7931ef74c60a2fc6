"""Studies on a GPU: in float64 the bits of the processor."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import dynamis as dy

pytestmark = pytest.mark.usefixtures("compiled")


def asked(robot, device, joint_offset=0.0, **more):
    n = robot.n
    rubs = robot.friction_torque(np.ones(n)).any()
    vary = dy.Scatter(
        robot, mass=0.1, com=0.01, friction=0.2 if rubs else 0.0, payload=(0.0, 2.0), q0=0.1,
        consistent=False, joint_offset=joint_offset,
    )  # fmt: skip
    options = {
        "controller": dy.control.ComputedTorque(kp=100.0, kd=20.0), "samples": 300,
        "reference": dy.trajectory.quintic(np.zeros(n), np.full(n, 0.3), 0.1), "vary": vary,
        "measure": ("rms_error", "peak_torque", "settling_time", "energy", "peak_tool_error"),
    }  # fmt: skip
    return dy.study(robot, 0.1, device=device, **{**options, **more})


@pytest.mark.parametrize("name", ["ur10e", "puma560", "stanford"])
@pytest.mark.parametrize("noisy", [False, True])
def test_a_study_on_a_gpu_has_the_bits_of_the_processor(name, noisy):
    more = {"sensors": dy.Sensors(position_noise=1e-4)} if noisy else {}
    robot = dy.load(name)
    found = [asked(robot, device, joint_offset=0.01, **more) for device in (None, "cuda")]
    for key, array in found[0].summary.arrays.items():
        np.testing.assert_array_equal(array, found[1].summary[key], err_msg=key)


def test_a_study_of_a_closed_mechanism_has_the_bits_of_the_processor():
    robot = dy.load("five-bar")
    start = robot.home[list(robot.driven)]
    vary = dy.Scatter(robot, mass=0.1, friction=0.2, payload=(0.0, 1.0), q0=0.1, joint_offset=0.01)
    found = [
        dy.study(
            robot, 0.1, controller=dy.control.JointPID(kp=400.0, kd=20.0), vary=vary, samples=300,
            reference=dy.trajectory.quintic(start, start + 0.1, 0.1), device=device,
            measure=("rms_error", "peak_torque", "peak_tool_error", "stop_hit"),
        )
        for device in (None, "cuda")
    ]  # fmt: skip
    for key, array in found[0].summary.arrays.items():
        np.testing.assert_array_equal(array, found[1].summary[key], err_msg=key)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_launches_beside_each_other_have_the_bits_of_one(dtype):
    """Several threads, streams and launches; the last is smaller, and some are done again."""
    robot, more = dy.load("ur10e"), {"samples": 70_000, "controller": None, "reference": None}
    more |= {"measure": ("peak_velocity", "energy"), "dtype": dtype}
    many = [asked(robot, "cuda", **more) for _ in range(2)]
    with ThreadPoolExecutor(1) as executor:  # one launch after the other
        many.append(asked(robot, "cuda", executor=executor, **more))
    if dtype == "float64":
        many.append(asked(robot, None, **more))
    for key, array in many[0].summary.arrays.items():
        for other in many[1:]:
            np.testing.assert_array_equal(array, other.summary[key], err_msg=key)


def test_alternatives():
    robot = dy.load("ur10e")
    vary = dy.Scatter(robot, mass=0.1, q0=0.1, delay=[0.0, 1e-3], consistent=False)
    found = [asked(robot, device, vary=vary, samples=3000) for device in (None, "cuda")]
    for key, array in found[0].summary.arrays.items():
        np.testing.assert_array_equal(array, found[1].summary[key], err_msg=key)


def test_float32_is_near():
    robot = dy.load("ur10e")
    exact, rough = asked(robot, None), asked(robot, "cuda", dtype="float32")
    np.testing.assert_allclose(rough.mean("peak_torque"), exact.mean("peak_torque"), rtol=1e-3)


def test_a_replayed_sample_is_the_sample():
    study = asked(dy.load("ur10e"), "cuda")
    worst = study.worst("peak_torque", 1)
    run = study.replay(int(worst.samples[0]))
    np.testing.assert_array_equal(np.abs(np.asarray(run.tau)).max(axis=0), worst.values[0])
