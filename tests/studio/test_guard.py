"""The guard: raw requests that must be refused, and those that must pass."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("viser", reason="viser is not installed")


@pytest.fixture(scope="module")
def studio(compiled):
    """A studio without a token."""
    from dynamis.studio import Studio

    made = Studio("planar-rr", port=0, token=False)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def secret(compiled):
    """A studio that asks for its token."""
    from dynamis.studio import Studio

    made = Studio("planar-rr", port=0)
    yield made
    made.stop()


def answer(port, head, host="127.0.0.1", end=b"\0"):
    """What comes back for raw bytes, at most 4 kB of it, or up to `end`."""
    with socket.create_connection((host, port)) as link:
        link.sendall(head if isinstance(head, bytes) else head.encode())
        found = b""
        while len(found) < 4096 and end not in found:
            data = link.recv(4096)
            if not data:
                break
            found += data
    return found.decode("latin-1")


def status(port, head):
    """The number of the answer's status."""
    return int(answer(port, head, end=b"\r\n").split(" ")[1])


def get(port, *fields, target="/", host=None, method="GET"):
    """The head of a request."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", *fields]
    return "\r\n".join([*lines, "", ""])


UPGRADE = (
    *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)


def test_the_page_comes_by_every_local_name(studio):
    port = studio.guard.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
        assert status(port, get(port, host=host)) == 200


def test_the_page_cannot_be_framed_nor_leak_its_address(studio):
    head = answer(studio.guard.port, get(studio.guard.port)).partition("\r\n\r\n")[0]
    for field in ("X-Frame-Options: DENY", "Referrer-Policy: no-referrer"):
        assert field in head
    assert "Set-Cookie" not in head


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:{port}.evil",
     "localhost.evil.example:{port}", "127.0.0.1:{port}:{port}", "[::1]", "::1:{port}", ":{port}"],
)  # fmt: skip
def test_other_hosts_are_refused(studio, host):
    port = studio.guard.port
    assert status(port, get(port, host=host.format(port=port))) == 403


def test_a_request_without_host_is_refused(studio):
    assert status(studio.guard.port, "GET / HTTP/1.1\r\n\r\n") == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_other_origins_are_refused(studio, origin):
    port = studio.guard.port
    field = "Origin: " + origin.format(port=port)
    assert status(port, get(port, field)) == 403
    assert status(port, get(port, field, *UPGRADE)) == 403


def test_a_web_socket_needs_an_origin(studio):
    port = studio.guard.port
    assert status(port, get(port, *UPGRADE)) == 403
    assert status(port, get(port, f"Origin: http://127.0.0.1:{port}", *UPGRADE)) == 101


def test_other_sites_may_link_but_not_load(studio):
    port = studio.guard.port
    cross = "Sec-Fetch-Site: cross-site"
    assert status(port, get(port, cross, "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image")) == 403
    assert (
        status(port, get(port, cross, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe")) == 403
    )
    link = ("Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
    assert status(port, get(port, cross, *link)) == 200


def test_the_page_takes_no_other_server_from_its_address(studio):
    """viser's page obeys the server that ?websocket= names, JavaScript included."""
    port = studio.guard.port
    for target in (
        "/?websocket=ws://evil.example",
        "/?token=x&websocket=ws://e",
        "/?playbackPath=x",
    ):
        assert status(port, get(port, target=target)) == 400


@pytest.mark.parametrize("method", ["POST", "PUT", "OPTIONS", "HEAD", "CONNECT", "get"])
def test_only_get_is_answered(studio, method):
    assert status(studio.guard.port, get(studio.guard.port, method=method)) == 405


@pytest.mark.parametrize(
    "field",
    ["Host: 127.0.0.1:{port}", "hOST: evil", "X-Folded: a\r\n b", " X: a", "X : a", "X", ": a",
     "X: a\nHost: evil", "X: a\rY: b", "X: \x00", "X\x00: a", "X: \x7f", "(X): a",
     "Content-Length: 0", "Transfer-Encoding: chunked"],
)  # fmt: skip
def test_malformed_fields_are_refused(studio, field):
    port = studio.guard.port
    assert status(port, get(port, field.format(port=port))) == 400


@pytest.mark.parametrize(
    "first",
    ["GET http://evil.example/ HTTP/1.1", "GET  / HTTP/1.1", "GET / HTTP/2", "GET /", "",
     "GET * HTTP/1.1", "GET /a\tb HTTP/1.1", "\x16\x03\x01"],
)  # fmt: skip
def test_malformed_requests_are_refused(studio, first):
    port = studio.guard.port
    assert status(port, f"{first}\r\nHost: 127.0.0.1:{port}\r\n\r\n") == 400


