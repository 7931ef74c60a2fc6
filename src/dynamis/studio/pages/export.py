"""The Export page: robot, code, controller, run and report as files."""

import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...control import Controller
from ...errors import DynamisWarning, OptionError
from ...realtime.export import export_controller
from ...trajectory.trajectory import Trajectory
from ..server.job import Job, Say
from ..server.session import Results, Session
from .chart import stem


@contextmanager
def noticing() -> Iterator[list[str]]:
    """What dynamis warns of in the block: it belongs on the page, not on the terminal."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", DynamisWarning)
        yield notes
    notes += [str(w.message) for w in found if issubclass(w.category, DynamisWarning)]


def one_file(name: str, write: Callable[[Path], Any]) -> bytes:
    """What `write(path)` leaves at a path of that name."""
    with tempfile.TemporaryDirectory(prefix="dynamis-") as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def zipped(name: str, write: Callable[[Path], Any]) -> bytes:
    """The files that `write(folder)` leaves, as an archive with one folder of that name."""
    with tempfile.TemporaryDirectory(prefix="dynamis-") as parent:
        folder = Path(parent) / name
        write(folder)
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, str(path.relative_to(parent)))
        return memory.getvalue()


TARGETS = {"C": "c", "MATLAB, Octave": "matlab", "CasADi": "casadi"}
KERNELS = {
    "inverse and forward dynamics": ("inverse_dynamics", "forward_dynamics"),
    "inverse dynamics": ("inverse_dynamics",),
    "forward dynamics": ("forward_dynamics",),
    "M, C qd and g": ("mass_matrix", "coriolis_matrix", "gravity_torque"),
    "kinematics": ("fk", "jacobian"),
    "regressor": ("regressor",),
}
SAMPLE_TIMES = ("0.5", "1", "2", "5", "10")  # ms
Make = Callable[[], tuple[str, bytes]]


class ExportPanel:
    """A button per file, with errors below it."""

    def __init__(self, session: Session):
        self.session, self.bench = session, Results.of(session)
        self.gui = gui = session.client.gui
        with gui.add_folder("Robot"):
            self._buttons(
                {"Robot as TOML": self._robot("toml"), "Robot as URDF": self._robot("urdf")}
            )
        with gui.add_folder("Code"):
            self.target = gui.add_dropdown("Target", tuple(TARGETS))
            self.kernels = gui.add_dropdown("Functions", tuple(KERNELS))
            self._buttons({"Functions (.zip)": self._kernels})
            self.sample_time = gui.add_dropdown("Sample (ms)", SAMPLE_TIMES, initial_value="5")
            self.inside = gui.add_checkbox(
                "Reference", False, hint="include the trajectory of the run in the controller"
            )
            self._buttons({"Controller (.zip)": self._controller})
        with gui.add_folder("Results"):
            self._buttons({"Last run (.csv)": self._run, "Identification (.html)": self._report})

    def _buttons(self, makers: dict[str, Make]) -> None:
        buttons = [(self.gui.add_button(label), make) for label, make in makers.items()]
        job = Job(self.session, self.gui.add_markdown("", visible=False))
        for button, make in buttons:
            button.on_click(lambda _, make=make: self._send(job, make))

    def _send(self, job: Job, make: Make) -> None:
        """Make it in the background, then let the browser save it."""

        def work(say: Say) -> tuple[str, bytes, list[str]]:
            with noticing() as notes:
                name, content = make()
            return name, content, notes

        def done(made: tuple[str, bytes, list[str]]) -> None:
            name, content, notes = made
            self.session.client.send_file_download(name, content, save_immediately=True)
            job.say(" ".join(notes))

        job.start("writing", work, done)

    @property
    def _stem(self) -> str:
        return stem(self.session.robot.name)

    def _robot(self, kind: str) -> Make:
        return lambda: self._file(f".{kind}", self.session.robot.save)

    def _file(self, ending: str, write: Callable[[Path], Any]) -> tuple[str, bytes]:
        name = self._stem + ending
        return name, one_file(name, write)

    def _kernels(self) -> tuple[str, bytes]:
        target, robot = self._target(), self.session.robot
        names = KERNELS.get(self.kernels.value)
        if names is None:
            raise OptionError(f"there are no functions {self.kernels.value!r}")
        folder = f"{self._stem}_{target}"
        made = zipped(folder, lambda path: robot.export(list(names), target, path))
        return f"{folder}.zip", made

    def _controller(self) -> tuple[str, bytes]:
        controller, run, target = self.bench.controller, self.bench.run, self._target()
        if not isinstance(controller, Controller) or run is None:
            raise OptionError("there is no controller yet", "run a move on the Simulate page first")
        reference = self.bench.reference if self.inside.value else None
        if reference is not None and not isinstance(reference, Trajectory):
            raise OptionError(
                "this controller has a target point, not a trajectory",
                "switch Reference off",
            )
        folder = f"{self._stem}_controller_{target}"

        def write(path: Any) -> None:
            export_controller(
                controller, run.robot, path, self._sample_time(),
                reference=reference, target=target,
            )  # fmt: skip

        return f"{folder}.zip", zipped(folder, write)

    def _run(self) -> tuple[str, bytes]:
        run = self.bench.run
        if run is None:
            raise OptionError("there is no run yet", "run a simulation on the Simulate page first")
        return self._file("_run.csv", run.save)

    def _report(self) -> tuple[str, bytes]:
        estimate = self.bench.estimate
        if estimate is None:
            raise OptionError("there is no identified model yet", "use the Identify page first")
        return self._file("_identification.html", estimate.report)

    def _target(self) -> str:
        if self.target.value not in TARGETS:
            raise OptionError(f"there is no target {self.target.value!r}")
        return TARGETS[self.target.value]

    def _sample_time(self) -> float:
        if self.sample_time.value not in SAMPLE_TIMES:
            raise OptionError(f"sample time {self.sample_time.value!r} is not offered")
        return float(self.sample_time.value) / 1000.0
