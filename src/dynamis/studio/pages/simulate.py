"""The Simulate page: free motion, or motion under a controller."""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...control import Controller
from ...simulation import Run
from ..server.jobs import Job, by_hand, in_thread
from ..server.session import Session, plain, show
from .chart import Chart, markdown_table
from .experiment import LAWS, TUNED, Experiment, Gains, target, targets

# playback of a motion in the scene

FRAMES = 25  # per second
SPEEDS = {f"{x:g} x": x for x in (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)}
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
            self.button = gui.add_button("Play", icon="player-play")
            self.slider = gui.add_slider("Time (s)", 0.0, 1.0, 0.01, 0.0)
            self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1 x")
        self.button.on_click(lambda _: self.pause() if self.is_playing else self.play())
        by_hand(self.slider, self._scrubbed)
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

    def play(self) -> None:
        """Go on from here; from the start if this is the end."""
        with self.session.lock:
            if self.is_playing or not self.folder.visible or self.session.closed.is_set():
                return
            if self.now >= self._t[-1] - 1e-9:
                self.seek(0.0)
            self._stop = threading.Event()
            self._label()
            in_thread("studio player", self._play, self._stop)

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
            self.session.view.show_time(self.now)
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
                speed = SPEEDS.get(self.speed.value, 1.0)
                self.seek(self.now + ahead * speed, frame % CHARTS_EVERY == 0)
                if self.now >= self._t[-1]:
                    self.pause()

    def _scrubbed(self) -> None:
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
        self.button.icon = "player-pause" if self.is_playing else "player-play"


STEPS = ("0.1", "0.5", "1", "2", "5")  # ms
FALL, MOVE = "Free motion", "Move to a target"