def test_bytes_beyond_ascii_are_refused(studio):
    head = get(studio.guard.port, "X: \xff").encode("latin-1")
    assert status(studio.guard.port, head) == 400


def test_a_head_that_does_not_end_is_refused(studio):
    assert status(studio.guard.port, "GET / HTTP/1.1\r\n" + 3000 * "X-Long: aaaaaaaaaa\r\n") == 431


def test_a_slow_head_is_not_waited_for(studio, monkeypatch):
    monkeypatch.setattr("dynamis.studio.server.guard.PATIENCE", 0.2)
    assert answer(studio.guard.port, "GET / HTTP/1.1\r\nX") == ""


def test_there_are_not_more_connections_than_allowed(studio, monkeypatch):
    monkeypatch.setattr("dynamis.studio.server.guard.MOST_OPEN", 3)
    port = studio.guard.port
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
    try:
        assert status(port, get(port)) == 503
    finally:
        for link in held:
            link.close()
    while status(port, get(port)) != 200:
        assert studio.guard._thread.is_alive()


def test_what_is_behind_keeps_nobody_without_the_key(studio):
    """viser's own port takes a web socket, and closes it before it told or heard anything."""
    import viser
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    kind = [Subprotocol(f"viser-v{viser.__version__}")]
    address = f"ws://127.0.0.1:{studio.server.get_port()}"
    for fields in ({}, {"X-Dynamis-Key": "wrong"}, {"X-Dynamis-Key": studio.backend.key[:-1]}):
        link = connect(address, subprotocols=kind, additional_headers=fields)
        with link, pytest.raises(ConnectionClosed) as closed:
            link.recv()
        assert closed.value.rcvd.code == 1008
    assert not studio.sessions and not studio.backend.admitted


def test_functions_of_other_libraries_are_as_they_were(studio):
    import viser
    import websockets.asyncio.server as module

    assert module.serve.__module__ == module.__name__
    assert "request_share_url" not in vars(studio.server)
    assert viser.ViserServer.request_share_url.__module__.startswith("viser")


def test_work_is_resumed_by_its_key_alone(secret):
    port, cookie = secret.guard.port, f"Cookie: dynamis_token_{secret.guard.port}={secret.token}"
    for path in ("/resume/a/b", "/resume/a/../b", "/resume/a/", "/size/a/390x844", "/stop/a/b",
                 "/alive/a/now"):  # fmt: skip
        assert status(port, get(port, target=path)) == 401
        assert status(port, get(port, cookie, target=path)) == 404


def test_the_key_comes_from_the_door_alone(studio):
    port = studio.guard.port
    assert status(port, get(port, "X-Dynamis-Key: wrong")) == 200
    assert status(port, get(port, "X-Dynamis-Key-: wrong", *UPGRADE)) == 403
    assert studio.guard.key not in answer(port, get(port))
    assert studio.guard.key not in answer(port, get(port, target="/none"))
    strange = get(port, f"Origin: http://127.0.0.1:{port}", "Upgrade: websocket")
    assert studio.guard.key not in answer(port, strange)


def test_there_is_no_way_in_from_outside(studio):
    assert studio.server.request_share_url() is None
    assert studio.server._share_tunnel is None


def test_without_its_token_nothing_opens(secret):
    port, token = secret.guard.port, secret.token
    origin = f"Origin: http://127.0.0.1:{port}"
    for target in ("/", "/?token=", "/?token=wrong", f"/?token={token}x", "/?token=%ff"):
        assert status(port, get(port, target=target)) == 401
    for cookie in ("dynamis_token=" + token, f"dynamis_token_{port + 1}={token}", f"x={token}"):
        assert status(port, get(port, f"Cookie: {cookie}")) == 401
    assert status(port, get(port, origin, *UPGRADE)) == 401
    assert token not in answer(port, get(port))


def test_the_token_is_kept_in_a_cookie_of_this_port(secret):
    port, token = secret.guard.port, secret.token
    assert secret.address == f"http://127.0.0.1:{port}/?token={token}"
    head = answer(port, get(port, target=f"/?token={token}")).partition("\r\n\r\n")[0]
    assert "200" in head.splitlines()[0]
    (cookie,) = re.findall(r"Set-Cookie: (\S+);(.*)", head)
    assert cookie[0] == f"dynamis_token_{port}={token}"
    assert "HttpOnly" in cookie[1] and "SameSite=Strict" in cookie[1]
    assert status(port, get(port, f"Cookie: a=b; {cookie[0]}")) == 200
    origin = f"Origin: http://127.0.0.1:{port}"
    assert status(port, get(port, origin, f"Cookie: {cookie[0]}", *UPGRADE)) == 101


