"""The scene of a tab: ground, light, camera, and the arm, which follows the session.

Everything of one kind is one batch of instances, so that a pose is a handful of messages.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ...plots.skeleton import Skeleton, skeleton
from ...robot import Robot
from ...spatial.frames import matrix
from ..server.session import Session
from .meshes import Visual

LINK, JOINT, SLIDE, TOOL = (108, 122, 137), (240, 140, 46), (62, 149, 205), (46, 160, 90)
SPRING = (15, 118, 110)
PASSIVE, CLOSURE, GROUND = (150, 160, 170), (190, 24, 93), (197, 204, 211)
THICK = 0.022  # radius of a link as a part of the arm's reach
SIDES = 24
TURNS, CORNERS = 10, 12  # of a spring's wire, and rods per turn
KINDS = ("links", "frames", "labels", "meshes")  # what of an arm can be shown


class Arm:
    """An arm of one tab's scene, drawn below the node `name`."""

    def __init__(
        self, scene: Any, robot: Robot, q: np.ndarray, visuals: Any = (), name: str = "/arm"
    ):
        self.robot, self.scene, self.name = robot, scene, name
        found = skeleton(robot, q)
        self.reach, self.points = found.reach, found.points
        self.node = scene.add_frame(name, show_axes=False)  # all of it is below
        self._parts: dict[str, Any] = {}
        self._labels: list[Any] = []
        self.shown: Collection[str] = KINDS
        self._draw(found)
        self.body = Body(scene, robot, visuals, name)
        self.body.move(found.frames)
        self.show(self.shown)

    def move(self, q: np.ndarray) -> None:
        """Show another pose."""
        found = skeleton(self.robot, q)
        for kind, places in self._places(found).items():
            part, (wxyz, position, scale) = self._parts[kind], places
            part.batched_wxyzs, part.batched_positions = wxyz, position
            if scale is not None:
                part.batched_scales = scale
        self.body.move(found.frames)
        self._name(found)

    def show(self, shown: Collection[str]) -> None:
        """Show some KINDS of it."""
        self.shown, links = shown, "links" in shown
        meshes = "meshes" in shown and bool(self.body)
        self.body.visible(meshes and links)
        for kind, part in self._parts.items():
            covered = meshes and kind not in ("springs", "closures", "rods")  # no file draws them
            part.visible = kind in shown if kind == "frames" else links and not covered
        for label, text in zip(self._labels, self._texts, strict=True):
            label.visible = "labels" in shown and bool(text)

    def _name(self, found: Skeleton) -> None:
        """Labels at the frames; those that coincide share one."""
        points = np.concatenate([found.frames, found.tool[None]])[:, :3, 3]
        texts = shared_labels(points, 0.01 * self.reach)
        for label, point, text, before in zip(
            self._labels, points, texts, self._texts, strict=True
        ):
            if text:
                label.position = point + np.array([0.0, 0.0, 0.035 * self.reach])
            if text != before:
                label.text, label.visible = text, "labels" in self.shown and bool(text)
        self._texts = texts

    def _draw(self, found: Skeleton) -> None:
        from trimesh.creation import box, cylinder, icosphere

        places, r = self._places(found), THICK * self.reach
        ball, cuboid = icosphere(subdivisions=3), box(bounds=[(-1, -1, 0), (1, 1, 1)])
        rod = cylinder(1.0, segment=[(0, 0, 0), (0, 0, 1)], sections=SIDES).smooth_shaded
        shapes = {
            "sticks": (rod, LINK), "balls": (ball, LINK), "turns": (rod, JOINT),
            "slides": (cuboid, SLIDE), "tool": (ball, TOOL), "springs": (rod, SPRING),
            "passive turns": (rod, PASSIVE), "passive slides": (cuboid, PASSIVE),
            "ground": (rod, GROUND), "rods": (rod, CLOSURE), "closures": (ball, CLOSURE),
        }  # fmt: skip
        for kind, (mesh, colour) in shapes.items():
            node = f"{self.name}/{kind.replace(' ', '_')}"
            if kind in places:
                wxyz, position, scale = places[kind]
                self._parts[kind] = self.scene.add_batched_meshes_simple(
                    node, mesh.vertices, mesh.faces, wxyz, position,
                    batched_scales=scale, batched_colors=colour, lod="off",
                )  # fmt: skip
        wxyz, position, _ = places["frames"]
        self._parts["frames"] = self.scene.add_batched_axes(
            f"{self.name}/frames", wxyz, position, axes_length=4.5 * r, axes_radius=0.18 * r
        )
        count = len(found.frames) + 1
        self._texts = [""] * count
        self._labels = [
            self.scene.add_label(f"{self.name}/label{i}", "", visible=False, anchor="bottom-center")
            for i in range(count)
        ]
        self._name(found)

    def _places(self, found: Skeleton) -> dict[str, tuple]:
        r, frames = THICK * self.reach, np.concatenate([found.frames, found.tool[None]])
        places = {
            "sticks": _rods(found.sticks, r),
            "balls": _balls(found.sticks.reshape(-1, 3), r),
            "tool": _balls(found.tool[None, :3, 3], 1.35 * r),
            "frames": (wxyz_of(frames[:, :3, :3]), frames[:, :3, 3], None),
        }
        if len(found.springs):
            places["springs"] = _rods(_coils(found.springs, 0.9 * r), 0.16 * r)
        if found.closures:
            rods = [kind in ("rod", "slide") for kind in found.closures]
            places["closures"] = _balls(found.ends.reshape(-1, 3), 1.3 * r)
            if any(rods):
                places["rods"] = _rods(found.ends[rods], 0.7 * r)
            if len(found.ground):
                places["ground"] = _rods(found.ground, 0.5 * r)
        seen = np.array([found.is_shown(k) for k in range(len(found.kinds))])
        passive = np.array(found.passive) & bool(found.closures)
        for name, kind, undriven, wide, long in (
            ("turns", "revolute", False, 1.7 * r, 4.2 * r),
            ("slides", "prismatic", False, 1.7 * r, 5.0 * r),
            ("passive turns", "revolute", True, 1.4 * r, 3.2 * r),
            ("passive slides", "prismatic", True, 1.4 * r, 4.0 * r),
        ):
            here = (np.array(found.kinds) == kind) & seen & (passive == undriven)
            if here.any():
                axes = found.axes[here]
                size = np.tile(np.array([wide, wide, long], np.float32), (int(here.sum()), 1))
                places[name] = (_towards(axes), found.joints[here] - 0.5 * long * axes, size)
        return places


