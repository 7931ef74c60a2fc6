"""The Export page: robot, code, controller, run and report as files."""

import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from ...arguments import choice
from ...control import Controller
from ...errors import DynamisWarning, OptionError
from ...realtime.export import export_controller
from ...trajectory.trajectory import Trajectory
from ..server.jobs import Job, Say
from ..server.session import Session, plain, show
from .chart import stem


def written(name: str, write: Callable[[Path], Any]) -> tuple[str, bytes]:
    """The file that `write(path)` leaves; a folder as an archive with one folder of that name."""
    with tempfile.TemporaryDirectory(prefix="dynamis-") as parent:
        made = Path(parent) / name
        write(made)
        if made.is_file():
            return name, made.read_bytes()
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(made.rglob("*")):
                if path.is_file():
                    archive.write(path, str(path.relative_to(parent)))
        return f"{name}.zip", memory.getvalue()


TARGETS = {"C": "c", "MATLAB, Octave": "matlab", "CasADi": "casadi"}
KERNELS = {
    "inverse and forward dynamics": ("inverse_dynamics", "forward_dynamics"),
    "inverse dynamics": ("inverse_dynamics",),
    "forward dynamics": ("forward_dynamics",),
    "M, C qd and g": ("mass_matrix", "coriolis_matrix", "gravity_torque"),
    "kinematics": ("fk", "jacobian"),
    "regressor": ("regressor",),
}
SAMPLE_TIMES = {f"{ms:g}": ms / 1000.0 for ms in (0.5, 1, 2, 5, 10)}
Make = Callable[[], tuple[str, bytes]]


class ExportPanel:
    """A button per file, with errors below it."""

    def __init__(self, session: Session):
        self.session, self.bench = session, session.bench
        self.gui = gui = session.client.gui
        self._groups: list[tuple[list[Any], Any]] = []  # buttons, and where what they lack is said
        with gui.add_folder("Robot"):
            self._buttons({f"Robot as {x}": partial(self._robot, x) for x in ("TOML", "URDF")})
        with gui.add_folder("Code"):
            self.target = gui.add_dropdown("Target", tuple(TARGETS))
            self.kernels = gui.add_dropdown("Functions", tuple(KERNELS))
            self._buttons({"Functions (.zip)": self._kernels})
            self.sample_time = gui.add_dropdown(
                "Sample (ms)", tuple(SAMPLE_TIMES), initial_value="5"
            )
            self.inside = gui.add_checkbox(
                "Reference", False, hint="include the trajectory of the run in the controller"
            )
            self._buttons({"Controller (.zip)": self._controller})
        with gui.add_folder("Results"):
            self._buttons({"Shown run (.csv)": self._run, "Identification (.html)": self._report})
        session.remember(
            "export", target=self.target, kernels=self.kernels, sample_time=self.sample_time,
            inside=self.inside,
        )  # fmt: skip
        for told in (session.on_robot, session.on_results, session.on_bench):
            told(self.show)
        self.show()

    def show(self) -> None:
        """Buttons with nothing to export are off, with the reason below them."""
        bench = self.bench
        lacking = {
            "Controller (.zip)": (bench.controller, "controller: run a move on the Simulate page"),
            "Shown run (.csv)": (bench.run, "run: run a simulation on the Simulate page"),
            "Identification (.html)": (bench.estimate, "identified model: use the Identify page"),
        }
        for buttons, place in self._groups:
            reasons = []
            for button in buttons:
                found, why = lacking.get(button.label, (True, ""))
                button.disabled = found is None
                reasons += [plain(f"No {why}.")] if found is None else []
            show(place, "  \n".join(reasons))

    def _buttons(self, makers: dict[str, Make]) -> None:
        buttons = [(self.gui.add_button(label), make) for label, make in makers.items()]
        missing = self.gui.add_markdown("", visible=False)
        self._groups.append(([button for button, _ in buttons], missing))
        job = Job(self.session, self.gui.add_markdown("", visible=False))
        for button, make in buttons:
            button.on_click(lambda _, make=make: self._send(job, make))

    def _send(self, job: Job, make: Make) -> None:
        """Make it in the background, then let the browser save it."""

        def work(say: Say) -> tuple[str, bytes, list[str]]:
            with warnings.catch_warnings(record=True) as found:  # for the page, not the terminal
                warnings.simplefilter("always", DynamisWarning)
                name, content = make()
            ours = [w for w in found if issubclass(w.category, DynamisWarning)]
            return name, content, [str(w.message) for w in ours]

        def done(made: tuple[str, bytes, list[str]]) -> None:
            name, content, notes = made
            self.session.client.send_file_download(name, content, save_immediately=True)
            job.say(" ".join(notes))

        job.start("writing", work, done)

    def _written(self, ending: str, write: Callable[[Path], Any]) -> tuple[str, bytes]:
        return written(stem(self.session.robot.name) + ending, write)

    def _robot(self, kind: str) -> tuple[str, bytes]:
        return self._written(f".{kind.lower()}", self.session.robot.save)

    def _kernels(self) -> tuple[str, bytes]:
        target, robot = _chosen(self.target, TARGETS), self.session.robot
        names = list(_chosen(self.kernels, KERNELS))
        return self._written(f"_{target}", lambda path: robot.export(names, target, path))

    def _controller(self) -> tuple[str, bytes]:
        controller, run = self.bench.controller, self.bench.run
        target, sample_time = _chosen(self.target, TARGETS), _chosen(self.sample_time, SAMPLE_TIMES)
        if not isinstance(controller, Controller) or run is None:
            raise OptionError("there is no controller yet", "run a move on the Simulate page first")
        reference = self.bench.reference if self.inside.value else None
        if reference is not None and not isinstance(reference, Trajectory):
            raise OptionError(
                "this controller has a target point, not a trajectory", "switch Reference off"
            )

        def write(path: Any) -> None:
            export_controller(
                run.robot, controller, path, sample_time, reference=reference, target=target
            )

        return self._written(f"_controller_{target}", write)

    def _run(self) -> tuple[str, bytes]:
        shown = self.bench.shown
        if shown is None:
            raise OptionError("there is no run yet", "run a simulation on the Simulate page first")
        return self._written(f"_{stem(shown.name, 'run')}.csv", shown.run.save)

    def _report(self) -> tuple[str, bytes]:
        estimate = self.bench.estimate
        if estimate is None:
            raise OptionError("there is no identified model yet", "use the Identify page first")
        return self._written("_identification.html", estimate.report)


def _chosen(field: Any, offered: dict[str, Any]) -> Any:
    return offered[choice(field.value, field.label, offered)]
