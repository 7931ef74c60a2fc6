"""Links along measured motors: elastic joints by the deflections that a free run gives.

    Y(q, q', q'') x = -K w - D w',    q = motor + w

The motors move as they were logged; deflections w follow from rest, and a sensor of second order
may low-pass them. What differs from the logged deflections is made small. No torque is needed, so
all forces may be larger by one factor: the stiffness of one joint at least is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import least_squares

from ...arguments import checked, number, one_of, strict
from ...errors import OptionError, shown
from ...lazy import cached_property
from ...logs.log import Log
from ..friction.models import friction_named
from ..motion import on_even_grid
from ..unknowns import Unknowns, unknowns
from .joints import checked_elastic
from .motor_equation import convolved_ends, kernels

if TYPE_CHECKING:
    from ...robot import Robot

MOST = 0.25  # of a radian: the way of the fastest mode in a step
HIGHEST = 0.05  # of the sampling rate: cut-off of the motors' positions
DIFFERENCE = 1e-4  # of an unknown: for derivatives
FAR = 1e3  # residual of a motion that cannot be followed
FILTER = (2.0 * np.pi * 2.0, 0.9)  # of a sensor to start from: rad/s, damping ratio
SETTLING = 1.0  # s, that a comparison leaves out
ITERATIONS = 40
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
    `training` is the free run on the log that was fitted.
    """

    unknowns: Unknowns
    values: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    sensor: tuple[float, float] | None
    training: FreeRun
    described: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns of the links by name."""
        return self.unknowns.names

    @cached_property
    def robot(self) -> "Robot":
        """The arm with these links and gears; motors as described."""
        robot = self.unknowns.as_robot(self.unknowns.full(self.values), self.values)
        drives = {str(x.joint_name): x.drive for x in self.described.model.links}
        for name, K, D in zip(robot.drive_names, self.stiffness, self.damping, strict=True):
            drive = replace(drives[name], stiffness=float(K), damping=float(D))
            robot = robot.with_drive(name, drive)
        return robot

    @checked
    def free_run(self, log: Log) -> FreeRun:
        """Deflections along the motors of a log, simulated from rest at its first instant."""
        motion = MotorMotion.of(log)
        sensor = FILTER if self.sensor is None else (2.0 * np.pi * self.sensor[0], self.sensor[1])
        p = np.concatenate([self.values, self.stiffness, self.damping, sensor])
        every = samples_of_a_step(motion, self.stiffness, self.unknowns.robot)
        links, seen = simulated(self.unknowns, motion, p[None], every)
        predicted = links if self.sensor is None else seen
        rows = motion.kept(len(links[0]), every)
        measured = motion.deflection[rows]
        names = self.unknowns.robot.drive_names
        return FreeRun(motion.t[rows], measured, predicted[0], links[0], names)

    @checked
    def without_sensor(self, log: Log) -> Log:
        """The log with links where the free run has them: for `dy.identify(elastic="auto")`."""
        run, even = self.free_run(log), on_even_grid(log)
        assert even.motor is not None
        w = np.stack([np.interp(even.t, run.t, x) for x in run.links.T], axis=1)
        return replace(even, q=even.motor + w, qd=None, qdd=None)

    def __repr__(self) -> str:
        return f"DeflectionEstimate({self.unknowns.robot.name!r}, {self.training!r})"


@dataclass(frozen=True, eq=False)
class MotorMotion:
    """Motors on an even grid with their rates, (N, n), and the deflections of the log."""

    t: np.ndarray
    step: float
    position: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    deflection: np.ndarray

    @classmethod
    def of(cls, log: Log) -> "MotorMotion":
        """Processing of a log with both sides: a low-pass far above the modes of the links."""
        if log.motor is None:
            raise OptionError(
                f"log {log.name!r} has no motor side, expected both sides of elastic joints",
                "read_log(..., columns=dict(q=..., motor=...))",
            )
        if len(log.pieces()) > 1:
            raise OptionError(
                f"log {log.name!r} has gaps, expected one stretch", "give one of log.pieces()"
            )
        even = on_even_grid(log)
        assert even.motor is not None
        g = kernels(even.step, HIGHEST * even.rate)
        position, rate, acceleration = (
            np.stack([convolved_ends(x, g[k]) for x in even.motor.T], axis=1) for k in range(3)
        )
        return cls(even.t, even.step, position, rate, acceleration, even.q - even.motor)

    def kept(self, count: int, every: int) -> slice:
        """The rows at which a simulation of long steps has its states."""
        return slice(0, count * every, every)


def simulated(
    sought: Unknowns, motion: MotorMotion, p: np.ndarray, every: int
) -> tuple[np.ndarray, np.ndarray]:
    """Deflections (members, N, n) before and behind the sensor, of unknowns p (members, m).

    Classical Runge-Kutta steps of `every` samples, an even number: middles are samples too.
    """
    n, m = motion.position.shape[1], len(sought.names)
    members = len(p)
    x, K, D = p[:, :m], p[:, m : m + n], p[:, m + n : m + 2 * n]
    corner, ratio = p[:, -2:-1], p[:, -1:]
    tests = np.concatenate([np.zeros((2, n)), np.eye(n)])  # with rates, at rest, each acceleration

    def rate(y: np.ndarray, k: int) -> np.ndarray:
        w, wd, seen, seen_rate = np.split(y, 4, axis=1)
        q = np.repeat((motion.position[k] + w)[:, None], n + 2, axis=1)
        qd = np.zeros_like(q)
        qd[:, 0] = motion.rate[k] + wd
        qdd = np.broadcast_to(tests, q.shape)
        Y = sought.regressor(*(a.reshape(-1, n) for a in (q, qd, qdd)))
        torque = np.einsum("pkij,pj->pki", Y.reshape(members, n + 2, n, m), x)
        mass = (torque[:, 2:] - torque[:, 1:2]).transpose(0, 2, 1)
        force = -K * w - D * wd - torque[:, 0]
        qdd_links = np.linalg.solve(mass, force[..., None])[..., 0]
        bent = corner**2 * (w - seen) - 2.0 * ratio * corner * seen_rate
        return np.concatenate([wd, qdd_links - motion.acceleration[k], seen_rate, bent], axis=1)

    h, found = every * motion.step, []
    y = np.zeros((members, 4 * n))
    with np.errstate(all="ignore"):
        for k in range(0, len(motion.t) - every, every):
            found.append(y)
            a = rate(y, k)
            b = rate(y + 0.5 * h * a, k + every // 2)
            c = rate(y + 0.5 * h * b, k + every // 2)
            d = rate(y + h * c, k + every)
            y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
            if not np.isfinite(y).all():
                y = np.where(np.isfinite(y), y, 0.0)
    rows = np.stack(found, axis=1)
    return rows[..., :n], rows[..., 2 * n : 3 * n]


def samples_of_a_step(motion: MotorMotion, stiffness: np.ndarray, links: "Robot") -> int:
    """Samples of a step: even, and short next to the period of the fastest mode."""
    mass = links.mass_matrix(motion.position[0])
    squares = np.linalg.eigvals(np.linalg.solve(mass, np.diag(stiffness)))
    fastest = np.sqrt(max(float(squares.real.max()), 1.0))
    return 2 * max(1, int(MOST / (fastest * motion.step) / 2.0))


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
    drives = {str(x.joint_name): x.drive for x in robot.model.links}
    gears = [x for x in drives.values() if x is not None and x.stiffness is not None]
    rigid = [name for name, x in drives.items() if x not in gears]
    if rigid:
        raise OptionError(
            f"joint {rigid[0]!r} has no stiffness, expected elastic joints",
            "robot.with_drive(joint, stiffness=...) to start from",
        )
    K, D = (np.array([getattr(x, name) for x in gears], float) for name in ("stiffness", "damping"))
    D, links = np.maximum(D, LEAST_DAMPING * K), robot
    for name in names:
        links = links.with_drive(name, None)
    sought = unknowns(links, friction_named("none"), False, None, "described")
    motion = MotorMotion.of(log)
    every = samples_of_a_step(motion, K, links)
    start = np.concatenate([sought.values, np.log([*K, *D, *FILTER])])
    m, n = len(sought.names), len(names)
    fixed = {m + names.index(name) for name in known}
    fixed |= set() if sensor else {m + 2 * n, m + 2 * n + 1}
    free = [k for k in range(len(start)) if k not in fixed]
    scale = np.concatenate([np.full(m, np.abs(sought.values).max()), np.ones(2 * n + 2)])[free]
    size = motion.deflection.std(axis=0)
    skipped = int(SETTLING / (every * motion.step))

    def runs(given: np.ndarray) -> np.ndarray:
        p = np.tile(start, (len(given), 1))
        p[:, free] = given * scale
        p[:, m:] = np.exp(np.clip(p[:, m:], -50.0, 50.0))
        pair = simulated(sought, motion, p, every)
        found = pair[1] if sensor else pair[0]
        error = (found - motion.deflection[motion.kept(found.shape[1], every)]) / size
        error = np.nan_to_num(error, nan=FAR, posinf=FAR, neginf=-FAR)
        return np.clip(error[:, skipped:].reshape(len(given), -1), -FAR, FAR)

    def slopes(x: np.ndarray) -> np.ndarray:
        found = runs(np.concatenate([x[None], x + DIFFERENCE * np.eye(len(x))]))
        return ((found[1:] - found[0]) / DIFFERENCE).T

    jacobian: Any = slopes  # the stubs of SciPy know names of methods only
    fit = least_squares(
        lambda x: runs(x[None])[0], start[free] / scale, jacobian, max_nfev=ITERATIONS,
        xtol=1e-6, ftol=1e-6,
    )  # fmt: skip
    p = start.copy()
    p[free] = fit.x * scale
    found = np.exp(p[m:])
    empty = np.zeros((0, n))
    estimate = DeflectionEstimate(
        unknowns=sought,
        values=p[:m],
        stiffness=found[:n],
        damping=found[n : 2 * n],
        sensor=(float(found[-2] / (2.0 * np.pi)), float(found[-1])) if sensor else None,
        training=FreeRun(np.zeros(0), empty, empty, empty, names),
        described=robot,
    )
    return replace(estimate, training=estimate.free_run(log))
