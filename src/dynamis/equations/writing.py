"""How the results of a derivation are written: short, and long sums by velocities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from .closed import by_letters, parallel
from .polynomial import Polynomial
from .scalars import coordinates, symbolic_chain
from .simplify import readable

LONGEST = 150  # terms of one entry that are still printed
LONG = 12  # terms from which on a sum is ordered by velocities and accelerations


@dataclass(frozen=True)
class Writing:
    """What the writer must know of the letters."""

    groups: Mapping[Any, int]  # angle -> number of its set of parallel axes
    rates: tuple[sp.Symbol, ...]  # velocities and accelerations

    def expression(self, p: Polynomial, by_rates: bool = False) -> sp.Expr | None:
        """The polynomial as a SymPy expression; None if it is too long to print."""
        if len(p) > LONGEST:
            return None
        if not by_rates and len(p) < LONG:
            return readable(p, self.groups)
        numbers = {p.alphabet.letter(rate): k for k, rate in enumerate(self.rates)}
        parts = []
        for chosen, factor in by_letters(p, numbers).items():
            product = sp.Mul(*(self.rates[k] for k in chosen))
            parts.append(product * readable(factor, self.groups))
        return sp.Add(*parts)


def writing(model: Any) -> Writing:
    """How a model's equations are written."""
    _, qd, qdd = coordinates(model.n)
    return Writing(parallel(symbolic_chain(model)), (*qd, *qdd))
