"""Motions with jerk and snap: derivatives, continuity, refusals; shaped motions and their modes."""

import numpy as np
import pytest
from scipy.signal import lsim

from dynamis import trajectory as tr
from dynamis.compile.arrays import NUMPY
from dynamis.errors import OptionError, ShapeError
from dynamis.realtime.reference_file import _made, _table
from dynamis.spatial.functions import MATH

STEP = 1e-4  # s, of differences
ROUNDING = 1e-12

SMOOTH = {
    "rest to rest": tr.nonic([0.0, 1.0], [1.0, -1.0], 0.6),
    "any ends": tr.nonic([0.0, 1.0], [1.0, -1.0], 0.6, 0.3, 0.2, 1, 2, 3, 4, 5, 6),
    "sine": tr.sine([0.0, 1.0], 0.3, [1.0, 2.0], 0.4),
    "fourier": tr.fourier([[0.2, 0.1]], [[0.1, 0.3]], 2.0),
    "along": tr.Along(tr.nonic([0.0, 1.0], [1.0, -1.0], 1.0, 0.5, -0.2), tr.nonic(0.0, 1.0, 0.7)),
    "shaped": tr.zvd(tr.nonic([0.0, 1.0], [1.0, -1.0], 0.6), [(2.8, 0.1), (7.6, 0.05)]),
    "table": tr.from_function(
        lambda t: tuple([np.sin(2.0 * t + 0.5 * k * np.pi) * 2.0**k] for k in range(5)), 0.8
    ),
}
ROUGH = {
    "cubic": tr.cubic(0.0, 1.0, 1.0),
    "quintic": tr.quintic(0.0, 1.0, 1.0),
    "septic": tr.septic(0.0, 1.0, 1.0),
    "via": tr.via([0.0, 1.0, 0.5], [0.0, 1.0, 2.0]),
    "shaped": tr.zvd(tr.quintic(0.0, 1.0, 1.0), [(2.0, 0.1)]),
    "along": tr.Along(tr.nonic(0.0, 1.0, 1.0), tr.quintic(0.0, 1.0, 1.0)),
}


@pytest.mark.parametrize("motion", SMOOTH.values(), ids=SMOOTH)
def test_each_derivative_is_that_of_the_one_before(motion):
    t = np.linspace(0.05, 0.55, 7)
    at, before, after = (motion.derivatives(x) for x in (t, t - STEP, t + STEP))
    for k in range(4):
        slope = (after[k] - before[k]) / (2.0 * STEP)
        assert np.abs(slope - at[k + 1]).max() <= 5e-6 * max(1.0, np.abs(at[k + 1]).max())
    assert motion.smooth and at._fields == ("q", "qd", "qdd", "jerk", "snap")


@pytest.mark.parametrize("motion", SMOOTH.values(), ids=SMOOTH)
def test_the_first_three_are_the_motion_itself(motion):
    t = np.linspace(-0.1, 1.1 * motion.duration, 23)
    for a, b in zip(motion(t), motion.derivatives(t), strict=False):
        np.testing.assert_allclose(a, b, rtol=0, atol=ROUNDING * max(1.0, np.abs(b).max()))
    one, rows = motion.derivatives_at(0.3), motion.derivatives(np.array([0.3]))
    for a, b in zip(one, rows, strict=True):
        np.testing.assert_allclose(a, b[0], rtol=1e-12, atol=ROUNDING)


def test_a_nonic_move_begins_and_ends_as_given():
    ends = tuple(float(k) for k in range(1, 9))
    move = tr.nonic(0.5, 2.0, 0.7, *ends)
    start, end = move.derivatives(0.0), move.derivatives(0.7)
    np.testing.assert_allclose(np.ravel(start), [0.5, 1.0, 3.0, 5.0, 7.0], rtol=1e-13)
    np.testing.assert_allclose(np.ravel(end), [2.0, 2.0, 4.0, 6.0, 8.0], rtol=1e-13)
    middle = tr.nonic(0.0, 1.0, 2.0).derivatives(1.0)
    slope = 630.0 / 256.0 / 2.0  # 630 u^4 (1 - u)^4 in the middle
    np.testing.assert_allclose(np.ravel(middle)[:3], [0.5, slope, 0.0], atol=1e-14)


