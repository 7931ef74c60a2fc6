"""A step that is too coarse is named, with the error and a step that would do."""

import copy
import pickle

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError, DynamisWarning, OptionError
from dynamis.simulation import step_check
from dynamis.simulation.simulator import simulated
from dynamis.simulation.step_check import LEAST, SHARE

from ..closed_mechanisms import OPEN_ARMS
from .arms import bar, pair, slider, spinner

LOW, SWUNG, WILD = [-1.5, 0.1, 0.1], [0.5, 0.3, 0.1], [1.5, 0.3, -0.2]
PENDULUM, PUMA = dy.load("pendulum3"), dy.load("puma560")
REACH = dy.trajectory.quintic(np.zeros(6), np.full(6, 0.5), 1.0)
LAW = dy.control.ComputedTorque(100.0, 20.0, model=PUMA)
PID = dy.control.JointPID(200.0, 50.0, 30.0)
FEEBLE = dy.control.JointPID(1.0, 0.0, 0.001)
WEAK = dy.control.JointPID(1.0, 0.0, 0.1)
NOISE = dy.Sensors(position_noise=1e-4)
RUBBING = dy.Friction(viscous=0.1, coulomb=0.5)
RNG = np.random.default_rng(1)
SPREAD = 0.3 * np.random.default_rng(0).normal(size=(5, 6))
PENDULA = PENDULUM.parameters.values * np.linspace(0.9, 1.1, 5)[:, None]


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Runs of many steps."""


def still(t, q, qd):
    """No torque."""
    return np.zeros(3)


def swaying(t):
    """Torques over time."""
    return [100.0 * np.sin(5.0 * t), 40.0, 10.0]


def random(t):
    """Another torque every time it is asked."""
    return 20.0 * RNG.normal(size=3)


def level(t, q, qd):
    """An event that ends nothing."""
    return q[0] + 0.05


def low(t, q, qd):
    """An event that ends a run."""
    return q[0] + 1.0


low.terminal = True


def followed(**options):
    """Options of a run of the PUMA 560 along a trajectory."""
    return {"reference": REACH, "controller": LAW, **options}


def error_of(run, **options):
    """(largest error of each joint, what to warn of) next to RK4 in steps a 20th as long."""
    law = options.get("controller")
    if isinstance(law, dy.control.Controller):
        options = {"sample_time": run.dt, **options}
    given = {**options, "integrator": "rk4", "save_every": FINER * options.get("save_every", 1)}
    fine = dy.simulate(run.robot, float(run.t[-1]), run.dt / FINER, **given, check_step=False)
    limit = np.maximum(SHARE * np.ptp(run.q, axis=-2), LEAST)
    return np.abs(run.q - fine.q).max(axis=-2), limit


FINER = 20
ALONE = {"events", "delay", "observer", "sensors"}  # options of runs that are not done again here


COARSE = {
    "rk4, 50 ms": (PENDULUM, 5.0, 0.05, {}),
    "rk4, 40 ms": (PENDULUM, 5.0, 0.04, {}),
    "rk4, 25 ms": (PENDULUM, 5.0, 0.025, {}),
    "swung, 20 ms": (PENDULUM, 5.0, 0.02, {"q0": SWUNG}),
    "swung, 10 ms": (PENDULUM, 5.0, 0.01, {"q0": SWUNG}),
    "wild, 10 ms": (PENDULUM, 5.0, 0.01, {"q0": WILD}),
    "wild, 5 ms": (PENDULUM, 5.0, 0.005, {"q0": WILD}),
    "heun, 50 ms": (PENDULUM, 2.0, 0.05, {"integrator": "heun"}),
    "heun, 20 ms": (PENDULUM, 2.0, 0.02, {"integrator": "heun"}),
    "euler, 10 ms": (PENDULUM, 2.0, 0.01, {"integrator": "euler"}),
    "euler, 1 ms": (PENDULUM, 2.0, 0.001, {"integrator": "euler"}),
    "semi-implicit, 20 ms": (PENDULUM, 2.0, 0.02, {"integrator": "semi-implicit-euler"}),
    "two bars, 100 ms": (pair(), 5.0, 0.1, {}),
    "torque over time": (PENDULUM, 2.0, 0.05, {"torque": swaying}),
    "few rows kept": (PENDULUM, 5.0, 0.05, {"save_every": 10}),
    "events": (PENDULUM, 5.0, 0.05, {"events": level}),
    "an ensemble": (PENDULUM, 5.0, 0.05, {"parameters": PENDULA}),
    "a sampled law": (PENDULUM, 5.0, 0.05, {"controller": WEAK, "reference": [0.0] * 3}),
    "a function, stages": (PENDULUM, 5.0, 0.05, {"controller": still}),
    "a function, samples": (PENDULUM, 5.0, 0.05, {"controller": still, "sample_time": 0.05}),
    "float32": (PENDULUM, 5.0, 0.05, {"dtype": "float32"}),
    "a loop, 6 ms": (dy.load("five-bar"), 0.5, 0.006, {}),
}


@pytest.mark.parametrize("name", COARSE)
def test_a_coarse_run_is_named(name):
    robot, duration, dt, options = COARSE[name]
    with pytest.warns(DynamisWarning, match=f"steps of {dt:g} s are too coarse") as said:
        run = dy.simulate(robot, duration, dt, **options)
    found = run.step_error
    assert f"use dt={found.needed:g}" in str(said[0].message)
    assert run.check()[0] == found.finding(robot) and found.needed < dt
    if not ALONE & set(options):
        error, limit = error_of(run, **options)
        assert (error > limit).any()
        ratio = found.error / error.reshape(-1, robot.n)[found.arm or 0][..., found.joint]
        assert (0.1 if callable(options.get("controller")) else 0.4) < ratio < 2.0


CALM = {"q0": LOW}
STEPWISE = np.full((100, 3), [50.0, 20.0, 5.0])
SLIDER = slider(dy.Friction(coulomb=4.0), gravity=0.0)
STOPPED = slider(limits=(-0.5, 1.0), gravity=9.81)
STRIBECK = spinner(dy.Friction(coulomb=(2.0, -2.0), viscous=0.1, law="stribeck"))
LUGRE = spinner(dy.Friction(coulomb=2.0, viscous=0.1, law="lugre"))
LOSSY = spinner(drive=dy.Drive(gear=50.0, rotor_inertia=1e-4, efficiency=0.7))
RUBBING_PAIR = pair(bar(RUBBING), bar(RUBBING))
SOUND = {
    **{f"rk4, {h:g} ms": (PENDULUM, 5.0, 1e-3 * h, {}) for h in (1.0, 2.0, 5.0, 10.0)},
    **{f"swung, {h:g} ms": (PENDULUM, 5.0, 1e-3 * h, {"q0": SWUNG}) for h in (1.0, 2.0, 2.5)},
    **{f"wild, {h:g} ms": (PENDULUM, 5.0, 1e-3 * h, {"q0": WILD}) for h in (1.0, 2.0)},
    **{f"calm, {h:g} ms": (PENDULUM, 5.0, 1e-3 * h, CALM) for h in (1.0, 10.0, 20.0, 50.0)},
    "heun, 2 ms": (PENDULUM, 2.0, 2e-3, {"integrator": "heun"}),
    "semi-implicit, 0.2 ms": (PENDULUM, 1.0, 2e-4, {"integrator": "semi-implicit-euler"}),
    "euler, 0.1 ms": (PENDULUM, 1.0, 1e-4, {"integrator": "euler"}),
    "a tolerance": (PENDULUM, 0.5, 0.05, {"integrator": "dormand-prince"}),
    "one step": (PENDULUM, 1e-3, 1e-3, {}),
    "ten steps": (PENDULUM, 0.01, 1e-3, {}),
    "a short step": (PENDULUM, 0.9973, 5e-3, {}),
    "at rest": (spinner(), 1.0, 1e-3, {}),
    "few rows": (PENDULUM, 5.0, 5e-3, {"save_every": 100}),
    "rows that do not divide": (PENDULUM, 1.0, 5e-3, {"save_every": 7}),
    "torque over time": (PENDULUM, 2.0, 2e-3, {"torque": swaying}),
    "torque by step": (PENDULUM, 0.5, 5e-3, {"torque": STEPWISE, "events": level}),
    "a random torque": (PENDULUM, 1.0, 2e-3, {"torque": random, "events": level}),
    "external": (PENDULUM, 1.0, 2e-3, {"external": [5.0, 2.0, 1.0]}),
    "a wrench": (PUMA, 1.0, 1e-3, {"wrench": [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}),
    "an event": (PENDULUM, 1.0, 2e-3, {"events": level}),
    "ended by an event": (PENDULUM, 2.0, 2e-3, {"events": low}),
    "float32": (PENDULUM, 1.0, 2e-3, {"dtype": "float32"}),
    "an ensemble": (PENDULUM, 2.0, 2e-3, {"parameters": PENDULA}),
    "starts": (PUMA, 0.5, 1e-3, {"q0": SPREAD}),
    "no starts": (PENDULUM, 0.5, 1e-3, {"q0": np.zeros((0, 3))}),
    "starts under a law": (PUMA, 0.3, 1e-3, followed(q0=SPREAD)),
    "falling": (PUMA, 2.0, 1e-3, {}),
    "falling, 5 ms": (PUMA, 2.0, 5e-3, {}),
    "a law": (PUMA, 1.0, 1e-3, followed()),
    "a law, 5 ms": (PUMA, 1.0, 5e-3, followed()),
    "a law at its samples": (PUMA, 1.0, 1e-3, followed(sample_time=5e-3)),
    "a delay": (PUMA, 1.0, 1e-3, followed(sample_time=5e-3, delay=2e-3)),
    "noise": (PUMA, 1.0, 1e-3, followed(sensors=NOISE)),
    "joint by joint": (PUMA, 1.0, 1e-3, followed(controller=PID)),
    "an observer": (PUMA, 0.5, 1e-3, followed(observer=dy.control.MomentumObserver(30.0))),
    "a function, stages": (PENDULUM, 0.2, 2e-3, {"controller": still}),
    "a function, samples": (PENDULUM, 0.5, 2e-3, {"controller": still, "sample_time": 2e-3}),
    "stiction": (SLIDER, 2.0, 1e-3, {"qd0": [1.0]}),
    "stiction, 5 ms": (SLIDER, 2.0, 5e-3, {"qd0": [1.0], "torque": lambda t: [6.0 * np.sin(t)]}),
    "friction of two bars": (RUBBING_PAIR, 2.0, 1e-3, {"q0": [0.5, 0.2]}),
    "stribeck": (STRIBECK, 2.0, 1e-3, {"torque": lambda t: [3.0 * np.sin(3.0 * t)]}),
    "bristles": (LUGRE, 1.0, 1e-3, {"torque": lambda t: [3.0 * np.sin(3.0 * t)]}),
    "gear losses": (LOSSY, 1.0, 1e-3, {"torque": lambda t: [1.0 * np.sin(3.0 * t)]}),
    "a stop": (STOPPED, 1.0, 1e-3, {"stops": True}),
    "a bounce": (STOPPED, 1.0, 1e-3, {"stops": True, "restitution": 0.5}),
    "a loop": (dy.load("five-bar"), 0.5, 1e-3, {}),
    "a long run": (PENDULUM, 25.0, 5e-3, CALM),
}


def test_rounding_of_float32_is_no_error_of_the_step():
    """A kilometre away a step of 1 mm is 17 units in the last place, half of it 9 or 8."""
    far = {"q0": [1e3], "qd0": [1.05], "dtype": "float32"}
    assert dy.simulate(slider(), 1.0, 1e-3, **far).step_error is None


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_run_is_silent(name):
    """Warnings are errors here."""
    robot, duration, dt, options = SOUND[name]
    run = dy.simulate(robot, duration, dt, **options)
    assert run.step_error is None and not [x for x in run.check() if "coarse" in x.what]
    if run.q.size and not callable(options.get("controller")) and not ALONE & set(options):
        error, limit = error_of(run, **options)
        assert (error < limit).all()


@pytest.mark.thorough
@pytest.mark.parametrize("name", OPEN_ARMS)
def test_arms_of_the_catalogue_fall_in_sound_steps(name):
    """But for those whose description lets nothing move, or diverge at once."""
    try:
        run = simulated(dy.load(name), 1.0)
    except DynamisError as error:
        assert "singular mass matrix" in str(error)
    else:
        assert run.step_error is None


def test_the_lists_are_as_long_as_was_asked():
    assert len(COARSE) >= 20 and len(SOUND) >= 50


STEPS = {"level": (None, (0.05, 0.03)), "swung": (SWUNG, (0.02, 0.01)), "wild": (WILD, (5e-3,))}


@pytest.mark.parametrize("start", STEPS)
def test_the_error_is_that_of_the_run_and_the_step_would_do(start):
    q0, steps = STEPS[start]
    for dt in steps:
        run = dy.simulate(PENDULUM, 5.0, dt, q0=q0, check_step=False)
        found, (error, _) = run.step_error, error_of(run, q0=q0)
        assert found.error == pytest.approx(error[found.joint], rel=0.15)
        assert found.t in run.t
        better = dy.simulate(PENDULUM, 5.0, found.needed, q0=q0)
        error, limit = error_of(better, q0=q0)
        assert (error < limit).all()


# long runs


def woken(t):
    """Almost nothing at first, then a push that lets a calm arm turn over."""
    return np.exp(-(((t - 2.0) / 0.2) ** 2)) * np.array([350.0, 170.0, 60.0])


CART = dy.Robot.from_dh(
    "cart",
    convention="standard",
    links=[
        dy.Link(joint="prismatic", alpha=0.5 * np.pi, mass=2.0, com=(0, 0, 0), inertia=(0, 0, 0)),
        bar(),
        bar(),
    ],
    gravity=(9.81, 0, 0),
)
WHIPPED = {"q0": [0.0, 2.5, 0.3]}
CHAOTIC = {
    "wild, 1 ms": (PENDULUM, 10.0, 1e-3, {"q0": WILD}),
    "wild, 0.5 ms": (PENDULUM, 10.0, 5e-4, {"q0": WILD}),
    "few rows kept": (PENDULUM, 10.0, 1e-3, {"q0": WILD, "save_every": 20}),
    "swung": (PENDULUM, 20.0, 1e-3, {"q0": SWUNG}),
    "late": (PENDULUM, 10.0, 2e-3, {"q0": LOW, "torque": woken}),
    "on a rail": (CART, 15.0, 2e-3, WHIPPED),
    "under a weak law": (
        PENDULUM, 10.0, 2e-3, {"q0": WILD, "controller": FEEBLE, "reference": [0.0] * 3}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHAOTIC)
def test_a_long_chaotic_run_is_named_and_the_step_does(name):
    robot, duration, dt, options = CHAOTIC[name]
    with pytest.warns(DynamisWarning, match="too coarse, its position is wrong by about"):
        run = dy.simulate(robot, duration, dt, **options)
    found, every = run.step_error, options.get("save_every", 1)
    finer = {**options, "save_every": every * round(dt / found.needed)}
    if found.sample_time is not None:
        finer["sample_time"] = found.sample_time
    better = dy.simulate(robot, duration, found.needed, **finer)  # without a warning
    error, limit = np.abs(run.q - better.q), np.maximum(SHARE * np.ptp(run.q, axis=0), LEAST)
    assert found.error == pytest.approx(error.max(axis=0)[found.joint], rel=0.1)
    wrong = run.t[(error > 1.5 * limit).any(axis=1).argmax()]
    assert 0.9 * wrong < found.right_until < wrong


LOST = {
    "half a minute": (PENDULUM, 30.0, 1e-3, {"q0": WILD}),
    "two bars": (pair(), 30.0, 1e-3, {"q0": [2.5, 0.3]}),
}


@pytest.mark.parametrize("name", LOST)
def test_no_step_is_invented_where_errors_do_not_shrink(name):
    robot, duration, dt, options = LOST[name]
    with pytest.warns(DynamisWarning, match="no step is known to do; rely on the run up to") as one:
        run = dy.simulate(robot, duration, dt, **options)
    found = run.step_error
    assert found.needed is None and "dt=" not in str(one[0].message)
    assert f"in steps of {found.tried:g} s" in str(one[0].message) and found.tried < dt
    fine = dy.simulate(robot, duration, dt / 20, save_every=20, **options, check_step=False)
    error, limit = np.abs(run.q - fine.q), np.maximum(SHARE * np.ptp(run.q, axis=0), LEAST)
    right = run.t <= found.right_until
    assert (error[right] < 1.5 * limit).all() and (error[~right] > limit).any()


LAWS = {"controller": LAW, "reference": dy.trajectory.quintic(np.zeros(6), np.full(6, 0.5), 4.0)}
STIFF = pair(bar(dy.Friction(viscous=60.0)), bar(dy.Friction(viscous=60.0)))
LONG = {
    "calm": (PENDULUM, 10.0, 1e-3, CALM),
    "falling": (PUMA, 4.0, 1e-3, {}),
    "friction": (RUBBING_PAIR, 10.0, 1e-3, {"q0": [0.5, 0.2]}),
    "stiff friction": (STIFF, 3.0, 1e-3, {"q0": [0.5, 0.2]}),
    "a spinner": (spinner(), 10.0, 1e-3, {"qd0": [3.0]}),
    "a law": (PUMA, 4.0, 1e-3, LAWS),
    "a law at its samples": (PUMA, 4.0, 1e-3, {**LAWS, "sample_time": 5e-3}),
    "few rows": (PENDULUM, 10.0, 1e-3, {**CALM, "save_every": 10}),
    "few rows of a law": (PUMA, 4.0, 1e-3, {**LAWS, "save_every": 10}),
    "a loop": (dy.load("five-bar"), 0.5, 2e-4, {}),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_run_that_multiplies_no_errors_is_not_done_again(name, monkeypatch):
    def refuse(*given):
        raise AssertionError("the run was done again")

    monkeypatch.setattr(step_check.StepCheck, "_global", refuse)
    robot, duration, dt, options = LONG[name]
    run = dy.simulate(robot, duration, dt, **options)
    assert len(run.t) * options.get("save_every", 1) > step_check.LONG
    assert run._step.error(run) is None


def test_a_force_of_a_few_steps_is_looked_at():
    """A push of 2.5 ms in a run of 4000 steps: RK4 takes its ends for others."""

    def push(t):
        return [2000.0 if 1.0 <= t < 1.0025 else 0.0]

    with pytest.warns(DynamisWarning, match="steps of 0.001 s are too coarse"):
        run = dy.simulate(slider(), 4.0, 1e-3, torque=push)
    exact = 2000.0 * 0.0025 / 2.0 * (run.t[-1] - 1.00125)
    assert run.step_error.error == pytest.approx(abs(run.q[-1, 0] - exact), rel=0.3)
    better = dy.simulate(slider(), 4.0, run.step_error.needed, torque=push)
    assert better.q[-1, 0] == pytest.approx(exact, rel=SHARE)


def test_of_an_ensemble_the_arm_with_the_largest_errors_is_named():
    """The fastest one turns stretched, at one speed, exactly."""
    arm = pair(gravity=(0.0, 0.0, 0.0))
    q0, qd0 = [[0.0, 0.0], [0.0, 2.0], [0.0, 1.9]], [[9.0, 0.0], [4.0, -4.0], [0.1, 0.0]]
    with pytest.warns(DynamisWarning, match="arm 1, joint 'joint"):
        run = dy.simulate(arm, 5.0, 0.1, q0=q0, qd0=qd0)
    assert run.step_error.arm == (1,)
    grid = dy.simulate(arm, 5.0, 0.1, q0=[q0, q0], qd0=[[[0.0, 0.0]] * 3, qd0], check_step=False)
    assert grid.step_error.arm == (1, 1)
    assert grid.step_error.finding(arm).where.startswith("arm 1, 1, joint")


def test_arms_that_diverged_are_left_out():
    q0, qd0 = [LOW, SWUNG, LOW], [[60.0, -60.0, 60.0], [0.0] * 3, [0.0] * 3]
    run = dy.simulate(PENDULUM, 5.0, 0.05, q0=q0, qd0=np.multiply(qd0, 10.0), check_step=False)
    assert run.diverged.tolist() == [True, False, False]
    assert run.step_error.arm == (1,)


def test_a_law_keeps_its_samples_in_shorter_steps():
    robot, duration, dt, options = COARSE["a sampled law"]
    run = dy.simulate(robot, duration, dt, **options, check_step=False)
    found = run.step_error
    assert found.sample_time == dt and f"sample_time={dt:g}" in found.finding(robot).remedy
    better = dy.simulate(robot, duration, found.needed, **options, sample_time=dt)
    assert better.step_error is None


KINDS = {
    "law": (PUMA, 0.3, 2e-3, followed()),
    "samples and delay": (PUMA, 0.3, 1e-3, followed(sample_time=5e-3, delay=2e-3)),
    "a whole sample of delay": (PUMA, 0.3, 1e-3, followed(sample_time=5e-3, delay=5e-3)),
    "noise": (PUMA, 0.3, 2e-3, followed(sensors=NOISE)),
    "noise of arms": (PUMA, 0.3, 2e-3, followed(sensors=NOISE, q0=SPREAD)),
    "forces of arms": (PUMA, 0.3, 2e-3, {"torque": SPREAD[:, None]}),
    "parameters": (PENDULUM, 0.5, 2e-3, {"parameters": PENDULA}),
    "torque over time": (PENDULUM, 0.5, 5e-3, {"torque": swaying}),
    "torque by step": (PENDULUM, 0.5, 5e-3, {"torque": STEPWISE}),
    "few rows": (PENDULUM, 0.5, 5e-3, {"save_every": 7}),
    "few rows of a law": (PUMA, 0.3, 2e-3, followed(save_every=10)),
    "a short step": (PENDULUM, 0.4973, 5e-3, {}),
    "an end": (PENDULUM, 2.0, 5e-3, {"events": low}),
    "events, few rows": (PENDULUM, 0.5, 5e-3, {"events": level, "save_every": 4}),
    "float32": (PENDULUM, 0.5, 5e-3, {"dtype": "float32"}),
    "parts of a run": (PENDULUM, 25.0, 5e-3, CALM),
    "parts under a law": (PUMA, 10.0, 2e-3, followed(sample_time=4e-3, delay=2e-3)),
    "parts under a force": (PENDULUM, 2.0, 4e-4, {"torque": swaying}),
}


@pytest.mark.parametrize("name", KINDS)
def test_whole_steps_again_are_those_of_the_run(name):
    """Bit for bit: what differs in half steps is the step alone."""
    robot, duration, dt, options = KINDS[name]
    run = dy.simulate(robot, duration, dt, **options)
    for k, q in enumerate(run.q.reshape(-1, *run.q.shape[-2:])):
        check = run._step.arm(k)
        rows = int(run.t[-1] / (dt * check.every) + 1e-6)
        spans = check._spread(rows, 4, 1000) if name.startswith("parts") else check._spans(rows)
        assert len(spans) == (4 if name.startswith("parts") else 1)
        for span in spans:
            np.testing.assert_array_equal(check._again(span, 1), q[span.first : span.last + 1])


def test_a_run_that_goes_on_is_looked_at_too():
    sim = dy.Simulator(PENDULUM, dt=0.05)
    sim.run(0.35)
    run = sim.run(4.65, save_every=2, check_step=False)
    np.testing.assert_array_equal(run._step._again(run._step._spans(46)[0], 1), run.q[:47])
    assert run.step_error.error > 0.1
    assert sim.run(1e-3 * 50).step_error is None  # one step of it


def test_runs_of_a_simulator_warn_too():
    sim = dy.Simulator(PENDULUM, dt=0.05)
    with pytest.warns(DynamisWarning, match="steps of 0.05 s are too coarse"):
        sim.run(5.0)
    sim.reset()
    assert sim.run(5.0, check_step=False).step_error.error > 0.1


def test_functions_are_not_called_again():
    for options in ({}, {"sample_time": 0.01}):
        calls = []

        def torque(t, q, qd, calls=calls):
            calls.append(t)
            return np.zeros(3)

        counts = []
        for check in (False, True):
            dy.simulate(PENDULUM, 0.5, 0.01, controller=torque, check_step=check, **options)
            counts.append(len(calls))
        assert counts[1] == 2 * counts[0]


def test_parts_of_a_very_long_run_say_at_least(monkeypatch):
    monkeypatch.setattr(step_check, "WHOLE", 4000)
    monkeypatch.setattr(step_check, "PARTS", 0.7)
    with pytest.warns(DynamisWarning, match="is wrong by at least"):
        run = dy.simulate(PENDULUM, 300.0, 0.05, q0=SWUNG)
    found = run.step_error
    assert found.at_least and found.needed is None and found.right_until is None
    assert "simulate a shorter time" in found.finding(PENDULUM).remedy


def test_runs_that_say_more_are_left_alone():
    """Of a run that diverged, or without any step, nothing is said of its step."""
    with pytest.warns(DynamisWarning, match="ended early") as said:
        run = dy.simulate(PENDULUM, 5.0, 0.5, qd0=[60.0, -60.0, 60.0])
    assert len(said) == 1 and run.step_error is None
    with pytest.raises(OptionError, match="check_step is 'no'"):
        dy.simulate(PENDULUM, 0.1, check_step="no")


def test_a_copy_of_a_run_knows_the_error():
    run = dy.simulate(PENDULUM, 5.0, 0.05, check_step=False)
    for other in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert other.step_error == run.step_error is not None


def test_a_check_of_functions_with_a_state_is_left_out():
    """They give something else when they are asked again, or nothing."""
    on = [False]

    def push(t):
        on[0] = on[0] or t >= 0.5
        return [30.0 * on[0], 0.0, 0.0]

    assert dy.simulate(PENDULUM, 1.0, q0=[-1.57, 0.0, 0.0], torque=push).step_error is None
    asked = []
    dy.simulate(PENDULUM, 0.1, torque=lambda t: asked.append(t) or [0.0] * 3, check_step=False)
    rows = iter([[0.0] * 3] * len(asked))
    run = dy.simulate(PENDULUM, 0.1, torque=lambda t: next(rows))
    assert run.step_error is None and pickle.loads(pickle.dumps(run)).step_error is None
