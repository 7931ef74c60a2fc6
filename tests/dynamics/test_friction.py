"""Friction as a simulation needs it: sliding, sticking, and the bristles of LuGre."""

import math

import casadi as ca
import numpy as np
import pytest

from dynamis.compile.arrays import NUMPY
from dynamis.compile.tracer import SX
from dynamis.dynamics.elements.friction import (
    BRISTLE,
    SERIES,
    SHAPES,
    STICKS,
    columns,
    lugre,
    sliding,
    static_limits,
    torque,
)
from dynamis.model.chain import Resistance
from dynamis.model.friction import LAWS
from dynamis.spatial.functions import MATH

ROUNDING = 1e-13  # relative, of a few operations
SPEEDS = (1e-12, 1e-4, 0.003, 0.02, 0.4, 3.0)
STEP = 1e-3


def resistance(law, plus=0.7, minus=-0.4, offset=0.25, **constants):
    own = {"ratio": 0.6} if law == "grotjahn" else {}
    return Resistance(0.3, plus, minus, offset, law, {**LAWS[law], **own, **constants})


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_sliding_is_the_law_without_its_offset(law, direction):
    r = resistance(law)
    for speed in SPEEDS:
        qd = direction * speed
        expected = torque(r, qd, MATH) - r.offset
        assert sliding(r, qd, direction, MATH) == pytest.approx(expected, rel=ROUNDING, abs=1e-15)
    for qd in (*SPEEDS, *(-x for x in SPEEDS), 0.0):
        parts = zip(columns(r, qd, MATH), (r.viscous, r.plus, r.minus, r.offset), strict=True)
        assert sum(a * b for a, b in parts) == pytest.approx(torque(r, qd, MATH), rel=ROUNDING)


@pytest.mark.parametrize("law", sorted(STICKS))
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_sliding_goes_on_smoothly_through_rest(law, direction):
    """From the static limit of that side, and still finite just beyond rest."""
    r = resistance(law)
    low, high = static_limits(r, MATH)
    at_rest = sliding(r, 0.0, direction, MATH)
    assert at_rest == pytest.approx(high if direction > 0 else low, rel=ROUNDING)
    assert sliding(r, -direction * 1e-9, direction, MATH) == pytest.approx(at_rest, rel=1e-8)


@pytest.mark.parametrize("law", sorted(LAWS))
def test_static_limits(law):
    assert STICKS | BRISTLE | {"smooth"} == set(LAWS) and not STICKS & BRISTLE
    expected = {"coulomb": (-0.4, 0.7), "grotjahn": (-0.4, 0.7), "stribeck": (-0.72, 1.26)}
    ratio = {"static_ratio": 1.8} if "static_ratio" in LAWS[law] else {}
    assert static_limits(resistance(law, **ratio), MATH) == pytest.approx(
        expected.get(law, (0.0, 0.0))
    )


def test_lugre_is_stribeck_where_nothing_is_simulated():
    steady, constants = resistance("lugre", velocity=0.1), {"static_ratio": 1.5, "velocity": 0.1}
    plain = steady._replace(law="stribeck", constants=constants)
    for qd in (*SPEEDS, *(-x for x in SPEEDS), 0.0):
        assert torque(steady, qd, MATH) == torque(plain, qd, MATH)
        assert columns(steady, qd, MATH) == columns(plain, qd, MATH)
    assert SHAPES["lugre"](0.0, LAWS["lugre"], MATH) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("h", [0.0, 1e-4, 1e-2])
def test_the_bristles_settle_at_the_steady_state(sign, h):
    """zd = 0 at z = u / lam, where the torque is the law's, asymmetric pairs included."""
    r = resistance("lugre")
    for speed in SPEEDS:
        u = sign * speed
        expected = torque(r, u, MATH) - r.offset
        z = (expected - r.viscous * u) / r.constants["stiffness"]
        tau, rate = lugre(r, u, z, h, MATH)
        assert rate == pytest.approx(0.0, abs=ROUNDING * speed)
        assert tau == pytest.approx(expected, rel=1e-12)