@pytest.mark.parametrize("motion", ROUGH.values(), ids=ROUGH)
def test_motions_without_jerk_and_snap_are_refused_by_name(motion):
    assert not motion.smooth
    with pytest.raises(
        OptionError, match=r"(?s)has no jerk and snap.*dy\.trajectory\.nonic"
    ) as caught:
        motion.derivatives(0.0)
    assert "Hermite(1 joint" in str(caught.value)


def test_why_a_polynomial_is_refused():
    with pytest.raises(OptionError, match="of degree 5, derivative 3 jumps at its knots"):
        tr.quintic(0.0, 1.0, 1.0).derivatives(0.0)


# shaping


def swing_after(motion, frequency, damping, duration=3.0):
    """Largest deviation of a mode from the end of the motion on, per unit of the way."""
    w = 2.0 * np.pi * frequency / np.sqrt(1.0 - damping**2)
    t = np.linspace(0.0, duration, 30001)
    _, x, _ = lsim(([w * w], [1.0, 2.0 * damping * w, w * w]), motion(t).q[:, 0], t)
    return np.abs(x - 1.0)[t > motion.duration + 1e-9].max()


def test_a_shaped_motion_leaves_its_modes_at_rest():
    step, modes = tr.cubic(0.0, 1.0, 0.05), [(2.8, 0.1), (7.6, 0.05)]
    shaped = tr.zvd(step, modes)
    for mode in modes:
        assert swing_after(step, *mode) > 0.5 and swing_after(shaped, *mode) < 2e-6
    assert shaped.duration == pytest.approx(0.05 + 1 / 2.8 + 1 / 7.6)
    assert len(shaped.times) == 9 and sum(shaped.shares) == pytest.approx(1.0, abs=1e-15)
    assert min(shaped.shares) > 0.0


def test_a_mode_that_is_off_a_little_swings_a_little():
    """Of a ZVD shaper the swing grows with the square of the error, of one impulse linearly."""
    shaped = tr.zvd(tr.cubic(0.0, 1.0, 1e-3), [(3.0, 0.0)])
    small, large = (swing_after(shaped, 3.0 * (1.0 + off), 0.0) for off in (0.02, 0.04))
    assert large / small == pytest.approx(4.0, rel=0.02)
    assert small == pytest.approx((0.5 * np.pi * 0.02) ** 2, rel=0.02)


def test_what_is_at_rest_stays_so_to_the_last_digit():
    shaped = tr.zvd(tr.nonic(0.1, 0.7, 0.3), [(2.8, 0.1), (7.6, 0.05)])
    late = shaped(np.array([5.0, 9.0]))
    assert (late.q == 0.7).all() and (late.qd == 0.0).all()
    floats, arrays = shaped.at(0.2, MATH), shaped.at(np.array([0.2]), NUMPY)
    assert floats[0][0] == arrays[0][0][0]


def test_periodic_motions_stay_periodic():
    shaped = tr.zvd(tr.sine(0.0, 0.3, 2.0), [(3.0, 0.1)])
    assert shaped.endless and shaped.period == 0.5
    np.testing.assert_allclose(shaped(0.1).q, shaped(0.6).q, atol=1e-14)


def test_a_shaped_motion_is_written_and_read_back():
    shaped = SMOOTH["shaped"]
    again, t = _made(_table(shaped)), np.linspace(0.0, 1.5, 40)
    assert (again(t).q == shaped(t).q).all() and again.knots == shaped.knots


def test_wrong_modes_and_copies_are_refused():
    move = tr.nonic(0.0, 1.0, 1.0)
    for wrong in ([], [(0.0, 0.1)], [(3.0, 1.0)], [(3.0, -0.1)], [(3.0, 0.1)] * 7):
        with pytest.raises(OptionError):
            tr.zvd(move, wrong)
    with pytest.raises(ShapeError):
        tr.Shaped(move, [0.0, 0.1], [1.0])
    with pytest.raises(OptionError):
        tr.Shaped(move, [-0.1], [1.0])
    with pytest.raises(OptionError):
        tr.Shaped("move", [0.0], [1.0])
