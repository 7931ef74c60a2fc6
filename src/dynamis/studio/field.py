"""A box to type in, with the error of what was typed below it."""

from collections.abc import Callable
from typing import Any

from .calm import Soon
from .session import Session

REST = 0.35  # s without a key before the text counts


class Field:
    """Text that means something: `change` gets it, and raises where it does not."""

    def __init__(self, session: Session, label: str, change: Callable[[str], None]):
        gui = session.client.gui
        self._session, self._change = session, change
        self._busy, self._text = False, ""  # what was shown, or taken, last
        self.input = gui.add_text(label, "")
        self.error = gui.add_markdown("", visible=False)
        self._soon = Soon(self._apply, REST, restart=True)
        session.on_close(self._soon.end)
        self.input.on_update(self._typed)

    def _typed(self, event: Any) -> None:
        if event.client is not None:  # else: we set it
            self._soon.ask()

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
            self.error.content, self.error.visible = "", False

    def visible(self, shown: bool) -> None:
        """Show or hide it."""
        self.input.visible = shown
        self.error.visible = shown and bool(self.error.content)
