"""The Robot page: catalogue, files, editors, findings."""

from collections.abc import Sequence
from typing import Any

from ...model.catalogue import names
from ...model.formats.tables import LARGEST
from ...robot import load
from ..scene.meshes import Visuals
from ..server.session import Session, plain, shown_error
from ..server.throttle import Soon
from ..server.uploads import uploaded_robot
from .dh_editor import DhEditor, LoadEditor, ValuesEditor

OTHER = "a file"
MOST_SKIPPED = 8  # visuals that are not drawn, listed
APART = "its meshes: they are not uploaded with the file; `dynamis studio FILE` shows them"


class RobotPanel:
    """The first page."""

    def __init__(self, session: Session):
        self.session = session
        self.loaded = session.robot, session.visuals
        gui = session.client.gui
        known = names()
        name = session.robot.name if session.robot.name in known else OTHER
        self.choice = gui.add_dropdown("Robot", (*known, OTHER), initial_value=name)
        self.file = gui.add_upload_button(
            "Open a TOML or URDF file", icon="upload", mime_type=".toml,.urdf,.xml"
        )
        self.error = gui.add_markdown("", visible=False)
        self.about = gui.add_markdown("")
        with gui.add_folder("DH table"):
            DhEditor(session)
        ValuesEditor(session)
        with gui.add_folder("Gravity and payload"):
            LoadEditor(session)
        self.reset = gui.add_button("Undo all edits", icon="restore")
        with gui.add_folder("Findings"):
            self.findings = gui.add_markdown("")
        self._check = Soon(self._show_findings, 0.3)
        session.on_close(self._check.end)
        session.uploads.limit(self.file, LARGEST, self._refused)
        self.choice.on_update(self._choose)
        self.file.on_upload(lambda _: self._uploaded())
        self.reset.on_click(lambda _: self._reset())
        session.on_robot(self._followed)
        self._show()

    def _choose(self, event: Any) -> None:
        if event.client is not None and self.choice.value != OTHER:
            with self.session.shown_at(self.error):
                self.session.change_robot(load(self.choice.value))

    def _uploaded(self) -> None:
        file = self.file.value
        with self.session.shown_at(self.error):
            skipped = (APART,) if b"<visual" in file.content else ()
            robot = uploaded_robot(file.name, file.content)
            self.session.change_robot(robot, Visuals.of((), skipped))
            self.choice.value = OTHER

    def _refused(self, why: str) -> None:
        self.error.content, self.error.visible = shown_error(why), True

    def _reset(self) -> None:
        with self.session.shown_at(self.error):
            robot, visuals = self.loaded
            self.session.change_robot(robot, visuals, keep_pose=True)

    def _followed(self) -> None:
        if not self.session.kept:
            self.loaded = self.session.robot, self.session.visuals
        self._show()

    def _show(self) -> None:
        robot = self.session.robot
        kinds = "".join(link.joint[0].upper() for link in robot.model.links)
        text = f"**{plain(robot.name)}**: {robot.n} joints ({kinds}), {robot.model.convention}"
        if robot.model.description:
            text += f"\n\n{plain(robot.model.description)}"
        self.about.content = text
        self.reset.disabled = robot == self.loaded[0]
        self._check.ask()

    def _show_findings(self) -> None:
        with self.session.lock:
            found = self.session.robot.check()
            if not self.session.closed.is_set():
                self.findings.content = _listed(found, getattr(self.session.visuals, "skipped", ()))


def _listed(findings: list, skipped: Sequence[str]) -> str:
    lines = [
        f"- **{x.level}**, {plain(x.where)}: {plain(x.what)}. *{plain(x.remedy)}*" for x in findings
    ]
    lines += [f"- **not drawn**, {plain(text)}" for text in skipped[:MOST_SKIPPED]]
    if len(skipped) > MOST_SKIPPED:
        lines.append(f"- **not drawn**, {len(skipped) - MOST_SKIPPED} more")
    return "\n".join(lines) or "No findings."
