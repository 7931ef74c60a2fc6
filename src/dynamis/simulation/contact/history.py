"""Contacts of a run over time: where, how hard, how they slide, how well they were solved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compile.arrays import NUMPY
from ...compile.libraries import on_host
from ...dynamics import coupling
from ...dynamics.kinematics import poses
from ...errors import OptionError, counted, shown, worded
from ...lazy import cached_property
from ...model.check.finding import Finding
from ...spatial.vectors import ZERO
from .points import ContactPoint, Point, columns_of, touched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...robot import Robot

BOUND = 1e-8  # m/s: the residual up to which a step counts as solved
PARTS = ("contact_force", "contact_impulse", "contact_mode", "contact_residual", "contact_paradox")


@dataclass(frozen=True, repr=False)
class Contacts:
    """Every point where an arm may touch its world, over time.

    `pairs` (shape, obstacle) of each point; `force` (..., N, points, 3) on the arm, in the
    reference frame, with what impacts gave spread over their step; `mode` (..., N, points): 0 open,
    1 slides, 2 sticks; `residual` (..., N) of the solution of a step, m/s. From the positions
    follow `distance` (..., N, points), `point` and `normal` (..., N, points, 3), the latter away
    from the obstacle, and `slip`, the speed across it.
    """

    robot: "Robot"
    points: tuple[ContactPoint, ...]
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    force: np.ndarray
    mode: np.ndarray
    residual: np.ndarray
    paradox: np.ndarray  # (..., N, points): where pressing does not part the surfaces (Painleve)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names of shape and obstacle of every point."""
        return tuple(p.names for p in self.points)

    @cached_property
    def _found(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        return _touches(self.robot, self.points, self.q, self.qd)

    @property
    def distance(self) -> np.ndarray:
        """Metres between shape and obstacle, (..., N, points)."""
        return self._found[0]

    @property
    def point(self) -> np.ndarray:
        """The nearest point of the arm, (..., N, points, 3)."""
        return self._found[1]

    @property
    def normal(self) -> np.ndarray:
        """Unit normals of the obstacles, towards the arm, (..., N, points, 3)."""
        return self._found[2]

    @property
    def velocity(self) -> np.ndarray:
        """Velocities of the arm there, (..., N, points, 3)."""
        return self._found[3]

    @property
    def slip(self) -> np.ndarray:
        """Speed across the normal while a point touches, m/s; 0 where it is open."""
        across = self.velocity - self.normal * _inner(self.normal, self.velocity)[..., None]
        return np.where(self.mode > 0, np.linalg.norm(across, axis=-1), 0.0)

    @property
    def normal_force(self) -> np.ndarray:
        """Forces along the normals, (..., N, points)."""
        return _inner(self.normal, self.force)

    @property
    def friction_force(self) -> np.ndarray:
        """Sizes of the forces across the normals, (..., N, points)."""
        across = self.force - self.normal * self.normal_force[..., None]
        return np.linalg.norm(across, axis=-1)

    @property
    def touching(self) -> np.ndarray:
        """Which points touch in the step that begins, (..., N, points)."""
        return self.mode > 0

    def of(self, shape: str | None = None, obstacle: str | None = None) -> np.ndarray:
        """Force on a shape, by an obstacle, or on and by all of them, (..., N, 3)."""
        for given, names, what in (
            (shape, [a for a, _ in self.pairs], "shape"),
            (obstacle, [b for _, b in self.pairs], "obstacle"),
        ):
            if given is not None and given not in names:
                known = worded(dict.fromkeys(names))
                raise OptionError(f"{what} is {shown(given)}, expected one of {known}")
        some = [shape in (None, a) and obstacle in (None, b) for a, b in self.pairs]
        return self.force[..., some, :].sum(axis=-2)

    @property
    def unsolved(self) -> int:
        """Steps whose residual is above 1e-8 m/s."""
        return int((self.residual > BOUND).sum())

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Figure of normal force, friction beside its limit, and slip of every pair over time."""
        from ...plots import plot_contacts

        return plot_contacts(self, path)

    def findings(self) -> list[Finding]:
        """Steps that were not solved to the bound, and points that slide as Painleve's rod."""
        found = []
        if (self.paradox > 0).any():
            where = np.argwhere(self.paradox > 0)[0]
            shape, obstacle = self.pairs[where[-1]]
            found.append(
                Finding(
                    "warning",
                    "contacts",
                    f"{shape!r} slides on {obstacle!r} as Painleve's rod does, first at "
                    f"t = {self.t[where[-2]]:g} s: pressing it on drives it further in, so that "
                    "rigid bodies with Coulomb friction have no one motion there",
                    "give the obstacle less friction",
                )
            )
        if self.unsolved:
            worst = np.unravel_index(int(np.nanargmax(self.residual)), self.residual.shape)
            found.append(
                Finding(
                    "warning",
                    "contacts",
                    f"contacts of {counted(self.unsolved, 'step')} of {self.residual.size} were "
                    f"not solved to {BOUND:g} m/s: worst {self.residual[worst]:.2g} m/s at "
                    f"t = {self.t[worst[-1]]:g} s",
                    "take a shorter dt, or describe shapes by fewer points",
                )
            )
        return found

    def __repr__(self) -> str:
        most = np.linalg.norm(self.force, axis=-1).max(initial=0.0)
        pairs = worded(f"{a} on {b}" for a, b in dict.fromkeys(self.pairs))
        many = counted(len(self.pairs), "point")
        return f"Contacts({many}: {pairs}; at most {most:.4g} N; {self.unsolved} steps unsolved)"


def contacts_of(
    robot: "Robot", points: Sequence[Point], rows: Mapping[str, Any], t: Any, q: Any, qd: Any,
    dt: float,
) -> Contacts:  # fmt: skip
    """Contacts from parts of the state (..., N, numbers), those of stops left out."""
    named = tuple(p for p in points if isinstance(p, ContactPoint))
    size, part = len(named), {k: np.asarray(on_host(x), float) for k, x in rows.items()}
    force = part["contact_force"] + part["contact_impulse"] / dt
    force = force.reshape(*force.shape[:-1], len(points), 3)[..., :size, :]
    modes, paradox = (part[k][..., :size] for k in ("contact_mode", "contact_paradox"))
    t, q, qd = (np.asarray(on_host(x), float) for x in (t, q, qd))
    residual = part["contact_residual"][..., 0]
    return Contacts(robot, named, t, q, qd, force, modes, residual, paradox)


def distances(robot: "Robot", points: Sequence[ContactPoint], q: Any) -> np.ndarray:
    """Distance of every point at positions (k, n): (k, points)."""
    return _touches(robot, points, q, np.zeros_like(q))[0]


def _touches(
    robot: "Robot", points: Sequence[ContactPoint], q: np.ndarray, qd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Distance, point, normal and velocity of every point, over any leading axes."""
    chain, shape, fn = robot.chain, q.shape[:-1], NUMPY
    columns, speeds = (list(np.moveaxis(x, -1, 0)) for x in (q, qd))
    rates = coupling.rates(chain, speeds)
    found: list[list[np.ndarray]] = [[], [], [], []]
    with np.errstate(all="ignore"):
        where = poses(chain, coupling.positions(chain, columns), fn)
        for p in points:
            at = touched(p, chain, where, fn)
            v: Any = ZERO
            for column, rate in zip(columns_of(chain, where, p.link, at.point), rates, strict=True):
                v = tuple(a + rate * b for a, b in zip(v, column, strict=True))
            found[0].append(np.broadcast_to(at.distance, shape))
            for rows, vector in zip(found[1:], (at.point, at.normal, v), strict=True):
                rows.append(np.stack([np.broadcast_to(x, shape) for x in vector], axis=-1))
    return tuple(np.stack(x, axis=k) for x, k in zip(found, (-1, -2, -2, -2), strict=True))  # type: ignore[return-value]


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(axis=-1)
