"""Sheets of exercises: Markdown, a self-contained HTML page, a LaTeX document."""

import base64
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from .. import markup, templates
from ..arguments import checked, choice
from ..errors import legible
from . import typeset
from .exercise import Exercise, exercise
from .question import EXERCISES, Question, words

if TYPE_CHECKING:
    from .workings import Line

SUFFIXES = {"markdown": ".md", "html": ".html", "latex": ".tex"}
TEXT_WIDTH = 100  # characters of a line of text in a working


@dataclass(frozen=True)
class Sheet:
    """Exercises of one student; `number` and `student` head it, `note` says how to hand it in."""

    number: int
    language: str
    exercises: tuple[Exercise, ...]
    student: str = ""
    note: str = ""
    solutions: bool = False
    workings: bool = False
    drawings: bool = True

    @property
    def words(self) -> dict[str, Any]:
        """Those of its language."""
        return words(self.language)["words"]

    @property
    def title(self) -> str:
        """Exercises, sheet 7"""
        return f"{self.words['title']} {self.number}"

    @property
    def heading(self) -> str:
        """Of the part with the solutions; empty where there is none."""
        return self.words["workings" if self.workings else "solutions"] if self.solved else ""

    @property
    def notes(self) -> list[str]:
        """What stands before the exercises: the introduction, and the note if there is one."""
        return [text for text in (self.words["intro"], self.note) if text]

    def signature(self, escaped: Callable[[str], str]) -> list[str]:
        """The student's name and the word for it, as text of a format; empty for nobody."""
        if not self.student:
            return []
        return [f"{escaped(self.words['name'])}: {escaped(legible(self.student))}"]

    @property
    def solved(self) -> bool:
        """Whether it is for who marks it."""
        return self.solutions or self.workings

    def written(self, format: str) -> str:
        """The sheet as Markdown, HTML or LaTeX."""
        return WRITERS[format](self)


@checked
def sheet(
    seed: int = 0,
    language: str = "en",
    which: Sequence[int | str | Question] | None = None,
    solutions: bool = False,
    workings: bool = False,
    format: str = "markdown",
    drawings: bool | None = None,
) -> str:
    """A sheet of exercises for one student; with `solutions` or `workings` for who marks it.

    `which` chooses exercises by number or name (default: all), or is a list with `Question`s of
    your own; `workings` has the steps that lead to each answer. `format` is "markdown", "html" (a
    page of its own) or "latex" (a document, drawings by TikZ). Every exercise has its drawing, in
    Markdown only with `drawings=True` (as an address with data, which not every viewer shows).
    """
    choice(format, "format", SUFFIXES)
    found = tuple(exercise(x, seed, language) for x in (EXERCISES if which is None else which))
    shown = format != "markdown" if drawings is None else drawings
    page = Sheet(seed, language, found, solutions=solutions, workings=workings, drawings=shown)
    return page.written(format)


# Markdown


def _markdown(page: Sheet) -> str:
    parts = [f"# {page.title}\n"]
    parts += [f"{text}\n" for text in (*page.signature(markup.markdown), *page.notes)]
    parts += [_pictured(one) if page.drawings else str(one) for one in page.exercises]
    if page.workings:
        parts += [f"# {page.heading}\n", *map(worked_text, page.exercises)]
    elif page.solutions:
        rows = "\n".join(f"{one.number}. {one.solution()}" for one in page.exercises)
        parts.append(f"# {page.heading}\n\n{rows}\n")
    return "\n".join(parts)


def _pictured(one: Exercise) -> str:
    """The exercise with its drawing below the heading."""
    heading, _, rest = str(one).partition("\n\n")
    if one.drawing is None:
        return str(one)
    data = base64.b64encode(one.svg().encode()).decode()
    return f"{heading}\n\n![{one.title}](data:image/svg+xml;base64,{data})\n\n{rest}"


def worked_text(one: Exercise) -> str:
    """The working of an exercise and its answers, as Markdown that a terminal can show too."""
    parts = [f"## {one.heading}\n"]
    for line in one.working():
        if line.text:
            parts.append(textwrap.fill(typeset.plain(line.text), TEXT_WIDTH) + "\n")
        parts.append(textwrap.indent(str(line), "    ") + "\n")
    return "\n".join([*parts, f"{one.solution()}\n"])


