"""The rules of regrouping: which parameters a link hands to the link that carries it.

Joint i moves only what it carries. Let row i of the regressor, over the parameters x of link i and
its joint, be Y_ii. A body with

    N_i = { x : Y_ii(q, qd, qdd) x = 0 in every state }

has an energy without q_i and qd_i: it might as well be welded to the link before. So the regressor
cannot tell x on link i from T_i x there, and for chains and trees nothing else is lost:

    rank Y = sum of rank Y_ii,     null space of Y = span { (x on link i, -T_i x on its parent) }

A revolute joint always gives m, mcz and Ixx = Iyy, a prismatic one the six inertias (W. Khalil and
J.-F. Kleinfinger 1987, M. Gautier and W. Khalil 1990); first joints, parallel axes and the
direction of gravity give more. Customary in those papers and here: m, mc along the axis and Iyy go.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..model.chain import Chain
from ..spatial.frames import compose
from ..spatial.inertia import from_linear, linear, transformed, transformed_back
from .numeric import null_space, short

Vector = Sequence[Any]  # of one link: ten inertial, then five joint parameters
Form = dict[int, Any]  # a linear combination of the robot's parameters: index to coefficient

BODY, JOINT = 10, 5
M, MC, SQUARES, PRODUCTS = (0,), (3, 2, 1), (6, 9, 4), (8, 7, 5)  # z before y; Iyy Izz Ixx
ROTOR, OFFSET = (BODY,), (BODY + 4,)
ALL = tuple(range(BODY + JOINT))
# what goes first, and how many: of the squares one (Iyy) before the products, so that one stays
CUSTOM = ((M, 1), (MC, 3), (ROTOR, 1), (SQUARES, 1), (PRODUCTS, 3), (SQUARES, 2), (ALL, 15))
NEAR = 0.49  # a customary choice is taken if its coefficient is this large next to the largest
ROUNDING = 1e-11  # an entry this small next to the largest of its vector is one


class Step(NamedTuple):
    """One elimination: the null vector used and the parameter it removes."""

    row: int
    column: int


class Recipe(NamedTuple):
    """What regrouping needs to know of every link: N_i in its joint's frame, and the steps."""

    null: Sequence[Sequence[Vector]]
    steps: Sequence[Sequence[Step]]


def indices(c: Chain, i: int, inertial: bool = False) -> list[int]:
    """Where the parameters of link i and its joint stand in the robot's vector."""
    own = range(BODY * i, BODY * (i + 1))
    start = BODY * c.links + JOINT * i
    return [*own, *(() if inertial else range(start, start + JOINT))]


def weldable(c: Chain, Y: np.ndarray, i: int, inertial: bool, tolerance: float) -> list[Vector]:
    """A basis of N_i in the joint's own frame, from the regressor's samples (count, n, p)."""
    block = Y[:, i, indices(c, i, inertial)]
    block[:, :BODY] = block[:, :BODY] @ _units(lambda x: _to_user(c, i, x))
    null = null_space(block, tolerance)
    reduced = eliminate(null.tolist(), steps(null.tolist(), first=False))
    return short(np.array(reduced).reshape(null.shape), tolerance).tolist()


def steps(vectors: Sequence[Vector], first: bool) -> list[Step]:
    """Which parameter each null vector removes, the customary ones first.

    On the first joint the rotor joins the link (`Izz1 + rotor_inertia1`); further out a mass joins
    the rotor, since it must leave for the link before.
    """
    rows, taken = [list(v) for v in vectors], list[Step]()
    left = set(range(len(rows)))
    for group, most in (OFFSET, 1), (ROTOR if first else (), 1), *CUSTOM:
        for _ in range(most):
            free = [j for j in group if left and j < len(rows[0])]
            sizes = {j: max(_size(rows[r], j) for r in left) for j in free}
            largest = max(sizes.values(), default=0.0)
            if largest == 0.0:
                break
            column = next(j for j in free if sizes[j] >= NEAR * largest)
            row = max(left, key=lambda r: abs(rows[r][column]))
            taken.append(Step(row, column))
            left.remove(row)
            rows = eliminate(rows, taken[-1:])
    return taken


