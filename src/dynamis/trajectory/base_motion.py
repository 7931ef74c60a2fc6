"""Motion of the base of an arm: of a gantry, a vehicle, a ship, or as an IMU recorded it.

What the dynamics need is in the axes of the reference frame, which moves with the base: w, wd, and
the acceleration a of its origin. A sensor of accelerations feels f = R^T (a_world - g), R being the
attitude; the dynamics add the gravity of the model to a, so they are given a = f + g.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import a_robot, checked, strict
from ..compile.arrays import NUMPY, finite, numbers
from ..dynamics.newton_euler import outward
from ..errors import OptionError, ShapeError, shown
from ..lazy import cached_property
from ..model.chain import Chain, chain
from ..model.link import Link
from ..model.model import Model
from ..model.pose import Pose, pose
from ..spatial.rotations import rotate_back
from ..spatial.vectors import Vector, X, Y, Z
from .trajectory import Trajectory

if TYPE_CHECKING:
    from ..robot import Robot

COORDINATES = ("x", "y", "z", "roll", "pitch", "yaw")
JOINTS = (  # from the ground to the base, with the number of their coordinate
    *(("prismatic", axis, k) for k, axis in enumerate((X, Y, Z))),
    *(("revolute", axis, k) for k, axis in ((5, Z), (4, Y), (3, X))),
)
FEWEST = 4  # rows of an IMU: a cubic spline


@strict
@dataclass(frozen=True)
class BaseMotion:
    """How the base of an arm moves: `dy.simulate(robot, base_motion=BaseMotion(path))`.

    `path` is a trajectory of six: x, y, z (m) and roll, pitch, yaw (rad) of the reference frame
    against where it is at rest, R = Rz(yaw) Ry(pitch) Rx(roll); `dy.trajectory.from_function` makes
    one of a function, `via` of a table. `BaseMotion.from_imu` takes what was measured instead.
    """

    path: Any
    imu: Any = None  # what `from_imu` puts here, without a path

    def __post_init__(self) -> None:
        if self.path is None and isinstance(self.imu, ImuRecord):
            return
        if self.imu is not None or not isinstance(self.path, Trajectory):
            raise OptionError(
                f"path is {shown(self.path)}, expected a trajectory of {', '.join(COORDINATES)}",
                "dy.trajectory.from_function or via makes one; BaseMotion.from_imu takes rates and "
                "accelerations",
            )
        if self.path.n != len(COORDINATES):
            raise ShapeError(
                f"path has {self.path.n} coordinates, expected six: {', '.join(COORDINATES)}"
            )

    @classmethod
    @checked
    def from_imu(
        cls,
        t: Any,
        angular_rate: Any,
        acceleration: Any,
        *,
        xyz: Any = (0.0, 0.0, 0.0),
        rpy: Any = (0.0, 0.0, 0.0),
    ) -> "BaseMotion":
        """The motion that an inertial measurement unit on the base recorded at times t (N,).

        `angular_rate` (N, 3) in rad/s and `acceleration` (N, 3) in m/s^2 as it measures them, in
        its axes: at rest the latter is g upwards. `xyz` and `rpy` place it in the reference frame.
        Between the rows both are cubic splines; the slope of the first is the angular acceleration,
        so filter rates that are noisy.
        """
        times = numbers(t, "t", "expected times (N,)")
        if times.ndim != 1 or len(times) < FEWEST or not (np.diff(times) > 0.0).all():
            raise ShapeError(f"t is {shown(t)}, expected at least {FEWEST} increasing times (N,)")
        rows = []
        for value, name in ((angular_rate, "angular_rate"), (acceleration, "acceleration")):
            found = numbers(value, name, f"expected {len(times)} rows of three")
            if found.shape != (len(times), 3):
                raise ShapeError(f"{name} has shape {found.shape}, expected {(len(times), 3)}")
            rows.append(found)
        for name, values in zip(("t", "angular_rate", "acceleration"), (times, *rows), strict=True):
            finite(values, name, OptionError)
        place = pose({"xyz": xyz, "rpy": rpy}, "imu")
        return cls(None, ImuRecord(times, rows[0], rows[1], place))

    @property
    def end(self) -> float:
        """When it is no longer known; a path rests or goes on at its end."""
        return float("inf") if self.imu is None else float(self.imu.t[-1])

    @checked
    def rows(self, robot: "Robot", t: Any) -> np.ndarray:
        """What `base_motion=` of a robot's functions takes at times t (...), (..., 9)."""
        gravity = a_robot(robot).gravity
        times = numbers(t, "t", "expected times in seconds, of any shape")
        flat = times.reshape(-1)
        w, wd, a = self._along(flat, gravity) if self.imu is None else self.imu.felt(flat)
        return np.concatenate([w, wd, a + gravity], axis=-1).reshape(*times.shape, 9)

    def _along(self, t: np.ndarray, gravity: np.ndarray) -> tuple[np.ndarray, ...]:
        """w, wd, and the acceleration that is felt, along the path."""
        state = self.path(t)
        motion = [[part[:, k] for _, _, k in JOINTS] for part in state]
        ground = _ground(tuple(gravity.tolist()))
        x, xd, xdd = motion
        last, R = outward(ground, x, xd, xdd, NUMPY)[1][-1], ground.bodies[-1].user.R
        return tuple(_stacked(rotate_back(R, x), t) for x in last[:3])


def _stacked(v: Vector, t: np.ndarray) -> np.ndarray:
    """Columns, each an array or a number, as rows (N, 3)."""
    return np.stack([np.broadcast_to(x, len(t)) for x in v], axis=-1)


@lru_cache(maxsize=8)
def _ground(gravity: Vector) -> Chain:
    """Six joints without masses between the ground and the base, in the axes of the base."""
    links = [
        Link(joint=kind, axis=axis, name=f"link{i + 1}", parent=f"link{i}" if i else None)
        for i, (kind, axis, _) in enumerate(JOINTS)
    ]
    return chain(Model(name="ground", convention="urdf", links=tuple(links), gravity=gravity))


@dataclass(frozen=True)
class ImuRecord:
    """Rates and accelerations as measured, and where."""

    t: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    pose: Pose

    @cached_property
    def splines(self) -> tuple[Any, Any]:
        """Cubic splines of both in the axes of the reference frame."""
        from scipy.interpolate import CubicSpline

        R = np.array(self.pose.frame({}).R)
        return tuple(CubicSpline(self.t, x @ R.T) for x in (self.rate, self.acceleration))  # type: ignore[return-value]

    def felt(self, t: np.ndarray) -> tuple[np.ndarray, ...]:
        """w, wd, and the acceleration that is felt at the origin of the reference frame."""
        first, last = self.t[0], self.t[-1]
        slack = 1e-9 * (last - first)
        outside = ~((t >= first - slack) & (t <= last + slack))
        if outside.any():
            raise OptionError(
                f"the base is asked for at t = {t[outside][0]:g} s, but its IMU recorded "
                f"{first:g} to {last:g} s",
                "simulate what was recorded",
            )
        rate, acceleration = self.splines
        w, wd, r = rate(t), rate(t, 1), np.array(self.pose.frame({}).p)
        return w, wd, acceleration(t) - np.cross(wd, r) - np.cross(w, np.cross(w, r))
