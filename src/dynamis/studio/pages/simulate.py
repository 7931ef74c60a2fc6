"""The Simulate page: free motion, or motion under a controller."""

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...control import Controller
from ...dynamics.elastic import coordinate
from ...model.schema import UNITS
from ...simulation import Run
from ...simulation.options import OPTIONS, STUDIO, Option
from ..server.jobs import Job, by_hand, in_thread
from ..server.session import NamedRun, Session, plain, show
from .chart import MOST, Chart, markdown_table, short
from .experiment import LAWS, TUNED, Experiment, Gains, away, target, targets
from .parts import TextField

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


# several runs next to each other

QUANTITIES = {  # what of a run, in the units of what
    "torque": ("tau", "torque"),
    "position": ("q", "position"),
    "velocity": ("qd", "velocity"),
    "tracking error": ("error", "position"),
    "deflection": ("deflection", "position"),
    "motor position": ("motor", "position"),
}


class RunsPanel:
    """The runs that are kept: which one is shown, its name, and one joint of all of them.

    `show` is called when another one is to be shown, or none is left.
    """

    def __init__(self, session: Session, show: Callable[[], None]):
        self.session, self.bench, self._show = session, session.bench, show
        gui = session.client.gui
        self.folder = gui.add_folder("Runs", visible=False)
        with self.folder:
            self.choice = gui.add_dropdown("Shown run", ("",))
            self.name = TextField(session, "Name", self._rename)
            self._named: NamedRun | None = None  # the run whose name the field shows
            self.remove = gui.add_button("Remove this run", icon="trash")
        self.compare = gui.add_folder("Compare runs", visible=False)
        with self.compare:
            self.joint = gui.add_dropdown("Joint", ("",))
            self.quantity = gui.add_dropdown("Quantity", tuple(QUANTITIES))
            self.chart = Chart(gui, "Compared", now=False)
            self.table = gui.add_markdown("")
        by_hand(self.choice, self._choose)
        self.remove.on_click(lambda _: self._remove())
        for field in (self.joint, self.quantity):
            by_hand(field, self.follow)

    def follow(self) -> None:
        """Show what there is."""
        with self.session.lock:
            runs, shown = self.bench.runs, self.bench.shown
            self.folder.visible = bool(runs)
            self.compare.visible = len(runs) > 1
            if shown is None:
                return
            self.choice.options = tuple(x.name for x in runs)
            self.choice.value = shown.name
            self.name.set(shown.name, "Name", another=shown is not self._named)
            self._named = shown
            joints = _driven_names(shown.run)
            if tuple(self.joint.options) != joints:
                moved = np.ptp(np.nan_to_num(shown.run.q[:, _driven(shown.run)]), axis=0)
                self.joint.options = joints
                self.joint.value = joints[int(np.argmax(moved))]
            if len(runs) > 1:
                self._compare(runs)

    def _compare(self, runs: list[NamedRun]) -> None:
        """Curves over the time that all runs have, and figures of each."""
        (attribute, kind), joint = QUANTITIES[self.quantity.value], self.joint.value
        runs = [x for x in runs if joint in _driven_names(x.run)]
        curves = {x.name: _of_joint(x.run, attribute, joint) for x in runs}
        drawn = {name: y for name, y in curves.items() if y is not None}
        robot = runs[0].run.robot
        unit = UNITS[robot.joint_kinds[robot.joint_names.index(joint)]][kind]
        end = min(float(x.run.t[-1]) for x in runs)
        t = np.linspace(0.0, end, MOST)
        self.chart.title = f"{self.quantity.value.capitalize()} of {joint} ({unit})"
        if drawn:
            rows = [np.interp(t, x.run.t, drawn[x.name]) for x in runs if x.name in drawn]
            self.chart.show(t, np.stack(rows, axis=1), tuple(drawn))
        else:
            self.chart.folder.visible = False
        head = ("run", f"largest torque of {joint}", "RMS error", "largest error", "final error")
        self.table.content = markdown_table(head, [_figures(x, joint) for x in runs], 4)

    def _choose(self) -> None:
        with self.session.lock:
            found = [x for x in self.bench.runs if x.name == self.choice.value]
            if found and found[0] is not self.bench.shown:
                self.bench.shown = found[0]
                self._show()

    def _rename(self, name: str) -> None:
        self.bench.rename(name)
        self.follow()

    def _remove(self) -> None:
        with self.session.lock:
            self.bench.runs = [x for x in self.bench.runs if x is not self.bench.shown]
            self.bench.shown = self.bench.runs[-1] if self.bench.runs else None
            self._show()


