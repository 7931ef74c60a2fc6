"""Steps after the frames: theta, d, a, alpha, how each is measured, matrices, product.

The numbers beside the table are measured on the frames; tests hold them to its rows.
"""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import sympy as sp

from ..equations.closed import parallel
from ..equations.derivation.steps import Item
from ..equations.scalars.scalars import EXACT, Exact, plain, symbolic_chain
from ..equations.scalars.simplify import tidy
from ..model.dh.axes import Axis
from ..model.dh.procedure import Construction, row_frame
from ..model.dh.procedure import tidy as without_rounding
from ..model.dh.table import twelfths_of_pi, variable_text
from ..model.link import Link
from ..model.pose import Pose
from ..model.quantity import Expression
from ..spatial.frames import (
    Frame,
    about_z,
    compose,
    dh_frame,
    from_xyz_rpy,
    inverse,
    matrix,
    translation,
)
from ..spatial.rotations import rotation_z_to, transpose
from ..spatial.vectors import Vector, cross, dot, subtract
from . import notation
from .telling import Account, Cells, StepContent, is_nothing

POSITIONS = 5  # random ones at which the product is checked
SPACE = r" \, "
TOGETHER = 3  # matrices of one printed product
STANDARD = (
    r"{}^{i-1}A_{i} = R(z_{i-1}, \theta_{i}) \, D(z_{i-1}, d_{i}) \, D(x_{i}, a_{i}) \, "
    r"R(x_{i}, \alpha_{i})"
)
MODIFIED = (
    r"{}^{i-1}A_{i} = R(x_{i-1}, \alpha_{i-1}) \, D(x_{i-1}, a_{i-1}) \, R(z_{i}, \theta_{i}) "
    r"\, D(z_{i}, d_{i})"
)


class RowMeasures(NamedTuple):
    """A row measured on the frames at q = 0: cosines and sines, and the ends of its distances."""

    theta: tuple[float, float]
    d: tuple[Vector, Vector]
    a: tuple[Vector, Vector]
    alpha: tuple[float, float]
    values: tuple[float, float, float, float]  # theta, d, a, alpha


def measured(made: Construction, joint: int) -> RowMeasures:
    """theta, d, a and alpha of a joint, measured on axes, common normals and frames."""
    standard = made.convention == "standard"
    before, here = made.frames[joint - 1], made.frames[joint]
    (x0, _, z0), (x1, _, z1) = transpose(before.R), transpose(here.R)
    z, x = (z0, x1) if standard else (z1, x0)
    bar = made.bars[joint if standard else joint - 1]
    theta = dot(x0, x1), dot(z, cross(x0, x1))
    alpha = dot(z0, z1), dot(x, cross(z0, z1))
    d = (before.p, bar.start) if standard else (bar.end, here.p)
    a = (bar.start, here.p) if standard else (before.p, bar.end)
    values = (
        math.atan2(theta[1], theta[0]),
        dot(subtract(d[1], d[0]), z),
        dot(subtract(a[1], a[0]), x),
        math.atan2(alpha[1], alpha[0]),
    )
    return RowMeasures(theta, d, a, alpha, values)


# one column of the table after the other


def row_texts(a: Account, joint: int) -> tuple[str, str, str, str]:
    """theta, d, a and alpha of a row as LaTeX, the coordinate where it belongs."""
    row, q = a.model.links[joint - 1], a.coordinate(joint)
    if row.joint == "revolute":
        theta = notation.plus(q, row.offset, notation.angle(row.offset))
        d = notation.length(row.d)
    else:
        theta = notation.angle(row.theta)
        d = notation.plus(q, row.offset, notation.length(row.offset))
    return theta, d, notation.length(row.a), notation.angle(row.alpha)


def theta(a: Account) -> StepContent:
    """DH9: theta."""
    names, rows = a.names, []
    for i in range(1, a.n + 1):
        cosine, sine = measured(a.made, i).theta
        ends = f"$x_{{{i - 1}}}$", f"$x_{{{i}}}$", f"${names.z(i)}$"
        row = (f"${i}$", *ends, _figure(cosine), _figure(sine))
        rows.append((*row, rf"$\theta_{{{i}}} = {row_texts(a, i)[0]}$"))
    z = r"z_{i-1}" if names.standard else r"z_{i}"
    formula = (
        rf"\theta_{{i}} = \mathrm{{atan2}}\left({z} \cdot (x_{{i-1}} \times x_{{i}}), \; "
        r"x_{i-1} \cdot x_{i}\right)"
    )
    header = (*a.cells("joint", "from", "to", "about", "cosine", "sine"), r"$\theta$")
    text = (a.rule("theta"), a.say("theta", "variable"))
    return StepContent(text, formulas=(formula,), table=(header, *rows))


