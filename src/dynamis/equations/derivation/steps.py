"""Derivations step by step, as the textbooks teach them, in the user's own frames.

Every step runs the algorithms of `dynamis.dynamics` (or their own building blocks) over exact
polynomials and, if a state is given, over floats; the last step compares the torques with
`inverse_dynamics`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from ...arguments import checked
from ...compile.arrays import numbers
from ...dynamics.equation import inverse_dynamics
from ...errors import OptionError, ShapeError, did_you_mean
from ...lazy import cached_property
from ...model.chain import chain
from ...model.closure import TREE_EQUATIONS, refuse_closures
from ...model.model import Model
from ...spatial.functions import MATH
from ..closed import by_letters, one_sided, parallel
from ..render import html, text
from ..render.formula import plain
from ..scalars.polynomial import Alphabet, Polynomial, TooLongError
from ..scalars.scalars import coordinates, symbolic_chain
from ..scalars.simplify import readable
from .energies import gibbs_steps, lagrange_steps
from .newton_euler import newton_steps
from .setting import Draft, Setting, numeric, symbolic
from .springs import (
    FORMULAS,
    LOAD_FORMULAS,
    LOAD_TEXT,
    LOAD_TITLE,
    TEXT,
    TITLE,
    TOTAL,
    TOTAL_TEXT,
    bare,
    load_terms,
    spring_terms,
    value_at,
)

LONGEST = 150  # terms of one entry that are still printed
LONG = 12  # terms from which on a sum is ordered by velocities and accelerations
TOO_LONG = "For this arm the results are too long to print; with q, qd and qdd there are numbers."
METHODS: dict[str, Callable[[Setting], Iterator[Draft]]] = {
    "lagrange-euler": lagrange_steps,
    "newton-euler": newton_steps,
    "gibbs-appell": gibbs_steps,
}


@dataclass(frozen=True)
class Item:
    """One equation: name (LaTeX) = expression = value."""

    name: str
    expression: Any = None  # SymPy expression or matrix; None: see note
    value: Any = None  # number, or rows of numbers
    same: str | None = None  # the name of an item equal to it by symmetry
    note: str = ""

    @property
    def is_zero(self) -> bool:
        """Whether it is known to vanish at every state."""
        return self.expression is not None and not any(_entries(self.expression))


@dataclass(frozen=True)
class Step:
    """One step: what is done, the general formulas (LaTeX), and what comes out."""

    number: int
    title: str
    text: str
    formulas: tuple[str, ...] = ()
    items: tuple[Item, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()  # header and rows


class State(NamedTuple):
    """Joint positions, velocities and accelerations."""

    q: tuple[float, ...]
    qd: tuple[float, ...]
    qdd: tuple[float, ...]


@dataclass(frozen=True)
class Derivation:
    """All steps of one formulation for one robot."""

    model: Model
    method: str
    steps: tuple[Step, ...]
    state: State | None = None

    @cached_property
    def items(self) -> dict[str, Item]:
        """Every item by its plain name, such as U21, d12, wd3, tau1."""
        return {plain(item.name): item for step in self.steps for item in step.items}

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, name: str) -> Item:
        found = self.items.get(plain(name))
        if found is None:
            raise OptionError(
                f"no equation is called {name!r}", did_you_mean(plain(name), self.items)
            )
        return found

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """The derivation as plain text."""
        return text.text(self)

    def markdown(self) -> str:
        """The derivation as Markdown with LaTeX formulas."""
        return text.markdown(self)

    def latex(self) -> str:
        """The derivation as the body of a LaTeX document."""
        return text.latex(self)

    @checked
    def html(self, path: str | Path) -> None:
        """Write one HTML page that needs nothing else."""
        html.write_page(self, path)

    def _repr_html_(self) -> str:
        return html.fragment(self)


def derivation(model: Any, method: str = "lagrange-euler", state: Any = None) -> Derivation:
    """The steps of a formulation; `state` is (q, qd, qdd) for numbers beside the symbols."""
    model = getattr(model, "model", model)
    refuse_closures(model.closures, "a derivation", TREE_EQUATIONS)
    if method not in METHODS:
        raise OptionError(
            f"no derivation is written for method {method!r}", did_you_mean(method, METHODS)
        )
    if model.own_laws:
        own = ", ".join(model.own_laws)
        raise OptionError(
            f"robot {model.name!r} has {own}, for which no derivation is written",
            "robot.equations() has them in .tau; or derive the robot without them",
        )
    given = None if state is None else _checked(model, state)
    arm = bare(model)
    drafts, written, done = _symbolic_drafts(arm, method)
    numbers = [] if given is None else list(METHODS[method](numeric(arm, *given)))
    whole = numbers or (drafts if done else _outline(arm, method, drafts))
    steps = [
        _step(k + 1, draft, written(drafts[k : k + 1]), _values(numbers[k : k + 1]))
        for k, draft in enumerate(whole)
    ]
    if model.springs:
        steps += _spring_steps(model, steps[-1], given)
    if model.rubs_under_load:
        steps.append(_load_step(model, steps[-1], given))
    check = _check_step(model, method, given, len(steps) + 1)
    return Derivation(model, method, (*steps, *check), given)


def _spring_steps(model: Model, last: Step, state: State | None) -> list[Step]:
    """What the springs add to the torques of the last step."""
    terms = spring_terms(model)

    def value(expression: Any) -> Any:
        return None if state is None else terms.value(expression, state)

    items = tuple(Item(name, x, value(x)) for name, x in terms.items)
    totals = []
    before = [item for item in last.items if item.name.startswith(r"\tau")]
    for item, more in zip(before, terms.torque, strict=True):
        whole = None if item.expression is None else item.expression + more
        number = None if item.value is None else item.value + value(more)
        totals.append(Item(item.name, whole, number, note=item.note))
    formula = (r"\tau = \tau_{\mathrm{arm}} + \tau_{\mathrm{s}}",)
    return [
        Step(last.number + 1, TITLE, TEXT, FORMULAS, items),
        Step(last.number + 2, TOTAL, TOTAL_TEXT, formula, tuple(totals)),
    ]


def _load_step(model: Model, last: Step, state: State | None) -> Step:
    """What friction under load adds to the torques of the last step."""
    before = [item for item in last.items if item.name.startswith(r"\tau")]
    items = []
    for i, (item, (share, rubs)) in enumerate(zip(before, load_terms(model), strict=True), 1):
        T = None if item.expression is None else one_sided(item.expression - rubs)
        letter = sp.Symbol(f"T{i}", real=True)
        whole = None if T is None else letter + rubs + share * sp.Abs(letter)
        s = number = total = None
        if state is not None:
            s, f = (value_at(model, x, state) for x in (share, rubs))
            number = item.value - f
            total = item.value + s * abs(number)
        items += [Item(f"s_{{{i}}}", share, s), Item(f"T_{{{i}}}", T, number, note=item.note)]
        items.append(Item(item.name, whole, total, note=item.note))
    return Step(last.number + 1, LOAD_TITLE, LOAD_TEXT, LOAD_FORMULAS, tuple(items))


Written = Callable[[Sequence[Draft]], dict[str, Any]]


def _symbolic_drafts(model: Model, method: str) -> tuple[list[Draft], Written, bool]:
    """As many steps as there is time for, how their results are written, and whether it is all."""
    setting, letters = symbolic(model)
    drafts, done = list[Draft](), False
    with suppress(TooLongError):
        drafts.extend(METHODS[method](setting))  # one by one: what is done stays
        done = True
    return drafts, _writer(model, letters), done


def _outline(model: Model, method: str, drafts: list[Draft]) -> list[Draft]:
    """The steps that were done, and what the others say in general."""
    if any(name not in model.values for name in model.symbols):
        return drafts
    rest = list(METHODS[method](numeric(model, *_some_state(model))))[len(drafts) :]
    return [*drafts, *(d._replace(text=f"{d.text} {TOO_LONG}".strip(), items=()) for d in rest)]


def _writer(model: Model, letters: Alphabet) -> Written:
    """How results are written: as SymPy expressions by name, None if too long to print."""
    rates = [x for row in coordinates(model.n)[1:] for x in row]
    groups = parallel(symbolic_chain(model))

    def expression(p: Polynomial, by_rates: bool) -> sp.Expr | None:
        """Short, a long sum by velocities and accelerations."""
        if len(p) > LONGEST:
            return None
        if not by_rates and len(p) < LONG:
            return readable(p, groups)
        parts = by_letters(p, {letters.letter(rate): k for k, rate in enumerate(rates)})
        products = [(sp.Mul(*(rates[k] for k in chosen)), x) for chosen, x in parts.items()]
        return sp.Add(*(product * readable(x, groups) for product, x in products))

    def written(raw: Any, by_rates: bool) -> Any:
        if not isinstance(raw, (tuple, list)):
            return expression(letters.of(raw), by_rates)
        rows = [row if isinstance(row, (tuple, list)) else (row,) for row in raw]
        entries = [[written(x, by_rates) for x in row] for row in rows]
        too_long = any(x is None for row in entries for x in row)
        return None if too_long else sp.ImmutableMatrix(entries)

    def by_name(drafts: Sequence[Draft]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for raw in (raw for draft in drafts for raw in draft.items):
            if raw.same is not None and raw.same in found:
                found[raw.name] = found[raw.same]
            else:
                found[raw.name] = written(raw.value, raw.name.startswith(r"\tau"))
        return found

    return by_name


def _values(numbers: Sequence[Draft]) -> dict[str, Any]:
    return {raw.name: raw.value for draft in numbers for raw in draft.items}


def _step(number: int, draft: Draft, expressions: dict, values: dict) -> Step:
    items = []
    for raw in draft.items:
        expression = expressions.get(raw.name)
        note = "" if expression is not None else "too long to print"
        items.append(Item(raw.name, expression, values.get(raw.name), raw.same, note))
    return Step(number, draft.title, draft.text, draft.formulas, tuple(items), draft.table)


def _check_step(model: Model, method: str, state: State | None, number: int) -> list[Step]:
    """The torques of the steps next to those of `inverse_dynamics`, where there are numbers."""
    if any(name not in model.values for name in model.symbols):
        return []
    at = state or _some_state(model)
    *_, last = METHODS[method](numeric(bare(model), *at))
    own = [raw.value for raw in last.items if raw.name.startswith(r"\tau")]
    if model.springs:
        terms = spring_terms(model)
        held = [terms.value(x, at) for x in terms.torque]
        own = [a + b for a, b in zip(own, held, strict=True)]
    if model.rubs_under_load:
        shares = [[value_at(model, x, at) for x in pair] for pair in load_terms(model)]
        own = [a + s * abs(a - f) for a, (s, f) in zip(own, shares, strict=True)]
    tau = inverse_dynamics(chain(model), *at, fn=MATH)
    worst = max(abs(a - b) for a, b in zip(own, tau, strict=True))
    rows = ", ".join(f"{name} = {_row(row)}" for name, row in at._asdict().items())
    where = "at the state above" if state else f"at {rows}"
    text = (
        f"The torques of these steps, evaluated {where}, next to those that inverse_dynamics "
        f"computes by the recursion in joint frames: the largest difference is {worst:.1g}."
    )
    pairs = enumerate(zip(own, tau, strict=True))
    lines = [(f"{k + 1}", f"{a:.10g}", f"{b:.10g}") for k, (a, b) in pairs]
    table = (("joint", "these steps", "inverse_dynamics"), *lines)
    return [Step(number, "Check", text, table=table)]


def _some_state(model: Model) -> State:
    rows = [
        tuple(round(0.3 + step * k, 3) + 0.0 for k in range(model.n)) for step in (0.2, 0.15, -0.1)
    ]
    return State(*rows)


def _checked(model: Model, state: Any) -> State:
    if len(state) != 3:
        raise ShapeError(f"state has {len(state)} entries, expected (q, qd, qdd)")
    rows = []
    for name, row in zip(("q", "qd", "qdd"), state, strict=True):
        expected = f"expected {model.n}: {', '.join(model.joint_names)}"
        values = numbers(row, name, expected)
        if values.shape != (model.n,):
            raise ShapeError(f"{name} has {values.size} entries, {expected}")
        if not np.isfinite(values).all():
            raise ShapeError(f"{name} is {_row(values.tolist())}, expected finite numbers")
        rows.append(tuple(values.tolist()))
    return State(*rows)


def _row(values: Sequence[float]) -> str:
    return "(" + ", ".join(f"{x:g}" for x in values) + ")"


def _entries(expression: Any) -> Iterator[Any]:
    yield from expression.flat() if isinstance(expression, sp.MatrixBase) else (expression,)
