"""What the pose means: where the tool is, what gravity asks of the joints."""

from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import DynamisError
from ...robot import Robot
from ..scene.rotation import rpy_of, xyzw_of
from ..server.session import Session, shown_error
from ..server.throttle import Latest, Soon
from .chart import markdown_table, short
from .ik import IkPanel

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
    free = robot.joint_kinds
    rows = [
        (name, short(float(tau)) + (" N m" if kind == "revolute" else " N"))
        for name, kind, tau in zip(robot.joint_names, free, robot.gravity_torque(q), strict=True)
    ]
    return markdown_table(("joint", "gravity"), rows, right=1)


def _all(values: object) -> str:
    return ", ".join(f"{0.0 if abs(x) < 5e-5 else x:.4f}" for x in np.asarray(values).tolist())


# the pose: a slider per joint, what is shown, where the tool is, and poses for a wanted one

TURN = np.pi  # rad either way where a joint has no limits
CHOOSE = "choose …"


class PosePanel:
    """The page of poses."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self._wanted: dict[int, float] = {}
        self._latest = Latest(self._move)
        self._own = False
        self.sliders: list[Any] = []
        self.joints = gui.add_folder("Joints")
        with self.joints:
            self.named = gui.add_dropdown("Go to", (CHOOSE,))
            self.set = gui.add_button_group("Set to", ("zero", "random"))
            self.degrees = gui.add_checkbox("Degrees", False, hint="Angles in degrees")
        with gui.add_folder("Shown"):
            self.shown = {
                name: gui.add_checkbox(name.capitalize(), True)
                for name in ("links", "frames", "labels", "meshes")
            }
        Readout(session)
        with gui.add_folder("Inverse kinematics"):
            IkPanel(session)
        self.named.on_update(self._go)
        self.set.on_click(lambda _: self._jump(self.set.value))
        self.degrees.on_update(lambda _: self._rebuild())
        for box in self.shown.values():
            box.on_update(lambda _: self._show())
        session.on_robot(self._rebuild)
        session.on_pose(self._follow)
        self._rebuild()

    # sliders

    def _rebuild(self) -> None:
        with self.session.lock:
            robot = self.session.robot
            self._wanted.clear()
            for slider in self.sliders:
                slider.remove()
            low, high = self._low, self._high = slider_limits(robot, self.session.view.arm.reach)
            with self.joints:
                self.sliders = [self._slider(i, low[i], high[i]) for i in range(robot.n)]
            self.named.options = (CHOOSE, *robot.configurations)
            self.named.value = CHOOSE
            self.named.visible = bool(robot.configurations)
            self.shown["meshes"].visible = bool(self.session.view.arm.body)

    def _slider(self, i: int, low: float, high: float) -> Any:
        f, unit = self._factor(i)
        step = 0.1 if unit == "°" else 0.001
        low, high = _ends(f * low, f * high, f * self.session.q[i])
        slider = self.session.client.gui.add_slider(
            self.session.robot.joint_names[i], low, high, step, float(f * self.session.q[i]),
            hint={"°": "degrees", "rad": "rad", "m": "m"}[unit],
        )  # fmt: skip
        slider.precision = 1 if unit == "°" else 3
        slider.on_update(lambda event: self._slid(event, i))
        return slider

    def _factor(self, i: int) -> tuple[float, str]:
        free = self.session.robot.joint_kinds
        if free[i] == "prismatic":
            return 1.0, "m"
        return (180.0 / np.pi, "°") if self.degrees.value else (1.0, "rad")

    def _slid(self, event: Any, i: int) -> None:
        if event.client is not None:  # else: we set it
            self._wanted[i] = event.target.value / self._factor(i)[0]
            self._latest.ask()

    def _move(self) -> None:
        with self.session.lock:
            wanted, self._wanted = self._wanted, {}
            q = self.session.q.copy()
            for i, value in wanted.items():
                if i < len(q):
                    q[i] = value
            self._own = True
            try:
                self.session.change_pose(q)
            finally:
                self._own = False

    def _follow(self) -> None:
        """Sliders to the pose, unless it came from them; they reach as far as the arm does."""
        if self._own or len(self.sliders) != self.session.robot.n:
            return
        for i, slider in enumerate(self.sliders):
            f = self._factor(i)[0]
            value = f * self.session.q[i]
            ends = _ends(f * self._low[i], f * self._high[i], value)
            if ends != (slider.min, slider.max):
                slider.min, slider.max = ends
            slider.value = float(value)

    # buttons

    def _go(self, event: Any) -> None:
        if event.client is not None and self.named.value != CHOOSE:
            self._jump(self.named.value)
            self.named.value = CHOOSE

    def _jump(self, name: str) -> None:
        with self.session.lock:
            robot = self.session.robot
            if name == "random":
                low, high = slider_limits(robot, self.session.view.arm.reach)
                self.session.change_pose(np.random.default_rng().uniform(low, high))
            elif name in robot.configurations:
                self.session.change_pose(robot.configurations[name])
            else:
                self.session.change_pose(np.zeros(robot.n))

    def _show(self) -> None:
        with self.session.lock:
            arm = self.session.view.arm
            arm.show(replace(arm.shown, **{name: box.value for name, box in self.shown.items()}))


def _ends(low: float, high: float, value: float) -> tuple[float, float]:
    """A slider's ends: the limits, or the value that is beyond them."""
    return float(np.floor(1e3 * min(low, value)) / 1e3), float(
        np.ceil(1e3 * max(high, value)) / 1e3
    )


def slider_limits(robot: Any, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Joint limits where there are any; else a turn, or as far as the arm reaches."""
    free = robot.joint_kinds
    most = np.array([TURN if kind == "revolute" else max(reach, 0.1) for kind in free])
    low, high = np.sort(np.asarray(robot.limits, float).reshape(-1, 2), axis=1).T
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * most, -most))
    high = np.where(np.isfinite(high), high, low + 2 * most)
    return low, np.maximum(high, low + 1e-6)
