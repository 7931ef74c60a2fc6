"""Integrators: their conditions, and their order on real arms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import DOP853, RK45

import dynamis as dy
from dynamis.simulation.tableau import (
    DORMAND_PRINCE,
    HEUN,
    INTEGRATORS,
    RK4,
    ROS34PW2,
    Tableau,
    round_step,
    weights_at,
)
from tests.random_robots import build
from tests.simulation.arms import exact, order

ORDERS = {"euler": 1, "semi-implicit-euler": 1, "heun": 2, "rk4": 4}
STEPS = {"euler": 800, "semi-implicit-euler": 800, "heun": 200, "rk4": 50}  # coarsest, per second
DURATION = 0.4
START = {"pendulum3": ([0.3, -0.5, 0.8], [0.5, 1.0, -1.0]), "rpr": ([0.2, 0.1, -0.4], [0.3] * 3)}


def smooth(robot):
    """The arm with viscous friction and ideal drives."""
    rub = dy.Friction(viscous=0.2)
    links = tuple(replace(link, friction=rub, drive=None) for link in robot.model.links)
    return dy.Robot(replace(robot.model, links=links))


@pytest.fixture(scope="module")
def arms(compiled):
    rpr = smooth(build("standard", ("revolute", "prismatic", "revolute"), 5))
    return {"pendulum3": dy.load("pendulum3"), "rpr": rpr}


@pytest.fixture(scope="module")
def truth(arms):
    t = np.linspace(0, DURATION, 11)
    return {name: exact(arms[name], t, *START[name]) for name in arms}


@pytest.mark.parametrize("row", [RK4, HEUN, DORMAND_PRINCE], ids=lambda t: t.name)
def test_wrong_weights_are_refused(row):
    with pytest.raises(ValueError, match="sum b c"):
        replace(row, b=(row.b[0] + 0.01, *row.b[1:]))


def test_wrong_stages_and_embedded_weights_are_refused():
    with pytest.raises(ValueError, match="triangular"):
        Tableau("implicit", 1, ((0.5,),), (1.0,))
    with pytest.raises(ValueError, match="sum b c"):
        replace(RK4, A=((), (0.5,), (0.0, 0.5), (0.0, 0.0, 0.9)))
    with pytest.raises(ValueError, match="embedded"):
        replace(DORMAND_PRINCE, lower=(0.1, *DORMAND_PRINCE.lower[1:]))
    with pytest.raises(ValueError, match="dense"):
        replace(DORMAND_PRINCE, dense=((1.0, 0.0, 0.0, 0.0), *DORMAND_PRINCE.dense[1:]))


@pytest.mark.parametrize("row", INTEGRATORS.values(), ids=lambda t: t.name)
def test_decay_is_stable_up_to_the_limit_and_not_beyond(row):
    def factor(z):  # y after a step of length 1 of y' = -z y, from y = 1
        moved = lambda y, rates, weights: y + np.dot(weights, rates)  # noqa: E731
        return row.steps(1.0, lambda y, c, *before: -z * y, moved)[0]

    limit = row.stability_limit
    assert all(abs(factor(z)) <= 1.0 for z in np.linspace(0.0, 0.999 * limit, 50))
    assert abs(factor(1.001 * limit)) > 1.0


def test_the_pair_is_that_of_dormand_and_prince():
    np.testing.assert_allclose(DORMAND_PRINCE.b[:6], RK45.B, rtol=1e-15)
    np.testing.assert_allclose(DORMAND_PRINCE.c[:6], RK45.C, rtol=1e-15)
    np.testing.assert_allclose(np.array(DORMAND_PRINCE.dense), RK45.P, rtol=1e-14)
    wrong = np.array(DORMAND_PRINCE.b) - np.array(DORMAND_PRINCE.lower)
    np.testing.assert_allclose(np.abs(wrong), np.abs(RK45.E), atol=1e-16)
    assert DOP853.order > DORMAND_PRINCE.order  # the reference of these tests is of higher order


@pytest.mark.parametrize("s", [0.0, 0.3, 1.0])
def test_dense_weights_have_order_four(s):
    w, c = np.array(weights_at(DORMAND_PRINCE, s)), np.array(DORMAND_PRINCE.c)
    for power in range(4):
        assert w @ c**power == pytest.approx(s ** (power + 1) / (power + 1), abs=1e-14)


@pytest.mark.parametrize("name", ["pendulum3", "rpr"])
@pytest.mark.parametrize("integrator", ORDERS)
def test_order(arms, truth, name, integrator):
    q, qd = truth[name]
    errors = []
    for k in range(3):
        steps = round(STEPS[integrator] * DURATION) * 2**k
        run = dy.simulate(
            arms[name], DURATION, DURATION / steps, *START[name], integrator=integrator,
            save_every=steps // 10,
        )  # fmt: skip
        errors.append(max(np.abs(run.q - q).max(), np.abs(run.qd - qd).max()))
    np.testing.assert_allclose(order(errors), ORDERS[integrator], atol=0.35)


@pytest.mark.parametrize("name", ["pendulum3", "rpr"])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_dormand_prince_keeps_its_tolerance_at_every_instant(arms, truth, name, tolerance):
    """Errors of single steps add up: 30 of them, amplified by a chaotic arm."""
    run = dy.simulate(
        arms[name], DURATION, DURATION / 10, *START[name],
        integrator="dormand-prince", tolerance=tolerance,
    )  # fmt: skip
    np.testing.assert_allclose(run.q, truth[name][0], atol=30 * tolerance)
    np.testing.assert_allclose(run.qd, truth[name][1], atol=100 * tolerance)


def test_dormand_prince_reports_torques_of_the_instant_not_of_its_step(compiled):
    run = dy.simulate(
        dy.load("pendulum3"), 0.2, 0.01, integrator="dormand-prince",
        torque=lambda t: [np.sin(9 * t), 0.0, 1.0],
    )  # fmt: skip
    np.testing.assert_allclose(run.tau[:, 0], np.sin(9 * run.t), atol=1e-12)
    np.testing.assert_allclose(run.friction, run.robot.friction_torque(run.qd), atol=1e-12)


def test_every_integrator_is_tried():
    elsewhere = {"dormand-prince", "ros34pw2"}  # in test_elastic
    assert set(INTEGRATORS) == {*ORDERS, *elsewhere}


@pytest.mark.parametrize("row", [((), (0.5,), (0.5, 0.0), (0.0, 0.0, 1.0))])
def test_a_misprint_that_keeps_the_row_sums_is_refused(row):
    with pytest.raises(ValueError, match="b_i a_ij c_j"):
        replace(RK4, A=row)


@pytest.mark.parametrize(
    ("row", "hertz", "ratio"),
    [
        (RK4, 50.0, 2.1e-5),
        (RK4, 100.0, 6.5e-4),
        (ROS34PW2, 20.0, 5.1e-5),
        (ROS34PW2, 100.0, 5.47e-3),
    ],
)
def test_damping_of_a_mode_is_that_of_the_tableau(row, hertz, ratio):
    """Measured by steps of 1 ms."""
    assert row.damping_ratio(2.0 * np.pi * hertz * 1e-3) == pytest.approx(ratio, rel=0.02)


@pytest.mark.parametrize(
    ("most", "step"), [(1e-3, 1e-3), (1.9e-3, 1e-3), (4.9e-4, 2e-4), (9.9e-6, 5e-6)]
)
def test_steps_that_are_proposed_are_round_and_not_longer(most, step):
    assert round_step(most) == step
