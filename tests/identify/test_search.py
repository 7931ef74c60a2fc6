"""What the log decides: cut-off, velocities, delay, friction, rotors; shared columns are right."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.identify.estimate import validation
from dynamis.identify.friction.models import FRICTIONS
from dynamis.identify.left_out import Instants, LeftOut, Rows, Score
from dynamis.identify.motion import low_passed_positions, lowpass, of_the_motion, rates
from dynamis.identify.processing import Processing
from dynamis.identify.search.search import simplest
from dynamis.identify.search.tries import Missed, least_missed
from dynamis.identify.unknowns import unknowns
from dynamis.logs.checks import spikes

from .choices import STEPS, case, drawn, recorded
from .motions import arm, coupled, log_of, series

ROBOT = arm()
LOG = log_of(ROBOT, seconds=20.0, noise=0.1)


def chosen(found):
    return {x.what: x for x in found.choices}


@pytest.mark.parametrize("robot", [ROBOT, coupled()])
@pytest.mark.parametrize("law", ["smooth", "directional", "grotjahn", "stribeck", "loaded"])
def test_columns_of_friction_are_those_of_the_regressor(robot, law):
    wanted = unknowns(robot, FRICTIONS[law], True)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 40, robot.n))
    wanted = replace(wanted, rigid=np.ones(len(wanted)))
    Y = wanted.regressor(q, qd, qdd)
    rigid = wanted.torque(wanted.rigid, q, qd, qdd, ("body", "rotor"))
    load = wanted.load_friction(q, qd, rigid)
    rebuilt = Y.copy()
    friction = np.setdiff1d(np.arange(len(wanted)), wanted.of_kind("body", "rotor"))
    rebuilt[..., friction] = 0.0
    for k, joint, column in wanted.friction_columns(qd, None, load):
        rebuilt[:, joint, k] = column
    np.testing.assert_allclose(rebuilt, Y, atol=1e-12)


def test_shared_sums_of_squares_are_those_of_all_columns():
    """Whatever law and rotors came before: the columns computed once are the right ones."""
    how = Processing(cutoff=20.0, velocity="log", dead_zone=0.03)
    rows = Rows.of([LOG], how, Instants.of([LOG], how), ROBOT)
    shared = LeftOut(rows, ROBOT)
    for rotors, law in ((True, "smooth"), (False, "directional"), (True, "grotjahn")):
        wanted = unknowns(ROBOT, FRICTIONS[law], rotors)
        fitted, compared = shared._squares(wanted)
        Y, tau = shared._columns(wanted)
        A = np.concatenate([Y, tau[..., None]], axis=-1) * rows.weight[..., None]
        whole = np.einsum("kja,kjb->jab", A, A)
        np.testing.assert_allclose(fitted.sum(axis=0), whole, atol=1e-8 * np.abs(whole).max())
        Y = wanted.regressor(rows.q, rows.qd, rows.qdd)
        A = np.concatenate([Y, rows.logged[..., None]], axis=-1)
        whole = np.einsum("kja,kjb->jab", A, A)
        np.testing.assert_allclose(compared.sum(axis=0), whole, atol=1e-8 * np.abs(whole).max())


def test_coarse_encoders_lower_the_cutoff():
    """4 mrad at 100 Hz: the rule knows the motion, not its noise."""
    t, q, qd, qdd = series(1, seconds=30.0, rate=100.0, harmonics=45)
    tau = ROBOT.inverse_dynamics(q, qd, qdd)
    coarse = 4e-3 * np.round(q / 4e-3)
    log, third = (dy.Log(t=t, q=x, tau=tau) for x in (coarse, coarse + 0.0))
    found = dy.identify(ROBOT, log, friction="asymmetric", estimator="weighted")
    by_rule = Processing().resolved(log).cutoff
    assert found.processing[0].cutoff < 0.6 * by_rule
    ruled = dy.identify(
        ROBOT, log, friction="asymmetric", estimator="weighted", cutoff=by_rule, held_out=False
    )
    error, other = (x.validate(third).relative_error_overall for x in (found, ruled))
    assert error < 0.8 * other
    cut = chosen(found)["cut-off"]
    assert f"{found.processing[0].cutoff:.3g} Hz" == cut.chosen and len(cut.others) >= 2
    assert min(e for _, e in cut.others) > (1 - 0.021) * cut.error
    assert "would give" in str(cut)


def test_a_faster_motion_takes_a_higher_cutoff():
    """As its band says, or what passes it; a slower one none."""
    slow, fast = log_of(ROBOT, 1, seconds=20.0), log_of(ROBOT, 2, seconds=20.0, harmonics=40)
    found = dy.identify(
        ROBOT, slow, friction="smooth", rotors=True, estimator="weighted", held_out=False
    )
    cutoff = found.elsewhere.cutoff
    bands = [of_the_motion(x, x.rate) for x in (slow, fast)]
    assert bands[1] > 2.0 * bands[0]
    how = found._how(fast)
    assert 1.5 * cutoff < how.cutoff == pytest.approx(4.0 * bands[1] / 12.0)
    kept = validation(found.unknowns, found.values, fast, replace(how, cutoff=cutoff))
    error = found.validate(fast).relative_error_overall
    assert error < 0.95 * kept.relative_error_overall
    back = dy.identify(
        ROBOT, fast, friction="smooth", rotors=True, estimator="weighted", held_out=False
    )
    assert back._how(slow).cutoff == back.elsewhere.cutoff
    asked = replace(found, asked=replace(found.asked, cutoff=cutoff))
    assert asked._how(fast).cutoff == cutoff


def test_a_cutoff_that_noise_chose_is_raised_as_far_as_the_motion_needs():
    """Encoders of 4 mrad: what passes the motion suffices, more passes the encoders' steps."""
    logs = []
    for seed, harmonics in ((1, 20), (2, 40)):
        t, q, qd, qdd = series(seed, seconds=30.0, rate=100.0, harmonics=harmonics)
        tau = ROBOT.inverse_dynamics(q, qd, qdd)
        logs.append(dy.Log(t=t, q=4e-3 * np.round(q / 4e-3), tau=tau))
    slow, fast = logs
    found = dy.identify(ROBOT, slow, friction="asymmetric", estimator="weighted", held_out=False)
    bands = [of_the_motion(x, x.rate) / 12.0 for x in logs]
    cutoff = found.elsewhere.cutoff
    assert cutoff < 3.0 * bands[0] and 1.5 * bands[0] < bands[1]
    how = found._how(fast)  # far below what would pass it: as the bands say
    assert how.cutoff == pytest.approx(cutoff * bands[1] / bands[0])
    kept = validation(found.unknowns, found.values, fast, replace(how, cutoff=cutoff))
    assert found.validate(fast).relative_error_overall < 0.2 * kept.relative_error_overall
    for ratio in (3.5, 2.5 * bands[1] / bands[0], 5.0 * bands[1] / bands[0]):
        noisy = replace(found, elsewhere=replace(found.elsewhere, cutoff=ratio * bands[0]))
        passing = max(ratio * bands[0], 4.0 * bands[1])
        assert noisy._how(fast).cutoff == pytest.approx(min(ratio * bands[1], passing))


