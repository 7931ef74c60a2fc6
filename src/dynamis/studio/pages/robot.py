"""The Robot page: catalogue, files, editors, findings."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...errors import DynamisError, ModelError
from ...model.catalogue import names
from ...model.closure import CLOSURE_COLUMNS, closure_row
from ...model.formats.files import READERS, toml_text
from ...model.formats.tables import LARGEST
from ...model.link import Link
from ...model.model import Model
from ...model.quantity import resolve
from ...model.spring import spring_row
from ...robot import Robot, load
from ..scene.meshes import Visuals
from ..server.jobs import Soon, by_hand
from ..server.session import Session, plain, show, shown_error
from ..server.uploads import uploaded_robot
from .chart import markdown_table, stem, typed

# a text field with its error below

REST = 0.35  # s without a key before the text counts


class Field:
    """A text field: `change` gets the text, and raises if it is wrong."""

    def __init__(self, session: Session, label: str, change: Callable[[str], None]):
        gui = session.client.gui
        self._session, self._change = session, change
        self._busy, self._text = False, ""  # what was shown, or taken, last
        self.input = gui.add_text(label, "")
        self.error = gui.add_markdown("", visible=False)
        self._soon = Soon(session, self._apply, REST, restart=True)
        by_hand(self.input, self._soon.ask)

    def _apply(self) -> None:
        with self._session.shown_at(self.error):
            self._busy, self._text = True, self.input.value
            try:
                self._change(self._text)
            finally:
                self._busy = False

    def set(self, text: str, label: str, disabled: bool = False, *, another: bool = False) -> None:
        """Show a text, unless it is being typed; of `another` thing in any case."""
        self.input.label, self.input.disabled = label, disabled
        if another:
            self._soon.cancel()
        typing = self._soon.pending or self.input.value != self._text  # its event is on its way
        if another or not (self._busy or typing):
            self.input.value = self._text = text
            show(self.error, "")

    def visible(self, shown: bool) -> None:
        """Show or hide it."""
        self.input.visible = shown
        self.error.visible = shown and bool(self.error.content)


HOW = "Numbers, or text such as pi/2, 90 deg or a symbol that has a value:"


class DhEditor:
    """The whole table, and the fields of one link of it."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.table = gui.add_markdown("")
        self.convert = gui.add_button_group(
            "As DH table", ("standard", "modified"), hint="Convert the URDF to a DH table"
        )
        self.convert_error = gui.add_markdown("", visible=False)
        self.how = gui.add_markdown(HOW)
        self.link = gui.add_dropdown("Link", tuple(session.robot.link_names))
        self.fields = {
            name: Field(session, name, lambda text, name=name: self._edit(name, text))
            for name in ("a", "alpha", "constant", "offset", "mass", "com")
        }
        self.link.on_update(lambda _: self._show_link(another=True))
        self.convert.on_click(lambda _: self._convert())
        session.on_robot(self.show)
        self.show()

    def show(self) -> None:
        """Follow the robot."""
        model = self.session.robot.model
        is_dh = model.convention != "urdf"
        self.table.content = _table_text(self.session.robot)
        self.convert.visible = not is_dh
        self.convert_error.visible = False
        self.link.visible = self.how.visible = is_dh
        for field in self.fields.values():
            field.visible(is_dh)
        if is_dh:
            if self.link.options != model.link_names:
                self.link.options = model.link_names
            self._show_link(another=not self.session.kept)

    def _chosen(self) -> Link:
        model = self.session.robot.model
        return next((x for x in model.links if x.name == self.link.value), model.links[0])

    def _show_link(self, another: bool) -> None:
        with self.session.lock:
            link = self._chosen()
            constant, unit = ("d", "m") if link.joint == "revolute" else ("theta", "rad")
            moving = "rad" if link.joint == "revolute" else "m"
            value = typed(getattr(link, constant), constant == "theta")
            free = link.linear is None  # else: mass and com are part of ten parameters
            mass = link.mass if link.linear is None else link.linear[0]
            for name, text, label, disabled in (
                ("a", typed(link.a), "a (m)", False),
                ("alpha", typed(link.alpha, True), "alpha (rad)", False),
                ("constant", value, f"{constant} ({unit})", False),
                ("offset", typed(link.offset, moving == "rad"), f"offset ({moving})", False),
                ("mass", typed(mass), "mass (kg)", not free),
                ("com", _com(link), "com (m)", not free or link.com_factor is not None),
            ):
                self.fields[name].set(text, label, disabled, another=another)

    def _edit(self, name: str, text: str) -> None:
        robot, link = self.session.robot, self._chosen()
        key, value = name, text
        if name == "constant":
            key = "d" if link.joint == "revolute" else "theta"
        if name == "com":
            value = [x.strip() for x in text.split("," if "," in text else None)]
            if len(value) != 3:
                raise ModelError(f"com is {text!r}, expected three numbers with commas")
        changed = replace(link, **{key: value})
        links = tuple(changed if x.name == link.name else x for x in robot.model.links)
        if changed != link:
            edited = Robot(replace(robot.model, links=links))
            self.session.change_robot(edited, keep_pose=True)

    def _convert(self) -> None:
        with self.session.shown_at(self.convert_error):
            robot = self.session.robot.to_dh(self.convert.value)
            self.session.change_robot(robot, keep_pose=True)


