"""Texts of other languages in files of their own, in the folder `templates` beside their users.

    @NAME@                          a value
    @IF NAME@ ... @ELSE@ ... @END@  text that is there where a value is true, or is not

A line that holds nothing but one of IF, ELSE and END leaves no line behind. `@` means nothing else
in C, C++, CMake, Markdown and XML, and CMake's own `configure_file` writes placeholders like this;
`$@` of make is followed by a space.
"""

import re
from functools import cache
from html import escape
from importlib.resources import files

CHOICE = "IF [A-Z][A-Z0-9_]*|ELSE|END"
MARK = re.compile(rf"^@({CHOICE})@\n|@({CHOICE}|[A-Z][A-Z0-9_]*)@", re.MULTILINE)


@cache
def text(package: str | None, name: str) -> str:
    """The template as it stands."""
    return files(str(package)).joinpath("templates", name).read_text(encoding="utf-8")


def filled(package: str | None, name: str, **values: object) -> str:
    """The template with its values, each put in as it is: what looks like a mark in it is none."""
    template, parts, at = text(package, name), [], 0
    shown = [True]  # whether the text within each IF is wanted
    for mark in MARK.finditer(template):
        if all(shown):
            parts.append(template[at : mark.start()])
        at = mark.end()
        word = mark[1] or mark[2]
        if word == "ELSE":
            shown[-1] = not shown[-1]
        elif word == "END":
            shown.pop()
        elif word.startswith("IF "):
            shown.append(all(shown) and bool(values[word.removeprefix("IF ")]))
        elif all(shown):
            parts.append(str(values[word]))
    return "".join([*parts, template[at:]])


def document(title: str, style: str, body: str, language: str) -> str:
    """An HTML document: a title in plain text, a style sheet, and what stands in <body>."""
    values = {"TITLE": escape(title), "STYLE": style, "BODY": body, "LANGUAGE": language}
    return filled(__package__, "page.html", **values)