# HTML


def _html(page: Sheet) -> str:
    parts = [f"<h1>{escape(page.title)}</h1>"]
    parts += [f'<p class="name">{name}</p>' for name in page.signature(escape)]
    parts += [f'<p class="note">{escape(note)}</p>' for note in page.notes]
    parts += [html_exercise(one, page.drawings) for one in page.exercises]
    if page.solved:
        parts.append(f'<h1 class="solutions">{page.heading}</h1>')
        parts += [_html_solution(one, page.workings) for one in page.exercises]
    body = "\n".join(["<main>", *parts, "</main>"])
    style = templates.text(__package__, "sheet.css")
    return templates.document(page.title, style, body, page.language)


def html_exercise(one: Exercise, drawings: bool = True, blank: str = "<span></span>") -> str:
    """The exercise with its drawing and a place for every answer."""
    blanks = "".join(
        f"<li>{typeset.html(f'{name} = ', one.symbols)}{blank} {escape(unit)}</li>"
        for name, unit in zip(one.names, one.units, strict=True)
    )
    asked = words(one.language)["words"]["asked"]
    figure = f"<figure>{one.svg()}</figure>" if drawings and one.drawing is not None else ""
    return (
        f"<section><h2>{escape(one.heading)}</h2>{figure}"
        f"<p>{typeset.html(one.source, one.symbols)}</p>"
        f'<div class="asked">{escape(asked)} <ul>{blanks}</ul></div></section>'
    )


def _html_solution(one: Exercise, working: bool) -> str:
    parts = [f"<section><h2>{escape(one.heading)}</h2>"]
    if working:
        parts += [_html_line(line, one) for line in one.working()]
    answer = typeset.html(one.solution(), one.symbols)
    return "".join([*parts, f'<p class="answer">{answer}</p></section>'])


def _html_line(line: "Line", one: Exercise) -> str:
    from ..equations.render.formula import mathml

    first, *rest = line.sides
    rows = [f"{line.name} = {first}", *(f"= {side}" for side in rest)]
    inside = "".join(f'<div><math displaystyle="true">{mathml(row)}</math></div>' for row in rows)
    text = f"<p>{typeset.html(line.text, one.symbols)}</p>" if line.text else ""
    return f'{text}<div class="line" tabindex="0">{inside}</div>'


# LaTeX


def _latex(page: Sheet) -> str:
    parts = [rf"\section*{{{_tex(page.title)}}}"]
    parts += [f"{text}\n" for text in (*page.signature(_tex), *map(_tex, page.notes))]
    parts += [_tex_exercise(one, page) for one in page.exercises]
    if page.solved:
        parts.append(rf"\clearpage{chr(10)}\section*{{{_tex(page.heading)}}}")
        for one in page.exercises:
            parts.append(_tex_heading(one))
            for line in one.working() if page.workings else ():
                said = typeset.latex(line.text, one.symbols)
                parts += [said, rf"\[ {typeset.raised(line.latex())} \]"]
            answer = typeset.latex(one.solution(), one.symbols)
            parts.append(rf"\textbf{{{answer}}}" + "\n")
    drawn = page.drawings and any(one.drawing for one in page.exercises)
    return templates.filled(__package__, "sheet.tex", BODY="\n".join(parts), DRAWN=drawn)


def _tex_exercise(one: Exercise, page: Sheet) -> str:
    blank = r"\underline{\hspace{2cm}}"
    asked = ", ".join(
        f"{typeset.latex(f'{name} = ', one.symbols)}{blank} {_tex(unit)}".rstrip()
        for name, unit in zip(one.names, one.units, strict=True)
    )
    parts = [_tex_heading(one)]
    if page.drawings and one.drawing is not None:
        parts.append("\\begin{center}\n" + one.drawing.tikz() + "\n\\end{center}")
    text = typeset.latex(one.source, one.symbols)
    return "\n".join([*parts, text, f"\n{_tex(page.words['asked'])} {asked}\n"])


def _tex_heading(one: Exercise) -> str:
    return rf"\subsection*{{{_tex(one.heading)}}}"


def _tex(text: str) -> str:
    return typeset.raised(markup.latex(text))


WRITERS: Mapping[str, Callable[[Sheet], str]] = {
    "markdown": _markdown, "html": _html, "latex": _latex
}  # fmt: skip
