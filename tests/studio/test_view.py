"""The scene of a tab: the arm in sight and above its floor, paths of a run, large meshes."""

import numpy as np
import pytest

from .conftest import NARROW, Tab
from .test_load import QuickTab, wait


def drawn(tab):
    """The picture of the scene as the page has it, without notes and panels."""
    import io

    from PIL import Image

    shot = tab.page.locator("canvas").first.screenshot()
    return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)


def test_the_arm_is_in_sight_and_above_the_floor(tab):
    view, session = tab.session.view, tab.session
    tab.until(lambda: session.client.camera.image_width < 720, "the panel is not docked")
    assert view._sees(view.arm.points(view._poses()))
    before = view.floor
    for q in ([0, -1.5, 0, 0, 0, 0], [0.3, -0.9, 1.5, 0, 0, 0]):  # below the base
        session.change_pose(q)
        assert (view.arm.points(view.arm.frames) @ view.arm.shape.up).min() > view.floor
    assert view.floor < before


@pytest.mark.thorough
def test_a_run_shows_its_paths_and_charts_beside_the_arm(tab):
    import dynamis as dy

    view, session = tab.session.view, tab.session
    robot = session.robot
    stretch = robot.configurations["stretch"]
    way = dy.trajectory.quintic(session.q, stretch, 1.0)
    law = dy.control.ComputedTorque.from_bandwidth(robot, 20.0)
    run = dy.simulate(robot, 1.0, 0.01, q0=session.q, controller=law, reference=way)
    nodes = session.client.scene._handle_from_node_name
    assert not view.panel.visible and "/run/desired" not in nodes
    view.show_run(run)
    view.show_time(0.5)
    assert view.panel.visible
    wanted = np.asarray(nodes["/run/desired"].points)
    np.testing.assert_allclose(wanted[-1, 1], robot.fk(stretch)[:3, 3], atol=1e-4)
    half = len(nodes["/run/trail"].points)
    view.show_time(1.0)
    assert len(nodes["/run/trail"].points) > half + 20
    assert view._sees(view.arm.points(robot.frames(run.q)))
    view.show_run(None)
    assert not view.panel.visible and "/run/trail" not in nodes


def test_a_narrow_page_gives_the_panel_all_of_its_width(browser, studio):
    tab = Tab(browser, studio, NARROW)
    paper = tab.page.locator(".mantine-Paper-root").first
    tab.until(lambda: paper.bounding_box()["width"] == NARROW["width"])
    view = tab.session.view
    assert view._room()[2] > 0 and view._sees(view.arm.points(view.arm.frames))
    tab.close()


def test_a_fine_screen_shows_the_arm_as_large(browser, studio):
    tab = Tab(browser, studio, device_scale_factor=2)
    view, page = tab.session.view, tab.page

    def fits():
        canvas = page.locator("canvas").first.bounding_box()
        shape = canvas["width"] / canvas["height"], 1.0, 0.0
        docked = canvas["width"] < page.viewport_size["width"]
        return docked and np.allclose([view._room(), view._fitted], shape, atol=0.02)

    tab.until(fits, "the picture does not fit")
    tab.close()


@pytest.mark.thorough
def test_the_camera_follows_the_shape_of_the_page_until_it_is_moved(tab):
    view, camera, wide = tab.session.view, tab.session.client.camera, tab.page.viewport_size
    tab.open("Pose")
    points = view.arm.points(view._poses())

    def fitted_to(page):
        room, docked = view._room(), camera.image_width < wide["width"]
        return docked and view._page == page["width"] and np.allclose(room, view._fitted, atol=0.01)

    tab.until(lambda: fitted_to(wide), "the panel is not docked")
    first = np.array(camera.position)
    tab.page.set_viewport_size(NARROW)
    tab.until(lambda: fitted_to(NARROW) and view._sees(points), "the arm is not in sight")
    assert np.linalg.norm(camera.position - first) > 0.1
    tab.sees(tab.page.get_by_role("tab", name="Pose", selected=True))
    tab.page.set_viewport_size(wide)
    tab.until(lambda: np.allclose(camera.position, first, atol=1e-2), "the arm stays small")
    tab.page.mouse.move(100, 200)

    def moved():
        """Turn the wheel, again where the page put its camera back to the fitted place since."""
        tab.page.mouse.wheel(0, 300)
        with tab.session.lock:  # the wheel changes the distance alone, another fit the target too
            place, target = view._placed
            same_target = np.allclose(camera.look_at, target, atol=1e-3)
            return same_target and np.linalg.norm(camera.position - place) > 0.1

    tab.until(moved, "the wheel does nothing")
    fitted = view._fitted
    tab.page.set_viewport_size(NARROW)
    tab.until(lambda: view._page == NARROW["width"] and camera.image_height > camera.image_width)
    assert view._fitted == fitted


