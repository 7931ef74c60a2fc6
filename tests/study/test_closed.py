"""Studies of closed mechanisms: starts that close, measures of the drives, the same bits."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ClosureError, OptionError, ShapeError
from dynamis.simulation.measures import MEASURES
from tests.closed_mechanisms import five_bar, four_bar
from tests.thorough import thorough_but

from .small import machine_code, same
from .test_study import values_of

DT, DURATION = 2e-3, 0.04
DRIVES = [0, 2]


@pytest.fixture(scope="module")
def robot():
    return dy.load("five-bar")


def law():
    return dy.control.JointPID(kp=[400.0, 300.0], kd=20.0)


def move(robot):
    start = robot.home[DRIVES]
    return dy.trajectory.quintic(start, start + np.array([0.1, -0.08]), DURATION)


def asked(robot, **more):
    varied = dy.Scatter(
        robot, mass=0.1, com=0.01, friction=0.3, payload=(0.0, 1.0), joint_offset=0.02, q0=0.1,
        qd0=np.array([0.5, 0.2]),
    )  # fmt: skip
    options = {"dt": DT, "controller": law(), "reference": move(robot), "vary": varied}
    return dy.study(robot, DURATION, **{**options, "samples": 5, "progress": False, **more})


def tip(q):
    """Where the couplers of 0.35 m meet, above the line between the cranks' ends."""
    ends = np.stack([np.cos(q), np.sin(q)], axis=-1) * 0.23 + [[-0.125, 0.0], [0.125, 0.0]]
    along = ends[:, 1] - ends[:, 0]
    half = np.linalg.norm(along, axis=1) / 2
    across = np.stack([-along[:, 1], along[:, 0]], axis=1) / (2 * half[:, None])
    meet = ends.mean(axis=1) + np.sqrt(0.35**2 - half**2)[:, None] * across
    return np.concatenate([meet, np.zeros((len(q), 1))], axis=1)


def expected(run, wanted):
    """Every measure from its definition; `wanted` are the places of the tool."""
    e, dt = run.q[:, DRIVES] - run.reference.q, run.t[1] - run.t[0]
    distance = np.linalg.norm(run.robot.fk(run.q)[:, :3, 3] - wanted, axis=1)
    tau, qd = run.tau[:, DRIVES], run.qd[:, DRIVES]
    power = np.abs(tau * qd).sum(axis=1)
    low, high = run.robot.limits.T
    return {
        "rms_error": np.sqrt((e**2).mean(axis=0)),
        "peak_error": np.abs(e).max(axis=0),
        "final_error": np.abs(e[-1]),
        "rms_tool_error": [np.sqrt((distance**2).mean())],
        "peak_tool_error": [distance.max()],
        "final_tool_error": [distance[-1]],
        "peak_torque": np.abs(tau).max(axis=0),
        "rms_torque": np.sqrt((tau**2).mean(axis=0)),
        "peak_velocity": np.abs(qd).max(axis=0),
        "peak_power": [power.max()],
        "energy": [power.sum() * dt],
        "stop_hit": ((run.q <= low) | (run.q >= high)).any(axis=0),
    }


@pytest.mark.thorough
def test_every_measure_is_that_of_the_mechanism_alone(robot, compiled):
    study = asked(robot, measure=tuple(MEASURES))
    assert not study.failed and study.columns("rms_error") == ("left_motor", "right_motor")
    assert study.columns("stop_hit") == robot.joint_names and study.columns("energy") == ("",)
    names = study.factors
    assert {"left_motor.zero", "right_motor.q0", "left_motor.qd0", "payload"} <= set(names)
    assert not any(name.startswith("left_elbow.q0") for name in names)
    index = 4
    drawn = study.draw(index)
    run = dy.simulate(
        robot.with_parameters(drawn.parameters[0]), DURATION, DT, drawn.q0[0], drawn.qd0[0],
        law(), reference=move(robot), sensors=dy.Sensors(offset=drawn.joint_offset[0]),
    )  # fmt: skip
    wanted = expected(run, tip(run.reference.q))
    assert {*wanted, "settling_time"} == MEASURES.keys()
    for name, value in wanted.items():
        found = values_of(study, name)[index]
        np.testing.assert_allclose(found, value, rtol=1e-7, atol=1e-9, err_msg=name)
    replayed = study.replay(index)
    np.testing.assert_allclose(replayed.q, run.q, rtol=1e-9, atol=1e-12)


@pytest.mark.thorough
def test_starts_close_with_the_drives_where_they_were_drawn(robot):
    study = asked(robot, samples=64, measure="peak_velocity")
    drawn, factors = study.case.draw(0, 64), study.factors
    assert np.abs(robot.closure_error(drawn.q0)).max() < 1e-15
    places = [factors.index(f"{name}.q0") for name in ("left_motor", "right_motor")]
    z = drawn.factors[:, places]
    np.testing.assert_array_equal(drawn.q0[:, DRIVES], robot.home[DRIVES] + 0.1 * z)
    near = [robot.assemble(q[DRIVES], q0=robot.home)[0] for q in drawn.q0[:3]]
    np.testing.assert_allclose(drawn.q0[:3], near, atol=1e-9)
    np.testing.assert_allclose(
        robot.joint_rates(drawn.q0, drawn.qd0[:, DRIVES]), drawn.qd0, atol=1e-12
    )
    for one in (slice(17, 18), slice(3, 50)):  # whatever the company
        part = study.case.draw(one.start, one.stop - one.start)
        pairs = zip(part.arrays, drawn.arrays, strict=True)
        assert all(np.array_equal(a, b[one]) for a, b in pairs)
    own = study.case.variation.scatter.draw(0, 64)  # without a study, about home
    np.testing.assert_array_equal(own.q0, drawn.q0)


