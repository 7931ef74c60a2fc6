"""Notebooks for nbgrader: the teacher's version of an assignment, solved and with hidden tests.

Cells have the metadata of nbgrader (schema 3): texts are locked, an exercise has one cell for its
solution and one test, of one point, for each answer.
https://nbgrader.readthedocs.io/en/stable/contributor_guide/metadata.html
"""

import base64
import json
import keyword
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import templates
from ..arguments import checked, choice, whole
from ..files import checked_path, write
from .exercise import LARGEST_SEED, Exercise, exercise
from .question import EXERCISES, LANGUAGES, Question, words
from .quiz import number, wrong_values

SCHEMA = 3


@checked
def write_assignment(
    path: str | Path,
    seed: int = 0,
    which: Sequence[int | str | Question] | None = None,
    language: str = "en",
) -> Path:
    """Write a notebook (.ipynb) for nbgrader, with the numbers of one seed.

    Put it into source/ASSIGNMENT of a course; `nbgrader generate_assignment` takes out solutions
    and hidden tests. Grading needs nothing but Python: the tests have the numbers.
    """
    target = checked_path(path, (".ipynb",), "assignment")
    return write(
        target, json.dumps(assignment(seed, which, language), indent=1, ensure_ascii=False)
    )


@checked
def assignment(
    seed: int = 0,
    which: Sequence[int | str | Question] | None = None,
    language: str = "en",
) -> dict[str, Any]:
    """The notebook that `write_assignment` writes."""
    choice(language, "language", LANGUAGES)
    whole(seed, "seed", 0, LARGEST_SEED)
    said = words(language)["words"]
    cells = [_text("introduction", f"# {said['title']} {seed}\n\n{said['intro']}\n")]
    for x in EXERCISES if which is None else which:
        cells += _cells(exercise(x, seed, language))
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _cell(kind: str, name: str, source: str, **grading: Any) -> dict[str, Any]:
    flags = {"grade": False, "solution": False, "locked": False, "task": False}
    nbgrader = flags | grading | {"schema_version": SCHEMA, "grade_id": name}
    cell = {
        "cell_type": kind,
        "id": name[:64],
        "metadata": {"nbgrader": nbgrader},
        "source": source.rstrip("\n"),
    }
    return cell if kind == "markdown" else cell | {"execution_count": None, "outputs": []}


def _text(name: str, source: str) -> dict[str, Any]:
    return _cell("markdown", name, source, locked=True)


def _cells(one: Exercise) -> list[dict[str, Any]]:
    """Task, solution and a test for each answer."""
    task = _text(f"task-{one.number}", str(one))
    if one.drawing is not None:
        heading, _, rest = str(one).partition("\n\n")
        name = f"{one.question.name}.svg"
        picture = base64.b64encode(one.svg().encode()).decode()
        task = _text(
            f"task-{one.number}", f"{heading}\n\n![{one.title}](attachment:{name})\n\n{rest}"
        ) | {"attachments": {name: {"image/svg+xml": picture}}}
    variables = list(map(variable, one.names))
    listed = ", ".join(variables)
    units = ", ".join(map(_asked, variables, one.units))
    solution = templates.filled(
        __package__, "solution.txt", NONE=" = ".join(variables), UNITS=units, NAMES=listed,
        VALUES=", ".join(map(number, one.answers)),
    )  # fmt: skip
    cells = [task, _cell("code", f"answer-{one.number}", solution, solution=True)]
    for k in range(len(one.names)):
        name = f"test-{one.number}-{k + 1}"
        cells.append(_cell("code", name, _test(one, k), grade=True, locked=True, points=1))
    return cells


def _asked(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def variable(name: str) -> str:
    """A name as one of Python."""
    found = re.sub(r"\W", "_", name)
    if not found.isidentifier():
        return f"x{found}"
    return f"{found}_" if keyword.iskeyword(found) else found


def _test(one: Exercise, k: int) -> str:
    name, right = variable(one.names[k]), one.answers[k]
    off = f"{name} - {right!r}"
    if one.units[k] == "rad":  # whole turns are no mistake
        off = f"({off} + {math.pi!r}) % {math.tau!r} - {math.pi!r}"
    mistakes = {
        (float(number(x)), float(number(one.margin(x)))): hint for x, hint in wrong_values(one, k)
    }
    rows = "".join(f"    ({x!r}, {off!r}, {hint!r}),\n" for (x, off), hint in mistakes.items())
    said = words(one.language)["words"]
    return templates.filled(
        __package__, "test.txt", NAME=name, OFF=off, MARGIN=repr(one.margin(right)),
        MISTAKES=rows, WRONG=repr(said["wrong"]), NUMBER=repr(f"{name}: {said['expected']}"),
    )  # fmt: skip
