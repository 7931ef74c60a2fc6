"""The page of poses: sliders, named poses, what the tool and the joints say, solutions."""

import threading
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from .conftest import handle


@pytest.fixture
def tab(tab):
    """The page of poses."""
    tab.open("Pose")
    return tab


def test_a_slider_moves_the_arm(tab):
    before = tab.session.robot.fk(tab.session.q)
    tab.type("joint1 (rad)", "0.5")
    tab.until(lambda: abs(tab.session.q[0] - 0.5) < 1e-9)
    after = tab.session.robot.fk(tab.session.q)
    assert np.abs(after - before).max() > 0.05
    tab.says(f"{after[0, 3]:.4f}, {after[1, 3]:.4f}, {after[2, 3]:.4f}")
    assert tab.errors == []


@pytest.mark.thorough
def test_degrees_zero_random_and_named_poses(tab):
    stretch = tab.session.robot.configurations["stretch"]
    tab.choose("Go to", "stretch", lambda: np.array_equal(tab.session.q, stretch))
    tab.click(tab.field("Degrees"))
    tab.until(lambda: tab.field("joint3 (°)").input_value() == "-90")
    tab.type("joint1 (°)", "90")
    tab.until(lambda: abs(tab.session.q[0] - np.pi / 2) < 1e-9)
    tab.press("random")
    tab.until(lambda: abs(tab.session.q[0] - np.pi / 2) > 1e-9)
    low, high = tab.session.robot.limits.T
    assert (tab.session.q >= low).all() and (tab.session.q <= high).all()
    tab.press("zero")
    tab.until(lambda: not tab.session.q.any())
    tab.until(lambda: tab.field("joint1 (°)").input_value() == "0")
    assert tab.errors == []


@pytest.mark.thorough
def test_solutions_can_be_clicked_through(tab):
    robot = tab.session.robot
    tab.session.change_pose([0.3, 0.9, -0.8, 0.4, 0.5, 0.6])
    tab.press("Take the tool's pose")
    wanted = robot.fk(tab.session.q)
    tab.type("joint1 (rad)", "0")
    tab.press("Solve")
    tab.says("1 of ")
    seen = [tab.session.q]
    tab.until(lambda: np.abs(robot.fk(tab.session.q) - wanted).max() < 1e-3)
    tab.press("next")
    tab.says("2 of ")
    seen.append(tab.session.q)
    assert np.abs(seen[1] - seen[0]).max() > 1e-2
    assert np.abs(robot.fk(seen[1]) - wanted).max() < 1e-3
    tab.press("previous")
    tab.says("1 of ")
    tab.until(lambda: np.array_equal(tab.session.q, seen[0]))
    tab.type("x, y, z (m)", "9")
    tab.press("Solve")
    tab.says("No solution.")
    assert tab.errors == []


def test_the_target_appears_at_the_tool_or_where_it_was_typed(tab):
    session = tab.session
    (target,) = session.client.scene._handle_from_transform_controls_name.values()

    def away():
        """How far the target is from the tool."""
        return np.abs(target.position - session.robot.fk(session.q)[:3, 3]).max()

    for q in ([0.3, 0.9, -0.8, 0.4, 0.5, 0.6], np.zeros(6)):
        session.change_pose(q)
        assert away() > 0.1 and not target.visible
        tab.click(tab.field("Target"))
        tab.until(lambda: target.visible)
        assert away() < 1e-4
        session.change_pose(np.full(6, 0.2))  # a target that is shown stays
        assert away() > 0.1
        tab.click(tab.field("Target"))
        tab.until(lambda: not target.visible)
    tab.type("x, y, z (m)", "0.4")
    tab.until(lambda: abs(target.position[2] - 0.4) < 1e-9)
    tab.click(tab.field("Target"))
    tab.until(lambda: target.visible)
    assert abs(target.position[2] - 0.4) < 1e-9
    assert tab.errors == []


def test_limits_of_sliders():
    import dynamis as dy
    from dynamis.studio.pages.pose import slider_limits

    low, high = slider_limits(dy.load("scara"), 1.5)
    assert np.allclose(low, [-np.pi, -np.pi, -1.5]) and np.allclose(high, -low)
    link = {"joint": "prismatic", "limits": (0.2, 0.2)}
    one = dy.Robot.from_dh("one", convention="standard", links=[dy.Link(**link)])
    low, high = slider_limits(one, 1.0)
    assert low[0] == 0.2 and 0.2 < high[0] < 0.201


def test_labels_of_coinciding_frames_are_one():
    from dynamis.studio.scene.view import shared_labels

    points = np.array([[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0.001], [1, 0, 0], [0, 0, 1]])
    assert shared_labels(points, 0.01) == ["0", "1 tool", "2 3 4", "", "", ""]


@pytest.mark.thorough
def test_sliders_show_the_angle_outside_the_limits_too(tab):
    low, high = tab.session.robot.limits.T
    for q in (high + 0.25, low - 0.5):
        tab.session.change_pose(q)
        for name, angle in zip(tab.session.robot.joint_names, q, strict=True):
            shown = tab.field(f"{name} (rad)")
            tab.until(lambda x=shown, a=angle: abs(float(x.input_value()) - a) < 1e-3)
    tab.click(tab.field("Degrees"))
    tab.until(lambda: abs(float(tab.field("joint1 (°)").input_value()) - np.degrees(q[0])) < 0.1)
    slider = handle(tab, "joint1 (°)")
    assert slider.min < np.degrees(low[0]) - 20
    tab.session.change_pose(np.zeros(6))  # within its limits a slider ends at them
    tab.until(lambda: tab.field("joint1 (°)").input_value() == "0")
    assert abs(slider.min - np.degrees(low[0])) < 1e-2 > abs(slider.max - np.degrees(high[0]))


def test_a_dragged_slider_does_not_queue():
    """Hundreds of events while a pose is computed are answered by one more pose."""
    from dynamis.studio.server.jobs import Latest

    gate, started, runs = threading.Event(), threading.Event(), []

    def job():
        runs.append(1)
        started.set()
        gate.wait()

    latest = Latest(job)
    first = threading.Thread(target=latest.ask, daemon=True)
    first.start()
    started.wait()
    for _ in range(300):
        latest.ask()
    gate.set()
    first.join()
    assert len(runs) == 2


class Timer(threading.Thread):
    """A timer whose time is over when the test says so."""

    made: ClassVar = []

    def __init__(self, wait, job):
        super().__init__()
        self.job, self.cancelled = job, False
        Timer.made.append(self)

    def start(self):
        """Wait to be told."""

    def cancel(self):
        self.cancelled = True

    def run(self):
        if not self.cancelled:
            self.job()

    def over(self):
        """The time has passed."""
        super().start()
        self.join()


def test_typing_counts_when_it_rests(monkeypatch):
    from dynamis.studio.server.jobs import Soon

    monkeypatch.setattr("dynamis.studio.server.jobs.threading.Timer", Timer)
    runs, ends = [], []
    session = SimpleNamespace(on_close=ends.append)
    soon = Soon(session, lambda: runs.append(1), 0.2, restart=True)
    for _ in range(10):
        soon.ask()
    for timer in Timer.made:
        timer.over()
    assert len(Timer.made) == 10 and runs == [1]
    soon.ask()
    ends[0]()  # the tab is closed
    Timer.made[-1].over()
    assert runs == [1]
