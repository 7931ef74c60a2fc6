"""The Identify page: a model identified from a log."""

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from ...control import ComputedTorque
from ...errors import DynamisError, FileError, OptionError
from ...excite.design import excite
from ...identify import ESTIMATORS, FRICTIONS, Estimate, identify
from ...identify.processing import checked_logs
from ...identify.verdict.error_split import HEAD as SPLIT_HEAD
from ...identify.verdict.error_split import percent
from ...ik.driven import deciding
from ...ik.follow import follow
from ...logs.log import Log
from ...logs.read import read_log
from ...logs.source import open_source
from ...robot import Robot
from ...simulation import Sensors
from ...simulation.simulator import simulated
from ..server.jobs import Job, by_hand
from ..server.session import Session, plain, shown_error
from .chart import Chart, markdown_table, stem
from .columns import ColumnsPanel, FileColumns
from .experiment import has_friction, heavier, with_friction

HARMONICS, ITERATIONS = 5, 25
STEP, SAMPLE = 1e-3, 2e-3  # s
ENCODER = 2e-5  # rad or m per count
BANDWIDTH = 25.0  # rad/s


@dataclass(frozen=True)
class Trial:
    """Settings of a simulated log: seconds, and the deviations of the arm from its description."""

    period: float = 6.0
    heavier: float = 10.0  # percent
    noise: float = 1.0  # percent of the largest torque

    def log(self, robot: Robot, say: Callable[[str], None]) -> Log:
        """Design the motion, simulate it, and keep what the sensors gave."""
        say("Designing an exciting motion …")
        motion = excite(
            robot, HARMONICS, self.period, starts=1, max_iterations=ITERATIONS, progress=False
        )
        largest = np.maximum(_of_drives(robot, motion.demand.tau), 1e-6)
        real = heavier(robot, self.heavier)
        if not has_friction(real):
            real = with_friction(real, largest)
        say("Simulating it …")
        run = simulated(
            real,
            self.period,
            STEP,
            _start(robot, _of_drives(robot, motion.trajectory(0.0).q)),
            controller=ComputedTorque.from_bandwidth(real, BANDWIDTH, sample_time=SAMPLE),
            reference=motion.trajectory,
            sensors=Sensors(encoder=ENCODER, torque_noise=self.noise / 100.0 * largest),
            progress=False,
        )
        if run.message or run.measured is None:
            raise OptionError(f"the motion could not be simulated: {run.message}")
        seen = run.measured
        return Log(t=seen.t, q=seen.q, tau=seen.tau, name=f"{robot.name}, simulated")


def _of_drives(robot: Robot, values: Any) -> np.ndarray:
    """Of the drives, where values of all joints were given."""
    given = np.asarray(values, float)
    return given[..., list(robot.driven)] if given.shape[-1] == robot.n else given


def _start(robot: Robot, drives: np.ndarray) -> np.ndarray:
    """All joints where a motion of the drives begins."""
    own = drives[deciding(robot, "a simulated log")]
    q, reason = follow(robot, robot.home, own)
    if reason:
        raise OptionError(f"the start of the motion is not reached from home: {reason}")
    return q


# Uploaded logs: untrusted bytes of CSV, npz or Parquet, in a private folder while they are read.
# `read_log` checks the declared size before it reads, and unpickles nothing.

LARGEST_FILE = 50 * 1024**2  # bytes of a file
UNPACKED = 200 * 1024**2  # bytes of all its arrays
KINDS = (".csv", ".tsv", ".txt", ".npz", ".parquet", ".pq")


def uploaded_log(name: str, content: bytes, robot: Robot, **options: Any) -> Log:
    """The log in a file of that name; `options` are those of `read_log`."""
    with _stored(name, content) as path:
        return read_log(path, robot=robot, name=path.name, max_bytes=UNPACKED, **options)


