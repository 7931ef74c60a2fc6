"""Exact polynomials in sines, cosines and symbols, as a scalar.

Sums and products keep one normal form: sin^2 is always written 1 - cos^2, sqrt(3)^2 is 3. What is
zero is seen to be zero and nothing grows that need not, so the algorithms can run over it as they
are. A power may be negative: dividing by a product of letters is exact as well.
"""

from fractions import Fraction
from typing import Any

import sympy as sp

from ...errors import DynamisError
from ...spatial.functions import Functions
from .scalars import SYMPY

BUDGET = 4_000_000  # products of terms: some seconds

Monomial = tuple[tuple[int, int], ...]  # (letter, power), by letter


class TooLongError(DynamisError):
    """A closed form would take longer than anyone waits."""


class Alphabet:
    """The letters polynomials are written in: SymPy expressions that are not taken apart."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget  # products of terms left
        self.letters: list[sp.Expr] = []
        self.numbers: dict[sp.Expr, int] = {}
        self.cosine: dict[int, int] = {}  # of each sine
        self.roots: dict[int, Fraction] = {}  # square of each square root of a number

    def letter(self, atom: Any) -> int:
        """The number of a letter; new ones are added, a sine with its cosine."""
        if atom not in self.numbers:
            self.numbers[atom] = len(self.letters)
            self.letters.append(atom)
            if isinstance(atom, sp.sin):
                self.cosine[self.numbers[atom]] = self.letter(sp.cos(atom.args[0]))
            elif atom.is_Pow and atom.exp == sp.Rational(1, 2) and atom.base.is_Rational:
                self.roots[self.numbers[atom]] = Fraction(int(atom.base.p), int(atom.base.q))
        return self.numbers[atom]

    def of(self, value: Any) -> "Polynomial":
        """A number or a SymPy expression as a polynomial."""
        if isinstance(value, Polynomial):
            return value
        if isinstance(value, (int, float, Fraction)):
            return self._constant(_fraction(value))
        if isinstance(value, sp.Rational):
            return self._constant(Fraction(int(value.p), int(value.q)))
        if isinstance(value, sp.Float):
            return self._constant(_fraction(float(value)))
        if isinstance(value, sp.Add):
            return sum((self.of(x) for x in value.args), self._constant(Fraction(0)))
        if isinstance(value, sp.Mul):
            result = self._constant(Fraction(1))
            for factor in value.args:
                result = result * self.of(factor)
            return result
        if isinstance(value, sp.Pow) and value.exp.is_Integer:
            return self.of(value.base) ** int(value.exp)
        return Polynomial(self, {((self.letter(value), 1),): Fraction(1)})

    def _constant(self, value: Fraction) -> "Polynomial":
        return Polynomial(self, {(): value} if value else {})

    def functions(self) -> Functions:
        """The elementary functions over these polynomials."""

        def lifted(function: Any) -> Any:
            return lambda *args: self.of(function(*(self.of(x).expression() for x in args)))

        rows = {name: lifted(getattr(SYMPY, name)) for name in Functions._fields}
        rows["select"] = lambda condition, a, b: self.of(
            SYMPY.select(condition, self.of(a).expression(), self.of(b).expression())
        )
        rows["max"] = lambda a, b: self.of(_max(self.of(a).expression(), self.of(b).expression()))
        return Functions(**rows)


class Polynomial:
    """A sum of products of letters with rational factors."""

    __slots__ = ("alphabet", "terms")

    def __init__(self, alphabet: Alphabet, terms: dict[Monomial, Fraction]):
        self.alphabet = alphabet
        self.terms = terms

    def __add__(self, other: Any) -> "Polynomial":
        other = self.alphabet.of(other)
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            _accumulate(terms, monomial, factor)
        return Polynomial(self.alphabet, terms)

    __radd__ = __add__

    def __neg__(self) -> "Polynomial":
        return Polynomial(self.alphabet, {m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Any) -> "Polynomial":
        return self + -self.alphabet.of(other)

    def __rsub__(self, other: Any) -> "Polynomial":
        return -self + other

    def __mul__(self, other: Any) -> "Polynomial":
        other = self.alphabet.of(other)
        self.alphabet.budget -= len(self.terms) * len(other.terms)
        if self.alphabet.budget < 0:
            raise TooLongError("the closed form has too many terms")
        terms: dict[Monomial, Fraction] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in other.terms.items():
                _reduced(terms, _product(m1, m2), c1 * c2, self.alphabet)
        return Polynomial(self.alphabet, terms)

    __rmul__ = __mul__

    def __pow__(self, power: Any) -> "Polynomial":
        if isinstance(power, int) and power >= 0:
            result = self.alphabet.of(1)
            for _ in range(power):
                result = result * self
            return result
        if isinstance(power, int):
            return 1.0 / self**-power
        exponent = sp.Rational(Fraction(power).limit_denominator(12))
        return self.alphabet.of(sp.Pow(self.expression(), exponent))

    def __truediv__(self, other: Any) -> "Polynomial":
        divisor = self.alphabet.of(other)
        if len(divisor.terms) != 1:
            atom = self.alphabet.letter(1 / divisor.expression())
            return self * Polynomial(self.alphabet, {((atom, 1),): Fraction(1)})
        ((monomial, factor),) = divisor.terms.items()
        inverse = tuple((letter, -power) for letter, power in monomial)
        return self * Polynomial(self.alphabet, {inverse: 1 / factor})

    def __rtruediv__(self, other: Any) -> "Polynomial":
        return self.alphabet.of(other) / self

    def __gt__(self, other: Any) -> Any:
        return sp.Gt(self.expression(), self.alphabet.of(other).expression())

    def __lt__(self, other: Any) -> Any:
        return sp.Lt(self.expression(), self.alphabet.of(other).expression())

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def expression(self) -> sp.Expr:
        """The polynomial written out, term by term."""
        return sp.Add(*(written(self.alphabet, m, c) for m, c in self.terms.items()))


def written(alphabet: Alphabet, monomial: Monomial, factor: Fraction) -> sp.Expr:
    """One term as a SymPy product."""
    number = sp.Rational(factor.numerator, factor.denominator)
    return sp.Mul(number, *(alphabet.letters[letter] ** power for letter, power in monomial))


def _fraction(value: Any) -> Fraction:
    """A float as the decimal it was typed as (15 digits)."""
    return Fraction(f"{value:.15g}") if isinstance(value, float) else Fraction(value)


def _accumulate(terms: dict[Monomial, Fraction], monomial: Monomial, factor: Fraction) -> None:
    total = terms.get(monomial, 0) + factor
    if total:
        terms[monomial] = total
    else:
        terms.pop(monomial, None)


def _product(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for letter, power in b:
        powers[letter] = powers.get(letter, 0) + power
    return tuple(sorted((letter, power) for letter, power in powers.items() if power))


def _reduced(
    terms: dict[Monomial, Fraction], monomial: Monomial, factor: Fraction, alphabet: Alphabet
) -> None:
    """Add factor * monomial with every sin^2 as 1 - cos^2, and squares of roots as numbers."""
    for place, (letter, power) in enumerate(monomial):
        if power >= 2 and letter in alphabet.cosine:
            left = ((letter, power - 2),) if power > 2 else ()
            rest = (*monomial[:place], *left, *monomial[place + 1 :])
            _reduced(terms, rest, factor, alphabet)
            turned = _product(rest, ((alphabet.cosine[letter], 2),))
            _reduced(terms, turned, -factor, alphabet)
            return
        if power not in (0, 1) and letter in alphabet.roots:
            twice, left = divmod(power, 2)
            kept = ((letter, 1),) if left else ()
            rest = (*monomial[:place], *kept, *monomial[place + 1 :])
            _reduced(terms, rest, factor * alphabet.roots[letter] ** twice, alphabet)
            return
    _accumulate(terms, monomial, factor)


def _max(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    """max(-sign x, 0) as max(sign x, 0) - sign x, so that symmetric friction becomes sign x."""
    if b == 0 and (-a).func == sp.sign:
        return sp.Max(-a, 0) + a
    return sp.Max(a, b)
