"""All chapters in order, and the page they make."""

import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..agree import AgreementTable
from ..bench.batch import SIZE
from ..bench.single import against_pinocchio, direct
from ..bench.table import together
from ..equations.render.formula import mathml
from ..report.page import Page
from ..robot import Robot
from .chapter import Chapter, Panels, bars
from .control import code, controllers
from .model import agreement, equations, model
from .recording import excitation, identification, recording, validation

# the chapter on speed: a few figures of the bench

ALONE = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "regressor")
Row = tuple[str, str, str, str]  # what, our time, theirs, ratio


def speed(robot: Robot) -> Chapter:
    """One call and a batch, in microseconds and as ratios within this run."""
    peer = find_spec("pinocchio") is not None
    beside = "ratios are within this run" if peer else "no peer: pip install pin"
    made = Chapter(
        "Speed",
        f"Shortest of several rounds on this machine; {beside}. dynamis bench measures everything.",
    )
    state = list(np.random.default_rng(1).normal(size=(3, robot.n)))
    rows = _beside_pinocchio(robot, state) if peer else _alone(robot, state)
    many = [np.random.default_rng(2).normal(size=(SIZE, robot.n)) for _ in range(3)]
    (batch,) = together(lambda: robot.inverse_dynamics(*many, threads=1))
    rows.append((f"inverse_dynamics, each of {SIZE}", f"{1e6 * batch / SIZE:.4f}", "", ""))
    columns = ("", "dynamis, us", "Pinocchio, us", "ratio")[: 4 if peer else 2]
    made.table("one call", columns, [row[: len(columns)] for row in rows])
    made.chart(bars([r[0] for r in rows], [float(r[1]) for r in rows], "us"), 260)
    made.facts = {row[0]: {"us": float(row[1]), "ratio": float(row[3] or "nan")} for row in rows}
    return made


def _beside_pinocchio(robot: Robot, state: list[np.ndarray]) -> list[Row]:
    return [
        (f.what, f"{1e6 * f.ours:.2f}", f"{1e6 * (f.theirs or 0):.2f}", f"{f.ratio or 0.0:.1f}")
        for f in against_pinocchio(robot, state)
        if f.what in ALONE
    ]


def _alone(robot: Robot, state: list[np.ndarray]) -> list[Row]:
    times = {name: together(direct(getattr(robot, name), state))[0] for name in ALONE}
    return [(name, f"{1e6 * ours:.2f}", "", "") for name, ours in times.items()]


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


def demonstration(
    robot: Robot, compared: Callable[[], AgreementTable], say: Callable[[str], None]
) -> Iterator[tuple[str, Chapter]]:
    """Names and chapters, one by one; `say` gets the name of the next step."""
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
    """All chapters as one self-contained page."""
    total = sum(c.seconds for c in chapters)
    made = Page(
        f"{robot.name}, from DH table to controller",
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
