"""Jobs of a tab: in the background, with progress below a button, or throttled as a slider is.

A job is cancelled by an exception that CPython raises in its thread, at the next line of Python
that it runs: what is computed in machine code at that moment ends first.
"""

import ctypes
import logging
import threading
from collections.abc import Callable
from typing import Any

from ...errors import DynamisError
from .session import Session, plain, show, shown_error

log = logging.getLogger("dynamis.studio")
Say = Callable[[str], None]


class Cancelled(BaseException):
    """Raised in the thread of a job that is not wanted any more."""


class Job:
    """Runs what a button asks for in a thread; `place` is a markdown that shows how it goes.

    A button to cancel it is made below the place, and shown while it runs.
    """

    def __init__(self, session: Session, place: Any):
        self.session, self.place = session, place
        self._thread: threading.Thread | None = None
        self._doing = ""
        self._turn = threading.Lock()
        self._interruptible = self._cancelled = False
        self.button = session.client.gui.add_button("Cancel", icon="x", color="gray", visible=False)
        self.button.on_click(lambda _: self.cancel())
        session.on_close(self.cancel)

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
            self._doing, self._cancelled, self._interruptible = doing, False, True
            self.say(f"{doing.capitalize()} …")
            self.button.visible = True
            self._thread = in_thread(f"studio {doing}", self._run, self.session.robot, work, done)

    def cancel(self) -> None:
        """End what is under way; its result is not wanted."""
        with self._turn:
            thread = self._thread
            if thread is None or not self._interruptible or self._cancelled:
                return
            self._cancelled = True
            self.say(f"Cancelling {self._doing} …")
            _raise_in(thread, Cancelled)

    def say(self, text: str) -> None:
        """A line at the place; empty hides it."""
        self.tell(plain(text))

    def clear(self) -> None:
        """Nothing at the place, unless work is under way."""
        if not self.is_running:
            self.say("")

    def tell(self, markdown: str) -> None:
        """Show Markdown below the button."""
        if not self.session.closed.is_set():
            show(self.place, markdown)

    def _run(self, robot: Any, work: Callable[[Say], Any], done: Callable[[Any], None]) -> None:
        result, error = None, ""
        try:
            result, error = self._outcome(work)
            self._finished()
        except Cancelled:  # it came after the work
            self._finished()
        with self.session.lock:
            self._thread = None
            if self.session.closed.is_set():
                return
            self.button.visible = False
            if self._cancelled:
                self.say("Cancelled.")
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

    def _outcome(self, work: Callable[[Say], Any]) -> tuple[Any, str]:
        """What the work gave, or its error as it is shown."""
        try:
            return work(self.say), ""
        except Cancelled:
            return None, ""
        except Exception as found:
            return None, _said(found)

    def _finished(self) -> None:
        """From here on the job cannot be cancelled."""
        with self._turn:
            self._interruptible = False
            _raise_in(threading.current_thread(), None)  # one that is on its way is taken back


def _raise_in(thread: threading.Thread, kind: type[BaseException] | None) -> None:
    """Have another thread raise an exception, or with None take back one it has not yet raised."""
    number = ctypes.c_ulong(thread.ident or 0)
    given = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(number, given)


def _said(error: Exception) -> str:
    """An error as it is shown; one that is not ours is logged too."""
    if isinstance(error, DynamisError):
        return shown_error(str(error))
    log.error("a job of the studio failed", exc_info=error)
    return shown_error(f"unexpected: {type(error).__name__}: {error}"[:500])


def by_hand(field: Any, job: Callable[[], None]) -> None:
    """Run a job when the page, not this program, gives a field another value."""
    field.on_update(lambda event: event.client is not None and job())


def in_thread(name: str, job: Callable[..., None], *arguments: Any) -> threading.Thread:
    """A thread that was started, and does not keep the process alive."""
    thread = threading.Thread(target=job, args=arguments, name=name, daemon=True)
    thread.start()
    return thread


class Latest:
    """Runs a job at once; what is asked while it runs is answered by one more run."""

    def __init__(self, job: Callable[[], None]):
        self._job = job
        self._lock = threading.Lock()
        self._asked = self._running = False

    def ask(self) -> None:
        """Run the job soon; the one who finds it idle runs it."""
        with self._lock:
            self._asked = True
            if self._running:
                return
            self._running = True
        while True:
            with self._lock:
                if not self._asked:
                    self._running = False
                    return
                self._asked = False
            try:
                self._job()
            except BaseException:
                with self._lock:
                    self._running = False
                raise


class Soon:
    """Runs a job `wait` seconds after it is asked for, in a thread of its own.

    Further requests until then change nothing, or with `restart` start the wait again: then the
    job runs when the typing rests.
    """

    def __init__(
        self, session: Session, job: Callable[[], None], wait: float, restart: bool = False
    ):
        self._job, self._wait, self._restart = job, wait, restart
        session.on_close(self.end)
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._ended = False

    def ask(self) -> None:
        """Run the job after the wait."""
        with self._lock:
            if self._ended or (self._timer is not None and not self._restart):
                return
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(self._wait, self._run)
            self._timer.daemon = True
            self._timer.start()

    @property
    def pending(self) -> bool:
        """Whether it was asked for and has not begun."""
        return self._timer is not None

    def cancel(self) -> None:
        """Forget what was asked for."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _run(self) -> None:
        with self._lock:
            if self._ended or self._timer is not threading.current_thread():
                return
            self._timer = None
        try:
            self._job()
        except Exception:
            log.exception("a job of the studio failed")

    def end(self) -> None:
        """Run no more."""
        self._ended = True
        self.cancel()
