"""The steps as plain text, Markdown, LaTeX and HTML, and as files with their drawings."""

import io
import textwrap
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import markup, templates
from ..equations.render import text as derivation
from ..equations.render.formula import mathml, plain
from ..equations.render.html import item_html, style
from ..files import write, write_folder
from ..model.formats.axes import axes_text
from ..progress import stage
from ..tables import markdown_table, text_table
from .notation import number
from .prose import Phrases, to_html, to_latex, to_markdown, to_text, verbatim
from .telling import Cells

if TYPE_CHECKING:
    from .steps import DhStep, DhSteps

WIDTH = 100
BELOW = ("origins", "y", "end", "d", "a")  # topics whose table is too wide beside the drawing
FIGURES = "{}-figures"  # the folder of drawings beside a LaTeX file


def lead(steps: "DhSteps") -> list[str]:
    """Paragraphs before the first step."""
    say = Phrases(steps.language)
    found = [say("page", "lead", last=len(steps))]
    if steps.own:
        found.append(say("page", "own"))
    if steps.values:
        values = ", ".join(f"{verbatim(name)} = ${number(value)}$" for name, value in steps.values)
        found.append(say("page", "letters", values=values))
    doubt = steps.construction.chain.doubt
    if doubt:
        found.append(say("page", "doubt", doubt=verbatim(doubt)))
    return found


def _free(steps: "DhSteps") -> str:
    return Phrases(steps.language)("page", "free")


# plain text


def text(steps: "DhSteps") -> str:
    """All steps as plain text."""
    title = to_text(steps.title)
    lines = [title, "=" * len(title), ""]
    for paragraph in lead(steps):
        lines += _wrapped(to_text(paragraph))
    lines += ["", *(f"    {line}" for line in axes_text(steps.construction.axes))]
    for step in steps:
        heading = f"{step.label}. {to_text(step.title)}"
        lines += ["", heading, "-" * len(heading), *_step_lines(steps, step)]
    return "\n".join(lines) + "\n"


def _step_lines(steps: "DhSteps", step: "DhStep") -> list[str]:
    lines = []
    for paragraph in step.text:
        lines += _wrapped(to_text(paragraph))
    for formula in step.formulas:
        lines += ["", f"    {plain(formula)}"]
    if step.table:
        lines += ["", *_plain_table(step.table)]
    for item in step.items:
        lines += ["", *derivation.item_lines(item)]
    if step.free:
        lines += ["", f"{_free(steps)}:"]
    for paragraph in step.free:
        lines += textwrap.wrap(f"- {to_text(paragraph)}", WIDTH, subsequent_indent="  ")
    if step.topic == "alpha":
        lines += ["", *_plain_table(steps.cells)]
    return lines


def _plain_table(cells: Cells) -> list[str]:
    return text_table([[to_text(x) for x in row] for row in cells]).splitlines()


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, break_long_words=False)


# Markdown


def markdown(steps: "DhSteps") -> str:
    """All steps as Markdown."""
    blocks = [f"# {to_markdown(steps.title)}", *map(to_markdown, lead(steps))]
    blocks.append("```\n" + "\n".join(axes_text(steps.construction.axes)) + "\n```")
    for step in steps:
        blocks.append(f"## {step.label}. {to_markdown(step.title)}")
        blocks += map(to_markdown, step.text)
        blocks += [f"$$ {formula} $$" for formula in step.formulas]
        if step.table:
            blocks.append(_markdown_table(step.table))
        blocks += [f"$$ {derivation.equation(item)} $$" for item in step.items]
        if step.free:
            listed = "\n".join(f"- {to_markdown(x)}" for x in step.free)
            blocks += [f"*{_free(steps)}:*", listed]
        if step.topic == "alpha":
            blocks.append(_markdown_table(steps.cells))
    return "\n\n".join(blocks) + "\n"


def _markdown_table(cells: Cells) -> str:
    return markdown_table([[to_markdown(x) for x in row] for row in cells])


# LaTeX


def latex(steps: "DhSteps", figures: str | None = None) -> str:
    """All steps as the body of a LaTeX document; `figures` is the folder of their drawings."""
    lines = [rf"\section*{{{to_latex(steps.title)}}}"]
    lines += [f"{to_latex(x)}\n" for x in lead(steps)]
    lines += [r"\begin{verbatim}", *axes_text(steps.construction.axes), r"\end{verbatim}"]
    for step in steps:
        lines += ["", rf"\subsection*{{{step.label}. {to_latex(step.title)}}}"]
        lines += [f"{to_latex(x)}\n" for x in step.text]
        lines += [rf"\[ {formula} \]" for formula in step.formulas]
        if step.table:
            lines += _latex_table(step.table)
        lines += [rf"\[ {_fitting(derivation.equation(item))} \]" for item in step.items]
        if step.free:
            listed = [rf"\item {to_latex(x)}" for x in step.free]
            lines += [rf"\emph{{{_free(steps)}:}}", r"\begin{itemize}", *listed, r"\end{itemize}"]
        if step.topic == "alpha":
            lines += _latex_table(steps.cells)
        if figures is not None:
            picture = rf"\includegraphics[width=0.72\textwidth]{{{figures}/{step.label}.pdf}}"
            lines += [r"\begin{center}", picture, r"\end{center}"]
    return "\n".join(lines) + "\n"


