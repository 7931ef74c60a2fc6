"""Texts of other languages in files of their own, in the folder `templates` beside their users.

`@NAME@` in a template is the place of a value.
"""

import re
from functools import cache
from importlib.resources import files

MARK = re.compile(r"@([A-Z][A-Z0-9_]*)@")


@cache
def text(package: str, name: str) -> str:
    """The template as it stands."""
    return files(package).joinpath("templates", name).read_text(encoding="utf-8")


def filled(package: str, name: str, **values: object) -> str:
    """The template with its values, each put in as it is: what looks like a mark in it is none."""
    parts = MARK.split(text(package, name))
    if unused := values.keys() - set(parts[1::2]):
        raise TypeError(f"template {name} has no place for {', '.join(sorted(unused))}")
    parts[1::2] = [str(values[mark]) for mark in parts[1::2]]
    return "".join(parts)