def _size(row: Vector, j: int) -> float:
    """|row_j|, or 0 if it is but the rounding error of the others."""
    return abs(row[j]) if abs(row[j]) > ROUNDING * max(map(abs, row)) else 0.0


def eliminate(
    vectors: Sequence[Vector], taken: Sequence[Step], tidy: Callable[[Any], Any] = lambda x: x
) -> list[Vector]:
    """Gauss-Jordan: each step's vector has 1 in its column, all others 0."""
    rows: list[Vector] = [list(v) for v in vectors]
    for row, column in taken:
        pivot = rows[row][column]
        rows[row] = [tidy(x / pivot) for x in rows[row]]
        for k, other in enumerate(rows):
            factor = other[column]
            if k != row and factor != 0:
                pairs = zip(other, rows[row], strict=True)
                rows[k] = [tidy(x - factor * y) if y != 0 else x for x, y in pairs]
    return rows


class Regrouped(NamedTuple):
    """Combinations by the index of the parameter that leads each, and the steps of every link."""

    forms: Mapping[int, Form]
    steps: list[list[Step]]


def regroup(
    c: Chain,
    null: Sequence[Sequence[Vector]],
    taken: Sequence[Sequence[Step]] | None = None,
    tidy: Callable[[Any], Any] = lambda x: x,
) -> Regrouped:
    """Hand over from the tips to the base; `null` are the N_i in joint frames, `taken` the steps.

    With the null vectors z reduced so that z_e = 1 at the parameter e each removes,

        x_k <- x_k - z_k x_e,     x of the parent <- x of the parent + (T_i z) x_e
    """
    inertial = not any(len(v) > BODY for vectors in null for v in vectors)
    forms = [[{j: 1} for j in indices(c, i, inertial)] for i in range(c.links)]
    done: list[list[Step]] = [[] for _ in range(c.links)]
    for i in reversed(range(c.links)):
        parent = c.joints[i].parent
        own = [[*map(tidy, _to_user(c, i, v[:BODY])), *v[BODY:]] for v in null[i]]
        done[i] = steps(own, parent < 0) if taken is None else list(taken[i])
        reduced = eliminate(own, done[i], tidy)
        for row, column in done[i]:
            z, gone = reduced[row], forms[i][column]
            for k, weight in enumerate(z):
                if k != column:
                    _add(forms[i][k], gone, -weight, tidy)
            if parent >= 0:
                for k, weight in enumerate(_to_parent(c, i, z[:BODY])):
                    _add(forms[parent][k], gone, tidy(weight), tidy)
            forms[i][column] = {}
    kept = {indices(c, i, inertial)[k]: f for i, fs in enumerate(forms) for k, f in enumerate(fs)}
    return Regrouped({k: kept[k] for k in sorted(kept) if kept[k]}, done)


def _add(form: Form, other: Form, weight: Any, tidy: Callable[[Any], Any]) -> None:
    """form += weight * other"""
    if weight != 0:
        for j, x in other.items():
            form[j] = tidy(form.get(j, 0) + weight * x)


def _to_user(c: Chain, i: int, x: Vector) -> Vector:
    """Parameters in the joint's frame as parameters in the user's frame of link i."""
    return linear(transformed_back(c.bodies[i].user, from_linear(x)))


def _to_parent(c: Chain, i: int, x: Vector) -> Vector:
    """T_i: parameters of link i as those of its parent, both in the user's frames, at q_i = 0."""
    joint, body = c.joints[i], c.bodies[i]
    moved = transformed(compose(joint.placement, body.user), from_linear(x))
    return linear(transformed_back(c.bodies[joint.parent].user, moved))


def _units(function: Callable[[Vector], Vector]) -> np.ndarray:
    """The 10x10 matrix of a linear map of inertial parameters."""
    return np.array([function(unit) for unit in np.eye(BODY).tolist()]).T
