"""Throttling of events, such as those of a slider that is dragged."""

import logging
import threading
from collections.abc import Callable

Job = Callable[[], None]
log = logging.getLogger("dynamis.studio")


class Latest:
    """Runs a job at once; what is asked while it runs is answered by one more run."""

    def __init__(self, job: Job):
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

    def __init__(self, job: Job, wait: float, restart: bool = False):
        self._job, self._wait, self._restart = job, wait, restart
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
