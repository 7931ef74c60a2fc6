"""The base parameters of a robot: tau = Y_base(q, qd, qdd) beta,  beta = B phi."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import evaluate as door
from ..arguments import number
from ..cached import cached_property
from ..errors import DynamisWarning, OptionError
from ..model.parameters import parameter_names
from .groupings import Groupings, groupings
from .names import coefficient_latex, labels, sum_text
from .numeric import TOLERANCE, Rank, random_regressor
from .rules import BODY, JOINT, Form

if TYPE_CHECKING:
    from ..robot.dynamics import DynamicMethods


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The fewest combinations of a robot's parameters that its torques depend on.

    Base parameter k is the full parameter `columns[k]` plus those grouped with it, row k of
    `matrix`: base = matrix @ full. Coulomb friction jumps at rest, where no sample is taken:
    moving, an offset is the same as both Coulomb parameters at once, and is grouped with them.
    """

    robot: "DynamicMethods"
    groupings: Groupings
    matrix: np.ndarray  # (rank, p)
    unidentifiable: tuple[str, ...]  # parameters without effect on any torque

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.columns)

    @property
    def columns(self) -> tuple[int, ...]:
        """Which columns of the full regressor were kept."""
        return self.groupings.columns

    @property
    def evidence(self) -> Rank:
        """The numeric rank with the singular values on both sides of it."""
        return self.groupings.evidence

    @property
    def tolerance(self) -> float:
        """Size, next to the largest, below which a singular value counts as zero."""
        return self.evidence.tolerance

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Groupings as text, such as `Izz1 + Iyy2 + 0.18645124*m3`."""
        return tuple(sum_text(terms) for terms in self._terms("plain"))

    @cached_property
    def khalil(self) -> tuple[str, ...]:
        """Groupings as text in Khalil's notation, such as `ZZ1 + YY2 + 0.18645124*M3`."""
        return tuple(sum_text(terms) for terms in self._terms("khalil"))

    @cached_property
    def values(self) -> np.ndarray:
        """beta = B phi for the robot's own parameters, (rank,)."""
        return self.matrix @ self.robot.parameters.values

    def regressor(self, q: Any, qd: Any, qdd: Any, **options: Any) -> np.ndarray:
        """Y_base with Y_base @ values = inverse_dynamics, (..., n, rank): columns of the full Y.

        With inertial parameters only, the torque of the links without friction and drives.
        """
        return self.robot.regressor(q, qd, qdd, **options)[..., list(self.columns)]

    def full(self, base_values: Any) -> np.ndarray:
        """A full parameter vector with these base values: the nearest to the robot's own.

        phi = phi_0 + B^T (B B^T)^-1 (beta - B phi_0), (..., p). Not unique: any vector of the null
        space may be added, and nothing here makes the bodies physical.
        """
        what = f"the base parameters of {self.robot.model.name!r}"
        beta = door.as_batch(base_values, "base_values", (self.rank,), what)
        if not np.isfinite(beta).all():
            raise OptionError("base_values holds NaN or infinity, expected finite numbers")
        change = (beta - self.values) @ np.linalg.pinv(self.matrix).T
        return self.robot.parameters.values + change

    def expressions(self) -> list[Any]:
        """The base parameters over the model's own symbols (SymPy), such as `L1*m2 + lc1*m1`."""
        from .symbols import symbolic_values

        return symbolic_values(self.robot.model, self._forms)

    def latex(self) -> str:
        """The groupings as an `aligned` block, beta_k = ..."""
        sums = [sum_text(terms, r"\, ", coefficient_latex) for terms in self._terms("latex")]
        rows = [rf"\beta_{{{k + 1}}} &= {text}" for k, text in enumerate(sums)]
        return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    @cached_property
    def _forms(self) -> list[Form]:
        return self.groupings.forms(self.robot.model)

    def _terms(self, style: str) -> list[list[tuple[Any, str]]]:
        """Coefficient and label of every term, the leading parameter first, then link by link."""
        model = self.robot.model
        words = labels(model, parameter_names(model), style)
        rows = []
        for lead, form in zip(self.columns, self._forms, strict=True):
            rest = sorted((j for j in form if j != lead), key=lambda j: _place(j, len(model.links)))
            rows.append([(form[j], words[j]) for j in (lead, *rest)])
        return rows

    def __repr__(self) -> str:
        size = self.matrix.shape[1]
        return f"BaseParameters({self.robot.model.name!r}, {self.rank} of {size} parameters)"

    def __str__(self) -> str:
        pairs = zip(self.values, self.names, strict=True)
        return "\n".join(f"{value:12.6g}  {name}" for value, name in pairs)


def base_parameters(
    robot: "DynamicMethods", inertial_only: bool = False, tolerance: float = TOLERANCE
) -> BaseParameters:
    """Base parameters of a robot; `inertial_only` leaves friction and drives out."""
    between = "a number between 0 and 1"
    tolerance = number(tolerance, "tolerance", between, lambda x: 0.0 < x < 1.0)
    names = parameter_names(robot.model)  # raises for a centre of mass that moves in its link
    size = BODY * len(robot.model.links) if inertial_only else len(names)
    found = groupings(robot, random_regressor(robot), size, tolerance)
    matrix = np.zeros((len(found.columns), len(names)))
    matrix[:, :size] = found.matrix
    lost = tuple(names[j] for j in range(size) if not matrix[:, j].any())
    clear = found.evidence.is_clear and found.evidence.rank == len(found.columns)
    if not clear or found.method == "disputed":
        warnings.warn(
            f"the base parameters of {robot.model.name!r} are not clear cut ({found.evidence}; "
            f"{len(found.columns)} chosen): some geometry is special only nearly",
            DynamisWarning,
            stacklevel=3,
        )
    return BaseParameters(robot, found, matrix, lost)


def _place(j: int, links: int) -> tuple[int, int]:
    """Link or joint of a parameter, then its place in the vector."""
    if j < BODY * links:
        return j // BODY, j
    return (j - BODY * links) // JOINT if j < (BODY + JOINT) * links else links, j