def test_a_small_difference_that_every_block_shows_counts():
    """An offset within 5 % of what the noise leaves is there, or is not: both are found."""
    for offset in (0.15, 0.0):
        rubs = dy.Friction(viscous=0.6, coulomb=1.2, offset=offset)
        links = tuple(replace(x, friction=rubs) for x in ROBOT.model.links)
        robot = dy.Robot(replace(ROBOT.model, links=links))
        log = log_of(robot, 1, seconds=30.0, noise=1.0)
        found = dy.identify(robot, log, estimator="weighted", held_out=False)
        scores = dict(found.scores)
        assert scores["symmetric"] < 1.05 * min(scores.values())
        assert bool(len(found.unknowns.of_kind("offset"))) == (offset > 0.0)


def test_what_the_caller_gives_stays():
    how = Processing(velocity="difference", torque_delay=0.0)
    found = dy.identify(
        ROBOT, LOG, friction="viscous", rotors=False, cutoff=17.0, processing=how,
        estimator="weighted", held_out=False, force=True,
    )  # fmt: skip
    used = found.processing[0]
    assert (used.cutoff, used.velocity, used.torque_delay) == (17.0, "difference", 0.0)
    assert found.friction == "viscous" and not found.unknowns.rotors and found.choices == ()


def test_a_torque_half_a_sample_early_is_found_and_said():
    """And viscous friction is right with it, off by many deviations without."""
    robot = arm(law="smooth", velocity=0.01)
    t, q, qd, qdd = series(3, seconds=20.0, rate=2000.0, harmonics=15)
    tau = robot.inverse_dynamics(q, qd, qdd)
    at = slice(0, None, 20)  # 100 Hz
    early = np.interp(t[:, None] + [[5e-3, 5e-3]], t, np.arange(len(t)))  # rows 5 ms later
    shifted = np.stack([np.interp(early[:, j], np.arange(len(t)), tau[:, j]) for j in (0, 1)], 1)
    noise = 0.05 * np.random.default_rng(0).normal(size=q[at].shape)
    log = dy.Log(t=t[at], q=q[at], qd=qd[at], tau=shifted[at] + noise)
    options = {"friction": "smooth", "estimator": "weighted", "held_out": False, "cutoff": 10.0}
    found = dy.identify(robot, log, **options)
    assert found.processing[0].torque_delay == pytest.approx(-5e-3, abs=1e-3)
    assert "delay of the torque" in chosen(found)
    assert any("before the motion" in f.what and f.level == "note" for f in found.findings)
    raw = dy.identify(robot, log, **options, processing=Processing(torque_delay=0.0))
    viscous = found.unknowns.of_kind("viscous")
    off = [np.abs(x.values[viscous] - 0.6).max() for x in (found, raw)]
    assert off[0] < 0.4 * off[1]
    right = dy.Log(t=t[at], q=q[at], qd=qd[at], tau=tau[at] + noise)
    assert dy.identify(robot, right, **options).processing[0].torque_delay == 0.0


