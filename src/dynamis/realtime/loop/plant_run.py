"""What a plant saw while it ran."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...arguments import checked
from ...errors import FileError
from ...files import write_csv


@dataclass
class PlantRun:
    """What happened: counts, the plant's own lateness (s), and rows (t, controller's t, status, q,
    qd, torque) of every step since the brakes opened; status -1: no controller was there. `message`
    says why the run ended by itself."""

    joints: tuple[str, ...]
    rate: float
    steps: int = 0
    sent: int = 0  # measurements
    lost: int = 0
    received: int = 0  # torques that acted
    lost_torques: int = 0
    stale: int = 0  # torques behind a newer one
    overruns: int = 0  # steps that began more than a period late
    silent: int = 0  # steps without torque because no controller was there
    latest: float = 0.0
    message: str = ""
    rows: list[bytes] = field(default_factory=list, repr=False)  # small pieces: no row waits

    @property
    def columns(self) -> list[str]:
        """Names of the rows' numbers."""
        return ["t", "t_controller", "status"] + [
            f"{what}_{name}" for what in ("q", "qd", "tau") for name in self.joints
        ]

    @property
    def log(self) -> np.ndarray:
        """The rows as one array, (K, 3 + 3 n)."""
        return np.frombuffer(b"".join(self.rows)).reshape(-1, len(self.columns))

    @checked
    def save(self, path: str | Path) -> None:
        """Write the rows as CSV."""
        write_csv(path, dict(zip(self.columns, self.log.T, strict=True)))

    @classmethod
    @checked
    def read(cls, path: str | Path) -> "PlantRun":
        """The rows of a CSV that `save` wrote; counts other than `steps` are not in it."""
        try:
            with Path(path).open() as file:
                names = file.readline().strip().split(",")
                log = np.loadtxt(file, delimiter=",", ndmin=2)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot read {str(path)!r}: {error}") from None
        joints = tuple(name[2:] for name in names if name.startswith("q_"))
        run = cls(joints, 1.0 / float(np.median(np.diff(log[:, 0]))) if len(log) > 1 else 0.0)
        if run.columns != names:
            raise FileError(f"{str(path)!r} is no log of a plant: its columns are {names}")
        run.steps, run.rows = len(log), [row.tobytes() for row in log]
        return run
