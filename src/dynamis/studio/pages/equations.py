"""The Equations page: closed forms, derivations, operation counts and base parameters.

A derivation may take minutes and does not release the interpreter: a process of its own answers a
`Question` and is ended after a time limit, or when the tab is closed.
"""

import json
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import sympy as sp

from ... import templates
from ...arguments import choice
from ...equations.render import math
from ...equations.render.formula import mathml
from ...equations.render.html import fragment, page
from ...equations.render.text import signed
from ...errors import DynamisError, OptionError
from ...model.formats.files import model_from_toml, toml_text
from ...robot import Robot
from ...tables import html_table
from ..server.jobs import Job
from ..server.session import Session, show
from .chart import stem

# equations as HTML fragments: MathML that breaks between terms, to fit a narrow column

LONG = 50  # characters of LaTeX from which on a term may break inside
LONGEST = 400_000  # characters of a fragment: longer ones are downloaded
COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix",
           "gravity_torque", "fk", "jacobian")  # fmt: skip
MATRICES = (
    ("M", "Mass matrix"), ("C", "Coriolis matrix"), ("g", "Gravity"), ("friction", "Friction")
)  # fmt: skip
NOTE = "Here c1 is cos(q1), and s12 is sin(q1 + q2)."
TWO = ("M", "C")  # quantities with two indices


def closed(equations: Any) -> str:
    """tau, M, C, g and friction in closed form, zeros left out; of a mechanism its closures too."""
    if equations.model.closures:
        return _mechanism(equations)
    if not equations.is_closed:
        raise OptionError(
            f"the equations of {equations.robot_name!r} are too long to write out",
            "choose one entry, or the counts",
        )
    torques = [(_named("tau", i), x) for i, x in enumerate(equations.tau)]
    matrices = [(title, _entries(name, getattr(equations, name))) for name, title in MATRICES]
    energies = [("T", equations.kinetic_energy), ("U", equations.potential_energy)]
    parts = []
    for title, found in (("Torques", torques), *matrices, ("Energies", energies)):
        rows = [row(left, math.terms(x)) for left, x in found]
        parts += [f"<h4>{title}</h4>", *rows] if rows else []
    return _fragment([*parts, f"<p>{NOTE}</p>"])


def _mechanism(equations: Any) -> str:
    """Torques of the tree, conditions of the closures, and what they give, long sums by name."""
    parts = []
    for title, found in equations.written():
        rows = []
        for left, x in found:
            if not isinstance(x, sp.MatrixBase):
                rows.append(row(left, math.terms(x)))
                continue
            named = [(f"{left}_{{{i + 1},{j + 1}}}", e) for i, j, e in math.entries(x)]
            rows += [row(name, math.terms(e)) for name, e in named if name != math.latex(e)]
        parts += [f"<h4>{title}</h4>", *rows]
    return _fragment([*parts, f"<p>{NOTE}</p>"])


def counts(robot: Robot) -> str:
    """Operations of the compiled kernels, and the base parameters."""
    rows: list[Sequence[str]] = []
    drives = {"jacobian": "drive_jacobian"} if robot.model.closures else {}
    for name in (drives.get(name, name) for name in COUNTED):
        try:
            cost = robot.cost(name)
        except DynamisError as error:
            rows.append((name, "", "", "", error.message))
            continue
        rows.append((name, *(str(x) for x in (cost.mul, cost.add, cost.div, cost.trig))))
    head = ("function", "mul", "add", "div", "trig")
    parts = ["<h4>Operations of one call</h4>", html_table([head, *rows])]
    try:
        base = robot.base_parameters()
    except DynamisError as error:
        parts.append(f"<p>{escape(str(error))}</p>")
        return _fragment(parts)
    values = [f"{x:.5g}" for x in base.values]
    parts.append(f"<h4>{base.rank} base parameters of {len(robot.parameters.names)}</h4>")
    parts.append(html_table([("grouping", "value"), *zip(base.names, values, strict=True)]))
    return _fragment(parts)


