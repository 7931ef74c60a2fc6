"""The viser server behind the guard: on loopback, and closed to requests without its key.

viser has no hook for this. It opens its port with `websockets`' `serve`; while it does, `serve` is
wrapped to check the key before `process_request`. Whether that works is tested at the start.
"""

import functools
import hmac
import http.client
import io
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from ...errors import DynamisError, MissingPackageError
from .guard import KEY

_OPENING = threading.Lock()  # one server opens its port at a time


def started_backend(label: str) -> tuple[Any, str]:
    """A viser server at a free loopback port, and its key."""
    try:
        import viser
    except ImportError:
        raise MissingPackageError(
            "the studio needs viser", 'pip install "dynamis[studio]"'
        ) from None
    key = secrets.token_urlsafe(32)
    with _OPENING, _locked(key), redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=0, label=label, verbose=False)
    server.request_share_url = _no_tunnel  # type: ignore[method-assign]
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


def _no_tunnel(verbose: bool = True) -> None:
    """Sharing over a public tunnel is disabled."""


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
