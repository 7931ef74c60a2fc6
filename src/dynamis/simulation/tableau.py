"""Integrators as Butcher tableaus; the constructor checks their basic order conditions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ..arguments import one_of
from ..lazy import cached_property

Row = tuple[float, ...]
ROUNDING = 1e-14
DIGITS = (5.0, 2.0, 1.0)  # of a step that is proposed
MARGIN = 0.9  # of the stability limit: what is beyond it is refused


@dataclass(frozen=True)
class Tableau:
    """An explicit Runge-Kutta method.

    y' = y + h sum b_i k_i, k_i = f(t + c_i h, y + h sum a_ij k_j)

    `lower` are the weights of the embedded method that measures the error; `dense` gives the
    weights b_i(s) of the solution at t + s h as polynomials in s, lowest power (s^1) first.
    `semi_implicit`: positions move with the velocities at the end of the step.

    With `G` it is a Rosenbrock-W method, implicit in what a matrix A stands for, whatever A is:

    (1 - gamma h A) k_i = f(t + c_i h, y + h sum a_ij k_j) + h A sum g_ij k_j

    Rates of positions p follow from those of velocities v then, since p' = v is exact in A:

    k_i of p = v + h sum_j (a_ij + g_ij) k_j of v, g_ii = gamma
    """

    name: str
    order: int
    A: tuple[Row, ...]
    b: Row
    lower: Row | None = None
    dense: tuple[Row, ...] | None = None
    semi_implicit: bool = False
    gamma: float = field(default=0.0, repr=False)
    G: tuple[Row, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        stages = len(self.b)
        if [len(row) for row in self.A] != list(range(stages)):
            raise ValueError(f"{self.name}: A must be strictly lower triangular")
        for power, total in enumerate((1.0, 0.5, 1 / 3, 0.25)[: self.order]):
            moment = sum(b * c**power for b, c in zip(self.b, self.c, strict=True))
            if abs(moment - total) > ROUNDING:
                raise ValueError(f"{self.name}: sum b c^{power} is {moment}, not {total}")
        rows = zip(self.b, self.A, strict=True)
        third = sum(b * sum(a * c for a, c in zip(row, self.c, strict=False)) for b, row in rows)
        if self.order >= 3 and abs(third - 1 / 6) > ROUNDING:
            raise ValueError(f"{self.name}: sum b_i a_ij c_j is {third}, not 1/6")
        if self.G and [len(row) for row in self.G] != list(range(stages)):
            raise ValueError(f"{self.name}: G must be strictly lower triangular")
        for moment in self._tilted_moments():
            if abs(moment) > ROUNDING:
                raise ValueError(f"{self.name}: a sum over G is {moment}, not 0")
        if self.lower is not None and abs(sum(self.lower) - 1.0) > ROUNDING:
            raise ValueError(f"{self.name}: the embedded weights do not add up to 1")
        for b, polynomial in zip(self.b, self.dense or (), strict=False):
            if abs(sum(polynomial) - b) > ROUNDING:
                raise ValueError(f"{self.name}: the dense weights do not end at b")

    def _tilted_moments(self) -> list[float]:
        """b G 1, b A G 1, b G A 1, b G G 1, which vanish: A then changes no term below order 4."""
        if not self.G:
            return []
        A, G = _square(self.A), _square(self.G) + self.gamma * np.eye(len(self.b))
        return [float(np.dot(self.b, X.sum(axis=1))) for X in (G, A @ G, G @ A, G @ G)]

    @cached_property
    def key(self) -> str:
        """Cache key: two equal texts give the same code."""
        return repr(self)

    @cached_property
    def c(self) -> Row:
        """Where in the step the stages are."""
        return tuple(float(sum(row)) for row in self.A)

    @cached_property
    def nodes(self) -> Row:
        """The distinct c, in order."""
        return tuple(sorted(set(self.c)))

    @cached_property
    def stability_limit(self) -> float:
        """Largest z for which every step of y' = -r y with r h <= z takes y no farther from 0.

        |R(-z)| <= 1, with R(z) = 1 + sum z^k b^T A^(k-1) 1
        """
        size, A = len(self.b), _square(self.A)
        terms, ones = [], np.ones(size)
        for k in range(1, size + 1):
            terms.append((-1.0) ** k * float(np.dot(self.b, ones)))
            ones = A @ ones
        ends = np.roots(terms[::-1]), np.roots([*terms[::-1], 2.0])  # R = 1 but at 0; R = -1
        return min(float(z.real) for z in np.concatenate(ends) if z.real > 0.0 and z.imag == 0.0)

    def damping_ratio(self, turn: float) -> float:
        """Damping ratio that steps give an undamped vibration of `turn` = w h rad per step.

        zeta = -Re(ln R) / |ln R|, R(z) = 1 + z b^T (1 - z S)^-1 1 at z = i w h, S being A, of a
        Rosenbrock method whose matrix is that of the vibration A + G + gamma. Negative: it grows.
        """
        size = len(self.b)
        S = _square(self.A) + self.gamma * np.eye(size)
        if self.G:
            S = S + _square(self.G)
        z = 1j * turn
        R = 1.0 + z * np.dot(self.b, np.linalg.solve(np.eye(size) - z * S, np.ones(size)))
        exponent = np.log(R)
        return float(-exponent.real / abs(exponent))

    def steps(self, start: Any, rate: Any, moved: Any, first: Any = None) -> tuple[Any, list[Any]]:
        """(where a step leads from `start`, rates of its stages).

        rate(y, c) is the rate of a stage, moved(start, rates, weights) = start + h sum w k; `first`
        that of the first stage, if it is known.
        """
        rates: list[Any] = [] if first is None else [first]
        for k in range(len(rates), len(self.b)):
            stage = moved(start, rates, self.A[k]), self.c[k]
            rates.append(rate(*stage, rates, self.G[k]) if self.G else rate(*stage))
        return moved(start, rates, self.b), rates

    def position_weights(self, weights: Row) -> Row:
        """Of rates of velocities in sum w_i k_i of positions, after h; those of v are sum w_i."""
        found = [0.0] * len(weights)
        for i, w in enumerate(weights):
            for j, (a, g) in enumerate(zip(self.A[i], self.G[i], strict=True)):
                found[j] += w * (a + g)
            found[i] += w * self.gamma
        return tuple(found)

    def implicit_weights(self, k: int) -> tuple[float, Row]:
        """Of v, and after h of rates of velocities, in sum g_kj k_j of positions, j up to k.

        That of velocities in stage k itself is not known yet, and left out.
        """
        row = (*self.G[k], self.gamma)
        return sum(row), self.position_weights(row)[:k]

    @property
    def adaptive(self) -> bool:
        """Whether it chooses its own steps."""
        return self.lower is not None


def _square(rows: tuple[Row, ...]) -> np.ndarray:
    """Rows of a strictly lower triangle as a matrix."""
    return np.array([[*row, *([0.0] * (len(rows) - len(row)))] for row in rows])


def _row(text: str) -> Row:
    return tuple(float(Fraction(x)) for x in text.split())


EULER = Tableau("euler", 1, ((),), (1.0,))
SEMI_IMPLICIT = Tableau("semi-implicit-euler", 1, ((),), (1.0,), semi_implicit=True)
HEUN = Tableau("heun", 2, ((), (1.0,)), (0.5, 0.5))
RK4 = Tableau("rk4", 4, ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), _row("1/6 1/3 1/3 1/6"))
# Dormand and Prince 1980; dense output of order 4 (Hairer, Norsett, Wanner, II.6)
DORMAND_PRINCE = Tableau(
    "dormand-prince",
    5,
    (
        (),
        _row("1/5"),
        _row("3/40 9/40"),
        _row("44/45 -56/15 32/9"),
        _row("19372/6561 -25360/2187 64448/6561 -212/729"),
        _row("9017/3168 -355/33 46732/5247 49/176 -5103/18656"),
        _row("35/384 0 500/1113 125/192 -2187/6784 11/84"),
    ),
    _row("35/384 0 500/1113 125/192 -2187/6784 11/84 0"),
    lower=_row("5179/57600 0 7571/16695 393/640 -92097/339200 187/2100 1/40"),
    dense=(
        _row("1 -8048581381/2820520608 8663915743/2820520608 -12715105075/11282082432"),
        _row("0 0 0 0"),
        _row("0 131558114200/32700410799 -68118460800/10900136933 87487479700/32700410799"),
        _row("0 -1754552775/470086768 14199869525/1410260304 -10690763975/1880347072"),
        _row("0 127303824393/49829197408 -318862633887/49829197408 701980252875/199316789632"),
        _row("0 -282668133/205662961 2019193451/616988883 -1453857185/822651844"),
        _row("0 40617522/29380423 -110615467/29380423 69997945/29380423"),
    ),
)
# Rang and Angermann 2005: L-stable, order 3 whatever A is
ROS34PW2 = Tableau(
    "ros34pw2",
    3,
    (
        (),
        (0.87173304301691801,),
        (0.84457060015369423, -0.11299064236484185),
        (0.0, 0.0, 1.0),
    ),
    (0.24212380706095346, -1.2232505839045147, 1.5452602553351020, 0.43586652150845900),
    gamma=0.43586652150845900,
    G=(
        (),
        (-0.87173304301691801,),
        (-0.90338057013044082, 0.054180672388095326),
        (0.24212380706095346, -1.2232505839045147, 0.54526025533510214),
    ),
)
INTEGRATORS: Mapping[str, Tableau] = {
    t.name: t for t in (EULER, SEMI_IMPLICIT, HEUN, RK4, ROS34PW2, DORMAND_PRINCE)
}


def integrator_named(name: str) -> Tableau:
    """A row of the table; unknown names are answered with those that exist."""
    one_of(name, INTEGRATORS, f"integrator {name!r} does not exist")
    return INTEGRATORS[name]


def weights_at(tableau: Tableau, s: float) -> Row:
    """Weights of the stages for the solution at t + s h."""
    return tuple(
        sum(w * s ** (k + 1) for k, w in enumerate(polynomial))
        for polynomial in tableau.dense or ()
    )


def round_step(most: float) -> float:
    """The largest number of one digit, 1, 2 or 5, up to `most`: a step to propose."""
    power = 10.0 ** math.floor(math.log10(most))
    digit = next(x for x in DIGITS if x * power <= most * (1.0 + 1e-6))
    return float(f"{digit * power:.1g}")