def row(left: str, terms: Iterable[Any]) -> str:
    """One equation; every term is a formula of its own, so that lines can break between them."""
    found = [_broken(term) for term in terms]
    heads = _spaced([parts[0] for parts in found])
    parts = [p for one, head in zip(found, heads, strict=True) for p in (head, *one[1:])]
    inside = " ".join(f"<math>{mathml(p)}</math>" for p in (f"{left} =", *parts))
    return f'<div class="row">{inside}</div>'


def _broken(term: Any) -> list[str]:
    """A term in LaTeX; a long product with a sum is split at the signs of its terms."""
    whole = math.latex(term)
    sums = [x for x in term.args if isinstance(x, sp.Add)] if isinstance(term, sp.Mul) else []
    if len(whole) <= LONG or len(sums) != 1:
        return [whole]
    factor = sp.Mul(*(x for x in term.args if x is not sums[0]))
    before = "-" if factor == -1 else math.latex(factor)
    first, *inner = _spaced([math.latex(x) for x in math.terms(sums[0])])
    *inner, last = [f"({first}", *inner]
    return [before, *inner, f"{last} )"]


def _spaced(terms: list[str]) -> list[str]:
    """Terms of a sum with their signs, set apart from the second one on."""
    first, *rest = signed(terms)
    return [first, *(f"{part[0]} \\; {part[1:]}" for part in rest)]


def _entries(name: str, matrix: Any) -> Iterable[tuple[str, Any]]:
    for i, j, entry in math.entries(matrix):
        yield _named(name, *((i, j) if matrix.cols > 1 else (i,))), entry


def _named(name: str, *indices: int) -> str:
    gap = "" if all(k < 9 for k in indices) else ","
    below = gap.join(str(k + 1) for k in indices)
    if name == "friction":
        return rf"\tau_{{\mathrm{{f}},{below}}}"
    return rf"\tau_{{{below}}}" if name == "tau" else f"{name}_{{{below}}}"


def _fragment(parts: Sequence[str]) -> str:
    style = templates.text(__package__, "formulas.css")
    text = f'<style>\n{style}</style><div class="dy-eq">{"".join(parts)}</div>'
    if len(text) > LONGEST:
        raise OptionError(
            f"the result has {len(text) // 1000} thousand characters, too many to show",
            "choose one entry, or download the derivation",
        )
    return text


PATIENCE = 60.0  # s


@dataclass(frozen=True)
class Question:
    """What to derive: `show` as SHOWN has it; `entry` is a quantity, `i`, `j` count from 0."""

    robot: str  # TOML
    show: str
    method: str = "lagrange-euler"
    entry: str = "M"
    i: int = 0
    j: int = 0
    page: bool = False  # a page instead of a fragment

    @classmethod
    def of(cls, robot: Robot, show: str, **options: Any) -> "Question":
        """The question for a robot."""
        if robot.model.own_laws:  # code, which the other process does not have
            raise OptionError(
                f"robot {robot.name!r} has {', '.join(robot.model.own_laws)}: its equations are "
                "not shown here",
                "use robot.equations()",
            )
        return cls(toml_text(robot.model), show, **options)


def asked(question: Question, gone: threading.Event, patience: float = PATIENCE) -> str:
    """The answer, from another process; ends with `gone`, or when patience does."""
    paths = [str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])]
    words = [sys.executable, "-P", "-c", f"from {__name__} import answer; answer()"]
    given: str | None = json.dumps(asdict(question))
    text, end = "", time.monotonic() + patience
    settings = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"}
    pipe, env = subprocess.PIPE, os.environ | settings
    with subprocess.Popen(
        words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, encoding="utf-8", env=env
    ) as process:
        try:
            while process.returncode is None:
                if gone.is_set():
                    raise OptionError("the tab was closed")
                if time.monotonic() > end:
                    raise OptionError(
                        f"it takes longer than {patience:g} s",
                        "choose one entry, or derive it with robot.equations()",
                    )
                with suppress(subprocess.TimeoutExpired):
                    text, _ = process.communicate(given, timeout=0.05)
                given = None  # it was sent
        finally:
            process.kill()
    if process.returncode != 0:
        raise OptionError("the derivation failed", "choose one entry instead")
    found = json.loads(text)
    if "error" in found:
        raise OptionError(found["error"], found["hint"])
    return found["html"]