class SimulatePanel:
    """Settings, a button, a player, plots and the tracking errors."""

    def __init__(self, session: Session):
        self.session, self.bench = session, session.bench
        self._random = np.random.default_rng()
        gui = session.client.gui
        self.fields = self._settings(gui)
        self.button = gui.add_button("Run")
        self.job = Job(session, gui.add_markdown("", visible=False))
        self.player = Player(session, self._follow)
        with session.view.charts:
            self.charts = {
                "q": Chart(gui, "Positions (rad, m)"),
                "tau": Chart(gui, "Torques (N m, N)"),
                "error": Chart(gui, "Errors (rad, m)"),
            }
            self.others = gui.add_checkbox("Passive joints", False, visible=False)
            self.charts["others"] = Chart(gui, "Positions of passive joints (rad, m)")
            self.metrics = gui.add_markdown("", visible=False)
        self.button.on_click(lambda _: self.run())
        self.fields.kind.on_update(lambda _: self._suit())
        self.fields.law.on_update(lambda _: self._suit())
        self.others.on_update(lambda _: self._show_others())
        session.on_robot(self._replaced)
        self._suit()

    def _settings(self, gui: Any) -> SimpleNamespace:
        with gui.add_folder("Motion"):
            motion = {
                "kind": gui.add_dropdown("What", (FALL, MOVE), hint="from the current pose"),
                "target": gui.add_dropdown("Target", targets(self.session.robot)),
                "moving": gui.add_slider("Move for (s)", 0.2, 10.0, 0.1, 2.0),
                "duration": gui.add_slider("Duration (s)", 0.2, 20.0, 0.1, 3.0),
                "step": gui.add_dropdown("Step (ms)", STEPS, initial_value="1"),
                "friction": gui.add_checkbox("Friction", True),
                "stops": gui.add_checkbox("Joint stops", False),
            }
        self.control = gui.add_folder("Controller")
        with self.control:
            control = {
                "law": gui.add_dropdown("Law", tuple(LAWS)),
                "bandwidth": gui.add_slider(
                    "Bandwidth", 1.0, 80.0, 0.5, 20.0, hint="rad/s, of the closed-loop poles"
                ),
                "damping": gui.add_slider("Damping", 0.1, 2.0, 0.05, 1.0),
                "integral": gui.add_checkbox("Integral", False),
                "model_error": gui.add_slider(
                    "Model error (%)", -50.0, 50.0, 1.0, 0.0,
                    hint="mass error of the controller's model",
                ),
                "adaptation": gui.add_slider("Adaptation", 0.0, 20.0, 0.1, 1.0),
            }  # fmt: skip
        return SimpleNamespace(**motion, **control)

    def _suit(self) -> None:
        """Show the fields that apply."""
        f = self.fields
        moves = f.kind.value == MOVE
        self.control.visible = f.target.visible = moves
        f.moving.visible = moves and f.law.value != "Point to point"
        for name in TUNED:
            getattr(f, name).visible = name in LAWS.get(f.law.value, ())

    def _replaced(self) -> None:
        """Another robot: its targets, and nothing to play."""
        self.player.unload()
        self.session.view.show_run(None)
        self.bench.run = self.bench.controller = self.bench.reference = None
        for chart in self.charts.values():
            chart.folder.visible = False
        self.metrics.visible = self.others.visible = False
        self.job.clear()
        self.fields.target.options = targets(self.session.robot)

    def asked(self) -> Experiment:
        """The simulation that the fields describe."""
        f, robot = self.fields, self.session.robot
        moves = f.kind.value == MOVE
        return Experiment(
            robot,
            np.array(self.session.placed),
            duration=float(f.duration.value),
            dt=float(f.step.value) / 1000.0,
            friction=f.friction.value,
            stops=f.stops.value,
            target=self._target() if moves else None,
            moving=float(f.moving.value),
            law=f.law.value,
            gains=Gains(**{name: getattr(f, name).value for name in TUNED}),
        )

    def _target(self) -> np.ndarray:
        return target(
            self.session.robot, self.fields.target.value, self._random, self.session.placed
        )

    def run(self) -> None:
        """Simulate in the background."""
        if not self.job.is_running:
            self.player.pause()
        self.job.start("simulating", lambda say: self.asked().run(), self._shown)

    def _shown(self, result: tuple[Run, Controller | None, Any]) -> None:
        run, controller, reference = result
        self.session.ask_before_leaving()
        self.bench.run, self.bench.controller, self.bench.reference = run, controller, reference
        drives = list(run.robot.driven) or list(range(run.robot.n))
        names = [run.robot.joint_names[k] for k in drives]
        self.charts["q"].show(run.t, run.q[:, drives], names)
        self.charts["tau"].show(run.t, run.tau[:, drives], names)
        self.others.visible = len(drives) < run.robot.n
        self._show_others()
        self.charts["error"].folder.visible = self.metrics.visible = run.error is not None
        if run.error is not None:
            self.charts["error"].show(run.t, run.error, names)
            head, *rows = run.metrics.cells()
            show(self.metrics, "**Tracking error**\n\n" + markdown_table(head, rows, 3))
        self.session.view.show_run(run)
        self.player.load(run.t, run.q)
        self.job.tell(self._summary(run, controller))
        self.player.play()

    def _show_others(self) -> None:
        """Joints without a drive of a closed mechanism, where they are asked for."""
        with self.session.lock:
            run, chart = self.bench.run, self.charts["others"]
            chart.folder.visible = False
            if run is None or not (self.others.visible and self.others.value):
                return
            rest = [k for k in range(run.robot.n) if k not in run.robot.driven]
            chart.show(run.t, run.q[:, rest], [run.robot.joint_names[k] for k in rest])
            chart.now(self.player.now)

    def _summary(self, run: Run, controller: Controller | None) -> str:
        said = f"{run.t[-1]:g} s, {len(run.t)} instants, largest torque {_largest(run.tau)}."
        if controller is None and run.stuck.all():
            said += " Static friction holds the arm at rest."
        if controller is not None:
            gains = controller.gains(run.robot)
            shown = (f"{k} {_range(gains[k])}" for k in ("kp", "kd", "ki") if any(gains.get(k, ())))
            said += f" Gains: {', '.join(shown)}."
        text = plain(said)
        return f"**{plain(run.message)}** {text}" if run.message else text

    def _follow(self, t: float) -> None:
        for chart in self.charts.values():
            chart.now(t)


def _largest(values: np.ndarray) -> str:
    finite = np.abs(values[np.isfinite(values)])
    return f"{finite.max():.3g}" if finite.size else "none"


def _range(gains: Any) -> str:
    low, high = min(gains), max(gains)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
