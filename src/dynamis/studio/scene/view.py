"""The scene of a tab: floor, light, camera, and the arm, which follows the session.

Parts of a link hang on one node, so that a pose is a message per link.
"""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from scipy.spatial.transform import Rotation

from ... import templates
from ...plots.skeleton import TRACE
from ...plots.solid import COLOURS, THICK, SolidPart, floor_below, solid, stand, turned_to, upright
from ...robot import Robot
from ..server.session import Session
from .meshes import Visual, visuals_of

SIDES = 24
KINDS = ("links", "frames", "labels", "meshes")  # what of an arm can be shown
KEPT = ("spring", "closure")  # colour classes that no mesh file draws


class DrawnArm:
    """An arm of one tab's scene, drawn below the node `name`."""

    def __init__(self, scene: Any, robot: Robot, q: np.ndarray, name: str):
        self.robot, self.scene, self.name = robot, scene, name
        self.shape = solid(robot, SIDES)
        self.reach = self.shape.reach
        self.node = scene.add_frame(name, show_axes=False)  # all of it is below
        self._bodies: dict[int, Any] = {}  # the node of each row of frames
        self._parts: dict[str, list[Any]] = {}  # nodes by colour class
        self._spans: list[tuple[int, Any]] = []  # parts that are stretched, by their number
        self._labels: list[Any] = []
        self._texts: list[str] = []
        self.shown: Collection[str] = KINDS
        self._draw(len(robot.frames(q)))
        self.body = RobotVisuals(scene, visuals_of(robot), name)
        self.move(q)
        self.show(self.shown)

    def move(self, q: np.ndarray) -> None:
        """Show another pose."""
        frames, tool = self.robot.frames(q), self.robot.fk(q)
        self.frames = frames
        wxyz = wxyz_of(frames[:, :3, :3])
        for row, node in self._bodies.items():
            node.wxyz, node.position = wxyz[row], frames[row, :3, 3]
        if self._spans:
            T = self.shape.transforms(frames)
            for k, node in self._spans:
                along = T[k, :3, 2]
                node.wxyz, node.position = wxyz_of(turned_to(along)), T[k, :3, 3]
                node.scale = (1.0, 1.0, max(float(np.linalg.norm(along)), 1e-6))
        self.body.move(frames)
        every = np.concatenate([frames, tool[None]])
        self._axes.batched_wxyzs = wxyz_of(every[:, :3, :3])
        self._axes.batched_positions = every[:, :3, 3]
        self._name(every[:, :3, 3])

    def points(self, frames: np.ndarray) -> np.ndarray:
        """Corners of all parts at the poses of frames (..., links + 1, 4, 4), (M, 3).

        They are those of the meshes where there are any.
        """
        if self.body:
            return self.body.corners(frames)
        return self.shape.corners(self.shape.transforms(frames)).reshape(-1, 3)

    def show(self, shown: Collection[str]) -> None:
        """Show some KINDS of it."""
        self.shown, links = shown, "links" in shown
        meshes = "meshes" in shown and bool(self.body)
        self.body.visible(meshes and links)
        for colour, nodes in self._parts.items():
            for node in nodes:
                node.visible = links and (colour in KEPT or not meshes)
        self._axes.visible = "frames" in shown
        for label, text in zip(self._labels, self._texts, strict=True):
            label.visible = "labels" in shown and bool(text)

    def _name(self, points: np.ndarray) -> None:
        """Labels at the frames; those that coincide share one."""
        texts = shared_labels(points, 0.01 * self.reach)
        for label, point, text, before in zip(
            self._labels, points, texts, self._texts, strict=True
        ):
            if text:
                label.position = point + np.array([0.0, 0.0, 0.035 * self.reach])
            if text != before:
                label.text, label.visible = text, "labels" in self.shown and bool(text)
        self._texts = texts

    def _draw(self, rows: int) -> None:
        for k, part in enumerate(self.shape.parts):
            parent = self.name
            if part.ends is None:
                parent = f"{self.name}/link{part.body}"
                if part.body not in self._bodies:
                    self._bodies[part.body] = self.scene.add_frame(parent, show_axes=False)
            node = drawn_part(self.scene, f"{parent}/part{k}", part)
            self._parts.setdefault(part.colour, []).append(node)
            if part.ends is not None:
                self._spans.append((k, node))
        upright, r = np.tile([1.0, 0.0, 0.0, 0.0], (rows + 1, 1)), THICK * self.reach
        self._axes = self.scene.add_batched_axes(
            f"{self.name}/frames", upright, np.zeros((rows + 1, 3)),
            axes_length=4.0 * r, axes_radius=0.15 * r,
        )  # fmt: skip
        self._texts = [""] * (rows + 1)
        self._labels = [
            self.scene.add_label(f"{self.name}/label{i}", "", visible=False, anchor="bottom-center")
            for i in range(rows + 1)
        ]