def _driven(run: Run) -> list[int]:
    """Places of the drives, or of all joints of a robot without any."""
    return list(run.robot.driven) or list(range(run.robot.n))


def _driven_names(run: Run) -> tuple[str, ...]:
    return tuple(run.robot.joint_names[k] for k in _driven(run))


def _of_joint(run: Run, attribute: str, joint: str) -> np.ndarray | None:
    """A quantity of one joint over time; errors are those of the drives alone."""
    values = getattr(run, attribute)
    if values is None:
        return None
    names = _driven_names(run) if attribute == "error" else run.robot.joint_names
    return np.asarray(values)[:, list(names).index(joint)]


def _figures(one: NamedRun, joint: str) -> tuple[str, ...]:
    tau, error = (_of_joint(one.run, name, joint) for name in ("tau", "error"))
    torque = "" if tau is None else _largest(tau)
    if error is None:
        return one.name, torque, "", "", ""
    finite = error[np.isfinite(error)]
    rms = float(np.sqrt(np.mean(finite**2))) if finite.size else np.nan
    return one.name, torque, short(rms), _largest(error), short(float(error[-1]))


STEPS = ("0.1", "0.5", "1", "2", "5")  # ms
FALL, MOVE = "Free motion", "Move to a target"
HERE, TAKEN = "where the arm was put", "taken pose"


