"""The Pose page: joint sliders, tool pose, gravity torques, inverse kinematics."""

import math
from typing import Any

import numpy as np

from ...errors import DynamisError
from ...ik.assemble import CLOSED, nearest
from ...ik.follow import Followed, follow, handles, lead
from ...model.schema import UNITS
from ...robot import Robot
from ...spatial.rotations import rotation_from_quaternion, rotation_from_rpy
from ...transforms import to_quaternion, to_rpy
from ..scene.view import KINDS, wxyz_of
from ..server.jobs import Latest, Soon, by_hand
from ..server.session import Session, plain, show, shown_error
from .chart import markdown_table, short

SHOWN = 500  # characters of a reason
SEEN = 1e-4  # m or rad between a target and the tool


class IkPanel:
    """A target to drag or to type, and every solution found for it."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        zero = (0.0, 0.0, 0.0)
        self.drag = gui.add_checkbox("Target", False, hint="Show a target in the scene to drag")
        self.position = gui.add_vector3("x, y, z (m)", zero, step=0.001, hint="in the base frame")
        self.rpy = gui.add_vector3("r, p, y (rad)", zero, step=0.001, hint="roll, pitch, yaw")
        self.inside = gui.add_checkbox("Within limits", True)
        self.take = gui.add_button("Take the tool's pose", icon="target")
        self.solve = gui.add_button("Solve", icon="route")
        self.answer = gui.add_markdown("", visible=False)
        self.turn = gui.add_button_group("Solution", ("previous", "next"), visible=False)
        self._solutions: np.ndarray = np.zeros((0, session.robot.n))
        self._residual, self._about, self._at, self._asked = np.zeros(0), "", 0, 0
        self._gizmo: Any = None
        self._typed = False  # whether the target was typed and is not yet solved
        self._latest = Latest(self._lead)
        self.drag.on_update(lambda _: self._show_target())
        for field in (self.position, self.rpy):
            by_hand(field, self._type)
        self.take.on_click(lambda _: self._take())
        self.solve.on_click(lambda _: self._solve())
        self.turn.on_click(lambda _: self._step(1 if self.turn.value == "next" else -1))
        session.remember("ik", inside=self.inside)
        session.on_robot(self._forget)
        self._forget()

    # the target

    def _forget(self) -> None:
        """Another robot: its own target, no solutions yet."""
        with self.session.lock:
            self._asked += 1
            self._solutions = np.zeros((0, self.session.robot.n))
            self.answer.visible = self.turn.visible = False
            if self._gizmo is not None:
                self._gizmo.remove()
            robot, axes, turns = self.session.robot, (True, True, True), True
            if robot.model.closures:
                axes, turns = handles(robot, robot.fk(self.session.q)[:3, :3])
            view = self.session.view
            self._gizmo = self.session.client.scene.add_transform_controls(
                view.new_name("/target"), scale=0.28 * view.arm.reach, depth_test=False,
                visible=self.drag.value, active_axes=axes, disable_rotations=not turns,
            )  # fmt: skip
            self._gizmo.on_update(self._dragged)
            self._take()

    def _take(self) -> None:
        with self.session.lock:
            T = self.session.robot.fk(self.session.q)
            self._fill(T[:3, 3], T[:3, :3])
            self._place_target()
            self._typed = False

    def _type(self) -> None:
        with self.session.lock:
            self._typed = True
            self._place_target()

    def _fill(self, position: np.ndarray, R: np.ndarray) -> None:
        self.position.value = np.round(position, 4) + 0.0
        self.rpy.value = np.round(to_rpy(R), 4) + 0.0

    def _place_target(self) -> None:
        T = self._wanted()
        self._gizmo.position = T[:3, 3]
        self._gizmo.wxyz = wxyz_of(T[:3, :3])

    def _show_target(self) -> None:
        """The target appears where it was typed, else at the tool, wherever that is by now."""
        with self.session.lock:
            if self.drag.value and not self._typed:
                self._take()
            self._gizmo.visible = self.drag.value

    def _dragged(self, event: Any) -> None:
        with self.session.lock:
            w, *xyz = event.target.wxyz
            R = np.array(rotation_from_quaternion((*xyz, w)))
            self._fill(np.array(event.target.position), R)
        if event.phase == "end":
            self._solve()
        elif self.session.robot.model.closures:
            self._latest.ask()

    def _lead(self) -> None:
        """A closed mechanism follows its tool while that is dragged, as near as it goes."""
        with self.session.lock:
            robot, T = self.session.robot, self._wanted()
            self._asked += 1  # solutions of before are no longer wanted
            self.turn.visible = False
            try:
                found = lead(robot, self.session.q, T, self.inside.value)
            except DynamisError as error:
                show(self.answer, shown_error(str(error)))
                return
            away = np.abs(found.left).max() > SEEN
            show(self.answer, "**As near as it goes** from here." if away else "")
            self.session.change_pose(found.q)

    def _wanted(self) -> np.ndarray:
        T = np.eye(4)
        T[:3, :3] = rotation_from_rpy(self.rpy.value)
        T[:3, 3] = self.position.value
        return T

    # the solutions

    def _solve(self) -> None:
        with self.session.lock:
            self._asked += 1
            asked, robot, T, near = self._asked, self.session.robot, self._wanted(), self.session.q
            show(self.answer, "Solving …")
        try:
            near_first = near if robot.model.closures else None
            found = robot.ik(T, limits=self.inside.value, q0=near_first)  # unlocked: it takes time
        except DynamisError as error:
            text = shown_error(str(error))
            with self.session.lock:
                if asked == self._asked:
                    show(self.answer, text)
            return
        with self.session.lock:
            if asked != self._asked or self.session.closed.is_set():
                return  # another robot, or another target since
            q, residual, about = found.q, found.residual, found.reason
            if len(q):
                closed = robot.closure_status(q) < 2.0
                q, residual = q[closed], residual[closed]
                about = about if len(q) else "No solution that closes the loops was found."
            order = np.argsort(np.linalg.norm(q - near, axis=1), kind="stable")
            self._solutions, self._residual = q[order], residual[order]
            self._about = plain(about[:SHOWN])
            self._at = 0
            self._show_solution()

    def _step(self, by: int) -> None:
        with self.session.lock:
            if len(self._solutions):
                self._at = (self._at + by) % len(self._solutions)
                self._show_solution()

    def _show_solution(self) -> None:
        count = len(self._solutions)
        self.turn.visible = count > 1
        self._typed = self._typed and not count
        if not count:
            show(self.answer, f"**No solution.** {self._about}")
            return
        number, residual = f"**{self._at + 1} of {count}**", f"{self._residual[self._at]:.1e}"
        show(self.answer, f"{number}, residual {residual}. {self._about}")
        self.session.change_pose(self._solutions[self._at])


OFTEN = 0.12  # s between two readings


class Readout:
    """Tables that follow the pose."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        with gui.add_folder("Tool"):
            self.tool = gui.add_markdown("")
        with gui.add_folder("Gravity torque"):
            self.torque = gui.add_markdown("")
        soon = Soon(session, self._read, OFTEN)
        session.on_pose(soon.ask)
        soon.ask()

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
        ("roll, pitch, yaw (rad)", _all(to_rpy(T))),
        ("quaternion x y z w", _all(to_quaternion(T))),
        ("manipulability", short(float(robot.manipulability(q)))),
    ]
    return markdown_table(("in the base frame", ""), rows, right=1)


