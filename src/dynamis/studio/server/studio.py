"""The server of `dynamis studio`: viser on loopback behind the guard, one session per tab.

viser has no hook for a key. It opens its port with `websockets`' `serve`; while it does, `serve` is
wrapped to check the key before `process_request`. Whether that works is tested at the start.
"""

import errno
import functools
import hmac
import http.client
import io
import logging
import secrets
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from ...errors import DynamisError, OptionError
from ...lazy import package
from ...robot import Robot, load
from ..pages import PANELS
from ..scene.meshes import read_visuals
from ..scene.view import View
from .guard import KEY, LOCAL, Guard
from .session import Session, drawable, start_pose
from .uploads import Uploads

_OPENING = threading.Lock()  # one server opens its port at a time


def started_backend(label: str) -> tuple[Any, str]:
    """A viser server at a free loopback port, and its key."""
    viser: Any = package("viser", "viser", "the studio", "studio")
    key = secrets.token_urlsafe(32)
    with _OPENING, _locked(key), redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, label=label, verbose=False)
    server.request_share_url = lambda verbose=True: None  # no tunnel to the world
    if _answers(server.get_port()):
        stop_backend(server)
        raise DynamisError(
            "the studio's own server answers without its key",
            "this viser opens its port in another way: install the version dynamis asks for",
        )
    return server, key


def stop_backend(server: Any) -> None:
    """End the server, without its messages on stdout."""
    with _OPENING, redirect_stdout(io.StringIO()):
        server.stop()


@contextmanager
def _locked(key: str) -> Iterator[None]:
    import websockets.asyncio.server as module
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    opened = module.serve

    @functools.wraps(opened)
    def serve(handler: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
        def asked(connection: Any, request: Any) -> Any:
            given = "".join(request.headers.get_all(KEY)).encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(given, key.encode()):
                return Response(403, "Forbidden", Headers({"Content-Length": "0"}))
            return process_request(connection, request) if process_request else None

        return opened(handler, *arguments, process_request=asked, **options)

    module.serve = serve  # type: ignore[assignment]
    try:
        yield
    finally:
        module.serve = opened


def _answers(port: int) -> bool:
    """Whether the server answers requests without the key."""
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        link.request("GET", "/")
        return link.getresponse().status != 403
    except OSError:
        return False
    finally:
        link.close()


HOST, PORT = "127.0.0.1", 8765
MOST_TABS = 64
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
        self.visuals = () if isinstance(robot, Robot) else read_visuals(Path(robot))
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
        self._lock = threading.Lock()
        # a tab may go while its arm moves
        warnings.filterwarnings("ignore", "Queued a .* on a closed connection")
        self.server, key = started_backend("dynamis studio")
        anywhere = host in ("0.0.0.0", "::")
        own = (socket.gethostname().lower(),) if anywhere else (bracketed(host).lower(),)
        names = LOCAL if local else (*LOCAL, *own)
        try:
            self.guard = Guard(
                (HOST, self.server.get_port()), key, host, port, self.token, names, anywhere
            )
        except (OSError, OverflowError) as error:
            stop_backend(self.server)
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
        with self._lock:
            if len(self.sessions) >= MOST_TABS:
                client.add_notification(
                    title="Too many tabs",
                    body=f"This studio has {MOST_TABS} open; close some and load again.",
                    color="red",
                    auto_close_seconds=None,
                )
                return
            session = self.sessions[client.client_id] = Session(client, self.robot, self.visuals)
        try:
            session.uploads = Uploads(client, lambda why: session.say("Not taken", why, "red"))
            View(session)
            tabs = client.gui.add_tab_group()
            for title, panel in PANELS.items():
                with tabs.add_tab(title):
                    _fill(panel, session)
        except Exception:
            if not session.closed.is_set():  # else: the tab went while its page was made
                log.exception("a tab could not be made")
        finally:
            if client.client_id not in self.server.get_clients():
                self._closed(client)  # it went before it was known here

    def _closed(self, client: Any) -> None:
        with self._lock:
            session = self.sessions.pop(client.client_id, None)
        if session is not None:
            session.close()

    def stop(self) -> None:
        """Close every tab and the port."""
        self.guard.stop()
        for session in list(self.sessions.values()):
            session.close()
        stop_backend(self.server)

    def wait(self) -> None:
        """Serve until interrupted."""
        try:
            while True:  # a wait without end would not be interrupted on Windows
                time.sleep(1.0)
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()


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
