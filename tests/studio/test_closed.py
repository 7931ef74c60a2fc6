"""A closed mechanism in the studio: sliders move its drives, the other joints follow."""

import numpy as np
import pytest

from tests.closed_mechanisms import five_bar

from .conftest import Tab, handle

CLOSED = 1e-8


@pytest.fixture(scope="module")
def studio(compiled):
    """A studio of a five-bar mechanism."""
    from dynamis.studio import Studio

    robot = five_bar(tool_link="a2", tool={"xyz": (0.4, 0, 0)})
    ways = {"home": tuple(robot.assemble([1.9, 1.2])[0]), "open": (0.1, 0.2, 0.3, 0.4)}
    made = Studio(five_bar(tool_link="a2", tool={"xyz": (0.4, 0, 0)}, configurations=ways), port=0)
    scene = made.server.scene
    scene.configure_environment_map(hdri=None)
    scene.configure_default_lights(cast_shadow=False)
    yield made
    made.stop()


@pytest.fixture
def tab(browser, studio):
    made = Tab(browser, studio)
    made.open("Pose")
    yield made
    made.close()


def opening(tab):
    return np.abs(tab.session.robot.closure_error(tab.session.q)).max()


def labels(inputs):
    return {getattr(x, "label", "") for x in list(inputs.values())}


def test_sliders_move_the_drives_and_the_rest_follows(tab):
    robot, before = tab.session.robot, tab.session.q
    assert opening(tab) < CLOSED
    inputs = tab.session.client.gui._gui_input_handle_from_uuid
    tab.until(lambda: "joint3 (rad)" in labels(inputs))  # its page is made when it is opened
    assert {k for k in range(1, 5) if f"joint{k} (rad)" in labels(inputs)} == {1, 3}
    tab.type("joint1 (rad)", "2.1")
    tab.until(lambda: abs(tab.session.q[0] - 2.1) < 1e-9)
    assert opening(tab) < CLOSED and tab.session.q[2] == before[2]
    assert np.abs(tab.session.q[[1, 3]] - before[[1, 3]]).min() > 1e-3
    tab.says(f"{tab.session.q[1]:.3f} rad")  # the table of joints that follow
    torque = robot.gravity_torque(tab.session.q)
    tab.says(f"{torque[0]:.4g} N m")


@pytest.mark.thorough
def test_a_slider_stops_where_the_loop_cannot_be_closed(tab):
    tab.type("joint3 (rad)", "-2.5")
    tab.says("Stopped")
    stopped = tab.session.q
    assert opening(tab) < CLOSED and stopped[2] > -2.5
    slider = handle(tab, "joint3 (rad)")
    tab.until(lambda: abs(slider.value - stopped[2]) < 2e-3)  # it came back
    home = tab.session.robot.configurations["home"]
    tab.choose("Go to", "home", lambda: np.array_equal(tab.session.q, home))
    refused = tab.page.get_by_text("the loops are open").first
    tab.choose("Go to", "open", refused.is_visible)
    assert np.array_equal(tab.session.q, home)
    tab.press("random")
    tab.until(lambda: not np.array_equal(tab.session.q, home))
    assert opening(tab) < CLOSED


def dragged(tab, position, phase):
    """What viser does when a person drags the target."""
    from viser import TransformControlsEvent

    client = tab.session.client
    (target,) = client.scene._handle_from_transform_controls_name.values()
    target.position = position
    event = TransformControlsEvent(client, client.client_id, target, phase)
    for callback in target._impl_aux.update_cb:
        callback(event)
    return target


@pytest.mark.thorough
def test_the_tool_is_dragged_and_the_mechanism_follows(tab):
    robot = tab.session.robot
    before = robot.fk(tab.session.q)[:3, 3]
    goal = before + np.array([-0.05, 0.04, 0.0])
    target = dragged(tab, goal, "update")
    tab.until(lambda: np.allclose(robot.fk(tab.session.q)[:3, 3], goal, atol=1e-4))
    assert opening(tab) < CLOSED
    assert target.active_axes == (True, True, False) and target.disable_rotations  # it is plane
    followed = tab.session.q
    dragged(tab, goal, "end")
    tab.says("1 of 4")  # every working mode, the one it is in first
    assert np.abs(tab.session.q - followed).max() < 1e-3
    far = before + np.array([3.0, 0.0, 0.0])
    dragged(tab, far, "update")
    tab.says("As near as it goes")
    tab.until(lambda: robot.fk(tab.session.q)[0, 3] > before[0] + 0.05)
    assert opening(tab) < CLOSED
    dragged(tab, far, "end")
    tab.says("No solution")


def legends(tab):
    return " ".join(x.inner_text() for x in tab.page.locator(".u-legend").all() if x.is_visible())


@pytest.mark.thorough
def test_charts_are_of_the_drives(tab):
    tab.open("Simulate")
    tab.choose("What", "Move to a target")
    tab.choose("Law", "PID per joint")
    tab.choose("Target", "random")  # where its drives lead
    tab.type("Duration (s)", "0.5")
    tab.press("Run")
    tab.until(lambda: tab.session.bench.run is not None)
    tab.says("Tracking error")
    run = tab.session.bench.run
    assert run.error.shape[1] == 2 and np.abs(run.robot.closure_error(run.q)).max() < CLOSED
    tab.until(lambda: "joint3" in legends(tab))
    assert "joint2" not in legends(tab)
    tab.click(tab.field("Passive joints"))
    tab.until(lambda: "joint2" in legends(tab))


@pytest.mark.thorough
def test_the_other_pages_say_what_does_not_apply(tab):
    tab.open("Robot")
    tab.says("2 degrees of freedom")
    tab.says("closure1 (pin)")
    tab.says("a DH table holds a single chain")
    tab.open("Equations")
    tab.press("Derive")
    tab.says("base parameters")
    tab.choose("Show", "Equations")
    tab.press("Derive")
    tab.says("Closures")
    for page in ("Simulate", "Identify", "Export"):
        tab.open(page)
        tab.look()
    assert tab.errors == []
    assert tab.page.get_by_text("could not be created").count() == 0


@pytest.mark.thorough
def test_gravity_and_payload_leave_it_closed(tab):
    tab.open("Robot")
    tab.type("Payload (kg)", "2")
    tab.until(lambda: tab.session.robot.model.payload is not None)
    assert opening(tab) < CLOSED
    assert tab.errors == []
