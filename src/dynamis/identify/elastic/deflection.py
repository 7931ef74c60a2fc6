"""Links along measured motors: elastic joints by the deflections that a free run gives.

    Y(q, q', q'') x = -K w - D w',    q = motor + w

The motors move as they were logged; deflections w follow from rest, and a sensor of second order
may low-pass them. What differs from the logged deflections is made small. No torque is needed, so
all forces may be larger by one factor: the stiffness of one joint at least is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares
from scipy.signal import cont2discrete, lfilter

from ...arguments import checked, number, one_of, strict
from ...errors import OptionError, shown
from ...lazy import cached_property
from ...logs.log import Log
from ...model.drive import Drive
from ..friction.models import friction_named
from ..motion import on_even_grid
from ..unknowns import Unknowns, unknowns
from .asked import check_both_sides, checked_elastic
from .blocks import block_scatter
from .elastic_estimate import drives_of
from .kernels import convolved_ends, kernels
from .link_motion import GEAR, MOTOR, LinkMotion, MotorPath, motor_path
from .motor_equation import SAMPLED

if TYPE_CHECKING:
    from ...robot import Robot

MOST = 0.25  # of a radian: the way of the fastest mode in a step
HIGHEST = 0.05  # of the sampling rate: cut-off of the motors' positions
DIFFERENCE = 1e-4  # of an unknown: for derivatives
FAR = 1e3  # residual of a motion that cannot be followed
FILTER = (2.0 * np.pi * 2.0, 0.9)  # of a sensor to start from: rad/s, damping ratio
SETTLING = 1.0  # s, that a comparison leaves out
ITERATIONS = 40
TIMED = 0.05  # of a sample: by which a simulation may be early or late
LEAST_DAMPING = 1e-3  # of a stiffness, to start from


@strict
@dataclass(frozen=True, eq=False, repr=False)
class FreeRun:
    """Deflections (N, n) of links along measured motors, as logged and as simulated from rest.

    `links` are the deflections before the sensor, `explained` is R^2 per joint.
    """

    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    links: np.ndarray
    joint_names: tuple[str, ...]

    @checked
    def between(self, start: float, stop: float) -> "FreeRun":
        """Rows between two instants (s, as logged)."""
        number(start, "start")
        number(stop, "stop")
        keep = (self.t >= start) & (self.t <= stop)
        names = ("t", "measured", "predicted", "links")
        return replace(self, **{name: getattr(self, name)[keep] for name in names})

    @property
    def explained(self) -> np.ndarray:
        """R^2 of the deflections, (n,)."""
        error = ((self.measured - self.predicted) ** 2).sum(axis=0)
        return 1.0 - error / ((self.measured - self.measured.mean(axis=0)) ** 2).sum(axis=0)

    def __repr__(self) -> str:
        pairs = zip(self.joint_names, self.explained, strict=True)
        return f"FreeRun({', '.join(f'{name} R2 {x:.3f}' for name, x in pairs)})"


@strict
@dataclass(frozen=True, eq=False, repr=False)
class DeflectionEstimate:
    """Links and gears by their deflections along measured motors.

    `values` are the unknowns of the links in `names`; `stiffness` and `damping` (n,) those of the
    gears; `sensor` the corner (Hz) and the damping ratio of a sensor that low-passes deflections.
    `half_widths` of these three are of 95 % intervals, over blocks of time; 0 of what is known.
    `training` is the free run on the log that was fitted.
    """

    unknowns: Unknowns
    values: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    sensor: tuple[float, float] | None
    training: FreeRun
    described: Any
    half_widths: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns of the links by name."""
        return self.unknowns.names

    @cached_property
    def robot(self) -> "Robot":
        """The arm with these links and gears; motors as described."""
        robot = self.unknowns.as_robot(self.unknowns.full(self.values), self.values)
        drives = drives_of(self.described)
        for name, K, D in zip(robot.drive_names, self.stiffness, self.damping, strict=True):
            drive = replace(drives[name] or Drive(), stiffness=float(K), damping=float(D))
            robot = robot.with_drive(name, drive)
        return robot

    @checked
    def free_run(self, log: Log) -> FreeRun:
        """Deflections along the motors of a log, simulated from rest at its first instant."""
        motion = MotorMotion.of(log)
        sensor = FILTER if self.sensor is None else (2.0 * np.pi * self.sensor[0], self.sensor[1])
        p = np.concatenate([self.values, self.stiffness, self.damping, sensor])
        path = motion.path(self.unknowns.robot, self.stiffness)
        links, seen = simulated(self.unknowns, motion, path, p[None])
        predicted = links if self.sensor is None else seen
        names = self.unknowns.robot.drive_names
        return FreeRun(motion.t, motion.deflection, predicted[0], links[0], names)

    @checked
    def without_sensor(self, log: Log) -> Log:
        """The log with links where the free run has them."""
        run, even = self.free_run(log), on_even_grid(log)
        assert even.motor is not None
        return replace(even, q=even.motor + run.links, qd=None, qdd=None)

    def passed(self, f: np.ndarray) -> np.ndarray:
        """Response of the sensor to deflections at frequencies f (Hz), complex."""
        if self.sensor is None:
            return np.ones_like(f)
        s = 1j * f / self.sensor[0]
        return 1.0 / (1.0 + 2.0 * self.sensor[1] * s + s * s)

    @property
    def sensor_said(self) -> str:
        """The sensor in words."""
        if self.sensor is None:
            return "deflections are taken as measured"
        (corner, ratio), (a, b) = self.sensor, self.half_widths["sensor"]
        return (
            f"deflections pass a low-pass of second order: corner {corner:.3g} +- {a:.2g} Hz, "
            f"damping ratio {ratio:.3g} +- {b:.2g}"
        )

    def __repr__(self) -> str:
        return f"DeflectionEstimate({self.unknowns.robot.name!r}, {self.training!r})"