FIT = r"\resizebox{\ifdim\width>\linewidth \linewidth\else\width\fi}{!}"  # to the page


def _fitting(formula: str) -> str:
    """A formula no wider than the page."""
    wide = r"\begin{bmatrix}" in formula
    return rf"{FIT}{{$\displaystyle {formula}$}}" if wide else formula


def _latex_table(cells: Cells) -> list[str]:
    head, *body = (" & ".join(map(to_latex, row)) for row in cells)
    inside = [
        rf"\begin{{tabular}}{{{'l' * len(cells[0])}}}",
        head + r" \\ \hline",
        *(row + r" \\" for row in body),
        r"\end{tabular}",
    ]
    return [r"\begin{center}", FIT + "{%", *inside, "}", r"\end{center}"]


# HTML


def page(steps: "DhSteps") -> str:
    """One page with drawings; nothing is fetched."""
    title = to_text(steps.title)
    return templates.document(title, _style(), body(steps, drawings=True), steps.language)


def fragment(steps: "DhSteps") -> str:
    """Style and steps for a notebook cell, without drawings: steps.plot("DH5") shows one."""
    return f"<style>\n{_style()}</style>{body(steps, drawings=False)}"


def _style() -> str:
    return style() + templates.text(__package__, "steps.css")


def body(steps: "DhSteps", drawings: bool) -> str:
    """Heading, axes and steps."""
    parts = ['<article class="dynamis">', f"<header><h1>{to_html(steps.title)}</h1>"]
    parts += [f"<p>{to_html(x)}</p>" for x in lead(steps)]
    given = escape("\n".join(axes_text(steps.construction.axes)))
    parts.append(f'<div class="box"><pre>{given}</pre></div></header>')
    parts += [_section(steps, step, drawings) for step in steps]
    parts.append("</article>")
    return "\n".join(parts)


def _section(steps: "DhSteps", step: "DhStep", drawing: bool) -> str:
    parts = [f"<section><h2><span>{step.label}</span>{to_html(step.title)}</h2>"]
    parts.append('<div class="step"><div class="words">')
    parts += [f"<p>{to_html(x)}</p>" for x in step.text]
    if step.formulas:
        boxes = (_box(f'<math displaystyle="true">{mathml(x)}</math>') for x in step.formulas)
        parts.append(f'<div class="formulas">{"".join(boxes)}</div>')
    if step.free:
        listed = "".join(f"<li>{to_html(x)}</li>" for x in step.free)
        parts.append(f'<aside class="free"><b>{_free(steps)}</b><ul>{listed}</ul></aside>')
    table = _box(_html_table(step.table)) if step.table else ""
    below = step.topic in BELOW
    parts += ["" if below else table, "</div>"]
    if drawing:
        parts.append(_drawing(steps, step))
    parts += ["</div>", table if below else ""]
    if step.items:
        parts.append(f'<div class="items">{"".join(map(item_html, step.items))}</div>')
    if step.topic == "alpha":
        parts.append(_box(f'<div class="whole">{_html_table(steps.cells)}</div>'))
    parts.append("</section>")
    return "\n".join(parts)


def _drawing(steps: "DhSteps", step: "DhStep") -> str:
    figure: Any = steps.plot(step.label)
    figure.suptitle("")  # the heading says it
    stream = io.StringIO()
    figure.savefig(stream, format="svg", bbox_inches="tight", metadata={"Date": None})
    drawn = stream.getvalue()
    say = Phrases(steps.language)
    name = say("page", "figure", label=step.label, robot=verbatim(steps.robot.name))
    said = escape(to_text(name), quote=True)
    return f'<figure role="img" aria-label="{said}">{drawn[drawn.index("<svg") :]}</figure>'


def _box(inside: str) -> str:
    return f'<div class="box">{inside}</div>'


def _html_table(cells: Cells) -> str:
    tag, rows = "th", []
    for row in cells:
        rows.append(f"<tr>{''.join(f'<{tag}>{to_html(x)}</{tag}>' for x in row)}</tr>")
        tag = "td"
    return f"<table>{''.join(rows)}</table>"


# files


def write_steps(steps: "DhSteps", path: Path) -> None:
    """Write the steps as the suffix says; drawings of LaTeX go into a folder beside it."""
    suffix = path.suffix.lower()
    with stage(f"drawing the steps of {steps.robot.name}"):
        if suffix in (".html", ".htm"):
            write(path, page(steps))
        elif suffix == ".tex":
            folder = FIGURES.format(path.stem)
            drawings = {f"{step.label}.pdf": _pdf(steps, step) for step in steps}
            write_folder(path.parent / folder, drawings, overwrite=True)
            inside = latex(steps, markup.latex(folder))
            write(path, templates.filled(__package__, "steps.tex", BODY=inside))
        else:
            write(path, markdown(steps) if suffix == ".md" else text(steps))


def _pdf(steps: "DhSteps", step: "DhStep") -> bytes:
    figure: Any = steps.plot(step.label)
    stream = io.BytesIO()
    figure.savefig(stream, format="pdf", bbox_inches="tight", metadata={"CreationDate": None})
    return stream.getvalue()
