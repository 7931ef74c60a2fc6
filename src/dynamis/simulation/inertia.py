"""The mass matrix as a step uses it: accelerations of free joints, others held; with closures too.

    M x = b + held            of an arm, x given where a joint is held
    M x = b + held + J^T f,  J x + bias = 0    of a mechanism with closures

Every way to push the mechanism moves it by P = M^-1 - M^-1 J^T (J M^-1 J^T)^-1 J M^-1. Joints that
hold solve P_hh held = x_h - (P b)_h. More of them than degrees of freedom share the load in no
certain way: those that the others hold already take nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..dynamics import closed, equation
from ..dynamics.closures import closure_jacobian, closure_jacobian_dot
from ..dynamics.forward_dynamics import solve
from ..model.chain import Chain
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, inner, less, matrix_times, unit

DEPENDENT = 1e-9  # pivot of P_hh, next to its diagonal entry, of a joint that others hold


@dataclass(frozen=True)
class ArmInertia:
    """That of an arm; the last coordinates are motors, each coupled to its own joint at most."""

    M: Sequence[Scalars]
    motors: int = 0
    still = 0.0  # acceleration below which a joint that was to slide does not

    def solve(
        self, b: Scalars, held: Scalars, values: Scalars, fn: Functions
    ) -> tuple[list[Any], Any]:
        """x, equal to `values` exactly where `held` (None: never held); what holds them."""
        if not self.motors:
            return masked_solve(self.M, b, held, values, fn), None
        # motors first: what is left of M then has the size of the joints
        rows = [_motors_first(row, self.motors) for row in self.M]
        M, b, held, values = (_motors_first(x, self.motors) for x in (rows, b, held, values))
        x = masked_solve(M, b, held, values, fn)
        return [*x[self.motors :], *x[: self.motors]], None

    def holding(self, r: Scalars, b: Scalars, x: Scalars, force: Any) -> list[Any]:
        """What friction takes of the torques r, where r less friction that slides is b."""
        return less(r, matrix_times(self.M, x))

    def response(self, b: Scalars, held: Scalars, fn: Functions) -> list[Any]:
        """Accelerations by the torques b alone, 0 where joints are held."""
        return self.solve(b, held, [0.0] * len(b), fn)[0]

    def momentum(self, qd: Scalars) -> list[Any]:
        """M qd"""
        return matrix_times(self.M, qd)


@dataclass(frozen=True)
class Constrained:
    """That of a mechanism with closures, at one configuration and velocity."""

    M: Sequence[Scalars]
    mass: closed.Mass
    bias: Scalars  # J x = -bias
    pushes: Mapping[int, list[Any]]  # P e_i of every joint that can be held, by its number
    still = 1e-9  # of a joint that others hold: rounding

    def solve(
        self, b: Scalars, held: Scalars, values: Scalars, fn: Functions, yielding: bool = False
    ) -> tuple[list[Any], list[Any]]:
        """x and the torques that hold joints at their values.

        `yielding`: joints that others hold already have what the loops give them instead.
        """
        x = self.mass.accelerations(b, self.bias)
        which = [i for i, h in enumerate(held) if h is not None]
        force: list[Any] = [0.0] * len(x)
        if not which:
            return x, force
        A: list[list[Any]] = [[0.0] * len(which) for _ in which]
        for k, i in enumerate(which):
            for m, j in enumerate(which[: k + 1]):
                both = held[i] if i == j else held[i] * held[j]
                A[k][m] = A[m][k] = fn.select(both, self.pushes[j][i], float(i == j))
        wanted = [fn.select(held[i], values[i] - x[i], 0.0) for i in which]
        forces, independent = independent_solve(A, wanted, fn)
        for i, f in zip(which, forces, strict=True):
            force[i] = f
            x = [a + f * p for a, p in zip(x, self.pushes[i], strict=True)]
        if yielding:
            held = list(held)
            for i, alone in zip(which, independent, strict=True):
                held[i] = held[i] * alone
        x = [
            a if h is None else fn.select(h, v, a) for a, h, v in zip(x, held, values, strict=True)
        ]
        return x, force

    def holding(self, r: Scalars, b: Scalars, x: Scalars, force: Any) -> list[Any]:
        """What friction takes of the torques r, where r less friction that slides is b."""
        return [a - c - f for a, c, f in zip(r, b, force, strict=True)]

    def response(self, b: Scalars, held: Scalars, fn: Functions) -> list[Any]:
        """Accelerations by the torques b alone, 0 where joints are held."""
        alone = replace(self, bias=[0.0] * len(self.bias))
        return alone.solve(b, held, [0.0] * len(b), fn)[0]

    def momentum(self, qd: Scalars) -> list[Any]:
        """M qd"""
        return matrix_times(self.M, qd)


def _motors_first(x: Sequence[Any], motors: int) -> list[Any]:
    return [*x[len(x) - motors :], *x[: len(x) - motors]]


def masked_solve(
    M: Sequence[Scalars], b: Scalars, held: Scalars, values: Scalars, fn: Functions
) -> list[Any]:
    """x from M x = b for the free entries, x = values exactly where `held` (None: never held)."""
    size = range(len(b))
    if all(h is None for h in held):
        return solve(M, b, fn)
    A: list[list[Any]] = [[0.0] * len(b) for _ in size]
    for i in size:
        for j in range(i + 1):
            entry = M[i][j]
            for h in {i, j}:
                if held[h] is not None:
                    entry = fn.select(held[h], float(i == j), entry)
            A[i][j] = A[j][i] = entry
    rhs = []
    for i in size:
        free = b[i]
        for j in size:
            if held[j] is not None and not zero(values[j]):
                free = free - fn.select(held[j], M[i][j] * values[j], 0.0)
        rhs.append(free if held[i] is None else fn.select(held[i], values[i], free))
    x = solve(A, rhs, fn)
    return [x[i] if held[i] is None else fn.select(held[i], values[i], x[i]) for i in size]


def independent_solve(
    A: Sequence[Scalars], b: Scalars, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """x from A x = b, A positive semidefinite: 0 where a row depends on those before it; which do
    not."""
    size = range(len(b))
    L: list[list[Any]] = [[0.0] * len(b) for _ in size]
    D: list[Any] = []
    inverse: list[Any] = []
    independent: list[Any] = []
    for j in size:
        d = A[j][j]
        for k in range(j):
            d = d - L[j][k] * L[j][k] * D[k]
        good = d > DEPENDENT * A[j][j]
        independent.append(1.0 * good)
        D.append(fn.select(good, d, 0.0))
        inverse.append(fn.select(good, 1.0 / fn.select(good, d, 1.0), 0.0))
        for i in range(j + 1, len(b)):
            s = A[i][j]
            for k in range(j):
                s = s - L[i][k] * L[j][k] * D[k]
            L[i][j] = s * inverse[j]
    y = list(b)
    for i in size:
        for k in range(i):
            y[i] = y[i] - L[i][k] * y[k]
    x = [a * d for a, d in zip(y, inverse, strict=True)]
    for i in reversed(size):
        for k in range(i + 1, len(b)):
            x[i] = x[i] - L[k][i] * x[k]
    return x, independent


def inertia_at(
    chain: Chain, q: Scalars, fn: Functions, qd: Scalars | None = None,
    M: Sequence[Scalars] | None = None, holds: Sequence[bool] = (),
) -> ArmInertia | Constrained:  # fmt: skip
    """At a configuration, `holds` says which joints may be held; without qd for impulses.

    `M` stands for the mass matrix of the joints, where it is another.
    """
    M = equation.mass_matrix(chain, q, fn) if M is None else M
    if not chain.closures:
        return ArmInertia(M, chain.n - chain.link_coordinates)
    rows = closed.mobility(chain).rows
    whole = closure_jacobian(chain, q, fn)
    mass = closed.constrained_mass(chain, M, [whole[r] for r in rows], fn)
    sound = mass.gram.sound
    mass = mass._replace(D=[fn.select(sound > 0.0, d, math.nan) for d in mass.D])
    bias: list[Any] = [0.0] * len(rows)
    if qd is not None:
        rates = closure_jacobian_dot(chain, q, qd, fn)
        bias = [inner(rates[r], qd) for r in rows]
    still = [0.0] * len(rows)
    pushes = {i: mass.accelerations(unit(i, chain.n), still) for i, can in enumerate(holds) if can}
    return Constrained(M, mass, bias, pushes)