def columns_of(name: str, content: bytes) -> FileColumns:
    """The columns of such a file, whatever they are called."""
    with _stored(name, content) as path:
        table = open_source(path, None, None, UNPACKED)
        widths = {}
        for column in table.names:
            with suppress(DynamisError):
                array = table.array(column)
                if array.ndim:
                    widths[column] = 1 if array.ndim == 1 else array.shape[1]
        return FileColumns(widths, dict(table.units))


@contextmanager
def _stored(name: str, content: bytes) -> Iterator[Path]:
    """The file in a private folder, for as long as it is read; errors do not name the folder."""
    shown, kind = safe_name(name)
    if kind not in KINDS:
        raise FileError(f"{shown!r} is no log, expected a file that ends in {', '.join(KINDS)}")
    if len(content) > LARGEST_FILE:
        raise FileError(
            f"{shown!r} has {len(content) / 1024**2:.0f} MB, expected at most "
            f"{LARGEST_FILE // 1024**2} MB",
            "take every k-th row, or identify with dy.identify",
        )
    if not content:
        raise FileError(f"{shown!r} is empty")
    with tempfile.TemporaryDirectory(prefix="dynamis-") as folder:
        path = Path(folder) / shown
        path.write_bytes(content)
        try:
            yield path
        except DynamisError as error:
            text, hint = (x and x.replace(f"{folder}/", "") for x in (error.message, error.hint))
            raise FileError(text or "", hint) from None


def safe_name(name: str) -> tuple[str, str]:
    """A file name of letters, digits and few marks, and its ending in lower case."""
    last = PureWindowsPath(name)
    clean, kind = stem(last.stem, "log"), last.suffix.lower()
    ending = re.sub(r"[^a-z0-9_-]+", "_", kind.removeprefix("."))
    return (f"{clean}.{ending[:10]}", f".{ending}") if ending else (clean, "")


LARGEST = 12  # parameters in the table
LONGEST = 46  # characters of a name there
BETWEEN = "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}"


