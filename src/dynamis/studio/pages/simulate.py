"""The Simulate page: free motion, or motion under a controller."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...control import Controller
from ...simulation import Run
from ..scene.player import Player
from ..server.job import Job
from ..server.session import Results, Session, plain
from .chart import Chart, markdown_table
from .experiment import LAWS, USES, Experiment, Gains, target, targets

STEPS = ("0.1", "0.5", "1", "2", "5")  # ms
FALL, MOVE = "Free motion", "Move to a target"


@dataclass(frozen=True)
class Fields:
    """The fields of the page."""

    kind: Any
    target: Any
    moving: Any
    duration: Any
    step: Any
    friction: Any
    stops: Any
    law: Any
    bandwidth: Any
    damping: Any
    integral: Any
    model_error: Any
    adaptation: Any


class SimulatePanel:
    """Settings, a button, a player, plots and the tracking errors."""

    def __init__(self, session: Session):
        self.session, self.bench = session, Results.of(session)
        self._random = np.random.default_rng()
        gui = session.client.gui
        self.fields = self._settings(gui)
        self.button = gui.add_button("Run")
        self.job = Job(session, gui.add_markdown("", visible=False))
        self.player = Player(session, self._follow)
        self.charts = {
            "q": Chart(gui, "Positions (rad, m)"),
            "tau": Chart(gui, "Torques (N m, N)"),
            "error": Chart(gui, "Errors (rad, m)"),
        }
        self.metrics = gui.add_markdown("", visible=False)
        self.button.on_click(lambda _: self.run())
        self.fields.kind.on_update(lambda _: self._suit())
        self.fields.law.on_update(lambda _: self._suit())
        session.on_robot(self._replaced)
        self._suit()

    def _settings(self, gui: Any) -> Fields:
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
        return Fields(**motion, **control)

    def _suit(self) -> None:
        """Show the fields that apply."""
        f = self.fields
        moves, used = f.kind.value == MOVE, USES.get(f.law.value, ())
        self.control.visible = moves
        f.target.visible = moves
        f.moving.visible = moves and f.law.value != "Point to point"
        for name in ("damping", "integral", "model_error", "adaptation"):
            getattr(f, name).visible = name in used

    def _replaced(self) -> None:
        """Another robot: its targets, and nothing to play."""
        self.player.unload()
        self.bench.run = self.bench.controller = self.bench.reference = None
        for chart in self.charts.values():
            chart.hide()
        self.metrics.visible = False
        if not self.job.is_running:
            self.job.say("")
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
            target=target(robot, f.target.value, self._random) if moves else None,
            moving=float(f.moving.value),
            law=f.law.value,
            gains=Gains(
                float(f.bandwidth.value),
                float(f.damping.value),
                f.integral.value,
                float(f.model_error.value),
                float(f.adaptation.value),
            ),
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
        names = run.robot.joint_names
        self.charts["q"].show(run.t, run.q, names)
        self.charts["tau"].show(run.t, run.tau, names)
        if run.error is None:
            self.charts["error"].hide()
            self.metrics.visible = False
        else:
            self.charts["error"].show(run.t, run.error, names)
            head, *rows = run.metrics.cells()
            self.metrics.content = "**Tracking error**\n\n" + markdown_table(head, rows, 3)
            self.metrics.visible = True
        self.player.load(run.t, run.q)
        self.job.tell(self._summary(run, controller))
        self.player.play()

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
