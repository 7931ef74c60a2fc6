"""The error in its parts: they add up, and are those that were put in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamis as dy
from dynamis.identify.estimate import Validation
from dynamis.identify.verdict.error_split import HEAD, error_split, percent, removed_share, together

from .motions import arm, log_of, series

ROBOT = arm()
RATE, CUTOFF, SLOW = 200.0, 8.0, 0.03
ADDS = 1e-12  # of the squares: rounding


def compared(residual, seed=0, seconds=40.0):
    """A validation of two joints whose residual is that function of (rng, t, q, qd)."""
    t, q, qd, _ = series(seed, seconds=seconds, rate=RATE)
    tau = 10.0 * np.sin(q)
    missed = residual(np.random.default_rng(seed), t, q, qd)
    return Validation("log", t, tau, tau - missed, qd, ("a", "b"))


def white(size):
    return lambda rng, t, q, qd: size * rng.normal(size=q.shape)


def slow_wave(size):
    """Far below the cut-off."""
    return lambda rng, t, q, qd: size * np.sqrt(2.0) * np.sin(2.0 * t)[:, None] * np.ones(2)


def stuck(size):
    """Any constant while a joint rests."""
    return lambda rng, t, q, qd: size * (np.abs(qd) < SLOW)


def rms(check):
    return np.sqrt((check.residual**2).mean(axis=0))


@given(
    parts=st.lists(st.sampled_from([white, slow_wave, stuck]), min_size=1, max_size=3),
    sizes=st.lists(st.floats(0.0, 3.0), min_size=3, max_size=3),
    cutoff=st.floats(0.5, 99.0),
    seed=st.integers(0, 20),
)
def test_the_squares_of_the_parts_add_up_to_the_error_as_logged(parts, sizes, cutoff, seed):
    def missed(*motion):
        return sum(part(size)(*motion) for part, size in zip(parts, sizes, strict=False))

    check = compared(missed, seed, seconds=5.0)
    split = error_split(check, cutoff, SLOW)
    assert (split.squares >= 0.0).all()
    whole = split.noise**2 + split.model**2 + split.rest**2
    assert split.error**2 == pytest.approx(whole, rel=ADDS)
    assert split.error == pytest.approx(check.relative_error_overall, rel=1e-9)
    np.testing.assert_allclose(split.shares[:, 0], check.relative_error, rtol=1e-9)
    np.testing.assert_allclose(split.sizes[:, 1], check.rms, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("size", [0.1, 1.0, 5.0])
def test_white_noise_is_found_also_below_the_cut_off(size):
    split = error_split(compared(white(size)), CUTOFF, SLOW)
    np.testing.assert_allclose(split.sizes[:, 2], size, rtol=0.03)
    assert (split.sizes[:, 3] < 0.12 * size).all() and (split.sizes[:, 4] < 0.12 * size).all()


def test_what_the_model_misses_below_the_cut_off_is_the_models():
    check = compared(lambda *x: white(0.5)(*x) + slow_wave(1.0)(*x))
    split = error_split(check, CUTOFF, SLOW)
    np.testing.assert_allclose(split.sizes[:, 2], 0.5, rtol=0.05)
    np.testing.assert_allclose(split.sizes[:, 3], 1.0, rtol=0.1)
    assert (split.sizes[:, 4] < 0.4).all()  # the few rows at rest miss it too


def test_what_is_missed_at_rest_is_friction_at_rest():
    check = compared(lambda *x: white(0.2)(*x) + stuck(4.0)(*x))
    split = error_split(check, CUTOFF, SLOW)
    own = np.sqrt((16.0 * (np.abs(check.speed) < SLOW)).mean(axis=0))
    np.testing.assert_allclose(split.sizes[:, 4], own, rtol=0.05)
    np.testing.assert_allclose(split.sizes[:, 2], 0.2, rtol=0.05)
    assert (split.sizes[:, 3] < 0.1).all()


def test_a_cut_off_that_filters_nothing_shows_no_noise():
    check = compared(white(1.0))
    split = error_split(check, 0.499 * RATE, SLOW)
    assert split.noise == 0.0 and split.error == pytest.approx(check.relative_error_overall)


def test_the_share_that_a_filter_takes_away():
    """Next to white noise that is filtered."""
    noise = np.random.default_rng(0).normal(size=(200_000, 1))
    check = Validation("n", np.arange(len(noise)) / RATE, noise, 0.0 * noise, noise, ("a",))
    left = float((check.filtered(CUTOFF).residual ** 2).mean())
    assert removed_share(CUTOFF, RATE) == pytest.approx(1.0 - left, abs=0.005)
    assert removed_share(0.49 * RATE, RATE) == 0.0


def test_only_rows_that_count_do():
    check = compared(lambda *x: white(0.2)(*x) + stuck(4.0)(*x)).moving(SLOW)
    split = error_split(check, CUTOFF, SLOW)
    assert split.error == pytest.approx(check.relative_error_overall)
    assert split.rest < 0.2 * split.error


def test_several_motions_as_one():
    parts = [
        error_split(compared(white(x), seed), CUTOFF, SLOW) for seed, x in ((0, 1.0), (1, 3.0))
    ]
    both = together(parts)
    np.testing.assert_allclose(both.sizes[:, 2], np.sqrt(5.0), rtol=0.03)
    assert both.rows == sum(x.rows for x in parts)


def test_an_estimate_tells_its_noise_from_its_model():
    """0.3 N m were added; a torque that no column explains is the model's."""
    log = log_of(ROBOT, noise=0.3)
    found = dy.identify(ROBOT, log, friction="asymmetric", estimator="weighted", held_out=False)
    split = found.split()
    np.testing.assert_allclose(split.sizes[:, 2], 0.3, rtol=0.05)
    assert split.model < 0.3 * split.noise
    wave = 0.8 * np.sqrt(2.0) * np.sin(11.0 * log.t)[:, None] * [0.0, 1.0]
    other = dy.Log(t=log.t, q=log.q, qd=log.qd, tau=log.tau + wave, name="wave")
    off = found.split(found.validate(other))
    assert off.sizes[1, 3] == pytest.approx(0.8, rel=0.1)
    assert off.sizes[1, 2] == pytest.approx(0.3, rel=0.1)
    assert str(off).splitlines()[1].split()[0] == HEAD[0]
    assert percent(off.error) in str(off).splitlines()[0]


