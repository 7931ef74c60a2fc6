"""Derivations step by step, as the textbooks teach them, in the user's own frames.

Every step runs the algorithms of `dynamis.dynamics` (or their own building blocks) over exact
polynomials and, if a state is given, over floats; the last step compares the torques with
`inverse_dynamics`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ...model.model import Model
from ...spatial.functions import MATH
from ..closed import by_letters, parallel
from ..render.formula import plain
from ..scalars.polynomial import Alphabet, Polynomial, TooLongError
from ..scalars.scalars import coordinates, symbolic_chain
from ..scalars.simplify import readable
from .energies import gibbs_steps, lagrange_steps
from .newton_euler import newton_steps
from .setting import Draft, Raw, Setting, numeric, symbolic

# how the results of a derivation are written: short, and long sums by velocities

LONGEST = 150  # terms of one entry that are still printed
LONG = 12  # terms from which on a sum is ordered by velocities and accelerations


@dataclass(frozen=True)
class Writing:
    """What the writer must know of the letters."""

    groups: Mapping[Any, int]  # angle -> number of its set of parallel axes
    rates: tuple[sp.Symbol, ...]  # velocities and accelerations

    def expression(self, p: Polynomial, by_rates: bool = False) -> sp.Expr | None:
        """The polynomial as a SymPy expression; None if it is too long to print."""
        if len(p) > LONGEST:
            return None
        if not by_rates and len(p) < LONG:
            return readable(p, self.groups)
        numbers = {p.alphabet.letter(rate): k for k, rate in enumerate(self.rates)}
        parts = []
        for chosen, factor in by_letters(p, numbers).items():
            product = sp.Mul(*(self.rates[k] for k in chosen))
            parts.append(product * readable(factor, self.groups))
        return sp.Add(*parts)


def writing(model: Any) -> Writing:
    """How a model's equations are written."""
    _, qd, qdd = coordinates(model.n)
    return Writing(parallel(symbolic_chain(model)), (*qd, *qdd))


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
        from ..render.text import text

        return text(self)

    def markdown(self) -> str:
        """The derivation as Markdown with LaTeX formulas."""
        from ..render.text import markdown

        return markdown(self)

    def latex(self) -> str:
        """The derivation as the body of a LaTeX document."""
        from ..render.text import latex

        return latex(self)

    @checked
    def html(self, path: str | Path) -> None:
        """Write one HTML page that needs nothing else."""
        from ..render.html import write_page

        write_page(self, path)

    def _repr_html_(self) -> str:
        from ..render.html import fragment

        return fragment(self)


def derivation(model: Any, method: str = "lagrange-euler", state: Any = None) -> Derivation:
    """The steps of a formulation; `state` is (q, qd, qdd) for numbers beside the symbols."""
    model = getattr(model, "model", model)
    if method not in METHODS:
        raise OptionError(
            f"no derivation is written for method {method!r}", did_you_mean(method, METHODS)
        )
    given = None if state is None else _checked(model, state)
    drafts, form, done = _symbolic_drafts(model, method)
    numbers = [] if given is None else list(METHODS[method](numeric(model, *given)))
    whole = numbers or (drafts if done else _outline(model, method, drafts))
    steps = [
        _step(k + 1, draft, _expressions(drafts, k, form), _values(numbers, k))
        for k, draft in enumerate(whole)
    ]
    check = _check_step(model, method, given, len(steps) + 1)
    return Derivation(model, method, (*steps, *check), given)


def _symbolic_drafts(model: Model, method: str) -> tuple[list[Draft], Callable, bool]:
    """As many steps as there is time for, how their results are written, and whether it is all."""
    setting, letters = symbolic(model)
    style, done = writing(model), False
    drafts: list[Draft] = []
    with suppress(TooLongError):
        drafts.extend(METHODS[method](setting))  # one by one: what is done stays
        done = True

    def form(raw: Raw) -> Any:
        return _written(raw.value, letters, style, raw.name.startswith(r"\tau"))

    return drafts, form, done


def _outline(model: Model, method: str, drafts: list[Draft]) -> list[Draft]:
    """The steps that were done, and what the others say in general."""
    if any(name not in model.values for name in model.symbols):
        return drafts
    rest = list(METHODS[method](numeric(model, *_some_state(model))))[len(drafts) :]
    return [*drafts, *(d._replace(text=f"{d.text} {TOO_LONG}".strip(), items=()) for d in rest)]


def _written(raw: Any, letters: Alphabet, style: Writing, by_rates: bool) -> Any:
    """Polynomials as a SymPy expression or matrix; None if an entry is too long to print."""
    if not isinstance(raw, (tuple, list)):
        return style.expression(letters.of(raw), by_rates)
    rows = [row if isinstance(row, (tuple, list)) else (row,) for row in raw]
    entries = [[_written(x, letters, style, by_rates) for x in row] for row in rows]
    if any(x is None for row in entries for x in row):
        return None
    return sp.ImmutableMatrix(entries)


def _expressions(drafts: Sequence[Draft], k: int, form: Callable[[Raw], Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for raw in drafts[k].items if k < len(drafts) else ():
        found[raw.name] = found[raw.same] if raw.same in found else form(raw)
    return found


def _values(numbers: Sequence[Draft], k: int) -> dict[str, Any]:
    return {raw.name: raw.value for raw in numbers[k].items} if numbers else {}


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
    setting = numeric(model, *at)
    *_, last = METHODS[method](setting)
    own = [raw.value for raw in last.items if raw.name.startswith(r"\tau")]
    tau = inverse_dynamics(setting.chain, *at, fn=MATH)
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
