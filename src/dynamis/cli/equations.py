"""`dynamis equations`: the equations of motion, derived step by step."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..arguments import one_of
from ..errors import OptionError
from ..files import write
from ..robot import Robot, load
from .arguments import Json, Numbers, Place, RobotName, RunXacro, Word, joint_numbers, listed, place
from .printing import data_json, raw, wrote

if TYPE_CHECKING:
    from ..equations.derivation.steps import Derivation


def run(
    robot: RobotName, *, what: Literal["dynamics", "kinematics"] | None = None,
    method: Word | None = None, link: Word | None = None, point: Numbers = None,
    frame: Literal["base", "tool"] = "base", euler: Word | None = None, no_letters: bool = False,
    language: Literal["en", "es"] = "en", gravity: str | None = None,
    html: Path | None = None, latex: Path | None = None, markdown: Path | None = None,
    q: Place = None, qd: Numbers = None, qdd: Numbers = None,
    run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Derive the equations of motion or the kinematics of a robot step by step, in its own frames.

    Printed as text unless an output file is given. With a state (--q, --qd, --qdd; those not given
    are zero) numeric values are added to the symbols. Mechanisms with closures are derived by
    Lagrange multipliers, or in the projected form (gibbs-appell);
    their velocities and accelerations may be those of the drives alone. Kinematics (of a robot
    without masses also without --what): frames, Jacobian and where it is singular, statics, inverse
    kinematics by hand.

    For example:

      dynamis equations polar-rp
      dynamis equations polar-rp --html polar.html --q 0.3 0.8 --qd 0.5 0.2
      dynamis equations puma560 --method newton-euler --html puma.html
      dynamis equations arm.toml --method gibbs-appell --latex arm.tex
      dynamis equations planar-2link --method kane --gravity g
      dynamis equations polar-rp --language es --html polar.html
      dynamis equations five-bar --html five.html --q home --qd 1 -0.5
      dynamis equations puma560-mdh --what kinematics --html puma.html
      dynamis equations stanford --what kinematics --euler zyz --frame tool
      dynamis equations scara --what kinematics --link link2 --point 0.1 0 0

    Args:
        what: dynamics or kinematics; left out, kinematics of a robot without masses.
        method: Of dynamics: lagrange-euler, newton-euler, gibbs-appell or kane.
        link: Of kinematics: the link or frame that the Jacobian is of; the tool.
        point: Of kinematics: a point in the frame of that link, or of the tool.
        frame: Of kinematics: axes that the Jacobian is written in.
        euler: Of kinematics: add the Jacobian of Euler angles, such as zyz, zyx or rpy.
        no_letters: Of kinematics: lengths of a DH table as numbers, not letters such as a2, d4.
        language: Of the text, English or Spanish (arms; closed loops are in English only).
        gravity: A letter for the size of gravity, such as g, in every step.
        html: Write one self-contained HTML page.
        latex: Write LaTeX (the body of a document).
        markdown: Write Markdown with LaTeX formulas.
        q: Joint positions: a configuration, or numbers in radians, metres or as 90deg.
        qd: Joint velocities, rad/s or m/s.
        qdd: Joint accelerations, rad/s^2 or m/s^2.
    """
    from ..equations.render.html import write_page
    from ..equations.render.phrases import check_language

    found = load(robot, run_xacro=run_xacro)
    check_language(found.model, language)
    state = None
    if any(x is not None for x in (q, qd, qdd)):
        state = tuple(tuple(row.tolist()) for row in _state(found, q, qd, qdd))
    options = {"link": link, "point": point, "frame": frame, "euler": euler}
    options["letters"] = not no_letters
    steps = _derived(found, what, method, gravity, state, options).translated(language)
    if html is not None:
        write_page(steps, html)
    for path, text in ((latex, steps.latex), (markdown, steps.markdown)):
        if path is not None:
            write(path, text())
    if json:
        data_json(_plain(steps))
    elif not any((html, latex, markdown)):
        raw(steps.text())
    wrote(html, latex, markdown)
    return 0


def _derived(
    robot: Robot,
    what: str | None,
    method: str | None,
    gravity: str | None,
    state: tuple | None,
    options: dict[str, Any],
) -> "Derivation":
    """The steps of the dynamics by a method, or of the kinematics of a place."""
    from ..equations.derivation.steps import METHODS, derivation
    from ..equations.kinematics.derived import kinematic_derivation
    from ..equations.kinematics.place import massless

    if what is None:
        asked = method is not None or gravity is not None
        what = "kinematics" if massless(robot.model) and not asked else "dynamics"
    if what == "kinematics":
        for name, value in (("method", method), ("gravity", gravity)):
            if value is not None:
                raise OptionError(f"--{name} {value} is of the dynamics", "leave it out")
        if (words := options.pop("point")) is not None:
            options["point"] = tuple(listed(words, "3 numbers such as 0.1,0,0", "point"))
        return kinematic_derivation(robot.model, state and state[:2], **options)
    usual = {"link": None, "point": None, "frame": "base", "euler": None, "letters": True}
    given = [name for name, x in options.items() if x != usual[name]]
    if given:
        name = given[0].replace("letters", "no-letters")
        raise OptionError(f"--{name} is of the kinematics", "add --what kinematics")
    method = method or "lagrange-euler"
    one_of(method, METHODS, f"method {method!r} does not exist")
    model = robot.model if gravity is None else robot.equations(method, gravity).model
    return derivation(model, method, state)


def _state(
    robot: Robot, q: str | None, qd: str | None, qdd: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd and qdd; of a mechanism with closures, rates of the drives move the others."""
    where = place(robot, q, "q")

    def given(name: str, words: str | None) -> np.ndarray:
        if words is None:
            return np.zeros(robot.dof)
        count = len(listed(words, "numbers", name))
        drives = count == robot.dof != robot.n
        return (
            np.array(listed(words, "numbers", name))
            if drives
            else joint_numbers(robot, words, name)
        )

    rates, more = given("qd", qd), given("qdd", qdd)
    rates = rates if len(rates) == robot.n else robot.joint_rates(where, rates)
    more = more if len(more) == robot.n else robot.joint_accelerations(where, rates, more)
    return where, rates, more


def _plain(steps: "Derivation") -> dict:
    """Steps as data: every expression as SymPy's text."""

    def text(expression: object) -> str | None:
        return None if expression is None else str(expression)

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
                    {"name": x.name, "expression": text(x.expression), "value": x.value}
                    for x in step.items
                ],
            }
            for step in steps.steps
        ],
    }
