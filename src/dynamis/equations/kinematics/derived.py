"""The kinematics of an arm derived step by step: all steps in order, and a check."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from ...dynamics import kinematics
from ...errors import OptionError
from ...model.chain import chain
from ...model.model import Model
from ...model.quantity import quantity_text
from ...progress import stage
from ...spatial.functions import MATH
from ..derivation.setting import Setting, StepDraft, symbolic
from ..derivation.steps import (
    Derivation,
    DerivationPart,
    DerivationState,
    Item,
    Step,
    checked_state,
    has_values,
    row_text,
    some_state,
)
from ..scalars.polynomial import TooLongError
from ..scalars.scalars import coordinates
from ..scalars.simplify import readable
from .forms import hand_inverse
from .inverse import HandInverse, target_names
from .place import Place, geometry_of, place, with_letters
from .singular import ROWS, Determinant, Lost, determinant, joints_in, lost_motions
from .steps import FORCES, Twins, kinematic_steps, target

METHOD = "kinematics"
VELOCITIES = ("v_x", "v_y", "v_z", "w_x", "w_y", "w_z")
DETERMINANT = "Determinant of the Jacobian"
TOO_LONG = "For this arm the determinant is too long to write out."
NOT_SQUARE = "J is not square for {columns} joints: it has no determinant."
WHOLE = (
    "The determinant depends neither on the axes nor on the point of the tool whose motion is "
    "looked at. It is taken where J is shortest: for the origin of the frame in the axis of joint "
    "{k}, in axes that turn with link {k}."
)
PART = (
    "Of the rows of J those count that the joints can move, {rows}, in axes that turn with link "
    "{k}, where J is shortest."
)
NOWHERE = "It is zero everywhere: these joints never move the place all these ways."
NEVER = "It vanishes nowhere."
NO_FORM = (
    "No closed form by hand is written for this arm: its axes are neither those of a plane nor "
    "those of an arm with a spherical wrist. robot.ik finds its solutions by numbers."
)
REACH = {
    "plane": "How far from the first axis the point can be, in the plane.",
    "space": "How far from the second axis the point can be, in the plane of the arm.",
}
LIMITS = "The joints can move between these limits."
NO_LIMITS = "No limits of the joints are given."


def refuse_closed(model: Model) -> None:
    """Refuse a mechanism with closures."""
    model.refuse_closures(
        "a derivation of the kinematics",
        "robot.equations().tree.kinematics has that of its tree, all joints being free",
    )


def kinematic_derivation(
    model: Model, state: Any = None, letters: bool = True, **options: Any
) -> Derivation:
    """The steps; `state` is (q, qd), `options` are those of `place`."""
    refuse_closed(model)
    own = geometry_of(model)
    own = with_letters(own) if letters else own
    given = None if state is None else checked_state(own, (*state, [0.0] * own.n))
    at = place(own, **options)
    with stage(f"deriving the kinematics of {model.name}"):
        return _Kinematics(own, at, given).derivation()


def symbolic_determinant(model: Model, at: Place) -> Determinant | None:
    """The determinant of a model with symbols; TooLongError if it is too long."""
    s, letters = symbolic(model, by_links=False)
    values = {x: letters.of(sp.Symbol(x, real=True)) for x in model.symbols}
    return determinant(s, target(s, at, values))


class _Kinematics:
    """One derivation: its setting, its steps so far, what they use by name."""

    def __init__(self, model: Model, at: Place, given: DerivationState | None):
        self.model, self.place, self.given = model, at, given
        self.setting, self.letters = symbolic(model)
        self.values = {x: self.letters.of(sp.Symbol(x, real=True)) for x in model.symbols}
        self.twins = Twins()
        self.forces = [sp.Symbol(x, real=True) for x in FORCES]
        reserved = {*FORCES, *(s.name for s, _ in target_names())}
        taken = sorted(reserved & {*model.symbols})
        if taken:
            raise OptionError(
                f"robot {model.name!r} has a symbol {taken[0]!r}, which is the name of a force, a "
                "position or a rotation in the steps of its kinematics",
                "rename the symbol",
            )
        tool = at.link is None and at.point is None
        self.inverse: HandInverse | None = hand_inverse(model) if tool else None

    def derivation(self) -> Derivation:
        """All steps."""
        part = DerivationPart(self.model, self._drafts, self.given, (self.setting, self.letters))
        steps = part.steps(1)
        steps += self._determinant_steps(len(steps) + 1)
        names = dict(part.names)
        if self.place.link is None and self.place.point is None:
            steps += self._inverse_steps(len(steps) + 1)
            steps.append(self._workspace(len(steps) + 1))
            names |= self._inverse_names(names)
        signs = self.inverse.signs if self.inverse else []
        inputs = (*((x, 0.0) for x in self.forces), *((x, 1.0) for x in signs))
        found = Derivation(
            self.model, METHOD, tuple(steps), self.given, tuple(names.items()), inputs=inputs
        )
        return replace(found, steps=(*steps, *self._check(found, len(steps) + 1)))

    def _drafts(self, s: Setting) -> Iterator[StepDraft]:
        if s is self.setting:
            forces = [self.letters.of(x) for x in self.forces]
            return kinematic_steps(s, self.place, self.values, forces, self.twins)
        return kinematic_steps(s, self.place, self.model.values, None, self.twins)

    def _value(self, expression: Any) -> float | None:
        if self.given is None or sp.sympify(expression).is_number:
            return None
        known = dict(zip(coordinates(self.model.n)[0], self.given.q, strict=True))
        known |= {sp.Symbol(k, real=True): v for k, v in self.model.values.items()}
        return float(sp.sympify(expression).xreplace(known))

    # -- determinant ----------------------------------------------------------------------------

    def _determinant_steps(self, number: int) -> Iterator[Step]:
        try:
            found = symbolic_determinant(self.model, self.place)
        except TooLongError:
            yield Step(number, DETERMINANT, TOO_LONG)
            return
        if found is None:
            yield Step(number, DETERMINANT, NOT_SQUARE.format(columns=self.model.n))
            return
        yield self._determinant_step(number, found)
        for k, lost in enumerate(lost_motions(self.model, self.place, found), 1):
            yield self._lost_step(number + k, lost)

    def _determinant_step(self, number: int, found: Determinant) -> Step:
        rows = ", ".join(VELOCITIES[r] for r in found.rows)
        words = WHOLE if len(found.rows) == ROWS else PART
        text = words.format(k=found.joint + 1, rows=rows)
        value = found.expression
        if not found.zeros:
            text += f" {NOWHERE if value == 0 else NEVER}"
        J = [
            [readable(self._polynomial(x), self.setting.groups) for x in row]
            for row in found.matrix
        ]
        items = (
            Item(r"\bar{J}", sp.ImmutableMatrix(J)),
            Item(r"\det\left(\bar{J}\right)", value, self._value(value)),
        )
        return Step(number, DETERMINANT, text, (), items)

    def _polynomial(self, x: Any) -> Any:
        return x if hasattr(x, "terms") else self.letters.of(x)

    def _lost_step(self, number: int, lost: Lost) -> Step:
        text = ["The determinant vanishes where this factor does.", *lost.sentences]
        if lost.where:
            text[0] = f"The determinant vanishes where this factor does: {lost.where}."
        item = Item(r"\delta", lost.factor, self._value(lost.factor))
        formulas = (lost.formula,) if lost.formula else ()
        return Step(number, self._singularity(lost), " ".join(text), formulas, (item,))

    def _singularity(self, lost: Lost) -> str:
        """By the joints that decide, of an arm with a spherical wrist and three turning joints."""
        signs = [s.name[:6] for s in self.inverse.signs] if self.inverse else []
        turning = "prismatic" not in self.model.joint_kinds
        if not turning or "sigma1" not in signs:
            return "Singularity"
        joints = {s.name for s in joints_in(lost.factor)}
        names = {"q3": "Singularity of the elbow", "q5": "Singularity of the wrist"}
        return names.get("".join(sorted(joints)), "Singularity of the shoulder")

    # -- inverse kinematics and workspace ----------------------------------------------------------

    def _inverse_steps(self, number: int) -> list[Step]:
        if self.inverse is None:
            return [Step(number, "Inverse kinematics", NO_FORM)]
        T = None
        if self.given is not None:
            T = kinematics.fk(chain(self.model), self.given.q, MATH)
        return self.inverse.derived(number, T)

    def _inverse_names(self, known: dict[sp.Symbol, Any]) -> dict[sp.Symbol, Any]:
        """The pose that is asked for, that of the state, and what the steps call by name."""
        if self.inverse is None:
            return {}
        s = self.setting
        T = kinematics.fk(s.chain, s.state[0], s.fn)
        goal = {
            x: self.letters.of(T[i][j]).expression()
            for x, (i, j) in target_names()
            if x not in known
        }
        return goal | dict(self.inverse.names)

    def _workspace(self, number: int) -> Step:
        """Reach and limits."""
        parts, items = [], ()
        if self.inverse is not None and self.inverse.reach:
            space = any(s.name.startswith("sigma1") for s in self.inverse.signs)
            parts.append(REACH["space" if space else "plane"])
            items = tuple(
                Item(name, sp.sympify(x), self._value(x)) for name, x in self.inverse.reach
            )
        rows = [
            (str(link.joint_name), *(quantity_text(x) for x in link.limits))
            for link in self.model.links
            if link.limits is not None
        ]
        parts.append(LIMITS if rows else NO_LIMITS)
        table = (("joint", "lowest", "highest"), *rows) if rows else ()
        return Step(number, "Workspace", " ".join(parts), (), items, table)

    # -- check ------------------------------------------------------------------------------------

    def _check(self, found: Derivation, number: int) -> list[Step]:
        """Every printed result at one state, next to what `dynamis` computes."""
        if not has_values(self.model):
            return []
        at = self.given or some_state(self.model)
        lines = [(name, f"{worst:.1g}") for name, worst in self._differences(found, at)]
        where = "at the state above" if self.given else f"at q = {row_text(at.q)}"
        text = (
            f"The equations of these steps, evaluated {where}, next to what robot.fk and "
            "robot.jacobian compute: the largest differences."
        )
        return [Step(number, "Check", text, table=(("equation", "difference"), *lines))]

    def _differences(self, found: Derivation, at: DerivationState) -> Iterator[tuple[str, float]]:
        c = chain(self.model)
        given = self.place.on(self.model, c, MATH, self.model.values)
        T = np.array(kinematics.fk(c, at.q, MATH, **given), float)
        J = np.array(kinematics.jacobian(c, at.q, MATH, frame=self.place.frame, **given), float)
        values = found.evaluate(at.q, at.qd)
        letter = "(t)" if self.place.frame == "tool" else "0"
        for name, right in (("0T", T), (f"{letter}J", J)):
            if name in values:
                yield name, _worst(values[name], right)
        if self.inverse is not None:
            poses = [
                np.array(kinematics.fk(c, q.tolist(), MATH), float) for q in self.inverse.solve(T)
            ]
            rows = slice(None) if self.inverse.needs == "pose" else 3
            differences = [_worst(pose[:3, rows], T[:3, rows]) for pose in poses]
            for k, worst in enumerate(differences, 1):
                yield f"fk(q), {k}", worst


def _worst(a: Any, b: Any) -> float:
    return float(np.abs(np.asarray(a, float) - np.asarray(b, float)).max())
