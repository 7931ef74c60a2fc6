"""The Robot page: catalogue, files, editors, findings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...errors import DynamisError, counted
from ...model.catalogue import names
from ...model.check.finding import LEVELS
from ...model.formats.files import READERS, toml_text
from ...model.formats.tables import LARGEST
from ...model.quantity import resolve
from ...robot import Robot, load
from ..scene.meshes import visuals_of
from ..server.jobs import Soon, by_hand
from ..server.session import Session, plain, show, shown_error
from ..server.uploads import shown_name, uploaded_robot
from .chart import label, markdown_table, stem, typed
from .parts import (
    CLOSURE,
    REST,
    SPRING,
    LinkEditor,
    ListEditor,
    TextField,
    closure_here,
    new_spring,
)


class DhTableForm:
    """The whole table, and of a URDF its conversion to one."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.table = gui.add_markdown("")
        self.convert = gui.add_button_group(
            "As DH table", ("standard", "modified"), hint="Convert the URDF to a DH table"
        )
        self.convert_error = gui.add_markdown("", visible=False)
        self.convert.on_click(lambda _: self._convert())
        session.on_robot(self.show)
        self.show()

    def show(self) -> None:
        """Follow the robot."""
        self.table.content = _table_text(self.session.robot)
        self.convert.visible = self.session.robot.model.convention == "urdf"
        self.convert_error.visible = False

    def _convert(self) -> None:
        with self.session.shown_at(self.convert_error):
            robot = self.session.robot.to_dh(self.convert.value)
            self.session.change_robot(robot, keep_pose=True)


def _table_text(robot: Robot) -> str:
    try:
        table = robot.dh()
    except DynamisError as error:
        return f"This robot is a URDF, without a DH table. {plain(str(error))}"
    (joint, _, *columns), *rows = table.cells()
    text = markdown_table((joint, *columns), [(row[0], *row[2:]) for row in rows], right=4)
    said = f"**{table.convention.capitalize()}** convention, m and rad."
    if robot.model.convention == "urdf":
        said = "A URDF gives joints by poses and axes. As a DH table it is:"
    return "\n\n".join([said, text, *(plain(note) for note in table.notes())])


# gravity and payload

G = 9.81
MOUNTED = {
    "floor": (0.0, 0.0, -G),
    "wall": (-G, 0.0, 0.0),
    "ceiling": (0.0, 0.0, G),
    "zero": (0.0, 0.0, 0.0),
}
OWN = "custom"


class LoadEditor:
    """Gravity by the mounting or by its vector, payload by mass and centre of mass."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        zero = (0.0, 0.0, 0.0)
        self.mounted = gui.add_dropdown("Mounted on", (OWN, *MOUNTED))
        self.gravity = gui.add_vector3(
            "Gravity (m/s²)", zero, step=0.01, hint="Free fall in the base's frame"
        )
        self.mass = gui.add_number("Payload (kg)", 0.0, min=0.0, step=0.001)
        self.com = gui.add_vector3("Payload at (m)", zero, step=0.001, hint="In the tool frame")
        self.error = gui.add_markdown("", visible=False)
        soon = Soon(session, self._apply, REST, restart=True)
        by_hand(self.mounted, self._mount)
        for field in (self.gravity, self.mass, self.com):
            by_hand(field, soon.ask)
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

    def _mount(self) -> None:
        if self.mounted.value in MOUNTED:
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
                bare = Robot(replace(robot.model, payload=None))
                robot = robot.with_payload(mass, com) if mass else bare
            if wanted != before:
                self.session.change_robot(robot, keep_pose=True)


def _load(robot: Robot) -> tuple[float, tuple[float, float, float]]:
    """Mass and centre of mass of what the tool carries."""
    load = robot.model.payload
    if load is None:
        return 0.0, (0.0, 0.0, 0.0)
    mass, x, y, z = (float(resolve(x, robot.model.values)) for x in (load.mass, *load.com))
    return mass, (x, y, z)


# values of the symbols of a robot


class ValuesEditor:
    """One symbol at a time; hidden where the robot has none. The symbols stay."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.folder = gui.add_folder("Values of symbols")
        with self.folder:
            self.symbol = gui.add_dropdown("Symbol", ("",))
            self.value = TextField(session, "value", self._edit)
        self.symbol.on_update(lambda _: self._show_value(another=True))
        session.on_robot(self.show)
        self.show()

    def show(self) -> None:
        """Follow the robot."""
        symbols = self.session.robot.model.symbols
        self.folder.visible = bool(symbols)
        if symbols:
            if self.symbol.options != symbols:
                self.symbol.options = symbols
            self._show_value(another=not self.session.kept)

    def _show_value(self, another: bool) -> None:
        with self.session.lock:
            values = self.session.robot.model.values
            given = values.get(self.symbol.value)
            text = "" if given is None else typed(given)
            self.value.set(text, self.symbol.value, another=another)

    def _edit(self, text: str) -> None:
        given: Any = {self.symbol.value: text}
        self.session.change_robot(self.session.robot.with_values(**given), keep_pose=True)


