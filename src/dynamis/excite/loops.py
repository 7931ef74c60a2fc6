"""Closed mechanisms in a design: all joints from the series of those that decide the others.

A motion is followed from where the mechanism starts to the middle of the series, and from there to
every sample, in a straight line of the drives: the assembly stays the one it starts in.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..ik.follow import REACHED, follow_many
from ..ik.singularity import condition_numbers
from ..ik.tangent import joint_scale, led_motions
from ..ik.target import task_mask
from ..trajectory.fourier import Fourier
from .limits import Bounds

if TYPE_CHECKING:
    from ..robot import Robot
    from .series import Series

USUAL_CONDITION = 20.0
LOOSER = 5.0  # times this may be the condition number of the closures themselves
STEP, SHORTEST = 0.2, 0.005  # of the drives: motions that need shorter steps are given up
JUMP = 0.1  # rad, or sizes, that a joint may be from where its rates lead to the next sample
ROUNDING = 1e-13
KINDS = ("serial", "parallel", "loops")


class Conditioning(NamedTuple):
    """The worst condition number of a motion, as `robot.singularity` has it; of which kind, when.

    That of the loops counts a fifth, as in the limit.
    """

    number: float
    kind: str
    t: float  # s

    def __str__(self) -> str:
        what = f"{self.kind} condition number {self.number:.3g}"
        return f"nearest to singular: {what} at t = {self.t:.3g} s"


@dataclass(frozen=True, eq=False)
class Loops:
    """A closed mechanism; `bounds` are those of all joints, `most` of the condition numbers."""

    robot: "Robot"
    bounds: Bounds
    most: float | None

    @property
    def start(self) -> np.ndarray:
        """Where motions are followed from, (n,)."""
        assert self.bounds.start is not None
        return self.bounds.start

    def moved(self, q: np.ndarray, goals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of q (k, n) with the drives at the goals (k, dof); whether they came there."""
        found, why = follow_many(self.robot, q, goals, STEP, SHORTEST)
        return found, why == REACHED

    def placed(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All joints with the drives at places (k, dof); whether the mechanism came there."""
        return self.moved(np.tile(self.start, (len(places), 1)), places)

    def led_away(self, places: np.ndarray, levels: int) -> tuple[np.ndarray, np.ndarray]:
        """As `placed`; there is what has nothing singular on the way, looked at `levels` times."""
        begin = self.start[list(self.robot.independent)]
        q, there = np.tile(self.start, (len(places), 1)), np.ones(len(places), dtype=bool)
        for share in np.linspace(0.0, 1.0, levels + 1)[1:]:
            q, reached = self.moved(q, begin + share * (places - begin) if share < 1.0 else places)
            there &= reached & (self.strain(q) <= 1.0)
        return q, there

    def seen(self, count: int) -> np.ndarray:
        """Random configurations within the limits, as far as the mechanism comes, (k, n)."""
        rng, own = np.random.default_rng(0), self.bounds.of(self.robot.independent)
        found = self.placed(rng.uniform(own.q[:, 0], own.q[:, 1], (count, len(own.q))))[0]
        inside = (self.bounds.used(found) <= 1.0).all(axis=-1)
        return np.concatenate([self.start[None], found[inside]])

    def states(
        self, series: "Series", X: np.ndarray, t: np.ndarray, near: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd of all joints, (..., T, n) each; NaN in series that cannot be followed.

        `near` (..., T, n) is a motion to begin from instead of the middle of each series.
        """
        shape = (*X.shape[:-2], len(t), self.robot.n)
        own = [x.reshape(-1, len(t), series.n) for x in series.states(X, t)]
        places = series.places(X).reshape(-1, series.n)
        begin = None if near is None else near.reshape(-1, *shape[-2:])
        q, qd, qdd = self.led(places, (own[0], own[1], own[2]), t, begin).reshape(3, *shape)
        return q, qd, qdd

    def led(
        self,
        places: np.ndarray,
        own: tuple[np.ndarray, np.ndarray, np.ndarray],
        t: np.ndarray,
        near: np.ndarray | None = None,
    ) -> np.ndarray:
        """q, qd, qdd of all joints, (3, k, T, n), from those that decide, (k, T, dof) each.

        `places` (k, dof) are on the way there, unless `near` (k, T, n) is where it begins.
        """
        n, found = self.robot.n, np.full((3, *own[0].shape[:2], self.robot.n), np.nan)
        rows = np.arange(len(places))
        if near is None:
            middle, there = self.placed(places)
            near, rows = np.repeat(middle[:, None], len(t), axis=1), rows[there]
        if len(rows):
            goals = own[0][rows].reshape(-1, places.shape[-1])
            q, reached = self.moved(near[rows].reshape(-1, n), goals)
            good = reached.reshape(len(rows), -1).all(axis=1)
            rows, q = rows[good], q.reshape(len(rows), -1, n)[good]
        if len(rows):
            qd = self.robot.joint_rates(q, own[1][rows])
            found[:, rows] = q, qd, self.robot.joint_accelerations(q, qd, own[2][rows])
            found[:, rows[~self._continuous(q, qd, t)]] = np.nan
        return found

    def _continuous(self, q: np.ndarray, qd: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Whether no joint of a series jumps from one sample to the next, (k,)."""
        led = 0.5 * np.diff(t)[:, None] * (qd[:, 1:] + qd[:, :-1])
        off = np.abs(np.diff(q, axis=1) - led) / joint_scale(self.robot)
        moved = np.abs(led) / joint_scale(self.robot)
        return np.asarray((off <= np.maximum(JUMP, 0.5 * moved)).all(axis=(1, 2)))

    def trajectory(self, own: Fourier, t: np.ndarray) -> Fourier:
        """The motion of the drives from that of the joints that decide.

        Drives that follow are no finite series: theirs is taken from the samples at t, even over
        the period, as far as its terms are more than rounding.
        """
        drives, decide = self.robot.driven, self.robot.independent
        q0, follow = np.array(own.q0), [k for k in drives if k not in decide]
        if not follow:
            rows = [decide.index(k) for k in drives]
            return Fourier(own.a[rows], own.b[rows], own.period, q0[rows], own.harmonics)
        H, columns = own.harmonics[-1], [h - 1 for h in own.harmonics]
        a, b = np.zeros((2, self.robot.n, len(t) // 2 - 1))
        middle = np.zeros(self.robot.n)
        there = np.ix_(list(decide), columns)
        a[there], b[there] = own.a, own.b
        middle[list(decide)] = q0
        x = own(t)
        q = self.led(q0[None], (x.q[None], x.qd[None], x.qdd[None]), t)[0, 0][:, follow]
        terms = np.fft.rfft(q, axis=0).T / len(t)
        w = 2.0 * np.pi / own.period * np.arange(1, a.shape[1] + 1)
        middle[follow], harmonics = terms[:, 0].real, terms[:, 1 : len(w) + 1]
        a[follow], b[follow] = -2.0 * w * harmonics.imag, -2.0 * w * harmonics.real
        H = max(H, _last(terms))
        rows = list(drives)
        return Fourier(a[rows, :H], b[rows, :H], own.period, middle[rows], None)

    def conditions(self, q: np.ndarray) -> np.ndarray:
        """Condition numbers of KINDS at configurations, (..., 3)."""
        robot = self.robot
        Z = np.swapaxes(robot.joint_rates(q[..., None, :], np.eye(robot.dof)), -1, -2)
        numbers = condition_numbers(robot, q, led_motions(robot, Z), task_mask(robot))
        return np.stack(numbers, axis=-1)

    def strain(self, q: np.ndarray) -> np.ndarray:
        """Worst condition number as a fraction of its limit, (...,); 0 without one."""
        if self.most is None:
            return np.zeros(q.shape[:-1])
        return (self.conditions(q) / (self.most * ALLOWED)).max(axis=-1)

    def passes(self, q: np.ndarray) -> np.ndarray:
        """Whether motions (k, T, n) are known and no sample of them is nearly singular, (k,)."""
        known = np.asarray(np.isfinite(q).all(axis=(1, 2)))
        known[known] = (self.strain(q[known]) <= 1.0).all(axis=-1)
        return known

    def worst(self, q: np.ndarray, t: np.ndarray) -> Conditioning:
        """The worst along positions q (T, n)."""
        numbers = self.conditions(q)
        row, kind = np.unravel_index((numbers / ALLOWED).argmax(), numbers.shape)
        return Conditioning(float(numbers[row, kind]), KINDS[kind], float(t[row]))


def _last(terms: np.ndarray) -> int:
    """The last harmonic of a series (rows, harmonics from 0 on) that is more than rounding."""
    size = np.abs(terms).max(axis=0)
    return int(np.flatnonzero(size > ROUNDING * size.max())[-1])


ALLOWED = np.array([1.0, 1.0, LOOSER])  # share of the limit, by kind
