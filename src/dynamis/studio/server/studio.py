"""The server of `dynamis studio`: viser on loopback behind the guard, one session per tab."""

import errno
import hmac
import io
import logging
import re
import secrets
import socket
import threading
import time
import warnings
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from ...errors import DynamisError, OptionError
from ...lazy import package
from ...robot import Robot, load
from ..pages import panels
from ..scene.view import SceneView
from .guard import KEY, LOCAL, Guard
from .session import Session, Work, drawable, start_pose
from .uploads import READERS, Uploads, shown_name

PANELS = panels()
_OPENING = threading.Lock()  # stdout is redirected for one server at a time
LONGEST_END = 60.0  # s, that a server's thread is waited for


class Backend:
    """A viser server at a free loopback port that keeps only clients whose requests had its `key`.

    viser accepts every web socket; `_admit` runs before it sends or reads the first message, and
    closes the connection. `admitted` are the numbers of the clients that may have a session.
    """

    def __init__(self, label: str):
        viser: Any = package("viser", "viser", "the studio", "studio")

        class Server(viser.ViserServer):
            def request_share_url(self, verbose: bool = True) -> None:
                """No tunnel to the world."""

        self.key, self.admitted = secrets.token_urlsafe(32), set[int]()
        with _OPENING, redirect_stdout(io.StringIO()):
            self.server = Server(host="127.0.0.1", port=0, label=label, verbose=False)
        self._sockets: Any = getattr(self.server, "_websock_server", None)
        if not hasattr(self._sockets, "_live_connections"):
            self.stop()
            raise DynamisError(
                "this viser does not show the requests of its web sockets, so their key cannot be "
                "checked",
                "install the version of viser that dynamis asks for",
            )
        self._sockets.on_client_connect(self._admit)

    async def _admit(self, client: Any) -> None:
        link = self._sockets._live_connections[client.client_id]
        given = "".join(link.request.headers.get_all(KEY)).encode("utf-8", "surrogateescape")
        if hmac.compare_digest(given, self.key.encode()):
            self.admitted.add(client.client_id)
        else:
            await link.close(1008, "not through the studio's own port")

    def stop(self) -> None:
        """End the server, without its messages on stdout."""
        with _OPENING, redirect_stdout(io.StringIO()):
            self.server.stop()  # waits for a second; on a slow machine its thread says more then
            thread = getattr(self._sockets, "_server_thread", None)
            if thread is not None:
                thread.join(LONGEST_END)


HOST, PORT = "127.0.0.1", 8765
MOST_TABS = 64
MOST_KEPT = 16  # closed tabs whose work is kept for a page that is loaded again
NAME = "dynamis studio"
log = logging.getLogger("dynamis.studio")


