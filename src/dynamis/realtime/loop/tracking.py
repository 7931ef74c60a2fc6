"""How well an arm behind a port followed its reference."""

from dataclasses import dataclass

import numpy as np

from ...errors import OptionError, ShapeError
from ...trajectory.trajectory import Trajectory
from . import udp
from .plant_run import PlantRun


@dataclass(frozen=True, eq=False)
class Tracking:
    """Errors of every joint (rad or m): those of all steps until the last one under a running
    torque, safe torques between them included.

    `steps` are those under the torque of a controller; `running` is the share of them under a
    running torque, `safe` the number under a safe one.
    """

    joints: tuple[str, ...]
    rms: np.ndarray
    largest: np.ndarray
    steps: int
    running: float
    safe: int

    def __str__(self) -> str:
        wide = max(5, *map(len, self.joints))
        lines = [f"{'joint':{wide}} {'rms':>11} {'largest':>11}   rad or m"]
        rows = zip(self.joints, self.rms, self.largest, strict=True)
        lines += [f"{name:{wide}} {rms:11.3e} {most:11.3e}" for name, rms, most in rows]
        share = f"{100.0 * self.running:.3f} % under a running torque"
        return "\n".join([*lines, f"{self.steps} steps, {share}, {self.safe} under a safe one"])


def tracking_table(run: PlantRun, reference: Trajectory) -> Tracking:
    """Compare where the joints were with what the torque that acted was made for."""
    n = len(run.joints)
    if reference.n != n:
        raise ShapeError(f"the reference moves {reference.n} joints, the arm has {n}")
    log = run.log
    status = log[:, 2]
    running = status == udp.RUNNING
    safe = (status == udp.BAD) | (status == udp.SAFE)
    if not running.any():
        raise OptionError(
            f"the run has {len(log)} rows, none of them under a running torque",
            "let a controller move the arm, and keep the rows (keep=True)",
        )
    until = int(np.flatnonzero(running)[-1]) + 1
    error = log[:until, 3 : 3 + n] - reference(np.maximum(log[:until, 1], 0.0)).q
    steps = int(running.sum() + safe.sum())
    rms, largest = np.sqrt((error**2).mean(axis=0)), np.abs(error).max(axis=0)
    return Tracking(run.joints, rms, largest, steps, float(running.sum() / steps), int(safe.sum()))
