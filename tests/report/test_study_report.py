"""The page of a study: its words are the study's numbers, in every special case."""

import dataclasses

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import FileError, OptionError
from dynamis.report.study import answer, enough, number, varied

BAD = "<script>alert(1)</script>"


def rods(name="rods", prismatic=False):
    """Two joints with names that nobody should print as they are."""
    body = {"mass": 2.0, "com": (-0.5, 0, 0), "inertia": (0.1, 0.2, 0.2)}
    second = dy.Link(joint="prismatic" if prismatic else "revolute", a=1.0, joint_name=BAD, **body)
    links = [dy.Link(a=1.0, joint_name="first", **body), second]
    return dy.Robot.from_dh(name, convention="standard", links=links, gravity=(0, -9.81, 0))


def study(values, robot=None, samples=300, **scatter):
    robot = robot or rods()
    vary = dy.Scatter(robot, **(scatter or {"joint_offset": 0.01}))
    return dy.study(robot, evaluate=lambda d: {"error": values(d)}, vary=vary, samples=samples)


def text(found, tmp_path):
    return found.report(tmp_path / "study.html").read_text()


def test_the_answer_has_the_numbers_of_the_study(tmp_path):
    found = study(lambda d: np.exp(d.factors) * [1.0, 3.0], samples=5000)
    (said,) = answer(found)
    bound, ends = found.quantiles("error", 0.999), found.quantile_intervals("error", 0.999)[0]
    worst = found.worst("error", 1, BAD)
    for value in (bound[1], *ends[:, 1], worst.values[0, 1]):
        assert number(value, "") in said
    assert f"999 of 1000 arms keep error below {number(bound[1], '')} at {BAD}" in said
    assert f"The worst of 5,000 is sample {worst.samples[0]}" in said
    share = found.sensitivity("error").ranked(1, 1)
    assert f"{share[0][0]} explains {100 * share[0][1]:.0f} %" in said


def test_every_unit_has_its_own_joint():
    robot = rods(prismatic=True)
    move = dy.trajectory.quintic(np.zeros(2), [0.3, 0.2], duration=0.1)
    found = dy.study(robot, reference=move, simulate=False, dt=0.01, samples=50,
                     vary=dy.Scatter(robot, mass=0.1))  # fmt: skip
    said, _ = answer(found)
    assert " N m at first" in said and f" N at {BAD}" in said


def test_names_are_escaped(tmp_path):
    robot = rods(f"arm {BAD}")
    page = text(study(lambda d: np.exp(d.factors), robot), tmp_path)
    assert "<script" not in page and "&lt;script&gt;" in page


def test_too_few_samples_are_said_and_how_many_would_do():
    said = answer(study(lambda d: np.exp(d.factors)))
    assert said[0].startswith("95 of 100 arms keep error below")
    assert said[1] == ("300 samples are too few to bound what 999 of 1000 arms do: 3,688 would do.")
    half, _ = answer(study(lambda d: np.exp(d.factors), samples=10))
    assert half.startswith("Half of the arms keep")
    none, _ = answer(study(lambda d: np.exp(d.factors), samples=5))
    assert none.startswith("The worst error of 5 is sample")


@pytest.mark.parametrize("share", [0.5, 0.95, 0.999])
def test_enough_samples_bound_a_quantile_and_one_less_does_not(share):
    for samples, bounded in ((enough(share), True), (enough(share) - 1, False)):
        found = study(lambda d: np.exp(d.factors), samples=samples)
        assert np.isfinite(found.quantile_intervals("error", share)[0, 1]).all() == bounded


def test_infinite_values_are_counted():
    found = study(lambda d: np.where(d.index[:, None] % 3 == [1, 5], np.inf, 1.0))
    said, _ = answer(found)
    assert "100 of 300 arms have no finite error at first. Sample 1 is the first of them." in said


