"""Functions of the user's that raise, for some samples or for all."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError

ROBOT = dy.load("planar-rr")
MOVE = dy.trajectory.quintic(np.zeros(2), [0.1, 0.2], duration=0.05)


def fails_first(draw):
    if 0 in draw.index:
        raise ZeroDivisionError("sample 0")
    return {"y": draw.factors**2}


def fails_always(draw):
    raise ZeroDivisionError("nothing works")


def test_a_sample_that_raises_is_named_and_the_others_are_kept():
    vary = dy.Scatter(ROBOT, joint_offset=0.1)
    study = dy.study(ROBOT, evaluate=fails_first, vary=vary, samples=100)
    assert study.failed.count == 1 and study.failed.samples.tolist() == [0]
    assert study.failed.reasons == ("ZeroDivisionError: sample 0",)


def test_a_function_that_raises_for_all_is_refused_with_what_it_said():
    with pytest.raises(OptionError, match=r"evaluate, 'fails_always', raised ZeroDivisionError"):
        dy.study(ROBOT, evaluate=fails_always)
    with pytest.raises(OptionError, match=r"measure 'fails_always' raised .*: nothing works"):
        dy.study(ROBOT, reference=MOVE, simulate=False, dt=0.01, measure=fails_always, samples=3)


def test_two_functions_of_one_name_are_refused():
    with pytest.raises(OptionError, match="holds '<lambda>' twice"):
        dy.study(ROBOT, 0.1, measure=[lambda run: 1.0, lambda run: 2.0])


def test_the_table_says_what_has_no_value():
    vary = dy.Scatter(ROBOT, joint_offset=0.1)
    none = dy.study(ROBOT, evaluate=lambda d: {"y": np.full(len(d), np.nan)}, samples=3)
    assert none.table() == [("y", "-", "inf", "inf", "inf", "-", "")]
    some = dy.study(ROBOT, evaluate=lambda d: {"y": np.where(d.index == 1, np.inf, 2.0)},
                    vary=vary, samples=4)  # fmt: skip
    assert some.table()[0][1] == "inf" and some.table()[0][3:] == ("inf", "inf", "inf", "")
    assert repr(dy.study(ROBOT, evaluate=lambda d: {"y": d.index}, samples=1)).count("1 sample,")


def test_a_measure_may_write_into_its_run():
    """Arms that run after it still follow the reference that was given."""

    def last(run):
        return run.tau[-1]

    def writes(run):
        run.reference.q[...] = 1.0
        return run.tau[-1]

    law = dy.control.ComputedTorque.from_bandwidth(ROBOT, 10.0)
    plain, written = (
        dy.study(ROBOT, controller=law, reference=MOVE, dt=0.01, measure=f, samples=2)
        for f in (last, writes)
    )
    np.testing.assert_array_equal(plain.mean("last"), written.mean("writes"))