def torque_text(robot: Robot, q: np.ndarray) -> str:
    """Gravity torque of each joint; of those that decide the others in a closed mechanism."""
    rows = [
        (robot.joint_names[k], f"{short(float(tau))} {UNITS[robot.joint_kinds[k]]['torque']}")
        for k, tau in zip(robot.independent, robot.gravity_torque(q), strict=True)
    ]
    return markdown_table(("joint", "gravity"), rows, right=1)


def _all(values: object) -> str:
    return ", ".join(f"{0.0 if abs(x) < 5e-5 else x:.4f}" for x in np.asarray(values).tolist())


TURN = np.pi  # rad either way where a joint has no limits
CHOOSE = "choose …"
TRIES = 30  # random poses of a closed mechanism, for one that closes


class PosePanel:
    """The page of poses."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self._wanted: dict[int, float] = {}
        self._latest = Latest(self._move)
        self._own = False
        self.sliders: dict[int, Any] = {}  # by the joint's place in q
        self.joints = gui.add_folder("Joints")
        with self.joints:
            self.named = gui.add_dropdown("Go to", (CHOOSE,))
            self.set = gui.add_button_group("Set to", ("zero", "random"))
            self.degrees = gui.add_checkbox("Degrees", False, hint="Angles in degrees")
            self.stopped = gui.add_markdown("", visible=False)
        self.others = gui.add_folder("Joints that follow", visible=False)
        with self.others:
            self.followers = gui.add_markdown("")
        with gui.add_folder("Shown"):
            self.shown = {name: gui.add_checkbox(name.capitalize(), True) for name in KINDS}
        Readout(session)
        with gui.add_folder("Inverse kinematics"):
            IkPanel(session)
        by_hand(self.named, self._go)
        self.set.on_click(lambda _: self._jump(self.set.value))
        self.degrees.on_update(lambda _: self._rebuild())
        for box in self.shown.values():
            box.on_update(lambda _: self._show())
        session.remember("pose", degrees=self.degrees, **self.shown)
        session.on_robot(self._rebuild)
        session.on_pose(self._follow)
        self._rebuild()

    # sliders

    def _rebuild(self) -> None:
        with self.session.lock:
            robot = self.session.robot
            self._wanted.clear()
            for slider in self.sliders.values():
                slider.remove()
            show(self.stopped, "")
            low, high = self._low, self._high = slider_limits(robot, self.session.view.arm.reach)
            with self.joints:
                self.sliders = {i: self._slider(i, low[i], high[i]) for i in robot.independent}
            self._show_followers()
            self.named.options = (CHOOSE, *robot.configurations)
            self.named.value = CHOOSE
            self.named.visible = bool(robot.configurations)
            self.shown["meshes"].visible = bool(self.session.view.arm.body)

    def _slider(self, i: int, low: float, high: float) -> Any:
        f, unit = self._factor(i)
        step = 0.1 if unit == "°" else 0.001
        low, high = _ends(f * low, f * high, f * self.session.q[i])
        slider = self.session.client.gui.add_slider(
            f"{self.session.robot.joint_names[i]} ({unit})", low, high, step,
            float(f * self.session.q[i]),
        )  # fmt: skip
        slider.precision = 1 if unit == "°" else 3
        by_hand(slider, lambda: self._slid(i, slider.value))
        return slider

    def _factor(self, i: int) -> tuple[float, str]:
        if self.session.robot.joint_kinds[i] == "prismatic":
            return 1.0, "m"
        return (180.0 / np.pi, "°") if self.degrees.value else (1.0, "rad")

    def _slid(self, i: int, value: float) -> None:
        self._wanted[i] = value / self._factor(i)[0]
        self._latest.ask()

    def _move(self) -> None:
        with self.session.lock:
            wanted, self._wanted = self._wanted, {}
            q = self.session.q.copy()
            for i, value in wanted.items():
                if i < len(q):
                    q[i] = value
            q, reason = self._led(q)
            self._own = not reason  # a slider that went too far comes back
            try:
                self.session.change_pose(q)
            finally:
                self._own = False

    def _led(self, wanted: np.ndarray) -> Followed:
        """A closed mechanism as far towards the drives of a pose as it goes, and why no farther."""
        robot = self.session.robot
        try:
            found = follow(robot, self.session.q, wanted[list(robot.independent)])
        except DynamisError as error:
            found = Followed(self.session.q, str(error))
        show(self.stopped, f"**Stopped:** {plain(found.reason)}." if found.reason else "")
        return found

    def _follow(self) -> None:
        """Sliders to the pose, unless it came from them; they reach as far as the arm does."""
        if list(self.sliders) != self.session.robot.independent:
            return
        self._show_followers()
        if self._own:
            return
        for i, slider in self.sliders.items():
            f = self._factor(i)[0]
            value = f * self.session.q[i]
            ends = _ends(f * self._low[i], f * self._high[i], value)
            if ends != (slider.min, slider.max):
                slider.min, slider.max = ends
            slider.value = float(value)

    def _show_followers(self) -> None:
        """Joints of a closed mechanism that follow the sliders."""
        robot, q = self.session.robot, self.session.q
        rest = [i for i in range(robot.n) if i not in robot.independent]
        self.others.visible = bool(rest)
        rows = []
        for i in rest:
            f, unit = self._factor(i)
            kind = "drive" if i in robot.active else "passive"
            rows.append(
                (robot.joint_names[i], kind, f"{f * q[i]:.{1 if unit == '°' else 3}f} {unit}")
            )
        head = ("joint", "", "position")
        self.followers.content = markdown_table(head, rows, right=1) if rows else ""

    # buttons

    def _go(self) -> None:
        if self.named.value != CHOOSE:
            self._jump(self.named.value)
            self.named.value = CHOOSE

    def _jump(self, name: str) -> None:
        with self.session.lock:
            robot = self.session.robot
            show(self.stopped, "")
            if name in robot.configurations:
                self._place(robot.configurations[name])
            elif name == "zero":
                self.session.change_pose(self._led(np.zeros(robot.n)).q)
            else:
                low, high = slider_limits(robot, self.session.view.arm.reach)
                chance = np.random.default_rng()
                rows = chance.uniform(low, high, (TRIES, robot.n))
                self._place(_closed(robot, rows)[0])

    def _place(self, q: np.ndarray) -> None:
        """Another pose; one that does not close is refused in words."""
        robot = self.session.robot
        if robot.closure_status(q) == 2.0:
            show(self.stopped, "**Not shown:** in this configuration the loops are open.")
        else:
            self.session.change_pose(q)

    def _show(self) -> None:
        with self.session.lock:
            self.session.view.arm.show([name for name, box in self.shown.items() if box.value])


def _closed(robot: Robot, rows: np.ndarray) -> np.ndarray:
    """Rows, of a closed mechanism those that could be closed, or else the first as it is."""
    if not robot.model.closures:
        return rows
    q, left = nearest(robot, rows)
    q = q[left <= CLOSED]
    good = q[robot.closure_status(q) == 0.0] if len(q) else q
    return good if len(good) else rows


def _ends(low: float, high: float, value: float) -> tuple[float, float]:
    """A slider's ends: the limits, or the value that is beyond them."""
    return math.floor(1e3 * min(low, value)) / 1e3, math.ceil(1e3 * max(high, value)) / 1e3


def slider_limits(robot: Any, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Joint limits where there are any; else a turn, or as far as the arm reaches."""
    ways = {"revolute": TURN, "prismatic": max(reach, 0.1)}
    most = np.array([ways[kind] for kind in robot.joint_kinds])
    low, high = np.sort(np.asarray(robot.limits, float).reshape(-1, 2), axis=1).T
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2 * most, -most))
    high = np.where(np.isfinite(high), high, low + 2 * most)
    return low, np.maximum(high, low + 1e-6)