def test_rotors_and_the_law_are_chosen():
    """Of an arm that is described without drives."""
    heavy = arm(law="smooth", velocity=0.01, ratio=2.0)
    links = [replace(x, drive=None) for x in heavy.model.links]
    bare = dy.Robot(replace(heavy.model, links=tuple(links)))
    log = log_of(heavy, noise=0.02, seconds=20.0, rate=100.0)
    found = dy.identify(bare, log, estimator="weighted")
    assert found.unknowns.rotors and found.unknowns.friction.name == "grotjahn"
    assert found.validate(log_of(heavy, seed=3)).relative_error_overall < 0.02
    without = log_of(bare, noise=0.02, seconds=20.0, rate=100.0)
    assert not dy.identify(bare, without, estimator="weighted", held_out=False).unknowns.rotors


def scored(name, count, filtered, error):
    """A law that was tried, of so many unknowns, with its errors of rows that move and of all."""
    blocks = np.full(12, filtered**2 / 12)
    wanted = unknowns(ROBOT, FRICTIONS[name], True)
    return (
        Score(error, filtered, np.zeros(count), wanted, blocks, blocks, error),
        wanted.friction,
        True,
    )


def test_a_law_that_is_wrong_at_rest_is_not_chosen():
    """A sharp sign fits rows that move, with fewer unknowns, but misses more as logged."""
    smooth = scored("smooth", 12, 0.0101, 0.02)
    for error, chosen_law in ((0.0205, "symmetric"), (0.03, "smooth")):
        sharp = scored("symmetric", 10, 0.01, error)
        assert simplest([sharp, smooth])[1].name == chosen_law


def test_cutoffs_that_miss_about_as_much_are_compared_joint_by_joint():
    tried = {4.0: Missed(0.0100, 0.08), 8.0: Missed(0.0101, 0.05), 16.0: Missed(0.0103, 0.04)}
    assert least_missed(tried) == 8.0


def test_a_start_from_no_torque_counts(compiled):
    """Rows in which a controller takes up the weight are no spikes: cut-off and law are right."""
    rng = np.random.default_rng([6, 3])
    robot = drawn(rng)
    step, noise = STEPS[int(rng.integers(len(STEPS)))], float(10.0 ** rng.uniform(-3.0, -1.5))
    seen, third = (recorded(robot, 17, step, noise, 60 + k) for k in (0, 1))
    assert abs(seen.tau[0, 0]) < 0.1 * np.median(np.abs(seen.tau[:, 0])) and not spikes(seen)
    found = dy.identify(robot, seen, estimator="weighted", force=True)
    assert found.unknowns.friction.law == "smooth"
    assert found.validate(third).relative_error_overall < 0.0145


def test_velocities_are_decided_at_the_cutoff_that_is_taken(compiled):
    """Positions of 17 bits: differences are too noisy at the first cut-off, better at the last."""
    rng = np.random.default_rng([30, 3])
    robot = drawn(rng)
    step, noise = STEPS[int(rng.integers(len(STEPS)))], float(10.0 ** rng.uniform(-3.0, -1.5))
    seen = recorded(robot, 17, step, noise, 300)
    found = dy.identify(robot, seen, estimator="weighted", force=True)
    choices = [x.what for x in found.choices]
    assert len(set(choices)) == len(choices)
    cut, velocities = (chosen(found)[x] for x in ("cut-off", "velocities"))
    assert velocities.error == pytest.approx(cut.error, rel=1e-9)


