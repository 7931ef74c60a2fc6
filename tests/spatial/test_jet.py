"""Jets against the chain rule of SymPy, and functions of them against constants."""

import math

import pytest
import sympy as sp

from dynamis.spatial.functions import MATH
from dynamis.spatial.jet import Jet, jet_functions, parts

FN = jet_functions(MATH)
T = sp.Symbol("t")
A, B = 1.3 + sp.sin(2 * T) / 3, 0.7 + T**2 + T / 5  # both positive near t = 0.4
AT = 0.4
ONE = {
    "neg": lambda a, b, fn: -a,
    "add": lambda a, b, fn: 2.0 + a + b,
    "sub": lambda a, b, fn: 2.0 - a - b,
    "mul": lambda a, b, fn: 3.0 * a * b,
    "div": lambda a, b, fn: (1.0 / a) / (b / a),
    "pow": lambda a, b, fn: a ** (1.0 / 3.0) * b**3,
    "sin": lambda a, b, fn: fn.sin(a * b),
    "cos": lambda a, b, fn: fn.cos(a * b),
    "sqrt": lambda a, b, fn: fn.sqrt(a * b),
    "exp": lambda a, b, fn: fn.exp(a * b),
    "tanh": lambda a, b, fn: fn.tanh(a * b),
    "log": lambda a, b, fn: fn.log(a * b),
    "atan2": lambda a, b, fn: fn.atan2(a - 3.0, b),
}


def jet(expression):
    return Jet(*(float(sp.diff(expression, T, k).subs(T, AT)) for k in range(3)))


@pytest.mark.parametrize("name", ONE)
def test_first_two_derivatives(name):
    found = ONE[name](jet(A), jet(B), FN)
    expected = ONE[name](A, B, sp)
    for k, value in enumerate(parts(found)):
        assert math.isclose(value, float(sp.diff(expected, T, k).subs(T, AT)), rel_tol=1e-12)


def test_choices_take_one_side_and_the_mean_where_both_meet():
    a, b = Jet(1.0, 2.0, 3.0), Jet(2.0, -1.0, 5.0)
    assert parts(FN.max(a, b)) == parts(FN.select(a < b, b, a)) == (2.0, -1.0, 5.0)
    assert parts(FN.min(a, b)) == (1.0, 2.0, 3.0)
    assert parts(FN.max(Jet(0.0, 4.0, 6.0), 0.0)) == (0.0, 2.0, 3.0)
    assert (a > b, a >= b, a < 2.0, a <= b) == (False, False, True, True)


def test_steps_are_constant_and_constants_stay_so():
    assert FN.sign(Jet(-2.0, 1.0, 1.0)) == -1.0
    assert FN.floor(Jet(2.5, 1.0, 1.0)) == 2.0
    assert FN.sin(0.3) == MATH.sin(0.3)
