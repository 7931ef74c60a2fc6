"""The Simulate page: falls and moves run, play, pause and scrub; what cannot run says why."""

import threading

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.studio.pages.chart import MOST, label, legend, stem, thinned, thousands
from dynamis.studio.pages.experiment import (
    LAWS,
    VISIBLE,
    Experiment,
    Gains,
    away,
    frictionless,
    has_friction,
    heavier,
    target,
    targets,
    with_friction,
)
from dynamis.studio.server.jobs import Job
from dynamis.studio.server.session import MOST_RUNS, Results

from .conftest import Tab

STROKES = """label => Object.values(window.__viserTestpoints.uplots).flatMap(
    ({chart}) => chart.series.filter((x) => x.label === label).map((x) => x.stroke(chart, 1)))"""


def playing():
    return [t for t in threading.enumerate() if t.name.startswith("studio")]


@pytest.fixture(scope="module")
def page(browser, studio):
    """One tab for all tests of the page, at Simulate."""
    made = Tab(browser, studio)
    made.open("Simulate")
    yield made
    made.close()
    for thread in playing():  # a closed tab leaves nothing that plays
        thread.join()


def started(tab):
    """Press Run, and wait for the new run."""
    bench = tab.session.bench
    old = bench.run
    tab.press("Run")
    tab.until(lambda: bench.run is not None and bench.run is not old)
    return bench.run


def at(run, t):
    return np.array([np.interp(t, run.t, row) for row in run.q.T])


def test_the_first_run_moves_and_runs_are_compared(page):
    """As the page comes: a move, seen. A second run stands beside the first, also after an edit."""
    session, bench = page.session, page.session.bench
    session.change_pose(np.full(6, 0.2))
    first = started(page)
    assert np.array_equal(first.q[0], np.full(6, 0.2)) and np.ptp(first.q, axis=0).max() > 0.3
    assert not page.page.get_by_text("Compare runs").is_visible()
    session.change_robot(session.robot.with_payload(3.0), keep_pose=True)
    second = started(page)
    assert [x.run for x in bench.runs] == [first, second]
    assert np.array_equal(second.q[0], first.q[0]) and second.robot is session.robot
    page.says("Compare runs")
    page.type("Name", "with 3 kg")
    page.until(lambda: bench.shown.name == "with 3 kg")
    page.says("with 3 kg")
    page.type("Name", bench.runs[0].name)
    page.says(f"another run is called '{bench.runs[0].name}'")
    assert bench.shown.name == "with 3 kg"
    page.choose("Shown run", bench.runs[0].name)
    page.until(lambda: bench.run is first)
    page.press("Remove this run")
    page.until(lambda: bench.run is second)
    session.change_robot(dy.load("puma560"))
    assert bench.runs == []


def test_no_two_runs_have_one_name():
    """Numbers are not given again: not of runs that were removed or dropped, nor in another tab."""
    seen, bench = [], Results()
    for _ in range(MOST_RUNS + 3):
        bench.keep("free motion", None)
        seen.append(bench.shown.name)
    assert seen == [f"{k + 1}: free motion" for k in range(MOST_RUNS + 3)]
    bench.runs.remove(bench.shown)
    bench.shown = bench.runs[0]
    bench.rename(f" {MOST_RUNS + 4}:  free motion ")
    with pytest.raises(OptionError, match=f"another run is called '{bench.runs[1].name}'"):
        bench.rename(bench.runs[1].name)
    with pytest.raises(OptionError, match="is empty"):
        bench.rename(" ")
    bench.keep("free motion", None)
    assert bench.shown.name == f"{MOST_RUNS + 5}: free motion"
    other = bench.copy()  # of a page that was duplicated
    assert other.shown is other.runs[-1] and other.runs[-1] is not bench.shown
    other.keep("free motion", None)
    other.rename("own")
    bench.rename("own")
    for one in (bench, other):
        assert len({x.name for x in one.runs}) == len(one.runs)


