"""Torques of motors less what links along them ask for: the constants that make this least.

    r = g * (tau - B th'' - v th' - c sgn(th') - o - delay tau') - g * e(links, gears)

g is one Gaussian low-pass, e what `link_motion` gives along the measured motors. This is the limit
of the closed-loop output error, in which a simulated motor is held to the measured one by a
controller and the controller's torque is made small, for a controller that holds it exactly. No
motor is integrated, so nothing drifts. Levenberg-Marquardt; derivatives and damped steps are
ensembles of simulations. Joints are weighed by one over the size of their residual.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import oaconvolve

from ...lazy import cached_property
from .kernels import convolved, convolved_ends, kernels
from .link_motion import GEAR, MOTOR, LinkMotion, MotorPath, motor_path
from .motor_equation import HIGHEST

if TYPE_CHECKING:
    from ..unknowns import Unknowns

ROWS = 5.0  # that are compared in a period of the cut-off
SETTLING = 1.0  # s, at most, that a comparison leaves out while links come into their motion
SLOW = 0.02  # of its top speed: friction of a slower motor is whatever it has to be
DIFFERENCE = 1e-3  # of the size of an unknown
DAMPINGS = np.geomspace(1e-6, 1e1, 6)  # of Levenberg and Marquardt, tried at once
LONGEST = 0.7  # step of a logarithm
ENOUGH = 1e-4  # of a row: less gain of the likelihood is no progress
JOINT = (*(x for x in GEAR if x != "pull"), *MOTOR)  # unknowns of an elastic joint
NOT_NEGATIVE = ("damping", "backlash", "link_viscous", "link_coulomb")
MIDDLE = 0.25  # of the cut-off: a frequency that is likely
INJECTED = 3.0  # times the cut-off: of the torques to which links are held
FASTEST = 0.15  # of the sampling rate: the highest of these


@dataclass(frozen=True, eq=False)
class Motors:
    """All motors over one stretch on an even grid: positions and torques (N, n)."""

    t: np.ndarray
    position: np.ndarray
    torque: np.ndarray

    @property
    def step(self) -> float:
        """Seconds between samples."""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))


@dataclass(frozen=True, eq=False)
class _Stretch:
    """One stretch made ready: torque (N, n) and columns (N, n, 5) of MOTOR, low-passed."""

    motors: Motors
    path: MotorPath
    kernel: np.ndarray
    torque: np.ndarray
    columns: np.ndarray
    rows: list[np.ndarray]  # that are compared, by joint


@dataclass(frozen=True, eq=False)
class Prediction:
    """Links and gears by what their motors were given.

    Unknowns are in units: base parameters of the links over `scale`, then of every elastic joint
    those of JOINT over `units`, stiffness as a logarithm. `gain` holds the links to the
    torques that the motors show, in parts of the frequency of the link on its gear. `delays` are
    what torques are shifted by beforehand.
    """

    stretches: Sequence[Motors]
    links: LinkMotion
    sought: "Unknowns"
    full: np.ndarray  # parameters of the links to which base parameters are added
    cutoff: float
    gain: float
    inertia: np.ndarray  # at every elastic joint, roughly
    delays: tuple[float, ...]
    every: int = 1

    # what is compared

    @cached_property
    def top(self) -> np.ndarray:
        """Top speeds of the motors, (n,)."""
        speeds = []
        for x in self.stretches:
            g = kernels(x.step, self.cutoff)[1]
            speeds.append([np.abs(convolved(g, th)[len(g) : -len(g)]).max() for th in x.position.T])
        return np.max(speeds, axis=0)

    @cached_property
    def parts(self) -> list[_Stretch]:
        """The stretches, made ready."""
        return [self._ready(x) for x in self.stretches]

    def _ready(self, x: Motors) -> _Stretch:
        g = kernels(x.step, self.cutoff)
        wide = kernels(x.step, min(2.5 * self.cutoff, 0.25 / x.step))
        first = len(g[0]) + int(min(SETTLING / x.step, 0.15 * len(x.t)))
        some = np.arange(
            first, len(x.t) - len(g[0]), max(1, int(1 / (ROWS * self.cutoff * x.step)))
        )
        rows, columns, torque, shown, position = [], [], [], [], x.position.copy()
        fine = kernels(x.step, min(INJECTED * self.cutoff, FASTEST / x.step))
        for k, (th, tau) in enumerate(zip(x.position.T, x.torque.T, strict=True)):
            late = kernels(x.step, self.cutoff, self.delays[k])
            speed, sign = convolved_ends(th, g[1]), np.sign(convolved_ends(th, wide[1]))
            one = np.ones(len(th))
            parts = [convolved_ends(th, g[2]), speed, convolved_ends(sign, g[0]), one]
            columns.append(np.stack([*parts, -convolved_ends(tau, late[1])], axis=1))
            torque.append(convolved_ends(tau, late[0]))
            if k in self.links.elastic:
                soon = kernels(
                    x.step, min(INJECTED * self.cutoff, FASTEST / x.step), self.delays[k]
                )
                shown += [convolved_ends(tau, soon[0]), convolved_ends(th, fine[2])]
                shown += [convolved_ends(th, fine[1]), sign, one, -convolved_ends(tau, soon[1])]
            rows.append(some[np.abs(speed[some]) > SLOW * self.top[k]])
            if k in self.links.rigid:
                position[:, k] = convolved_ends(th, kernels(x.step, HIGHEST / x.step)[0])
        tau, A = np.stack(torque, axis=1), np.stack(columns, axis=1)
        path = motor_path(x.t, position, np.stack(shown, axis=1), self.every)
        return _Stretch(x, path, g[0], tau, A, rows)

    # unknowns

    @cached_property
    def _lift(self) -> np.ndarray:
        return np.linalg.pinv(self.sought.group)

    @cached_property
    def torque(self) -> np.ndarray:
        """Sizes of the torques, (n,)."""
        return np.std(np.concatenate([x.torque for x in self.parts]), axis=0)

    @cached_property
    def scale(self) -> np.ndarray:
        """Base parameters that ask for torques as large as those measured."""
        part, n = self.parts[0], self.links.robot.n
        some = slice(None, None, max(1, len(part.torque) // 500))
        q = part.motors.position[some]
        g = kernels(part.motors.step, self.cutoff)
        qd, qdd = (
            np.stack([convolved_ends(th, g[k])[some] for th in part.motors.position.T], axis=1)
            for k in (1, 2)
        )
        Y = self.sought.regressor(q, qd, qdd).reshape(len(q), n, -1)
        size = np.sqrt((Y**2).mean(axis=0)) / np.maximum(self.torque[:, None], 1e-300)
        return 1.0 / np.maximum(size.max(axis=0), 1e-9)

    @cached_property
    def units(self) -> np.ndarray:
        """Units of the constants of JOINT, (m, 10)."""
        found = []
        for k, i in enumerate(self.links.elastic):
            size, speed = self.torque[i], self.top[i]
            columns = np.concatenate([x.columns[:, i] for x in self.parts])
            motor = size / np.maximum(np.sqrt((columns**2).mean(axis=0)), 1e-300)
            w = 2.0 * np.pi * MIDDLE * self.cutoff
            gear = [1.0, 0.1 * w * self.inertia[k], size / (w * w * self.inertia[k])]
            found.append([*gear, size / speed, size, *motor])
        return np.array(found)

    @property
    def bodies(self) -> int:
        """Base parameters of the links."""
        return len(self.sought.names)

    def index(self, joint: int, name: str) -> int:
        """Place of a constant of the k-th elastic joint among the unknowns."""
        return self.bodies + joint * len(JOINT) + JOINT.index(name)

    def packed(self, bodies: np.ndarray, joints: Sequence[dict[str, float]]) -> np.ndarray:
        """Unknowns of base parameters, as they differ from `full`, and constants of JOINT."""
        rows = np.array([[x[name] for name in JOINT] for x in joints])
        rows[:, 0] = np.log(rows[:, 0])
        return np.concatenate([bodies / self.scale, (rows / self.units).ravel()])

    def constants(self, p: np.ndarray) -> np.ndarray:
        """Constants of JOINT of unknowns (members, .): (members, m, 10)."""
        m = len(self.links.elastic)
        rows = p[:, self.bodies :].reshape(len(p), m, len(JOINT)) * self.units
        rows[..., 0] = np.exp(np.clip(rows[..., 0], -50.0, 50.0))
        return rows

    def parameters(self, p: np.ndarray) -> np.ndarray:
        """Parameters of the links, (members, parameters)."""
        return self.full + (p[:, : self.bodies] * self.scale) @ self._lift.T

    def _gears(self, rows: np.ndarray) -> np.ndarray:
        """Constants of GEAR and MOTOR with the pull."""
        pull = self.gain / np.sqrt(rows[..., 0] * self.inertia)
        at = len(GEAR) - 1
        return np.concatenate([rows[..., :at], pull[..., None], rows[..., at:]], axis=-1)

    def free(self, *gaps: int) -> np.ndarray:
        """Unknowns that are sought: all but the gaps of elastic joints that are not given."""
        fixed = {self.index(k, "backlash") for k in range(len(self.links.elastic)) if k not in gaps}
        total = self.bodies + len(JOINT) * len(self.links.elastic)
        return np.array([j for j in range(total) if j not in fixed])

    def of_joint(self, k: int) -> np.ndarray:
        """Unknowns of the bodies, and of the k-th elastic joint."""
        own = range(self.index(k, JOINT[0]), self.index(k, JOINT[-1]) + 1)
        return np.array([*range(self.bodies), *own])

    def converted(self, other: "Prediction", p: np.ndarray) -> np.ndarray:
        """Unknowns of another prediction in the units of this one."""
        rows = other.constants(p[None])[0]
        joints = [dict(zip(JOINT, x, strict=True)) for x in rows]
        return self.packed(p[: self.bodies] * other.scale, joints)

    def places(self) -> tuple[np.ndarray, float]:
        """Where every residual lies in the whole time, from 0 to 1, and its seconds."""
        sizes = [len(x.torque) for x in self.parts]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        rows = [
            np.concatenate([a + x.rows[i] for a, x in zip(starts, self.parts, strict=False)])
            for i in range(self.links.robot.n)
        ]
        seconds = sum(len(x.t) * x.step for x in self.stretches)
        return np.concatenate(rows) / starts[-1], float(seconds)

    def deflections(self, p: np.ndarray, k: int) -> list[np.ndarray]:
        """Deflections of the k-th elastic joint along every stretch."""
        i = self.links.elastic[k]
        return [
            part.motors.position[:, i] - self.run(part, p[None])[0][0, :, k] for part in self.parts
        ]

    # residuals

    def run(self, part: _Stretch, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions of elastic links and what motors feel along one stretch."""
        rows, full = self.constants(p), self.parameters(p)
        elastic = list(self.links.elastic)
        th = np.tile(part.motors.position[0], (len(p), 1))
        weight = self.links.robot.kernel("inverse_dynamics", parameters="argument")
        load = weight(th, 0.0 * th, 0.0 * th, full)[:, elastic]
        q0 = th[:, elastic] - load / rows[..., 0] - np.sign(load) * rows[..., 2]
        return self.links.run(part.path, full, self._gears(rows), q0)

    def residuals(self, p: np.ndarray) -> list[np.ndarray]:
        """By joint (members, rows), for unknowns (members, .)."""
        n, motor = self.links.robot.n, self.constants(p)[..., len(GEAR) - 1 :]
        found: list[list[np.ndarray]] = [[] for _ in range(n)]
        for part in self.parts:
            _, felt = self.run(part, p)
            for i in range(n):
                rows = part.rows[i]
                e = _through(part.kernel, felt[..., i])[:, rows]
                A, y = part.columns[rows, i], part.torque[rows, i] - e
                if i in self.links.elastic:
                    y = y - motor[:, self.links.elastic.index(i)] @ A.T
                else:
                    Q = np.linalg.qr(A)[0]
                    y = y - (y @ Q) @ Q.T
                found[i].append(y)
        return [np.concatenate(x, axis=1) for x in found]

    def costs(self, residuals: Sequence[np.ndarray]) -> np.ndarray:
        """Less log-likelihood of normal residuals, the deviation of every joint unknown."""
        with np.errstate(all="ignore"):
            squares = [np.maximum((r * r).mean(axis=1), 1e-300) for r in residuals]
            parts = [0.5 * r.shape[1] * np.log(s) for r, s in zip(residuals, squares, strict=True)]
        found: np.ndarray = np.asarray(sum(parts, np.zeros(1)))
        return np.where(np.isfinite(found), found, np.inf)

    def with_motors(self, p: np.ndarray) -> np.ndarray:
        """Unknowns whose constants of the motors fit the torques best, the links as they are."""
        p = p.copy()
        felt = [self.run(part, p) for part in self.parts]
        for k, i in enumerate(self.links.elastic):
            A = np.concatenate([x.columns[x.rows[i], i] for x in self.parts])
            size = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
            y = np.concatenate([
                (part.torque[:, i] - _through(part.kernel, e[..., i]))[:, part.rows[i]]
                for part, (_, e) in zip(self.parts, felt, strict=True)
            ], axis=1)  # fmt: skip
            y = np.where(np.isfinite(y).all(axis=1, keepdims=True), y, 0.0)
            x = np.linalg.lstsq(A / size, y.T, rcond=1e-8)[0].T / size
            place = slice(self.index(k, MOTOR[0]), self.index(k, MOTOR[-1]) + 1)
            p[:, place] = x / self.units[k, -len(MOTOR) :]
        return p

    def explained(self, p: np.ndarray) -> np.ndarray:
        """R^2 of the torques of the elastic joints, (m,)."""
        left, found = self.residuals(p[None]), []
        for i in self.links.elastic:
            torque = np.concatenate([x.torque[x.rows[i], i] for x in self.parts])
            found.append(1.0 - rms(left[i][0]) ** 2 / max(float(np.var(torque)), 1e-300))
        return np.array(found)

    def gain_over_rigid(self, p: np.ndarray, k: int) -> float:
        """Log-likelihood by which an elastic joint is better than a rigid arm, links its own."""
        i, columns, torque = self.links.elastic[k], [], []
        for part in self.parts:
            g, rows = kernels(part.motors.step, self.cutoff), part.rows[self.links.elastic[k]]
            q, qd, qdd = (
                np.stack([convolved_ends(th, x)[rows] for th in part.motors.position.T], axis=1)
                for x in g[:3]
            )
            Y = self.sought.regressor(q, qd, qdd).reshape(*q.shape, -1)[:, i]
            columns.append(np.concatenate([Y, part.columns[rows, i]], axis=1))
            torque.append(part.torque[rows, i])
        A, y = np.concatenate(columns), np.concatenate(torque)
        size = np.linalg.norm(A, axis=0)
        size[size == 0.0] = 1.0
        left = y - A @ (np.linalg.lstsq(A / size, y, rcond=1e-10)[0] / size)
        own = self.residuals(p[None])[i][0]
        return len(y) / ROWS * 2.0 * float(np.log(max(rms(left), 1e-300) / max(rms(own), 1e-300)))

    def slopes(self, p: np.ndarray, free: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Residuals by joint (rows,) and their derivatives (all rows, free), joints in order."""
        members = np.repeat(p[None], 1 + len(free), axis=0)
        members[np.arange(1, len(members)), free] += DIFFERENCE
        R = self.residuals(members)
        J = np.concatenate([(r[1:] - r[0]).T for r in R]) / DIFFERENCE
        return [r[0] for r in R], np.nan_to_num(J, nan=0.0, posinf=0.0, neginf=0.0)

    def fit(
        self, p: np.ndarray, free: np.ndarray, iterations: int = 30
    ) -> tuple[np.ndarray, float]:
        """Unknowns from p on, `free` of them sought, and the cost that is left."""
        cost = float(self.costs(self.residuals(p[None]))[0])
        for _ in range(iterations):
            r, J = self.slopes(p, free)
            w = np.concatenate([np.full(len(x), 1.0 / max(rms(x), 1e-150)) for x in r])
            size = np.linalg.norm(w[:, None] * J, axis=0)
            size[size == 0.0] = 1.0
            U, s, Vt = np.linalg.svd(w[:, None] * J / size, full_matrices=False)
            b = U.T @ (w * np.concatenate(r))
            trials = np.repeat(p[None], len(DAMPINGS), axis=0)
            trials[:, free] -= [Vt.T @ (s / (s * s + x) * b) / size for x in DAMPINGS]
            trials = self._within(trials, p)
            costs = self.costs(self.residuals(trials))
            best = int(np.argmin(costs))
            if not costs[best] < cost:
                break
            p, gain, cost = trials[best], cost - float(costs[best]), float(costs[best])
            if gain < ENOUGH * len(w):
                break
        return p, cost

    def _within(self, trials: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Steps of logarithms no longer than LONGEST; friction of links and gaps at 0 or above."""
        for k in range(len(self.links.elastic)):
            for name in JOINT:
                j = self.index(k, name)
                if name == "stiffness":
                    trials[:, j] = np.clip(trials[:, j], p[j] - LONGEST, p[j] + LONGEST)
                elif name in NOT_NEGATIVE:
                    trials[:, j] = np.maximum(trials[:, j], 0.0)
        return trials

    def changed(self, **others: object) -> "Prediction":
        """Another gain, with the filtered stretches of this one."""
        found = replace(self, **others)  # type: ignore[arg-type]
        if set(others) <= {"gain", "full", "inertia"}:
            vars(found).update(
                {x: vars(self)[x] for x in ("parts", "top", "scale", "units") if x in vars(self)}
            )
        return found


def rms(x: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt((x * x).mean()))


def _through(kernel: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Rows (members, N) through a kernel, as long as they were."""
    m = len(kernel) // 2
    return oaconvolve(x, kernel[None], axes=1)[:, m : m + x.shape[1]]
