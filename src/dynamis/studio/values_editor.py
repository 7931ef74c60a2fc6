"""Values of the symbols of a robot."""

from typing import Any

from .field import Field
from .session import Session
from .tables import typed


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