def drawn_part(scene: Any, name: str, part: SolidPart) -> Any:
    """A part as a mesh of its own."""
    return scene.add_mesh_simple(
        name, part.vertices, part.faces, color=rgb(COLOURS[part.colour]), flat_shading=False
    )


def rgb(colour: str) -> tuple[int, int, int]:
    """A colour as three bytes."""
    r, g, b = (round(255 * x) for x in to_rgb(colour))
    return r, g, b


def shared_labels(points: np.ndarray, near: float) -> list[str]:
    """A text per frame, the tool last: at coinciding frames the first one names them all."""
    names = [*(str(i) for i in range(len(points) - 1)), "tool"]
    distance = np.linalg.norm(points[:, None] - points, axis=-1)
    first = np.argmax(distance < near, axis=1)
    return [
        " ".join(names[j] for j in np.flatnonzero(first == i)) if first[i] == i else ""
        for i in range(len(names))
    ]


def wxyz_of(R: np.ndarray) -> np.ndarray:
    """Quaternions, w first, of one matrix or several."""
    return Rotation.from_matrix(R).as_quat()[..., [3, 0, 1, 2]]


# the shapes of an arm in the scene


class RobotVisuals:
    """Shapes of a robot, drawn below the node `name`; empty where it has none."""

    def __init__(self, scene: Any, visuals: Sequence[Visual], name: str):
        self._carrier = [v.row for v in visuals]
        self._offset = np.array([v.T for v in visuals]).reshape(-1, 4, 4)
        self._boxes = [np.asarray(v.mesh.bounding_box.vertices) for v in visuals]
        self._nodes = [_drawn(scene, f"{name}/body{i}", v) for i, v in enumerate(visuals)]

    def __bool__(self) -> bool:
        return bool(self._nodes)

    def corners(self, frames: np.ndarray) -> np.ndarray:
        """Corners of every part's box at the poses of frames (..., links + 1, 4, 4), (M, 3)."""
        T = frames[..., self._carrier, :, :] @ self._offset
        boxes = np.array(self._boxes)
        found = boxes @ np.swapaxes(T[..., :3, :3], -1, -2) + T[..., None, :3, 3]
        return found.reshape(-1, 3)

    def move(self, frames: np.ndarray) -> None:
        """Follow the frames of base and links."""
        if not self._nodes:
            return
        T = frames[self._carrier] @ self._offset
        wxyz = wxyz_of(T[:, :3, :3])
        for node, quaternion, place in zip(self._nodes, wxyz, T[:, :3, 3], strict=True):
            node.wxyz, node.position = quaternion, place

    def visible(self, shown: bool) -> None:
        """Show or hide it."""
        for node in self._nodes:
            node.visible = shown


def _drawn(scene: Any, name: str, visual: Visual) -> Any:
    if visual.colour is None:
        return scene.add_mesh_trimesh(name, visual.mesh)
    return scene.add_mesh_simple(
        name, np.asarray(visual.mesh.vertices), np.asarray(visual.mesh.faces),
        color=visual.colour, flat_shading=True,
    )  # fmt: skip