def d(a: Account) -> StepContent:
    """DH10: d."""
    rows = []
    for i in range(1, a.n + 1):
        ends = measured(a.made, i).d
        value = f"${notation.equation(f'd_{{{i}}}', row_texts(a, i)[1])}$"
        rows.append((f"${i}$", *map(a.at, ends), f"${a.names.z(i)}$", value))
    header = (*a.cells("joint", "start", "end", "along"), "$d$")
    text = (a.rule("d"), a.say("d", "variable"))
    return StepContent(text, table=(header, *rows))


def a_lengths(a: Account) -> StepContent:
    """DH11: a."""
    rows = []
    for i in range(1, a.n + 1):
        own, ends = a.names.bar_row(i), measured(a.made, i).a
        value = f"${notation.equation(f'a_{{{own}}}', row_texts(a, i)[2])}$"
        rows.append((f"${i}$", *map(a.at, ends), f"$x_{{{own}}}$", value))
    header = (*a.cells("joint", "start", "end", "along"), "$a$")
    return StepContent((a.rule("a"),), table=(header, *rows))


def alpha(a: Account) -> StepContent:
    """DH12: alpha."""
    names, rows = a.names, []
    for i in range(1, a.n + 1):
        own, (cosine, sine) = names.bar_row(i), measured(a.made, i).alpha
        ends = f"$z_{{{i - 1}}}$", f"$z_{{{i}}}$", f"$x_{{{own}}}$"
        row = (f"${i}$", *ends, _figure(cosine), _figure(sine))
        rows.append((*row, rf"$\alpha_{{{own}}} = {row_texts(a, i)[3]}$"))
    i, x = ("i", "x_{i}") if names.standard else ("i-1", "x_{i-1}")
    formula = (
        rf"\alpha_{{{i}}} = \mathrm{{atan2}}\left({x} \cdot (z_{{i-1}} \times z_{{i}}), \; "
        r"z_{i-1} \cdot z_{i}\right)"
    )
    header = (*a.cells("joint", "from", "to", "about", "cosine", "sine"), r"$\alpha$")
    return StepContent((a.rule("alpha"),), formulas=(formula,), table=(header, *rows))


def _figure(x: float) -> str:
    return f"${notation.vector((x, 0.0, 0.0))[1:].split(',')[0]}$"


def dh_cells(a: Account) -> Cells:
    """The whole table."""
    heads = ("i", "i", "i", "i") if a.names.standard else ("i", "i", "i-1", "i-1")
    letters = (r"\theta", "d", "a", r"\alpha")
    header = tuple(f"${x}_{{{k}}}$" for x, k in zip(letters, heads, strict=True))
    rows = [(f"${i}$", a.kind(i), *(f"${x}$" for x in row_texts(a, i))) for i in range(1, a.n + 1)]
    return (a.cells("joint", "kind") + header, *rows)


# matrices


def matrices(a: Account) -> StepContent:
    """DH13: the matrix of every row, and the constant ones before and after."""
    formula = STANDARD if a.names.standard else MODIFIED
    items = [
        Item(f"{{}}^{{{i - 1}}}A_{{{i}}}", sp.Matrix(symbolic_matrix(a, i)))
        for i in range(1, a.n + 1)
    ]
    text = [a.rule("matrices")]
    for i, row in enumerate(a.model.links, 1):
        if _angle_symbol(row, i) is not None:
            angle = row_texts(a, i)[0]
            text.append(a.say("matrices", "angle", angle=rf"\theta_{{{i}}} = {angle}"))
    if not is_nothing(a.model.base):
        text.append(a.say("matrices", "base"))
        items.insert(0, Item(r"A_{\mathrm{base}}", pose_matrix(a.model.base)))
    if not is_nothing(a.model.tool):
        text.append(a.say("matrices", "tool", n=a.model.tip + 1))
        items.append(Item(r"A_{\mathrm{tool}}", pose_matrix(a.model.tool)))
    return StepContent(tuple(text), formulas=(formula,), items=tuple(items))


def symbolic_matrix(a: Account, joint: int) -> sp.Matrix:
    """A of a row over its coordinate and letters."""
    row = a.model.links[joint - 1]
    q = notation.symbolic(Expression(variable_text(a.model, row)))
    theta, d = notation.exact_angle(row.theta), notation.symbolic(row.d)
    if row.joint == "revolute":
        theta = _angle_symbol(row, joint) or q + notation.exact_angle(row.offset)
    else:
        d = q + notation.symbolic(row.offset)
    given = theta, d, notation.symbolic(row.a), notation.exact_angle(row.alpha)
    T = dh_frame(a.made.convention, *map(Exact, given), fn=EXACT)
    return sp.Matrix([[plain(x) for x in line] for line in matrix(T)])


