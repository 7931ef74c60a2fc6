"""Where a robot is mounted and what it carries: gravity and payload."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..robot import Robot
from .calm import Soon
from .field import REST
from .session import Session

G = 9.81
MOUNTED = {
    "floor": (0.0, 0.0, -G),
    "wall": (-G, 0.0, 0.0),
    "ceiling": (0.0, 0.0, G),
    "zero": (0.0, 0.0, 0.0),
}
OWN = "as below"


class LoadEditor:
    """Gravity by the mounting or by its vector, payload by mass and centre of mass."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        zero = (0.0, 0.0, 0.0)
        self.mounted = gui.add_dropdown("Mounted on", (OWN, *MOUNTED))
        self.gravity = gui.add_vector3(
            "Gravity", zero, step=0.01, hint="Free fall in the base's frame, m/s²"
        )
        self.mass = gui.add_number("Payload (kg)", 0.0, min=0.0, step=0.001)
        self.com = gui.add_vector3("Payload at", zero, step=0.001, hint="In the tool frame, m")
        self.error = gui.add_markdown("", visible=False)
        self._soon = Soon(self._apply, REST, restart=True)
        session.on_close(self._soon.end)
        self.mounted.on_update(self._mount)
        for field in (self.gravity, self.mass, self.com):
            field.on_update(lambda event: event.client is not None and self._soon.ask())
        self._had: tuple[Any, ...] = (None,) * 4  # what the robot had when the fields were set last
        self._of: str | None = None
        session.on_robot(self.show)
        self.show()

    def show(self) -> None:
        """Follow the robot, but for fields that were changed and are still on their way."""
        robot = self.session.robot
        gravity = tuple(float(x) for x in robot.gravity)
        mass, com = _load(robot)
        fields = (self.gravity, self.mounted, self.mass, self.com)
        mounted = next((k for k, g in MOUNTED.items() if g == gravity), OWN)
        has = (gravity, mounted, mass, com)
        for field, value, before in zip(fields, has, self._had, strict=True):
            if robot.name != self._of or field.value == before:
                field.value = value
        self._had, self._of = has, robot.name

    def _mount(self, event: Any) -> None:
        if event.client is not None and self.mounted.value in MOUNTED:
            self.gravity.value = MOUNTED[self.mounted.value]
            self._apply()

    def _apply(self) -> None:
        with self.session.shown_at(self.error):
            robot = self.session.robot
            before = tuple(float(x) for x in robot.gravity), _load(robot)
            wanted = self.gravity.value, (self.mass.value, self.com.value)
            if wanted[0] != before[0]:
                robot = robot.with_gravity(wanted[0])
            if wanted[1] != before[1]:
                mass, com = wanted[1]
                robot = robot.with_payload(mass, com) if mass else _bare(robot)
            if wanted != before:
                self.session.change_robot(robot, keep_pose=True)


def _load(robot: Robot) -> tuple[float, tuple[float, float, float]]:
    """Mass and centre of mass of what the tool carries."""
    load = robot.model.payload
    if load is None:
        return 0.0, (0.0, 0.0, 0.0)
    from ..model.quantity import resolve

    mass, *com = (float(resolve(x, robot.model.values)) for x in (load.mass, *load.com))
    return mass, tuple(np.array(com).tolist())  # type: ignore[return-value]


def _bare(robot: Robot) -> Robot:
    return Robot(replace(robot.model, payload=None))
