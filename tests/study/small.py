"""Studies that take no time, and functions that workers import."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynamis as dy
from dynamis.study import Study

BLOCK = 64  # samples of a block of a small study
SAMPLES = 10 * BLOCK + 7


def machine_code() -> None:
    """In a worker: a server of forks has the environment of the test that started it."""
    os.environ["DYNAMIS_COMPILE"] = "on"


def arm() -> dy.Robot:
    return dy.load("planar-2link")


def simulated(samples: int = SAMPLES, **options: Any) -> Study:
    """A few steps of arms with masses, loads and encoders that differ."""
    robot = options.pop("robot", None) or arm()
    given = {
        "controller": dy.control.ComputedTorque(kp=100.0, kd=20.0),
        "reference": dy.trajectory.quintic([0.0, 0.0], [0.5, -0.4], duration=0.01),
        "vary": dy.Scatter(robot, mass=0.05, com=0.005, payload=(0, 3), joint_offset=0.01),
        "measure": ("rms_error", "peak_torque"),
        "progress": False,
    }
    return dy.study(robot, 0.006, q0=[0.1, 0.0], samples=samples, **(given | options))


def loads(draw: Any) -> dict[str, np.ndarray]:
    """Sums and a mass of every arm, in an order that NumPy does not choose."""
    p = draw.parameters
    total = p[:, 0]
    for column in p.T[1:]:
        total = total + column * column
    return {"total": total, "mass": p[:, :2]}


def evaluated(evaluate: Any = loads, samples: int = SAMPLES, **options: Any) -> Study:
    """The same arms without a motion."""
    robot = arm()
    given = {"vary": dy.Scatter(robot, mass=0.05, payload=(0, 3)), "progress": False} | options
    return dy.study(robot, samples=samples, evaluate=evaluate, **given)


def same(one: Study, other: Study) -> bool:
    """Whether every number of two studies has the same bits."""
    a, b = one.summary.arrays, other.summary.arrays
    return a.keys() == b.keys() and all(
        np.asarray(a[k]).dtype == np.asarray(b[k]).dtype
        and np.array_equal(a[k], b[k], equal_nan=np.asarray(a[k]).dtype.kind == "f")
        for k in a
    )


@dataclass(frozen=True)
class Deadly:
    """Ends its own process at one sample, so many times; a file in the folder for every one.

    With `parent` it ends the process that started it before, which in Ray is the node.
    """

    folder: Path
    times: int = 1
    parent: bool = False
    sample: int = 3 * BLOCK + 5

    def __call__(self, draw: Any) -> dict[str, np.ndarray]:
        if self.sample in draw.index and len(list(self.folder.iterdir())) < self.times:
            (self.folder / f"{os.getpid()}-{os.urandom(4).hex()}").touch()
            if self.parent:
                os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        return loads(draw)


@dataclass(frozen=True)
class Picky:
    """Raises for some samples."""

    def __call__(self, draw: Any) -> dict[str, np.ndarray]:
        if (draw.index % 100 == 77).any():
            raise ValueError("ends in 77")
        return loads(draw)


def torque_of_light_arms(run: Any) -> float:
    """A measure that heavy arms do not have."""
    if run.robot.parameters.values[0] > arm().parameters.values[0]:
        raise ArithmeticError("too heavy")
    return float(run.tau.max())
