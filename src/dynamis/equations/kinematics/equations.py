"""The kinematics of an arm as equations: closed forms, and the steps that lead to them."""

from pathlib import Path
from typing import Any

import sympy as sp

from ...arguments import checked, flag, strict
from ...errors import OptionError
from ...lazy import cached_property
from ...model.model import Model
from ..derivation.steps import Derivation
from ..equations import Equations
from ..render.html import write_page
from ..render.math import entries
from ..render.math import latex as written
from ..scalars.polynomial import TooLongError
from ..show import matrix_lines, text
from .derived import METHOD, kinematic_derivation, refuse_closed, symbolic_determinant
from .forms import hand_inverse
from .inverse import HandInverse
from .place import geometry_of, place, with_letters


@strict
class KinematicEquations(Equations):
    """Kinematics of an arm: .fk, .jacobian(), .determinant(), .inverse, .steps, .html(path).

    It is that of an arm's geometry; .M, .g and the others of `Equations` are those of its bodies.
    """

    def __init__(self, model: Model, method: str, gravity: str | None = None):
        refuse_closed(model)
        super().__init__(model, method, gravity)

    @cached_property
    def inverse(self) -> HandInverse | None:
        """Closed-form inverse kinematics by hand, with its steps; None: there is none.

        Lengths are the letters of the steps: a2, d4. `.solve(T)` gives the positions of all
        branches.
        """
        return hand_inverse(with_letters(geometry_of(self.model)))

    @checked
    def determinant(self, link: str | None = None, point: Any = None) -> sp.Expr:
        """Determinant of the Jacobian of the tool (a link, a point) as a product.

        Of six rows, or of those that the joints can move, if they are as many as the joints.
        """
        model = geometry_of(self.model)
        try:
            found = symbolic_determinant(model, place(model, link, point))
        except TooLongError:
            raise OptionError(
                f"the determinant of {self.robot_name!r} is too long to write out",
                "numpy.linalg.det(robot.jacobian(q)) is its number",
            ) from None
        if found is None:
            raise OptionError(
                f"the Jacobian of {self.robot_name!r} is not square for {self.n} joints: it has no "
                "determinant",
                "robot.manipulability(q) is the square root of that of J J^T",
            )
        return found.expression

    def derivation(
        self, q: Any = None, qd: Any = None, qdd: Any = None, *, link: str | None = None,
        point: Any = None, frame: str = "base", euler: str | None = None, letters: bool = True,
    ) -> Derivation:  # fmt: skip
        """The steps, with numbers at q and qd if they are given; qdd is not used.

        The Jacobian is that of the tool, or of a `link` or frame by name, or of a `point` in its
        frame (of the tool's, without a link), in axes of the "base" or the "tool"; `euler` adds
        that of Euler angles ("zyz", "rpy"). With `letters` the lengths of a DH table are a2, d4.
        """
        state = None
        if q is not None or qd is not None:
            state = tuple([0.0] * self.n if x is None else x for x in (q, qd))
        options = {"link": link, "point": point, "frame": frame, "euler": euler}
        return kinematic_derivation(self.model, state, flag(letters, "letters"), **options)

    @checked
    def html(
        self, path: str | Path, q: Any = None, qd: Any = None, qdd: Any = None, **options: Any
    ) -> None:
        """Write the derivation as one self-contained page; `options` as for `derivation`."""
        write_page(self.derivation(q, qd, qdd, **options), path)

    def _lines(self) -> list[tuple[str, str]]:
        rows = []
        for letter, matrix in ((r"{}^{0}T", self.fk), ("J", self.jacobian)):
            rows += [(f"{letter}_{{{i + 1},{j + 1}}}", written(x)) for i, j, x in entries(matrix)]
        return rows

    def __str__(self) -> str:
        head = f"{self.robot_name}, {METHOD}: pose T of the tool, (v, w) = J qd"
        parts = [head, "\n".join(matrix_lines("T", self.fk))]
        parts.append("\n".join(matrix_lines("J", self.jacobian)))
        try:
            parts.append(f"det J = {text(self.determinant())}")
        except OptionError as error:
            parts.append(str(error))
        return "\n\n".join(parts)

    def __repr__(self) -> str:
        return f"Kinematic{super().__repr__()}"