def test_failures_come_first_with_their_reason(tmp_path):
    found = study(lambda d: np.where(d.index[:, None] % 10 == 4, np.nan, np.exp(d.factors)))
    first, second, _ = answer(found)
    assert first.startswith("30 of 300 arms failed") and "sample 4: a measure is not a" in first
    assert "30 of 300 arms have no finite error" in second
    page = text(found, tmp_path)
    assert "30 of 300 arms gave no value" in page and "And 10 more" in page


@pytest.mark.parametrize("samples", [1, 2, 300])
def test_all_failed_and_few_samples_still_make_a_page(samples, tmp_path):
    for values in (lambda d: np.full((len(d), 2), np.nan), lambda d: np.exp(d.factors)):
        page = text(study(values, samples=samples), tmp_path)
        assert "<h2>Answer</h2>" in page and "nan" not in page


def test_one_sample_says_nothing_of_other_arms():
    said, last = answer(study(lambda d: np.exp(d.factors), samples=1))
    assert last == "One sample says nothing of other arms." and said.startswith("error is ")


def test_nothing_varied_and_equal_values_are_said(tmp_path):
    robot = rods()
    found = dy.study(robot, evaluate=lambda d: {"x": np.ones(len(d))}, samples=10)
    page = text(found, tmp_path)
    assert "It is the same for all arms" in page and "that do not differ" in page


def test_many_columns_are_left_out_of_the_table(tmp_path):
    page = text(study(lambda d: np.abs(d.factors[:, [0]]) * np.arange(1.0, 31.0)), tmp_path)
    assert "18 more columns" in page


def test_a_simulated_study_says_how_to_see_its_worst_arm(tmp_path):
    robot = rods()
    move = dy.trajectory.quintic(np.zeros(2), [0.3, 0.2], duration=0.05)
    law = dy.control.ComputedTorque(kp=100.0, kd=20.0)
    found = dy.study(robot, controller=law, reference=move, samples=20, dt=5e-3, band=1.0,
                     measure=("rms_error", "stop_hit", "settling_time"),
                     vary=dy.Scatter(robot, mass={"link1": 0.1}, payload=(0, 2), q0=(-0.1, 0.1),
                                     delay=[0.0, 0.005]))  # fmt: skip
    page = text(found, tmp_path)
    expected = (
        "study.replay(SAMPLE)", "ComputedTorque(kp=100.0", "link1 10 %", "0 to 2 kg",
        "uniform from -0.1 to 0.1", "one of 2 alternatives", "No joint of any arm",
    )  # fmt: skip
    assert all(said in page for said in expected)


def test_words_of_a_scatter_name_everything_that_varies():
    robot = rods()
    rows = varied(dy.Scatter(robot, mass=0.05, com=0.01, inertia=0.1, joint_offset=[0.1, 0.2]))
    assert len(rows) == 4 and rows[0] == (
        "mass of a link",
        "standard deviation 5 % (of the logarithm)",
    )
    assert rows[-1][1] == "standard deviation (0.1, 0.2) rad or m"
    assert varied(dy.Scatter(robot)) == []


def test_only_pages_are_written(tmp_path):
    found = study(lambda d: np.exp(d.factors), samples=2)
    with pytest.raises((OptionError, FileError), match="html"):
        found.report(tmp_path / "study.pdf")


@pytest.mark.thorough
def test_limits_that_some_arms_pass_are_named():
    model = dy.load("planar-2link").model
    pairs = zip(model.links, (5.0, 1e6), strict=True)
    links = tuple(dataclasses.replace(link, effort_limit=most) for link, most in pairs)
    arm = dy.Robot(dataclasses.replace(model, links=links))
    found = dy.study(
        arm, 1.0, vary=dy.Scatter(arm, mass=0.1), samples=20, measure="peak_torque", threads=1,
        controller=dy.control.ComputedTorque.from_bandwidth(arm, 20.0),
        reference=dy.trajectory.quintic([0.0, 0.0], [1.0, 1.0], 1.0),
    )  # fmt: skip
    said = " ".join(answer(found))
    assert "The limit of 5 N m of 'joint1' is passed" in said and "of 'joint2' is" not in said