def _angle_symbol(row: Link, joint: int) -> sp.Symbol | None:
    """theta_i by its name, where its constant is a number that is no multiple of a right angle."""
    if row.joint != "revolute" or isinstance(row.offset, Expression):
        return None
    twelfths = twelfths_of_pi(row.offset)
    odd = twelfths is None or twelfths % 6 != 0
    return sp.Symbol(f"theta{joint}", real=True) if odd else None


def pose_matrix(place: Pose) -> sp.Matrix:
    """A constant transform, its angles exact."""
    xyz = tuple(Exact(notation.symbolic(x)) for x in place.xyz)
    rpy = tuple(Exact(notation.exact_angle(x)) for x in place.rpy)
    T = from_xyz_rpy(xyz, rpy, EXACT)  # type: ignore[arg-type]
    return sp.Matrix([[plain(x) for x in line] for line in matrix(T)])


def product(a: Account) -> StepContent:
    """DH14: the product, and its check against the joints moved one by one."""
    n, groups = a.n, parallel(symbolic_chain(a.model))
    parts, whole = [], []
    for first in range(0, n, TOGETHER):
        last = min(first + TOGETHER, n)
        T = sp.eye(4)
        for i in range(first + 1, last + 1):
            T = T * symbolic_matrix(a, i)
        T = T.applyfunc(lambda x: tidy(x, groups))
        name = f"{{}}^{{{first}}}A_{{{last}}}"
        whole.append(name)
        parts.append(Item(name if n > TOGETHER else "T", T))
    text = [a.rule("product")]
    if n > TOGETHER:
        text.append(a.say("product", "groups", product=rf"T = {SPACE.join(whole)}"))
    around = [r"A_{\mathrm{base}}"] * (not is_nothing(a.model.base)) + ["T"]
    around += [r"A_{\mathrm{tool}}"] * (not is_nothing(a.model.tool))
    if len(around) > 1 and a.model.tip == n - 1:
        text.append(a.say("product", "whole", product=SPACE.join(around)))
    off = notation.number(float(f"{largest_difference(a.made, a.size):.1g}"))
    size = f"${notation.number(a.size)}$"
    check = {"count": POSITIONS, "difference": f"${off}$", "size": size}
    text.append(a.say("product", "check", **check))
    text.append(a.say("product", "meaning"))
    rows = [rf"{{}}^{{{i}}}A_{{{i + 1}}}" for i in range(n)]
    formula = f"T = {{}}^{{0}}A_{{{n}}} = " + SPACE.join(rows)
    return StepContent(tuple(text), formulas=(formula,), items=tuple(parts))


def meaning(a: Account) -> StepContent:
    """Step 16 of sixteen: position and orientation at q = 0."""
    T = compose(inverse(a.made.frames[0]), a.made.frames[-1])
    rows = tuple(tuple(without_rounding(x, max(a.size, 1.0)) for x in row) for row in matrix(T))
    return StepContent((a.rule("meaning"),), items=(Item("T(0)", None, rows),))


def largest_difference(made: Construction, size: float, seed: int = 0) -> float:
    """Distance of the product of the matrices from the joints moved about their lines.

    Lengths count by the size of the arm; sliding joints move by up to that size.
    """
    draw, largest = random.Random(seed), 0.0
    for _ in range(POSITIONS):
        x = [draw.uniform(-3.0, 3.0) for _ in made.lines]
        x = [
            v * size / 3.0 if y.kind == "prismatic" else v
            for v, y in zip(x, made.axes, strict=True)
        ]
        one, two = about_lines(made, x), by_matrices(made, x)
        for i, (row, other) in enumerate(zip(matrix(one), matrix(two), strict=True)):
            gaps = [abs(p - q) for p, q in zip(row, other, strict=True)]
            largest = max(largest, *gaps[:3], gaps[3] / size if i < 3 else 0.0)
    return largest


def about_lines(made: Construction, x: list[float]) -> Frame:
    """The tool with every joint moved about (along) its line as given: no DH frame is used."""
    T = Frame()
    for line, value in zip(made.axes, x, strict=True):
        T = compose(T, _screw(line, value))
    return compose(T, made.tip)


def _screw(line: Axis, value: float) -> Frame:
    there = Frame(rotation_z_to(line.direction), line.point)
    moved = about_z(value) if line.kind == "revolute" else translation(z=value)
    return compose(compose(there, moved), inverse(there))


def by_matrices(made: Construction, x: list[float]) -> Frame:
    """The tool by the rows of the table."""
    T = made.chain.base
    for row, value in zip(made.chain.rows, x, strict=True):
        T = compose(T, row_frame(_at(row, value), made.convention))
    return compose(T, made.chain.tool)


def _at(row: Link, value: float) -> Link:
    return replace(row, offset=row.offset + value)  # type: ignore[operator]


DERIVING: dict[str, Callable[[Account], StepContent]] = {
    "theta": theta, "d": d, "a": a_lengths, "alpha": alpha,
    "matrices": matrices, "product": product, "meaning": meaning,
}  # fmt: skip
