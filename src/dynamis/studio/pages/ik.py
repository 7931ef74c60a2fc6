"""Inverse kinematics: joint positions for a tool pose."""

from typing import Any

import numpy as np

from ...errors import DynamisError
from ..scene.rotation import matrix_of_rpy, matrix_of_wxyz, rpy_of, wxyz_of
from ..server.session import Session, plain, shown_error

SHOWN = 500  # characters of a reason


class IkPanel:
    """A target to drag or to type, and every solution found for it."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        zero = (0.0, 0.0, 0.0)
        self.drag = gui.add_checkbox("Target", False, hint="Show a target in the scene to drag")
        self.position = gui.add_vector3("x, y, z", zero, step=0.001, hint="m, in the base frame")
        self.rpy = gui.add_vector3("r, p, y", zero, step=0.001, hint="roll, pitch, yaw in rad")
        self.inside = gui.add_checkbox("Within limits", True)
        self.take = gui.add_button("Take the tool's pose", icon="target")
        self.solve = gui.add_button("Solve", icon="route")
        self.answer = gui.add_markdown("", visible=False)
        self.turn = gui.add_button_group("Solution", ("previous", "next"), visible=False)
        self._solutions: np.ndarray = np.zeros((0, session.robot.n))
        self._residual, self._about, self._at, self._asked = np.zeros(0), "", 0, 0
        self._gizmo: Any = None
        self.drag.on_update(lambda _: self._show_target())
        for field in (self.position, self.rpy):
            field.on_update(lambda event: event.client is not None and self._place_target())
        self.take.on_click(lambda _: self._take())
        self.solve.on_click(lambda _: self._solve())
        self.turn.on_click(lambda _: self._step(1 if self.turn.value == "next" else -1))
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
            self._gizmo = self.session.client.scene.add_transform_controls(
                "/target", scale=0.28 * self.session.view.arm.reach, depth_test=False,
                visible=self.drag.value,
            )  # fmt: skip
            self._gizmo.on_update(self._dragged)
            self._take()

    def _take(self) -> None:
        with self.session.lock:
            T = self.session.robot.fk(self.session.q)
            self._fill(T[:3, 3], T[:3, :3])
            self._place_target()

    def _fill(self, position: np.ndarray, R: np.ndarray) -> None:
        self.position.value = np.round(position, 4) + 0.0
        self.rpy.value = np.round(rpy_of(R), 4) + 0.0

    def _place_target(self) -> None:
        T = self._wanted()
        self._gizmo.position = T[:3, 3]
        self._gizmo.wxyz = wxyz_of(T[:3, :3])

    def _show_target(self) -> None:
        with self.session.lock:
            self._gizmo.visible = self.drag.value

    def _dragged(self, event: Any) -> None:
        with self.session.lock:
            self._fill(np.array(event.target.position), matrix_of_wxyz(event.target.wxyz))
        if event.phase == "end":
            self._solve()

    def _wanted(self) -> np.ndarray:
        T = np.eye(4)
        T[:3, :3] = matrix_of_rpy(self.rpy.value)
        T[:3, 3] = self.position.value
        return T

    # the solutions

    def _solve(self) -> None:
        with self.session.lock:
            self._asked += 1
            asked, robot, T, near = self._asked, self.session.robot, self._wanted(), self.session.q
            self._say("Solving …")
        try:
            found = robot.ik(T, limits=self.inside.value)  # without the lock: it may take a while
        except DynamisError as error:
            text = shown_error(str(error))
            with self.session.lock:
                if asked == self._asked:
                    self._say(text)
            return
        with self.session.lock:
            if asked != self._asked or self.session.closed.is_set():
                return  # another robot, or another target since
            order = np.argsort(np.linalg.norm(found.q - near, axis=1), kind="stable")
            self._solutions, self._residual = found.q[order], found.residual[order]
            self._about = plain(found.reason[:SHOWN])
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
        if not count:
            self._say(f"**No solution.** {self._about}")
            return
        residual = f"{self._residual[self._at]:.1e}"
        self._say(f"**{self._at + 1} of {count}**, residual {residual}. {self._about}")
        self.session.change_pose(self._solutions[self._at])

    def _say(self, text: str) -> None:
        self.answer.content, self.answer.visible = text, True
