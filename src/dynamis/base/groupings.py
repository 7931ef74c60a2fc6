"""Groupings of a robot: by rule where the rules reach, verified against numbers, which decide."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..model.chain import Chain
from ..model.conventions import CONVENTIONS
from ..model.model import Model
from ..model.quantity import Expression
from .numeric import Rank, combinations, independent_columns, numeric_rank, scaled
from .rules import BODY, JOINT, Form, Recipe, regroup, weldable

if TYPE_CHECKING:
    from ..robot.dynamics import DynamicMethods

ROUNDING = 1e-13  # a coefficient this small is one


class Groupings(NamedTuple):
    """Which parameters lead, what is grouped with each, and how that was found."""

    columns: tuple[int, ...]
    matrix: np.ndarray  # (rank, p)
    evidence: Rank
    method: str  # "rules"; "numeric" where joints are coupled; "disputed" where they disagree
    recipe: Recipe | None = None

    def forms(self, model: Model) -> list[Form]:
        """The rows of the matrix by index, with the symbols that place the joints kept."""
        if self.recipe is not None and has_symbols(model):
            from .symbols import symbolic_forms

            return symbolic_forms(model, self.recipe, self.columns)
        return [{j: row[j] for j in np.flatnonzero(row).tolist()} for row in self.matrix]


def groupings(robot: "DynamicMethods", Y: np.ndarray, size: int, tolerance: float) -> Groupings:
    """Groupings of the first `size` parameters; Y are samples of the regressor, (count, n, p).

    Coupled joints (mimic joints, a gear matrix, full rotors) follow no rule: there, and should the
    rules ever miss the rank, the numbers alone group.
    """
    c, A = robot.chain, Y[..., :size].reshape(-1, size)
    evidence = numeric_rank(A, tolerance)
    if c.coupling is not None or any(motor.coupled for motor in c.motors):
        return _by_numbers(c, A, evidence)
    found = _by_rules(c, Y, size, evidence)
    if len(found.columns) == evidence.rank and _explains(found, A, tolerance):
        return found
    return _by_numbers(c, A, evidence)._replace(method="disputed")


def _by_rules(c: Chain, Y: np.ndarray, size: int, evidence: Rank) -> Groupings:
    inertial = size == BODY * c.links
    null = [weldable(c, Y, i, inertial, evidence.tolerance) for i in range(c.links)]
    done = regroup(c, null)
    columns = tuple(done.forms)
    rows = [_clean(form) for form in done.forms.values()]
    matrix = np.zeros((len(rows), size))
    for k, row in enumerate(rows):
        matrix[k, list(row)] = list(row.values())
    return Groupings(columns, matrix, evidence, "rules", Recipe(null, done.steps))


def _by_numbers(c: Chain, A: np.ndarray, evidence: Rank) -> Groupings:
    kept = independent_columns(A, keeping_order(c, A.shape[1]), evidence.tolerance)
    matrix = combinations(A, kept, evidence.tolerance)
    return Groupings(tuple(kept), matrix, evidence, "numeric")


def _explains(found: Groupings, A: np.ndarray, tolerance: float) -> bool:
    """Whether A = A[:, columns] matrix, next to the length of each column."""
    error = A - A[:, list(found.columns)] @ found.matrix
    _, lengths = scaled(A, tolerance)
    return bool((np.linalg.norm(error, axis=0) <= tolerance * lengths).all())


def has_symbols(model: Model) -> bool:
    """Whether symbols place the joints (those of masses and inertias do not matter here)."""
    fields = CONVENTIONS[model.convention].fields
    values = [getattr(link, name) for link in model.links for name in fields]
    flat = [x for v in values for x in (v if isinstance(v, tuple) else (v,))]
    return any(isinstance(x, Expression) for x in flat)


def keeping_order(c: Chain, size: int) -> Sequence[int]:
    """Parameters from the one to keep first to the one to keep last, base to tip in each class."""
    return sorted(range(size), key=lambda j: (_class(c, j), j))


def _class(c: Chain, j: int) -> int:
    """0 for what always stays, then rotors, Iyy, mc along the axis, m and offsets."""
    if j >= BODY * c.links:
        k = (j - BODY * c.links) % JOINT if j < (BODY + JOINT) * c.links else 1
        return {0: 1, 4: 5}.get(k, 0)
    i, k = divmod(j, BODY)
    axis = [abs(x) for x in c.bodies[i].user.R[2]]  # the joint's z in the user's frame
    along = max((2, 1, 0), key=lambda a: axis[a])
    across = 9 if along == 1 else 6  # Izz if the axis is the user's y, else Iyy
    return {0: 4, 1 + along: 3, across: 2}.get(k, 0)


def _clean(form: Form) -> Form:
    least = ROUNDING * max(1.0, *(abs(x) for x in form.values()))
    return {j: float(x) for j, x in sorted(form.items()) if abs(x) > least}
