"""The described masses beside a log: which reading agrees with them, and when they say nothing."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from docs.verdicts import (
    axis_reversed,
    exchanged,
    random_arm,
    recordings,
    scaled,
    simulated,
    torque_negated,
    turned,
)
from dynamis.identify.bodies import bodies_like, body_deviations, ten_of
from dynamis.identify.feasible import pseudo_inertias
from dynamis.identify.friction.models import SLOW, friction_named
from dynamis.identify.processing import Processing, prepare
from dynamis.identify.unknowns import unknowns
from dynamis.identify.verdict.described import _agreement, as_described
from dynamis.identify.verdict.diagnose import excerpt


def said_of(described, log):
    """Findings of a log beside a description."""
    model = friction_named("smooth")
    how = Processing(dead_zone=SLOW * model.speed)
    rows = excerpt(prepare(log, how, robot=described)[0])
    return list(as_described(unknowns(described, model, None), rows))


def test_evidence_is_the_density_of_the_torque_under_the_prior():
    """log N(y; k d, 1 + k^2 a^2 M M^T) by a dense covariance, and k where it is largest."""
    rng = np.random.default_rng(0)
    M, d = rng.normal(size=(30, 6)), 3.0 * rng.normal(size=30)
    y, a = 1.3 * d + 0.3 * M @ rng.normal(size=6) + rng.normal(size=30), 0.3
    U, spread, _ = np.linalg.svd(M, full_matrices=False)
    found, k, certain = _agreement(y, d, U.T @ y, U.T @ d, spread, a)
    cov = np.eye(30) + (k * a) ** 2 * M @ M.T
    left = y - k * d
    dense = -0.5 * (np.linalg.slogdet(cov)[1] + left @ np.linalg.solve(cov, left))
    assert found == pytest.approx(dense, rel=1e-4)  # k converges
    inverse = np.linalg.inv(cov)
    best = np.linalg.solve([[d @ inverse @ d]], [d @ inverse @ y])[0]  # generalised least squares
    assert k == pytest.approx(best, rel=1e-3)
    assert certain == pytest.approx(k * np.sqrt(d @ inverse @ d), rel=1e-3)


def test_bodies_deviate_alike_in_every_frame():
    """The covariance of the ten parameters turns and shifts with the body."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(4, 4))
    P = A @ A.T + 0.1 * np.eye(4)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    here, there = (body_deviations(x) for x in (P, T @ P @ T.T))
    moved = np.array([ten_of(T @ pseudo_inertias(x) @ T.T) for x in here.T]).T
    assert moved @ moved.T == pytest.approx(there @ there.T, rel=1e-9, abs=1e-9)
    assert (here @ here.T)[0, 0] == pytest.approx(P[3, 3] ** 2, rel=1e-9)  # mass, by as much


def test_bodies_like_those_given_have_mass_and_thickness():
    (P, Q) = bodies_like([np.array([[4.0, *np.zeros(9)], np.zeros(10)])], light=0.05)
    assert P[3, 3] == 4.0 and Q[3, 3] == pytest.approx(0.2)
    assert np.linalg.eigvalsh(P)[0] > 0.0 and np.linalg.eigvalsh(Q)[0] > 0.0


@pytest.fixture(scope="module")
def rough(compiled):
    """Arms whose bodies are described wrong by tens of percent, and logs of them."""
    found = []
    for k in (1, 4, 5):
        rng = np.random.default_rng([11, k])
        robot = random_arm(rng, 4)
        values = np.array(robot.parameters.values)
        values[:40] *= np.repeat(rng.uniform(0.75, 1.25, 4), 10)
        log = simulated(robot, rng)
        found.append((robot.with_parameters(values), log))
    return found


READINGS = {
    "axis reversed": (lambda log: axis_reversed(log, 2), "the axis of {1} reversed"),
    "torque negated": (lambda log: torque_negated(log, 3), "the torque of {2} changed"),
    "exchanged": (lambda log: exchanged(log, 2, 3), "all columns of {1} and {2} swapped"),
}


@pytest.mark.parametrize("name", READINGS)
def test_the_reading_that_agrees_is_named(rough, name):
    """On every one of the arms, roughly described as they are."""
    change, words = READINGS[name]
    for robot, log in rough:
        (said,) = said_of(robot, change(log))
        assert words.format(*robot.joint_names) in said.what
        assert said.level == "warning" and said.where == "description"


