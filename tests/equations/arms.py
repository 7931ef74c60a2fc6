"""Arms from rows of a DH table, and equality of expressions."""

import numpy as np
import sympy as sp

import dynamis as dy

EXACT = 1e-12


def arm(rows, convention="standard", **options):
    """An arm without bodies from rows (a, alpha in quarter turns, d); "P" for d is a slide."""
    links = [
        dy.Link(joint="prismatic" if d == "P" else "revolute", a=a, alpha=k * np.pi / 2,
                **({} if d == "P" else {"d": d}))
        for a, k, d in rows
    ]  # fmt: skip
    return dy.Robot.from_dh("book", convention=convention, links=links, **options)


def agree(found, printed):
    """Whether two expressions or matrices are equal at random places."""
    rng = np.random.default_rng(5)
    found, printed = (sp.Matrix(x) if isinstance(x, (list, sp.MatrixBase)) else sp.Matrix([[x]])
                      for x in (found, printed))  # fmt: skip
    found = found.reshape(*printed.shape)
    names = sorted(found.free_symbols | printed.free_symbols, key=str)
    both = sp.lambdify(names, [found, printed], "numpy")
    for _ in range(5):
        a, b = both(*rng.uniform(-2.0, 2.0, len(names)))
        assert np.allclose(np.array(a, float), np.array(b, float), rtol=0, atol=EXACT)
