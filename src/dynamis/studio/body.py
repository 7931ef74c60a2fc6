"""The bodies of a URDF's links in the scene, where the file draws them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..robot import Robot
from ..spatial.frames import matrix
from .meshes import Visual
from .rotation import wxyz_of


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