def test_the_rules_of_a_port_that_browsers_leave_out():
    from dynamis.studio.server.guard import LOCAL, Refusal, Rules, parsed

    rules = Rules(LOCAL, 80)
    for host in ("127.0.0.1", "localhost", "[::1]", "localhost:80"):
        head = f"GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}"
        rules.check(parsed(head.encode()))
    for host in ("evil.example", "localhost:8080", ""):
        with pytest.raises(Refusal, match="not this studio"):
            rules.check(parsed(f"GET / HTTP/1.1\r\nHost: {host}".encode()))


def test_an_open_network_is_asked_by_number_or_by_this_machines_name():
    from dynamis.studio.server.guard import LOCAL, Refusal, Rules, parsed

    rules = Rules((*LOCAL, "bench"), 8765, None, any_address=True)
    for host in ("192.168.1.5:8765", "[fe80::1]:8765", "bench:8765"):
        rules.check(parsed(f"GET / HTTP/1.1\r\nHost: {host}".encode()))
    for host in ("192.168.1.5", "evil.example:8765", "192.168.1.5.nip.io:8765"):
        with pytest.raises(Refusal):
            rules.check(parsed(f"GET / HTTP/1.1\r\nHost: {host}".encode()))


def test_away_from_loopback_a_token_cannot_be_left_out(compiled):
    from dynamis.errors import OptionError
    from dynamis.studio import Studio

    with pytest.raises(OptionError, match="a token is required"):
        Studio("planar-rr", "0.0.0.0", 0, token=False)


@pytest.mark.parametrize("host", ["", " ", None])
def test_no_host_is_not_every_network(host, compiled):
    """An empty address would listen everywhere."""
    from dynamis.errors import OptionError
    from dynamis.realtime.loop.plant import PlantServer
    from dynamis.robot import load
    from dynamis.studio import Studio

    with pytest.raises(OptionError, match="expected an address"):
        Studio("planar-rr", host, 0)
    with pytest.raises(OptionError, match="expected an address"):
        PlantServer(load("planar-rr"), 0, host=host)


def test_a_taken_port_is_said(studio):
    from dynamis.errors import OptionError
    from dynamis.studio import Studio

    for port in (studio.guard.port, 70_000):
        with pytest.raises(OptionError, match=f"port {port}"):
            Studio("planar-rr", port=port)


def test_ipv6_has_brackets(compiled):
    from dynamis.studio import Studio

    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").exists():
        pytest.skip("no IPv6 here")
    made = Studio("planar-rr", "::1", 0)
    try:
        port = made.guard.port
        query = f"/?token={made.token}"
        assert made.address == f"http://[::1]:{port}{query}"
        head = answer(port, get(port, host=f"[::1]:{port}", target=query), host="::1")
        assert head.startswith("HTTP/1.1 200")
    finally:
        made.stop()


def test_localhost_is_one_door(compiled):
    """By its name it would be two, IPv4 and IPv6, with a port each."""
    from dynamis.studio import Studio

    made = Studio("planar-rr", "localhost", 0)
    try:
        port = made.guard.port
        assert len(made.guard._server.sockets) == 1
        assert status(port, get(port, host=f"localhost:{port}")) == 401
        assert (
            status(port, get(port, host=f"localhost:{port}", target=f"/?token={made.token}")) == 200
        )
    finally:
        made.stop()


def test_the_command_prints_where_and_ends_when_asked(tmp_path):
    words = [sys.executable, "-m", "dynamis", "studio", "planar-rr", "--port", "0", "--json"]
    # a background job ignores SIGINT, and so would its children
    default = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    run = subprocess.Popen(words, **pipes, preexec_fn=default)  # noqa: PLW1509
    try:
        lines = [run.stdout.readline() for _ in range(3)]
        address = json.loads("".join(lines))["address"]
        parts = urlsplit(address)
        for target, expected in (("/", 401), (f"/?{parts.query}", 200)):
            link = http.client.HTTPConnection(parts.netloc)
            link.request("GET", target)
            assert link.getresponse().status == expected
            link.close()
        run.send_signal(signal.SIGINT)
        rest, talk = run.communicate()
    finally:
        run.kill()
    assert rest == "" and run.returncode == 0
    assert "Ctrl+C" in talk and "Traceback" not in talk


@pytest.mark.thorough
def test_a_robot_that_is_not_there_is_said():
    words = [sys.executable, "-m", "dynamis", "studio", "puma561", "--port", "0"]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert run.returncode == 2 and "did you mean 'puma560'" in run.stderr


def test_without_viser_the_package_is_named(monkeypatch):
    from dynamis.errors import MissingPackageError
    from dynamis.studio.server.studio import Backend

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingPackageError, match=r"pip install .*\[studio\]"):
        Backend("x")
