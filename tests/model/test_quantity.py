"""Numbers as people write them: `deg` scales the number, product or bracket before it."""

import math
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamis.errors import ModelError
from dynamis.model.quantity import LONGEST, Expression, quantities, quantity, resolve

DEG = math.pi / 180.0
VALUES = {"q0": 0.7, "L1": -1.3}


class Piece(NamedTuple):
    """A text and what it means, worked out by hand from its parts."""

    text: str
    value: float


def _unit(piece: Piece, unit: str | None) -> Piece:
    return piece if unit is None else Piece(piece.text + unit, piece.value * DEG)


NUMBERS = st.sampled_from(
    [Piece(t, float(t)) for t in ("30", "0.5", ".25", "2.", "1e2", "1.5e-3", "180")]
    + [Piece("pi", math.pi)]
    + [Piece(name, value) for name, value in VALUES.items()]
)
UNITS = st.sampled_from([None, " deg", "  deg", " °"])
SIGNS = st.sampled_from([("", 1.0), ("-", -1.0), ("- ", -1.0), ("+", 1.0)])


def _products(atoms):
    """Factors joined by * and /, each perhaps with the unit: it scales all of the term so far."""

    @st.composite
    def product(draw):
        term = _unit(draw(atoms), draw(UNITS))
        for _ in range(draw(st.integers(0, 2))):
            sign, factor = draw(st.sampled_from("*/")), draw(atoms)
            value = term.value * factor.value if sign == "*" else term.value / factor.value
            term = _unit(Piece(f"{term.text}{sign}{factor.text}", value), draw(UNITS))
        sign, factor = draw(SIGNS)
        return Piece(sign + term.text, factor * term.value)

    return product()


def _sums(terms):
    @st.composite
    def total(draw):
        piece = draw(terms)
        for _ in range(draw(st.integers(0, 2))):
            sign, term = draw(st.sampled_from("+-")), draw(terms)
            value = piece.value + term.value if sign == "+" else piece.value - term.value
            piece = Piece(f"{piece.text} {sign} {term.text}", value)
        return piece

    return total()


def _bracketed(sums):
    """Sums in brackets; not so near to zero that a division by them is mostly rounding."""
    return sums.map(lambda x: Piece(f"({x.text})", x.value)).filter(lambda x: abs(x.value) > 1e-3)


SUMS = _sums(_products(st.one_of(NUMBERS, _bracketed(_sums(_products(NUMBERS))))))


@given(SUMS.filter(lambda piece: len(piece.text) <= LONGEST // 2 and math.isfinite(piece.value)))
def test_a_unit_belongs_to_what_stands_before_it(piece):
    value = resolve(quantity(piece.text, "x"), VALUES)
    assert value == pytest.approx(piece.value, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    "text, value",
    [
        ("pi/2 + 30 deg", math.pi / 2 + 30 * DEG),
        ("q0 - 5 deg", VALUES["q0"] - 5 * DEG),
        ("2*45 deg", 90 * DEG),
        ("-π/2", -math.pi / 2),
        ("90/2 deg", 45 * DEG),
        ("90 deg/2", 45 * DEG),
        ("-90 deg", -90 * DEG),
        ("(pi/2 + 30) deg", (math.pi / 2 + 30) * DEG),
        ("30 deg + 15deg", 45 * DEG),
        ("q0 deg", VALUES["q0"] * DEG),
        ("sin(30 deg)", 0.5),
        ("1e2deg", 100 * DEG),
        ("2**3 deg", 8 * DEG),
    ],
)
def test_degrees_as_they_are_written(text, value):
    assert resolve(quantity(text, "x"), VALUES) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize("text", ["deg", "2*deg", "30 deg deg", "30 deg**2", "deg 30", "30 degx"])
def test_a_unit_without_its_number_is_refused_in_the_users_own_words(text):
    with pytest.raises(ModelError, match="cannot read") as refusal:
        quantity(text, "alpha")
    assert repr(text) in str(refusal.value) and "pi/180" not in str(refusal.value)


def test_names_that_end_in_deg_are_symbols():
    assert quantity("twist_deg + a2deg", "x").symbols == ("twist_deg", "a2deg")


@given(st.integers(1, 30))
def test_what_is_accepted_is_read_back_from_its_own_text(count):
    text = "+".join(["a deg"] * count)
    try:
        found = quantity(text, "x")
    except ModelError as refusal:
        assert f"at most {LONGEST}" in str(refusal)
    else:
        assert isinstance(found, Expression) and quantity(found.text, "x") == found


def test_entries_too_many_are_no_decimals_where_the_count_does_not_fit():
    for entries in ([0, 0, 0, 0], [0.5, 3.0, 1.0, 2.0], [1, 2, 3, 4, 5, 6, 7], [1, 2]):
        with pytest.raises(ModelError) as refused:
            quantities(entries, 3, "com")
        assert refused.value.hint is None