def answered(question: Question) -> str:
    """The answer, computed in this process."""
    robot = Robot(model_from_toml(question.robot, "the robot"))
    if question.show == "counts":
        return counts(robot)
    choice(question.show, "show", SHOWN.values())
    found = robot.equations(question.method)
    if question.show == "derivation":
        return page(found.steps) if question.page else _fragment([fragment(found.steps)])
    if question.show == "entry":
        name, i, j = question.entry, question.i, question.j
        place = (i, j) if name in TWO else (i,)
        one = sp.sympify(found.term(name, *place))
        return _fragment([row(_named(name, *place), math.terms(one))])
    return closed(found)


def answer() -> None:
    """Read a question from stdin, write its answer to stdout: the process of its own."""
    warnings.simplefilter("ignore")
    try:
        found = {"html": answered(Question(**json.load(sys.stdin)))}
    except DynamisError as error:
        found = {"error": error.message, "hint": error.hint}
    json.dump(found, sys.stdout)


METHODS = ("lagrange-euler", "newton-euler", "gibbs-appell", "kane")
SHOWN = {
    "Equations": "equations",
    "Derivation, step by step": "derivation",
    "One entry": "entry",
    "Counts and base parameters": "counts",
}
QUANTITIES = ("M", "C", "g", "tau")
SHORT = 3  # joints up to which all equations are shown by default


class EquationsPanel:
    """What to show, by which method, and the formulas."""

    def __init__(self, session: Session):
        self.session = session
        gui = session.client.gui
        self.show = gui.add_dropdown("Show", tuple(SHOWN), initial_value=self._usual())
        self.method = gui.add_dropdown("Method", METHODS)
        self.quantity = gui.add_dropdown("Quantity", QUANTITIES)
        self.row = gui.add_dropdown("Row", self._numbers())
        self.column = gui.add_dropdown("Column", self._numbers())
        self.button = gui.add_button("Derive")
        self.page = gui.add_button("Download the derivation (.html)")
        self.job = Job(session, gui.add_markdown("", visible=False))
        self.formulas = gui.add_html("", visible=False)
        self.button.on_click(lambda _: self._derive())
        self.page.on_click(lambda _: self._download())
        for field in (self.show, self.quantity):
            field.on_update(lambda _: self._suit())
        session.remember(
            "equations", show=self.show, method=self.method, quantity=self.quantity, row=self.row,
            column=self.column,
        )  # fmt: skip
        session.on_robot(self._replaced)
        self._suit()

    def _usual(self) -> str:
        few = self.session.robot.n <= SHORT
        return "Equations" if few else "Counts and base parameters"

    def _numbers(self) -> tuple[str, ...]:
        return tuple(str(i + 1) for i in range(self.session.robot.dof))

    def _suit(self) -> None:
        one = self.show.value == "One entry"
        self.method.visible = SHOWN.get(self.show.value) != "counts"
        self.quantity.visible = self.row.visible = one
        self.column.visible = one and self.quantity.value in TWO

    def _replaced(self) -> None:
        show(self.formulas, "")
        self.job.clear()
        numbers = self._numbers()
        if tuple(self.row.options) != numbers:
            self.row.options = self.column.options = numbers
            self.show.value = self._usual()
        self._suit()

    def _derive(self) -> None:
        if not self.job.is_running:
            self.formulas.visible = False
        self._ask(lambda html: show(self.formulas, html))

    def _download(self) -> None:
        name = f"{stem(self.session.robot.name)}_{self.method.value}.html"
        save = self.session.client.send_file_download
        self._ask(lambda html: save(name, html.encode(), save_immediately=True), page=True)

    def _ask(self, done: Callable[[str], None], page: bool = False) -> None:
        def work(say: Any) -> str:
            row, column = int(self.row.value) - 1, int(self.column.value) - 1
            question = Question.of(
                self.session.robot, "derivation" if page else SHOWN[self.show.value],
                method=self.method.value, entry=self.quantity.value, i=row, j=column, page=page,
            )  # fmt: skip
            return asked(question, self.session.closed)

        self.job.start("deriving", work, done)
