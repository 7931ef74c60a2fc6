"""Derivations step by step, as the textbooks teach them, in the user's own frames.

Every step runs the algorithms of `dynamis.dynamics` (or their own building blocks) over exact
polynomials and, if a state is given, over floats; the last step compares the torques with
`inverse_dynamics`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from ...arguments import checked, known_options, number, one_of, strict
from ...compile.arrays import numbers
from ...dynamics import projected
from ...dynamics.closed import mobility
from ...dynamics.elements.friction import without_load_friction
from ...dynamics.mobility import first_assembly
from ...errors import OptionError, ShapeError, SymbolError, counted, did_you_mean
from ...lazy import cached_property
from ...model.chain import chain
from ...model.model import Model
from ...progress import stage
from ...robot.calls import Calls
from ...robot.closing import refuse_open
from ...spatial.functions import MATH
from .. import elastic
from ..closed import by_letters, one_sided
from ..render import html, text
from ..render.formula import plain
from ..render.phrases import check_language, translated
from ..scalars.polynomial import Alphabet, Polynomial, TooLongError
from ..scalars.scalars import coordinates, symbolic_chain
from ..scalars.simplify import readable
from .energies import gibbs_steps, lagrange_steps
from .kane import kane_steps
from .loops import (
    MULTIPLIERS,
    PROJECTION,
    Structure,
    drive_torques,
    loop_steps,
    structure,
    undriven,
)
from .newton_euler import newton_steps
from .setting import Raw, Setting, StepDraft, numeric, symbolic, torque
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
METHODS: dict[str, Callable[[Setting], Iterator[StepDraft]]] = {
    "lagrange-euler": lagrange_steps,
    "newton-euler": newton_steps,
    "gibbs-appell": gibbs_steps,
    "kane": kane_steps,
}
WAYS = {  # from the torques of a tree to those of the drives
    "lagrange-euler": MULTIPLIERS, "newton-euler": MULTIPLIERS, "gibbs-appell": PROJECTION,
    "kane": MULTIPLIERS,
}  # fmt: skip
TORQUE = re.compile(r"^\\tau_\{\d+\}$")


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


class DerivationState(NamedTuple):
    """Joint positions, velocities and accelerations."""

    q: tuple[float, ...]
    qd: tuple[float, ...]
    qdd: tuple[float, ...]


@strict
@dataclass(frozen=True)
class Derivation:
    """All steps of one formulation for one robot."""

    model: Model
    method: str
    steps: tuple[Step, ...]
    state: DerivationState | None = None
    names: tuple[tuple[sp.Symbol, Any], ...] = ()  # what expressions use by name, in order
    language: str = "en"
    inputs: tuple[tuple[sp.Symbol, float], ...] = ()  # free letters, and their usual values

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

    @checked
    def evaluate(self, q: Any, qd: Any = None, qdd: Any = None, **values: float) -> dict[str, Any]:
        """Every expression as it is printed, at one state: numbers and arrays by plain name.

        What is left out is 0. Symbols take the model's values, unless given here by name; so do the
        letters that the steps leave free, such as forces in statics (0) and signs (1).
        """
        state = checked_state(
            self.model, [[0.0] * self.model.n if x is None else x for x in (q, qd, qdd)]
        )
        what = f"robot {self.model.name!r} has no symbol"
        free = {symbol.name: x for symbol, x in self.inputs}
        known_options(values, (*self.model.symbols, *free), what)
        own = {**self.model.values, **free, **{k: number(x, k) for k, x in values.items()}}
        missing = next((name for name in self.model.symbols if name not in own), None)
        if missing is not None:
            raise SymbolError(f"symbol {missing!r} has no value", f"evaluate(..., {missing}=1)")
        shapes, function = self._function
        given = (own[x] for x in (*self.model.symbols, *free))
        with np.errstate(invalid="ignore"):  # a root that is not real is NaN
            found = function(*(x for row in state for x in row), *given)
        result, place = {}, 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            entries = np.array(found[place : place + size], dtype=float).reshape(shape)
            result[name] = entries if shape else float(entries)
            place += size
        return result

    @cached_property
    def _function(self) -> tuple[dict[str, tuple[int, ...]], Callable[..., Any]]:
        """Shapes of all items that have an expression, and all their entries as a function."""
        shapes: dict[str, tuple[int, ...]] = {}
        entries: list[Any] = []
        for name, item in self.items.items():
            if item.expression is not None:
                matrix = isinstance(item.expression, sp.MatrixBase)
                shapes[name] = item.expression.shape if matrix else ()
                entries += _entries(item.expression)
        symbols = [x for row in coordinates(self.model.n) for x in row]
        symbols += [sp.Symbol(name, real=True) for name in self.model.symbols]
        symbols += [symbol for symbol, _ in self.inputs]
        own = {
            symbol: sp.Symbol(f"name{k}_", real=True) for k, (symbol, _) in enumerate(self.names)
        }
        steps = [(own[symbol], sp.sympify(x).xreplace(own)) for symbol, x in self.names]
        entries = [sp.sympify(x).xreplace(own) for x in entries]
        shared: Any = lambda _: (steps, entries)  # noqa: E731
        return shapes, sp.lambdify(symbols, entries, "numpy", cse=shared)

    @checked
    def translated(self, language: str) -> "Derivation":
        """These steps with their texts in "es" (of arms; closed loops are in English only)."""
        check_language(self.model, language)
        return self if language == self.language else translated(self, language)

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
    """The steps of a formulation; `state` is (q, qd, qdd) for numbers beside the symbols.

    Of a mechanism with closures: those of its tree, then Lagrange multipliers, or the projected
    form of Gibbs-Appell.
    """
    model = getattr(model, "model", model)
    one_of(method, METHODS, f"no derivation is written for method {method!r}")
    if model.own_laws:
        own = ", ".join(model.own_laws)
        raise OptionError(
            f"robot {model.name!r} has {own}, for which no derivation is written",
            "robot.equations() has them in .tau; or derive the robot without them",
        )
    if model.closures:
        mobility(chain(model))  # refuses what cannot be computed
    given = None if state is None else checked_state(model, state)
    with stage(f"deriving the equations of {model.name} by {method}"):
        return _derived(model, method, given)


def _derived(model: Model, method: str, given: DerivationState | None) -> Derivation:
    arm = bare(model)
    tree = DerivationPart(arm, METHODS[method], given, symbolic(arm))
    steps, names, known = tree.steps(1), tree.names, None
    if model.springs:
        steps += _spring_steps(model, steps[-1], given)
        names += [(letter, sp.sympify(x)) for letter, x in spring_terms(model).letters]
    if model.closures:
        names += _torque_names(model, tree)
        loops, known = loop_part(model, method, given)
        steps += loops.steps(len(steps) + 1)
        names += loops.names
    if model.rubs_under_load and (driven := _torque_step(steps)) is not None:
        steps.append(_load_step(model, driven, given, len(steps) + 1))
        names += [(sp.Symbol(plain(x.name), real=True), x.expression) for x in steps[-1].items]
    if model.elastic_count and not model.closures:
        forms = elastic.elastic_forms(model, symbolic_chain(model))
        formulas = elastic.formulas(forms, model.rubs_under_load)
        steps.append(Step(len(steps) + 1, elastic.TITLE, elastic.TEXT, formulas))
    check = _check_step(model, method, given, len(steps) + 1, known)
    return Derivation(model, method, (*steps, *check), given, tuple(names))


class DerivationPart:
    """Steps that run over symbols, as far as there is time, and over floats where a state is."""

    def __init__(
        self, model: Model, steps: Callable[[Setting], Iterator[StepDraft]],
        given: DerivationState | None, setting: tuple[Setting, Alphabet],
    ):  # fmt: skip
        self.setting, self.letters = setting
        self.drafts, done = list[StepDraft](), False
        with suppress(TooLongError):
            self.drafts.extend(steps(self.setting))  # one by one: what is done stays
            done = True
        listed = {"listed": self.setting.listed} if done else {}
        self.numbers = [] if given is None else list(steps(numeric(model, *given, **listed)))
        self.whole = self.numbers or self.drafts
        if not self.numbers and not done and has_values(model):
            rest = list(steps(numeric(model, *some_state(model))))[len(self.drafts) :]
            more = (d._replace(text=f"{d.text} {TOO_LONG}".strip(), items=()) for d in rest)
            self.whole = [*self.drafts, *more]
        self.written = _writer(self.setting, self.letters)

    def steps(self, first: int) -> list[Step]:
        """The steps, numbered from `first`."""
        return [
            _step(first + k, draft, self.written(self.drafts[k : k + 1]),
                  _values(self.numbers[k : k + 1]))
            for k, draft in enumerate(self.whole)
        ]  # fmt: skip

    @property
    def names(self) -> list[tuple[sp.Symbol, Any]]:
        """What got a name, and what it stands for, in order."""
        found = self.setting.definitions
        return [(sp.Symbol(name, real=True), p.expression()) for name, p in found.items()]


def has_values(model: Model) -> bool:
    """True if every symbol has a value."""
    return all(name in model.values for name in model.symbols)


def _torque_names(model: Model, tree: DerivationPart) -> list[tuple[sp.Symbol, Any]]:
    """Gamma1, ... of the tree, with springs."""
    found = [tree.letters.of(raw.value).expression() for raw in _torques(tree.drafts, model)]
    if model.springs:
        found = [a + b for a, b in zip(found, spring_terms(model).torque, strict=True)]
    return [(sp.Symbol(f"Gamma{k}", real=True), x) for k, x in enumerate(found, 1)]


def _torques(drafts: Sequence[StepDraft], model: Model) -> list[Raw]:
    """The torques of the last step."""
    items = drafts[-1].items if drafts else ()
    return [raw for raw in items if raw.name.startswith(torque(model))]


def _torque_step(steps: Sequence[Step]) -> Step | None:
    """The last step with torques of the drives."""
    found = [step for step in steps if any(TORQUE.match(item.name) for item in step.items)]
    return found[-1] if found else None


def loop_part(
    model: Model, method: str, given: DerivationState | None, way: str | None = None
) -> tuple[DerivationPart, Structure]:
    """The closures, after the torques of the tree."""
    arm = bare(model)
    setting, letters = symbolic(arm, by_links=False)
    symbols = [sp.Symbol(f"Gamma{k + 1}", real=True) for k in range(model.n)]
    Gamma, known = [letters.of(x) for x in symbols], structure(setting, letters)
    numbers = None if given is None else _tree_numbers(model, method, given)

    def steps(s: Setting) -> Iterator[StepDraft]:
        own = Gamma if s is setting else numbers or [0.0] * model.n
        return loop_steps(s, own, way or WAYS[method], known)

    return DerivationPart(arm, steps, given, (setting, letters)), known


def _tree_numbers(model: Model, method: str, at: "DerivationState") -> list[float]:
    """Torques of the joints of the tree at a state, with springs."""
    *_, last = METHODS[method](numeric(bare(model), *at))
    own = [raw.value for raw in _torques([last], model)]
    if not model.springs:
        return own
    terms = spring_terms(model)
    held = [terms.value(x, at) for x in terms.torque]
    return [a + b for a, b in zip(own, held, strict=True)]


def _spring_steps(model: Model, last: Step, state: DerivationState | None) -> list[Step]:
    """What the springs add to the torques of the last step."""
    terms = spring_terms(model)

    def value(expression: Any) -> Any:
        return None if state is None else terms.value(expression, state)

    items = tuple(Item(name, x, value(x)) for name, x in terms.items)
    totals, letter = [], torque(model)
    before = [item for item in last.items if item.name.startswith(letter)]
    for item, more in zip(before, terms.torque, strict=True):
        whole = None if item.expression is None else item.expression + more
        number = None if item.value is None else item.value + value(more)
        totals.append(Item(item.name, whole, number, note=item.note))
    formula = (rf"{letter} = {letter}_{{\mathrm{{arm}}}} + \tau_{{\mathrm{{s}}}}",)
    return [
        Step(last.number + 1, TITLE, TEXT, FORMULAS, items),
        Step(last.number + 2, TOTAL, TOTAL_TEXT, formula, tuple(totals)),
    ]


def _load_step(model: Model, last: Step, state: DerivationState | None, number: int) -> Step:
    """What friction under load adds to the torques of a step: of the drives, with closures."""
    before = [item for item in last.items if TORQUE.match(item.name)]
    items = []
    for i, (item, (share, rubs)) in enumerate(zip(before, load_terms(model), strict=True), 1):
        if i - 1 not in model.active:
            continue
        T = None if item.expression is None else one_sided(item.expression - rubs)
        letter = sp.Symbol(f"T{i}", real=True)
        whole = None if T is None else letter + rubs + share * sp.Abs(letter)
        s = value = total = None
        if state is not None:
            s, f = (value_at(model, x, state) for x in (share, rubs))
            value = item.value - f
            total = item.value + s * abs(value)
        items += [Item(f"s_{{{i}}}", share, s), Item(f"T_{{{i}}}", T, value, note=item.note)]
        items.append(Item(item.name, whole, total, note=item.note))
    return Step(number, LOAD_TITLE, LOAD_TEXT, LOAD_FORMULAS, tuple(items))


Written = Callable[[Sequence[StepDraft]], dict[str, Any]]


def _writer(setting: Setting, letters: Alphabet) -> Written:
    """How results are written: as SymPy expressions by name, None if too long to print."""
    model, groups = setting.model, setting.groups
    rates = [x for row in coordinates(model.n)[1:] for x in row]
    below = _products(letters, setting.divisors, groups)

    def expression(p: Polynomial, by_rates: bool) -> sp.Expr | None:
        """Short, a long sum by velocities and accelerations."""
        if len(p) > LONGEST:
            return None
        for letter, (whole, product) in below.items():
            most = max((-power for m in p.terms for k, power in m if k == letter), default=0)
            if most > 0:
                return _fraction(_cleared(p, letter, whole, most), product, most)
        for letter in sorted({k for m in p.terms for k, power in m if power < 0} - {*below}):
            least = {-dict(m).get(letter, 0) for m in p.terms}
            if len(least) == 1 and (power := least.pop()) > 0:  # all of it is divided by it
                above = expression(_cleared(p, letter, p, power), by_rates)
                return None if above is None else above / letters.letters[letter] ** power
        return gathered(p, by_rates)

    def _fraction(p: Polynomial, product: sp.Expr, times: int) -> sp.Expr | None:
        """p over a product, as one fraction or term by term, whichever is shorter."""
        above = expression(p, False)
        if above is None:
            return None
        apart = sp.Add(*(x / product**times for x in sp.Add.make_args(sp.expand_mul(above))))
        return min((above / product**times, apart), key=sp.count_ops)

    def gathered(p: Polynomial, by_rates: bool) -> sp.Expr:
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

    def by_name(drafts: Sequence[StepDraft]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for raw in (raw for draft in drafts for raw in draft.items):
            if raw.same is not None and raw.same in found:
                found[raw.name] = found[raw.same]
            else:
                found[raw.name] = written(raw.value, raw.name.startswith(torque(model)))
        return found

    return by_name


def _products(
    letters: Alphabet, divisors: Mapping[str, Polynomial], groups: Mapping[Any, int]
) -> dict[int, tuple[Polynomial, sp.Expr]]:
    """Divisors that are one product once angles are summed: they are written out."""
    found = {}
    for name, whole in divisors.items():
        product = readable(whole, groups) if len(whole) <= LONGEST else sp.Add()
        bases = [x.as_base_exp()[0] for x in sp.Mul.make_args(product)]
        if product != 0 and not any(isinstance(x, sp.Add) for x in bases):
            found[letters.letter(sp.Symbol(name, real=True))] = whole, product
    return found


def _cleared(p: Polynomial, letter: int, whole: Polynomial, times: int) -> Polynomial:
    """p times a letter to a power, with `whole` for what is left of the letter."""
    total = p.alphabet.of(0)
    for monomial, factor in p.terms.items():
        power = times + sum(n for k, n in monomial if k == letter)
        rest = tuple(item for item in monomial if item[0] != letter)
        total = total + Polynomial(p.alphabet, {rest: factor}) * whole**power
    return total


def _values(numbers: Sequence[StepDraft]) -> dict[str, Any]:
    return {raw.name: raw.value for draft in numbers for raw in draft.items}


def _step(number: int, draft: StepDraft, expressions: dict, values: dict) -> Step:
    items = []
    for raw in draft.items:
        expression = expressions.get(raw.name)
        note = "" if expression is not None else "too long to print"
        items.append(Item(raw.name, expression, values.get(raw.name), raw.same, note))
    return Step(number, draft.title, draft.text, draft.formulas, tuple(items), draft.table)


def _check_step(
    model: Model, method: str, state: DerivationState | None, number: int, known: Structure | None
) -> list[Step]:
    """The torques of the steps next to those of `inverse_dynamics`, where there are numbers."""
    if not has_values(model):
        return []
    at = state or some_state(model)
    own = dict(enumerate(_tree_numbers(model, method, at)))
    if known is not None:
        drafts = loop_steps(numeric(bare(model), *at), [*own.values()], WAYS[method], known)
        own = drive_torques(drafts)
    if model.rubs_under_load and not undriven(model):
        pairs = load_terms(model)
        for k in model.active:
            s, f = (value_at(model, x, at) for x in pairs[k])
            own[k] += s * abs(own[k] - f)
    function, tau = _computed(model, at)
    joints, own = [*own], [*own.values()]
    worst = max(abs(a - b) for a, b in zip(own, tau, strict=True))
    rows = ", ".join(f"{name} = {row_text(row)}" for name, row in at._asdict().items())
    where = "at the state above" if state else f"at {rows}"
    text = (
        f"The torques of these steps, evaluated {where}, next to those that {function} "
        f"computes by the recursion in joint frames: the largest difference is {worst:.1g}."
    )
    lines = [
        (f"{k + 1}", f"{a:.10g}", f"{b:.10g}") for k, a, b in zip(joints, own, tau, strict=True)
    ]
    table = (("joint", "these steps", function), *lines)
    return [Step(number, "Check", text, table=table)]


def _computed(model: Model, at: DerivationState) -> tuple[str, Sequence[float]]:
    """The function that computes the torques, and what it gives."""
    c = chain(model)
    if undriven(model):
        rates = [[x[k] for k in mobility(c).independent] for x in at[1:]]
        plain_chain = without_load_friction(c)
        found = projected.generalised_torque(plain_chain, at.q, *rates, fn=MATH)
        return "generalised_torque", found
    return "inverse_dynamics", projected.inverse_dynamics(c, *at, fn=MATH)


def some_state(model: Model) -> DerivationState:
    """A state to compare numbers at, of a mechanism one that closes."""
    steps = (0.2, 0.15, -0.1)
    rows = [tuple(round(0.3 + step * k, 3) + 0.0 for k in range(model.n)) for step in steps]
    if not model.closures:
        return DerivationState(*rows)
    c, q = chain(model), first_assembly(model)
    (_, v, a), free = rows, len(mobility(c).independent)
    qd = projected.joint_rates(c, q, v[:free], MATH)
    return DerivationState(
        tuple(q), tuple(qd), tuple(projected.joint_accelerations(c, q, qd, a[:free], MATH))
    )


def checked_state(model: Model, state: Any, closed: bool = True) -> DerivationState:
    """One state of a robot, of a mechanism one that closes."""
    if len(state) != 3:
        raise ShapeError(f"state has {counted(len(state), 'entry')}, expected (q, qd, qdd)")
    rows = []
    for name, row in zip(("q", "qd", "qdd"), state, strict=True):
        expected = f"expected {model.n}: {', '.join(model.joint_names)}"
        values = numbers(row, name, expected)
        if values.shape != (model.n,):
            raise ShapeError(f"{name} has {counted(values.size, 'entry')}, {expected}")
        if not np.isfinite(values).all():
            raise ShapeError(f"{name} is {row_text(values.tolist())}, expected finite numbers")
        rows.append(tuple(values.tolist()))
    if model.closures and closed:
        refuse_open(Calls(model), dict(zip(("q", "qd", "qdd"), rows, strict=True)))
    return DerivationState(*rows)


def row_text(values: Sequence[float]) -> str:
    """(0.3, 0.5)"""
    return "(" + ", ".join(f"{x:g}" for x in values) + ")"


def _entries(expression: Any) -> Iterator[Any]:
    yield from expression.flat() if isinstance(expression, sp.MatrixBase) else (expression,)