def shared_labels(points: np.ndarray, near: float) -> list[str]:
    """A text per frame, the tool last: at coinciding frames the first one names them all."""
    names = [*(str(i) for i in range(len(points) - 1)), "tool"]
    distance = np.linalg.norm(points[:, None] - points, axis=-1)
    first = np.argmax(distance < near, axis=1)
    return [
        " ".join(names[j] for j in np.flatnonzero(first == i)) if first[i] == i else ""
        for i in range(len(names))
    ]


def _rods(segments: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rods between the ends (K, 2, 3)."""
    start, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    length = np.linalg.norm(along, axis=-1)
    scale = np.stack([np.full_like(length, radius), np.full_like(length, radius), length], -1)
    return _towards(along), start, np.maximum(scale, 1e-6).astype(np.float32)


def _coils(ends: np.ndarray, radius: float) -> np.ndarray:
    """Wires around the lines between the ends (K, 2, 3) of every spring, as pieces (M, 2, 3)."""
    share = np.linspace(0.0, 1.0, TURNS * CORNERS + 1)[:, None]
    wide = radius * np.minimum(1.0, 12.0 * np.minimum(share, 1.0 - share))  # ends on the line
    angle = 2.0 * np.pi * TURNS * share
    pieces = []
    for first, last in ends:
        along = last - first
        x = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
        x = x / max(float(np.linalg.norm(x)), 1e-12)
        y = np.cross(along, x) / max(float(np.linalg.norm(along)), 1e-12)
        wire = first + share * along + wide * (np.cos(angle) * x + np.sin(angle) * y)
        pieces.append(np.stack([wire[:-1], wire[1:]], axis=1))
    return np.concatenate(pieces)


def _balls(points: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    upright = np.tile([1.0, 0.0, 0.0, 0.0], (len(points), 1))
    return upright, points, np.full((len(points), 3), radius, np.float32)


def wxyz_of(R: np.ndarray) -> np.ndarray:
    """Quaternions, w first, of one matrix or several."""
    return Rotation.from_matrix(R).as_quat()[..., [3, 0, 1, 2]]


def _towards(directions: np.ndarray) -> np.ndarray:
    """Quaternions (w first) that turn z to each direction."""
    length = np.linalg.norm(directions, axis=-1, keepdims=True)
    d = np.where(length > 1e-12, directions / np.maximum(length, 1e-12), [0.0, 0.0, 1.0])
    half = np.stack([1.0 + d[:, 2], -d[:, 1], d[:, 0], np.zeros(len(d))], -1)
    half[d[:, 2] < -1.0 + 1e-9] = [0.0, 1.0, 0.0, 0.0]
    return half / np.linalg.norm(half, axis=-1, keepdims=True)


# the bodies of a URDF's links in the scene, where the file draws them


class Body:
    """The visuals of a robot, drawn below the node `name`; empty where nothing fits the robot."""

    def __init__(self, scene: Any, robot: Robot, visuals: Sequence[Visual], name: str):
        places = _places(robot)
        fitting = [v for v in visuals if v.link in places]
        self._carrier = [places[v.link][0] for v in fitting]
        self._offset = np.array([places[v.link][1] @ v.T for v in fitting]).reshape(-1, 4, 4)
        self._boxes = [np.asarray(v.mesh.bounding_box.vertices) for v in fitting]
        self._T = self._offset
        self._nodes = [_drawn(scene, f"{name}/body{i}", v) for i, v in enumerate(fitting)]

    def __bool__(self) -> bool:
        return bool(self._nodes)

    @property
    def corners(self) -> np.ndarray:
        """Corners of every part's box at the last pose, (M, 3)."""
        found = [box @ T[:3, :3].T + T[:3, 3] for box, T in zip(self._boxes, self._T, strict=True)]
        return np.array(found).reshape(-1, 3)

    def move(self, frames: np.ndarray) -> None:
        """Follow the frames of base and links."""
        if not self._nodes:
            return
        T = self._T = frames[self._carrier] @ self._offset
        wxyz = wxyz_of(T[:, :3, :3])
        for node, quaternion, place in zip(self._nodes, wxyz, T[:, :3, 3], strict=True):
            node.wxyz, node.position = quaternion, place

    def visible(self, shown: bool) -> None:
        """Show or hide it."""
        for node in self._nodes:
            node.visible = shown


def _places(robot: Robot) -> dict[str, tuple[int, np.ndarray]]:
    """Which frame carries each link of the URDF, and where on it: fixed joints were merged."""
    model = robot.model
    if model.convention != "urdf":
        return {}
    index = {name: i + 1 for i, name in enumerate(model.link_names)}
    places = {name: (i, np.eye(4)) for name, i in index.items()}
    places[model.base_name] = 0, np.eye(4)
    for frame in model.frames:
        carrier = 0 if frame.link is None else index[frame.link]
        places[frame.name] = carrier, np.array(matrix(frame.pose.frame(model.values)))
    return places


def _drawn(scene: Any, name: str, visual: Visual) -> Any:
    if visual.colour is None:
        return scene.add_mesh_trimesh(name, visual.mesh)
    return scene.add_mesh_simple(
        name, np.asarray(visual.mesh.vertices), np.asarray(visual.mesh.faces),
        color=visual.colour, flat_shading=True,
    )  # fmt: skip


WIDE, PANEL = 700, 400  # pixels: pages with the panel at the side, and how much of them it takes
SHEET = 0.6  # of a narrow page's height
FIELD = 0.9  # rad, from the top of the page to its bottom
FILLED = 0.62  # of what is left, by the arm


class View:
    """Draws a session's robot at its pose."""

    def __init__(self, session: Session):
        self.session = session
        client = session.client
        client.gui.configure_theme(
            control_width="large", show_logo=False, show_share_button=False,
            brand_color=(200, 104, 24),
        )  # fmt: skip
        self.arm = self._arm()
        self._look()
        session.view = self
        session.on_robot(self._replaced)
        session.on_pose(lambda: self.arm.move(session.q))

    def _arm(self) -> Arm:
        session = self.session
        return Arm(session.client.scene, session.robot, session.q, session.visuals)

    def _replaced(self) -> None:
        shown = self.arm.shown
        self.arm.node.remove()
        self.arm = self._arm()
        self.arm.show(shown)
        if not self.session.kept:
            self._look()

    def _look(self) -> None:
        """The whole arm, upright as its gravity says, with the ground below its base."""
        scene, camera, reach = self.session.client.scene, self.session.client.camera, self.arm.reach
        up, side, front = _axes(self.session.robot.gravity)
        plane = "".join("xyz"[int(np.argmax(np.abs(v)))] for v in (side, front))
        scene.add_grid(
            "/ground", width=4.0 * reach, height=4.0 * reach, plane=plane,
            cell_size=reach / 5, section_size=reach,
            position=tuple(self.session.robot.frames(self.session.q)[0, :3, 3]),
        )  # fmt: skip
        points = np.concatenate([self.arm.points, self.arm.body.corners])
        low, high = points.min(axis=0), points.max(axis=0)
        back = 0.62 * side - 0.68 * front + 0.42 * up
        back /= np.linalg.norm(back)
        right = np.cross(up, back) / np.linalg.norm(np.cross(up, back))
        camera.fov = FIELD
        aside, above, per_size = _free(camera)
        distance = per_size * max(float(np.linalg.norm(high - low)), 0.8 * reach)
        middle = 0.5 * (low + high) + distance * (aside * right - above * np.cross(back, right))
        camera.up_direction = up
        camera.position = middle + distance * back
        camera.look_at = middle


def _free(camera: Any) -> tuple[float, float, float]:
    """How far right of the arm and below it to look, per distance, and the distance per size.

    On a wide page the panel is at the right, on a narrow one at the bottom.
    """
    width, height = max(camera.image_width, 1), max(camera.image_height, 1)
    tall = 2.0 * np.tan(0.5 * FIELD)  # what is seen, per distance
    if width > WIDE:
        size = min(height, width - PANEL)
        return 0.5 * PANEL / height * tall, 0.0, height / (FILLED * size * tall)
    size = min((1.0 - SHEET) * height, width)
    return 0.0, 0.5 * SHEET * tall, height / (FILLED * size * tall)


def _axes(gravity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Up (against gravity if that is along an axis, else z), right, and away from the viewer."""
    x, y, z = np.eye(3)
    size = np.linalg.norm(gravity)
    for up, side, front in ((y, x, -z), (x, -y, -z)):
        if size > 0 and gravity @ up < -0.99 * size:
            return up, side, front
    return z, x, y
