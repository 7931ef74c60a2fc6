"""Groupings of base parameters: by rules, verified by the rank of a regressor."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import OptionError
from ..ik.driven import assembly, random_motion
from ..lazy import installed
from ..model.chain import Chain
from ..model.conventions import CONVENTIONS
from ..model.model import NO_FORCES, Model
from ..model.parameters import parameter_names, parameter_places
from ..model.places import JOINT_NAMES, Place, joint_places, places
from ..model.quantity import Expression
from ..robot.closing import tree_of
from ..spatial.frames import compose
from ..spatial.inertia import NAMES, from_linear, linear, transformed, transformed_back

if TYPE_CHECKING:
    from ..robot import Robot

# Numerical rank and independent columns of a regressor stacked over random states.
#
# M. Gautier, Numerical calculation of the base inertial parameters of robots, 1991: columns are
# scaled to length one, so that the tolerance means the same for a mass and for an inertia.

SAMPLES = 200  # random states; every joint gives one row of each
TOLERANCE = 1e-9  # a singular value (or column) this small next to the largest is a rounding error
ENOUGH = 3  # rows of a closed mechanism's regressor for every column
CLEAR = 1e3  # singular values should lie this far from the tolerance, on either side
DECIMALS = 6  # of a number that was meant to be a short one


class Rank(NamedTuple):
    """A rank with its evidence: the singular values, relative to the largest, on both sides."""

    rank: int
    smallest_kept: float
    largest_dropped: float
    tolerance: float

    @property
    def is_clear(self) -> bool:
        """Whether nothing lies near the tolerance: a wide gap between kept and dropped."""
        kept = self.rank == 0 or self.smallest_kept > CLEAR * self.tolerance
        return kept and self.largest_dropped * CLEAR < self.tolerance

    def __str__(self) -> str:
        return (
            f"rank {self.rank}: singular values {self.smallest_kept:.1e} kept, "
            f"{self.largest_dropped:.1e} dropped, tolerance {self.tolerance:.1e}"
        )


def random_regressor(robot: "Robot", count: int = SAMPLES, seed: int = 1) -> np.ndarray:
    """Y at always the same random states, (count, n, p); every joint moves in each of them.

    Of a closed mechanism: in states that close, rows of the independent joints, (count, dof, p).
    """
    rng = np.random.default_rng(seed)
    chain = robot.chain
    if robot.model.closures:
        size = len(parameter_names(robot.model))
        states = random_motion(robot, max(count, ENOUGH * size // robot.dof), rng)
        tree = tree_of(robot)
        Y = tree._calls.interpreted("regressor", states._asdict())
        return _with_drives(robot, assembly(robot).lowered(states.q, Y))
    size = max((abs(x) for joint in chain.joints for x in joint.placement.p), default=0.0) or 1.0
    reach = [np.pi if kind == "revolute" else size for kind in robot.joint_kinds]
    q = rng.uniform(-1.0, 1.0, (count, robot.n)) * reach
    qd, qdd = rng.normal(size=(2, count, robot.n))
    return robot._calls.interpreted("regressor", {"q": q, "qd": qd, "qdd": qdd})


def _with_drives(robot: "Robot", Y: np.ndarray) -> np.ndarray:
    """Y without the columns of rotors that passive joints do not have."""
    links = robot.model.links
    rotors = [x.is_rotor and links[x.index].passive for x in parameter_places(robot.model)]
    return np.where(rotors, 0.0, Y)


def scaled(A: np.ndarray, tolerance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of unit length, and their lengths (1 for zero columns).

    Those not above the tolerance, next to the longest, are made exactly zero.
    """
    lengths = np.linalg.norm(A, axis=0)
    zero = lengths <= tolerance * lengths.max(initial=0.0)  # NaN is not: it must not pass unseen
    lengths = np.where(zero, 1.0, lengths)
    return np.where(zero, 0.0, A / lengths), lengths


def lstsq(A: np.ndarray, b: np.ndarray, rcond: float) -> np.ndarray:
    """The least x of min |A x - b|, columns of A at unit length; b (rows,) or (rows, k)."""
    unit, lengths = scaled(A)
    return (np.linalg.lstsq(unit, b, rcond=rcond)[0].T / lengths).T


def numeric_rank(A: np.ndarray, tolerance: float = TOLERANCE) -> Rank:
    """Number of independent columns of A: singular values above tolerance times the largest."""
    unit, _ = scaled(A, tolerance)
    s = np.linalg.svd(_triangle(unit), compute_uv=False)
    largest = s.max(initial=0.0)
    if largest == 0.0:
        return Rank(0, 0.0, 0.0, tolerance)
    s = s / largest
    rank = int((s > tolerance).sum())
    return Rank(rank, s[rank - 1], s[rank] if rank < s.size else 0.0, tolerance)


