"""A counterbalanced arm of a KUKA KR300's size, identified from a simulated log.

Its numbers are invented: a reach of 2.7 m, 1.2 t, and a cylinder that holds up to 4 kN m of axis 2.
"""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.motion import of_the_motion
from dynamis.identify.payload import identify_payload, payload_columns
from dynamis.identify.processing import Processing, prepare

MASS, COM = 151.0, (0.05, 0.02, 0.12)
STIFFNESS, PRELOAD = 3e4, 8e3
ENCODER, TORQUE = 2e-5, 0.003  # noise: rad, and of the largest torque of each joint
pytestmark = [pytest.mark.usefixtures("compiled"), pytest.mark.thorough]


def link(mass, com, size, gear, rotor, friction, **place):
    a, b, c = size
    inertia = tuple(mass * (x * x + y * y) / 12 for x, y in ((b, c), (a, c), (a, b)))
    rubbing = dy.Friction(viscous=friction[0], coulomb=friction[1])
    drive = dy.Drive(gear=gear, rotor_inertia=rotor)
    return dy.Link(mass=mass, com=com, inertia=inertia, friction=rubbing, drive=drive, **place)


def counterbalanced():
    """Six joints; a cylinder below axis 2 pulls the upper arm upright."""
    links = [
        link(450, (0.15, 0, -0.15), (0.8, 0.7, 0.6), 250, 8e-3, (350, 300), d=0.675),
        link(260, (0.5, 0, 0.1), (1.3, 0.3, 0.3), 260, 8e-3, (400, 350), a=0.35, alpha="-pi/2"),
        link(320, (0.1, 0.1, 0.05), (0.5, 0.6, 0.4), 250, 6e-3, (300, 250), a=1.15),
        link(
            110, (0, 0, -0.4), (0.25, 0.25, 0.8), 220, 2e-3, (60, 80), a=0.041, alpha="-pi/2", d=1
        ),
        link(45, (0, -0.05, 0), (0.2, 0.3, 0.2), 230, 2e-3, (50, 60), alpha="pi/2"),
        link(15, (0, 0, 0.15), (0.2, 0.2, 0.1), 160, 2e-3, (30, 40), alpha="-pi/2"),
    ]
    balance = dy.Spring(
        name="balance", from_="link1", from_point=(0.35, 0, -0.9), to="link2",
        to_point=(-0.25, 0, 0), stiffness=STIFFNESS, preload=PRELOAD, rest_length=0.65,
    )  # fmt: skip
    tool = {"xyz": (0, 0, 0.215)}
    return dy.Robot.from_dh(
        "kr300-sized", convention="modified", links=links, tool=tool, springs=(balance,)
    )


def recorded(robot, seed):
    """Twenty seconds under computed torque, with noise of encoders and currents."""
    rng, k = np.random.default_rng(seed), np.arange(1, 6)
    a, b = rng.normal(size=(2, 6, 5)) / k
    size = 1.3 * np.array([0.9, 0.55, 0.5, 0.9, 0.8, 1.2]) / np.abs([a, b]).sum(axis=(0, 2))
    middle = [0.0, -1.1, 0.3, 0.0, 0.3, 0.0]
    move = dy.trajectory.fourier(a * size[:, None], b * size[:, None], 20.0, middle)
    law = dy.control.ComputedTorque.from_bandwidth(robot, 12.0, model=robot)
    q0, qd0, _ = move(0.0)
    run = dy.simulate(
        robot, 20.0, 1e-3, q0, qd0, law, reference=move, drives=False, save_every=2
    )  # fmt: skip
    noise = np.random.default_rng([seed, 1]).normal(size=(2, *run.q.shape))
    tau = run.tau + TORQUE * np.abs(run.tau).max(axis=0) * noise[1]
    return dy.Log(t=run.t, q=run.q + ENCODER * noise[0], tau=tau)


def without(robot):
    return dy.Robot(replace(robot.model, springs=()))


def identified(robot, log):
    how = Processing(cutoff=of_the_motion(log, log.rate), torque_delay=0.0)
    return dy.identify(robot, log, friction="symmetric", estimator="weighted", processing=how)


@pytest.fixture(scope="module")
def arm():
    return counterbalanced()


@pytest.fixture(scope="module")
def log(arm, compiled):
    return recorded(arm, 1)


@pytest.fixture(scope="module")
def estimate(arm, log):
    return identified(arm, log)


@pytest.fixture(scope="module")
def loaded(arm, compiled):
    return recorded(arm.with_payload(MASS, COM, (4.0, 4.5, 3.0)), 2)


