"""Background jobs of a tab: one at a time, with progress and errors below a button."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from ...errors import DynamisError
from .session import Session, plain, shown_error

log = logging.getLogger("dynamis.studio")
Say = Callable[[str], None]


class Job:
    """Runs what a button asks for in a thread; `place` is a markdown that shows how it goes."""

    def __init__(self, session: Session, place: Any):
        self.session, self.place = session, place
        self._thread: threading.Thread | None = None
        self._doing = ""

    @property
    def is_running(self) -> bool:
        """Whether something is under way."""
        return self._thread is not None

    def start(self, doing: str, work: Callable[[Say], Any], done: Callable[[Any], None]) -> None:
        """Do `work(say)` in the background, then `done(result)` if the tab still wants it.

        `done` runs under the session's lock. A result for a robot that was changed is dropped.
        """
        with self.session.lock:
            if self._thread is not None:
                self.say(f"Still {self._doing}: one at a time.")
                return
            if self.session.closed.is_set():
                return
            self._doing = doing
            self.say(f"{doing.capitalize()} …")
            arguments = (self.session.robot, work, done)
            self._thread = threading.Thread(
                target=self._run, args=arguments, name=f"studio {doing}", daemon=True
            )
            self._thread.start()

    def say(self, text: str) -> None:
        """A line at the place; empty hides it."""
        self.tell(plain(text))

    def tell(self, markdown: str) -> None:
        """Show Markdown below the button."""
        if not self.session.closed.is_set():
            self.place.content, self.place.visible = markdown, bool(markdown)

    def _run(self, robot: Any, work: Callable[[Say], Any], done: Callable[[Any], None]) -> None:
        result, error = None, ""
        try:
            result = work(self.say)
        except Exception as found:
            error = _said(found)
        with self.session.lock:
            self._thread = None
            if self.session.closed.is_set():
                return
            if not error and self.session.robot is not robot:
                self.say("The robot was changed meanwhile: nothing was kept.")
                return
            self.tell(error)
            if not error:
                try:
                    done(result)
                except Exception as found:
                    self.tell(_said(found))


def _said(error: Exception) -> str:
    """An error as it is shown; one that is not ours is logged too."""
    if isinstance(error, DynamisError):
        return shown_error(str(error))
    log.error("a job of the studio failed", exc_info=error)
    return shown_error(f"unexpected: {type(error).__name__}: {error}"[:500])
