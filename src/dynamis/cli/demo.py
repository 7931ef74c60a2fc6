"""`dynamis demo`: the whole story of one arm."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..errors import FileError
from ..robot import load
from . import agree
from .arguments import Json
from .printing import Cell, data, data_json, table, talk

ROBOT, REPORT = "puma560", "report.html"


def run(*, json: Json = False) -> int:
    """From the PUMA 560's DH table to an identified model and a controller in C, in a minute.

    Model and check, equations, agreement, an exciting motion, its recording with friction,
    quantisation and noise, identification, validation, three controllers, C code and its self-test,
    speed. Leaves report.html, one self-contained page with charts to explore and the moving arm, in
    the folder it was started from. Exit code 1 if anything did not hold.

    For example:

      dynamis demo
      dynamis demo --json > demo.json
    """
    from ..demo.story import STEPS, page, story

    if not os.access(Path.cwd(), os.W_OK):
        raise FileError(f"cannot write {REPORT} here", "start it in a folder you may write to")
    robot, chapters = load(ROBOT), {}
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(STEPS))

        def say(what: str) -> None:
            bar.update(task, description=what)
            if not console.is_terminal:
                talk(f"{what} ...")

        for name, chapter in story(robot, lambda: agree.compared(ROBOT), say):
            bar.advance(task)
            chapters[name] = chapter
            if not json:
                data(f"{len(chapters)}. {chapter.title}  ({chapter.seconds:.1f} s)")
                data(chapter.text)
                for title, header, rows in chapter.tables:
                    if title not in chapter.details:
                        data(table(title, header, [_cells(row) for row in rows]))
    told = list(chapters.values())
    page(robot, told).save(Path(REPORT))
    if json:
        data_json(
            {
                name: {"seconds": c.seconds, "good": c.good, **c.facts}
                for name, c in chapters.items()
            }
        )
    talk(f"wrote {REPORT}: open it in a browser")
    talk("next: dynamis studio, dynamis show ROBOT, dynamis simulate ROBOT, dynamis --help")
    return int(not all(c.good for c in told))


def _cells(row: Sequence[Any]) -> list[Cell]:
    """A row of a chapter as the terminal prints it."""
    styles = {"bad": "error"}
    pairs = (cell if isinstance(cell, tuple) else (str(cell), "") for cell in row)
    return [(text, styles.get(style, style)) for text, style in pairs]