@dataclass(frozen=True, eq=False)
class MotorMotion:
    """Motors on an even grid, low-passed, and the deflections of the log; (N, n)."""

    t: np.ndarray
    step: float
    position: np.ndarray
    deflection: np.ndarray

    @classmethod
    def of(cls, log: Log) -> "MotorMotion":
        """Processing of a log with both sides: a low-pass far above the modes of the links."""
        check_both_sides(log)
        if len(log.pieces()) > 1:
            raise OptionError(
                f"log {log.name!r} has gaps, expected one stretch", "give one of log.pieces()"
            )
        even = on_even_grid(log)
        assert even.motor is not None
        g = kernels(even.step, HIGHEST * even.rate)[0]
        position = np.stack([convolved_ends(x, g) for x in even.motor.T], axis=1)
        return cls(even.t, even.step, position, even.q - even.motor)

    def path(self, links: "Robot", stiffness: np.ndarray) -> MotorPath:
        """The motors for a simulation whose steps are short next to the fastest mode."""
        mass = links.mass_matrix(self.position[0])
        squares = np.linalg.eigvals(np.linalg.solve(mass, np.diag(stiffness))).real
        every = max(1, int(np.ceil(np.sqrt(max(float(squares.max()), 0.0)) * self.step / MOST)))
        shown = np.zeros((len(self.t), (1 + len(MOTOR)) * links.n))
        return motor_path(self.t, self.position, shown, every)


