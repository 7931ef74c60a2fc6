"""A polynomial in sines and cosines as a product: determinants of Jacobians.

With t = tan(x/2) of every angle the polynomial is one in t and the symbols, which SymPy factors. A
factor of odd degree in some t is one of half angles; such factors come in pairs: 2 sin(x/2)
cos(x/2) = sin x, cos^2(x/2) - sin^2(x/2) = cos x.
"""

from fractions import Fraction
from itertools import combinations
from math import gcd, lcm
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement, ring

from .polynomial import Polynomial
from .simplify import Groups, readable

FACTORED = 160  # terms up to which a product is looked for
LARGE = 100  # whole coefficients above this are printed as decimals

Degrees = dict[int, int]  # of half angles, by angle
Half = tuple[Any, Degrees]  # a factor over half angles: ring element, its degree in every angle


def factored(p: Polynomial, groups: Groups | None = None) -> list[tuple[sp.Expr, int]]:
    """Factors and their powers, a number first if there is one; the product is p."""
    if not p or len(p) > FACTORED:
        return [(readable(p, groups), 1)]
    whole = _HalfAngles(p)
    number, factors = whole.factors()
    found: dict[sp.Expr, int] = {}
    for factor in factors:
        shown = readable(factor, groups)
        for base, power in _powers(shown):
            if base.is_number:
                number *= Fraction(int(base.p), int(base.q)) ** power
            else:
                negative = base.could_extract_minus_sign()
                number *= -1 if negative and power % 2 else 1
                own = -base if negative else base
                found[own] = found.get(own, 0) + power
    rational = sp.Rational(number.numerator, number.denominator)
    first = [] if rational == 1 else [(rational, 1)]
    return [*first, *sorted(found.items(), key=lambda item: (sp.count_ops(item[0]), str(item[0])))]


def _powers(expr: Any) -> list[tuple[Any, int]]:
    pairs = [x.as_base_exp() for x in sp.Mul.make_args(expr)]
    if all(n.is_Integer and (b.is_Rational or not b.is_number) for b, n in pairs):
        return [(b, int(n)) for b, n in pairs]
    return [(expr, 1)]