@pytest.mark.thorough
def test_meshes_above_a_megabyte_are_drawn(tab, tmp_path):
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed")
    import dynamis as dy

    visuals = ""
    for k, suffix in enumerate((".stl", ".obj", ".dae")):
        ball = trimesh.creation.icosphere(subdivisions=6 if suffix == ".obj" else 5, radius=0.3)
        content = ball.export(file_type=suffix[1:])
        file = tmp_path / f"ball{suffix}"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert file.stat().st_size > 1_000_000
        colour = " ".join(str(0.8 * (i == k)) for i in range(3))
        visuals += f"""<visual><origin xyz="{0.7 * k - 0.7} 0 0"/><geometry>
<mesh filename="{file.name}"/></geometry><material name="m{k}"><color rgba="{colour} 1"/></material>
</visual>"""
    path = tmp_path / "arm.urdf"
    path.write_text(
        f"""<robot name="balls"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>{visuals}</link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    )
    tab.session.change_robot(dy.load(path))
    assert tab.session.view.arm.body

    def seen():
        """Shares of the picture that are red, green and blue."""
        picture = drawn(tab)
        others = picture.sum(axis=-1, keepdims=True) - picture
        return (picture > 0.8 * others + 30).mean(axis=(0, 1))

    tab.until(lambda: seen().min() > 0.004, "not all of the balls are seen")


class Poses:
    """The poses of a page's nodes: they follow the messages as viser's page does."""

    def __init__(self):
        self.of = {}

    def take(self, messages):
        for message in messages:
            name, kind = getattr(message, "name", None), type(message).__name__
            if kind == "RemoveSceneNodeMessage":
                self.of = {k: v for k, v in self.of.items() if f"{k}/".find(f"{name}/") != 0}
            elif message.lifecycle_phase == "create" and message.entity_type == "scene":
                self.of.setdefault(name, {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": (0.0,) * 3})
            elif kind == "SetOrientationMessage":
                self.of[name]["wxyz"] = message.wxyz
            elif kind == "SetPositionMessage":
                self.of[name]["position"] = message.position


TURNED = b"""<robot name="two"><link name="base"/><link name="upper"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
</joint></robot>"""


def test_another_robot_has_its_own_pose_also_where_its_messages_are_merged(compiled):
    """A removal and what is made in its place wait together, as they do on a busy machine."""
    import dynamis as dy
    from dynamis.studio import Studio
    from dynamis.studio.server.uploads import uploaded_robot

    studio = Studio("puma560", port=0)
    try:
        tab, page = QuickTab(studio), Poses()
        wait(studio, lambda: studio.sessions)
        (session,) = studio.sessions.values()
        scene = session.client.scene
        buffer = scene._websock_interface.get_message_buffer()
        with session.lock:
            page.of = {
                name: {"wxyz": node.wxyz, "position": node.position}
                for name, node in scene._handle_from_node_name.items()
            }
        for robot in (uploaded_robot("two.urdf", TURNED), dy.load("scara"), dy.load("ur5e")):
            with session.lock, session.client.atomic():
                session.change_robot(robot)
                page.take(list(buffer.message_from_id.values()))
            assert set(page.of) == set(scene._handle_from_node_name)
            for name, node in scene._handle_from_node_name.items():
                np.testing.assert_allclose(page.of[name]["wxyz"], node.wxyz, err_msg=name)
                np.testing.assert_allclose(page.of[name]["position"], node.position, err_msg=name)
        tab.close()
    finally:
        studio.stop()