class SimulatePanel:
    """Settings, a button, a player, plots and the tracking errors."""

    def __init__(self, session: Session):
        self.session, self.bench = session, session.bench
        self._random = np.random.default_rng()
        self._taken: np.ndarray | None = None  # a pose taken as target
        self._chosen = False  # whether the target was chosen by hand
        self._placed = session.placed  # the pose that the target was chosen for
        gui = session.client.gui
        self.fields = self._settings(gui)
        self.button = gui.add_button("Run", icon="player-play")
        self.job = Job(session, gui.add_markdown("", visible=False))
        self.player = Player(session, self._follow)
        with session.view.charts:
            self.charts = {
                "q": Chart(gui, "Positions (rad, m)"),
                "tau": Chart(gui, "Torques (N m, N)"),
                "error": Chart(gui, "Errors (rad, m)"),
                "deflection": Chart(gui, "Deflections, motor less joint (rad, m)"),
                "motor": Chart(gui, "Motors of elastic joints (rad, m)"),
            }
            self.others = gui.add_checkbox("Passive joints", False, visible=False)
            self.charts["others"] = Chart(gui, "Positions of passive joints (rad, m)")
            self.metrics = gui.add_markdown("", visible=False)
        self.runs = RunsPanel(session, self._show_run)
        self.button.on_click(lambda _: self.run())
        self.take.on_click(lambda _: self._take())
        by_hand(self.fields.target, self._choose_target)
        self.fields.kind.on_update(lambda _: self._suit())
        self.fields.law.on_update(lambda _: self._suit())
        self.others.on_update(lambda _: self._show_others())
        session.remember(
            "simulate", **vars(self.fields), speed=self.player.speed, others=self.others,
            quantity=self.runs.quantity,
        )  # fmt: skip
        session.on_robot(self._replaced)
        session.on_pose(self._put)
        session.on_results(self._show_run)
        self._suit()

    def _settings(self, gui: Any) -> SimpleNamespace:
        robot, start = self.session.robot, self.session.placed
        with gui.add_folder("Motion"):
            motion = {
                "kind": gui.add_dropdown("What", (FALL, MOVE), initial_value=_usual(robot)),
                "start": gui.add_dropdown(
                    "Start", (HERE, *robot.configurations), hint="put it there on the Pose page"
                ),
                "target": gui.add_dropdown(
                    "Target", targets(robot), initial_value=away(robot, start)
                ),
            }
            self.take = gui.add_button("Take the arm's pose as target", icon="target")
            motion |= {
                "moving": gui.add_slider("Move for (s)", 0.2, 10.0, 0.1, 2.0),
                "duration": gui.add_slider(
                    "Duration (s)", 0.2, 20.0, 0.1, 3.0, hint=OPTIONS["duration"].help
                ),
                "step": gui.add_dropdown(
                    "Step (ms)", STEPS, initial_value="1", hint=OPTIONS["dt"].help
                ),
                "friction": gui.add_checkbox("Friction", True),
                **{name: _option(gui, OPTIONS[name]) for name in STUDIO},
            }
        self.control = gui.add_folder("Controller")
        with self.control:
            control = {
                "law": gui.add_dropdown("Law", tuple(LAWS)),
                "bandwidth": gui.add_slider(
                    "Bandwidth (rad/s)", 1.0, 80.0, 0.5, 20.0, hint="of the closed-loop poles"
                ),
                "damping": gui.add_slider("Damping ratio", 0.1, 2.0, 0.05, 1.0),
                "integral": gui.add_checkbox("Integral", False),
                "model_error": gui.add_slider(
                    "Model error (%)", -50.0, 50.0, 1.0, 0.0,
                    hint="mass error of the controller's model",
                ),
                "adaptation": gui.add_slider("Adaptation rate", 0.0, 20.0, 0.1, 1.0),
            }  # fmt: skip
        return SimpleNamespace(**motion, **control)

    def _suit(self) -> None:
        """Show the fields that apply."""
        f = self.fields
        moves = f.kind.value == MOVE
        self.control.visible = f.target.visible = self.take.visible = moves
        f.moving.visible = moves and f.law.value != "Point to point"
        for name in TUNED:
            getattr(f, name).visible = name in LAWS.get(f.law.value, ())

    def _replaced(self) -> None:
        """Another robot: its targets, and nothing to play. Of an edited one the runs are kept."""
        robot = self.session.robot
        if not self.session.kept:
            self._taken, self._chosen = None, False
            self.bench.runs, self.bench.shown = [], None
            self.fields.kind.value = _usual(robot)
            self._show_run()
            self.job.clear()
        self.player.pause()
        self._offer()

    def _offer(self) -> None:
        """The poses there are to start from and to go to; those chosen stay chosen."""
        robot, f = self.session.robot, self.fields
        taken = () if self._taken is None else (TAKEN,)
        for field, names in (
            (f.start, (HERE, *robot.configurations)),
            (f.target, (*taken, *targets(robot))),
        ):
            if tuple(field.options) != names:
                before = field.value
                field.options = names
                field.value = before if before in names else names[0]
        self._put()

    def _put(self) -> None:
        """A target that was not chosen by hand is one to which the arm moves visibly."""
        field, placed = self.fields.target, self.session.placed
        if not self._chosen and placed is not self._placed:
            self._placed = placed
            found = away(self.session.robot, placed, field.value)
            if found != field.value:
                field.value = found

    def _take(self) -> None:
        """The pose of the arm becomes a target."""
        with self.session.lock:
            self._taken, self._chosen = np.array(self.session.q), True
            self._offer()
            self.fields.target.value = TAKEN

    def _choose_target(self) -> None:
        self._chosen = True

    def asked(self) -> Experiment:
        """The simulation that the fields describe."""
        f, robot = self.fields, self.session.robot
        moves, start = f.kind.value == MOVE, self._start()
        return Experiment(
            robot,
            start,
            duration=float(f.duration.value),
            dt=float(f.step.value) / 1000.0,
            friction=f.friction.value,
            target=self._target(start) if moves else None,
            moving=float(f.moving.value),
            law=f.law.value,
            gains=Gains(**{name: getattr(f, name).value for name in TUNED}),
            simulation={name: getattr(f, name).value for name in STUDIO},
        )

    def _start(self) -> np.ndarray:
        named = self.session.robot.configurations
        return np.array(named.get(self.fields.start.value, self.session.placed), float)

    def _target(self, start: np.ndarray) -> np.ndarray:
        if self.fields.target.value == TAKEN and self._taken is not None:
            return self._taken
        return target(self.session.robot, self.fields.target.value, self._random, start)

    def run(self) -> None:
        """Simulate in the background."""
        if not self.job.is_running:
            self.player.pause()
        self.job.start("simulating", lambda say: self._simulated(), self._done)

    def _simulated(self) -> tuple[str, Run, Controller | None, Any]:
        """Run that the fields describe, and its name: the fields may change meanwhile."""
        with self.session.lock:
            f, wanted = self.fields, self.asked()
            move = f"{f.law.value}, to {f.target.value}"
        run, controller, reference = wanted.run()
        for name in ("numerical_damping", "closed_loop_mode"):  # before the page waits for them
            getattr(run, name)
        return ("free motion" if wanted.target is None else move), run, controller, reference

    def _done(self, result: tuple[str, Run, Controller | None, Any]) -> None:
        self.session.touched = True
        self.bench.keep(*result)
        self._show_run()
        self.player.play()

    def _show_run(self) -> None:
        """The run that is to be shown, at its start; nothing where there is none."""
        with self.session.lock:
            self.runs.follow()
            shown = self.bench.shown
            self.session.results_changed()
            if shown is None:
                self.player.unload()
                self.session.view.show_run(None)
                for chart in self.charts.values():
                    chart.folder.visible = False
                self.metrics.visible = self.others.visible = False
                self.job.clear()
                return
            run, drives = shown.run, _driven(shown.run)
            names = _driven_names(run)
            self.charts["q"].show(run.t, run.q[:, drives], names)
            self.charts["tau"].show(run.t, run.tau[:, drives], names)
            self.others.visible = len(drives) < run.robot.n
            self._show_others()
            self.charts["error"].folder.visible = self.metrics.visible = run.error is not None
            if run.error is not None:
                self.charts["error"].show(run.t, run.error, names)
                head, *rows = run.metrics.cells()
                show(self.metrics, "**Tracking error**\n\n" + markdown_table(head, rows, 3))
            self._show_elastic(run)
            self.session.view.show_run(run)
            self.player.load(run.t, run.q)
            self.job.tell(self._summary(run, shown.controller))

    def _show_elastic(self, run: Run) -> None:
        """Deflections and motors of elastic joints, if any, in the colours of their joints."""
        drives = _driven(run)
        joints = [coordinate(run.robot.chain, x) for x in run.robot.chain.elastic]
        for name in ("deflection", "motor"):
            chart = self.charts[name]
            chart.folder.visible = bool(joints)
            if joints:
                values = getattr(run, name)[:, joints]
                names = [run.robot.joint_names[k] for k in joints]
                chart.show(run.t, values, names, [drives.index(k) for k in joints])

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
        said = f"{run.t[-1]:g} s, {len(run.t)} instants, {_largest_efforts(run)}."
        if controller is None and run.stuck.all():
            said += " Static friction holds the arm at rest."
        if controller is not None:
            gains = controller.gains(run.robot)
            shown = (f"{k} {_range(gains[k])}" for k in ("kp", "kd", "ki") if any(gains.get(k, ())))
            said += f" Gains: {', '.join(shown)}."
        if (damping := run.numerical_damping) and damping.damps:
            said += f" Elastic joints: {damping.text}."
        if (mode := run.closed_loop_mode) and not run.diverged:
            said += f" Warning: {mode.text}."
        if np.abs(run.q - run.q[0]).max() < STILL and controller is not None:
            said += " The arm was at its target from the start: choose another one."
        text = plain(said)
        return f"**{plain(run.message)}** {text}" if run.message else text

    def _follow(self, t: float) -> None:
        for chart in self.charts.values():
            chart.now(t)