def null_space(A: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
    """Rows x that span A x = 0."""
    unit, lengths = scaled(A, tolerance)
    _, s, Vt = np.linalg.svd(_triangle(unit))
    rank = int((s > tolerance * s.max(initial=0.0)).sum())
    return Vt[rank:] / lengths


def independent_columns(A: np.ndarray, order: Sequence[int], tolerance: float) -> list[int]:
    """Columns of A kept, in the given order, if no combination of those kept before equals them."""
    unit, _ = scaled(A, tolerance)
    R = _triangle(unit)
    Q = np.empty((R.shape[0], 0))
    kept = []
    for j in order:
        rest = R[:, j]
        for _ in range(2):  # the second pass removes what rounding left of the first
            rest = rest - Q @ (Q.T @ rest)
        length = np.linalg.norm(rest)
        if length > tolerance:
            Q = np.column_stack([Q, rest / length])
            kept.append(j)
    return sorted(kept)


def combinations(A: np.ndarray, kept: Sequence[int], tolerance: float) -> np.ndarray:
    """B with A = A[:, kept] B: every column as a combination of the kept ones."""
    unit, lengths = scaled(A, tolerance)
    B, *_ = np.linalg.lstsq(unit[:, kept], unit, rcond=None)
    B = np.where(np.abs(B) > tolerance, B, 0.0)
    B = B * lengths / lengths[list(kept)][:, None]
    B[:, kept] = np.eye(len(kept))
    return short(B, tolerance)


def short(x: np.ndarray, tolerance: float) -> np.ndarray:
    """Numbers that are a short decimal up to rounding become it."""
    rounded = np.round(x, DECIMALS)
    near = np.abs(x - rounded) <= 1e-3 * tolerance * np.maximum(np.abs(x), 1.0)
    return np.where(near, rounded, x)


def _triangle(A: np.ndarray) -> np.ndarray:
    """R of A = Q R: as small as A is wide, with the same lengths and angles between columns."""
    return np.asarray(np.linalg.qr(A, mode="r"))


# The rules of regrouping: which parameters a link hands to the link that carries it.
#
# Joint i moves only what it carries. Let row i of the regressor, over the parameters x of link i
# and its joint, be Y_ii. A body with
#
#     N_i = { x : Y_ii(q, qd, qdd) x = 0 in every state }
#
# has an energy without q_i and qd_i: it might as well be welded to the link before. So the
# regressor cannot tell x on link i from T_i x there, and for chains and trees nothing else is lost:
#
#     rank Y = sum of rank Y_ii,     null space of Y = span { (x on link i, -T_i x on its parent) }
#
# A revolute joint always gives m, mcz and Ixx = Iyy, a prismatic one the six inertias (W. Khalil
# and J.-F. Kleinfinger 1987, M. Gautier and W. Khalil 1990); first joints, parallel axes and the
# direction of gravity give more. Customary in those papers and here: m, mc along the axis and Iyy
# go.

Vector = Sequence[Any]  # of one link: ten inertial, then five joint parameters
Form = dict[int, Any]  # a linear combination of the robot's parameters: index to coefficient

SIGNED = ("coulomb", "grotjahn")  # laws whose Coulomb friction has the sign of the velocity
BODY, JOINT = len(NAMES), len(JOINT_NAMES)
M, MC, SQUARES, PRODUCTS = (0,), (3, 2, 1), (6, 9, 4), (8, 7, 5)  # z before y; Iyy Izz Ixx
ROTOR, OFFSET = (BODY,), (BODY + 4,)
ALL = tuple(range(BODY + JOINT))
# what goes first, and how many: of the squares one (Iyy) before the products, so that one stays
CUSTOM = ((M, 1), (MC, 3), (ROTOR, 1), (SQUARES, 1), (PRODUCTS, 3), (SQUARES, 2), (ALL, 15))
NEAR = 0.49  # a customary choice is taken if its coefficient is this large next to the largest
RULE_ROUNDING = 1e-11  # an entry this small next to the largest of its vector is one


Step = tuple[int, int]  # one elimination: row of the null vector used, column it removes


class RegroupingRecipe(NamedTuple):
    """What regrouping needs to know of every link: N_i in its joint's frame, and the steps."""

    null: Sequence[Sequence[Vector]]
    steps: Sequence[Sequence[Step]]


def indices(c: Chain, i: int, inertial: bool = False) -> list[int]:
    """Where the parameters of link i and its joint stand in the robot's vector."""
    own = {*joint_places(i)} if not inertial else {}
    every = enumerate(places(c))
    return [k for k, x in every if x in own or (x.part, x.index) == ("bodies", i)]


def weldable(c: Chain, Y: np.ndarray, i: int, inertial: bool, tolerance: float) -> list[Vector]:
    """A basis of N_i in the joint's own frame, from the regressor's samples (count, n, p)."""
    block = Y[:, i, indices(c, i, inertial)]
    to_user = np.array([_to_user(c, i, unit) for unit in np.eye(BODY).tolist()]).T
    block[:, :BODY] = block[:, :BODY] @ to_user
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
            taken.append((row, column))
            left.remove(row)
            rows = eliminate(rows, taken[-1:])
    return taken


def _size(row: Vector, j: int) -> float:
    """|row_j|, or 0 if it is but the rounding error of the others."""
    return abs(row[j]) if abs(row[j]) > RULE_ROUNDING * max(map(abs, row)) else 0.0


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


def regroup(
    c: Chain,
    null: Sequence[Sequence[Vector]],
    taken: Sequence[Sequence[Step]] | None = None,
    tidy: Callable[[Any], Any] = lambda x: x,
) -> tuple[dict[int, Form], list[list[Step]]]:
    """Hand over from the tips to the base; `null` are the N_i in joint frames, `taken` the steps.

    Combinations by the index of the parameter that leads each, and the steps of every link.

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
    return {k: kept[k] for k in sorted(kept) if kept[k]}, done


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


ROUNDING = 1e-13  # a coefficient this small is one


class Groupings(NamedTuple):
    """Which parameters lead, what is grouped with each, and how that was found."""

    columns: tuple[int, ...]
    matrix: np.ndarray  # (rank, p)
    evidence: Rank
    method: str  # "rules"; "numeric" where joints are coupled; "disputed" where they disagree
    recipe: RegroupingRecipe | None = None

    def forms(self, model: Model) -> list[Form]:
        """The rows of the matrix by index, with the symbols that place the joints kept.

        Without SymPy their values stand in their place.
        """
        forms: list[Form] = [
            {j: row[j] for j in np.flatnonzero(row).tolist()} for row in self.matrix
        ]
        if self.recipe is not None and has_symbols(model) and installed("sympy"):
            from .symbolic import symbolic_forms

            first = len(parameter_names(replace(model, **NO_FORCES)))
            arm = tuple(j for j in self.columns if j < first)  # springs come last
            for k, form in enumerate(symbolic_forms(model, self.recipe, arm)):
                forms[k] = form | {j: x for j, x in forms[k].items() if j >= first}
        return forms


def groupings(
    robot: "Robot",
    Y: np.ndarray,
    size: int,
    tolerance: float,
    left_out: np.ndarray | None = None,
) -> Groupings:
    """Groupings of the first `size` parameters; Y are samples of the regressor, (count, n, p).

    Those of a closed mechanism are found by rules for its tree, by numbers for its loops;
    `left_out` (p,) are parameters that do not count there.

    Coupled joints (mimic joints, a gear matrix, full rotors) follow no rule: there, and should the
    rules ever miss the rank, the numbers alone group.
    """
    c, A = robot.chain, Y[..., :size].reshape(-1, size)
    evidence = numeric_rank(A, tolerance)
    if c.closures:
        return _closed(robot, A, evidence, left_out)
    if c.coupling is not None or any(motor.coupled for motor in c.motors):
        return _by_numbers(c, A, evidence)
    found = _by_rules(c, Y, size, evidence)
    if len(found.columns) == evidence.rank and _explains(found, A, tolerance):
        return found
    return _by_numbers(c, A, evidence)._replace(method="disputed")


def _closed(
    robot: "Robot", A: np.ndarray, evidence: Rank, left_out: np.ndarray | None
) -> Groupings:
    """Groupings of the tree, by its rules, and among them those that the closures make.

    Z^T Y sees parameters through Y alone: what the tree groups stays grouped. Which of its base
    parameters the loops do not tell apart depends on lengths: numbers alone say.
    """
    tree = tree_of(robot)
    size, tolerance = A.shape[1], evidence.tolerance
    Y = _with_drives(robot, random_regressor(tree))
    Y = Y if left_out is None else np.where(left_out, 0.0, Y)
    first = groupings(tree, Y, size, tolerance)
    own = A[:, list(first.columns)]
    driven = {i for i, x in enumerate(robot.model.links) if not x.passive}
    every = parameter_places(robot.model)

    def place(k: int) -> tuple[int, bool, int]:
        """Friction of drives before that of passive joints."""
        j = first.columns[k]
        at = every[j]
        passive = at.index not in driven and (at.is_rotor or at.is_friction)
        return _class(robot.chain, at), passive, k

    order = sorted(range(own.shape[1]), key=place)
    kept = independent_columns(own, order, tolerance)
    matrix = combinations(own, kept, tolerance) @ first.matrix
    columns = tuple(first.columns[k] for k in kept)
    found = Groupings(columns, matrix, evidence, "numeric")
    return found if _explains(found, A, tolerance) else found._replace(method="disputed")


def with_springs(found: Groupings, Y: np.ndarray, tolerance: float) -> Groupings:
    """Groupings of the arm and the springs, whose parameters come last.

    Each is a base parameter of its own unless a combination of others does the same, as the preload
    of a torsion spring does what the joint's offset does.
    """
    size, good = found.matrix.shape[1], np.isfinite(Y).all(axis=(1, 2))  # no gas left: NaN
    if good.sum() * Y.shape[1] < 2 * Y.shape[2]:
        raise OptionError(
            f"the springs act at {int(good.sum())} of {len(Y)} random positions only",
            "give cylinders a gas_length that lets the joints move",
        )
    A = Y[good].reshape(-1, Y.shape[-1])
    kept = independent_columns(A, [*found.columns, *range(size, A.shape[1])], tolerance)
    columns = (*found.columns, *(j for j in kept if j >= size))
    matrix = np.zeros((len(columns), A.shape[1]))
    matrix[: len(found.columns), :size] = found.matrix
    matrix[:, size:] = combinations(A, columns, tolerance)[:, size:]
    return found._replace(columns=columns, matrix=matrix, evidence=numeric_rank(A, tolerance))


def _by_rules(c: Chain, Y: np.ndarray, size: int, evidence: Rank) -> Groupings:
    inertial = size == BODY * c.links
    null = [weldable(c, Y, i, inertial, evidence.tolerance) for i in range(c.links)]
    forms, done = regroup(c, null)
    if not inertial:  # what comes after the joints' own parameters stands for itself
        among = {j for i in range(c.links) for j in indices(c, i)}
        forms |= {j: {j: 1} for j in range(size) if j not in among}
        _group_memory(c, forms)
    matrix = np.zeros((len(forms), size))
    for row, form in zip(matrix, forms.values(), strict=True):
        least = ROUNDING * max(1.0, *(abs(x) for x in form.values()))
        for j, x in form.items():
            row[j] = float(x) if abs(x) > least else 0.0
    return Groupings(tuple(forms), matrix, evidence, "rules", RegroupingRecipe(null, done))


def _group_memory(c: Chain, forms: dict[int, Form]) -> None:
    """Group the elements of friction with memory: without a motion in time they act as one.

    As Coulomb friction of both directions where that has the sign of the velocity too.
    """
    at = {place: j for j, place in enumerate(places(c))}
    for i, resistance in enumerate(c.resistances):
        elements = [at[Place("memory", i, k)] for k in range(len(resistance.memory))]
        leads = {elements[0]: 1} if elements else {}
        if resistance.law in SIGNED:
            plus, minus = (at[Place("resistances", i, side)] for side in ("plus", "minus"))
            leads = {plus: 1, minus: -1}
        for j in elements:
            if j not in leads:
                del forms[j]
                for lead, sign in leads.items():
                    forms[lead][j] = sign


def _by_numbers(c: Chain, A: np.ndarray, evidence: Rank) -> Groupings:
    every = places(c)
    # from the parameter to keep first to the one to keep last, base to tip in each class
    order = sorted(range(A.shape[1]), key=lambda j: (_class(c, every[j]), j))
    kept = independent_columns(A, order, evidence.tolerance)
    matrix = combinations(A, kept, evidence.tolerance)
    return Groupings(tuple(kept), matrix, evidence, "numeric")


def _explains(found: Groupings, A: np.ndarray, tolerance: float) -> bool:
    """Whether A = A[:, columns] matrix, next to the length of each column."""
    error = A - A[:, list(found.columns)] @ found.matrix
    _, lengths = scaled(A, tolerance)
    return bool((np.linalg.norm(error, axis=0) <= tolerance * lengths).all())


def has_symbols(model: Model) -> bool:
    """Whether symbols place the joints (those of masses and inertias do not matter here)."""
    fields = CONVENTIONS[model.convention].fields
    values = [getattr(link, name) for link in model.links for name in fields]
    flat = [x for v in values for x in (v if isinstance(v, tuple) else (v,))]
    return any(isinstance(x, Expression) for x in flat)


def _class(c: Chain, place: Place) -> int:
    """0 for what always stays, then rotors, Iyy, mc along the axis, m and offsets."""
    if place.part != "bodies":
        return 1 if place.is_rotor else 5 * (place.field == "offset")
    axis = [abs(x) for x in c.bodies[place.index].user.R[2]]  # the joint's z in the user's frame
    along = max((2, 1, 0), key=lambda a: axis[a])
    across = 9 if along == 1 else 6  # Izz if the axis is the user's y, else Iyy
    return {0: 4, 1 + along: 3, across: 2}.get(place.field, 0)
