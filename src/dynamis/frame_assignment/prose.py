"""Sentences of the steps: phrases of a language with values in them, formulas between $ signs.

A phrase has places @name@ for values. A name of the user's that has a $ keeps it.
"""

import re
import tomllib
from functools import cache
from html import escape
from typing import Any

from .. import markup, templates
from ..equations.render.formula import mathml, plain
from ..errors import legible

LANGUAGES = ("en", "es")
PLACE = re.compile(r"@(\w+)@")
DOLLAR = "\ue000"  # a $ that starts no formula


@cache
def table(language: str) -> dict[str, dict[str, str]]:
    """Parts, keys and phrases of a language."""
    return tomllib.loads(templates.text(__package__, f"steps.{language}.toml"))


class Phrases:
    """The phrases of a language."""

    def __init__(self, language: str):
        self.language = language
        self.parts = table(language)

    def __call__(self, part: str, key: str, **values: Any) -> str:
        """A phrase with its values."""
        return PLACE.sub(lambda place: str(values[place[1]]), self.parts[part][key])


def verbatim(text: str) -> str:
    """A text of the user's, in which nothing is a formula."""
    return legible(text).replace("$", DOLLAR)


def _pieces(prose: str) -> list[tuple[bool, str]]:
    """(is a formula, text)"""
    parts = prose.split("$")
    return [(k % 2 == 1, part.replace(DOLLAR, "$")) for k, part in enumerate(parts) if part]


def to_text(prose: str) -> str:
    """Prose as plain text."""
    return "".join(plain(x) if formula else x for formula, x in _pieces(prose))


def to_html(prose: str) -> str:
    """Prose as HTML with MathML."""
    return "".join(
        f"<math>{mathml(x)}</math>" if formula else escape(x) for formula, x in _pieces(prose)
    )


def to_latex(prose: str) -> str:
    """Prose as LaTeX."""
    return "".join(f"${x}$" if formula else markup.latex(x) for formula, x in _pieces(prose))


def to_markdown(prose: str) -> str:
    """Prose as Markdown with formulas between $ signs."""
    return "".join(f"${x}$" if formula else markup.markdown(x) for formula, x in _pieces(prose))
