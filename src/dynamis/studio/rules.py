"""Who may talk to the studio: what a request says of itself, and what of that is accepted."""

import hmac
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

LOCAL = ("127.0.0.1", "localhost", "[::1]")
NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
TEXT = re.compile(r"[\t\x20-\x7e]*")
TARGET = re.compile(r"/[\x21-\x7e]*")


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error
    """Why a request is turned away."""

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
        raise Refusal("400 Bad Request", "this is not a request") from None
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refusal("400 Bad Request", f"{version[:20]!r} is not spoken here")
    if not TARGET.fullmatch(target):
        raise Refusal("400 Bad Request", "the address is malformed")
    fields: dict[str, str] = {}
    for line in rest:
        name, colon, value = line.partition(":")
        low = name.lower()
        if not (colon and NAME.fullmatch(name) and TEXT.fullmatch(value)) or low in fields:
            raise Refusal("400 Bad Request", "fields are malformed or twice")
        fields[low] = value.strip(" \t")
    return Request(method, target, fields)


@dataclass(frozen=True)
class Rules:
    """Who may come in: by which host names, on which port, with which token (None: without).

    `any_address` also takes every numeric address for a host: no name, nothing to rebind.
    """

    hosts: tuple[str, ...]
    port: int
    token: str | None = None
    any_address: bool = False

    def check(self, request: Request) -> None:
        """Refuse what is not ours."""
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
            raise Refusal("403 Forbidden", f"pages of {origin[:100]!r} may not talk to this studio")
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
