"""Playback of a motion in the scene: play, pause, seek, speed; in a thread of its own."""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..server.session import Session

FRAMES = 25  # per second
SPEEDS = ("0.1 x", "0.25 x", "0.5 x", "1 x", "2 x", "4 x")
CHARTS_EVERY = 4  # frames


class Player:
    """Moves a session's arm along q over t; `follow(t)` is told now and then where it is."""

    def __init__(self, session: Session, follow: Callable[[float], None]):
        self.session, self.follow = session, follow
        self._t, self._q = np.zeros(1), np.zeros((1, session.robot.n))
        self.now = 0.0
        self._stop: threading.Event | None = None  # of the thread that plays
        self._moving = False  # whether the pose that changes is ours
        gui = session.client.gui
        self.folder = gui.add_folder("Play", visible=False)
        with self.folder:
            self.button = gui.add_button("Play", icon=_icon("PLAYER_PLAY"))
            self.slider = gui.add_slider("Time (s)", 0.0, 1.0, 0.01, 0.0)
            self.speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1 x")
        self.button.on_click(lambda _: self.toggle())
        self.slider.on_update(self._scrubbed)
        session.on_pose(self._moved)
        session.on_close(self.pause)

    @property
    def is_playing(self) -> bool:
        """Whether the arm moves by itself."""
        return self._stop is not None

    def load(self, t: np.ndarray, q: np.ndarray) -> None:
        """Another motion, shown at its start."""
        with self.session.lock:
            self.pause()
            self._t, self._q = np.asarray(t, float), np.asarray(q, float)
            self.slider.value = 0.0
            self.slider.max = max(float(self._t[-1]), 0.01)
            self.folder.visible = True
            self.seek(0.0)

    def unload(self) -> None:
        """No motion."""
        with self.session.lock:
            self.pause()
            self.folder.visible = False

    def toggle(self) -> None:
        """Play or pause."""
        if self.is_playing:
            self.pause()
        else:
            self.play()

    def play(self) -> None:
        """Go on from here; from the start if this is the end."""
        with self.session.lock:
            if self.is_playing or not self.folder.visible or self.session.closed.is_set():
                return
            if self.now >= self._t[-1] - 1e-9:
                self.seek(0.0)
            self._stop = threading.Event()
            self._label()
            threading.Thread(
                target=self._play, args=(self._stop,), name="studio player", daemon=True
            ).start()

    def pause(self) -> None:
        """Stay here."""
        with self.session.lock:
            if self._stop is not None:
                self._stop.set()
                self._stop = None
                self._label()
                if not self.session.closed.is_set():
                    self.follow(self.now)

    def seek(self, t: float, charts: bool = True) -> None:
        """Show the arm at an instant."""
        with self.session.lock:
            self.now = float(np.clip(t, 0.0, self._t[-1]))
            q = [np.interp(self.now, self._t, row) for row in self._q.T]
            self._moving = True
            try:
                self.session.change_pose(q, playing=True)
            finally:
                self._moving = False
            self.slider.value = min(round(self.now, 2), float(self.slider.max))
            if charts:
                self.follow(self.now)

    def _play(self, stop: threading.Event) -> None:
        frame, last = 0, time.monotonic()
        while not stop.wait(1.0 / FRAMES):
            with self.session.lock:
                if stop.is_set() or self.session.closed.is_set():
                    return
                now = time.monotonic()
                ahead, last, frame = now - last, now, frame + 1
                self.seek(self.now + ahead * self._factor(), frame % CHARTS_EVERY == 0)
                if self.now >= self._t[-1]:
                    self.pause()

    def _factor(self) -> float:
        return float(self.speed.value.split()[0]) if self.speed.value in SPEEDS else 1.0

    def _scrubbed(self, event: Any) -> None:
        if event.client is None:
            return  # we moved it ourselves
        with self.session.lock:
            if self.folder.visible and np.isfinite(self.slider.value):
                self.pause()
                self.seek(self.slider.value)

    def _moved(self) -> None:
        """Somebody else moves the arm: let them."""
        if not self._moving:
            self.pause()

    def _label(self) -> None:
        if self.session.closed.is_set():
            return
        self.button.label = "Pause" if self.is_playing else "Play"
        self.button.icon = _icon("PLAYER_PAUSE" if self.is_playing else "PLAYER_PLAY")


def _icon(name: str) -> Any:
    import viser

    return getattr(viser.Icon, name)