class Studio:
    """A studio that serves until `stop`: `address` is what to open in a browser.

    Requests without the token of the address are refused. `token=False` leaves it out, on loopback
    only; then other users and programs of this machine have access.
    """

    def __init__(
        self,
        robot: Robot | str | Path = "puma560",
        host: str = HOST,
        port: int = PORT,
        *,
        token: bool = True,
    ):
        self.robot = robot if isinstance(robot, Robot) else load(robot)
        given = "" if isinstance(robot, Robot) else str(robot)
        self.file = shown_name(given) if Path(given).suffix in READERS else ""
        drawable(self.robot, start_pose(self.robot))
        if not isinstance(host, str) or not host.strip():
            raise OptionError(
                f"host is {host!r}, expected an address such as {HOST}",
                "0.0.0.0 listens on all interfaces",
            )
        host = HOST if host == "localhost" else host
        local = host in (HOST, "::1")
        if not local and not token:
            raise OptionError(f"host is {host!r}: a token is required except on loopback")
        self.token = secrets.token_urlsafe(16) if token else None
        self.sessions: dict[int, Session] = {}
        self._closed_tabs: dict[str, Work] = {}  # by key, the oldest first
        self._lock = threading.Lock()
        # a tab may go while its arm moves
        warnings.filterwarnings("ignore", "Queued a .* on a closed connection")
        self.backend = Backend(NAME)
        self.server = self.backend.server
        anywhere = host in ("0.0.0.0", "::")
        own = (socket.gethostname().lower(),) if anywhere else (bracketed(host).lower(),)
        names = LOCAL if local else (*LOCAL, *own)
        try:
            self.guard = Guard(
                (HOST, self.server.get_port()), self.backend.key, host, port, self.token, names,
                anywhere, {"resume": self.resume, "size": self.resized, "alive": self.has_tab},
            )  # fmt: skip
        except (OSError, OverflowError) as error:
            self.backend.stop()
            taken = getattr(error, "errno", None) == errno.EADDRINUSE
            hint = "another studio may be running there; give another port, or 0 for any"
            raise OptionError(
                f"cannot listen at {host} port {port}: {getattr(error, 'strerror', None) or error}",
                hint if taken else "",
            ) from None
        shown = {"0.0.0.0": HOST, "::": "[::1]"}.get(host, bracketed(host))
        query = f"/?token={self.token}" if self.token else "/"
        self.address = f"http://{shown}:{self.guard.port}{query}"
        self.server.on_client_connect(self._opened)
        self.server.on_client_disconnect(self._closed)

    def _opened(self, client: Any) -> None:
        if client.client_id not in self.backend.admitted:
            return
        session = Session(client, self.robot)
        session.file = self.file
        with session.lock:  # whatever changes it waits until all pages are made
            with self._lock:
                if len(self.sessions) >= MOST_TABS:
                    client.add_notification(
                        title="Too many tabs",
                        body=f"This studio has {MOST_TABS} open; close some and load again.",
                        color="red",
                        auto_close_seconds=None,
                    )
                    return
                self.sessions[client.client_id] = session
            try:
                self._make_pages(session)
            except Exception:
                if not session.closed.is_set():  # else: the tab went while its page was made
                    log.exception("a tab could not be made")
            finally:
                if client.client_id not in self.server.get_clients():
                    self._closed(client)  # it went before it was known here

    def _make_pages(self, session: Session) -> None:
        client = session.client
        session.run_script("alive.js", KEY=session.key)  # first: a server may end at any time
        session.uploads = Uploads(client, lambda why: session.say("Not taken", why, "red"))
        SceneView(session)
        tabs = client.gui.add_tab_group()
        for title, panel in PANELS.items():
            with tabs.add_tab(title):
                _fill(panel, session)
        session.on_robot(lambda: _name(session))
        _name(session)
        session.run_script("tab.js", KEY=session.key, PAGES=",".join(PANELS))

    def _closed(self, client: Any) -> None:
        self.backend.admitted.discard(client.client_id)
        session = self.sessions.get(client.client_id)
        if session is None:
            return
        work = session.work() if session.touched else None
        with self._lock:
            self.sessions.pop(client.client_id, None)
            if work is not None:
                self._closed_tabs[session.key] = work
                for key in list(self._closed_tabs)[:-MOST_KEPT]:
                    del self._closed_tabs[key]
        session.close()

    def resume(self, key: str, before: str) -> bool:
        """Give the session of that key the work of the one before; whether there is any.

        The key is known to the page of a tab alone; a page that was duplicated gets a copy.
        """
        with self._lock:
            known = {session.key: session for session in self.sessions.values()}
            session, other = known.get(key), known.get(before)
            work = self._closed_tabs.get(before)
        if other is not None and other.touched:
            work = other.work()
        if session is None or work is None:
            return False
        session.adopt(work)
        return True

    def has_tab(self, key: str, _: str) -> bool:
        """Whether a page is still connected to its session."""
        with self._lock:
            return any(session.key == key for session in self.sessions.values())

    def resized(self, key: str, size: str) -> bool:
        """The page of that session has WIDTHxHEIGHT pixels now; whether that could be noted."""
        with self._lock:
            known = {session.key: session for session in self.sessions.values()}
        session, found = known.get(key), re.fullmatch(r"([0-9]{1,5})x([0-9]{1,5})", size)
        if session is None or session.view is None or found is None:
            return False
        session.view.resized(int(found[1]), int(found[2]))
        return True

    def stop(self) -> None:
        """Close every tab and the port."""
        self.guard.stop()
        for session in list(self.sessions.values()):
            session.close()
        self.backend.stop()

    def wait(self) -> None:
        """Serve until interrupted."""
        try:
            while True:  # a wait without end would not be interrupted on Windows
                time.sleep(1.0)
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()


def _name(session: Session) -> None:
    """The browser's tab says which robot of which program it shows."""
    session.run_script("title.js", TITLE=f"{session.robot.name} - {NAME}")


def _fill(panel: Any, session: Session) -> None:
    """Make a page; one that fails leaves the others whole."""
    try:
        panel(session)
    except Exception:
        if not session.closed.is_set():
            log.exception("a page could not be made")
            session.client.gui.add_markdown("This page could not be created: see the log.")


def bracketed(host: str) -> str:
    """A host as an address has it: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
