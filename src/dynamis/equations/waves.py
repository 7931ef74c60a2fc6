"""Sines and cosines of sums of angles, and products of them."""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any, NamedTuple


class Wave(NamedTuple):
    """cos or sin of a whole combination of angles: ((angle, times), ...), sorted by name."""

    kind: str
    combination: tuple[tuple[Any, int], ...]


class Row(NamedTuple):
    """A product of powers of waves and of symbols."""

    waves: tuple[tuple[Wave, int], ...]
    symbols: tuple[tuple[Any, int], ...]

    def sorted(self) -> "Row":
        """The same product in standard order, equal waves merged."""
        powers: dict[Wave, int] = {}
        for wave, power in self.waves:
            powers[wave] = powers.get(wave, 0) + power
        by_name = lambda item: str(item[0])  # noqa: E731
        return Row(
            tuple(sorted(powers.items(), key=by_name)), tuple(sorted(self.symbols, key=by_name))
        )


Rows = dict[Row, Fraction]


def fourier(rows: Rows, own: frozenset) -> Rows:
    """Products of waves of the angles `own` as sums of waves."""
    result: Rows = {}
    for row, number in rows.items():
        chosen = tuple(w for w in row.waves if w[0].combination[0][0] in own)
        rest = tuple(w for w in row.waves if w[0].combination[0][0] not in own)
        for wave, factor in expanded(chosen):
            new = Row(rest if wave is None else (*rest, (wave, 1)), row.symbols).sorted()
            total = result.pop(new, Fraction(0)) + number * factor
            if total:
                result[new] = total
    return result


@lru_cache(maxsize=4096)
def expanded(waves: tuple[tuple[Wave, int], ...]) -> tuple[tuple[Wave | None, Fraction], ...]:
    """A product of powers of single waves as a sum: cos = (z + 1/z)/2, sin = (z - 1/z)/2i."""
    spectrum: dict[tuple, Fraction] = {(): Fraction(1)}
    sines = 0
    for wave, power in waves:
        sines += power if wave.kind == "sin" else 0
        for _ in range(power):
            spectrum = _times(spectrum, wave)
    sign = -1 if sines % 4 in (2, 3) else 1
    kind = "sin" if sines % 2 else "cos"
    result: list[tuple[Wave | None, Fraction]] = []
    for combination, factor in spectrum.items():
        if not combination:
            result.append((None, sign * factor))
        elif combination[0][1] > 0:  # its mirror image says the same
            result.append((Wave(kind, combination), 2 * sign * factor))
    return tuple(result)


def _times(spectrum: dict[tuple, Fraction], wave: Wave) -> dict[tuple, Fraction]:
    down = Fraction(-1 if wave.kind == "sin" else 1, 2)
    result: dict[tuple, Fraction] = {}
    for combination, factor in spectrum.items():
        for sign, weight in ((1, Fraction(1, 2)), (-1, down)):
            moved = combined(combination, wave.combination, sign)
            total = result.pop(moved, Fraction(0)) + factor * weight
            if total:
                result[moved] = total
    return result


def combined(a: tuple, b: tuple, sign: int) -> tuple:
    """a + sign b"""
    times = dict(a)
    for angle, k in b:
        times[angle] = times.get(angle, 0) + sign * k
    return tuple(sorted(((x, k) for x, k in times.items() if k), key=lambda item: str(item[0])))


def half_waves(a: Wave, b: Wave, sign: int) -> tuple[int, tuple] | None:
    """a + sign b of one kind as (factor, two waves), if the half angles are whole."""
    total, difference = (
        combined(a.combination, b.combination, 1),
        combined(a.combination, b.combination, -1),
    )
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


def _halved(kind: str, combination: tuple) -> tuple[int, Wave]:
    """(sign, wave) of half an angle, its first factor positive."""
    flip = -1 if combination[0][1] < 0 else 1
    wave = Wave(kind, tuple((a, flip * k // 2) for a, k in combination))
    return (flip if kind == "sin" else 1), wave


def is_double(wave: Wave) -> bool:
    """Whether it is the cosine of twice a whole combination."""
    return wave.kind == "cos" and all(k % 2 == 0 for _, k in wave.combination)


def squares_of(row: Row, own: frozenset) -> Iterable[tuple[Row, Fraction]]:
    """The row with cos^2 as 1 - sin^2 for the angles `own`."""
    parts: list[tuple[tuple, Fraction]] = [((), Fraction(1))]
    for wave, power in row.waves:
        twice, left = divmod(power, 2)
        if wave.kind != "cos" or wave.combination[0][0] not in own or not twice:
            parts = [((*w, (wave, power)), f) for w, f in parts]
            continue
        sine = Wave("sin", wave.combination)
        kept = ((wave, left),) if left else ()
        parts = [
            ((*w, *kept, *(((sine, 2 * k),) if k else ())), f * (-1) ** k * comb(twice, k))
            for w, f in parts
            for k in range(twice + 1)
        ]
    for waves, factor in parts:
        yield Row(waves, row.symbols).sorted(), factor
