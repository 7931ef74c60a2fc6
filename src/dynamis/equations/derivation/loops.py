"""The closures of a mechanism, step by step, after the torques Gamma of its tree.

By Lagrange multipliers: M qdd + h = tau + J^T f, whose passive rows give the forces f of the
closures; or by projection: tau_i = Z^T dS/dqdd with qd = Z qd_i (Gibbs-Appell).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...dynamics import equation
from ...model.chain import Mobility, chain
from ...model.closure import CLOSURE_COLUMNS, closure_texts
from ...model.model import Model
from ...spatial.vectors import Scalars, unit
from ..loops import (
    CRAMER,
    LoopBlock,
    Names,
    System,
    as_it_is,
    blocks,
    conditions,
    less,
    nothing,
    product,
)
from ..render.math import symbol_latex
from ..scalars.polynomial import Alphabet, TooLongError
from .setting import Raw, Setting, StepDraft, index, numbered

EXPLICIT = 60_000  # products of terms that looking for short conditions may take
LONGEST = 60  # terms of a condition, or of an entry of J or its bias, that need no intermediates
FEW = 3  # joints that follow, up to which short sums are written out instead of named
MULTIPLIERS, PROJECTION, BOTH = "multipliers", "projection", "both"
TORQUES = ("Torques of the drives", "Torques of the independent joints")


@dataclass(frozen=True)
class Structure:
    """What a derivation over floats takes over from that over symbols."""

    parts: tuple[LoopBlock, ...]  # of the system of the dependent joints
    named: tuple[bool, bool]  # whether J, and its bias, are written with intermediates
    shared: tuple[LoopBlock, ...] = ()  # of the system that shares the load among too many drives


def structure(s: Setting, letters: Alphabet) -> Structure:
    """Which joints follow from which conditions, over symbols."""
    budget, letters.budget = letters.budget, min(letters.budget, EXPLICIT)
    q, qd, _ = s.state
    try:
        found = conditions(s.chain, q, qd, s.fn)
        rows = [(x for row in found.J for x in row), found.bias]
        named = tuple(any(len(letters.of(x)) > LONGEST for x in row) for row in rows)
    except TooLongError:
        found, named = None, (True, True)
    letters.budget = budget
    J = (found or conditions(s.chain, q, qd, s.fn, s.once)).J
    dependent = _mobility(s).dependent
    parts = blocks([[not nothing(row[k]) for k in dependent] for row in J])
    size = tuple(range(len(_mobility(s).independent)))
    return Structure(parts, named, (LoopBlock(size, size),))  # type: ignore[arg-type]


def is_short(known: Structure) -> bool:
    """Whether few joints follow, one or two at a time: short sums are then written out."""
    sizes = [len(part.rows) for part in known.parts]
    return sum(sizes) <= FEW and max(sizes) <= 2


def _mobility(s: Setting) -> Mobility:
    found = s.chain.mobility
    assert found is not None
    return found


def loop_steps(s: Setting, torques: Scalars, way: str, known: Structure) -> Iterator[StepDraft]:
    """Conditions, J, its rates, passive joints, forces and torques, accelerations."""
    loop = _Loop(s, torques, known)
    yield from loop.kinematics()
    yield from loop.torques(way)
    yield loop.accelerations()


TABLE = (
    "The tree becomes the mechanism by its closures. Each holds components of the way d from the "
    "origin of its first frame to that of the second, in the axes of the first, and products of "
    "their axes. "
)
IMPLIED = (
    "Conditions that follow from the others are left out: they hold by themselves, and their "
    "forces are not determined. "
)


class _Loop:
    """The closures at one state, over the scalars of a setting."""

    def __init__(self, s: Setting, torques: Scalars, known: Structure):
        self.s, self.known, self.mobility = s, known, _mobility(s)
        self.Gamma = torques
        self.independent, self.dependent = self.mobility.independent, self.mobility.dependent
        self.joints = range(s.chain.n)
        self.few = is_short(known)
        self.short = s.compact if self.few else s.named  # what needs no name of its own
        self.free = {first: _free(s.model, first, second) for first, second in LETTERS.items()}
        q, qd, _ = s.state
        ways = [conditions(s.chain, q, qd, s.fn, s.once) if any(known.named) else None]
        ways.insert(0, None if all(known.named) else conditions(s.chain, q, qd, s.fn))
        first, second = (ways[which] for which in known.named)
        assert first is not None and second is not None
        self.phi, self.J_raw, self.bias = first.phi, first.J, second.bias
        self.made = (ways[1] or first).made

    def _letters(self, letter: str, values: Sequence[Any]) -> list[Any]:
        """Values to go on with by name, numbered from 1."""
        name = self.free[letter]
        return [
            0.0 if nothing(x) else self.s.letter(f"{name}{k}", x) for k, x in enumerate(values, 1)
        ]

    def _numbered(self, letter: str, values: Sequence[Any]) -> list[Raw]:
        return [Raw(symbol_latex(f"{self.free[letter]}{k}"), x) for k, x in enumerate(values, 1)]

    # -- what the closures say ------------------------------------------------------------------

    def kinematics(self) -> Iterator[StepDraft]:
        """phi, J, Jd qd and how the dependent joints follow."""
        yield self._closures()
        yield self._jacobian()
        yield self._rates()
        yield self._following()

    def _closures(self) -> StepDraft:
        model, kept = self.s.model, self.mobility.rows
        said = TABLE + (IMPLIED if len(kept) < len(model.closure_rows) else "")
        said += "Conditions: " + ", ".join(
            f"{k}: {model.closure_rows[r]}" for k, r in enumerate(kept, 1)
        )
        table = (CLOSURE_COLUMNS, *closure_texts(model))
        formulas, items = (r"\phi\left(q\right) = 0",), []
        said += "."
        if self.known.named[0]:
            said += f" They are written with {PLACES}."
            items = self._intermediates(True)
        items += numbered(r"\phi", self.phi)
        return StepDraft("Closures", said, formulas, items, table)

    def _intermediates(self, places: bool) -> list[Raw]:
        """Vectors and matrices whose entries have names: places and axes, or how they move."""
        return [
            Raw(_whole(name), v)
            for name, v in self.made
            if self._has_entries(name) and (name.rstrip("0123456789") in AT_REST) == places
        ]

    def _jacobian(self) -> StepDraft:
        text = (
            "The conditions hold at all times, so their rates vanish. Joints of the path to the "
            "first frame move it against the second, with a minus sign; where the loops are closed "
            "both origins are one point, which is used here."
        )
        formulas = (r"\dot{\phi} = J \, \dot{q} = 0", r"J = \frac{\partial \phi}{\partial q}")
        raw = self.J_raw
        self.J = self._by_entry("J", raw)
        return StepDraft(
            "Jacobian of the conditions", text, formulas, self._entries("J", raw, self.J)
        )

    def _by_entry(self, letter: str, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """A matrix to go on with: long entries by name."""
        return [
            [0.0 if nothing(x) else self.short(_entry(letter, r, k), x) for k, x in enumerate(row)]
            for r, row in enumerate(rows)
        ]

    def _entries(self, letter: str, raw: Sequence[Sequence[Any]], rows: Any) -> list[Raw]:
        """The matrix as it goes on, and what its entries with names of their own are."""
        items = [Raw(letter, _filled(rows))]
        for r, row in enumerate(raw):
            for k, x in enumerate(row):
                if rows is not raw and not nothing(x) and self.s.listed(_entry(letter, r, k)):
                    items.append(Raw(symbol_latex(_entry(letter, r, k)), x))
        return items

    def _rates(self) -> StepDraft:
        text = "The second derivatives vanish too: accelerations and products of velocities."
        formulas = (
            r"\ddot{\phi} = J \, \ddot{q} + b = 0",
            r"b = \dot{J} \, \dot{q}",
        )
        items = []
        if self.known.named[1]:
            text += (
                " The products of velocities are what the second derivatives are without "
                "accelerations of the joints; they follow link by link from the angular velocities "
                "and accelerations of the links and the accelerations of the origins, all in the "
                "reference frame."
            )
            text += "" if self.known.named[0] else f" They are written with {PLACES}."
            formulas = (*formulas, *MOVING)
            items = self._intermediates(False)
            if not self.known.named[0]:
                items = [*self._intermediates(True), *items]
        items += self._numbered("b", self.bias)
        self.b = self._letters("b", self.bias)
        return StepDraft("Accelerations of the conditions", text, formulas, items)

    def _has_entries(self, name: str) -> bool:
        entries = [f"{i + 1}{j + 1}" for i in range(3) for j in range(3)]
        return any(self.s.listed(f"{name}.{x}") for x in (*"xyz", *entries))

    def _following(self) -> StepDraft:
        names = Names(self.s.divisor, self.s.named, as_it_is if self.few else self.s.named)
        own = [[row[k] for k in self.dependent] for row in self.J]
        self.system = System(own, self.known.parts, names)
        columns: list[list[Any]] = []
        for j, k in enumerate(self.independent):
            right = [0.0 if nothing(row[k]) else -row[k] for row in self.J]
            label = lambda c, j=j: _entry("Z", self.dependent[c], j)  # noqa: E731
            solved = self.system.solve(right, label, f"Z{j + 1},")
            columns.append(self._merged(unit(j, len(self.independent)), solved))
        right = [0.0 if nothing(x) else -x for x in self.b]
        own_name = self.free["gamma"]
        gamma = self.system.solve(right, lambda c: f"{own_name}{self.dependent[c] + 1}", "g")
        raw = [list(row) for row in zip(*columns, strict=True)]
        shown = raw if self.few else self._by_entry("Z", raw)
        items = [*self._made(), *self._entries("Z", raw, shown)]
        self.Z = [
            [0.0 if nothing(x) else self.s.letter(_entry("Z", k, j), x) for j, x in enumerate(row)]
            for k, row in enumerate(raw)
        ]
        pairs = zip(self.dependent, gamma, strict=True)
        items += [Raw(symbol_latex(f"{own_name}{k + 1}"), x) for k, x in pairs]
        return StepDraft("Joints that follow", self._solved_text(), FOLLOWING, items)

    def _solved_text(self) -> str:
        names = self.s.model.joint_names
        parts = []
        for part in self.known.parts:
            rows = ", ".join(str(r + 1) for r in part.rows)
            own = ", ".join(names[self.dependent[c]] for c in part.columns)
            parts.append(
                f"{own} from {'condition' if len(part.rows) == 1 else 'conditions'} {rows}"
            )
        text = (
            f"The joints {', '.join(names[k] for k in self.independent)} decide (i), the others "
            f"follow (d), in this order: {'; '.join(parts)}. "
        )
        sizes = [len(part.rows) for part in self.known.parts]
        if any(1 < size <= CRAMER for size in sizes):
            text += "Several at once by Cramer's rule, with the determinants Delta"
            text += " and the cofactors K. " if any(2 < x <= CRAMER for x in sizes) else ". "
        if max(sizes) > CRAMER:
            text += (
                "Large systems B x = b by G = B B^T = L D L^T (L has ones on its diagonal): "
                "L y = b, x = B^T L^-T D^-1 y. "
            )
        return (
            text + "Rates of all joints are Z times those that decide; their accelerations too, "
            "and gamma more."
        )

    def _made(self) -> list[Raw]:
        """What the system has named since it was asked last."""
        found = [Raw(symbol_latex(k), x) for k, x in self.system.made if self.s.listed(k)]
        self.system.made.clear()
        return found

    def _merged(self, independent: Sequence[Any], dependent: Sequence[Any]) -> list[Any]:
        found: list[Any] = [0.0] * len(self.joints)
        for places, values in ((self.independent, independent), (self.dependent, dependent)):
            for k, value in zip(places, values, strict=True):
                found[k] = value
        return found

    # -- forces and torques ---------------------------------------------------------------------

    def torques(self, way: str) -> Iterator[StepDraft]:
        """Forces of the closures (by multipliers) and torques of the drives."""
        active = self.s.chain.driven
        if set(active) == set(self.independent):
            yield from self._multiplied() if way != PROJECTION else ()
            yield from [self._projected(way)] if way != MULTIPLIERS else ()
        elif set(self.independent) <= set(active):
            yield self._shared()
            yield self._forces(active, OVER_FORCES)
        else:
            yield self._undriven()

    def _multiplied(self) -> Iterator[StepDraft]:
        yield self._forces((), FORCES)
        tau = self._merged(
            [
                less(self.Gamma[k], product([row[k] for row in self.J], self.f))
                for k in self.independent
            ],
            [0.0] * len(self.dependent),
        )
        text = (
            "The rows of the drives, with the forces that are now known; passive joints have none."
        )
        formulas = (r"\tau_{i} = \Gamma_{i} - J_{i}^{T} \, f", r"\tau_{d} = 0")
        yield StepDraft(TORQUES[0], text, formulas, numbered(r"\tau", tau))

    def _forces(self, driven: Sequence[int], text: str) -> StepDraft:
        """f from the rows of the dependent joints."""
        right = [
            less(self.Gamma[k], self.tau[k]) if k in driven else self.Gamma[k]
            for k in self.dependent
        ]
        own = self.free["f"]
        f = self.system.solve_transposed(right, lambda r: f"{own}{r + 1}", "f")
        self.f = self._letters("f", f)
        last = (
            r"J_{d}^{T} \, f = \Gamma_{d} - \tau_{d}" if driven else r"J_{d}^{T} \, f = \Gamma_{d}"
        )
        formulas = (r"M \, \ddot{q} + h = \Gamma = \tau + J^{T} \, f", last)
        names = self.s.model.closure_rows
        held = ", ".join(f"{r + 1}: {names[k]}" for r, k in enumerate(self.mobility.rows))
        items = [*self._made(), *self._numbered("f", f)]
        return StepDraft("Forces of the closures", f"{text} Rows: {held}.", formulas, items)

    def _projected(self, way: str) -> StepDraft:
        tau = self._merged(self._lowered(), [0.0] * len(self.dependent))
        text = (
            "The accelerations of the independent joints are the free ones; the others follow by "
            "Z, so the derivatives of the acceleration energy S add up by Z. The forces of the "
            "closures do no work along these motions and do not appear."
        )
        formulas = (
            r"\Gamma_{k} = \frac{\partial S}{\partial \ddot{q}_{k}}",
            r"\tau_{i} = \frac{\partial S}{\partial \ddot{q}_{i}} + Z_{d}^{T} \, "
            r"\frac{\partial S}{\partial \ddot{q}_{d}} = Z^{T} \, \Gamma",
        )
        title = TORQUES[0] if way == PROJECTION else "Reduced form"
        return StepDraft(title, text, formulas, numbered(r"\tau", tau))

    def _lowered(self) -> list[Any]:
        """Z^T Gamma"""
        return [product(column, self.Gamma) for column in zip(*self.Z, strict=True)]

    def _shared(self) -> StepDraft:
        """The least squares of the torques that do what those of the independent joints would."""
        lowered, size = self._lowered(), range(len(self.independent))
        active = sorted(self.s.chain.driven)
        own = [self.Z[k] for k in active]
        N = [[product([z[i] for z in own], [z[j] for z in own]) for j in size] for i in size]
        Q = self._letters("Q", lowered)
        named = self._by_entry("N", N)
        names = Names(self.s.divisor, self.s.named)
        system = System(named, self.known.shared, names, first=len(self.known.parts) + 1)
        mu = system.solve(Q, lambda k: f"{self.free['mu']}{k + 1}", "m")
        letters = self._letters("mu", mu)
        self.tau = [product(self.Z[k], letters) if k in active else 0.0 for k in self.joints]
        text = (
            "There are more drives than degrees of freedom. Together they must do the work that "
            "torques Q of the independent joints alone would; of all torques that do, those with "
            "the least sum of squares. Z_a are the rows of Z of the drives."
        )
        formulas = (
            r"Q = Z^{T} \, \Gamma", r"N = Z_{a}^{T} \, Z_{a}", r"N \, \mu = Q",
            r"\tau_{a} = Z_{a} \, \mu",
        )  # fmt: skip
        made = [Raw(symbol_latex(k), x) for k, x in system.made if self.s.listed(k)]
        items = [
            *self._numbered("Q", lowered), *self._entries("N", N, named), *made,
            *self._numbered("mu", mu), *numbered(r"\tau", self.tau),
        ]  # fmt: skip
        return StepDraft(TORQUES[0], text, formulas, items)

    def _undriven(self) -> StepDraft:
        names = self.s.model.joint_names
        idle = [names[k] for k in self.independent if k not in self.s.chain.driven]
        text = (
            f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no drive, so that not every "
            "motion is possible: Q are the torques that the independent joints would need, and "
            "those without a drive must be zero."
        )
        formula = r"Q = Z^{T} \, \Gamma"
        items = [
            Raw(symbol_latex(f"{self.free['Q']}{k + 1}"), x)
            for k, x in zip(self.independent, self._lowered(), strict=True)
        ]
        return StepDraft(TORQUES[1], text, (formula,), items)

    # -- and back -------------------------------------------------------------------------------

    def accelerations(self) -> StepDraft:
        """The equation of motion of the independent joints."""
        raw = equation.mass_matrix(self.s.chain, self.s.state[0], self.s.fn)
        upper = [[x if j >= i else 0.0 for j, x in enumerate(row)] for i, row in enumerate(raw)]
        half = self._by_entry("M", upper)
        M = [[half[min(i, j)][max(i, j)] for j in self.joints] for i in self.joints]
        columns = list(zip(*self.Z, strict=True))
        products = [[product(row, z) for row in M] for z in columns]
        text = (
            "The other way round: torques give the accelerations of the independent joints by the "
            "mass matrix of the tree, M, seen by them. Without a choice of independent joints the "
            "forces of the closures come first."
        )
        formulas = (
            r"\bar{M} = Z^{T} \, M \, Z",
            r"\bar{M} \, \ddot{q}_{i} = \tau_{i} - Z^{T} \left(h + M \, \gamma\right)",
            r"\left(J \, M^{-1} \, J^{T}\right) f = -\left(J \, M^{-1} \left(\tau - h\right) + "
            r"b\right)",
            r"M \, \ddot{q} = \tau - h + J^{T} \, f",
        )
        items = self._entries("M", upper, M)
        for i, z in enumerate(columns):
            for j, Mz in enumerate(products):
                twin = rf"\bar{{M}}_{{{index(j + 1, i + 1)}}}" if i > j else None
                items.append(Raw(rf"\bar{{M}}_{{{index(i + 1, j + 1)}}}", product(z, Mz), twin))
        return StepDraft("Accelerations", text, formulas, items)


AT_REST = ("X", "Y", "P", "Q", "z", "o")
PLACES = (
    "the axes z and origins o of the joints, the origins P and Q of the first and second frame of "
    "each closure and the axes (columns) X and Y of these frames, all in the reference frame"
)
MOVING = (
    r"\Omega_{i} = \Omega_{i-1} + z_{i} \, \dot{q}_{i}",
    r"\alpha_{i} = \alpha_{i-1} + \Omega_{i-1} \times z_{i} \, \dot{q}_{i}",
    r"\ddot{o}_{i} = \ddot{o}_{i-1} + \alpha_{i-1} \times r_{i} + \Omega_{i-1} \times "
    r"\left(\Omega_{i-1} \times r_{i}\right), \quad r_{i} = o_{i} - o_{i-1}",
    r"\ddot{d} = \ddot{Q} - \ddot{P}",
)
FOLLOWING = (
    r"J_{d} \, \dot{q}_{d} + J_{i} \, \dot{q}_{i} = 0",
    r"\dot{q} = Z \, \dot{q}_{i}, \quad Z_{d} = -J_{d}^{-1} \, J_{i}",
    r"\ddot{q} = Z \, \ddot{q}_{i} + \gamma, \quad \gamma_{d} = -J_{d}^{-1} \, b",
)
FORCES = (
    "Each closure exerts a force (or moment) f on what it holds, by Lagrange's multipliers along "
    "the rows of J: the torques of the tree are those of the drives and what the closures "
    "contribute. The joints that follow have no drives: their rows give f."
)
OVER_FORCES = (
    "The rows of the joints that follow, with the torques of those that are driven, give f."
)


def undriven(model: Model) -> bool:
    """Whether some joint that decides others has no drive."""
    found = chain(model).mobility
    return found is not None and not set(found.independent) <= set(model.active)


def drive_torques(drafts: Iterable[StepDraft]) -> dict[int, Any]:
    """Torques of the drives, or of the independent joints, by joint."""
    items = [raw for draft in drafts if draft.title in TORQUES for raw in draft.items]
    found = {raw.name: raw.value for raw in items}
    letter = [x for x in found if x.startswith(r"\tau")] or list(found)
    return {int(name.partition("_{")[2].rstrip("}")) - 1: found[name] for name in letter}


LETTERS = {"b": "beta", "f": "lambda", "gamma": "epsilon", "Q": "Lambda", "mu": "nu"}


def _free(model: Model, first: str, second: str) -> str:
    """A letter that the model has no numbered symbol of."""
    taken = any(name.startswith(first) and name[len(first) :].isdigit() for name in model.symbols)
    return second if taken else first


def _entry(letter: str, row: int, column: int) -> str:
    """J2,3: its comma tells it from the model's own symbols."""
    return f"{letter}{row + 1},{column + 1}"


def _whole(name: str) -> str:
    """A vector or matrix whose entries are called name.x or name.11."""
    return symbol_latex(f"{name}.x").removesuffix("x}") + "}"


def _filled(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in rows)