@pytest.mark.thorough
def test_a_fall_plays_pauses_and_scrubs(page):
    page.choose("What", "Free motion")
    page.field("Friction").uncheck()
    page.until(lambda: page.session.bench is not None)
    before = page.session.q.copy()
    run = started(page)
    assert np.abs(run.q[-1] - before).max() > 0.5
    page.until(lambda: np.abs(page.session.q - before).max() > 1e-3)
    page.press("Pause")
    page.sees(page.page.get_by_role("button", name="Play", exact=True))
    page.until(lambda: not playing())
    page.type("Time (s)", "1.5")
    page.until(lambda: np.abs(page.session.q - at(run, 1.5)).max() < 1e-9)
    page.until(lambda: page.page.locator(".uplot canvas").count() == 2)
    again = started(page)  # a second run starts where the arm was put, not where the first is
    assert np.array_equal(again.q[0], before) and np.array_equal(page.session.placed, before)
    page.session.change_pose(before)


def test_moving_the_arm_by_hand_ends_the_film(page):
    page.session.change_pose(page.session.q * 0.9)
    started(page)
    page.until(playing)
    page.session.change_pose(np.zeros(6))
    page.until(lambda: not playing())
    assert (page.session.q == 0.0).all()


def test_a_move_reaches_its_target(page):
    page.session.change_pose(np.full(6, 0.3))
    page.choose("What", "Move to a target")
    page.choose("Target", "stretch")
    run = started(page)
    assert np.abs(run.q[-1] - page.session.robot.configurations["stretch"]).max() < 1e-3
    page.says("Tracking error")
    page.until(lambda: page.page.locator(".uplot canvas").count() >= 3)
    assert page.session.bench.controller is not None
    assert page.errors == []


@pytest.mark.thorough
def test_another_robot_clears_the_page(page):
    page.session.change_robot(dy.load("sixr"))
    assert page.session.bench.run is None
    page.until(lambda: not playing())
    page.press("Run")
    page.says("singular mass matrix at joint")
    page.session.change_robot(dy.load("puma560"))


def test_one_job_at_a_time(page):
    done, end = [], threading.Event()
    place = page.session.client.gui.add_markdown("")
    job = Job(page.session, place)
    job.start("waiting", lambda say: end.wait(), done.append)
    job.start("waiting", lambda say: end.wait(), done.append)
    assert "Still waiting" in place.content
    end.set()
    page.until(lambda: done == [True] and not job.is_running)
    job.start("changing", lambda say: page.session.change_robot(dy.load("scara")), done.append)
    page.until(lambda: "robot was changed" in place.content)  # said after it stopped running
    assert done == [True]
    job.start("failing", lambda say: 1 / 0, done.append)
    page.until(lambda: "ZeroDivisionError" in place.content)


def test_running_work_is_cancelled(page):
    done, begun = [], threading.Event()
    place = page.session.client.gui.add_markdown("")
    job = Job(page.session, place)

    def work(say):
        begun.set()
        while True:
            begun.wait(1e-3)

    job.start("working for ever", work, done.append)
    begun.wait()
    page.press("Cancel")
    page.until(lambda: place.content == "Cancelled\\.")
    assert not job.is_running and done == []
    job.cancel()  # nothing is under way
    job.start("counting", lambda say: 3, done.append)
    page.until(lambda: done == [3])


@pytest.mark.thorough
@pytest.mark.parametrize("law", LAWS)
def test_every_law_moves_the_arm(law, compiled):
    robot = dy.load("planar-rr")
    gains = Gains(bandwidth=15.0, integral=True, model_error=5.0)
    wanted = Experiment(
        robot, np.array([-1.0, 0.2]), duration=2.0, target=np.array([0.2, 0.4]), moving=1.0,
        law=law, gains=gains,
    )  # fmt: skip
    run, controller, reference = wanted.run()
    assert np.abs(run.q[-1] - wanted.target).max() < 0.05
    assert controller is not None and reference is not None