# the whole scene of a tab

PHONE = 576  # pixels: the widest page whose panel viser draws as a sheet at its foot
PANEL, CHARTS = 400, 380  # pixels, widths of the panel at the right and of the charts at the left
NARROWEST = 1100  # pixels: pages with room for charts beside the arm
SHEET = 0.6  # of a narrow page's height, taken by the panel
FIELD = 0.8  # rad, from the top of the page to its bottom
FILLED = 0.74  # of what is left, by the arm; the rest is for labels
SAME = 0.01  # of shapes and distances that are still the same
THIN = 0.1  # width per height of a picture whose page is still being laid out
DESIRED = (47, 111, 176)
FINEST = 300  # points of a path


class SceneView:
    """Draws a session's robot at its pose, on a floor, and the paths of the run that is shown."""

    def __init__(self, session: Session):
        self.session = session
        client = session.client
        client.gui.configure_theme(
            control_width="large", show_logo=False, show_share_button=False,
            brand_color=(200, 104, 24),
        )  # fmt: skip
        camera = client.camera  # whose picture is the page before anything is docked
        self._page, self._height = camera.image_width, camera.image_height
        client.gui.main_panel.dock_right()
        client.gui.main_panel.set_width(PANEL)
        _lay_out(client)
        self._light()
        self._named = 0  # nodes
        self._pedestal: Any = None
        self._path: np.ndarray | None = None
        self.panel = client.gui.add_panel(visible=False)
        self._charts = self.panel.add_tab("Charts", "chart-line")
        self._dock_charts()
        self.arm = self._arm()
        self._look()
        session.view = self
        client.camera.on_update(lambda _: self._refit())
        session.on_robot(self._replaced)
        session.on_pose(self._moved)

    @property
    def charts(self) -> AbstractContextManager[Any]:
        """Where a page puts charts that are to be seen beside the arm."""
        return self._charts

    def new_name(self, stem: str) -> str:
        """A name that no node of this tab had, for a node in the place of one that is removed.

        viser drops a removal that is not yet sent when a node of the same name is made: the page
        would then keep what the old pose has and the new one, being the default, does not send.
        """
        self._named += 1
        return f"{stem}{self._named}"

    def resized(self, width: int, height: int) -> None:
        """The page has so many pixels now, those of the style sheet, not of the screen."""
        with self.session.lock:
            before, self._page, self._height = self._page, width, height
            if (before >= NARROWEST) != (width >= NARROWEST):
                self._dock_charts()
        self._refit()

    def show_run(self, run: Any) -> None:
        """The charts, the desired path of the tool, and all of the motion in sight; None: none."""
        scene, robot = self.session.client.scene, self.session.robot
        for name in ("/run/desired", "/run/trail"):
            scene.remove_by_name(name)
        self.panel.visible = run is not None
        self._path = None
        if run is None or np.ndim(run.q) != 2 or run.q.shape[-1] != robot.n:
            return
        finite = np.isfinite(run.q).all(axis=-1)
        if not finite.any():
            return
        t, q = run.t[finite], run.q[finite]
        finer = np.unique(np.linspace(0, len(t) - 1, min(len(t), FINEST)).round().astype(int))
        self._path_t, self._path = t[finer], robot.fk(q[finer])[..., :3, 3]
        wanted = None if run.reference is None else np.asarray(run.reference[0])
        if wanted is not None and wanted.shape == run.q.shape:
            _line(scene, "/run/desired", robot.fk(wanted[finite][finer])[..., :3, 3], DESIRED, 2.0)
        poses = robot.frames(q[finer][:: max(len(finer) // 20, 1)])
        self._sink(poses)
        if not self._sees(self.arm.points(poses)):
            self._look(poses)

    def show_time(self, t: float) -> None:
        """The path of the tool up to an instant of the run that is shown."""
        if self._path is not None:
            past = self._path[: max(int(np.searchsorted(self._path_t, t, side="right")), 1)]
            now = self.session.robot.fk(self.session.q)[None, :3, 3]
            scene = self.session.client.scene
            _line(scene, "/run/trail", np.concatenate([past, now]), rgb(TRACE.colour), 4.0)

    def _dock_charts(self) -> None:
        """Beside the arm where there is room, else below the pages."""
        if self._page >= NARROWEST:
            self.panel.dock_left()
            self.panel.set_width(CHARTS)
        else:
            self.panel.dock_below(self.session.client.gui.main_panel)

    def _arm(self) -> DrawnArm:
        session, name = self.session, self.new_name("/arm")
        return DrawnArm(session.client.scene, session.robot, session.q, name)

    def _moved(self) -> None:
        self.arm.move(self.session.q)
        self._sink(self.arm.frames[None])

    def _replaced(self) -> None:
        shown = self.arm.shown
        self.arm.node.remove()
        self.arm = self._arm()
        self.arm.show(shown)
        if self.session.kept:
            self._stand(self._poses())
        else:
            self.show_run(None)
            self._look()

    def _light(self) -> None:
        """Plain lights: the colours of parts are seen as they are, and soon."""
        scene = self.session.client.scene
        scene.configure_environment_map(hdri=None)
        scene.configure_default_lights(enabled=False)
        up, side, front = _axes(self.session.robot.gravity)
        scene.add_light_ambient("/light/all", intensity=1.1)
        scene.add_light_directional(
            "/light/sun", intensity=2.2, cast_shadow=False, position=3 * up + 2 * side - 3 * front
        )
        scene.add_light_directional(
            "/light/fill", intensity=0.7, position=1.5 * up - 3 * side - 1 * front
        )

    def _poses(self) -> np.ndarray:
        """Frames at the pose and at the named configurations."""
        robot = self.session.robot
        return robot.frames(np.array([self.session.q, *robot.configurations.values()]))

    def _stand(self, poses: np.ndarray) -> None:
        """Floor and pedestal below some poses."""
        scene, robot, shape = self.session.client.scene, self.session.robot, self.arm.shape
        found = stand(robot, shape, poses, SIDES)
        lowest = float((self.arm.points(poses) @ shape.up).min())
        own = float(self.arm.frames[0, :3, 3] @ shape.up)
        self.floor = floor_below(robot, shape, own, lowest)
        up, side, front = _axes(robot.gravity)
        plane = "".join("xyz"[int(np.argmax(np.abs(v)))] for v in (side, front))
        base, reach = self.arm.frames[0, :3, 3], self.arm.reach
        scene.add_grid(
            "/ground", width=5.0 * reach, height=5.0 * reach, plane=plane,
            cell_size=reach / 5, section_size=reach, cell_color=(222, 226, 230),
            section_color=(190, 197, 204), plane_color=(244, 246, 248), plane_opacity=1.0,
            position=tuple(base + (self.floor - base @ up) * up),
        )  # fmt: skip
        if self._pedestal is not None:
            self._pedestal.remove()
            self._pedestal = None
        for part in found.parts:
            self._pedestal = node = drawn_part(scene, self.new_name("/pedestal"), part)
            node.wxyz, node.position = wxyz_of(self.arm.frames[0, :3, :3]), base

    def _sink(self, poses: np.ndarray) -> None:
        """Lower the floor where the arm would go through it."""
        lowest = float((self.arm.points(poses) @ self.arm.shape.up).min())
        if lowest < self.floor - SAME * self.arm.reach:
            self._stand(np.concatenate([self._poses(), poses]))

    def _look(self, poses: np.ndarray | None = None) -> None:
        """The whole arm, upright as its gravity says, on its floor."""
        camera, self._looked = self.session.client.camera, poses
        poses = self._poses() if poses is None else np.concatenate([self.arm.frames[None], poses])
        self._stand(poses)
        up, side, front = _axes(self.session.robot.gravity)
        points = self.arm.points(poses)
        back = 0.62 * side - 0.68 * front + 0.36 * up
        back /= np.linalg.norm(back)
        right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
        axes = np.stack([right, np.cross(back, right), back])
        width, height, above = self._fitted = self._room()
        tall = np.tan(0.5 * FIELD)  # half of what is seen, per distance
        seen = points @ axes.T
        middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        for _ in range(3):  # what is nearer is larger
            half = np.abs(seen - middle)
            far = half[:, :2] / (FILLED * tall * np.array([width, height])) + (seen - middle)[:, 2:]
            distance = max(float(far.max()), 0.5 * self.arm.reach)
            angle = (seen - middle)[:, :2] / (distance - (seen - middle)[:, 2:])
            middle[:2] += 0.5 * distance * (angle.min(axis=0) + angle.max(axis=0))
        middle = axes.T @ middle - distance * tall * above * axes[1]
        camera.fov = FIELD
        camera.up_direction = up
        camera.position = middle + distance * back
        camera.look_at = middle
        self._placed = np.stack([camera.position, camera.look_at])

    def _refit(self) -> None:
        """Look again where the page has another shape, unless the camera was moved by hand."""
        room = self._room()
        if room[0] < THIN or np.abs(np.subtract(room, self._fitted)).max() < SAME:
            return
        camera = self.session.client.camera
        moved = np.linalg.norm(np.stack([camera.position, camera.look_at]) - self._placed)
        if moved < SAME * np.linalg.norm(self._placed[0] - self._placed[1]):
            with self.session.lock:
                self._look(self._looked)

    def _room(self) -> tuple[float, float, float]:
        """Free width and height per height of the page, and how far above its middle that is."""
        camera = self.session.client.camera
        # the picture has more pixels than the page on a fine screen, fewer on a slow machine
        height = max(self._height, 1)
        width = camera.image_width * height / max(camera.image_height, 1)
        if self._page <= PHONE:  # the panel is below
            return width / height, 1.0 - SHEET, SHEET
        if width > self._page - 0.5 * PANEL:  # as it was before the panel was docked
            width -= PANEL
        beside = self.panel.visible and self._page >= NARROWEST
        if beside and width > self._page - PANEL - 0.5 * CHARTS:  # soon
            width -= CHARTS
        return width / height, 1.0, 0.0

    def _sees(self, points: np.ndarray) -> bool:
        """Whether points are in the picture as it is now."""
        camera = self.session.client.camera
        position, back = np.asarray(camera.position), np.asarray(camera.position) - camera.look_at
        back = back / max(float(np.linalg.norm(back)), 1e-9)
        right = np.cross(camera.up_direction, back)
        right = right / max(float(np.linalg.norm(right)), 1e-9)
        width, height, above = self._room()
        away = (points - position) @ np.stack([right, np.cross(back, right), -back]).T
        if away[:, 2].min() <= 0.0:
            return False
        x, y = (away[:, :2] / away[:, 2:]).T / np.tan(0.5 * camera.fov)
        return bool(np.abs(x).max() < width and np.abs(y - above).max() < height)


def _lay_out(client: Any) -> None:
    """Our own rules of style in the page, and charts that keep their ticks."""
    from viser import _messages

    for name in ("layout.js", "charts.js"):
        script = templates.text(__package__, name)
        client.gui._websock_interface.queue_message(_messages.RunJavascriptMessage(script))


def _line(scene: Any, name: str, points: np.ndarray, colour: Any, thick: float) -> None:
    """A line through points, as wide everywhere on the screen."""
    pieces = np.stack([points[:-1], points[1:]], axis=1).astype(np.float32)
    if len(pieces):
        scene.add_line_segments(name, pieces, colour, thickness=thick, thickness_units="screen")


def _axes(gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up, right, and away from the viewer."""
    x, y, z = np.eye(3)
    up = upright(gravity)
    side, front = ((-y, -z), (x, -z), (x, y))[int(np.argmax(up))]
    return up, side, front
