"""Causes that are tried: springs, driven joints, gravity, and sentences about errors."""

import re
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.friction.models import friction_named
from dynamis.identify.processing import Processing, prepare
from dynamis.identify.unknowns import unknowns
from dynamis.identify.verdict.diagnose import _fall, excerpt
from dynamis.identify.verdict.trials import Tilt, best_tilt, confirmed_driving, relative_misfits
from dynamis.model.check.finding import Finding

from .motions import arm, log_of

ROBOT = arm()
PLAIN = {"friction": "asymmetric", "estimator": "weighted", "held_out": False}


def on_spring(joint, stiffness, rest_angle):
    spring = dy.Spring(kind="torsion", joint=joint, stiffness=stiffness, rest_angle=rest_angle)
    return ROBOT.with_spring(spring)


@pytest.mark.parametrize("joint", ["joint1", "joint2"])
def test_a_spring_on_a_joint_that_carries_is_asked_for_and_tried(joint):
    log = log_of(on_spring(joint, 12.0, 0.8))
    found = dy.identify(ROBOT, log, **PLAIN)
    (said,) = [f for f in found.findings if "a spring or a counterbalance?" in f.what]
    assert said.joints == (joint,) and said.level == "warning"
    stiffness = float(re.search(r"spring of ([\d.]+) N m/rad", said.what).group(1))
    assert stiffness == pytest.approx(12.0, rel=0.05)
    then, now = (float(x) for x in re.findall(r"([\d.]+) %", said.what))
    assert then < 0.5 < 3.0 < now
    assert found.verdict.level == "doubtful" and found.verdict.joints[joint].level != "good"


def test_an_offset_that_no_spring_explains_is_a_note_that_says_so():
    log = log_of(ROBOT)
    found = dy.identify(ROBOT, replace(log, tau=log.tau + np.array([0.0, 12.0])), **PLAIN)
    (said,) = [f for f in found.findings if "a spring or a counterbalance?" in f.what]
    assert said.level == "note" and said.what.endswith("it explains little")
    assert found.verdict.level == "good"


def test_an_ordinary_offset_is_not_asked_about():
    for robot in (ROBOT, on_spring("joint2", 0.3, 0.2)):
        found = dy.identify(ROBOT, log_of(robot), **PLAIN)
        assert not any("counterbalance" in f.what for f in found.findings)


def tilt_of(described, log):
    motions = prepare(log, Processing(dead_zone=0.03))[0]
    return best_tilt(unknowns(described, friction_named("smooth"), None), excerpt(motions))


@pytest.mark.parametrize("degrees", [0.0, 10.0, 70.0])
def test_the_direction_of_gravity_is_found(degrees):
    angle = np.radians(degrees)
    gravity = (9.81 * np.sin(angle), -9.81 * np.cos(angle), 0.0)
    tilt = tilt_of(ROBOT, log_of(ROBOT.with_gravity(gravity)))
    assert tilt.gravity[:2] == pytest.approx(gravity[:2], abs=0.5)
    assert np.degrees(tilt.angle) == pytest.approx(degrees, abs=3.0)
    assert tilt.misfits.max() < 0.05 and (tilt.power > 0.0).all()


def test_misfits_are_those_of_weighted_least_squares():
    rng = np.random.default_rng(0)
    A, x = rng.normal(size=(500, 2, 3)), np.array([1.0, -2.0, 0.5])
    tau = A @ x + [0.1, 1.0] * rng.normal(size=(500, 2))
    misfits, found = relative_misfits(A, tau)
    assert found == pytest.approx(x, abs=0.05)
    assert misfits == pytest.approx(np.array([0.1, 1.0]) / tau.std(axis=0), rel=0.1)


DRIVEN = Finding("error", "torques", "its friction would drive it: the sign", "change", ("b",))


@pytest.mark.parametrize(
    "tilted, worse, calm, said",
    [
        (False, False, False, "the sign"),
        (True, False, False, "not under a gravity turned by 57 degrees"),
        (False, True, False, "a torque of the other sign explains the log worse"),
        (False, False, True, "not with a cut-off of 5 Hz"),
    ],
)
def test_friction_drives_a_joint_only_if_nothing_else_explains_it(tilted, worse, calm, said):
    tilt = Tilt(np.zeros(3), 1.0, np.ones(3), np.full(3, 0.5 if tilted else -0.5))
    cutoffs = {5.0: [] if calm else [DRIVEN], 20.0: [DRIVEN]}
    (found,) = confirmed_driving([DRIVEN], ("a", "b", "c"), tilt, [worse] * 3, cutoffs)
    assert said in found.what and found.joints == ("b",)
    assert (found.level == "error") == (said == "the sign")


def test_no_sentence_says_that_an_error_falls_when_it_rises():
    """Likelier by the product of the errors, larger by their mean square."""
    now, then = np.array([0.4, 0.5]), np.array([0.02, 0.9])
    said = _fall(now, then, ("a", "b"))
    assert said == "the error of a falls from 40 to 2 %"
    assert _fall(now, now / 2, ("a", "b")) == "the error falls from 45 to 23 %"
    for k in range(50):
        now, then = np.random.default_rng(k).uniform(0.01, 1.0, (2, 3))
        if (then < now).any():
            a, b = (float(x) for x in re.findall(r"\d+", _fall(now, then, "abc")))
            assert b <= a