def test_the_rate_is_bounded_by_the_step():
    """z + h zd is the exact solution at constant speed; for h -> 0 the rate is LuGre's own."""
    r = resistance("lugre")
    sigma0, z = r.constants["stiffness"], -2e-5
    for u in (0.4, -0.4, 3.0, 0.003):
        g = abs(torque(r, u, MATH) - r.offset - r.viscous * u)
        lam = sigma0 * abs(u) / g
        exact = u / lam + (z - u / lam) * math.exp(-lam * STEP)
        tau, rate = lugre(r, u, z, STEP, MATH)
        assert z + STEP * rate == pytest.approx(exact, rel=1e-11)
        assert tau == pytest.approx(sigma0 * z + r.constants["damping"] * rate + r.viscous * u)
        own = u - lam * z
        assert lugre(r, u, z, 0.0, MATH)[1] == pytest.approx(own, rel=ROUNDING)
        errors = [abs(lugre(r, u, z, h, MATH)[1] - own) for h in (1e-7, 5e-8)]
        assert errors[0] / errors[1] == pytest.approx(2.0, rel=2e-2)  # first order in h


def test_bristles_at_rest_stay_bent():
    r = resistance("lugre")
    assert lugre(r, 0.0, 3e-5, STEP, MATH) == (pytest.approx(0.3), 0.0)
    for u in (1e-12, -1e-12):
        assert lugre(r, u, 0.0, STEP, MATH)[1] == pytest.approx(u, rel=1e-9)


def test_the_series_meets_the_exponential():
    """The rate hardly changes across the speed at which lam h = SERIES."""
    r = resistance("lugre", static_ratio=1.0)
    u = SERIES * r.plus / (r.constants["stiffness"] * STEP)
    a, b = (lugre(r, u * x, 0.0, STEP, MATH)[1] / (u * x) for x in (1 - 1e-12, 1 + 1e-12))
    assert a == pytest.approx(b, rel=1e-12)


@pytest.mark.parametrize("u", [0.0, 0.5, -0.5, 1e-300])
def test_no_coulomb_friction_leaves_no_bristles(u):
    r = resistance("lugre", plus=0.0, minus=0.0)
    tau, rate = lugre(r, u, 0.0, STEP, MATH)
    assert tau == pytest.approx(r.viscous * u, abs=1e-11) and abs(rate) <= 1e-12
    if abs(u) > 0.1:  # what was bent before is gone within one step
        assert 1e-5 + STEP * lugre(r, u, 1e-5, STEP, MATH)[1] == pytest.approx(0.0, abs=1e-15)


def test_every_scalar_gives_the_same():
    u, z = np.array([0.0, 0.003, -0.4, 2.0]), np.array([1e-5, 0.0, -2e-5, 3e-5])
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    r = resistance("lugre")
    traced = ca.Function("f", [x, y], list(lugre(r, x, y, STEP, SX)))
    batch = np.transpose(lugre(r, u, z, STEP, NUMPY))
    for row, a, b in zip(batch, u, z, strict=True):
        assert row == pytest.approx(lugre(r, a, b, STEP, MATH), rel=ROUNDING)
        assert [float(t) for t in traced(a, b)] == pytest.approx(row, rel=ROUNDING)
    for law in sorted(LAWS):
        r = resistance(law)
        traced = ca.Function("f", [x, y], [sliding(r, x, y, SX)])
        for direction in (1.0, -1.0):
            whole = sliding(r, u, np.full(4, direction), NUMPY)
            for a, expected in zip(u, whole, strict=True):
                assert sliding(r, a, direction, MATH) == pytest.approx(expected, rel=ROUNDING)
                assert float(traced(a, direction)) == pytest.approx(expected, rel=ROUNDING)