class _HalfAngles:
    """A polynomial over t = tan(x/2): the ring, the angles, and the way back."""

    def __init__(self, p: Polynomial):
        self.p, letters = p, p.alphabet.letters
        used = sorted({k for m in p.terms for k, _ in m})
        self.angles: list[Any] = []
        self.others: list[int] = []
        for k in used:
            x: Any = letters[k]
            if not isinstance(x, (sp.cos, sp.sin)):
                self.others.append(k)
            elif x.args[0] not in self.angles:
                self.angles.append(x.args[0])
        names = [f"t{i}_" for i in range(len(self.angles))]
        names += [f"s{i}_" for i in range(len(self.others))]
        made: Any = ring(names, sp.QQ) if names else (None,)
        self.ring: Any = made[0]
        self.gens: list[Any] = list(made[1:])

    def factors(self) -> tuple[Fraction, list[Polynomial]]:
        """A number and polynomials, whose product is p."""
        if self.ring is None or any(n < 0 for m in self.p.terms for _, n in m):
            return Fraction(1), [self.p]
        whole, degrees = self._lifted()
        number, pairs = whole.factor_list()
        halves: list[Half] = []
        for factor, power in pairs:
            halves += [(factor, self._degrees(factor))] * power
        for i, total in degrees.items():  # cos(x/2), which t does not show
            missing = total - sum(d.get(i, 0) for _, d in halves)
            halves += [(self.ring.one, {i: 1})] * missing
        found = [self._lowered(half) for half in _paired(halves, self)]
        return self._settled(Fraction(int(number.numerator), int(number.denominator)), found)

    def _lifted(self) -> tuple[PolyElement, Degrees]:
        """p times (1 + t^2)^n for every angle, and twice these n."""
        letters, place = self.p.alphabet.letters, {a: i for i, a in enumerate(self.angles)}
        other = {k: self.gens[len(self.angles) + i] for i, k in enumerate(self.others)}
        rows = []
        for monomial, number in self.p.terms.items():
            powers: dict[int, list[int]] = {}
            rest = self.ring.one * sp.QQ(number.numerator, number.denominator)
            for k, n in monomial:
                x: Any = letters[k]
                if k in other:
                    rest = rest * other[k] ** n
                else:
                    own = powers.setdefault(place[x.args[0]], [0, 0])
                    own[isinstance(x, sp.sin)] += n
            rows.append((rest, powers))
        most = {i: max(sum(p.get(i, (0, 0))) for _, p in rows) for i in range(len(self.angles))}
        total = self.ring.zero
        for rest, powers in rows:
            term = rest
            for i, n in most.items():
                c, s = powers.get(i, (0, 0))
                t = self.gens[i]
                term = term * (1 - t**2) ** c * (2 * t) ** s * (1 + t**2) ** (n - c - s)
            total = total + term
        return total, {i: 2 * n for i, n in most.items()}

    def _degrees(self, factor: PolyElement) -> Degrees:
        degrees = (max(m[i] for m in factor.monoms()) for i in range(len(self.angles)))
        return {i: d for i, d in enumerate(degrees) if d}

    def _lowered(self, half: Half) -> Polynomial:
        """A factor of even degrees in sines and cosines."""
        factor, degrees = half
        alphabet, total = self.p.alphabet, self.p.alphabet.of(0)
        for monomial, number in factor.terms():
            term = alphabet.of(Fraction(int(number.numerator), int(number.denominator)))
            for i, angle in enumerate(self.angles):
                term = term * _of_half_angle(alphabet, angle, monomial[i], degrees.get(i, 0))
            for k, n in zip(self.others, monomial[len(self.angles) :], strict=True):
                term = term * alphabet.of(alphabet.letters[k]) ** n
            total = total + term
        return total

    def _settled(
        self, number: Fraction, factors: list[Polynomial]
    ) -> tuple[Fraction, list[Polynomial]]:
        """Factors with whole numbers; large ones as decimals."""
        result = []
        for factor in factors:
            sizes = [abs(x) for x in factor.terms.values()]
            shared = Fraction(
                gcd(*(x.numerator for x in sizes)), lcm(*(x.denominator for x in sizes))
            )
            if (most := max(sizes) / shared) > LARGE:
                shared *= 10 ** len(str(most.numerator))
            number *= shared
            result.append(factor * (1 / shared))
        return number, result


def _of_half_angle(alphabet: Any, angle: Any, sines: int, total: int) -> Polynomial:
    """sin(x/2)^k cos(x/2)^(m - k) by cos x and sin x, m even."""
    c, s = alphabet.of(sp.cos(angle)), alphabet.of(sp.sin(angle))
    cosines, result = total - sines, alphabet.of(1)
    if sines % 2:
        result, sines, cosines = s * Fraction(1, 2), sines - 1, cosines - 1
    up, down = (1 + c) * Fraction(1, 2), (1 - c) * Fraction(1, 2)
    return result * down ** (sines // 2) * up ** (cosines // 2)


def _paired(halves: list[Half], whole: _HalfAngles) -> list[Half]:
    """Factors of odd degrees multiplied with one another until all degrees are even."""
    even = [x for x in halves if not _odd(x)]
    odd = [x for x in halves if _odd(x)]
    while odd:
        best, chosen = None, tuple(range(len(odd)))
        for i, j in combinations(range(len(odd)), 2):
            product = _times(odd[i], odd[j])
            if not _odd(product):
                size = len(whole._lowered(product))
                if best is None or size < best:
                    best, chosen = size, (i, j)
        product = odd[chosen[0]]
        for k in chosen[1:]:
            product = _times(product, odd[k])
        even.append(product)
        odd = [x for k, x in enumerate(odd) if k not in chosen]
    return even


def _odd(half: Half) -> bool:
    return any(d % 2 for d in half[1].values())


def _times(a: Half, b: Half) -> Half:
    degrees = {i: a[1].get(i, 0) + b[1].get(i, 0) for i in {*a[1], *b[1]}}
    return a[0] * b[0], degrees
