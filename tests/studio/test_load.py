"""Many tabs that come and go while arms move: nothing fails, nothing stays."""

import gc
import logging
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

viser = pytest.importorskip("viser", reason="viser is not installed")

ROUND = 15  # quick tabs, beside the real ones
REAL = 1
SEEN = 10_000  # bytes that a tab gets at least
GROWTH = 30e6  # bytes that a second round may keep


class QuickTab:
    """A tab without a browser: says where its camera is, and reads what comes."""

    def __init__(self, studio):
        import msgspec
        from websockets.sync.client import connect
        from websockets.typing import Subprotocol

        port = studio.guard.port
        self.link = connect(
            f"ws://127.0.0.1:{port}/?token={studio.token}",
            origin=f"http://127.0.0.1:{port}",
            subprotocols=[Subprotocol(f"viser-v{viser.__version__}")],
            max_size=None,
            compression=None,
        )
        camera = {
            "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "fov": 1.0, "near": 0.01,
            "position": (1.0, 1.0, 1.0), "far": 100.0, "image_height": 800, "image_width": 1280,
            "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
        }  # fmt: skip
        self.link.send(msgspec.msgpack.encode(camera))
        self.bytes = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        from websockets.exceptions import ConnectionClosed

        try:
            for data in self.link:
                self.bytes += len(data)
        except ConnectionClosed:
            pass

    def close(self):
        """Leave."""
        self.link.close()
        self.reader.join()


def wait(studio, true):
    """Wait until something holds, as long as there is a studio that could bring it about."""
    while not true():
        assert studio.guard._thread.is_alive(), "the studio is gone"
        time.sleep(0.05)


def resident():
    """Bytes of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def own_threads():
    """Threads, but for the pool of the web server, which fills up to its bound when busy."""
    return sum(not x.name.startswith("ThreadPoolExecutor") for x in threading.enumerate())


def one_round(studio, count):
    """Tabs come, their arms move, they go, half of them in mid-motion."""
    tabs = [QuickTab(studio) for _ in range(count)]
    wait(studio, lambda: len(studio.sessions) >= count)
    sessions = list(studio.sessions.values())
    for k in range(20):
        for session in sessions:
            session.change_pose(0.02 * k * np.ones(session.robot.n))
        if k == 10:
            for tab in tabs[::2]:
                tab.close()
    wait(studio, lambda: all(tab.bytes > SEEN for tab in tabs[1::2]))  # what they were sent
    for tab in tabs:
        tab.close()
    wait(studio, lambda: not studio.sessions)
    wait(studio, lambda: all(session.closed.is_set() for session in sessions))


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_many_tabs_come_and_go(compiled, caplog, capfd):
    from dynamis.studio import Studio

    caplog.set_level(logging.WARNING)
    studio = Studio("planar-rr", port=0)
    try:
        one_round(studio, ROUND)
        one_round(studio, ROUND)
        before, threads = resident(), own_threads()
        one_round(studio, ROUND)
        assert resident() - before < GROWTH
        assert own_threads() <= threads + 2
    finally:
        studio.stop()
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err and "exception" not in (out + err).lower()
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []


@pytest.mark.thorough
def test_real_tabs_come_and_go_while_an_arm_moves(browser, studio, capfd, caplog):
    from .conftest import Tab

    still, stop = Tab(browser, studio), threading.Event()
    moved = still.session

    def play():
        for k in range(10_000):
            if stop.wait(0.1):
                return
            moved.change_pose(0.3 * np.sin(0.1 * k) * np.ones(6))

    player = threading.Thread(target=play)
    player.start()
    try:
        for _ in range(REAL):
            Tab(browser, studio).close()
        wait(studio, lambda: len(studio.sessions) == 1)
        still.session = None  # the page gets another
        still.page.reload()
        still.sees(still.page.get_by_role("tab").first)
        wait(studio, lambda: still.number not in studio.sessions)
        assert still.errors == []
    finally:
        stop.set()
        player.join()
        still.close()
    wait(studio, lambda: not studio.sessions)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert [r for r in caplog.records if r.levelno >= logging.ERROR] == []


def test_too_many_tabs_are_told(compiled, monkeypatch):
    from dynamis.studio import Studio

    monkeypatch.setattr("dynamis.studio.server.studio.MOST_TABS", 2)
    studio = Studio("planar-rr", port=0)
    try:
        tabs = [QuickTab(studio) for _ in range(3)]
        wait(studio, lambda: len(studio.server.get_clients()) == 3)
        wait(studio, lambda: all(tab.bytes for tab in tabs))
        assert len(studio.sessions) == 2
        for tab in tabs:
            tab.close()
        wait(studio, lambda: not studio.sessions)
    finally:
        studio.stop()


def test_what_was_chosen_is_there_again(compiled):
    """Every dropdown, box and slider but those that belong to a part or a pose of the robot."""
    from dynamis.studio import Studio

    studio = Studio("planar-rr", port=0)
    try:
        tabs = [QuickTab(studio) for _ in range(2)]
        wait(studio, lambda: len(studio.sessions) == 2)
        first, again = studio.sessions.values()
        chosen = {}
        with first.lock:
            first.change_pose([0.3, 0.2])
            for name, field in first._settings.items():
                if hasattr(field, "options"):
                    field.value = field.options[-1]
                elif isinstance(field.value, bool):
                    field.value = not field.value
                elif hasattr(field, "max"):
                    field.value = field.max
                chosen[name] = field.value
        assert {name.partition(".")[0] for name in chosen} == {
            *("simulate", "equations", "identify", "export", "pose", "ik")
        }
        again.adopt(first.work())
        with again.lock:
            assert {name: field.value for name, field in again._settings.items()} == chosen
        for tab in tabs:
            tab.close()
    finally:
        studio.stop()
