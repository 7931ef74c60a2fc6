"""Estimators: outliers, priors, friction alone, total least squares, the automatic law."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.friction.models import FRICTIONS, chosen_among
from dynamis.identify.information import Information, information, total, weighted
from dynamis.identify.processing import prepare

from .motions import arm, log_of

ROBOT = arm()
LOG = log_of(ROBOT)
OTHER = log_of(ROBOT, seed=3)
HOW = {"friction": "asymmetric", "held_out": False}
WEAK = log_of(ROBOT, seed=5, noise=3.0, seconds=2.0, size=0.05)  # short, weak and noisy


def disturbed(log, size):
    """The log with stretches of torque that is far out, all to one side: too long for spikes."""
    tau = log.tau.copy()
    tau[(np.arange(len(tau)) // 40) % 12 == 1, 0] += size
    return replace(log, tau=tau)


def missed(robot, log=OTHER):
    """Of the torque of a motion, by the robot that was handed over."""
    t, q, qd = log.t, log.q, log.qd
    qdd = np.gradient(qd, t, axis=0)
    wanted = ROBOT.inverse_dynamics(q, qd, qdd)
    return np.linalg.norm(robot.inverse_dynamics(q, qd, qdd) - wanted) / np.linalg.norm(wanted)


def test_a_robust_physical_estimate_does_not_follow_outliers():
    log = disturbed(LOG, 40.0)
    plain, robust = (
        dy.identify(ROBOT, log, estimator=name, force=True, **HOW)
        for name in ("feasible", "robust-feasible")
    )
    assert robust.is_physical
    assert missed(robust.robot) < 0.04 < 0.3 * missed(plain.robot)
    assert robust.verdict.level != "good"  # a model may be right where its log is not


def test_a_robust_estimate_is_physical_where_robust_least_squares_is_not():
    log = disturbed(WEAK, 20.0)
    free, bound = (
        dy.identify(ROBOT, log, estimator=name, force=True, **HOW)
        for name in ("robust", "robust-feasible")
    )
    assert not free.is_physical and bound.is_physical


@pytest.mark.parametrize("estimator", ["weighted", "robust", "feasible", "robust-feasible"])
def test_friction_alone(estimator):
    """The bodies stay what they are; friction is that of the arm."""
    described = dy.Robot(
        replace(
            ROBOT.model,
            links=tuple(replace(x, friction=dy.Friction()) for x in ROBOT.model.links),
        )
    )
    found = dy.identify(described, LOG, estimator=estimator, only="friction", **HOW)
    names, values = (
        np.array(x) for x in (found.robot.parameters.names, found.robot.parameters.values)
    )
    own = np.array(described.parameters.values)
    rubs = np.array(
        [x.split(".")[1] in ("viscous", "coulomb+", "coulomb-", "offset") for x in names]
    )
    np.testing.assert_allclose(values[~rubs], own[~rubs], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(values[rubs], np.tile([0.6, 1.2, -1.2, 0.15], 2), atol=0.02)
    bodies = found.unknowns.of_kind("body", "rotor")
    assert not found.standard_deviations[bodies].any()


def test_friction_alone_is_dissipative_where_least_squares_is_not():
    silent = dy.Robot(
        replace(
            ROBOT.model,
            links=tuple(replace(x, friction=dy.Friction()) for x in ROBOT.model.links),
        )
    )
    log = log_of(silent, seed=2, noise=0.5)
    free, bound = (
        dy.identify(silent, log, estimator=name, only="friction", force=True, **HOW)
        for name in ("weighted", "feasible")
    )
    assert not free.friction_physical and bound.friction_physical


def test_friction_alone_says_what_it_does_not_go_with():
    with pytest.raises(OptionError, match="only='friction' was given with method='two-step'"):
        dy.identify(ROBOT, LOG, only="friction", method="two-step", slow=LOG)
    with pytest.raises(OptionError, match="nothing is sought"):
        dy.identify(ROBOT, LOG, only="friction", friction="none")
    with pytest.raises(OptionError, match="only is 'payload', expected 'friction'"):
        dy.identify(ROBOT, LOG, only="payload")


def test_a_prior_by_link_holds_that_link():
    wrong = dy.Robot(
        replace(ROBOT.model, links=tuple(replace(x, mass=1.3 * x.mass) for x in ROBOT.model.links))
    )
    mass = list(wrong.parameters.names).index("link2.m")
    free, held = (
        dy.identify(wrong, LOG, prior=prior, force=True, **HOW).robot.parameters.values[mass]
        for prior in (1e-3, {"link2": 1e10, "link1": 1e-3})
    )
    assert abs(held - wrong.parameters.values[mass]) < 0.02 < 0.1 < abs(free - held)
    with pytest.raises(OptionError, match="prior: the robot has no link 'hand'"):
        dy.identify(wrong, LOG, prior={"hand": 1.0})
    for prior, said in (
        ({"link1": -1.0}, "prior of link1 is -1"),
        ({"link1": None}, "prior of link1 is None"),
        ({0: 2.0}, "prior: the robot has no link 0"),
    ):
        with pytest.raises(OptionError, match=said):
            dy.identify(wrong, LOG, prior=prior)


@pytest.mark.parametrize("log", [LOG, WEAK], ids=["good", "weak"])
def test_without_a_prior_there_is_an_answer(log):
    found = dy.identify(ROBOT, log, prior=0, force=True, **HOW)
    usual = dy.identify(ROBOT, log, force=True, **HOW)
    assert found.is_physical
    a, b = (x.training[0].relative_error_overall for x in (found, usual))
    assert a <= 1.01 * b


def hardly_shown(seed):
    """Two columns that only a little noise tells apart, less of it than of the torque."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(400, 3))
    Y[:, 2] = Y[:, 0] + 1e-3 * rng.normal(size=400)
    tau = Y[:, :2] @ [2.0, -1.0] + 0.3 * rng.normal(size=400)
    R = np.linalg.qr(np.column_stack([Y, tau]))[1]
    return Information(R[None], np.array([400]))


