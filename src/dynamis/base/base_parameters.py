"""Base parameters and their significance: tau = Y_base(q, qd, qdd) beta,  beta = B phi."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import number, strict, whole
from ..compile.arrays import as_batch, finite
from ..errors import OptionError, warn
from ..ik.driven import Motion, random_motion
from ..lazy import cached_property
from ..model.parameters import labels, parameter_names
from .groupings import (
    BODY,
    TOLERANCE,
    Form,
    Groupings,
    Rank,
    groupings,
    indices,
    random_regressor,
    with_springs,
)

if TYPE_CHECKING:
    from ..robot import Robot

DIGITS = 12  # of a coefficient


def sum_text(terms: Sequence[tuple[Any, str]], latex: bool = False) -> str:
    """A sum of coefficient times label, as text or in LaTeX."""
    text, product = "", r"\, " if latex else "*"
    for coefficient, label in terms:
        factor = _coefficient(coefficient, latex)
        minus = factor.startswith("-")
        factor = factor.removeprefix("-")
        sign = (" - " if minus else " + ") if text else ("-" if minus else "")
        text += sign + (label if factor == "1" else f"{factor}{product}{label}")
    return text


def _coefficient(x: Any, latex: bool) -> str:
    """A coefficient, shortest, fractions as decimal numbers: 0.4318, L1**2, (L1 + L2)."""
    if not hasattr(x, "free_symbols"):
        text = f"{float(x):.{DIGITS}g}"
        mantissa, _, exponent = text.partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if latex and exponent else text
    from .symbolic import coefficient

    return coefficient(x, DIGITS, latex)


@strict
@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The fewest combinations of a robot's parameters that its torques depend on.

    Base parameter k is the full parameter `columns[k]` plus those grouped with it, row k of
    `matrix`: base = matrix @ full. Coulomb friction jumps at rest, where no sample is taken:
    moving, an offset is the same as both Coulomb parameters at once, and is grouped with them.
    """

    robot: "Robot"
    groupings: Groupings
    matrix: np.ndarray  # (rank, p)
    unidentifiable: tuple[str, ...]  # parameters without effect on any torque
    rank: int  # number of base parameters
    columns: tuple[int, ...]  # which columns of the full regressor were kept
    evidence: Rank  # the numeric rank with the singular values on both sides of it
    tolerance: float  # size, next to the largest, below which a singular value counts as zero

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
        beta = as_batch(base_values, "base_values", (self.rank,), what)
        finite(beta, "base_values", OptionError)
        change = (beta - self.values) @ np.linalg.pinv(self.matrix).T
        return self.robot.parameters.values + change

    def expressions(self) -> list[Any]:
        """The base parameters over the model's own symbols (SymPy), such as `L1*m2 + lc1*m1`."""
        from .symbolic import symbolic_values

        return symbolic_values(self.robot.model, self._forms)

    def latex(self) -> str:
        """The groupings as an `aligned` block, beta_k = ..."""
        sums = [sum_text(terms, latex=True) for terms in self._terms("latex")]
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
        words = labels(parameter_names(model), style)
        own = {j: i for i in range(len(model.links)) for j in indices(self.robot.chain, i)}
        rows = []
        for lead, form in zip(self.columns, self._forms, strict=True):
            rest = sorted((j for j in form if j != lead), key=lambda j: (own.get(j, len(own)), j))
            rows.append([(form[j], words[j]) for j in (lead, *rest)])
        return rows

    def __repr__(self) -> str:
        size = self.matrix.shape[1]
        return f"BaseParameters({self.robot.model.name!r}, {self.rank} of {size} parameters)"

    def __str__(self) -> str:
        pairs = zip(self.values, self.names, strict=True)
        return "\n".join(f"{value:12.6g}  {name}" for value, name in pairs)