def test_it_is_as_strong_as_that(arm):
    q = np.zeros((50, 6))
    q[:, 1] = np.linspace(-np.pi, 0.0, 50)
    held = arm.spring_torque(q)
    assert 3900.0 < np.abs(held[:, 1]).max() < 4000.0 and not np.delete(held, 1, axis=1).any()
    assert (held[:, 1] * arm.gravity_torque(q)[:, 1] <= 1e-6).mean() > 0.7  # it helps


def test_stiffness_and_preload_lie_within_their_intervals(estimate):
    """At 99 %, and the intervals are narrow enough to mean something."""
    for name, true in (("balance.stiffness", STIFFNESS), ("balance.preload", PRELOAD)):
        k = list(estimate.names).index(name)
        low, high = estimate.intervals(0.99)[k]
        assert low < true < high, (name, low, high)
        assert estimate.standard_deviations[k] < 0.04 * true
    found = estimate.robot.model.springs[0]
    assert found.stiffness == pytest.approx(STIFFNESS, rel=0.03)
    assert found.preload == pytest.approx(PRELOAD, rel=0.08)


def test_axis_two_is_predicted_only_with_the_spring(arm, estimate, log):
    other = recorded(arm, 3)
    with_, less = estimate.validate(other), identified(without(arm), log).validate(other)
    assert with_.relative_error[1] < 0.01 < 0.04 < less.relative_error[1]
    np.testing.assert_allclose(with_.relative_error[2:], less.relative_error[2:], rtol=0.1)
    again = estimate.robot.inverse_dynamics(np.full(6, 0.1), np.zeros(6), np.zeros(6))
    truth = arm.inverse_dynamics(np.full(6, 0.1), np.zeros(6), np.zeros(6))
    np.testing.assert_allclose(again[1], truth[1], rtol=0.02)


def test_the_payload_is_found(estimate, loaded):
    found = identify_payload(estimate.robot, loaded)
    assert found.values[0] == pytest.approx(MASS, rel=0.005)
    np.testing.assert_allclose(found.values[1:4], COM, atol=1e-3)


def axis_two(robot, log):
    """The mass that the torque of axis 2 tells, the centre of mass being known."""
    (samples,), _ = prepare(log, Processing())[:2]
    left = samples.tau - robot.inverse_dynamics(samples.q, samples.qd, samples.qdd)
    column = payload_columns(robot, samples)[:, 1] @ [1.0, *COM, *np.zeros(6)]
    return column @ left[:, 1] / (column @ column)


def test_the_spring_is_no_payload(arm, loaded, estimate):
    """What the cylinder holds is missing in the torque of axis 2: without it, 55 kg."""
    assert axis_two(arm, loaded) == pytest.approx(MASS, rel=0.01)
    assert axis_two(estimate.robot, loaded) == pytest.approx(MASS, rel=0.01)
    assert 40.0 < axis_two(without(arm), loaded) < 70.0


def test_a_hydraulic_cylinder_is_found_and_is_no_payload(arm):
    """A piston that presses oil into an accumulator: up to 4 kN m on axis 2."""
    (linear,) = arm.model.springs
    cylinder = dy.Spring(
        name="balance", kind="gas", law="pull", force=12e3, gas_length=1.2, exponent=1.2,
        rest_length=0.65, from_=linear.from_, from_point=linear.from_point, to=linear.to,
        to_point=linear.to_point,
    )  # fmt: skip
    hydraulic = dy.Robot(replace(arm.model, springs=(cylinder,)))
    q = np.zeros((50, 6))
    q[:, 1] = np.linspace(-np.pi, 0.0, 50)
    assert 3900.0 < np.abs(hydraulic.spring_torque(q)[:, 1]).max() < 4100.0
    described = dy.Robot(replace(arm.model, springs=(replace(cylinder, force=5e3),)))
    found = identified(described, recorded(hydraulic, 1))
    k = list(found.names).index("balance.force")
    low, high = found.intervals(0.99)[k]
    assert low < 12e3 < high and found.standard_deviations[k] < 0.02 * 12e3
    loaded = recorded(hydraulic.with_payload(MASS, COM, (4.0, 4.5, 3.0)), 2)
    assert identify_payload(found.robot, loaded).values[0] == pytest.approx(MASS, rel=0.005)
    assert axis_two(found.robot, loaded) == pytest.approx(MASS, rel=0.01)
    assert axis_two(without(hydraulic), loaded) < 60.0
