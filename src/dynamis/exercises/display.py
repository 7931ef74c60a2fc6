"""An exercise in a notebook: HTML, and with ipywidgets boxes for the answers and a button."""

from html import escape
from typing import Any

from .. import templates
from ..lazy import installed, package
from .exercise import Exercise
from .question import words
from .sheets import html_exercise


def fragment(one: Exercise) -> str:
    """Style and text for a notebook cell."""
    return _styled(html_exercise(one))


def _styled(body: str) -> str:
    """Nothing outside the exercise takes its style."""
    style = templates.text(__package__, "exercise.css")
    return f'<style>\n{style}</style><div class="dynamis-exercise">{body}</div>'


def bundle(one: Exercise) -> dict[str, Any]:
    """Representations by their type; the frontend shows the richest it knows."""
    found: dict[str, Any] = {"text/plain": str(one), "text/html": fragment(one)}
    if installed("ipywidgets"):
        found = widget(one)._repr_mimebundle_() | found
    return found


def widget(one: Exercise) -> Any:
    """The text, a box for each answer, a button that checks them, and what it says."""
    ipywidgets = package("ipywidgets", "ipywidgets", "boxes for answers", "notebooks")
    said = words(one.language)["words"]
    task = ipywidgets.HTML(_styled(html_exercise(one, blank="")))
    boxes = [
        ipywidgets.Text(description=name, placeholder=unit)
        for name, unit in zip(one.names, one.units, strict=True)
    ]
    button, marks = ipywidgets.Button(description=said["check"]), ipywidgets.HTML()

    def check(_: Any) -> None:
        marks.value = checked_html(one, [box.value for box in boxes])

    button.on_click(check)
    return ipywidgets.VBox([task, *boxes, button, marks])


def checked_html(one: Exercise, written: list[str]) -> str:
    """Marks of answers as they were typed, with a decimal point or comma."""
    said = words(one.language)["words"]
    given = []
    for text in written:
        try:
            given.append(float(text.strip().replace(",", ".")))
        except ValueError:
            given.append(float("nan"))
    rows = []
    for mark, text in zip(one.check(given), written, strict=True):
        verdict = said["right"] if mark.right else said["wrong"]
        if mark.given != mark.given:
            verdict = f"{said['unread']} {text.strip()!r}" if text.strip() else "-"
        hint = f": {mark.hint}" if mark.hint else ""
        rows.append(f"<li>{escape(mark.name)}: {escape(verdict + hint)}</li>")
    return f"<ul>{''.join(rows)}</ul>"
