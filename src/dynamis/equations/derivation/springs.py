"""Springs and friction under load of a derivation, in closed form."""

from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from ...model.model import Model
from .. import closed
from ..scalars.scalars import coordinates, symbolic_chain

TITLE, TOTAL = "Springs", "Equation of motion with springs"
TEXT = (
    "A spring between two points has a length l that the joints change; its tension F pulls the "
    "points together. At a joint l is the joint's angle and F a moment. The energy U stored in it "
    "grows by F dl, so the joints feel F times the slope of l; damping adds to F with l's rate."
)
FORMULAS = (
    r"l = \left| p_{\mathrm{to}} - p_{\mathrm{from}} \right|",
    r"F = \frac{\partial U_{\mathrm{s}}}{\partial l}",
    r"\tau_{\mathrm{s},i} = \sum F \, \frac{\partial l}{\partial q_{i}}",
)
TOTAL_TEXT = "The torques of the steps before, and those that hold the springs."


@dataclass(frozen=True)
class SpringTerms:
    """Expressions of a model's springs, written with letters for lengths and tensions."""

    model: Model
    letters: tuple[tuple[Any, Any], ...]  # (letter, what it stands for), lengths first
    energy: Any
    torque: tuple[Any, ...]  # of every coordinate

    @property
    def items(self) -> list[tuple[str, Any]]:
        """(LaTeX name, expression) of everything, in the order of the text."""
        torques = [(rf"\tau_{{\mathrm{{s}},{i}}}", x) for i, x in enumerate(self.torque, 1)]
        found = [(sp.latex(letter), x) for letter, x in self.letters]
        return [*found, (r"U_{\mathrm{s}}", self.energy), *torques]

    def value(self, expression: Any, state: Any) -> float:
        """A number at (q, qd, qdd), symbols having the model's values."""
        whole = sp.sympify(expression)
        for letter, meaning in reversed(self.letters):
            whole = whole.subs(letter, meaning)
        return value_at(self.model, whole, state)


def value_at(model: Model, expression: Any, state: Any) -> float:
    """A number at (q, qd, qdd), symbols having the model's values."""
    whole = sp.sympify(expression)
    rows = zip(coordinates(model.n), state, strict=True)
    known = {str(s): x for row, values in rows for s, x in zip(row, values, strict=True)}
    known |= model.values
    return float(whole.subs({s: known[str(s)] for s in whole.free_symbols}))


def spring_terms(model: Model) -> SpringTerms:
    """Length and tension of every spring, their energy, their torques."""
    chain, taken = symbolic_chain(model), set(model.symbols)
    lengths, forces, energy = [], [], sp.Integer(0)
    torque = [sp.Integer(0)] * model.n
    parts = closed.spring_parts(chain, closed.parallel(chain), lambda k: _letter(f"l{k}", taken))
    for k, part in enumerate(parts, 1):
        F = _letter(f"F{k}", taken)
        if part.letter != part.length:
            lengths.append((part.letter, part.length))
        forces.append((F, sp.sympify(part.force)))
        energy += closed.stored_energy(part.spring, part.letter)
        torque = [t + F * slope for t, slope in zip(torque, part.slopes, strict=True)]
    return SpringTerms(model, (*lengths, *forces), energy, tuple(torque))


def _letter(name: str, taken: set[str]) -> Any:
    """A symbol that the model does not use itself."""
    while name in taken:
        name = f"{name[0]}s{name[1:]}"
    return sp.Symbol(name, real=True)


LOAD_TITLE = "Friction under load"
LOAD_TEXT = (
    "A joint that transmits the torque T, all it needs but friction, rubs by a share of T more, "
    "against the motion."
)
LOAD_FORMULAS = (
    r"T_{i} = \tau_{i} - \tau_{\mathrm{f},i} \quad \text{of the step before}",
    r"\tau_{i} = T_{i} + \tau_{\mathrm{f},i} + s_{i} \left| T_{i} \right|",
)


def load_terms(model: Model) -> list[tuple[Any, Any]]:
    """Share of the transmitted torque, and friction without it, of every coordinate."""
    chain = symbolic_chain(model)
    shares, rubs = closed.load_shares(chain), closed.friction_torque(chain)
    return [(share, rubs[i]) for i, share in enumerate(shares)]


def bare(model: Model) -> Model:
    """The arm without springs, its friction without load."""
    return replace(unloaded(model), springs=())


def unloaded(model: Model) -> Model:
    """The arm with friction that no load changes."""
    links = [
        replace(x, friction=replace(x.friction, load=0.0)) if x.friction.load != 0.0 else x
        for x in model.links
    ]
    return replace(model, links=tuple(links))