def test_the_figure_is_the_same_everywhere():
    log = log_of(ROBOT, noise=0.3)
    found = dy.identify(ROBOT, log, friction="asymmetric", estimator="weighted")
    figure = percent(found.split().error)
    assert found.held_out is not None
    for said in (found.headline, repr(found), found.verdict.reason, str(found.held_out)):
        assert figure in said


def test_the_models_part_scatters_over_the_time():
    """An error in one part of the time is unsure, one that goes on throughout is sure."""
    everywhere = error_split(compared(slow_wave(1.0)), CUTOFF, SLOW)
    once = error_split(
        compared(lambda rng, t, q, qd: slow_wave(1.0)(rng, t, q, qd) * (t < 8.0)[:, None]),
        CUTOFF, SLOW,
    )  # fmt: skip
    for split in (everywhere, once):
        np.testing.assert_allclose(split.model_blocks.sum(axis=0), split.model_squares, rtol=0.02)
    assert (everywhere.sure_model_squares > 0.75 * everywhere.model_squares).all()
    assert (once.sure_model_squares < 0.1 * once.model_squares).all()
    assert everywhere.sure_model > 0.85 * everywhere.model and once.sure_model < 0.3 * once.model
    both = together([everywhere, once])
    assert both.model_blocks is None and both.sure_model == both.model
    deviation = np.sqrt(5.0 * once.model_blocks.var(axis=0, ddof=1))  # of a sum of five
    expected = np.maximum(once.model_squares - deviation, 0.0)
    np.testing.assert_allclose(once.sure_model_squares, expected, rtol=1e-12)
