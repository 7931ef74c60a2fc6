"""From logs of motors alone to constants of elastic joints: starts, gaps, intervals.

The sum of both sides below resonance gives links to start from; every joint by itself the frequency
of its link against its motor and the share of its rotor, from a grid; all joints together the rest
(`prediction`). Gaps come last: each trial starts anew from the fit without one, with a stiffer
gear, as a gap that is left out makes gears look soft.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...lazy import cached_property
from ..friction.models import friction_named
from ..unknowns import Unknowns, unknowns
from .blocks import block_scatter
from .kernels import convolved_ends, kernels
from .link_motion import LinkMotion
from .motor_equation import (
    HIGHEST,
    MULTIPLE,
    SAMPLED,
    Stretch,
    cutoff_for,
)
from .prediction import JOINT, Motors, Prediction, rms

if TYPE_CHECKING:
    from ...robot import Robot

TURNING = 0.01  # of its top speed: the velocity over which friction of a link turns round
WIDE, NARROW = 0.5, 0.25  # gains to search with and to end with
BELOW = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2)  # of the cut-off: where both sides move as one
RIGID_ENOUGH = 0.03  # of the variance, left by an arm without elasticity below resonance
WAYS = 10  # frequencies of a link against its motor that are tried
SHARES = (0.15, 0.35, 0.55, 0.75)  # of the inertia at a joint that is its rotor's
LIGHT = 0.05  # damping ratio to start from
BEST = 2  # of the grid, that are fitted
GAPS = (0.03, 0.06, 0.12)  # of the largest deflection
STIFFER = (1.2, 1.8, 2.5)  # than without a gap
PROMISING = 3  # gaps that are fitted to the end
SURE = 50.0  # gain of log-likelihood by which a gap is taken as seen
OTHERS = (
    {"cutoff": 0.75},
    {"cutoff": 1.3},
    {"gain": 2.0},
    {"gain": 0.5},
)  # fits beside, whose spread counts
NOISES = 2  # fits with as much noise again on the encoders
WIDER = 1.8  # intervals, as repeated motions ask for: a fit may end beside the best
RESOLVED = 0.5  # of a radian in a step: the fastest link
MOST_STEPS = 8  # in a sample
NOISY = 1e-3  # share of the variance of accelerations that encoders may have
LOWEST = 0.5  # of the cut-off that torques ask for
ROUGH = 0.2  # of the sampling rate: what is above is noise
PERIODS = 12.0  # of a cut-off, at least, in a stretch


def steps_of(p: Prediction, constants: np.ndarray, step: float) -> int:
    """Steps in a sample that follow the fastest link."""
    fastest = float(np.sqrt((constants[:, 0] / p.inertia).max()))
    return int(np.clip(np.ceil(fastest * step / RESOLVED), 1, MOST_STEPS))


@dataclass(frozen=True, eq=False)
class MotorSearch:
    """From nothing to constants near those of the arm."""

    robot: "Robot"
    stretches: Sequence[Motors]
    elastic: tuple[int, ...]

    @cached_property
    def links(self) -> "Robot":
        """The arm without drives."""
        found = self.robot
        for name in found.drive_names:
            found = found.with_drive(name, None)
        return found

    @cached_property
    def sought(self) -> Unknowns:
        """Base parameters of the links."""
        return unknowns(self.links, friction_named("none"), False, None, "described")

    @cached_property
    def cutoff(self) -> float:
        """The cut-off (Hz): that of the torques, lower where encoders are coarse.

        Noise of accelerations makes rotors look lighter by its share of their variance.
        """
        longest = max(len(x.t) * x.step for x in self.stretches)
        highest = max(self.band * MULTIPLE, PERIODS / longest)
        for cutoff in highest * np.geomspace(1.0, LOWEST, 5):
            if max(map(self._noise_share, [cutoff] * len(self.elastic), self.elastic)) < NOISY:
                return float(cutoff)
        return float(LOWEST * highest)

    @cached_property
    def band(self) -> float:
        """Frequency (Hz) up to which torques excite the arm."""
        parts = [
            Stretch(x.step, x.position[:, i], x.position[:, i], x.torque[:, i])
            for x in self.stretches
            for i in self.elastic
        ]
        return cutoff_for(parts) / MULTIPLE

    def _noise_share(self, cutoff: float, i: int) -> float:
        """Noise of an encoder in the variance of its motor's acceleration below a cut-off."""
        noise, signal = 0.0, 0.0
        for x in self.stretches:
            th, g = x.position[:, i], kernels(x.step, cutoff)[2]
            noise += noise_of(th, x.step) ** 2 * float((g**2).sum()) * len(th)
            signal += float(convolved_ends(th, g).var()) * len(th)
        return noise / max(signal, 1e-300)

    # the sum of both sides

    def _rows(self, cutoff: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Regressor of links (rows, n, m), columns of motors (rows, n, 4) and torques (rows, n)."""
        Y, A, tau = [], [], []
        for x in self.stretches:
            g = kernels(x.step, cutoff)
            every = max(1, int(1.0 / (6.0 * cutoff * x.step)))
            if len(x.t) < 2 * len(g[0]):
                continue
            some = slice(len(g[0]), len(x.t) - len(g[0]), every)
            q, qd, qdd = (
                np.stack([convolved_ends(th, k)[some] for th in x.position.T], axis=1)
                for k in g[:3]
            )
            wide = kernels(x.step, min(HIGHEST / x.step, 5.0 * cutoff))[1]
            sign = [np.sign(convolved_ends(th, wide)) for th in x.position.T]
            sign = np.stack([convolved_ends(s, g[0])[some] for s in sign], axis=1)
            Y.append(self.sought.regressor(q, qd, qdd).reshape(len(q), q.shape[1], -1))
            A.append(np.stack([qdd, qd, sign, np.ones_like(q)], axis=2))
            tau.append(np.stack([convolved_ends(y, g[0])[some] for y in x.torque.T], axis=1))
        return np.concatenate(Y), np.concatenate(A), np.concatenate(tau)

    @cached_property
    def _below(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows below resonance: the highest cut-off at which an arm without elasticity fits."""
        longest = max(len(x.t) * x.step for x in self.stretches)
        best: tuple[float, Any] | None = None
        for share in BELOW:
            cutoff = share * self.cutoff
            if cutoff < PERIODS / longest:
                continue
            rows = self._rows(cutoff)
            if rows[2].size < 3 * rows[0].shape[2]:
                continue
            left = _sum_of_sides(*rows)[3]
            if best is None or left < max(RIGID_ENOUGH, best[0]):
                best = (left, rows)
        return self._rows(max(BELOW[-1] * self.cutoff, 6.0 / longest)) if best is None else best[1]

    @cached_property
    def _sum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        return _sum_of_sides(*self._below)

    def bodies(self, rotors: dict[int, float]) -> np.ndarray:
        """Base parameters of the links beside known rotors of some joints."""
        return _sum_of_sides(*self._below, rotors)[0]

    @cached_property
    def whole(self) -> np.ndarray:
        """Inertia at every joint, both sides, on average over the motion, (n,)."""
        x, rotors, _, _ = self._sum
        return np.maximum(self._inertia(x) + rotors, 1e-9)

    def _inertia(self, x: np.ndarray) -> np.ndarray:
        """Inertia of links with base parameters x at their joints, on average, (n,)."""
        n = self.links.n
        q = np.concatenate([s.position[:: max(1, len(s.t) // 20)] for s in self.stretches])
        zeros = np.zeros_like(q)
        rest = self.sought.regressor(q, zeros, zeros) @ x
        found = [
            (self.sought.regressor(q, zeros, zeros + np.eye(n)[i]) @ x - rest)[:, i].mean()
            for i in range(n)
        ]
        return np.array(found)

    # fits

    def prediction(self, elastic: Sequence[int], gain: float, inertia: np.ndarray) -> Prediction:
        """What is compared with these joints elastic."""
        top = self._top[list(elastic)]
        slow = tuple(float(TURNING * x) for x in top)
        links = LinkMotion(self.links, tuple(elastic), slow)
        full = self.sought.full(np.zeros(len(self.sought.names)))
        return Prediction(
            self.stretches, links, self.sought, full, self.cutoff, gain, inertia,
            (0.0,) * self.links.n,
        )  # fmt: skip

    @cached_property
    def _top(self) -> np.ndarray:
        speeds = []
        for x in self.stretches:
            g = kernels(x.step, self.cutoff)[1]
            speeds.append([np.abs(convolved_ends(th, g)).max() for th in x.position.T])
        return np.maximum(np.max(speeds, axis=0), 1e-9)

    def one_joint(self, i: int) -> dict[str, float]:
        """Constants of JOINT of a joint, the others taken as rigid, and its inertia."""
        top = 0.5 * self.cutoff
        ways = [*np.geomspace(0.1 * top, 1.6 * top, WAYS) * 2.0 * np.pi]
        found: list[tuple[float, np.ndarray, Prediction]] = []
        motor = self._sum[2]
        for share in SHARES:
            B = share * self.whole[i]
            x, M = self.bodies({i: B}), np.array([self.whole[i] - B])
            p = self.prediction([i], WIDE, M)
            p = replace(
                p, every=steps_of(p, np.array([[M[0] * max(ways) ** 2]]), p.stretches[0].step)
            )
            members = []
            for w in ways:
                K = M[0] * w * w
                own = {"stiffness": K, "damping": 2.0 * LIGHT * w * M[0], "backlash": 0.0}
                own |= {"link_viscous": 0.5 * max(motor[i, 0], 0.0)}
                own |= {"link_coulomb": 0.5 * max(motor[i, 1], 0.0)}
                own |= {"rotor_inertia": B, "viscous": 0.5 * motor[i, 0]}
                own |= {"coulomb": 0.5 * motor[i, 1], "offset": 0.0, "delay": 0.0}
                members.append(p.packed(x - self.sought.group @ p.full, [own]))
            some = p.with_motors(np.array(members))
            costs = p.costs(p.residuals(some))
            found += [(float(c), y, p) for c, y in zip(costs, some, strict=True) if np.isfinite(c)]
        fits = []
        for _, y, p in sorted(found, key=lambda z: z[0])[:BEST]:
            z, c = p.fit(y, p.free(), 12)
            fits.append((c, z, p))
        if not fits:
            raise OptionError("no motion of the links follows the motors of the log")
        _, z, p = min(fits, key=lambda y: y[0])
        return dict(zip(JOINT, map(float, p.constants(z[None])[0, 0]), strict=True))

    def all_joints(self, starts: Sequence[dict[str, float]]) -> tuple[Prediction, np.ndarray]:
        """All elastic joints at once, without gaps."""
        B = {
            i: max(x["rotor_inertia"], 0.02 * self.whole[i])
            for i, x in zip(self.elastic, starts, strict=True)
        }
        inertia = np.array([max(self.whole[i] - B[i], 0.05 * self.whole[i]) for i in self.elastic])
        p = self.prediction(self.elastic, WIDE, inertia)
        K = np.array([[x["stiffness"]] for x in starts])
        p = replace(p, every=steps_of(p, K, p.stretches[0].step))
        x = p.packed(self.bodies(B) - self.sought.group @ p.full, starts)
        x, _ = p.fit(x, p.free())
        return p, x

    def with_gap(self, p: Prediction, x: np.ndarray, k: int) -> tuple[Prediction, np.ndarray]:
        """A fit with a gap in the k-th elastic joint, if the log shows one."""
        x, plain = p.fit(x, p.free(*_gaps(p, x)))
        largest = max(float(np.abs(d).max()) for d in p.deflections(x, k))
        starts = []
        for gap in GAPS:
            for more in STIFFER:
                y = self._anew(p, x, k, gap * largest, more)
                y, cost = p.fit(y, p.of_joint(k), 8)
                starts.append((cost, y))
        best, found = plain, x
        others = _gaps(p, x)
        for _, y in sorted(starts, key=lambda z: z[0])[:PROMISING]:
            z, cost = p.fit(y, p.of_joint(k), 12)
            if cost < best:
                best, found = cost, z
        if found is not x:
            found, best = p.fit(found, p.free(*others, k))
        seen = plain - best > SURE and p.constants(found[None])[0, k, 2] > 0.0
        return p, found if seen else x

    def _anew(self, p: Prediction, x: np.ndarray, k: int, gap: float, more: float) -> np.ndarray:
        """Unknowns with a gap in a stiffer gear; damping and friction, which stood in, anew."""
        friction = np.maximum(0.5 * self._sum[2][self.elastic[k]], 0.0)
        K = more * p.constants(x[None])[0, k, 0]
        values = {
            "stiffness": np.log(K), "damping": 2.0 * LIGHT * np.sqrt(K * p.inertia[k]),
            "backlash": gap, "link_viscous": friction[0], "link_coulomb": friction[1],
        }  # fmt: skip
        x = x.copy()
        for name, value in values.items():
            x[p.index(k, name)] = value / p.units[k, JOINT.index(name)]
        return p.with_motors(x[None])[0]

    def at_the_end(self, p: Prediction, x: np.ndarray) -> tuple[Prediction, np.ndarray]:
        """A last fit: links nearly free, torques shifted by their delay."""
        free = p.free(*_gaps(p, x))
        p = p.changed(gain=NARROW)
        x, _ = p.fit(x, free, 10)
        late, x = list(p.delays), x.copy()
        for k, i in enumerate(p.links.elastic):
            late[i] = float(p.constants(x[None])[0, k, -1])
            x[p.index(k, "delay")] = 0.0
        p = replace(p, delays=tuple(late))
        return p, p.fit(x, free, 10)[0]

    def half_widths(self, p: Prediction, x: np.ndarray) -> np.ndarray:
        """Half widths of 95 % of the constants of JOINT, (m, 10).

        A bootstrap of blocks of time, and what other filters, other gains and as much noise again
        on the encoders change.
        """
        free = p.free(*_gaps(p, x))
        beside = [replace(p, **{k: c * getattr(p, k) for k, c in y.items()}) for y in OTHERS]
        beside = [y for y in beside if y.cutoff < 0.25 / p.stretches[0].step]
        beside += [replace(p, stretches=noisier(p.stretches, k)) for k in range(NOISES)]
        fits = [own.constants(own.fit(own.converted(p, x), free, 8)[0][None])[0] for own in beside]
        values = p.constants(x[None])[0]
        spread = np.ptp(np.array([values, *fits]), axis=0)
        return WIDER * np.sqrt(scatter(p, x, free) ** 2 + spread**2 + (SAMPLED * values) ** 2)


def noise_of(x: np.ndarray, step: float) -> float:
    """Deviation of the noise of a signal: what is left above a fifth of its sampling rate."""
    fine = kernels(step, ROUGH / step)[0]
    rest = -fine
    rest[len(rest) // 2] += 1.0
    rough = (x - convolved_ends(x, fine))[len(fine) : -len(fine)]
    return float(rough.std() / np.linalg.norm(rest))


def noisier(stretches: Sequence[Motors], seed: int) -> list[Motors]:
    """Stretches whose motors have as much noise again."""
    rng, found = np.random.default_rng(seed), []
    for x in stretches:
        sizes = np.array([noise_of(th, x.step) for th in x.position.T])
        found.append(replace(x, position=x.position + sizes * rng.normal(size=x.position.shape)))
    return found


def _gaps(p: Prediction, x: np.ndarray) -> list[int]:
    """Elastic joints that have a gap."""
    return [k for k in range(len(p.links.elastic)) if x[p.index(k, "backlash")] > 0.0]


def _sum_of_sides(
    Y: np.ndarray, A: np.ndarray, tau: np.ndarray, rotors: dict[int, float] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Base parameters, rotors (n,), friction and offset (n, 3), and the share of torque left.

    Rotors that are no different from links get half of what both are.
    """
    rows, n, m = Y.shape
    known = rotors or {}
    columns = np.zeros((rows, n, m + 4 * n))
    columns[..., :m] = Y
    for i in range(n):
        columns[:, i, m + 4 * i : m + 4 * i + 4] = A[:, i]
    y = tau.copy()
    for i, B in known.items():
        y[:, i] = y[:, i] - B * A[:, i, 0]
        columns[:, i, m + 4 * i] = 0.0
    w = 1.0 / np.maximum(tau.std(axis=0), 1e-300)
    C = (columns * w[:, None]).reshape(rows * n, -1)
    size = np.linalg.norm(C, axis=0)
    size[size == 0.0] = 1.0
    x = np.linalg.lstsq(C / size, (y * w).ravel(), rcond=1e-4)[0] / size
    left = (y * w).ravel() - C @ x
    own = x[m:].reshape(n, 4)
    for i, B in known.items():
        own[i, 0] = B
    return x[:m], own[:, 0], own[:, 1:], float((left**2).mean())


def scatter(p: Prediction, x: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Half widths of 95 % of the constants of JOINT, (m, 10), by a bootstrap of blocks of time."""
    residuals, J = p.slopes(x, free)
    w = np.concatenate([np.full(len(r), 1.0 / max(rms(r), 1e-150)) for r in residuals])
    places, seconds = p.places()
    found = block_scatter(w[:, None] * J, w * np.concatenate(residuals), places, seconds)
    half = np.zeros(len(x))
    half[free] = found
    rows = half[p.bodies :].reshape(-1, len(JOINT)) * p.units
    rows[:, 0] *= p.constants(x[None])[0, :, 0]
    return rows
