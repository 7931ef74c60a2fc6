"""Roots of the one-joint equations that the geometry leaves behind."""

from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLES = 8  # enough for trigonometric degree 2 and for degree 4
NEGLIGIBLE = 1e-11  # a coefficient below this, relative to the largest term, is rounding
Terms = Callable[[np.ndarray], tuple[Any, Any]]
OFF_CIRCLE = 0.05  # roots this far off count as real: polishing decides about them


def cosine_roots(A: float, B: float, D: float, slack: float = 1e-2) -> list[float]:
    """Angles with A cos x + B sin x = D: two, or the nearest one when D is barely too large.

    A = B = 0 leaves the angle free: it is set to 0.
    """
    size = np.hypot(A, B)
    if size <= 1e-12 * abs(D) or size == 0.0:
        return [0.0]
    ratio = D / size
    if abs(ratio) > 1 + slack:
        return []
    middle, half = np.arctan2(B, A), np.arccos(np.clip(ratio, -1.0, 1.0))
    return [middle] if half == 0.0 else [middle - half, middle + half]


def joint_roots(terms: Terms, kind: str, scale: float) -> list[float]:
    """Positions x of one joint where the two terms are equal: a(x) = b(x).

    Of a revolute joint f = a - b is a trigonometric polynomial of degree 2, of a prismatic one a
    polynomial of degree 4, sampled over [-scale, scale]. When f is negligible against its terms
    the joint is free: it is set to 0.
    """
    return _circle_roots(terms) if kind == "R" else _line_roots(terms, scale)


def _circle_roots(terms: Terms) -> list[float]:
    """z^2 f(x) is a polynomial of degree 4 in z = exp(ix): its roots on the unit circle."""
    f, size = _sampled(terms, 2 * np.pi * np.arange(SAMPLES) / SAMPLES)
    c = np.fft.fft(f) / SAMPLES
    coefficients = np.array([c[2], c[1], c[0], c[-1], c[-2]])
    if np.abs(coefficients).max() <= NEGLIGIBLE * size:
        return [0.0]
    while len(coefficients) > 1 and abs(coefficients[0]) <= NEGLIGIBLE * size:
        coefficients = coefficients[1:-1]
    z = np.roots(coefficients)
    z = z[np.abs(np.log(np.maximum(np.abs(z), 1e-300))) < OFF_CIRCLE]
    return [float(angle) for angle in np.angle(z)]


def _line_roots(terms: Terms, scale: float) -> list[float]:
    x = np.cos(np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES)
    f, size = _sampled(terms, scale * x)
    coefficients = np.polyfit(x, f, 4)
    if np.abs(coefficients).max() <= NEGLIGIBLE * size:
        return [0.0]
    while len(coefficients) > 1 and abs(coefficients[0]) <= NEGLIGIBLE * size:
        coefficients = coefficients[1:]
    z = np.roots(coefficients)
    z = z[np.abs(z.imag) < OFF_CIRCLE * (1.0 + np.abs(z))]
    return [float(scale * value) for value in z.real]


def _sampled(terms: Terms, x: np.ndarray) -> tuple[np.ndarray, float]:
    """f = a - b at x, and the size of its terms."""
    a, b = (np.broadcast_to(term, x.shape) for term in terms(x))
    return a - b, float(np.max(np.abs(a) + np.abs(b)))