STILL = 1e-3  # rad or m


def _option(gui: Any, one: Option) -> Any:
    """A field of an option of the simulation: a box to tick, or a number."""
    unit = f" ({one.unit})" if one.unit else ""
    label = one.label or one.name.replace("_", " ").capitalize() + unit
    add = gui.add_checkbox if one.kind is bool else gui.add_number
    return add(label, one.default, hint=one.help)


def _usual(robot: Any) -> str:
    """A move where every joint can be moved, else free motion."""
    return MOVE if robot.driven else FALL


def _largest(values: np.ndarray) -> str:
    finite = np.abs(values[np.isfinite(values)])
    return f"{finite.max():.3g}" if finite.size else "none"


def _largest_efforts(run: Run) -> str:
    """The largest torque, or the largest force where joints slide, and its joint."""
    kinds, said = np.asarray(run.robot.joint_kinds), []
    for kind, what, unit in (("revolute", "torque", "N m"), ("prismatic", "force", "N")):
        joints = np.flatnonzero(kinds == kind)
        sizes = np.where(np.isfinite(run.tau), np.abs(run.tau), 0.0)[:, joints]
        if sizes.size:
            k = int(sizes.max(axis=0).argmax())
            joint = run.robot.joint_names[joints[k]]
            said.append(f"largest {what} {sizes[:, k].max():.3g} {unit} of {joint}")
    return ", ".join(said)


def _range(gains: Any) -> str:
    low, high = min(gains), max(gains)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