def _com(link: Link) -> str:
    if link.com_factor is not None:
        return f"{typed(link.com_factor)} p"
    if link.linear is not None:
        return "by linear parameters"
    return ", ".join(typed(x) for x in link.com or (0.0, 0.0, 0.0))


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
            "Gravity", zero, step=0.01, hint="Free fall in the base's frame, m/s²"
        )
        self.mass = gui.add_number("Payload (kg)", 0.0, min=0.0, step=0.001)
        self.com = gui.add_vector3("Payload at", zero, step=0.001, hint="In the tool frame, m")
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
            self.value = Field(session, "value", self._edit)
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


class ReadOnlyTable:
    """What a file says of a robot, to be read; hidden where it says nothing."""

    def __init__(self, session: Session, title: str, text: Callable[[Model], str]):
        self.session, self.text = session, text
        gui = session.client.gui
        self.folder = gui.add_folder(title)
        with self.folder:
            self.table = gui.add_markdown("")
        session.on_robot(self.show)
        self.show()

    def show(self) -> None:
        """Follow the robot."""
        self.table.content = text = self.text(self.session.robot.model)
        self.folder.visible = bool(text)


def loops_text(model: Model) -> str:
    """The joints and closures of a closed mechanism."""
    if not model.closures:
        return ""
    joints = [
        (str(x.joint_name), x.joint, x.parent or model.base_name, _driven(x)) for x in model.links
    ]
    closures = [closure_row(x, _several) for x in model.closures]
    tables = ((("joint", "kind", "on", ""), joints), (CLOSURE_COLUMNS, closures))
    return "\n\n".join(markdown_table(head, rows) for head, rows in tables)


def springs_text(model: Model) -> str:
    """The springs of a robot."""
    rows = [spring_row(spring, typed, model.base_name) for spring in model.springs]
    return markdown_table(("spring", "acts", "by"), rows) if rows else ""


def _driven(link: Link) -> str:
    return "passive" if link.passive else "drive"


def _several(value: Any) -> str:
    return ", ".join(map(typed, value)) if isinstance(value, tuple) else typed(value)


OTHER = "a file"
MOST_SKIPPED = 8  # visuals that are not drawn, listed
APART = "its meshes: they are not uploaded with the file; `dynamis studio FILE` shows them"


class RobotPanel:
    """The first page."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.choice = gui.add_dropdown("Robot", (*names(), OTHER))
        self.file = gui.add_upload_button(
            "Open a TOML, URDF, SDF or MJCF file", icon="upload", mime_type=",".join(READERS)
        )
        self.save = gui.add_button("Save as TOML", icon="download", hint="the robot with its edits")
        self.error = gui.add_markdown("", visible=False)
        self.about = gui.add_markdown("")
        with gui.add_folder("DH table"):
            DhEditor(session)
        ValuesEditor(session)
        ReadOnlyTable(session, "Springs", springs_text)
        ReadOnlyTable(session, "Closed loops", loops_text)
        with gui.add_folder("Gravity and payload"):
            LoadEditor(session)
        self.reset = gui.add_button("Undo all edits", icon="restore")
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
        if self.choice.value != OTHER:
            with self.session.shown_at(self.error):
                self.session.change_robot(load(self.choice.value))

    def _uploaded(self) -> None:
        file = self.file.value
        with self.session.shown_at(self.error):
            skipped = (APART,) if b"<visual" in file.content else ()
            robot = uploaded_robot(file.name, file.content)
            self.session.change_robot(robot, Visuals((), skipped))
            self.choice.value = OTHER

    def _reset(self) -> None:
        with self.session.shown_at(self.error):
            robot, visuals = self.session.loaded
            self.session.change_robot(robot, visuals, keep_pose=True)

    def _save(self) -> None:
        with self.session.shown_at(self.error):
            model = self.session.robot.model
            content = toml_text(model).encode()
            name = f"{stem(model.name)}.toml"
            self.session.client.send_file_download(name, content, save_immediately=True)

    def _followed(self) -> None:
        if not self.session.kept:
            name = self.session.robot.name
            self.choice.value = name if name in names() else OTHER
        self._show()

    def _show(self) -> None:
        robot = self.session.robot
        kinds = "".join(link.joint[0].upper() for link in robot.model.links)
        text = f"**{plain(robot.name)}**: {robot.model.size_text} ({kinds}), "
        text += robot.model.convention
        if robot.model.closures:
            text += f"; {robot.dof} degree{'s' * (robot.dof != 1)} of freedom"
        if robot.model.description:
            text += f"\n\n{plain(robot.model.description)}"
        self.about.content = text
        self.reset.disabled = robot == self.session.loaded[0]
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
    more = [f"{len(skipped) - MOST_SKIPPED} more"] if len(skipped) > MOST_SKIPPED else []
    lines += [f"- **not drawn**, {plain(text)}" for text in (*skipped[:MOST_SKIPPED], *more)]
    return "\n".join(lines) or "No findings."
