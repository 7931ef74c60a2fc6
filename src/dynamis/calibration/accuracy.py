"""Errors of an arm at measured places: distances in metres, posture by posture."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..arguments import strict
from .error_model import ErrorModel
from .fit import Fit
from .residuals import Block, SocketsBlock, State, group_means


@strict
@dataclass(frozen=True, eq=False, repr=False)
class Accuracy:
    """Distances in metres: of every point from where it was measured, from the mean of its socket,

    from its plane. `vectors` (N, 3) point from the predicted to the measured place (planes: along
    the normal), at `points` (N, 3) of the reference frame. `angles` (N,) in radians are those of
    measured poses. `distances` (K, 2) are known and found distances of sockets.
    """

    name: str
    vectors: np.ndarray
    points: np.ndarray
    angles: np.ndarray = field(default_factory=lambda: np.zeros(0))
    distances: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))

    @property
    def errors(self) -> np.ndarray:
        """Distance of every measurement, (N,)."""
        return np.linalg.norm(self.vectors, axis=1)

    @property
    def mean(self) -> float:
        """Mean distance."""
        return float(self.errors.mean())

    @property
    def rms(self) -> float:
        """Root mean square of the distances."""
        return float(np.sqrt((self.errors**2).mean()))

    @property
    def max(self) -> float:
        """Largest distance."""
        return float(self.errors.max())

    @property
    def distance_errors(self) -> np.ndarray:
        """Found less known distances of sockets, (K,)."""
        return self.distances[:, 1] - self.distances[:, 0]

    def cells(self) -> tuple[str, str, str, str, str]:
        """Row of a table: name, rows, mean, RMS and largest in mm."""
        sizes = (f"{1e3 * x:.3f}" for x in (self.mean, self.rms, self.max))
        return self.name, str(len(self.errors)), *sizes  # type: ignore[return-value]

    def __repr__(self) -> str:
        mean, rms, most = (1e3 * x for x in (self.mean, self.rms, self.max))
        return f"Accuracy({self.name!r}, mean {mean:.3f} mm, rms {rms:.3f} mm, max {most:.3f} mm)"


def accuracy(
    name: str, model: ErrorModel, values: np.ndarray, blocks: Sequence[Block],
    states: Sequence[State],
) -> Accuracy:  # fmt: skip
    """All sets together, for an arm and places that are given."""
    found = [_of_set(model, values, b, s) for b, s in zip(blocks, states, strict=True)]
    vectors, points, angles, distances = (np.concatenate(x) for x in zip(*found, strict=True))
    return Accuracy(name, vectors, points, angles, distances)


def _of_set(
    model: ErrorModel, values: np.ndarray, block: Block, state: State
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    arm = model.motion(values, block.at, columns=False)
    target = state["target"]
    points = arm.point(target[:3, 3] if target.shape == (4, 4) else target)
    none = np.zeros((0, 2))
    if isinstance(block, SocketsBlock):
        centres = group_means(points, block.socket)
        found = [np.linalg.norm(centres[b] - centres[a]) for _, a, b in block.pairs]
        known = block.data.distance
        pairs = none if known is None else np.array([(known, x) for x in found]).reshape(-1, 2)
        return centres[block.socket] - points, points, np.zeros(0), pairs
    parts = {part.name: part.r for part in block.parts(model, values, state)}
    first = next(iter(parts.values()))
    if "plane" in state:
        first = first * state["plane"][0, :3]
    angles = np.linalg.norm(parts.get("orientation", np.zeros((0, 3))), axis=1)
    return first, points, angles, none


def of_fit(name: str, fit: Fit) -> Accuracy:
    """Errors of a fit at its own observations."""
    return accuracy(name, fit.model, fit.values, fit.blocks, fit.states)


def merged(name: str, found: Sequence[Accuracy], order: np.ndarray | None = None) -> Accuracy:
    """Several as one; `order` sorts their rows."""
    own = ("vectors", "points", "angles", "distances")
    vectors, points, angles, distances = (
        np.concatenate([getattr(x, key) for x in found]) for key in own
    )
    if order is not None:
        vectors, points = vectors[order], points[order]
    return Accuracy(name, vectors, points, angles, distances)
