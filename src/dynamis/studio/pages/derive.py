"""The equations of a robot as HTML, computed in a process that can be stopped.

    python -m dynamis.studio.pages.derive < question.json > answer.json

A derivation may take minutes and does not release the interpreter; the studio starts this
process, and ends it after a time limit or when the tab is closed.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import sympy as sp

from ... import templates
from ...equations.render import math
from ...equations.render.formula import mathml
from ...equations.render.html import fragment, page
from ...equations.render.text import signed
from ...errors import DynamisError, OptionError
from ...model.formats.files import toml_text
from ...robot import Robot, load

# equations as HTML fragments: MathML that breaks between terms, to fit a narrow column

LONG = 50  # characters of LaTeX from which on a term may break inside
LONGEST = 400_000  # characters of a fragment: longer ones are downloaded
COUNTED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix",
           "gravity_torque", "fk", "jacobian")  # fmt: skip
MATRICES = (("M", "Mass matrix"), ("C", "Coriolis matrix"), ("g", "Gravity"))
NOTE = "Here c1 is cos(q1), and s12 is sin(q1 + q2)."
TWO = ("M", "C")  # quantities with two indices


def closed(equations: Any) -> str:
    """tau, M, C, g and friction in closed form, zeros left out."""
    if not equations.is_closed:
        raise OptionError(
            f"the equations of {equations.robot_name!r} are too long to write out",
            "choose one entry, or the counts",
        )
    parts = ["<h4>Torques</h4>"]
    parts += [row(_named("tau", i), math.terms(x)) for i, x in enumerate(equations.tau)]
    for name, title in (*MATRICES, ("friction", "Friction")):
        found = list(_entries(name, getattr(equations, name)))
        if found:
            parts += [f"<h4>{title}</h4>", *(row(left, math.terms(x)) for left, x in found)]
    parts.append("<h4>Energies</h4>")
    parts.append(row("T", math.terms(equations.kinetic_energy)))
    parts.append(row("U", math.terms(equations.potential_energy)))
    parts.append(f"<p>{NOTE}</p>")
    return _fragment(parts)


def entry(equations: Any, name: str, i: int, j: int) -> str:
    """One entry in closed form."""
    indices = (i, j) if name in TWO else (i,)
    found = equations.term(name, *indices)
    return _fragment([row(_named(name, *indices), math.terms(sp.sympify(found)))])


def derivation(equations: Any, as_page: bool) -> str:
    """The derivation step by step, as a fragment or as a page."""
    steps = equations.steps
    return page(steps) if as_page else _fragment([fragment(steps)])


def counts(robot: Robot) -> str:
    """Operations of the compiled kernels, and the base parameters."""
    rows: list[Sequence[str]] = []
    for name in COUNTED:
        try:
            cost = robot.cost(name)
        except DynamisError as error:
            rows.append((name, "", "", "", str(error).splitlines()[0]))
            continue
        rows.append((name, *(str(x) for x in (cost.mul, cost.add, cost.div, cost.trig))))
    head = ("function", "mul", "add", "div", "trig")
    parts = ["<h4>Operations of one call</h4>", _table(head, rows)]
    try:
        base = robot.base_parameters()
    except DynamisError as error:
        parts.append(f"<p>{escape(str(error))}</p>")
        return _fragment(parts)
    values = [f"{x:.5g}" for x in base.values]
    parts.append(f"<h4>{base.rank} base parameters of {len(robot.parameters.names)}</h4>")
    parts.append(_table(("grouping", "value"), list(zip(base.names, values, strict=True))))
    return _fragment(parts)


def row(left: str, terms: Iterable[Any]) -> str:
    """One equation; every term is a formula of its own, so that lines can break between them."""
    found = [_broken(term) for term in terms]
    first = signed([parts[0] for parts in found])
    spaced = [first[0], *(f"{part[0]} \\; {part[1:]}" for part in first[1:])]
    parts = [p for one, head in zip(found, spaced, strict=True) for p in (head, *one[1:])]
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
    inner = signed([math.latex(x) for x in math.terms(sums[0])])
    spaced = [f"{part[0]} \\; {part[1:]}" for part in inner[1:]]
    return [f"{before} (", inner[0], *spaced[:-1], f"{spaced[-1]} )"]


def _entries(name: str, matrix: Any) -> Iterable[tuple[str, Any]]:
    for i in range(matrix.rows):
        for j in range(matrix.cols):
            if matrix[i, j] != 0:
                yield _named(name, *((i, j) if matrix.cols > 1 else (i,))), matrix[i, j]


def _named(name: str, *indices: int) -> str:
    gap = "" if all(k < 9 for k in indices) else ","
    below = gap.join(str(k + 1) for k in indices)
    if name == "friction":
        return rf"\tau_{{\mathrm{{f}},{below}}}"
    return rf"\tau_{{{below}}}" if name == "tau" else f"{name}_{{{below}}}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = ["".join(f"<td>{escape(cell)}</td>" for cell in line) for line in rows]
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _fragment(parts: Sequence[str]) -> str:
    style = templates.text(__package__, "formulas.css")
    text = f'<style>\n{style}</style><div class="dy-eq">{"".join(parts)}</div>'
    if len(text) > LONGEST:
        raise OptionError(
            f"the result has {len(text) // 1000} thousand characters, too many to show",
            "choose one entry, or download the derivation",
        )
    return text


SHOWS = ("equations", "derivation", "entry", "counts")
PATIENCE = 60.0  # s


@dataclass(frozen=True)
class Question:
    """What to derive: `show` is one of SHOWS; `entry` is a quantity, `i`, `j` count from 0."""

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
        return cls(toml_text(robot.model), show, **options)


def asked(question: Question, gone: threading.Event, patience: float = PATIENCE) -> str:
    """The answer, from another process; ends with `gone`, or when patience does."""
    folder = Path(__file__).parents[3]
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given:
        given.write(json.dumps(asdict(question)).encode())
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dynamis.studio.pages.derive"],
            stdin=given,
            stdout=said,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        try:
            _wait(process, gone, patience)
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        text = said.read()
    if process.returncode != 0:
        raise OptionError("the derivation failed", "choose one entry instead")
    answer = json.loads(text)
    if "error" in answer:
        raise OptionError(answer["error"], answer.get("hint"))
    return answer["html"]


def _wait(process: subprocess.Popen, gone: threading.Event, patience: float) -> None:
    end = time.monotonic() + patience
    while process.poll() is None:
        if gone.wait(0.05):
            raise OptionError("the tab was closed")
        if time.monotonic() > end:
            raise OptionError(
                f"it takes longer than {patience:g} s",
                "choose one entry, or derive it with robot.equations()",
            )


def answered(question: Question) -> str:
    """The answer, computed in this process."""
    with tempfile.TemporaryDirectory(prefix="dynamis-") as folder:
        path = Path(folder) / "robot.toml"
        path.write_text(question.robot, encoding="utf-8")
        robot = load(path)
    if question.show == "counts":
        return counts(robot)
    if question.show not in SHOWS:
        raise OptionError(f"show is {question.show!r}, expected one of {', '.join(SHOWS)}")
    found = robot.equations(question.method)
    if question.show == "derivation":
        return derivation(found, question.page)
    if question.show == "entry":
        return entry(found, question.entry, question.i, question.j)
    return closed(found)


def main() -> None:
    """Read a question, write its answer."""
    warnings.simplefilter("ignore")
    try:
        answer = {"html": answered(Question(**json.load(sys.stdin)))}
    except DynamisError as error:
        text, _, hint = str(error).partition("\nhint: ")
        answer = {"error": text, "hint": hint or None}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
