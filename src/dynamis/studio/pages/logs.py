"""Logs of the Identify page: simulated with friction and noise, or uploaded."""

import io
import re
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...control import ComputedTorque
from ...errors import DynamisError, FileError, OptionError
from ...excite.excite import excite
from ...logs.log import Log
from ...logs.read import read_log
from ...robot import Robot
from ...simulation import Sensors, simulate
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
        largest = np.maximum(motion.demand.tau, 1e-6)
        real = heavier(robot, self.heavier)
        if not has_friction(real):
            real = with_friction(real, largest)
        say("Simulating it …")
        run = simulate(
            real,
            self.period,
            STEP,
            motion.trajectory(0.0).q,
            controller=ComputedTorque.from_bandwidth(BANDWIDTH, sample_time=SAMPLE),
            reference=motion.trajectory,
            sensors=Sensors(encoder=ENCODER, torque_noise=self.noise / 100.0 * largest),
            progress=False,
        )
        if run.message or run.measured is None:
            raise OptionError(f"the motion could not be simulated: {run.message}")
        seen = run.measured
        return Log(t=seen.t, q=seen.q, tau=seen.tau, name=f"{robot.name}, simulated")


# Uploaded logs: untrusted bytes of CSV, npz or Parquet. The declared size is checked before
# anything is read; nothing is unpickled (by `read_log`). Files are in a private folder while read.

LARGEST_FILE = 50 * 1024**2  # bytes of a file
UNPACKED = 200 * 1024**2  # bytes of all its arrays
MOST_ARRAYS = 1_000
KINDS = (".csv", ".tsv", ".txt", ".npz", ".parquet", ".pq")
LONGEST_NAME = 60


def uploaded_log(name: str, content: bytes, robot: Robot) -> Log:
    """The log in a file of that name."""
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
    if kind == ".npz":
        _check_archive(content, shown)
    if kind in (".parquet", ".pq"):
        _check_parquet(content, shown)
    with tempfile.TemporaryDirectory(prefix="dynamis-") as folder:
        path = Path(folder) / shown
        path.write_bytes(content)
        try:
            return read_log(path, robot=robot, name=shown)
        except DynamisError as error:
            text, _, hint = str(error).replace(f"{folder}/", "").partition("\nhint: ")
            raise FileError(text, hint or None) from None


def safe_name(name: str) -> tuple[str, str]:
    """A file name of letters, digits and few marks, and its ending in lower case."""
    last = re.split(r"[\\/]", str(name))[-1]
    stem, dot, kind = last.rpartition(".")
    if not dot:
        stem, kind = last, ""
    clean, ending = (re.sub(r"[^A-Za-z0-9_-]+", "_", x) for x in (stem, kind.lower()))
    clean = clean.strip("_")[:LONGEST_NAME] or "log"
    return (f"{clean}.{ending[:10]}", f".{ending}") if ending else (clean, "")


def _check_archive(content: bytes, name: str) -> None:
    """Refuse an archive that unpacks to more than the limits."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            sizes = [member.file_size for member in archive.infolist()]
    except Exception as error:  # whatever a damaged archive makes the reader raise
        raise FileError(
            f"{name} is not an .npz archive: {str(error)[:100]}",
            "is it really what numpy.savez wrote?",
        ) from None
    if len(sizes) > MOST_ARRAYS:
        raise FileError(f"{name} holds {len(sizes)} arrays, expected at most {MOST_ARRAYS}")
    _check_size(sum(sizes), name)


def _check_parquet(content: bytes, name: str) -> None:
    from ...lazy import package

    parquet = package("pyarrow.parquet", "pyarrow", "reading .parquet", "logs")
    try:
        about = parquet.ParquetFile(io.BytesIO(content)).metadata
        values = 0
        for group in range(about.num_row_groups):
            rows = about.row_group(group)
            values += sum(rows.column(k).num_values for k in range(rows.num_columns))
        packed = about.num_rows * about.num_columns
    except Exception as error:
        raise FileError(f"{name} cannot be read as Parquet: {str(error)[:100]}") from None
    if about.num_columns > MOST_ARRAYS:
        raise FileError(f"{name} has {about.num_columns} columns, expected at most {MOST_ARRAYS}")
    _check_size(8 * max(values, packed), name)


def _check_size(size: int, name: str) -> None:
    if size > UNPACKED:
        raise FileError(
            f"{name} unpacks to {size / 1024**2:.0f} MB, expected at most {UNPACKED // 1024**2} MB",
            "a log of ten minutes at 1 kHz has about 100 MB",
        )
