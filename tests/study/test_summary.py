"""Summaries: exact extremes, quantiles to half a bin, sums in the order of blocks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dynamis.study.summary import (
    BIN_ERROR,
    WORST,
    Values,
    added,
    at_ranks,
    bins_of,
    middle_of,
    quantiles,
    shares_of_variance,
    summed,
)


def summary_of(values, factors=None, first=0, reasons=None):
    count = len(values)
    factors = np.zeros((count, 0)) if factors is None else factors
    found = Values({"y": values}, [""] * count if reasons is None else reasons)
    return summed(np.arange(first, first + count), factors, found)


def in_blocks(values, size, factors=None):
    cut = range(0, len(values), size)
    return [
        summary_of(values[k : k + size], None if factors is None else factors[k : k + size], k)
        for k in cut
    ]


@given(st.floats(allow_nan=False))
def test_the_middle_of_its_bin_is_near_every_number(x):
    middle = middle_of(bins_of(np.array([x])))[0]
    tiny = 2.0**-1022  # below it numbers have fewer digits
    if np.isinf(x):
        assert middle == x
    else:
        assert abs(middle - x) <= BIN_ERROR * abs(x) * (1 + 1e-9) + tiny


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_bins_are_in_the_order_of_the_numbers(a, b):
    low, high = min(a, b), max(a, b)
    assert bins_of(np.array([low]))[0] <= bins_of(np.array([high]))[0]


@settings(max_examples=40)
@given(arrays(float, st.integers(1, 300), elements=st.floats(-1e6, 1e6)), st.integers(1, 50))
def test_quantiles_are_those_of_all_samples(column, size):
    total = added(in_blocks(column[:, None], size))
    shares = np.array([0.0, 0.1, 0.5, 0.9, 0.999, 1.0])
    found = quantiles(total, "y", shares)[:, 0]
    ranks = np.clip(np.ceil(shares * len(column) - 1e-9 * len(column)), 1, None).astype(int)
    exact = np.sort(column)[ranks - 1]
    assert (np.abs(found - exact) <= BIN_ERROR * np.abs(exact) + 1e-300).all()
    assert total["y/lowest"][0] == column.min() and total["y/highest"][0] == column.max()
    assert column[total["y/highest_at"][0]] == column.max()


@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 400), st.integers(1, 3))
def test_the_worst_are_the_same_in_every_split(seed, count, size, k):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 30, (count, k)).astype(float)  # many are equal
    total = added(in_blocks(values, size))
    for row, rank in enumerate([values.max(axis=1), *values.T]):
        order = np.lexsort((np.arange(count), -rank))[:WORST]
        np.testing.assert_array_equal(total["y/worst_at"][row], order)
        np.testing.assert_array_equal(total["y/worst"][row], values[order])


def test_measures_summed_up_together_are_those_summed_up_alone():
    rng = np.random.default_rng(3)
    factors, count = rng.normal(size=(700, 4)), 700
    values = {
        "a": rng.normal(size=(count, 3)),
        "b": np.where(rng.random((count, 1)) < 0.1, np.inf, 1.5),
        "c": rng.integers(-2, 3, (count, 2)).astype(float),
    }
    index, fine = np.arange(50, 50 + count), [""] * count
    together = summed(index, factors, Values(values, fine))
    for name, own in values.items():
        alone = summed(index, factors, Values({name: own}, fine)).of(name)
        for what, array in alone.items():
            np.testing.assert_array_equal(together[f"{name}/{what}"], array, err_msg=what)


def test_sums_do_not_depend_on_how_blocks_are_grouped():
    rng = np.random.default_rng(0)
    values, factors = rng.normal(size=(640, 2)), rng.normal(size=(640, 3))
    blocks = in_blocks(values, 64, factors)
    once = added(blocks)
    stepwise = blocks[0]
    for k in range(1, len(blocks), 3):
        stepwise = added([stepwise, *blocks[k : k + 3]])
    assert once.arrays.keys() == stepwise.arrays.keys()
    for name, array in once.arrays.items():
        np.testing.assert_array_equal(array, stepwise[name])
    np.testing.assert_allclose(once["y/total"], values.sum(axis=0))


def test_failures_are_counted_named_and_infinite():
    values = np.arange(10.0)[:, None]
    values[3] = np.nan
    reasons = ["", "", "", "", "", "", "", "", "", "fell over"]
    total = summary_of(values, reasons=reasons)
    assert (total.samples, total.failed) == (10, 2)
    np.testing.assert_array_equal(total["failed_at"], [3, 9])
    assert list(total["reasons"]) == ["a measure is not a number", "fell over"]
    shares = np.array([0.5, 0.8, 0.81])
    found = quantiles(total, "y", shares)[:, 0]
    np.testing.assert_allclose(found, [5.0, 8.0, np.inf], rtol=BIN_ERROR)
    assert at_ranks(total, "y", np.array([0, 11]))[:, 0].tolist() == [-np.inf, np.inf]


def test_a_block_without_a_value_can_be_added():
    bad = summary_of(np.full((4, 2), np.nan))
    good = summary_of(np.arange(6.0).reshape(3, 2), first=4)
    for parts in ([bad, good], [good, bad]):
        total = added(parts)
        assert (total.samples, total.failed) == (7, 4)
        np.testing.assert_array_equal(total["y/lowest"], [0.0, 1.0])
        np.testing.assert_array_equal(total["y/worst_at"][0], [6, 5, 4])


def test_infinite_values_are_values():
    total = summary_of(np.array([[1.0], [np.inf], [3.0]]))
    assert total.failed == 0 and total["y/highest"][0] == np.inf
    assert total["y/total"][0] == 4.0 and total["y/finite"][0] == 2


@pytest.mark.parametrize("size", [100, 20_000])
def test_sensitivities_find_the_cause(size):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(20_000, 3))
    y = (3.0 * z[:, 0] + 2.0 * (z[:, 1] ** 2 - 1) / np.sqrt(2) + 7.0)[:, None]
    linear, quadratic = shares_of_variance(added(in_blocks(y, size, z)), "y")
    np.testing.assert_allclose(linear[:, 0], [9 / 13, 0, 0], atol=0.02)
    np.testing.assert_allclose(quadratic[:, 0], [0, 4 / 13, 0], atol=0.03)


def test_what_does_not_vary_has_no_cause():
    z = np.random.default_rng(0).normal(size=(100, 2))
    linear, quadratic = shares_of_variance(summary_of(np.full((100, 1), 0.1), z), "y")
    assert not linear.any() and not quadratic.any()
