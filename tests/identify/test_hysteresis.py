"""Friction about reversals: turns of a motion, loops, residuals, the share that has memory."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.friction.hysteresis import REACH, presliding_said, reversals, turns_of
from dynamis.identify.friction.models import FRICTIONS
from dynamis.identify.processing import prepare
from dynamis.identify.unknowns import unknowns
from dynamis.identify.verdict.diagnose import DELAYED, excerpt, late_torque, torque_delay

from .motions import arm
from .test_memory import WEIGHTS, hysteretic, recorded

pytestmark = pytest.mark.usefixtures("compiled")
COULOMB = 1.2  # N m, of `arm`
RADII = (*WEIGHTS,)
HOW = {"held_out": False, "estimator": "weighted", "cutoff": 25.0}


@pytest.fixture(scope="module")
def estimate(compiled):
    true, described = hysteretic()
    model = replace(FRICTIONS["memory"], radii=RADII)
    return dy.identify(described, recorded(true, noise=0.01), friction=model, **HOW)


@pytest.fixture(scope="module")
def turned(estimate):
    return reversals(estimate)


def test_turns_of_a_triangle():
    q = np.concatenate(
        [np.linspace(0, 1, 101), np.linspace(1, -1, 201)[1:], np.linspace(-1, 0, 101)[1:]]
    )
    since, left, direction = turns_of(q, 0.1)
    assert np.isinf(since[:100]).all() and not direction[:100].any()
    np.testing.assert_allclose(since[100:300], 1.0 - q[100:300], atol=1e-12)
    np.testing.assert_allclose(left[100:300], q[100:300] + 1.0, atol=1e-12)
    np.testing.assert_allclose(left[:100], 1.0 - q[:100], atol=1e-12)
    assert (direction[100:300] == -1.0).all() and not direction[300:].any()
    np.testing.assert_allclose(since[300:], q[300:] + 1.0, atol=1e-12)


def test_small_ways_there_and_back_are_no_turns():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 4.0, 4001)
    q = np.sin(2.0 * np.pi * t) + 0.02 * rng.uniform(-1.0, 1.0, len(t))
    _, _, direction = turns_of(q, 0.1)
    changes = np.flatnonzero(np.diff(direction[direction != 0.0]))
    assert len(changes) == 6  # of eight turns the outer two have one side
    for still in (np.zeros(50), 0.01 * rng.normal(size=50)):
        since, left, direction = turns_of(still, 0.1)
        assert np.isinf(since).all() and np.isinf(left).all() and not direction.any()


def test_the_loop_is_that_of_the_elements(turned):
    """Behind a turn: Coulomb friction, and min(1, s / r - 1) of every weight along the motion.

    From ways on that the motion covers slower than the filter forgets.
    """
    edges = np.array([6e-3, 1e-2, 1.4e-2, 2e-2, 3e-2])
    for one in turned:
        assert one.turns > 20 and one.radii == RADII
        far = one.since + one.left > REACH * max(RADII)
        for low, high in pairwise(edges):
            some = far & (one.since >= low) & (one.since < high)
            s = one.since[some]
            exact = COULOMB + sum(w * np.minimum(1.0, s / r - 1.0) for r, w in WEIGHTS.items())
            for values in (one.measured, one.memory):
                mean = float((one.direction * values)[some].mean())
                assert mean == pytest.approx(float(exact.mean()), abs=0.08)


def test_a_static_law_is_wrong_behind_turns_and_memory_is_not(turned):
    for one in turned:
        way, static, memory = one.residuals()
        near, far = way < 1e-3, way > 0.1
        assert np.nanmax(static[near]) < -0.8 and np.nanmax(np.abs(static[far])) < 0.3
        assert np.nanmax(np.abs(memory)) < 0.1
        before, after = one.errors()
        assert after < 0.2 * before


def test_the_mean_loop_turns_at_its_right_end(turned):
    at, friction = turned[0].loop()
    half = len(at) // 2
    assert (at <= 0.0).all() and (np.diff(at[:half]) > 0).all() and (np.diff(at[half:]) < 0).all()
    np.testing.assert_array_equal(at, at[::-1])
    for name in ("measured", "memory"):
        up, down = friction[name][:half], friction[name][half:]
        assert np.nanmean(up) > 2.0 and np.nanmean(down) < -1.5
    np.testing.assert_allclose(friction["measured"], friction["memory"], atol=0.15)


def test_the_share_that_has_memory(estimate):
    total = sum(WEIGHTS.values())
    np.testing.assert_allclose(estimate.presliding, total / (total + COULOMB), rtol=0.05)
    said = presliding_said(estimate)
    assert said.startswith("Presliding, on the way of 0.001 and 0.01 rad behind a turn: 5")
    assert all(name in said for name in estimate.unknowns.robot.drive_names)


def test_a_static_model_has_loops_too_and_no_share(estimate):
    _, described = hysteretic()
    plain = dy.identify(described, estimate.logs[0], friction="smooth", **HOW)
    assert not plain.presliding.any() and presliding_said(plain) == ""
    one = reversals(plain)[0]
    np.testing.assert_array_equal(one.static, one.memory)
    assert one.turns > 10


def springy():
    """An arm all of whose dry friction has memory, and the same described without."""
    memory = dy.Memory((3e-3, 3e-2), (3.0, 3.0))
    true = arm(law="smooth", memory=memory)
    own = [replace(x, friction=replace(x.friction, coulomb=(0.0, 0.0))) for x in true.model.links]
    links = [replace(x, friction=dy.Friction(law="smooth")) for x in own]
    return tuple(dy.Robot(replace(true.model, links=tuple(x))) for x in (own, links))


def test_memory_is_not_taken_for_a_delay_and_a_delay_is_seen_beside_it(compiled):
    true, described = springy()
    log = recorded(true, seconds=20.0, harmonics=40)
    model = replace(FRICTIONS["memory"], radii=(3e-3, 3e-2))
    sought = unknowns(described, model, None)
    how = dy.Processing(cutoff=25.0, dead_zone=0.03)

    def motions(late):
        tau = np.roll(log.tau, round(late * log.rate), axis=0)
        return prepare(dy.Log(t=log.t, q=log.q, tau=tau), how)[0]

    assert abs(torque_delay(sought, excerpt(motions(0.0)))[0]) > 3e-3  # if all elements slipped
    assert abs(torque_delay(sought, excerpt(motions(0.0), sought))[0]) < 1e-3
    assert not [*late_torque(sought, excerpt(motions(0.0), sought), log.step)]
    late = 0.024
    assert late > DELAYED
    (said,) = late_torque(sought, excerpt(motions(late), sought), log.step)
    assert "24 ms late" in said.what
