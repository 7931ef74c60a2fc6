"""Misprints of "Algoritmo computacional Lagrange-Euler" (the polar arm)."""

from functools import cache

import numpy as np

from dynamis.dynamics.lagrange_euler import LagrangeEuler, lagrange_euler_terms
from dynamis.model.chain import chain
from dynamis.spatial.functions import MATH

from .engine import Array, Verdict, catalogue, verdict
from .entry import Entry

Q, QD, QDD = (0.4, 0.8), (0.9, 0.6), (0.5, 0.7)
G = 9.81


@cache
def terms() -> LagrangeEuler:
    """Every matrix of the ten steps at one state."""
    return lagrange_euler_terms(chain(catalogue("polar-rp")), Q, QD, QDD, MATH)


def values() -> tuple[float, float, float]:
    """m1, m2 and L1."""
    given = catalogue("polar-rp").values
    return given["m1"], given["m2"], given["L1"]


def gravity_torques(g: Array) -> Array:
    """c_i = -sum_j m_j g U_ji r_j"""
    m1, m2, L1 = values()
    r = [m1 * np.array([0, 0, L1, 1]), m2 * np.array([0, 0, 0, 1])]
    U = terms().U
    return np.array(
        [-sum(g @ np.array(U[j][i]) @ r[j] for j in (0, 1) if U[j][i] is not None) for i in (0, 1)]
    )


def second_diagonal() -> Verdict:
    """d_22 from the trace of U22 J2 U22^T."""
    _, m2, _ = values()
    S, C = np.sin(Q[0]), np.cos(Q[0])
    return verdict(S**2 * m2 - C**2 * m2, S**2 * m2 + C**2 * m2, terms().D[1][1])


def corner() -> Verdict:
    """J_1(4, 1)"""
    m1, _, _ = values()
    return verdict(m1, 0.0, terms().J[0][3][0])


def last_entry() -> Verdict:
    """U_22(4, 4)"""
    return verdict(1.0, 0.0, terms().U[1][1][3][3])


def one_length() -> Verdict:
    """m_1 r_1 is the last column of J_1; L is taken as any other length, 1 m."""
    m1, _, L1 = values()
    return verdict(m1 * 1.0, m1 * L1, terms().J[0][2][3])


def two_gravities() -> Verdict:
    """C with gravity along x0 and along -z0."""
    printed, right = (
        gravity_torques(np.array([G, 0, 0, 0])),
        gravity_torques(np.array([0, 0, -G, 0])),
    )
    return verdict(printed, right, terms().C)


def missing_factor() -> Verdict:
    """The first term of c_2, with and without U_12 = 0."""
    m1, _, L1 = values()
    g, r = np.array([0, 0, -G, 0]), np.array([0, 0, L1, 1])
    return verdict(-m1 * g @ r, -m1 * g @ np.zeros((4, 4)) @ r, terms().C[1])


ENTRIES = (
    Entry(
        "step 5, J_i",
        r"J_{i}(4,1) = \int dm",
        r"J_{i}(4,1) = \int x_{i} \, dm",
        "The matrix is symmetric; written out for link 2 it is right.",
        corner,
    ),
    Entry(
        "step 6, d_22",
        r"d_{22} = S_{1}^{2} m_{2} - C_{1}^{2} m_{2} = m_{2}",
        r"d_{22} = S_{1}^{2} m_{2} + C_{1}^{2} m_{2} = m_{2}",
        "A trace is a sum; only then is the result the one printed.",
        second_diagonal,
    ),
    Entry(
        "step 9, gravity vector",
        r"g = [g, 0, 0, 0]",
        r"g = [0, 0, -g, 0]",
        "The lines that follow use the second form: gravity along -z0, so that C vanishes.",
        two_gravities,
    ),
    Entry(
        "step 9, centre of mass of link 1",
        r"{}^{1}r_{1} = [0, 0, L, 1]^{T}",
        r"{}^{1}r_{1} = [0, 0, L_{1}, 1]^{T}",
        "The same length as in the pseudo-inertia matrix of link 1.",
        one_length,
    ),
    Entry(
        "step 9, c_2, U_22",
        r"U_{22}(4,4) = 1",
        r"U_{22}(4,4) = 0",
        "The last row of a derivative of a transformation is zero, as in step 3.",
        last_entry,
    ),
    Entry(
        "step 9, c_2, first term",
        r"-m_{1} \, g \; {}^{1}r_{1} \; \ldots = 0",
        r"-m_{1} \, g \, U_{12} \; {}^{1}r_{1} \; \ldots = 0",
        "Without U12 = 0 the term is m1 g L1; the second term lacks its r2 in the same way.",
        missing_factor,
    ),
)
