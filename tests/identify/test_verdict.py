"""Verdicts: wrong logs are told from good ones, with the reason; repeats from new motions."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from docs.verdicts import TILTED, WRONG, judged, random_pieces, simulated
from docs.verdicts import pieces as real_pieces
from dynamis.errors import OptionError
from dynamis.identify import LogError, Verdict
from dynamis.identify.estimate import headline
from dynamis.identify.estimators import ESTIMATORS
from dynamis.identify.friction.models import FRICTIONS
from dynamis.identify.information import information
from dynamis.identify.processing import Processing, prepare
from dynamis.identify.repeats import MOSTLY, repeated
from dynamis.identify.unknowns import unknowns
from dynamis.identify.verdict.diagnose import not_told_apart
from dynamis.identify.verdict.error_split import ErrorSplit
from dynamis.identify.verdict.verdict import (
    VALIDATE,
    VERDICTS,
    Comparison,
    Leftover,
    compared,
    poor_joints,
    verdict,
)
from dynamis.model.check.finding import Finding
from dynamis.report.identification import identification
from tests.thorough import thorough_but

from .motions import arm, log_of, series

ROBOT = arm()


@pytest.fixture(scope="module")
def six(compiled):
    """An arm like the UR10e with gears that rub, and a log of it."""
    model = dy.load("ur10e").model
    rub = (20.0, 20.0, 8.0, 2.8, 3.4, 2.8)
    links = tuple(
        replace(link, friction=dy.Friction(viscous=f, coulomb=f, law="smooth"))
        for link, f in zip(model.links, rub, strict=True)
    )
    robot = dy.Robot(replace(model, links=links))
    return robot, simulated(robot, np.random.default_rng(3), seconds=15.0, rate=100.0)


EXPECTED = {
    "as recorded": ("good", "of the torque is missed: noise of the torque signal"),
    "torque 3 negated": ("not usable", "sign of the torque of"),
    "torque 6 negated": ("not usable", "its friction would drive it"),
    "all torques negated": ("not usable", "the opposite sign of what the robot as described"),
    "axis 1 reversed": ("doubtful", "with the axis of {0} reversed the masses as described would"),
    "axis 3 reversed": ("not usable", "the axis of {2} reversed"),
    "direction 5 reversed": ("not usable", "{4}: its friction would drive it"),
    "time backwards": ("not usable", "time runs backwards"),
    "joint 2 off by 30 degrees": ("doubtful", "{1}: it seems to read 30 degrees too much"),
    "joint 3 off by 30 degrees": ("doubtful", "with -30 degrees added to the position of {2}"),
    "degrees": ("not usable", "are these degrees"),
    "torque 1 doubled": ("doubtful", "{0}: its torque is 2 times what the described masses"),
    "torque 2 doubled": ("doubtful", "{1}: its torque is 2 times what the described masses"),
    "all torques doubled": ("doubtful", "all torques are about 2 times what the described"),
    "all torques a tenth": ("not usable", "0.1 times what the robot as described needs"),
    "joints 1 and 3 exchanged": ("not usable", "all columns of {0} and {2} swapped"),
    "joints 2 and 3 exchanged": ("not usable", "all columns of {1} and {2} swapped"),
    "joints 3 and 5 exchanged": ("not usable", "all columns of {2} and {4} swapped"),
    "joint 2 off by 90 degrees": ("doubtful", "{1}: it seems to read 90 degrees too much"),
    "torque 30 ms late": ("doubtful", " ms late against the positions"),
    "three spikes of 1000 N m": ("doubtful", "tau1 has spikes of up to 1000 in row 214 (2.14 s)"),
    "three spikes of 1e6 N m": ("doubtful", "tau1 has spikes of up to 1e+06 in row 214 (2.14 s)"),
    "one second only": ("not usable", "cannot tell the unknowns apart"),
    "wrapped at pi": ("not usable", "the angle is wrapped"),
    "first rows zero": ("not usable", "the first rows are corrupt"),
    "a static pose": ("not usable", "no joint moves"),
}


AGAIN = {"torque 6 negated", "joints 1 and 3 exchanged", "joints 3 and 5 exchanged"}
AGAIN |= {"three spikes of 1000 N m", "axis 1 reversed", "time backwards", "torque 2 doubled"}
AGAIN |= {"joint 3 off by 30 degrees", "torque 30 ms late", "torque 3 negated"}
AGAIN |= {"joint 2 off by 30 degrees", "joint 2 off by 90 degrees"}


@pytest.mark.parametrize("name", thorough_but({*WRONG} - AGAIN, WRONG))
def test_a_wrong_log_is_judged_by_what_is_wrong(six, name):
    robot, log = six
    verdict, found = judged(robot, WRONG[name](log), estimator="weighted")
    level, reason = EXPECTED[name]
    assert verdict.level == level, verdict
    assert reason.format(*robot.joint_names) in verdict.reason
    assert (found is None) == (level == "not usable")
    assert set(verdict.joints) == set(robot.joint_names) and verdict.remedy
    assert level in str(verdict) and level in verdict._repr_html_()


@pytest.mark.parametrize("name", thorough_but({"on a wall"}, TILTED))
def test_a_base_that_is_tilted_is_named(six, name):
    """Not the columns or friction that would explain a little of it."""
    robot, log = six
    described = robot.with_gravity(TILTED[name])
    with pytest.raises(LogError, match="tilted base: the error falls from") as raised:
        dy.identify(described, log, friction="smooth", estimator="weighted", held_out=False)
    (said,) = [f for f in raised.value.findings if "tilted base" in f.what]
    x, y, z = (float(v) for v in re.findall(r"\((.*?)\)", said.what)[0].split(","))
    assert (x, y, z) == pytest.approx((0.0, 0.0, -9.81), abs=0.3)
    assert not any("drive it" in f.what for f in raised.value.findings)


@pytest.mark.thorough
def test_pieces_of_real_logs_are_good(data, compiled):
    """Every fourth window of the recordings: none is refused, at most one in twenty is doubtful."""
    levels = []
    for k, (_, robot, log, options) in enumerate(real_pieces(data)):
        if k % 4 == 0:
            found, _ = judged(robot, log, friction="smooth", estimator="weighted", **options)
            levels.append(found.level)
    assert "not usable" not in levels and len(levels) >= 20
    assert levels.count("good") >= 0.95 * len(levels)


@pytest.mark.thorough
def test_pieces_of_good_logs_are_good(compiled):
    """Random arms, roughly described or without masses; noise, friction, gravity from anywhere."""
    pieces = list(random_pieces(20, motions=10, most=3))
    found = {name: judged(robot, log, estimator="weighted")[0] for name, robot, log, _ in pieces}
    assert len(found) == 20
    assert [f"{k}: {v.reason}" for k, v in found.items() if v.level != "good"] == []


@pytest.mark.thorough
def test_a_wrong_log_goes_on_with_its_verdict_if_one_insists(six):
    robot, log = six
    options = {"estimator": "weighted", "held_out": False}
    wrong = WRONG["joints 2 and 3 exchanged"](log)
    with pytest.raises(LogError, match="force=True") as raised:
        dy.identify(robot, wrong, **options)
    found = dy.identify(robot, wrong, **options, force=True)
    assert found.verdict == raised.value.verdict and found.verdict.level == "not usable"
    wrapped = dy.identify(robot, WRONG["wrapped at pi"](log), **options, force=True)
    assert wrapped.verdict.joints["shoulder_lift_joint"].level == "not usable"
    assert "not usable" in repr(wrapped)


@pytest.mark.thorough
def test_a_late_torque_is_corrected_on_request(six):
    """The estimate and its predictions are those of the log without delay."""
    robot, log = six
    late = WRONG["torque 30 ms late"](log)
    options = {"estimator": "weighted", "held_out": False}
    good = dy.identify(robot, log, **options).training[0].relative_error_overall
    for delay in (0.03, "estimate"):
        how = dy.Processing(torque_delay=delay)
        found = dy.identify(robot, late, processing=how, **options)
        assert found.processing[0].torque_delay == pytest.approx(0.03, abs=1e-3)
        assert found.verdict.level == "good"
        for check in (found.training[0], found.validate(late)):
            assert check.relative_error_overall == pytest.approx(good, rel=0.02)
    raw = dy.identify(robot, late, **options).training[0].relative_error_overall
    assert raw > 1.2 * good
    with pytest.raises(OptionError, match="expected seconds"):
        dy.Processing(torque_delay="estimate").resolved(log)


def test_spikes_are_interpolated_or_kept(six):
    """Interpolated, they change next to nothing, and their rows are not compared."""
    robot, log = six
    spiky, options = WRONG["three spikes of 1e6 N m"](log), {"held_out": False, "force": True}
    good = dy.identify(robot, log, estimator="weighted", held_out=False)
    found = dy.identify(robot, spiky, estimator="weighted", held_out=False)
    assert found.training[0].t.shape == (len(log) - 3,)
    assert abs(found.values - good.values) == pytest.approx(0.0, abs=0.02 * abs(good.values).max())
    kept = dy.Processing(spikes="keep")
    raw = dy.identify(robot, spiky, estimator="weighted", processing=kept, **options)
    assert raw.training[0].relative_error_overall > 0.9


REPEATS = {
    "shifted in time": (lambda q: np.roll(q, 700, axis=0), True),
    "with noise": (lambda q: q + 1e-3 * np.random.default_rng(0).normal(size=q.shape), True),
    "mirrored": (lambda q: -q, False),
    "another": (lambda q: series(5, q.shape[1])[1], False),
}


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("change, same", REPEATS.values(), ids=REPEATS)
def test_a_repeat_is_the_motion_again(n, change, same):
    t, q, *_ = series(2, n)
    log, other = (dy.Log(t=t, q=x, tau=x) for x in (q, change(q)))
    assert (repeated(other, [log]) > MOSTLY) == same
    assert repeated(log, [log]) == 1.0
    assert np.isnan(repeated(dy.Log(t=t, q=0.0 * q + q[0], tau=q), [log]))  # nothing moves


def test_repeats_are_sought_in_memory_that_grows_with_the_log():
    """Four times the samples, about four times the memory; a part of a log repeats that part."""

    def peak(turns):
        t, q, *_ = series(2, 3)
        t = np.concatenate([t + k * (t[-1] + t[1]) for k in range(turns)])
        q = np.concatenate([np.sin((1.0 + 0.3 * k) * q) for k in range(turns)])
        log = dy.Log(t=t, q=q, tau=q)
        tracemalloc.start()
        assert repeated(log.rows(0, len(log) // 3), [log]) == 1.0
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(40) < 6.0 * peak(10)


def test_a_joint_that_only_trembles_hides_no_repeat():
    t, q, *_ = series(2, 2)
    rng = np.random.default_rng(0)
    shaky = [np.column_stack([q, 1e-4 * rng.normal(size=len(t))]) for _ in range(2)]
    log, other = (dy.Log(t=t, q=x, tau=x) for x in shaky)
    assert repeated(other, [log]) == 1.0


def test_a_joint_that_hardly_moves_condemns_only_its_own_unknowns(six):
    """A wrist at one speed, in all rows and in a few: its friction is one number."""
    robot, log = six
    k = robot.joint_names.index("wrist_3_joint")
    q, qd = np.array(log.q), np.array(log.qd)
    q[:, k], qd[:, k] = 0.05 * (log.t - log.t.mean()), 0.05
    made = replace(log, q=q, qd=qd)
    sought = unknowns(robot, FRICTIONS["smooth"], True)
    motions, _ = prepare(made, Processing(cutoff=10.0, velocity="log", torque_delay=0.0))
    info = information(motions, sought)
    (said,) = not_told_apart(sought, info, 1e12, 12.0)
    assert said.level == "error" and "cannot tell the unknowns apart" in said.what
    few = replace(info, rows=np.where(np.arange(6) == k, 4, info.rows))
    (said,) = not_told_apart(sought, few, 1e12, 12.0)
    assert said.level == "warning" and said.joints == ("wrist_3_joint",)
    assert not [*not_told_apart(sought, few, 1e6, 12.0)]


@pytest.mark.thorough
def test_a_torque_later_than_what_is_tried_is_said(six):
    robot, log = six
    k = round(0.13 / log.step)
    late = dy.Log(t=log.t[k:], q=log.q[k:], qd=log.qd[k:], tau=log.tau[:-k])
    verdict, _ = judged(robot, late, estimator="weighted", force=True)
    assert verdict.level != "good" and "late" in verdict.reason


def test_the_headline_is_on_another_motion_or_says_that_there_is_none():
    """A periodic motion has none: its last third was in the training data."""
    options = {"friction": "asymmetric", "estimator": "weighted"}
    once, other = log_of(ROBOT), log_of(ROBOT, seed=1)
    t = np.concatenate([once.t, once.t[-1] + 5e-3 + once.t])
    twice = dy.Log(t=t, **{x: np.tile(getattr(once, x), (2, 1)) for x in ("q", "qd", "tau")})
    found = dy.identify(ROBOT, twice, **options)
    assert found.held_out.is_repeat and "repeat of the training motion" in str(found.held_out)
    assert found.headline.startswith("no figure on a motion of another kind; ")
    assert found.validate(once).is_repeat and not found.validate(other).is_repeat
    fresh = dy.identify(ROBOT, once, **options)
    error = f"{100 * fresh.held_out.relative_error_overall:.2f} %"
    assert fresh.headline == f"{error} on the part held out, a motion of another kind"
    assert fresh.headline in repr(fresh)
    assert found.verdict.remedy == VALIDATE and fresh.verdict.remedy == ""
    pages = [identification(found, checks) for checks in ([], [found.validate(other)])]
    assert [VALIDATE in "".join(page.parts) for page in pages] == [True, False]
    figure = headline(found.held_out, [found.validate(once), found.validate(other)])
    assert f"% on {other.name}, a motion of another kind" in figure
    several = dy.identify(ROBOT, [other, once, once], **options)
    assert several.held_out.name == other.name  # the last that is no repeat
    bare = dy.identify(ROBOT, once, **options, held_out=False)
    assert bare.headline == "no figure, nothing was held out"


def test_rotors_that_the_model_lacks_are_found():
    """The second link cannot stand for its rotor: its inertia turns with both joints."""
    log, options = log_of(ROBOT, size=0.8), {"friction": "asymmetric", "held_out": False}
    links = tuple(replace(link, drive=None) for link in ROBOT.model.links)
    bare = dy.Robot(replace(ROBOT.model, links=links))
    found = dy.identify(bare, log, **options)
    assert found.unknowns.rotors and found.verdict.level == "good"
    (rotors,) = (x for x in found.choices if x.what == "rotor inertias")
    assert rotors.chosen == "sought" and rotors.others[0][1] > 2.0 * rotors.error
    without = dy.identify(bare, log, **options, rotors=False)
    assert not without.unknowns.rotors and "rotor" not in str(without.verdict)
    lighter = dy.identify(bare, log_of(bare, size=0.8), **options)
    assert not lighter.unknowns.rotors and lighter.verdict.level == "good"


def test_a_friction_model_that_is_chosen_already_is_not_advised():
    left = Leftover(np.array([1.0]), np.array([0.5]), np.array([0.1]))
    said = [next(poor_joints(left, ["elbow"], friction=x)).remedy for x in (True, False)]
    assert ["friction='auto'" in x for x in said] == [True, False]
    log = log_of(ROBOT)
    rough = replace(log, tau=log.tau + np.sign(np.sin(9.0 * log.q)) * [0.0, 6.0])
    found = dy.identify(ROBOT, rough, friction="auto", estimator="weighted", held_out=False)
    assert found.verdict.joints["joint2"].level == "not seen"  # half of its torque is missed
    assert "auto" not in found.verdict.joints["joint2"].remedy


def test_the_name_of_a_log_is_no_joint():
    """A finding holds its joints: those of `where` are a text."""
    log = log_of(ROBOT)
    still = replace(log, q=0.0 * log.q, qd=0.0 * log.q, name="monday, joint1")
    with pytest.raises(LogError) as raised:
        dy.identify(ROBOT, still)
    assert {x.level for x in raised.value.verdict.joints.values()} == {"not usable"}
    one = replace(log, q=log.q * [1.0, 0.0], qd=log.qd * [1.0, 0.0], name="monday")
    found = dy.identify(ROBOT, one, friction="asymmetric", estimator="weighted", force=True)
    (said,) = [f for f in found.findings if "do not move" in f.what]
    assert said.joints == ("joint2",) and said.where == "monday"
    assert str(said).startswith("warning: monday, joint2: joints joint2 do not move")


def test_a_verdict_is_what_it_says():
    with pytest.raises(OptionError, match="level is 'bad'"):
        Verdict("bad", "because")
    with pytest.raises(OptionError, match="joints is"):
        Verdict("good", "because", joints={"a": "good"})


def test_a_description_without_masses_or_wrong_ones_is_no_reason_to_refuse():
    """Nor is one whose masses are wrong by tens of percent."""
    log = log_of(ROBOT)
    for factor in (0.0, 0.6, 1.5):
        values = np.array(ROBOT.parameters.values)
        values[:20] *= factor
        described = ROBOT.with_parameters(values)
        found, _ = judged(described, log, friction="asymmetric", estimator="weighted")
        assert found.level == "good"


def test_a_joint_whose_torque_is_not_explained_is_doubtful():
    """The other is good: it says how much of its torque is left over."""
    log = log_of(ROBOT)
    pushed = 0.5 * log.tau[:, 1].std() * np.sin(7.0 * log.t)
    log = dy.Log(t=log.t, q=log.q, qd=log.qd, tau=log.tau + np.outer(pushed, [0.0, 1.0]))
    verdict, found = judged(ROBOT, log, friction="asymmetric", estimator="weighted")
    left = found.training[0].relative_error[1]
    assert verdict.level == verdict.joints["joint2"].level == "doubtful"
    assert 0.15 < left < 0.6 and f"joint2: {100 * left:.0f}" in verdict.reason
    assert verdict.joints["joint1"].level == "good"


def test_a_joint_of_pure_noise_is_doubtful():
    log = log_of(ROBOT)
    tau = log.tau.copy()
    tau[:, 1] = tau[:, 1].std() * np.random.default_rng(0).normal(size=len(tau))
    noisy = dy.Log(t=log.t, q=log.q, qd=log.qd, tau=tau)
    verdict, _ = judged(ROBOT, noisy, friction="asymmetric", estimator="weighted", force=True)
    assert verdict.joints["joint2"].level != "good"


def test_a_joint_with_most_of_its_torque_left_over_is_never_good():
    """Whatever friction may explain, and nothing explains more than all of it."""
    left = Leftover(np.array([10.0, 10.0]), np.array([7.0, 1.0]), np.array([17.7, 17.7]))
    assert [f.joints for f in poor_joints(left, ["a", "b"])] == [("a",)]
    assert left.of(0).endswith("can explain 100.0 %")


def test_a_log_without_torques_is_refused():
    log = log_of(ROBOT)
    nothing = dy.Log(t=log.t, q=log.q, tau=0.0 * log.tau)
    for estimator in ("total", "feasible"):
        with pytest.raises(LogError, match="every torque is zero"):
            dy.identify(ROBOT, nothing, estimator=estimator)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_not_even_force_gets_a_model_from_no_torques(estimator, share):
    """Of all of a log, or of the part before what is held out."""
    log = log_of(ROBOT)
    tau = np.where(np.arange(len(log))[:, None] < share * len(log), 0.0, log.tau)
    with pytest.raises(LogError, match="every torque is zero in all"):
        dy.identify(ROBOT, replace(log, tau=tau), estimator=estimator, force=True)


# errors of comparisons: what they make of a verdict


def missed(torque, noise=(0.0, 0.0), model=(0.0, 0.0), rest=(0.0, 0.0), moving=(100, 100)):
    """A comparison of 100 rows whose root mean squares are these."""
    parts = [100.0 * np.square(x) for x in (torque, noise, model, rest)]
    return Comparison("monday", ErrorSplit(("a", "b"), 100, np.array(moving), *parts))


FITTED = Leftover(np.array([10.0, 1.0]), np.array([0.1, 0.01]), np.array([1.0, 0.2]))
SPLITS = {  # (comparison, Coulomb torque) and the levels of all, a and b
    "little": (missed((10, 1), (1, 0.1), (1, 0.1)), (0, 0), ("good", "good", "good")),
    "a doubt": (missed((10, 1), model=(1, 0.3)), (0, 0), ("doubtful", "good", "doubtful")),
    "friction": (missed((10, 1), model=(1, 0.3)), (0, 0.8), ("good", "good", "good")),
    "half at rest": (missed((10, 1), rest=(1, 0.6)), (0, 1), ("good", "good", "not seen")),
    "half is noise": (missed((10, 1), noise=(1, 0.6)), (0, 0), ("good", "good", "not seen")),
    "it hardly moves": (
        missed((10, 1), rest=(1, 0.6), moving=(100, 5)), (0, 1), ("good", "good", "good")
    ),
    "1324 %": (missed((10, 1), model=(5, 13.2)), (0, 0), ("not usable", "doubtful", "not usable")),
    "half of all": (missed((10, 1), model=(5.3, 0)), (0, 0), ("not usable", "not seen", "good")),
    "noise of all": (missed((10, 1), noise=(5.3, 0)), (0, 0), ("not seen", "not seen", "good")),
    "hardly a torque": (missed((100, 0.5), model=(1, 0.6)), (0, 0), ("good", "good", "not seen")),
}  # fmt: skip


@pytest.mark.parametrize("check, coulomb, levels", SPLITS.values(), ids=SPLITS)
def test_what_a_comparison_misses_counts(check, coulomb, levels):
    first = verdict([], ["a", "b"], FITTED)
    assert first.level == "good"
    found = compared(first, [check], check, np.array(coulomb, dtype=float))
    assert (found.level, *(x.level for x in found.joints.values())) == levels, found
    for name, own in found.joints.items():
        if own.level == "not seen" and found.level == "good":
            assert found.reason.endswith(f"not seen: {name}")
        assert (own.level == "good") != bool(own.remedy)


def test_a_part_held_out_is_of_another_fit():
    """The model handed over was fitted on it too: what is missed there is not seen, no worse."""
    for name in ("1324 %", "half of all"):
        check = replace(SPLITS[name][0], refitted=True)
        found = compared(verdict([], ["a", "b"], FITTED), [check], check, np.zeros(2))
        assert found.level == "not seen", found
        assert {x.level for x in found.joints.values()} <= {"good", "doubtful", "not seen"}


@pytest.mark.parametrize(
    "blocks, refitted, level",
    [([1, 1, 1, 1, 1], True, "doubtful"), ([0, 0, 5, 0, 0], True, "good"),
     ([0, 0, 5, 0, 0], False, "doubtful")],
)  # fmt: skip
def test_what_a_short_part_held_out_misses_counts_as_far_as_it_is_sure(blocks, refitted, level):
    """By chance a little of it is hard to predict; a log of its own counts as it is."""
    check = missed((10, 1), model=(1, 0.3))
    parts = np.array(blocks)[:, None] / 5.0 * check.split.model_squares
    check = replace(check, split=replace(check.split, model_blocks=parts), refitted=refitted)
    found = compared(verdict([], ["a", "b"], FITTED), [check], check, np.zeros(2))
    assert found.level == found.joints["b"].level == level


def test_comparisons_make_no_verdict_better():
    worst = Finding("error", "columns", "swapped", "swap them", ("b",))
    first = verdict([worst], ["a", "b"], FITTED)
    found = compared(first, [SPLITS["a doubt"][0]], SPLITS["little"][0], np.zeros(2))
    assert found == replace(first, joints=found.joints) and found.joints["b"].reason == "swapped"


def test_levels_are_in_order():
    assert VERDICTS == ("good", "doubtful", "not seen", "not usable")


def test_a_joint_that_noise_and_stiction_could_explain_is_not_seen():
    left = Leftover(np.array([10.0, 1.0, 1.0]), np.array([0.1, 0.1, 0.59]), np.array([1, 1.1, 0.7]))
    found = verdict([], ["a", "b", "c"], left)
    assert [x.level for x in found.joints.values()] == ["good", "not seen", "not seen"]
    assert "could explain all of its torque" in found.joints["b"].reason
    log = log_of(ROBOT)
    tau = log.tau + [0.0, 2.0 * log.tau[:, 1].std()] * np.random.default_rng(0).normal(
        size=log.tau.shape
    )
    noisy = replace(log, tau=tau)
    found, _ = judged(ROBOT, noisy, friction="asymmetric", estimator="weighted", held_out=True)
    assert found.joints["joint1"].level == "good" and found.joints["joint2"].level == "not seen"
    assert "not seen" in str(found) and "not seen: joint2" in found.reason


def test_logs_given_for_validation_count_and_the_worst_is_the_headline():
    """A payload that nobody told makes the model doubtful; the report and the table say so."""
    options = {"friction": "asymmetric", "estimator": "weighted"}
    found = dy.identify(ROBOT, log_of(ROBOT), **options)
    good = found.validate(log_of(ROBOT, seed=1))
    loaded = log_of(ROBOT.with_payload(3.0, (0.0, 0.0, 0.0)), seed=2)
    bad = found.validate(replace(loaded, name="loaded"))
    assert found.verdict.level == found.judged([good]).level == "good"
    for checks in ([good, bad], [bad, good]):
        judged_now = found.judged(checks)
        assert judged_now.level != "good" and "loaded" in judged_now.reason
        assert "on loaded, a motion" in headline(found.held_out, checks)
        page = "".join(identification(found, checks).parts)
        assert f'class="doubt">{judged_now.level}' in page or "not usable</td>" in page
