"""Columns of friction that depend on the past: elements that stretch, bristles that bend."""

from typing import NamedTuple

import numpy as np

from ...robot.deflections import Bristles, deflections
from .models import Bristle

OF_BRISTLES = (  # kinds of unknowns, in the order of the slopes
    *("coulomb", "stribeck", "bristle_stiffness", "bristle_damping", "stribeck_velocity"),
)
VELOCITY = 4  # the slope over the velocity of Stribeck's law


class Elements(NamedTuple):
    """Elements with memory: the unknown weight of each, its joint and its radius (rad or m), (k,).

    Weights multiply what `deflections` gives along a motion.
    """

    unknowns: np.ndarray
    joints: np.ndarray
    radii: np.ndarray

    def along(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Deflections, of the radius, and the rows that tell them: see `History.along`."""
        return deflections(q[:, self.joints], self.radii)

    def slipping(self, qd: np.ndarray) -> np.ndarray:
        """Deflections, of the radius, once all slip, (N, k)."""
        return np.sign(qd[:, self.joints])

    @property
    def key(self) -> tuple:
        """What decides on the deflections."""
        return (*self.joints, *self.radii)


class Bent(NamedTuple):
    """Constants of bristles as unknowns, and the points at which these are linearised.

    Unknowns multiply the slopes of the torque: at the point their sum is the torque itself. The
    velocity of Stribeck's law adds nothing to the torque at the point: the column of the Coulomb
    torque c has that much less, so that the unknown is velocity (c / c at the point).
    """

    unknowns: np.ndarray
    joints: np.ndarray
    slope: np.ndarray  # which of OF_BRISTLES each is
    of: np.ndarray  # number of its joint among `joints_of`
    joints_of: np.ndarray
    points: tuple[Bristle, ...]

    def along(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes and the rows that tell them: see `History.along`."""
        if not self.points:
            return np.zeros((len(q), 0)), np.zeros((len(q), 0), dtype=bool)
        found, known = self.bristles.slopes(q[:, self.joints_of], qd[:, self.joints_of])
        return self._columns(found), known[:, self.of]

    def slipping(self, qd: np.ndarray) -> np.ndarray:
        """Slopes once all slide at a constant velocity, (N, k)."""
        if not self.points:
            return np.zeros((len(qd), 0))
        v = qd[:, self.joints_of]
        bristles, squared = self.bristles, (v / self.bristles.velocity) ** 2
        side, share = np.sign(v), np.exp(-squared)
        bend = 2.0 * bristles.stribeck * squared * share * side
        return self._columns(np.stack([side, share * side, 0.0 * v, 0.0 * v, bend]))

    def _columns(self, slopes: np.ndarray) -> np.ndarray:
        """Columns (N, k) from slopes (5, N, joints), the last over the logarithm of velocity."""
        bristles, sought = self.bristles, np.zeros(len(self.points), dtype=bool)
        sought[self.of[self.slope == VELOCITY]] = True
        slopes = slopes.copy()
        slopes[0] -= np.where(sought, slopes[VELOCITY] / bristles.coulomb, 0.0)
        slopes[VELOCITY] /= bristles.velocity
        return slopes[self.slope, :, self.of].T

    @property
    def bristles(self) -> Bristles:
        """The bristles of all joints that have some."""
        c, more, velocity, stiffness, damping = np.array([x[:5] for x in self.points]).T
        return Bristles(c, more, velocity, stiffness, damping)

    @property
    def key(self) -> tuple:
        """What decides on the slopes."""
        return (*self.joints_of, *self.points)


class History(NamedTuple):
    """All such columns of some unknowns."""

    elements: Elements
    bent: Bent

    @property
    def unknowns(self) -> np.ndarray:
        """The unknown of every column, (k,)."""
        return np.concatenate([self.elements.unknowns, self.bent.unknowns])

    @property
    def joints(self) -> np.ndarray:
        """The joint of every column, (k,)."""
        return np.concatenate([self.elements.joints, self.bent.joints])

    def along(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns on rows of all joints (N, n) that follow each other, (N, k).

        And the rows that do not depend on how it began, bool.
        """
        parts = [part.along(q, qd) for part in self]
        columns, known = (np.concatenate(x, axis=1) for x in zip(*parts, strict=True))
        return columns, known

    def slipping(self, qd: np.ndarray) -> np.ndarray:
        """Columns once all slide at a constant velocity, (N, k)."""
        return np.concatenate([part.slipping(qd) for part in self], axis=1)

    @property
    def key(self) -> tuple:
        """What decides on the columns."""
        return self.elements.key, self.bent.key