class IdentifyPanel:
    """A log (uploaded or simulated), the options, and the result."""

    def __init__(self, session: Session):
        self.session, self.bench = session, session.bench
        self._keeping = False  # while the identified robot takes the place of the first one
        gui = session.client.gui
        with gui.add_folder("Log"):
            self.upload = gui.add_upload_button("Upload (.csv, .npz, .parquet)")
            self.choose = gui.add_button("Choose its columns", icon="columns", visible=False)
            self.columns = ColumnsPanel(
                session, lambda options: self._read(self.bench.uploaded, options)
            )
            self.period = gui.add_slider("Seconds", 2.0, 20.0, 1.0, 6.0)
            self.heavier = gui.add_slider(
                "Heavier (%)", -30.0, 50.0, 1.0, 10.0,
                hint="additional mass of the simulated arm",
            )  # fmt: skip
            self.noise = gui.add_slider(
                "Noise (%)", 0.0, 10.0, 0.5, 1.0, hint="of the largest torque of a joint"
            )
            self.make = gui.add_button("Simulate a log")
            self.log_job = Job(session, gui.add_markdown("No log yet."))
        with gui.add_folder("Model"):
            self.friction = gui.add_dropdown(
                "Friction", (*FRICTIONS, "auto"), initial_value="smooth"
            )
            self.estimator = gui.add_dropdown(
                "Estimator", tuple(ESTIMATORS), initial_value="feasible"
            )
            self.prior = gui.add_slider(
                "Prior (rows)", 0.0, 200.0, 1.0, 10.0,
                hint="weight of the described robot, in rows of data",
            )  # fmt: skip
            self.button = gui.add_button("Identify")
            self.job = Job(session, gui.add_markdown("", visible=False))
        self.results = gui.add_folder("Result", visible=False)
        with self.results:
            self.summary = gui.add_markdown("")
            self.use = gui.add_button("Use the identified model")
            self.joint = gui.add_dropdown("Joint", session.robot.drive_names)
            self.chart = Chart(gui, "Torque (N m, N)", now=False)
            self.numbers = gui.add_markdown("")
        self.upload.on_upload(lambda event: self._read(event.target.value))
        self.choose.on_click(lambda _: self._choose())
        self.make.on_click(lambda _: self._make())
        self.button.on_click(lambda _: self._identify())
        self.use.on_click(lambda _: self._use())
        self.estimator.on_update(
            lambda _: setattr(self.prior, "visible", self.estimator.value.endswith("feasible"))
        )
        by_hand(self.joint, self._draw)
        session.remember(
            "identify", friction=self.friction, estimator=self.estimator, prior=self.prior,
            period=self.period, heavier=self.heavier, noise=self.noise, columns=self.columns,
        )  # fmt: skip
        session.on_robot(self._replaced)
        session.on_results(self._resumed)
        session.uploads.limit(
            self.upload, LARGEST_FILE, lambda why: self.log_job.tell(shown_error(why))
        )

    def _replaced(self) -> None:
        """Another robot: logs and results are not its own. Those of an edited one stay."""
        same = self.bench.log is None or self.bench.log.n == len(self.session.robot.driven)
        if self._keeping or (self.session.kept and same):
            return
        self.bench.log = self.bench.estimate = self.bench.uploaded = None
        self.session.results_changed()
        self.results.visible = self.choose.visible = False
        self.columns.hide()
        self.log_job.say("No log yet.")
        self.job.clear()

    def _resumed(self) -> None:
        """Results that the tab had before it was loaded again."""
        self.choose.visible = self.bench.uploaded is not None
        if self.bench.log is not None:
            self._tell_log(self.bench.log)
        else:
            self._choose()
        if self.bench.estimate is not None:
            self._shown(self.bench.estimate)

    # the log

    def _read(self, file: Any, options: Any = None) -> None:
        robot, self.bench.uploaded = self.session.robot, file
        self.session.touched = True

        def work(say: Any) -> Log | tuple[FileColumns, str]:
            try:
                return uploaded_log(file.name, file.content, robot, **options or {})
            except FileError as error:
                found = columns_of(file.name, file.content)  # raises where it is no table at all
                return found, str(error)

        self.log_job.start("reading the log", work, self._got)

    def _choose(self) -> None:
        """Let the columns be chosen, also of a log whose columns were recognised."""
        file = self.bench.uploaded
        if file is not None:
            self.log_job.start(
                "reading the columns",
                lambda say: (columns_of(file.name, file.content), ""),
                self._got,
            )

    def _make(self) -> None:
        robot = self.session.robot
        self.bench.uploaded = None
        trial = Trial(*(float(x.value) for x in (self.period, self.heavier, self.noise)))
        self.log_job.start("simulating a log", lambda say: trial.log(robot, say), self._got)

    def _got(self, found: Log | tuple[FileColumns, str]) -> None:
        self.choose.visible = self.bench.uploaded is not None
        if isinstance(found, tuple):
            columns, error = found
            self.columns.offer(columns)
            if error:
                self.log_job.tell(shown_error(error))
            elif self.bench.log is not None:
                self._tell_log(self.bench.log)
            return
        checked_logs(found, self.session.robot)
        self.columns.hide()
        self.bench.log = found
        self.session.touched = True
        self.job.clear()
        self._tell_log(found)

    def _tell_log(self, log: Log) -> None:
        lines = [
            f"**{plain(log.name)}**: {len(log)} samples, {log.duration:.4g} s, {log.rate:.4g} Hz."
        ]
        lines += [plain(f"{f.level}: {f.what}") for f in log.findings[:4]]
        self.log_job.tell("  \n".join(lines))

    # the model

    def _identify(self) -> None:
        robot, log = self.session.robot, self.bench.log

        def work(say: Any) -> Estimate:
            if log is None:
                raise OptionError("there is no log yet", "upload or simulate one")
            estimator = self.estimator.value
            return identify(
                robot,
                log,
                friction=self.friction.value,
                estimator=estimator,
                prior=float(self.prior.value) if estimator.endswith("feasible") else None,
            )

        self.job.start("identifying", work, self._shown)

    def _shown(self, estimate: Estimate) -> None:
        self.bench.estimate = estimate
        self.session.results_changed()
        self.session.touched = True
        self.summary.content = summary(estimate)
        self.numbers.content = parameters(estimate)
        self.results.visible = True
        names = self.session.robot.drive_names
        if tuple(self.joint.options) != tuple(names):
            self.joint.options = names
        self._draw()

    def _draw(self) -> None:
        """Measured and predicted torque of the chosen joint."""
        with self.session.lock:
            estimate = self.bench.estimate
            if estimate is None:
                return
            fit = estimate.training[0]
            names = list(fit.joint_names)
            i = names.index(self.joint.value) if self.joint.value in names else 0
            rows = np.stack([fit.measured[:, i], fit.predicted[:, i]], axis=1)
            self.chart.show(fit.t - fit.t[0], rows, ("measured", "predicted"))

    def _use(self) -> None:
        """The identified robot takes the place of the one it started from."""
        with self.session.lock, self.session.shown_at(self.job.place):
            estimate = self.bench.estimate
            if estimate is None:
                raise OptionError("there is no identified model yet")
            self._keeping = True
            try:
                self.session.change_robot(estimate.robot, keep_pose=True)
            finally:
                self._keeping = False
            self.session.say("Using the identified model", repr(estimate))


