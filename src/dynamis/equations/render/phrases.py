"""Texts of a derivation in another language: one table of phrases, templates/derivation.es.toml."""

import re
import tomllib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from ... import templates
from ...arguments import choice
from ...errors import OptionError

if TYPE_CHECKING:
    from ...model.model import Model
    from ..derivation.steps import Derivation, Item, Step

LANGUAGES = ("en", "es")
PLACE = re.compile(r"\{(\w+)\}")
NOUNS, ONE_SENTENCE = ("axis", "body"), "[^.]"
INSIDE = dict.fromkeys(("where", *NOUNS), "places")  # what varies and is a phrase itself
TABLES = ("derivation", "kinematics")


@cache
def table(language: str) -> dict[str, dict[str, str]]:
    """The parts of a language's tables."""
    found: dict[str, dict[str, str]] = {}
    for name in TABLES:
        parts = tomllib.loads(templates.text(__package__, f"{name}.{language}.toml"))
        for part, phrases in parts.items():
            found.setdefault(part, {}).update(phrases)
    return found


@cache
def patterns(language: str, part: str) -> list[tuple[re.Pattern[str], str]]:
    """Phrases of a part as patterns, the longest first."""
    found = sorted(table(language)[part].items(), key=lambda pair: -len(pair[0]))
    end = r"(?=\s|$)" if part == "texts" else "$"  # others are one phrase
    return [(re.compile(_pattern(english) + end), other) for english, other in found]


def _pattern(english: str) -> str:
    pieces = PLACE.split(english)  # text, name, text, ...
    inside = [
        re.escape(x) if k % 2 == 0 else f"(?P<{x}>{ONE_SENTENCE if x in NOUNS else '.'}+?)"
        for k, x in enumerate(pieces)
    ]
    return "".join(inside)


def phrase(text: str, language: str, part: str = "page") -> str:
    """A text in another language, phrase by phrase; what the table does not have stays."""
    if language == "en" or not text:
        return text
    at, said = 0, []
    while at < len(text):
        for pattern, other in patterns(language, part):
            found = pattern.match(text, at)
            if found:
                values = {
                    name: phrase(x, language, INSIDE[name]) if name in INSIDE else x
                    for name, x in found.groupdict().items()
                }
                said.append(PLACE.sub(lambda place, values=values: values[place[1]], other))
                at = found.end() + 1
                break
        else:
            said.append(text[at:])
            break
    return " ".join(said)


def check_language(model: "Model", language: str) -> None:
    """Refuse a language that the steps of a model are not written in."""
    choice(language, "language", LANGUAGES)
    if model.closures and language != "en":
        raise OptionError(
            f"the steps of {model.name!r}, which has closures, are in English only",
            "leave the language out",
        )


def translated(derivation: "Derivation", language: str) -> "Derivation":
    """The derivation with its texts in another language; symbols and numbers stay."""
    check_language(derivation.model, language)
    steps = tuple(_step(step, language) for step in derivation.steps)
    return replace(derivation, steps=steps, language=language)


def _step(step: "Step", language: str) -> "Step":
    cells = table(language)["cells"]
    head, *rows = step.table or [()]
    listed = (tuple(cells.get(x, x) for x in head), *(_row(row, cells) for row in rows))
    return replace(
        step,
        title=phrase(step.title, language, "titles"),
        text=phrase(step.text, language, "texts"),
        formulas=tuple(_formula(x, language) for x in step.formulas),
        items=tuple(_item(x, cells) for x in step.items),
        table=listed if step.table else (),
    )


def _row(row: tuple[str, ...], cells: dict[str, str]) -> tuple[str, ...]:
    """Cells of a row; the first is a name."""
    return (*row[:1], *(cells.get(x, x) for x in row[1:]))


def _item(item: "Item", cells: dict[str, str]) -> "Item":
    return replace(item, note=cells.get(item.note, item.note)) if item.note else item


def _formula(latex: str, language: str) -> Any:
    for english, other in table(language)["formulas"].items():
        latex = latex.replace(rf"\text{{{english}}}", rf"\text{{{other}}}")
    return latex
