"""`dynamis equations`: the equations of motion, derived step by step."""

from pathlib import Path

from ..equations.derivation.steps import METHODS, Derivation, derivation
from ..equations.render.html import write_page
from ..errors import OptionError
from ..files import write
from ..robot import Robot, load
from .arguments import Json, Numbers, Place, RobotName, joint_numbers, place
from .printing import data_json, raw, talk


def run(
    robot: RobotName,
    *,
    method: str = "lagrange-euler",
    html: Path | None = None,
    latex: Path | None = None,
    markdown: Path | None = None,
    q: Place = None,
    qd: Numbers = None,
    qdd: Numbers = None,
    json: Json = False,
) -> int:
    """Derive the equations of motion of a robot step by step, in its own frames.

    Printed as text unless an output file is given. With a state, numeric values are added to the
    symbols; joints of a state that is not given are zero.

    For example:

      dynamis equations polar-rp
      dynamis equations polar-rp --html polar.html --q 0.3 0.8 --qd 0.5 0.2
      dynamis equations puma560 --method newton-euler --html puma.html
      dynamis equations arm.toml --method gibbs-appell --latex arm.tex

    Args:
        method: lagrange-euler, newton-euler or gibbs-appell.
        html: Write one self-contained HTML page.
        latex: Write LaTeX (the body of a document).
        markdown: Write Markdown with LaTeX formulas.
        q: Joint positions: a configuration, or numbers in radians, metres or as 90deg.
        qd: Joint velocities.
        qdd: Joint accelerations.
    """
    if method not in METHODS:
        raise OptionError(f"method {method!r} does not exist", "known: " + ", ".join(METHODS))
    found = load(robot)
    steps = derivation(found.model, method, _state(found, q, qd, qdd))
    written = _write(steps, html, latex, markdown)
    if json:
        data_json(_plain(steps))
    elif not written:
        raw(steps.text())
    for path in written:
        talk(f"wrote {path}")
    return 0


def _state(
    robot: Robot, q: str | None, qd: str | None, qdd: str | None
) -> tuple[tuple[float, ...], ...] | None:
    if q is None and qd is None and qdd is None:
        return None
    rates = {"qd": qd or "", "qdd": qdd or ""}
    rows = [
        joint_numbers(robot, row, name) if row else [0.0] * robot.n for name, row in rates.items()
    ]
    return tuple(tuple(map(float, row)) for row in (place(robot, q, "q"), *rows))


def _write(
    steps: Derivation, html: Path | None, latex: Path | None, markdown: Path | None
) -> list[Path]:
    written = []
    if html is not None:
        write_page(steps, html)
        written.append(html)
    for path, text in ((latex, steps.latex), (markdown, steps.markdown)):
        if path is not None:
            written.append(write(path, text()))
    return written


def _plain(steps: Derivation) -> dict:
    """Steps as data: every expression as SymPy's text."""
    return {
        "robot": steps.model.name,
        "method": steps.method,
        "state": None if steps.state is None else steps.state._asdict(),
        "steps": [
            {
                "number": step.number,
                "title": step.title,
                "text": step.text,
                "table": step.table,
                "items": [
                    {"name": x.name, "expression": _text(x.expression), "value": x.value}
                    for x in step.items
                ],
            }
            for step in steps.steps
        ],
    }


def _text(expression: object) -> str | None:
    return None if expression is None else str(expression)