def base_parameters(
    robot: "Robot",
    inertial_only: bool = False,
    tolerance: float = TOLERANCE,
    left_out: np.ndarray | None = None,
) -> BaseParameters:
    """Base parameters of a robot; `inertial_only` leaves friction, drives and springs out.

    `left_out` are parameters that count as zero, (p,) bool.
    """
    if robot.model.own_laws:
        raise OptionError(
            f"robot {robot.model.name!r} has {', '.join(robot.model.own_laws)}: base parameters "
            "are those of bodies, drives and springs alone",
            "ask the robot without them; identify takes their constants beside the others",
        )
    between = "a number between 0 and 1"
    tolerance = number(tolerance, "tolerance", between, lambda x: 0.0 < x < 1.0)
    names = parameter_names(robot.model)  # raises for a centre of mass that moves in its link
    forces = sum(len(force.coefficients) for force in robot.model.forces)
    size = BODY * len(robot.model.links) if inertial_only else len(names) - forces
    Y = random_regressor(robot)
    Y = Y if left_out is None else np.where(left_out, 0.0, Y)
    found = groupings(robot, Y, size, tolerance, left_out)
    if forces and not inertial_only:
        found, size = with_springs(found, Y, tolerance), len(names)
    matrix = np.zeros((len(found.columns), len(names)))
    matrix[:, :size] = found.matrix
    without_effect = tuple(names[j] for j in range(size) if not matrix[:, j].any())
    rank, evidence = len(found.columns), found.evidence
    clear = evidence.is_clear and evidence.rank == rank
    if not clear or found.method == "disputed":
        warn(
            f"the base parameters of {robot.model.name!r} are not clear cut ({evidence}; "
            f"{rank} chosen): some geometry is special only nearly"
        )
    return BaseParameters(
        robot, found, matrix, without_effect, rank, found.columns, evidence, tolerance
    )


# Significance of parameters (Armstrong et al. 1986): a table, and an approximate model.
#
# A base parameter's share on a joint is the largest torque it ever causes there, next to the
# largest torque of that joint, over random states of the workspace. Dropping what is small
# everywhere gives an APPROXIMATE robot whose error is measured on other states, not assumed.

MOST = 1_000_000  # random states
FASTEST = 1e9  # rad/s or rad/s^2: beyond, the squares of torques lose their digits
STILL = 1e-9  # a joint with less torque than this (of the largest) is not judged


@dataclass(frozen=True, eq=False)
class Significance:
    """Shares of every base parameter, and the robot without the small ones (approximate)."""

    base: BaseParameters
    percent: float
    shares: np.ndarray  # (rank,) in percent: the largest over the joints
    error: float  # percent: worst torque error of the approximate robot on other states
    approximate: "Robot"

    @property
    def dropped(self) -> tuple[str, ...]:
        """Base parameters that contribute less than `percent` to every joint."""
        pairs = zip(self.base.names, self.shares, strict=True)
        return tuple(name for name, share in pairs if share < self.percent)

    @cached_property
    def order(self) -> np.ndarray:
        """Base parameters by falling share."""
        return np.argsort(-self.shares)

    def __str__(self) -> str:
        lines = [
            f"share of the torque, %  base parameter (dropped below {self.percent:g} %)",
            *(f"{self.shares[k]:22.4f}  {self.base.names[k]}" for k in self.order),
            f"APPROXIMATE without {len(self.dropped)} of {self.base.rank}: torques are off by up "
            f"to {self.error:.2g} % of each joint's largest",
        ]
        return "\n".join(lines)


def significance(
    robot: "Robot",
    percent: float = 1.0,
    speed: float = 1.0,
    acceleration: float = 1.0,
    samples: int = 2000,
    seed: int = 0,
) -> Significance:
    """Shares over q within the limits (a full turn where there are none), |qd| and |qdd| up to the
    speed and acceleration given.

    Of a closed mechanism: over configurations about `robot.home`, speeds and accelerations being
    those of its drives.
    """
    percent, speed, acceleration = (
        number(value, name, f"a number from 0 to {FASTEST:g}", lambda x: 0.0 <= x <= FASTEST)
        for name, value in (("percent", percent), ("speed", speed), ("acceleration", acceleration))
    )
    whole(samples, "samples", most=MOST)
    whole(seed, "seed", 0)
    base = base_parameters(robot)
    rng = np.random.default_rng(seed)

    def states() -> Motion:
        return random_motion(robot, samples, rng, speed, acceleration)

    Y = base.regressor(*states())
    shares = 100 * _relative(Y * base.values, Y @ base.values)
    kept = np.where(shares >= percent, base.values, 0.0)
    full = np.zeros(base.matrix.shape[1])
    full[list(base.columns)] = kept  # a base parameter alone stands for all that is grouped with it
    rest = robot.with_parameters(full)
    approximate = rest._with_model(name=f"{rest.name} (approximate)")
    state = states()
    exact = robot.inverse_dynamics(*state)
    off = (approximate.inverse_dynamics(*state) - exact)[..., None]
    return Significance(base, percent, shares, float(100 * _relative(off, exact)[0]), approximate)


def _relative(parts: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Largest |part| of each column next to each joint's largest torque, the worst joint."""
    largest = np.abs(torque).max(axis=0)
    judged = largest > STILL * largest.max()
    return (np.abs(parts).max(axis=0)[judged] / largest[judged, None]).max(axis=0)
