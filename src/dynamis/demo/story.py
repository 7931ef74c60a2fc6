"""All chapters in order, each handing on what the next one needs."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..agree import AgreementTable
from ..equations.render_formula import mathml
from ..report.page import Page
from ..robot import Robot
from .chapter import Chapter
from .charts import Panels
from .control import code, controllers
from .model import agreement, equations, model
from .recording import excitation, identification, recording, validation
from .speed import speed

STEPS = {
    "model": "model and check",
    "equations": "equations and operations",
    "agreement": "agreement of methods",
    "excitation": "design of an excitation",
    "recording": "recording",
    "identification": "identification",
    "validation": "validation",
    "controllers": "three controllers",
    "code": "C code and its self-test",
    "speed": "speed",
}


def story(
    robot: Robot, compared: Callable[[], AgreementTable], say: Callable[[str], None]
) -> Iterator[tuple[str, Chapter]]:
    """Tell it: names and chapters; `say` hears what is done next."""
    known: dict[str, Any] = {}

    def shared(*found: Any, names: tuple[str, ...]) -> Chapter:
        known.update(zip(names, found[1:], strict=True))
        return found[0]

    steps: tuple[Callable[[], Chapter], ...] = (
        lambda: model(robot),
        lambda: equations(robot),
        lambda: agreement(robot, compared()),
        lambda: shared(*excitation(robot), names=("motion",)),
        lambda: shared(*recording(robot, known["motion"]), names=("log", "check")),
        lambda: shared(*identification(robot, known["log"]), names=("estimate",)),
        lambda: validation(robot, known["estimate"], known["check"]),
        lambda: shared(*controllers(robot, known["estimate"].robot), names=("law", "run")),
        lambda: code(robot, known["law"]),
        lambda: speed(robot),
    )
    for (name, what), step in zip(STEPS.items(), steps, strict=True):
        say(what)
        begun = time.perf_counter()
        chapter = step()
        chapter.seconds = time.perf_counter() - begun
        yield name, chapter


def page(robot: Robot, chapters: Sequence[Chapter]) -> Page:
    """The story as one self-contained page."""
    total = sum(c.seconds for c in chapters)
    made = Page(
        f"{robot.name}, from its table to its controller",
        f"Everything on this page was computed in {total:.0f} s by the command dynamis demo.",
    )
    for number, chapter in enumerate(chapters, 1):
        made.section(f"{number}. {chapter.title}", chapter.text)
        for formula in chapter.formulas:
            made.parts.append(
                f'<div class="wide formula"><math display="block">{mathml(formula)}</math></div>'
            )
        for title, header, rows in chapter.tables:
            made.caption(title)
            made.table(header, rows)
        for chart in chapter.charts:
            if isinstance(chart, Panels):
                made.grid(*chart)
            else:
                made.chart(*chart)
    return made
