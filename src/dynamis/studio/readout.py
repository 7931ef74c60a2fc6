"""What the pose means: where the tool is, what gravity asks of the joints."""

import numpy as np

from ..errors import DynamisError
from ..robot import Robot
from .calm import Soon
from .rotation import rpy_of, xyzw_of
from .session import Session, shown_error
from .tables import markdown_table, short

OFTEN = 0.12  # s between two readings


class Readout:
    """Tables that follow the pose."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        with gui.add_folder("Tool"):
            self.tool = gui.add_markdown("")
        with gui.add_folder("Torque that holds the pose"):
            self.torque = gui.add_markdown("")
        self._soon = Soon(self._read, OFTEN)
        session.on_close(self._soon.end)
        session.on_pose(self._soon.ask)
        self._soon.ask()

    def _read(self) -> None:
        with self.session.lock:
            robot, q = self.session.robot, self.session.q
            try:
                tool, torque = tool_text(robot, q), torque_text(robot, q)
            except DynamisError as error:
                tool, torque = shown_error(str(error)), ""
            if not self.session.closed.is_set():
                self.tool.content, self.torque.content = tool, torque


def tool_text(robot: Robot, q: np.ndarray) -> str:
    """Position, orientation and manipulability."""
    T = robot.fk(q)
    rows = [
        ("x, y, z (m)", _all(T[:3, 3])),
        ("roll, pitch, yaw (rad)", _all(rpy_of(T[:3, :3]))),
        ("quaternion x y z w", _all(xyzw_of(T[:3, :3]))),
        ("manipulability", short(float(robot.manipulability(q)))),
    ]
    return markdown_table(("in the base frame", ""), rows, right=1)


def torque_text(robot: Robot, q: np.ndarray) -> str:
    """Gravity's part per joint."""
    free = [link.joint for link in robot.model.links if link.mimic is None]
    rows = [
        (name, short(float(tau)) + (" N m" if kind == "revolute" else " N"))
        for name, kind, tau in zip(robot.joint_names, free, robot.gravity_torque(q), strict=True)
    ]
    return markdown_table(("joint", "gravity"), rows, right=1)


def _all(values: object) -> str:
    return ", ".join(f"{0.0 if abs(x) < 5e-5 else x:.4f}" for x in np.asarray(values).tolist())
