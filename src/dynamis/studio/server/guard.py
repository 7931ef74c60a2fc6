"""Access control of the studio: a proxy that passes on authorised requests only.

A page of any web site can make a visitor's browser send requests to 127.0.0.1. So before a byte
reaches the studio, the request must name its host (against DNS rebinding), come from its own page
(Origin), and carry the token if there is one. One request per connection; only GET is answered,
and only fields that the studio needs are passed on. The guard itself answers `/resume/KEY/KEY`,
with which a page that was loaded again asks for the work that it had, `/size/KEY/WIDTHxHEIGHT`,
with which a page says how large it is now, and `/alive/KEY/now`, with which it finds out whether
the studio still runs and knows it.

The server behind listens on loopback at a port of its own and has no access control. viser has no
hook before a web socket is accepted, and functions of viser and websockets are not replaced: a
connection without the key that the guard adds is closed before it gets or tells anything
(`dynamis.studio.server.studio.Backend`). Without it that port serves viser's public page alone.
"""

import asyncio
import hmac
import ipaddress
import logging
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl

# requests, and the rules that accept them

LOCAL = ("127.0.0.1", "localhost", "[::1]")
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
TEXT = re.compile(r"[\t\x20-\x7e]*")
TARGET = re.compile(r"/[\x21-\x7e]*")


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """Status and reason of a refused request."""

    def __init__(self, status: str, why: str):
        super().__init__(why)
        self.status, self.why = status, why