@pytest.mark.thorough
def test_what_does_not_close_is_counted_and_named(compiled):
    """A four-bar turns; with its rocker driven, only as far as the crank allows."""
    robot = four_bar(passive=(True, True, False))
    study = dy.study(
        robot, DT, DT, vary=dy.Scatter(robot, q0=1.0), samples=8, progress=False,
        measure="peak_velocity",
    )  # fmt: skip
    failed = study.failed
    assert 0 < failed.count < 8
    assert all(reason.startswith("does not start: ") for reason in failed.reasons)
    drawn = study.case.draw(0, 8)
    assert np.isnan(drawn.q0[failed.samples]).all() and np.isfinite(drawn.q0).any()
    angle = study.case.start[0][2] + drawn.factors[:, 0]
    reach = np.hypot(0.4 + 0.3 * np.cos(angle), 0.3 * np.sin(angle))  # of crank and coupler
    assert not ((reach < 0.249) | (reach > 0.451))[np.isfinite(drawn.q0[:, 0])].any()
    assert not ((reach > 0.26) & (reach < 0.44) & (np.abs(drawn.factors[:, 0]) < 0.4))[
        failed.samples
    ].any()
    with pytest.raises(OptionError, match="has no run: it does not start"):
        study.replay(int(failed.samples[0]))
    good = next(k for k in range(8) if k not in failed.samples)
    assert study.replay(good).q.shape == (2, 3)


def test_torques_along_the_reference(robot):
    study = asked(
        robot, controller=None, simulate=False, measure="peak_torque",
        vary=dy.Scatter(robot, mass=0.1),
    )  # fmt: skip
    run = study.replay(2)
    assert run.q.shape == (21, 4) and np.abs(robot.closure_error(run.q)).max() < 1e-9
    reference = np.array([move(robot)(t) for t in run.t])
    np.testing.assert_allclose(run.q[:, DRIVES], reference[:, 0], atol=1e-12)
    qdd = robot.joint_accelerations(run.q, run.qd, reference[:, 2])
    tau = run.robot.inverse_dynamics(run.q, run.qd, qdd)
    np.testing.assert_allclose(run.tau, tau, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        values_of(study, "peak_torque")[2], np.abs(tau[:, DRIVES]).max(axis=0), rtol=1e-9
    )


@pytest.mark.thorough
def test_processes_and_threads_give_the_same_bits(compiled):
    """Of a mechanism made here: nothing of it is in the catalogue or cached."""
    robot = five_bar(gravity=(0.3, -9.7, 0.0))
    varied = dy.Scatter(robot, mass=0.1, q0=0.2, joint_offset=0.01)
    options = {"vary": varied, "controller": dy.control.JointPID(kp=50.0, kd=5.0),
               "reference": robot.home[DRIVES], "samples": 200, "progress": False,
               "measure": ("rms_error", "peak_tool_error")}  # fmt: skip
    alone = dy.study(robot, 4 * DT, DT, threads=1, **options)
    assert not alone.failed
    assert same(alone, dy.study(robot, 4 * DT, DT, threads=3, **options))
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(2, mp_context=context, initializer=machine_code) as pool:
        assert same(alone, dy.study(robot, 4 * DT, DT, executor=pool, **options))


def test_wrong_questions_are_named(robot):
    with pytest.raises(ClosureError, match="is open by"):
        asked(robot, q0=np.zeros(4))
    with pytest.raises(ShapeError, match=r"moves 4 joints.*has 2"):
        asked(robot, reference=dy.trajectory.quintic(np.zeros(4), np.ones(4), 1.0))
    with pytest.raises(ShapeError, match=r"q0 is .*one standard deviation or 2"):
        dy.Scatter(robot, q0=np.ones(4))
    with pytest.raises(OptionError, match=r"joint_offset is .*or 2"):
        dy.Scatter(robot, joint_offset=np.ones(4))
    wide, start = five_bar(), five_bar().home[DRIVES]
    apart = dy.trajectory.quintic(start, np.array([np.pi, 0.0]), 0.04)  # cranks away from another
    with pytest.raises(ClosureError, match="cannot follow its drives to row"):
        dy.study(wide, 0.04, DT, reference=apart, measure="rms_tool_error", samples=1)
    projected = asked(robot, q0=robot.home + 0.01, project=True, vary=None, samples=1)
    assert np.abs(robot.closure_error(projected.replay(0).q)).max() < 1e-9


def fastest(run):
    return np.abs(run.qd).max()


@pytest.mark.parametrize("measure", thorough_but([fastest], ["peak_torque", fastest]))
def test_why_an_arm_diverged_is_said_of_the_first(measure, compiled):
    """Samples said "diverged" alone; of masses that differ the lighter ones shake."""
    robot = dy.load("five-bar")
    law = dy.control.ComputedTorque(kp=100.0, kd=1980.0)
    options = {"controller": law, "reference": robot.home[list(robot.driven)] + 0.1}
    wide = dy.Scatter(robot, mass=0.2, com=0.1)
    study = dy.study(robot, 0.3, vary=wide, samples=12, measure=measure, **options)
    assert study.nominal == "" and 0 < study.failed.count < 12
    sample = int(study.failed.samples[0])
    assert study.failed.reasons[0] == study.replay(sample).message
    assert "lower the velocity gain" in study.failed.reasons[0]
    assert f"Sample {sample} diverged at t = " in study.failures and study.failed.why == "diverged"