@pytest.mark.parametrize("factor", [0.4, 2.0, 3.0])
def test_a_scaled_torque_is_named_with_its_factor(rough, factor):
    robot, log = rough[0]
    (said,) = said_of(robot, scaled(log, 2, factor))
    assert said.joints == (robot.joint_names[1],)
    own, others = (float(said.what.split(x)[1].split(" times")[0]) for x in ("is ", "joints "))
    assert own / others == pytest.approx(factor, rel=0.15)
    (said,) = said_of(robot, replace(log, tau=factor * log.tau))
    assert "all torques are about" in said.what and said.joints == ()


def test_a_zero_between_those_tried_is_found(rough):
    robot, _ = rough[0]
    turning = [j for j, kind in enumerate(robot.joint_kinds) if kind == "revolute"]
    j = turning[-1]
    (said,) = said_of(robot, turned(rough[0][1], j + 1, np.radians(-43.0)))
    assert float(said.what.split(" degrees")[0].split()[-1]) == pytest.approx(43.0, abs=5.0)
    assert said.joints == (robot.joint_names[j],) and "offset" in said.remedy


def test_good_logs_are_not_questioned(rough):
    for robot, log in rough:
        assert said_of(robot, log) == []


def with_bodies(robot, ten):
    """The robot with other bodies."""
    values = np.array(robot.parameters.values)
    values[: ten.size] = ten.ravel()
    return robot.with_parameters(values)


@pytest.mark.thorough
def test_descriptions_without_masses_or_with_invented_ones_say_nothing(rough):
    """Whatever is wrong with the log: then other findings have to tell."""
    rng = np.random.default_rng(2)
    for robot, log in rough:
        none = np.zeros((4, 10))
        unit = np.tile([1.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.0, 0.0, 0.01], (4, 1))
        for ten in (none, unit):
            for change in (lambda x: x, lambda x: scaled(x, 2, 2.0)):
                assert said_of(with_bodies(robot, ten), change(log)) == []
        for _ in range(3):
            A = rng.normal(size=(4, 4, 4)) * np.array([0.1, 0.1, 0.1, 1.0])[:, None]
            mass = np.exp(rng.normal(size=4)) * 3.0
            ten = np.array([ten_of(m * x @ x.T) for m, x in zip(mass, A, strict=True)])
            assert said_of(with_bodies(robot, ten), log) == []


def test_placeholders_say_nothing_though_they_look_like_other_torques(data, compiled):
    """An arm of 1 kg a link, centres on the joints: gravity as described is hardly a third."""
    arm, log, _ = recordings(data)["UR10e excitation_30s"]
    unit = [1.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.01, 0.0, 0.0, 0.01]
    assert said_of(with_bodies(arm, np.tile(unit, (len(arm.model.links), 1))), log) == []


WRONG = {
    "shoulder_pan_joint": [
        (lambda log: axis_reversed(log, 1), "the axis of shoulder_pan_joint reversed"),
        (lambda log: scaled(log, 1, 2.0), "its torque is 2.8 times"),
    ],
    "shoulder_lift_joint": [(lambda log: scaled(log, 2, 2.0), "its torque is 2.4 times")],
    "elbow_joint": [(lambda log: turned(log, 3, np.pi / 6), "-30 degrees added")],
}


def test_wrong_logs_of_a_real_arm(data, compiled):
    """Friction exceeds what most of its masses need, which are described 20 % too small."""
    arm, log, _ = recordings(data)["UR10e excitation_30s"]
    for joint, cases in WRONG.items():
        for change, words in cases:
            (said,) = said_of(arm, change(log))
            assert words in said.what and said.joints == (joint,)


@pytest.mark.thorough
def test_good_logs_of_real_arms_are_not_questioned(data, compiled):
    """With a payload that is not described too."""
    for name, (arm, log, _) in recordings(data).items():
        piece = log if log.duration < 13.0 else log.window(0.0, 12.0)
        assert said_of(arm, piece) == [], name


def test_no_gear_eats_all_of_its_torque(data, compiled):
    """Bound bodies leave a joint at rest any friction under load: it has none."""
    arm, log, _ = recordings(data)["UR10e point_to_point"]
    piece = log.window(5.0, 17.0)
    options = {"friction": "loaded-grotjahn", "cutoff": 2.5, "rotors": True, "held_out": False}
    found = dy.identify(arm, piece, **options)
    loads = found.values[found.unknowns.of_kind("load")]
    assert (loads >= 0.0).all() and (loads <= 0.3).all() and loads.any()