def test_late_velocities_are_moved():
    """Of a filter of 8 ms: as good as those that are not late, by far better than as they are."""
    robot = arm(law="smooth", velocity=0.01)
    t, q, qd, qdd = series(5, seconds=20.0)
    tau = robot.inverse_dynamics(q, qd, qdd)
    late = np.stack([np.interp(t - 8e-3, t, v) for v in qd.T], axis=1)
    log = dy.Log(t=t, q=q, qd=late, tau=tau)
    options = {"friction": "smooth", "estimator": "weighted", "held_out": False}
    errors = []
    for delay in (None, 0.0):
        how = Processing(velocity="log", cutoff=10.0, torque_delay=0.0, velocity_delay=delay)
        found = dy.identify(robot, log, processing=how, **options)
        errors.append(found.training[0].relative_error_overall)
        expected = 8e-3 if delay is None else 0.0
        assert found.processing[0].velocity_delay == pytest.approx(expected, abs=0.3e-3)
    assert errors[0] < 0.4 * errors[1]


def test_ends_of_a_log_within_a_motion():
    """A joint that starts from rest does so after the filter: rates at the end stay."""
    rate, cutoff = 500.0, 6.0
    t = np.arange(2000) / rate
    q = np.stack([1.0 - np.cos(2.0 * t), np.sin(2.0 * t)], axis=1)  # from rest, and in motion
    qd = np.stack([2.0 * np.sin(2.0 * t), 2.0 * np.cos(2.0 * t)], axis=1)
    ours = rates(low_passed_positions(q, cutoff, rate, 4), rate)[0]
    odd = rates(lowpass(q, cutoff, rate), rate)[0]
    off, before = (np.abs(x - qd).max(axis=0) for x in (ours, odd))
    assert (off < 5e-3).all() and off[0] < 0.1 * before[0]


def test_what_one_block_alone_shows_does_not_decide(monkeypatch):
    """Only one second shows the second joint: without that block nothing of it would be known."""
    t, q, *_ = series(1, seconds=20.0)
    q = q * (np.exp(-(((t - 9.2) / 0.4) ** 2))[:, None] * [[0.0, 1.0]] + [[1.0, 0.0]])
    qd = np.gradient(q, t, axis=0)
    tau = ROBOT.inverse_dynamics(q, qd, np.gradient(qd, t, axis=0))
    log = dy.Log(t=t, q=q, qd=qd, tau=tau + 0.1 * np.random.default_rng(0).normal(size=tau.shape))
    how = Processing(cutoff=20.0, velocity="log", dead_zone=0.03, torque_delay=0.0)
    seen = LeftOut(Rows.of([log], how, Instants.of([log], how), ROBOT), ROBOT)
    wanted = unknowns(ROBOT, FRICTIONS["smooth"], True)
    error = seen.score(wanted).filtered
    monkeypatch.setattr("dynamis.identify.left_out.OUT", 1.0)  # the whole block
    assert error < 0.5 * seen.score(wanted).filtered


def test_a_delay_beside_friction_under_load():
    """Its column is there too: without it the load would be taken for a delay."""
    robot = arm(law="smooth", velocity=0.003, load=0.06)
    t, q, qd, qdd = series(3, seconds=20.0)
    tau = robot.inverse_dynamics(q, qd, qdd)
    noise = 0.05 * np.random.default_rng(0).normal(size=q.shape)
    log = dy.Log(t=t, q=q, qd=qd, tau=tau + noise)
    how = Processing(cutoff=10.0, velocity="log", dead_zone=0.01, torque_delay=0.0)
    left_out = LeftOut(Rows.of([log], how, Instants.of([log], how), robot), robot)
    wanted = unknowns(robot, replace(FRICTIONS["loaded"], constants={"velocity": 0.003}), True)
    delay, deviation = left_out.delay(left_out.score(wanted), wanted)
    assert abs(delay) < max(1e-3, 4.0 * deviation) and deviation < 1e-3


@pytest.mark.thorough
def test_the_default_is_near_the_best_by_hand(compiled):
    """40 by `python -m tests.identify.choices --count 40`."""
    found = [case(seed).more for seed in range(4)]
    assert max(found) < 0.2