@dataclass(frozen=True)
class Request:
    """The head of a request: its first line and its fields, names in lower case."""

    method: str
    target: str
    fields: Mapping[str, str]

    @property
    def is_upgrade(self) -> bool:
        """Whether it asks for a web socket."""
        return self.fields.get("upgrade", "").lower() == "websocket"

    @property
    def path(self) -> str:
        """What is asked for."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> list[tuple[str, str]]:
        """What follows the question mark."""
        return parse_qsl(self.target.partition("?")[2], keep_blank_values=True)


def parsed(head: bytes) -> Request:
    """The request that these bytes are."""
    try:
        first, *rest = head.decode("ascii").split("\r\n")
        method, target, version = first.split(" ")
    except ValueError:
        raise Refusal("400 Bad Request", "not an HTTP request") from None
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refusal("400 Bad Request", f"{version[:20]!r} is not supported")
    if not TARGET.fullmatch(target):
        raise Refusal("400 Bad Request", "the address is malformed")
    fields: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        low = name.lower()
        if not (colon and NAME.fullmatch(name) and TEXT.fullmatch(value)) or low in fields:
            raise Refusal("400 Bad Request", "header fields are malformed or repeated")
        fields[low] = value.strip(" \t")
    return Request(method, target, fields)


@dataclass(frozen=True)
class Rules:
    """What is allowed: host names, port, token (None: no token).

    `any_address` also takes every numeric address for a host: no name, nothing to rebind.
    """

    hosts: tuple[str, ...]
    port: int
    token: str | None = None
    any_address: bool = False

    def check(self, request: Request) -> None:
        """Raise a Refusal unless the request is allowed."""
        if request.method != "GET":
            raise Refusal("405 Method Not Allowed", "only GET is answered")
        if "content-length" in request.fields or "transfer-encoding" in request.fields:
            raise Refusal("400 Bad Request", "a body is not expected")
        host = request.fields.get("host", "").lower()
        if not self._ours(host):
            raise Refusal("403 Forbidden", f"host {host[:100]!r} is not this studio")
        self._check_sender(request, host)
        # viser's page would connect wherever ?websocket=... in its address says, and obey
        if any(name != "token" for name, _ in request.query):
            raise Refusal("400 Bad Request", "the address has parameters that are not known")
        if self.token is not None and not any(
            hmac.compare_digest(given.encode(), self.token.encode())
            for given in self.tokens(request)
        ):
            raise Refusal("401 Unauthorized", "open the address with ?token=... that was printed")

    def _ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or "]" in port:  # no port is named
            name, port = host, "80"
        if port != str(self.port):
            return False
        return name in self.hosts or (self.any_address and _is_address(name))

    def _check_sender(self, request: Request, host: str) -> None:
        origin = request.fields.get("origin")
        if origin is not None and origin.lower() != f"http://{host}":
            raise Refusal("403 Forbidden", f"pages of {origin[:100]!r} have no access")
        if request.is_upgrade and origin is None:
            raise Refusal("403 Forbidden", "a web socket needs an Origin")
        site = request.fields.get("sec-fetch-site", "same-origin")
        followed = (  # a link to the studio on another page
            request.fields.get("sec-fetch-mode") == "navigate"
            and request.fields.get("sec-fetch-dest") == "document"
        )
        if site not in ("same-origin", "none") and not followed:
            raise Refusal("403 Forbidden", "other sites may not load this studio")

    @property
    def cookie_name(self) -> str:
        """One per port: browsers share cookies between the ports of a host."""
        return f"dynamis_token_{self.port}"

    def cookie(self, request: Request) -> str | None:
        """The field that keeps a token given in the address, so that later requests carry it."""
        if self.token is None or not request.query:
            return None
        return f"Set-Cookie: {self.cookie_name}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def tokens(self, request: Request) -> list[str]:
        """Tokens that a request carries: in its address, in its cookie."""
        found = [value for name, value in request.query if name == "token"]
        for part in request.fields.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie_name:
                found.append(value)
        return found


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


LONGEST_HEAD = 32_768  # bytes
PATIENCE = 10.0  # s for a request to arrive
STALL = 60.0  # s for whoever is at the other end to take what it asked for
MOST_OPEN = 256  # connections at a time
KEY = "X-Dynamis-Key"  # what the proxy adds, and the server behind it asks for
PASSED = ("Host", "Accept-Encoding")
PASSED_UPGRADE = (
    *("Host", "Origin", "Sec-WebSocket-Key", "Sec-WebSocket-Version"),
    *("Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions"),
)
# no frames around the studio, no token in a Referer, no handle for whoever opened the window
ADDED = (
    *("X-Frame-Options: DENY", "Referrer-Policy: no-referrer", "Cache-Control: no-store"),
    *("Cross-Origin-Opener-Policy: same-origin", "X-Content-Type-Options: nosniff"),
)
OWN = re.compile(r"/([a-z]+)/([\w-]{1,64})/([\w-]{1,64})", re.ASCII)  # what, the session's key, how
log = logging.getLogger("dynamis.studio")


class Guard:
    """Listens at `host` and `port` (0: any free one) and passes what `Rules` allow to `backend`.

    `own` are requests that the guard answers itself, by their first word: each gets the key of a
    session and another word, and says whether it could be done.
    """

    def __init__(
        self,
        backend: tuple[str, int],
        key: str,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        names: tuple[str, ...] = LOCAL,
        any_address: bool = False,
        own: Mapping[str, Callable[[str, str], bool]] = MappingProxyType({}),
    ):
        self.backend, self.key, self.host, self.own = backend, key, host, dict(own)
        self.refused = self._open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="guard", daemon=True)
        self._thread.start()
        try:
            listening = asyncio.start_server(
                self._serve, host, port, limit=LONGEST_HEAD, start_serving=False
            )
            self._server: asyncio.Server = self._wait(listening)
            self.port: int = self._server.sockets[0].getsockname()[1]
            self.rules = Rules(names, self.port, token, any_address)
            self._wait(self._server.start_serving())
        except BaseException:
            self._end()
            raise

    def _wait(self, job: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(job, self._loop).result(timeout=30)

    def stop(self) -> None:
        """Close the port and all connections."""

        async def close() -> None:
            self._server.close()
            tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        if self._thread.is_alive():
            with suppress(TimeoutError):
                self._wait(close())
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open > MOST_OPEN:
                raise Refusal("503 Service Unavailable", "too many connections")
            request = await self._request(reader)
            self.rules.check(request)
            asked = OWN.fullmatch(request.path)
            if asked and asked[1] in self.own:
                await self._answer_own(asked[1], asked[2], asked[3], writer)
            else:
                await self._pass_on(request, reader, writer)
        except Refusal as refusal:
            self.refused += 1
            with suppress(OSError, TimeoutError):
                await _send(writer, _answer(refusal))
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the client closed the connection
        except asyncio.CancelledError:
            pass  # stop was called
        except Exception:
            log.exception("a request was not served")
        finally:
            self._open -= 1
            with suppress(OSError):
                writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> Request:
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise Refusal(
                "431 Request Header Fields Too Large", "the request is too long"
            ) from None
        return parsed(head[:-4])

    async def _answer_own(
        self, what: str, key: str, how: str, writer: asyncio.StreamWriter
    ) -> None:
        if not await self._loop.run_in_executor(None, self.own[what], key, how):
            raise Refusal("404 Not Found", "there is no such tab, or no work of it")
        await _send(writer, b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")

    async def _pass_on(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        behind, ahead = await asyncio.open_connection(*self.backend)
        try:
            ahead.write(self._head(request))
            if request.is_upgrade:
                await _both(_pipe(behind, writer), _pipe(reader, ahead))
                return
            async with asyncio.timeout(STALL):
                first = await behind.readline()
                cookie = self.rules.cookie(request)
                added = [*ADDED, cookie] if cookie else ADDED
                writer.write(first + "".join(f"{line}\r\n" for line in added).encode("ascii"))
                await _pipe(behind, writer)
        finally:
            ahead.close()

    def _head(self, request: Request) -> bytes:
        """What the server behind is asked: lines of our own making."""
        names = PASSED_UPGRADE if request.is_upgrade else PASSED
        given = [(name, request.fields.get(name.lower())) for name in names]
        lines = [f"{name}: {value}" for name, value in given if value is not None]
        if request.is_upgrade:
            lines += ["Upgrade: websocket", "Connection: Upgrade"]
        else:
            lines += ["Connection: close"]
        first = f"GET {request.path} HTTP/1.1"
        return "\r\n".join([first, *lines, f"{KEY}: {self.key}", "", ""]).encode("ascii")


async def _both(*pipes: Any) -> None:
    """Until one of them ends."""
    tasks = [asyncio.ensure_future(pipe) for pipe in pipes]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError, TimeoutError):
        while data := await source.read(65_536):
            await _send(sink, data)


async def _send(sink: asyncio.StreamWriter, data: bytes) -> None:
    sink.write(data)
    async with asyncio.timeout(STALL):
        await sink.drain()


def _answer(refusal: Refusal) -> bytes:
    body = f"{refusal.why}\n".encode()
    return (
        f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nX-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    ).encode() + body
