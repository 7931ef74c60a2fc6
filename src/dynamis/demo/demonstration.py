"""The demonstration: chapters on the model and on speed, all chapters in order, and their page."""

import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..agree import agreement
from ..bench.single import SIZE, against_pinocchio, direct
from ..bench.table import together
from ..equations.render.formula import mathml
from ..equations.render.math import latex
from ..report.page import Page
from ..robot import Robot
from .chapter import Chapter, Panels, bars
from .control import code, controllers
from .recording import excitation, identification, recording, validation

KERNELS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "gravity_torque",
    "fk",
    "jacobian",
    "regressor",
    "inverse_dynamics_derivatives",
)
SHOWN = (2, 3, 4)  # joints whose gravity torque is short


def model(robot: Robot) -> Chapter:
    """The DH table, and what a check of the description finds."""
    table = robot.dh()
    made = Chapter(
        "The arm",
        f"{robot.model.description.split('. ')[0]}: {robot.n} joints, {table.convention} "
        "Denavit-Hartenberg convention.",
    )
    header, *rows = table.cells()
    made.table(f"{table.convention} DH table", header, rows)
    found = [(f.level, f.where, f.what, f.remedy) for f in robot.check()]
    made.table(
        f"{robot.name}: findings of a check", ("level", "where", "what", "what to do"),
        found or [("", "", "none", "")],
    )  # fmt: skip
    made.facts = {"robot": robot.name, "findings": [" ".join(row[:3]) for row in found]}
    return made


def equations(robot: Robot) -> Chapter:
    """Gravity torques in closed form, and the operations of each kernel."""
    found = robot.equations()
    g: Any = found.g
    made = Chapter(
        "Equations",
        "Derived symbolically by Lagrange-Euler; here the gravity torques of three "
        "joints (c23 is the cosine of q2 + q3). The compiled code is optimised for this arm: "
        "terms that are zero, one, or repeated are removed.",
        formulas=[f"g_{{{i + 1}}} = {latex(g[i])}" for i in SHOWN],
    )
    rows = []
    for name in KERNELS:
        cost = robot.cost(name)
        rows.append((name, cost.mul, cost.add, cost.trig, sum(cost.saved.values())))
    header = ("kernel", "products", "sums", "sines, cosines", "saved")
    made.table("operations of one call", header, [tuple(map(str, row)) for row in rows])
    made.facts = {
        "operations": {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    }
    return made


def agreed(robot: Robot) -> Chapter:
    """Comparison of independent formulations and other engines."""
    table = agreement(robot)
    verdict = "agrees" if table.ok else "DISAGREES"
    worst = max((row.difference or 0.0) / row.limit for row in table.rows)
    made = Chapter(
        "Agreement",
        f"{robot.name}: {verdict}. Independent formulations and the engines installed here, at "
        f"random states; the largest difference is {worst:.1e} of its limit.",
        good=table.ok,
    )
    rows: list[tuple[Any, ...]] = []
    for row in table.rows:
        shown = "" if row.difference is None else f"{row.difference:.1e}"
        mark = "" if row.difference is None else "good" if row.ok else "bad"
        rows.append((row.source, row.quantity, (shown, mark), f"{row.limit:.0e}", row.reason))
    header = ("method or engine", "quantity", "difference", "limit", "")
    made.table(f"{robot.name}: {verdict}", header, rows)
    made.facts = table.as_dict()
    return made


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


def demonstration(robot: Robot, say: Callable[[str], None]) -> Iterator[tuple[str, Chapter]]:
    """Names and chapters, one by one; `say` gets the name of the next step."""
    known: dict[str, Any] = {}

    def shared(*found: Any, names: tuple[str, ...]) -> Chapter:
        known.update(zip(names, found[1:], strict=True))
        return found[0]

    steps: tuple[Callable[[], Chapter], ...] = (
        lambda: model(robot),
        lambda: equations(robot),
        lambda: agreed(robot),
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
