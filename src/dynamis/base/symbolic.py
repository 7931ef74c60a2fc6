"""Groupings with the symbols of the geometry kept: L1**2*m2 instead of 0.64*m2 (SymPy)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..equations.scalars.scalars import exact, symbolic_chain
from ..lazy import package
from ..model.link import Link
from ..model.model import Model
from ..model.parameters import parameter_values
from ..model.quantity import Expression, resolve
from .groupings import Form, RegroupingRecipe, regroup

sp: Any = package("sympy", "sympy", "base parameters over symbols", "equations")

SHORT = 3  # links up to which angles, too, stay symbols: their sines multiply quickly
SYMBOL_ROUNDING = 1e-12


def symbolic_forms(model: Model, recipe: RegroupingRecipe, columns: Sequence[int]) -> list[Form]:
    """The rows found with numbers, by the same steps over SymPy.

    The null vectors are taken over as numbers: 0 and 1 unless some geometry is special. Beyond
    SHORT links symbolic angles are taken at their values.
    """
    if len(model.links) > SHORT:
        model = replace(model, links=tuple(_at_angles(x, model.values) for x in model.links))
    vectors = [[[exact(x) for x in v] for v in vs] for vs in recipe.null]
    forms, _ = regroup(symbolic_chain(model), vectors, recipe.steps, tidy)
    rows = [{j: _written(x) for j, x in sorted(forms.get(k, {k: 1}).items())} for k in columns]
    return [{j: x for j, x in row.items() if x != 0} for row in rows]


def _at_angles(link: Link, values: Mapping[str, float]) -> Link:
    """The link with numbers for its angles."""
    names = ["alpha", "theta", *(["offset"] if link.joint == "revolute" else [])]
    angles = {name: getattr(link, name) for name in names}
    if link.rpy is not None:
        angles["rpy"] = tuple(resolve(x, values) for x in link.rpy)
    changes = {k: resolve(x, values) if isinstance(x, Expression) else x for k, x in angles.items()}
    return replace(link, **changes)


def _written(x: Any) -> Any:
    """As a person would write it, without the rounding errors of numeric angles."""
    x = sp.sympify(x)
    if x.has(sp.cos):
        return sp.trigsimp(sp.factor(x))
    return sp.Add(*(t for t in sp.Add.make_args(x) if abs(t.as_coeff_Mul()[0]) > SYMBOL_ROUNDING))


def tidy(x: Any) -> Any:
    """Expanded, with exact numbers; squares of sines written as 1 - cos^2 so that they cancel."""
    x = sp.sympify(x)
    x = sp.expand(x.xreplace({f: exact(float(f)) for f in x.atoms(sp.Float)}))
    if not x.has(sp.sin):
        return x
    top, bottom = sp.fraction(sp.cancel(x))
    squares = {s: 1 - sp.cos(s.args[0]) ** 2 for s in x.atoms(sp.sin)}
    return sp.cancel(_reduced(top, squares) / _reduced(bottom, squares))


def _reduced(x: Any, squares: Mapping[Any, Any]) -> Any:
    """A polynomial in sines of degree one, by sin^2 = 1 - cos^2."""
    for sine, square in squares.items():
        x = sp.rem(sp.expand(x), sine**2 - square, sine)
    return x


def symbolic_values(model: Model, forms: Sequence[Mapping[int, Any]]) -> list[Any]:
    """beta = B phi over the model's symbols."""
    values = [exact(x) for x in parameter_values(model, symbolic_chain(model))]
    sums = [sum(exact(w) * values[j] for j, w in form.items()) for form in forms]
    return [sp.expand(sp.sympify(s)) for s in sums]


def coefficient(x: Any, digits: int, latex: bool) -> str:
    """A coefficient, shortest, fractions as decimal numbers: L1**2, (L1 + L2), 0.5*L1."""
    fractions = [r for r in x.atoms(sp.Rational) if r.q != 1]
    decimal = x.xreplace({r: sp.Float(f"{float(r):.{digits}g}") for r in fractions})
    if latex:
        text = sp.latex(decimal, full_prec=False)
        return rf"\left({text}\right)" if x.is_Add else text
    text = sp.sstr(decimal, full_prec=False)
    return f"({text})" if x.is_Add else text
