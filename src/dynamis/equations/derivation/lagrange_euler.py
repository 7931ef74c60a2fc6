"""Lagrange-Euler in its ten classical steps."""

from collections.abc import Iterator
from typing import Any

from ...dynamics.lagrange_euler import LagrangeEuler, lagrange_euler_terms, user_inertias
from ...spatial.inertia import pseudo_inertia
from .parts import (
    Draft,
    Raw,
    coordinate_torques,
    frames_step,
    has_rotor_or_friction,
    index,
    rotor_and_friction,
    table_step,
)
from .setting import Setting

ZERO4 = ((0.0,) * 4,) * 4
STEPS = (
    (
        "Derivatives of the transformations",
        "How each frame moves with each joint. Frames before the joint do not move with it.",
        (r"U_{ij} = \frac{\partial {}^{0}A_{i}}{\partial q_{j}}",),
    ),
    (
        "Second derivatives",
        "How those derivatives move with each joint; the order of the two joints does not matter.",
        (r"U_{ijk} = \frac{\partial U_{ij}}{\partial q_{k}} = U_{ikj}",),
    ),
    (
        "Pseudo-inertia matrices",
        "The integrals of r r^T over each link, r = (x, y, z, 1) in the link's own frame: second "
        "moments, first moments m r and mass.",
        (r"J_{i} = \int r \, r^{T} \, dm",),
    ),
    (
        "Inertia matrix D",
        "",
        (r"d_{ij} = \sum_{k=\max(i,j)}^{n} \mathrm{Tr}\left(U_{kj} \, J_{k} \, U_{ki}^{T}\right)",),
    ),
    (
        "Coriolis and centrifugal coefficients",
        "The factor of a product of two velocities in the torque of joint i.",
        (
            r"h_{ikm} = \sum_{j=\max(i,k,m)}^{n} "
            r"\mathrm{Tr}\left(U_{jkm} \, J_{j} \, U_{ji}^{T}\right)",
        ),
    ),
    (
        "Coriolis and centrifugal torques H",
        "",
        (r"h_{i} = \sum_{k=1}^{n} \sum_{m=1}^{n} h_{ikm} \, \dot{q}_{k} \, \dot{q}_{m}",),
    ),
    (
        "Gravity torques C",
        "g is the acceleration of free fall as a row (gx, gy, gz, 0) in the reference frame, r the "
        "centre of mass of a link in its own frame.",
        (r"C_{i} = -\sum_{j=1}^{n} m_{j} \, g \, U_{ji} \, {}^{j}r_{j}",),
    ),
)


def lagrange_steps(s: Setting) -> Iterator[Draft]:
    """Frames, derivatives, inertias, D, H, C and the torque."""
    yield table_step(s)
    yield frames_step(s)
    size = range(len(s.chain.joints))
    terms = lagrange_euler_terms(s.chain, s.x, s.xd, s.xdd, s.fn)
    parts = (
        [Raw(f"U_{{{index(i + 1, j + 1)}}}", terms.U[i][j] or ZERO4) for i in size for j in size],
        _second(terms, size),
        [
            Raw(f"J_{{{i + 1}}}", pseudo_inertia(J))
            for i, J in enumerate(user_inertias(s.chain, s.x))
        ],
        [*_entries("d", terms.D), Raw("D", terms.D)],
        _christoffel(terms, size),
        [*_numbered("h", terms.H), Raw("H", terms.H)],
        [*_numbered("C", terms.C), Raw("C", terms.C)],
    )
    for (title, text, formulas), items in zip(STEPS, parts, strict=True):
        yield Draft(title, text, formulas, items)
    yield _torque(s, terms)


def _second(terms: LagrangeEuler, size: range) -> list[Raw]:
    items = []
    for i in size:
        for j in size:
            for k in size:
                name, twin = (
                    f"U_{{{index(i + 1, *jk)}}}" for jk in ((j + 1, k + 1), (k + 1, j + 1))
                )
                items.append(Raw(name, terms.UU[i][j][k] or ZERO4, twin if j > k else None))
    return items


def _christoffel(terms: LagrangeEuler, size: range) -> list[Raw]:
    items = []
    for i in size:
        for k in size:
            for m in size:
                name, twin = (
                    f"h_{{{index(i + 1, *km)}}}" for km in ((k + 1, m + 1), (m + 1, k + 1))
                )
                items.append(Raw(name, terms.h[i][k][m], twin if k > m else None))
    return items


def _entries(letter: str, M: Any) -> list[Raw]:
    size = range(len(M))
    return [
        Raw(
            f"{letter}_{{{index(i + 1, j + 1)}}}",
            M[i][j],
            f"{letter}_{{{index(j + 1, i + 1)}}}" if i > j else None,
        )
        for i in size
        for j in size
    ]


def _numbered(letter: str, v: Any) -> list[Raw]:
    return [Raw(f"{letter}_{{{i + 1}}}", x) for i, x in enumerate(v)]


def _torque(s: Setting, terms: LagrangeEuler) -> Draft:
    extra = rotor_and_friction(s)
    tree = [a + b for a, b in zip(terms.tau, extra, strict=True)]
    items = []
    text, formula = "The equation of motion.", r"\tau = D \, \ddot{q} + H + C"
    if has_rotor_or_friction(s):
        text += " Friction, and rotors behind their gears, add to the torque of their own joint."
        formula += r" + \tau_{\mathrm{joint}}"
        items = [Raw(rf"{{\tau_{{\mathrm{{joint}}}}}}_{{{i + 1}}}", x) for i, x in enumerate(extra)]
    torques = coordinate_torques(s, tree)
    items += [Raw(rf"\tau_{{{i + 1}}}", x) for i, x in enumerate(torques)]
    return Draft("Equation of motion", text, (formula,), items)