def test_too_long_a_run_is_refused():
    robot = dy.load("planar-rr")
    with pytest.raises(OptionError, match="at most 500000 steps"):
        Experiment(robot, np.zeros(2), duration=100.0, dt=1e-4).run()
    with pytest.raises(OptionError, match="no law"):
        Experiment(robot, np.zeros(2), target=np.zeros(2), law="magic").run()


def test_targets_are_within_the_limits():
    robot, rng = dy.load("puma560"), np.random.default_rng(1)
    assert {"zero", "random", "ready"} <= set(targets(robot))
    for name in ("puma560", "puma560-mdh", "scara"):  # with and without named poses
        arm = dy.load(name)
        there = target(arm, away(arm, arm.home), rng, arm.home)
        assert np.abs(there - arm.home).max() > VISIBLE
    many = np.array([target(robot, "random", rng) for _ in range(200)])
    assert (many >= robot.limits[:, 0]).all() and (many <= robot.limits[:, 1]).all()
    assert np.ptp(many, axis=0).min() > 1.0
    with pytest.raises(OptionError, match="no configuration"):
        target(robot, "elsewhere", rng)


def test_variations_of_an_arm():
    robot, q = dy.load("puma560"), np.full(6, 0.3)
    g = robot.gravity_torque(q)
    assert np.allclose(heavier(robot, 20.0).gravity_torque(q), 1.2 * g)
    assert has_friction(robot) and not has_friction(frictionless(robot))
    assert has_friction(with_friction(robot, np.ones(6)))
    assert np.allclose(frictionless(robot).mass_matrix(q), robot.mass_matrix(q))


def test_curves_are_short_finite_and_in_readable_units():
    t = np.linspace(0.0, 1.0, 5000)
    rows = np.stack([t, t**2], axis=1)
    rows[4000:] = np.nan
    few, kept = thinned(t, rows)
    assert len(few) == MOST and few[0] == 0.0 and few[-1] == t[3999]
    assert np.isfinite(kept).all()
    assert [thousands(np.array([x])) for x in (0.0, 3.0, 2e-5, 4e7, 0.05)] == [0, 0, -6, 6, -3]


def test_names_hold_no_markup():
    assert "<" not in label("<img src=x onerror=alert(1)>")
    long = [f"with a payload at the tool, {k} kg" for k in (3, 5)]
    assert legend(["short", long[0]]) == ["short", "with a payload at the t…"]
    assert legend(long) == long
    assert stem("../../etc/passwd") == "etc_passwd"
    assert stem("") == stem("/..") == "robot"


@pytest.mark.thorough
def test_a_stiffness_that_is_typed_bends_in_the_next_run(browser, studio):
    tab = Tab(browser, studio)
    tab.choose("Link", "link2")
    tab.click(tab.page.get_by_text("Drive", exact=True).first)
    tab.type("stiffness (N\N{NO-BREAK SPACE}m/rad)", "20000")
    tab.until(lambda: tab.session.robot.model.links[1].drive.stiffness == 2e4)
    tab.type("backlash (rad)", "5e-4")
    tab.until(lambda: tab.session.robot.model.links[1].drive.backlash == 5e-4)
    tab.open("Simulate")
    run = started(tab)
    assert np.abs(run.deflection[:, 1]).max() > 5e-4 and (run.deflection[:, 0] == 0.0).all()
    tab.says("Deflections, motor less joint (rad, m)")
    tab.says("Motors of elastic joints (rad, m)")
    tab.until(lambda: tab.page.locator(".uplot canvas").count() == 5)
    strokes = tab.page.evaluate(STROKES, "joint2")
    assert len(strokes) == 5 and len(set(strokes)) == 1  # a joint has one colour in all charts
    assert tab.errors == []
    tab.close()
