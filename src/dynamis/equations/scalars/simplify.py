"""Simplification: a polynomial in sines and cosines as a short SymPy expression.

1. Angles about parallel axes are summed: cos q1 cos q2 - sin q1 sin q2 = cos(q1 + q2). Products of
   angles about different axes stay products.
2. Sines and cosines with the same factor become products again, 1 + cos 2x = 2 cos^2 x among them.
3. What terms share stands in front: m2 (L1^2 + lc2^2 + 2 L1 lc2 cos q2).
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import sympy as sp

from .polynomial import Alphabet, Polynomial

# sines and cosines ("trigs") of sums of angles, and products of them


class Trig(NamedTuple):
    """cos or sin of a whole combination of angles: ((angle, times), ...), sorted by name."""

    kind: str
    combination: tuple[tuple[Any, int], ...]


class TrigProduct(NamedTuple):
    """A product of powers of trigs and of symbols."""

    trigs: tuple[tuple[Trig, int], ...]
    symbols: tuple[tuple[Any, int], ...]

    def sorted(self) -> "TrigProduct":
        """The product in standard order, equal trigs merged."""
        powers: dict[Trig, int] = {}
        for trig, power in self.trigs:
            powers[trig] = powers.get(trig, 0) + power
        by_name = lambda item: str(item[0])  # noqa: E731
        return TrigProduct(
            tuple(sorted(powers.items(), key=by_name)), tuple(sorted(self.symbols, key=by_name))
        )


Rows = dict[TrigProduct, Fraction]


def fourier(rows: Rows, own: frozenset) -> Rows:
    """Products of trigs of the angles `own` as sums of trigs."""
    result: Rows = {}
    for row, number in rows.items():
        chosen = tuple(w for w in row.trigs if w[0].combination[0][0] in own)
        rest = tuple(w for w in row.trigs if w[0].combination[0][0] not in own)
        for trig, factor in expanded(chosen):
            new = TrigProduct(rest if trig is None else (*rest, (trig, 1)), row.symbols).sorted()
            _add(result, new, number * factor)
    return result


@lru_cache(maxsize=4096)
def expanded(trigs: tuple[tuple[Trig, int], ...]) -> tuple[tuple[Trig | None, Fraction], ...]:
    """A product of powers of single trigs as a sum: cos = (z + 1/z)/2, sin = (z - 1/z)/2i."""
    spectrum: dict[tuple, Fraction] = {(): Fraction(1)}
    sines = 0
    for trig, power in trigs:
        sines += power if trig.kind == "sin" else 0
        for _ in range(power):
            spectrum = _times(spectrum, trig)
    sign = -1 if sines % 4 in (2, 3) else 1
    kind = "sin" if sines % 2 else "cos"
    result: list[tuple[Trig | None, Fraction]] = []
    for combination, factor in spectrum.items():
        if not combination:
            result.append((None, sign * factor))
        elif combination[0][1] > 0:  # its mirror image says the same
            result.append((Trig(kind, combination), 2 * sign * factor))
    return tuple(result)


def _times(spectrum: dict[tuple, Fraction], trig: Trig) -> dict[tuple, Fraction]:
    down = Fraction(-1 if trig.kind == "sin" else 1, 2)
    result: dict[tuple, Fraction] = {}
    for combination, factor in spectrum.items():
        for sign, weight in ((1, Fraction(1, 2)), (-1, down)):
            _add(result, combined(combination, trig.combination, sign), factor * weight)
    return result


def combined(a: tuple, b: tuple, sign: int) -> tuple:
    """a + sign b"""
    times = dict(a)
    for angle, k in b:
        times[angle] = times.get(angle, 0) + sign * k
    return tuple(sorted(((x, k) for x, k in times.items() if k), key=lambda item: str(item[0])))


def half_angles(a: Trig, b: Trig, sign: int) -> tuple[int, tuple] | None:
    """a + sign b of one kind as (factor, two trigs), if the half angles are whole."""
    total, difference = (combined(a.combination, b.combination, way) for way in (1, -1))
    if any(k % 2 for _, k in (*total, *difference)) or not total or not difference:
        return None
    kinds = {
        ("cos", 1): ("cos", "cos", 2),
        ("cos", -1): ("sin", "sin", -2),
        ("sin", 1): ("sin", "cos", 2),
        ("sin", -1): ("cos", "sin", 2),
    }
    first, second, factor = kinds[a.kind, sign]
    s1, one = _halved(first, total)
    s2, two = _halved(second, difference)
    return factor * s1 * s2, ((one, 1), (two, 1))


def _halved(kind: str, combination: tuple) -> tuple[int, Trig]:
    """(sign, trig) of half an angle, its first factor positive."""
    flip = -1 if combination[0][1] < 0 else 1
    trig = Trig(kind, tuple((a, flip * k // 2) for a, k in combination))
    return (flip if kind == "sin" else 1), trig


def in_sines(rows: Rows, own: frozenset) -> Rows:
    """cos^2 as 1 - sin^2, for the angles `own`."""
    result: Rows = {}
    for row, number in rows.items():
        parts: list[tuple[tuple, Fraction]] = [((), number)]
        for trig, power in row.trigs:
            twice, left = divmod(power, 2)
            if trig.kind != "cos" or trig.combination[0][0] not in own or not twice:
                parts = [((*w, (trig, power)), f) for w, f in parts]
                continue
            sine = Trig("sin", trig.combination)
            kept = ((trig, left),) if left else ()
            parts = [
                ((*w, *kept, *(((sine, 2 * k),) if k else ())), f * (-1) ** k * comb(twice, k))
                for w, f in parts
                for k in range(twice + 1)
            ]
        for trigs, total in parts:
            _add(result, TrigProduct(trigs, row.symbols).sorted(), total)
    return result


PAIRED_TERMS = 600  # above this many rows products are left as sums of trigs
FACTORED_TERMS = 8  # sums of whole numbers up to this long are tried by SymPy's factor
SMALL = 4  # a number shared by all terms stands in front if what is left of it stays this small

Groups = Mapping[Any, int]  # angle -> number of its set of parallel axes
Factor = dict[Any, int]  # powers of symbols and of sines and cosines


def readable(p: Polynomial, groups: Groups | None = None) -> sp.Expr:
    """The shortest form found."""
    return grouped(terms_of(p, groups))


def terms_of(p: Polynomial, groups: Groups | None = None) -> list[tuple[Fraction, Factor]]:
    """Its terms with angles summed and squares chosen: (number, powers of factors)."""
    rows = rows_of(p)
    angles = {angle for row in rows for trig, _ in row.trigs for angle, _ in trig.combination}
    numbers = {a: (groups or {}).get(a, -1 - k) for k, a in enumerate(sorted(angles, key=str))}
    for number in dict.fromkeys(numbers.values()):
        own = frozenset(a for a, k in numbers.items() if k == number)
        summed = fourier(rows, own)
        if len(rows) <= PAIRED_TERMS:
            summed = squared(paired(summed, own))
        rows = min((summed, rows, in_sines(rows, own)), key=cost)
    return [(number, _factors(row)) for row, number in rows.items()]


def tidy(expr: Any, groups: Groups | None = None) -> sp.Expr:
    """Any polynomial expression in sines, cosines and symbols, rewritten."""
    return readable(Alphabet().of(sp.sympify(expr)), groups)


def rows_of(p: Polynomial) -> Rows:
    """Terms by (trigs, symbols); squares of square roots become numbers."""
    rows: Rows = {}
    for monomial, factor in p.terms.items():
        number = factor
        trigs: list[tuple[Trig, int]] = []
        symbols: dict[Any, int] = {}
        for k, power in monomial:
            letter: Any = p.alphabet.letters[k]
            if power < 0:
                symbols[letter] = power
            elif isinstance(letter, (sp.cos, sp.sin)):
                trigs.append((Trig(letter.func.__name__, ((letter.args[0], 1),)), power))
            elif letter.is_Pow and letter.exp == sp.Rational(1, 2) and letter.base.is_Rational:
                number *= Fraction(int(letter.base.p), int(letter.base.q)) ** (power // 2)
                symbols |= {letter: 1} if power % 2 else {}
            else:
                symbols[letter] = power
        _add(rows, TrigProduct(tuple(trigs), tuple(symbols.items())).sorted(), number)
    return rows


def _add(rows: dict, row: tuple, number: Fraction) -> None:
    total = rows.pop(row, Fraction(0)) + number
    if total:
        rows[row] = total


def cost(rows: Rows) -> int:
    """Additions and multiplications of the rows written one by one, roughly."""
    return sum(1 + sum(power for _, power in row.trigs) for row in rows)


def by_trigs(rows: Rows) -> dict[tuple, dict[tuple, Fraction]]:
    """Coefficient of every product of trigs: {symbols: number}."""
    result: dict[tuple, dict[tuple, Fraction]] = {}
    for row, number in rows.items():
        result.setdefault(row.trigs, {})[row.symbols] = number
    return result


def paired(rows: Rows, own: frozenset) -> Rows:
    """cos a + cos b = 2 cos((a + b)/2) cos((a - b)/2) wherever both have the same factor."""
    table = by_trigs(rows)
    places: dict[tuple, list[tuple[tuple, Trig, int]]] = {}
    for trigs, coefficient in table.items():
        for k, (trig, power) in enumerate(trigs):
            if power == 1 and all(angle in own for angle, _ in trig.combination):
                rest = (*trigs[:k], *trigs[k + 1 :])
                items = sorted(coefficient.items(), key=str)
                sign = 1 if items[0][1] > 0 else -1
                key = (rest, trig.kind, tuple((s, sign * x) for s, x in items))
                places.setdefault(key, []).append((trigs, trig, sign))
    result, gone = dict(rows), set()
    for (rest, _, items), members in places.items():
        for a, b in combinations(members, 2):
            found = None if {a[0], b[0]} & gone else half_angles(a[1], b[1], a[2] * b[2])
            if found is None:
                continue
            gone |= {a[0], b[0]}
            factor, new = found
            for symbols, size in items:
                del result[TrigProduct(a[0], symbols)], result[TrigProduct(b[0], symbols)]
                _add(result, TrigProduct((*rest, *new), symbols).sorted(), factor * a[2] * size)
    return result


def squared(rows: Rows) -> Rows:
    """k + k cos 2x = 2 k cos^2 x and k - k cos 2x = 2 k sin^2 x."""
    table, result = by_trigs(rows), dict(rows)
    for trigs, coefficient in table.items():
        for k, (trig, power) in enumerate(trigs):
            whole_half = all(n % 2 == 0 for _, n in trig.combination)
            if power != 1 or trig.kind != "cos" or not whole_half:
                continue
            rest = (*trigs[:k], *trigs[k + 1 :])
            for sign, kind in ((1, "cos"), (-1, "sin")):
                if all(
                    result.get(TrigProduct(rest, s)) == sign * x and TrigProduct(trigs, s) in result
                    for s, x in coefficient.items()
                ):
                    half = Trig(kind, tuple((a, n // 2) for a, n in trig.combination))
                    for s, x in coefficient.items():
                        del result[TrigProduct(rest, s)], result[TrigProduct(trigs, s)]
                        _add(result, TrigProduct((*rest, (half, 2)), s).sorted(), 2 * sign * x)
    return result


def _factors(row: TrigProduct) -> Factor:
    """Powers of SymPy factors of one row."""
    result: Factor = dict(row.symbols)
    for trig, power in row.trigs:
        angle = sp.Add(*(k * a for a, k in trig.combination))
        function = (sp.cos if trig.kind == "cos" else sp.sin)(angle)
        result[function] = result.get(function, 0) + power
    return result


# -- what terms share ---------------------------------------------------------------------------


def grouped(terms: list[tuple[Fraction, Factor]]) -> sp.Expr:
    """A sum with shared factors in front, then gathered by the factor most terms have."""
    if len(terms) < 2:
        return sp.Add(*(_product(number, factor) for number, factor in terms))
    common = _common(terms)
    if common:
        rest = [
            (number, {f: left for f, n in factor.items() if (left := n - common.get(f, 0))})
            for number, factor in terms
        ]
        shared = _number([number for number, _ in rest])
        inner = grouped([(number / shared, factor) for number, factor in rest])
        return sp.Mul(_rational(shared), *(f**n for f, n in common.items()), inner)
    divider = _divider(terms)
    if divider is not None:
        inside = [t for t in terms if divider in t[1]]
        outside = [t for t in terms if divider not in t[1]]
        return grouped(inside) + grouped(outside)
    total = sp.Add(*(_product(number, factor) for number, factor in terms))
    plain = all(x.denominator == 1 and abs(x) <= SMALL for x, _ in terms)
    return _factored(total) if plain else total


def _common(terms: list[tuple[Fraction, Factor]]) -> Factor:
    first = terms[0][1]
    shared = {f: min(t.get(f, 0) for _, t in terms) for f in first}
    return {f: n for f, n in shared.items() if n > 0}


def _divider(terms: list[tuple[Fraction, Factor]]) -> Any:
    """What most terms have once, and none twice; sines and cosines before symbols."""
    counts: dict[Any, int] = {}
    for _, factor in terms:
        for f, power in factor.items():
            counts[f] = -len(terms) if power != 1 else counts.get(f, 0) + 1
    best = max(counts.values(), default=0)
    if best < 2:
        return None
    return min((f for f, n in counts.items() if n == best), key=lambda f: (f.is_Symbol, str(f)))


def _number(numbers: list[Fraction]) -> Fraction:
    """A number to put in front, if whole numbers up to SMALL are left; else a sign or nothing."""
    sign = -1 if all(x < 0 for x in numbers) else 1
    smallest = min(abs(x) for x in numbers)
    ratios = [abs(x) / smallest for x in numbers]
    if all(r.denominator == 1 and r <= SMALL for r in ratios):
        return sign * smallest
    return Fraction(sign)


def _factored(total: Any) -> Any:
    if not isinstance(total, sp.Add) or not 3 <= len(total.args) <= FACTORED_TERMS:
        return total
    if len(total.free_symbols) > FACTORED_TERMS:
        return total
    result: Any = sp.factor(total)
    parts = [x for x in sp.Mul.make_args(result) if not x.is_number]
    return result if len(parts) > 1 or parts[0].is_Pow else total


def _product(number: Fraction, factor: Factor) -> sp.Expr:
    return sp.Mul(_rational(number), *(f**n for f, n in factor.items()))


def _rational(x: Fraction) -> Any:
    return sp.Rational(x.numerator, x.denominator)