@pytest.mark.parametrize("seed", range(5))
def test_total_least_squares_leaves_out_what_is_not_shown(seed):
    """Plain total least squares puts all errors into the direction that the motion hardly shows."""
    info = hardly_shown(seed)
    found = total(info)
    assert found.left_out == 1
    assert info.misfit(found.x) < 1.2 * info.misfit(weighted(info).x)
    np.testing.assert_allclose([found.x[0] + found.x[2], found.x[1]], [2.0, -1.0], atol=0.1)


def test_total_least_squares_leaves_nothing_out_of_a_good_motion():
    found = dy.identify(ROBOT, LOG, estimator="total", **HOW)
    assert not [f for f in found.findings if f.where == "estimator"]
    weak = dy.identify(ROBOT, WEAK, estimator="total", force=True, **HOW)
    plain = dy.identify(ROBOT, WEAK, estimator="weighted", force=True, **HOW)
    a, b = (x.training[0].relative_error_overall for x in (weak, plain))
    assert a < 1.5 * b


def test_the_misfit_is_measured_against_the_whole_torque():
    """What is known beforehand counts as explained torque."""
    found = dy.identify(ROBOT, LOG, estimator="weighted", **HOW)
    motions = prepare(LOG, found.processing[0])[0]
    x = found.values
    known = np.where(np.isin(found.unknowns.kinds, ("body", "rotor")), x, np.nan)
    whole, rest = (information(motions, found.unknowns, known=k) for k in (None, known))
    np.testing.assert_allclose(rest.torques, whole.torques, rtol=1e-9)
    left = np.where(np.isnan(known), x, 0.0)
    np.testing.assert_allclose(rest.misfit(left), whole.misfit(x), rtol=1e-6)


def test_auto_prefers_the_simplest_of_what_is_as_good():
    """An arm with hard signs and no offset: symmetric, and not the six others that hold it."""
    even = dy.Robot(
        replace(
            ROBOT.model,
            links=tuple(
                replace(x, friction=dy.Friction(viscous=0.6, coulomb=1.2))
                for x in ROBOT.model.links
            ),
        )
    )
    found = dy.identify(even, log_of(even, noise=0.3), friction="auto", estimator="weighted",
                        held_out=False)  # fmt: skip
    assert found.friction == "symmetric"
    least = found.scores[0][1]
    assert dict(found.scores)["symmetric"] <= 1.05 * least
    assert {"none", "viscous", "asymmetric", "directional"} <= {
        x.split(" ")[0] for x, _ in found.scores
    }


def test_auto_tries_what_the_log_and_the_robot_allow():
    cold, warm = ({x.name for x in chosen_among(ROBOT, heated)} for heated in (False, True))
    assert warm - cold == {"thermal"}
    without = {name for name, model in FRICTIONS.items() if not model.has_memory}
    assert without - warm == {"described", "dahl", "lugre"}  # of one's own; of bristles


def test_friction_that_drives_in_one_direction_is_not_physical():
    links = [
        replace(x, friction=dy.Friction(viscous=(2.0, -0.5), law="smooth"))
        for x in ROBOT.model.links
    ]
    driving = log_of(dy.Robot(replace(ROBOT.model, links=tuple(links))), noise=0.01)
    found = dy.identify(ROBOT, driving, friction="directional", estimator="weighted", force=True)
    assert not found.friction_physical and not found.is_physical