MOST_SKIPPED = 8  # visuals that are not drawn, listed
APART = "its meshes: they are not uploaded with the file; `dynamis studio FILE` shows them"


class RobotPanel:
    """The first page."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.choice = gui.add_dropdown("Robot", tuple(names()))
        self.file = gui.add_upload_button(
            "Open a TOML, URDF, SDF or MJCF file", icon="upload", mime_type=",".join(READERS)
        )
        self.save = gui.add_button("Save as TOML", icon="download", hint="the robot with its edits")
        self.error = gui.add_markdown("", visible=False)
        self.about = gui.add_markdown("")
        self.reset = gui.add_button("Undo all edits", icon="restore")
        self.checked = gui.add_markdown("")
        with gui.add_folder("DH table"):
            DhTableForm(session)
        with gui.add_folder("Link and joint"):
            self.link = LinkEditor(session)
        ValuesEditor(session)
        with gui.add_folder("Springs"):
            ListEditor(
                session, "springs", SPRING,
                lambda: new_spring("linear", session.robot.model, stiffness=100.0),
            )  # fmt: skip
        with gui.add_folder("Closed loops"):
            ListEditor(session, "closures", CLOSURE, lambda: closure_here(session.robot, session.q))
        with gui.add_folder("Gravity and payload"):
            LoadEditor(session)
        with gui.add_folder("Findings"):
            self.findings = gui.add_markdown("")
        self._check = Soon(session, self._show_findings, 0.3)
        session.uploads.limit(self.file, LARGEST, lambda why: show(self.error, shown_error(why)))
        by_hand(self.choice, self._choose)
        self.file.on_upload(lambda _: self._uploaded())
        self.save.on_click(lambda _: self._save())
        self.reset.on_click(lambda _: self._reset())
        session.on_robot(self._followed)
        self._followed()

    def _choose(self) -> None:
        if self.choice.value in names():
            with self.session.shown_at(self.error):
                robot, before = load(self.choice.value), self.session.file
                self.session.file = ""
                try:
                    self.session.change_robot(robot)
                except DynamisError:
                    self.session.file = before
                    raise

    def _uploaded(self) -> None:
        file = self.file.value
        with self.session.shown_at(self.error):
            robot = uploaded_robot(file.name, file.content)
            before, self.session.file = self.session.file, shown_name(file.name)
            try:
                self.session.change_robot(robot)
            except DynamisError:
                self.session.file = before
                raise

    def _reset(self) -> None:
        with self.session.shown_at(self.error):
            self.session.change_robot(self.session.loaded, keep_pose=True)

    def _save(self) -> None:
        with self.session.shown_at(self.error):
            model = self.session.robot.model
            content = toml_text(model).encode()
            name = f"{stem(model.name)}.toml"
            self.session.client.send_file_download(name, content, save_immediately=True)

    def _followed(self) -> None:
        if not self.session.kept:
            name = label(self.session.file or self.session.robot.name, longest=40)
            known = tuple(names())
            options = known if name in known else (*known, name)
            if tuple(self.choice.options) != options:
                self.choice.options = options
            self.choice.value = name
        self._show()

    def _show(self) -> None:
        robot = self.session.robot
        text = f"**{plain(robot.name)}**: {robot.model.size_text} ({robot.model.joint_letters}), "
        text += robot.model.convention
        if robot.dof != robot.n:
            text += f"; {counted(robot.dof, 'degree')} of freedom"
        if robot.model.description:
            text += f"\n\n{plain(robot.model.description)}"
        self.about.content = text
        self.reset.disabled = robot == self.session.loaded
        self._check.ask()

    def _show_findings(self) -> None:
        with self.session.lock:
            found = self.session.robot.check()
            if not self.session.closed.is_set():
                self.findings.content = _listed(found, _not_drawn(self.session.robot))
                self.checked.content = _counted(found)
                self.link.check(found)


def _not_drawn(robot: Robot) -> Sequence[str]:
    """Shapes that the scene does not show, and why."""
    apart = any(x.source is not None and x.source.closed for x in robot.model.geometry)
    return (APART,) if apart else visuals_of(robot).skipped


def _counted(findings: list) -> str:
    """How many findings of which level, and where."""
    levels = {level: sum(x.level == level for x in findings) for level in LEVELS}
    several = [counted(count, name) for name, count in levels.items() if count]
    if not several:
        return "**Check**: no findings."
    places = ", ".join(dict.fromkeys(x.where for x in findings[:4]))
    return f"**Check**: {', '.join(several)} ({plain(places)}), listed below."


def _listed(findings: list, skipped: Sequence[str]) -> str:
    lines = [
        f"- **{x.level}**, {plain(x.where)}: {plain(x.what)}. *{plain(x.remedy)}*" for x in findings
    ]
    more = [f"{len(skipped) - MOST_SKIPPED} more"] if len(skipped) > MOST_SKIPPED else []
    lines += [f"- **not drawn**, {plain(text)}" for text in (*skipped[:MOST_SKIPPED], *more)]
    return "\n".join(lines) or "No findings."
