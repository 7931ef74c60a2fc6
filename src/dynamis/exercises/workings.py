"""Worked solutions: the steps from the given numbers to the answers.

Every formula is derived by the package over SymPy, once for each question; the numbers of a student
are then put in. A step whose symbols are not all known is a general formula, without numbers.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import sympy as sp
from sympy.printing.latex import LatexPrinter

from ..dynamics import kinematics
from ..equations.closed import parallel
from ..equations.equations import Equations
from ..equations.render.formula import plain
from ..equations.render.math import scientific, symbol_latex, terms
from ..equations.scalars.scalars import coordinates, exactly, symbolic_chain
from ..equations.scalars.simplify import tidy
from ..model.drive import Drive
from ..robot import Robot, load
from ..trajectory.polynomial import basis, horner
from .exercise import DIGITS, rounded
from .questions import QUESTIONS, SCALES, G, NumberDraw, bar, planar_robot, point_mass

BETWEEN = DIGITS + 1  # significant digits of intermediate results
NOTHING = 1e-12  # rounding
PLACE = re.compile("⟦(.*?)⟧")
FIRST = re.compile(r"(^|\\left\()\((-[^()]*)\)(?!\^)")  # a negative number needs no brackets
NAMES = {
    "r2": "r^{2}", "qd": r"\dot{q}", "qdd": r"\ddot{q}",
    "qd_max": r"\dot{q}_{\mathrm{max}}", "qdd_max": r"\ddot{q}_{\mathrm{max}}",
}  # fmt: skip


class WorkingStep(NamedTuple):
    """A symbol, what it is, and its unit."""

    name: str
    formula: Any
    unit: str = ""


@dataclass(frozen=True)
class Line:
    """One line of a working: name = formula = numbers put in = value and unit.

    `name`, `formula` and `numbers` are LaTeX; a general formula has neither numbers nor a value.
    `text` says why, in the language of the exercise.
    """

    text: str
    name: str
    formula: str
    numbers: str
    value: float | None
    unit: str
    digits: int

    @property
    def sides(self) -> list[str]:
        """What stands right of each equals sign, in LaTeX."""
        sides = [self.formula, self.numbers]
        if self.value is not None:
            unit = rf" \; \text{{{self.unit}}}" if self.unit else ""
            sides.append(_number(self.value, self.digits) + unit)
        return [side for side in sides if side]

    def latex(self) -> str:
        """For math mode, one equals sign below the other."""
        rows = r" \\ ".join(f"&= {side}" for side in self.sides)
        return rf"\begin{{aligned}} {self.name} {rows} \end{{aligned}}"

    def __str__(self) -> str:
        """Plain text, one equals sign below the other."""
        name, first, *rest = map(_plain, (self.name, *self.sides))
        return "\n".join([f"{name} = {first}", *(f"{' ' * len(name)} = {x}" for x in rest)])


def worked(
    name: str, draw: NumberDraw, said: Mapping[str, str], answers: Mapping[str, str]
) -> tuple[Line, ...]:
    """The lines of a question with a student's numbers.

    `said` has the texts of steps by name; `answers` what the steps that are answers are called.
    """
    values = {"g": G} | {k: x * SCALES.get(k, 1.0) for k, x in draw.numbers.items()}
    shown = {k: f"{x:g}" for k, x in values.items()}
    for angle in draw.angles:
        values[angle] = math.radians(values[angle])
        shown[angle] += r"^{\circ}"
    lines = []
    for step in steps(name):
        digits = DIGITS if step.name in answers else BETWEEN
        symbols = _symbols(step.formula)
        formula = _filled(step.formula, r" \, ", {x: _latex(x) for x in symbols})
        value, put_in = None, ""
        if all(x in values for x in symbols):
            value = _function(step.formula)(*(values[x] for x in symbols))
            value = 0.0 if abs(value) < NOTHING else value
            put_in = _filled(step.formula, r" \cdot ", {x: _bracketed(shown[x]) for x in symbols})
            values[step.name], shown[step.name] = value, _number(value, BETWEEN)
        called = _latex(answers.get(step.name, step.name))
        put_in = put_in if symbols else ""
        line = Line(said.get(step.name, ""), called, formula, put_in, value, step.unit, digits)
        lines.append(line)
    return tuple(lines)


def _plain(latex: str) -> str:
    return plain(latex.replace(r"\omega", r"\text{omega}"))  # w is another symbol


def _number(value: float, digits: int) -> str:
    return scientific(rounded(value, digits))


def _bracketed(number: str) -> str:
    return f"({number})" if number.startswith("-") or r"\cdot" in number else number


def _latex(name: str) -> str:
    return NAMES.get(name) or symbol_latex(name)


@cache
def _symbols(formula: sp.Expr) -> list[str]:
    return sorted(str(x) for x in formula.free_symbols)


@cache
def _function(formula: sp.Expr) -> Callable[..., float]:
    return sp.lambdify([sp.Symbol(x, real=True) for x in _symbols(formula)], formula, "math")


def _filled(formula: sp.Expr, times: str, texts: Mapping[str, str]) -> str:
    """A formula in LaTeX with a text for each symbol."""
    found = PLACE.sub(lambda place: texts[place[1]], _template(formula, times))
    return FIRST.sub(r"\1\2", found)


@cache
def _template(formula: sp.Expr, times: str) -> str:
    """A formula in LaTeX with places for its symbols."""
    return _Printer({"mul_symbol": times, "order": "none"}).doprint(_ordered(formula))


def _ordered(formula: Any) -> Any:
    """A formula whose sums begin with what is added, if anything is."""
    if isinstance(formula, sp.Add):
        found = [_ordered(x) for x in terms(formula)]
        if found[0].could_extract_minus_sign():
            found = sorted(found, key=lambda x: x.could_extract_minus_sign())
        return sp.Add(*found, evaluate=False)
    if isinstance(formula, (sp.Mul, sp.Pow)) and not formula.is_number:
        return formula.func(*map(_ordered, formula.args), evaluate=False)
    return formula


class _Printer(LatexPrinter):
    def _print_Symbol(self, expr: sp.Symbol, style: str = "plain") -> str:
        return f"⟦{expr.name}⟧"

    def _print_acos(self, expr: Any, exp: Any = None) -> str:
        return self._called("acos", expr)

    def _print_atan2(self, expr: Any, exp: Any = None) -> str:
        return self._called("atan2", expr)

    def _called(self, name: str, expr: Any) -> str:
        inside = ", ".join(map(self._print, expr.args))
        return rf"\operatorname{{{name}}}\left({inside} \right)"


# steps


@cache
def steps(name: str) -> tuple[WorkingStep, ...]:
    """The steps of a question over symbols; those of the answers carry their names."""
    return tuple(STEPS[name]())


def symbol(name: str) -> sp.Symbol:
    """A real number."""
    return sp.Symbol(name, real=True)


@cache
def bars() -> Robot:
    """Two bars of any lengths and masses."""
    return planar_robot(bar("L1", "m1"), bar("L2", "m2"))


@cache
def motion() -> Equations:
    """Of two bars."""
    return bars().equations(gravity="g")


def position() -> list[Any]:
    """x and y of the tool."""
    return [row[3] for row in geometry(kinematics.fk)]


def jacobian() -> list[WorkingStep]:
    """Entries of the Jacobian, row by row."""
    rows = geometry(kinematics.jacobian)
    return [WorkingStep(f"J{r + 1}{c + 1}", rows[r][c], "m") for r in range(2) for c in range(2)]


@cache
def geometry(algorithm: Any) -> list[list[Any]]:
    """The first two rows of a matrix of the two bars."""
    chain = symbolic_chain(bars().model)
    rows = exactly(algorithm, chain, coordinates(2)[0])[:2]
    return [[tidy(x, parallel(chain)) for x in row] for row in rows]


def entries(letter: str) -> sp.Matrix:
    """A matrix of the symbols that steps gave names to."""
    return sp.Matrix(2, 2, lambda r, c: symbol(f"{letter}{r + 1}{c + 1}"))


def forward_kinematics() -> list[WorkingStep]:
    """Where the tool is."""
    return [WorkingStep(name, x, "m") for name, x in zip("xy", position(), strict=True)]


def inverse_kinematics() -> list[WorkingStep]:
    """Angles from the position, by the cosine of the second."""
    x, y, c2, s2, k1, k2, q1, q2 = map(symbol, ("x", "y", "c2", "s2", "k1", "k2", "q1", "q2"))
    tool = position()
    ahead = [p.subs(q1, 0) for p in tool]  # the distance does not depend on q1
    square = tidy(ahead[0] ** 2 + ahead[1] ** 2).subs(sp.cos(q2), c2)
    ahead = [p.subs({sp.cos(q2): c2, sp.sin(q2): s2}) for p in ahead]
    return [
        WorkingStep("r2", square),
        WorkingStep("c2", sp.solve(x**2 + y**2 - square, c2)[0]),
        WorkingStep("s2", sp.sqrt(1 - c2**2)),
        WorkingStep("q2", sp.atan2(s2, c2), "rad"),
        WorkingStep("k1", ahead[0], "m"),
        WorkingStep("k2", ahead[1], "m"),
        WorkingStep("q1", sp.atan2(y, x) - sp.atan2(k2, k1), "rad"),
    ]


def tool_velocity() -> list[WorkingStep]:
    """v = J qd"""
    v = entries("J") * sp.Matrix(coordinates(2)[1])
    return [*jacobian(), WorkingStep("vx", v[0], "m/s"), WorkingStep("vy", v[1], "m/s")]


def statics() -> list[WorkingStep]:
    """tau = J^T F"""
    tau = entries("J").T * sp.Matrix([symbol("Fx"), symbol("Fy")])
    return [*jacobian(), WorkingStep("tau1", tau[0], "N m"), WorkingStep("tau2", tau[1], "N m")]


def gravity_torques() -> list[WorkingStep]:
    """Slopes of the potential energy."""
    found = bars().with_payload("mL").equations(gravity="g")
    torques = [WorkingStep(f"tau{i + 1}", found.g[i], "N m") for i in range(2)]
    return [WorkingStep("U", found.potential_energy, "J"), *torques]


def inertias() -> list[WorkingStep]:
    """M11, M12, M22"""
    M = motion().M
    return [WorkingStep(f"M{r + 1}{c + 1}", M[r, c], "kg m²") for r, c in ((0, 0), (0, 1), (1, 1))]


def mass_matrix() -> list[WorkingStep]:
    """Of the kinetic energy."""
    return [WorkingStep("T", motion().kinetic_energy), *inertias()]


def velocity_torques() -> list[Any]:
    """C qd by the one Christoffel symbol that two bars have."""
    c, qd, h = motion().christoffel, motion().qd, symbol("h")
    pairs = [(j, k) for j in range(2) for k in range(2)]

    def ratio(i: int, j: int, k: int) -> Any:
        entry: Any = c[i, j, k]
        return sp.cancel(entry / c[1, 0, 0])

    return [
        sp.factor(h * sp.Add(*(ratio(i, j, k) * qd[j] * qd[k] for j, k in pairs))) for i in range(2)
    ]


def christoffel() -> WorkingStep:
    """h = c_211"""
    return WorkingStep("h", motion().christoffel[1, 0, 0], "kg m²")


def coriolis() -> list[WorkingStep]:
    """Torques of velocities alone."""
    return [
        christoffel(),
        *(WorkingStep(f"tau{i + 1}", x, "N m") for i, x in enumerate(velocity_torques())),
    ]


def weights() -> list[WorkingStep]:
    """g1, g2"""
    return [WorkingStep(f"g{i + 1}", motion().g[i], "N m") for i in range(2)]


def inertia_matrix() -> sp.Matrix:
    """M of symbols."""
    return entries("M").subs(symbol("M21"), symbol("M12"))


def inverse_dynamics() -> list[WorkingStep]:
    """tau = M qdd + C qd + g"""
    inertial = inertia_matrix() * sp.Matrix(motion().qdd)
    torques = [
        WorkingStep(f"tau{i + 1}", inertial[i] + x + symbol(f"g{i + 1}"), "N m")
        for i, x in enumerate(velocity_torques())
    ]
    return [*inertias(), christoffel(), *weights(), *torques]


def release() -> list[WorkingStep]:
    """qdd = -M^-1 g, by the determinant."""
    M, g, D = inertia_matrix(), sp.Matrix([symbol("g1"), symbol("g2")]), symbol("D")
    above = -M.adjugate() * g
    found = [WorkingStep(f"qdd{i + 1}", above[i] / D, "rad/s²") for i in range(2)]
    return [*inertias(), *weights(), WorkingStep("D", M.det(), "kg² m⁴"), *found]


def polar() -> list[WorkingStep]:
    """Torque and force."""
    eq = load("polar-rp").equations()
    names = dict(zip((eq.q[1], *eq.qd, *eq.qdd), ("r", "w", "v", "alpha", "a"), strict=True))
    tau = eq.tau.subs({old: symbol(new) for old, new in names.items()})
    return [WorkingStep("tau", tau[0], "N m"), WorkingStep("F", tau[1], "N")]


def pendulum() -> list[WorkingStep]:
    """From the energy of the fall to the velocity."""
    eq = planar_robot(bar("L", "m")).with_payload("mE").equations(gravity="g")
    level, lowest = (eq.potential_energy.subs(eq.q[0], x) for x in (0, -sp.pi / 2))
    W, J = symbol("W"), symbol("J")
    kinetic = eq.kinetic_energy.subs(eq.qd[0], symbol("omega")).subs(eq.M[0], J)
    omega = sp.Pow(2 * W / J, sp.Rational(1, 2), evaluate=False)
    return [
        WorkingStep("W", sp.factor(level - lowest), "J"),
        WorkingStep("J", eq.M[0], "kg m²"),
        WorkingStep("T", kinetic),
        WorkingStep("omega", omega, "rad/s"),
    ]


def gear() -> list[WorkingStep]:
    """Inertia at the joint, its torque and that of the motor."""
    link = replace(bar("L", "m"), drive=Drive(gear="N", rotor_inertia="Jm"))
    J, qdd, N, tau = map(symbol, ("J", "qdd", "N", "tau"))
    return [
        WorkingStep("J", planar_robot(link, gravity=0.0).equations().M[0], "kg m²"),
        WorkingStep("tau", J * qdd, "N m"),
        WorkingStep("tau_m", tau / N, "N m"),
    ]


def pd_design() -> list[WorkingStep]:
    """By comparison of coefficients."""
    J, B, w, T, s, kp, kd = map(symbol, ("J", "B", "w", "T", "s", "kp", "kd"))
    P = sp.collect(sp.expand((J * s + B) * s + kp + kd * s), s)
    found = sp.solve(sp.Poly(P - J * (s + w) ** 2, s).coeffs(), [kp, kd])
    return [
        WorkingStep("P", P),
        WorkingStep("kp", found[kp], "N m/rad"),
        WorkingStep("kd", found[kd], "N m s/rad"),
        WorkingStep("e", T / P.subs(s, 0), "rad"),
    ]


def quintic_peaks() -> list[WorkingStep]:
    """Where the next derivative is zero."""
    D, T, u = map(symbol, ("D", "T", "u"))
    rising = sp.expand(horner([sp.Integer(round(x)) for x in basis(3)[0][0]], 1 - u))
    q, qd, qdd = (sp.factor(D * sp.diff(rising, u, k) / T**k) for k in range(3))
    fast = next(x for x in sp.solve(sp.diff(qd, u), u) if 0 < x < 1)
    hard = min(x for x in sp.solve(sp.diff(qdd, u), u) if 0 < x < 1)
    return [
        WorkingStep("q", q),
        WorkingStep("qd", qd),
        WorkingStep("qdd", qdd),
        WorkingStep("u1", fast),
        WorkingStep("qd_max", qd.subs(u, fast), "rad/s"),
        WorkingStep("u2", hard),
        WorkingStep("qdd_max", sp.simplify(qdd.subs(u, hard)), "rad/s²"),
    ]


def moment_from_torques() -> list[WorkingStep]:
    """Two equations for two unknowns."""
    eq = planar_robot(point_mass("mc")).equations(gravity="g")
    mc, offset, q, t0, t1 = map(symbol, ("mc", "offset", "q", "t0", "t1"))
    weight: Any = eq.g[0]
    torque = weight.subs(eq.q[0], q) + offset
    found = sp.solve([torque.subs(q, 0) - t0, torque - t1], [mc, offset])
    above, below = sp.fraction(found[mc])
    return [
        WorkingStep("t", torque),
        WorkingStep("mc", sp.expand(-above) / sp.expand(-below), "kg m"),
        WorkingStep("offset", sp.solve(torque.subs(q, 0) - t0, offset)[0], "N m"),
    ]


STEPS: Mapping[str, Callable[[], list[WorkingStep]]] = {  # the function above of a question's name
    name: globals()[name.replace("-", "_")] for name in QUESTIONS
}
