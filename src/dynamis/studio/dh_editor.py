"""The DH table of a robot, to see and to change."""

from dataclasses import replace
from typing import Any

from ..errors import DynamisError, ModelError
from ..model.link import Link
from ..robot import Robot
from .field import Field
from .session import Session, plain
from .tables import markdown_table, typed

HOW = "Numbers, or text such as pi/2, 90 deg or a symbol that has a value:"


class DhEditor:
    """The whole table, and the fields of one link of it."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.table = gui.add_markdown("")
        self.convert = gui.add_button_group(
            "As DH table", ("standard", "modified"), hint="The same arm, described by a DH table"
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
        name = self.link.value
        index = model.link_names.index(name) if name in model.link_names else 0
        return model.links[index]

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
            value = text.replace(",", " , ").split(",") if "," in text else text.split()
            if len(value) != 3:
                raise ModelError(f"com is {text!r}, expected three numbers with commas")
        new: Any = {key: [x.strip() for x in value] if name == "com" else value}
        changed = replace(link, **new)
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
