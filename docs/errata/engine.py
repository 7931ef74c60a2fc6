"""What the errata are checked against: the engine's numbers at one state."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from dynamis.dynamics.equation import mass_matrix
from dynamis.dynamics.kinematics import frames
from dynamis.equations.derivation.newton_euler import newton_steps
from dynamis.equations.derivation.setting import numeric
from dynamis.equations.render.formula import plain
from dynamis.model.chain import chain
from dynamis.model.formats.files import load_model
from dynamis.model.model import Model
from dynamis.spatial.functions import MATH

AGREES = 1e-9  # largest difference of a right formula
DIFFERS = 1e-3  # smallest difference of a wrong one
Array = Any


class Verdict(NamedTuple):
    """How far the printed and the right formula are from what the engine computes."""

    printed: float
    right: float

    @property
    def decides(self) -> bool:
        """Whether the printed formula is wrong and the right one right."""
        return self.printed > DIFFERS and self.right < AGREES


@dataclass(frozen=True)
class Facts:
    """A robot at one state, and everything Newton-Euler says of it."""

    model: Model
    q: Array
    qd: Array
    qdd: Array
    values: dict[str, Any]

    def __getitem__(self, name: str) -> Array:
        """A quantity by its plain name: 2w2, 2wd2, 2vd2, 1R2, 3p3, ..."""
        return np.array(self.values[name], dtype=float)

    def mass_matrix(self) -> Array:
        """M(q)"""
        return np.array(mass_matrix(chain(self.model), self.q, MATH), dtype=float)

    def pose(self, k: int) -> Array:
        """The user's frame k in the base, 4x4."""
        return np.array(frames(chain(self.model), self.q, MATH)[k], dtype=float)


def verdict(printed: Any, right: Any, truth: Any) -> Verdict:
    """Largest absolute differences."""
    off = [float(np.max(np.abs(np.asarray(x) - np.asarray(truth)))) for x in (printed, right)]
    return Verdict(*off)


@cache
def catalogue(name: str) -> Model:
    """A robot of the catalogue."""
    return load_model(name)


def facts(
    robot: str | Model,
    qd: Sequence[float] | None = None,
    qdd: Sequence[float] | None = None,
    q: Sequence[float] | None = None,
) -> Facts:
    """A robot at a state in which nothing vanishes by chance."""
    model = catalogue(robot) if isinstance(robot, str) else robot
    k = np.arange(model.n)
    state = [
        np.array(given, dtype=float) if given is not None else usual
        for given, usual in ((q, 0.4 + 0.3 * k), (qd, 0.9 - 0.25 * k), (qdd, 0.5 + 0.35 * k))
    ]
    x, xd, xdd = (row.tolist() for row in state)
    drafts = newton_steps(numeric(model, x, xd, xdd))
    values = {plain(raw.name): raw.value for draft in drafts for raw in draft.items}
    return Facts(model, state[0], state[1], state[2], values)


def skew(v: Array) -> Array:
    """[v], so that [v] u = v x u."""
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