def simulated(
    sought: Unknowns, motion: MotorMotion, path: MotorPath, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Deflections (members, N, n) before and behind the sensor, of constants p (members, m).

    A row of p holds unknowns of the links, stiffnesses, dampings, corner (rad/s) and damping ratio.
    """
    links, m = sought.robot, len(sought.names)
    n = links.n
    free = LinkMotion(links, tuple(range(n)), (1.0,) * n)
    full = np.stack([sought.full(x) for x in p[:, :m]])
    gears = np.zeros((len(p), n, len(GEAR) + len(MOTOR)))
    gears[..., GEAR.index("stiffness")] = p[:, m : m + n]
    gears[..., GEAR.index("damping")] = p[:, m + n : m + 2 * n]
    q = free.run(path, full, gears, np.tile(motion.position[0], (len(p), 1)))[0]
    bent = q - motion.position
    seen = [_sensed(w, motion.step, *row[-2:]) for w, row in zip(bent, p, strict=True)]
    return bent, np.stack(seen)


def _sensed(w: np.ndarray, step: float, corner: float, ratio: float) -> np.ndarray:
    """Deflections (N, n) through a low-pass of second order, straight between samples."""
    square = corner * corner
    sensor = [square], [1.0, 2.0 * ratio * corner, square]
    digital: Any = cont2discrete(sensor, step, method="foh")  # its stubs know no shapes
    return np.asarray(lfilter(np.ravel(digital[0]), digital[1], w, axis=0))


@dataclass(frozen=True, eq=False)
class DeflectionFit:
    """A free run beside measured deflections, its unknowns in units: links, then gears and sensor.

    `start` (m + 2 n + 2,) are unknowns of the links, and logarithms of the stiffnesses, dampings,
    corner (rad/s) and damping ratio of the sensor; `free` are those that are sought.
    """

    sought: Unknowns
    motion: MotorMotion
    path: MotorPath
    start: np.ndarray
    free: list[int]
    sensor: bool

    @property
    def links(self) -> int:
        """Unknowns of the links; the others are logarithms."""
        return len(self.sought.names)

    @cached_property
    def scale(self) -> np.ndarray:
        """Units of the unknowns that are sought."""
        sizes = np.ones(len(self.start))
        sizes[: self.links] = np.abs(self.start[: self.links]).max()
        return sizes[self.free]

    def constants(self, given: np.ndarray) -> np.ndarray:
        """All constants (members, m + 2 n + 2) of unknowns that are sought."""
        p = np.tile(self.start, (len(given), 1))
        p[:, self.free] = given * self.scale
        p[:, self.links :] = np.exp(np.clip(p[:, self.links :], -50.0, 50.0))
        return p

    def residuals(self, given: np.ndarray) -> np.ndarray:
        """Deflections less those measured over their sizes, (members, instants x joints)."""
        measured = self.motion.deflection
        found = simulated(self.sought, self.motion, self.path, self.constants(given))[self.sensor]
        error = (found - measured) / measured.std(axis=0)
        error = np.nan_to_num(error, nan=FAR, posinf=FAR, neginf=-FAR)
        settled = int(SETTLING / self.motion.step)
        return np.clip(error[:, settled:].reshape(len(given), -1), -FAR, FAR)

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """Derivatives of the residuals (rows, unknowns)."""
        found = self.residuals(np.concatenate([x[None], x + DIFFERENCE * np.eye(len(x))]))
        return ((found[1:] - found[0]) / DIFFERENCE).T

    def solved(self) -> tuple[np.ndarray, np.ndarray]:
        """Constants, and half widths of their 95 % intervals."""
        jacobian: Any = self.slopes  # the stubs of SciPy know names of methods only
        fit = least_squares(
            lambda x: self.residuals(x[None])[0], self.start[self.free] / self.scale, jacobian,
            max_nfev=ITERATIONS, xtol=1e-6, ftol=1e-6,
        )  # fmt: skip
        p, half = self.constants(fit.x[None])[0], np.zeros(len(self.start))
        n = self.motion.deflection.shape[1]
        places = np.repeat(np.linspace(0.0, 1.0, len(fit.fun) // n), n)
        seconds = float(self.motion.t[-1] - self.motion.t[0])
        half[self.free] = self.scale * block_scatter(fit.jac, fit.fun, places, seconds)
        half[self.links :] *= p[self.links :]
        late = np.zeros(len(p))  # what a lag does to a damping, and sampling to any constant
        late[self.links + n : self.links + 2 * n] = p[self.links : self.links + n]
        beside = np.hypot(TIMED * self.motion.step * late, SAMPLED * np.abs(p))
        half[self.free] = np.hypot(half, beside)[self.free]
        return p, half


@checked
def identify_deflections(
    robot: "Robot",
    log: Log,
    *,
    sensor: bool = False,
    known: Sequence[str] | None = None,
) -> DeflectionEstimate:
    """Identify links and gears by the deflections q - motor of a log: torques are not used.

    Every joint of `robot` has a stiffness to start from; those of the joints `known` (default: the
    first) stay as described, as deflections show forces but for one factor. `sensor`: deflections
    pass a low-pass of second order, which is found too. The log begins at rest.
    """
    checked_elastic("auto", robot, [log])
    names = robot.drive_names
    known = names[:1] if known is None else known
    if isinstance(known, (str, bytes)) or not known:
        raise OptionError(f"known is {shown(known)}, expected a list of names of joints")
    for name in known:
        one_of(name, names, f"known: the robot has no joint {shown(name)}")
    K, D = _described_gears(robot)
    links = robot
    for name in names:
        links = links.with_drive(name, None)
    sought = unknowns(links, friction_named("none"), False, None, "described")
    motion, m, n = MotorMotion.of(log), len(sought.names), len(names)
    start = np.concatenate([sought.values, np.log([*K, *D, *FILTER])])
    fixed = {m + names.index(name) for name in known}
    fixed |= set() if sensor else {m + 2 * n, m + 2 * n + 1}
    free = [k for k in range(len(start)) if k not in fixed]
    path = motion.path(links, K)
    p, half = DeflectionFit(sought, motion, path, start, free, sensor).solved()
    turns = np.array([2.0 * np.pi, 1.0])
    empty = np.zeros((0, n))
    estimate = DeflectionEstimate(
        unknowns=sought,
        values=p[:m],
        stiffness=p[m : m + n],
        damping=p[m + n : m + 2 * n],
        sensor=(float(p[-2] / turns[0]), float(p[-1])) if sensor else None,
        training=FreeRun(np.zeros(0), empty, empty, empty, names),
        described=robot,
        half_widths={
            "stiffness": half[m : m + n],
            "damping": half[m + n : m + 2 * n],
            "sensor": half[-2:] / turns,
        },
    )
    return replace(estimate, training=estimate.free_run(log))


def _described_gears(robot: "Robot") -> tuple[np.ndarray, np.ndarray]:
    """Stiffnesses and dampings to start from, (n,); an error where a joint has none."""
    drives = [drives_of(robot)[name] for name in robot.drive_names]
    for name, x in zip(robot.drive_names, drives, strict=True):
        if x is None or x.stiffness is None:
            raise OptionError(
                f"joint {name!r} has no stiffness, expected elastic joints",
                "robot.with_drive(joint, stiffness=...) to start from",
            )
    K, D = (np.array([getattr(x, k) for x in drives], float) for k in ("stiffness", "damping"))
    return K, np.maximum(D, LEAST_DAMPING * K)