def summary(estimate: Estimate) -> str:
    """The verdict and the error to quote, in its parts, then the errors of each joint."""
    quoted = estimate.comparison()
    body = "is" if estimate.is_physical else "**is not**"
    lines = [f"**{estimate.verdict.level}**: {plain(estimate.verdict.reason)}."]
    error = f"**{percent(quoted.split.error)}** relative error of the torque as logged"
    repeat = estimate.held_out is not None and estimate.held_out.is_repeat
    kind = f" ({estimate.held_out.kind})" if repeat and estimate.held_out else ""
    lines.append(f"On {plain(quoted.where)}{kind}: {error}; {quoted.split.said}.")
    lines.append(
        f"{len(estimate.names)} unknowns, {plain(estimate.friction)} friction, condition "
        f"{estimate.condition_number:.3g}. The model {body} physically consistent."
    )
    table = markdown_table(SPLIT_HEAD, quoted.split.cells(), 4)
    said = [plain(f"{f.level}: {f.what}") for f in estimate.findings[:4]]
    return "\n\n".join([" ".join(lines), table, *said])


def parameters(estimate: Estimate) -> str:
    """The largest parameters with their standard deviations."""
    order = np.argsort(-np.abs(estimate.values), kind="stable")[:LARGEST]
    known = zip(estimate.values[order], estimate.standard_deviations[order], strict=True)
    names = [_short(estimate.names[k]) for k in order]
    rows = [(name, _with_deviation(*one)) for name, one in zip(names, known, strict=True)]
    many = f"The {len(rows)} largest of {len(estimate.names)} parameters"
    return f"**{many}**\n\n" + markdown_table(("parameter", "value ± std"), rows, 1)


def _short(name: str) -> str:
    text = name.replace("**2", "²").replace("**3", "³").replace("*", " ")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _with_deviation(value: float, deviation: float) -> str:
    """As many digits as the deviation leaves."""
    if not np.isfinite(deviation) or deviation <= 0.0:
        return f"{value:.4g}{BETWEEN}{deviation:.1g}"
    digits = int(np.clip(np.floor(np.log10(max(abs(value), deviation) / deviation)) + 2, 1, 8))
    return f"{value:.{digits}g}{BETWEEN}{deviation:.1g}"
