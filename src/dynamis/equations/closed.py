"""Closed forms: the torque of one method as a polynomial, and M, C, g read off its terms.

tau_i = sum_j M_ij qdd_j + sum_jk c_ijk qd_j qd_k + g_i is linear in the accelerations and quadratic
in the velocities, so one run of the algorithm gives all of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import sympy as sp

from ..dynamics import coupling, energy, equation
from ..dynamics.elements import friction, loads, springs
from ..model.chain import Chain, Motor, Resistance
from ..spatial.rotations import multiply
from .scalars.polynomial import Alphabet, Polynomial, TooLongError
from .scalars.scalars import SYMPY, converted, coordinates, exactly, plain
from .scalars.simplify import grouped, readable, terms_of

BUDGET = 160_000  # products of terms: up to some seconds
LONGEST = 2_500  # terms of all torques together that are still written out
COMPARED = 60  # terms of a velocity torque up to which the shorter of two forms is looked for

Row = list[Polynomial]


@dataclass(frozen=True)
class Closed:
    """Polynomials of one robot: M_ij, c_ijk, g_i."""

    M: list[Row]
    c: list[list[Row]]
    g: Row


def closed(chain: Chain, method: str) -> Closed:
    """M, c and g of a chain over SymPy by a method; TooLongError if they are too long."""
    q, qd, qdd = coordinates(chain.n)
    alphabet = Alphabet(BUDGET)
    tau = over(alphabet, equation.inverse_dynamics, chain, q, qd, qdd, method=method)
    if (terms := sum(map(len, tau))) > LONGEST:
        raise TooLongError(f"the closed form has {terms} terms")
    return _split(tau, qd, qdd)


def over(
    alphabet: Alphabet, algorithm: Any, chain: Chain, *arguments: Sequence[Any],
    forces: tuple = (), **options: Any,
) -> Any:  # fmt: skip
    """A scalar-generic algorithm of the rigid arm over polynomials; flat results only."""
    lifted = [[alphabet.of(x) for x in values] for values in arguments]
    scalars = converted(replace(frictionless(chain), forces=forces), alphabet.of)
    result = algorithm(scalars, *lifted, fn=alphabet.functions(), **options)
    if isinstance(result, (list, tuple)):
        return [alphabet.of(x) for x in result]
    return alphabet.of(result)


def frictionless(chain: Chain) -> Chain:
    """The arm without friction, springs and loads: links and reflected rotors."""
    none = Resistance(0.0, 0.0, 0.0, 0.0, "coulomb", {})
    motors = tuple(
        Motor(m.row, 1.0, m.inertia, 0.0, 0.0, 0.0, 1.0, coupled=False) for m in chain.motors
    )
    return replace(chain, resistances=(none,) * chain.links, motors=motors, forces=(), loads=())


def _split(tau: Row, qd: list, qdd: list) -> Closed:
    alphabet, n = tau[0].alphabet, len(qd)
    letters = {alphabet.letter(x): k for k, x in enumerate((*qd, *qdd))}
    zero = alphabet.of(0)
    M = [[zero] * n for _ in range(n)]
    c = [[[zero] * n for _ in range(n)] for _ in range(n)]
    g = [zero] * n
    for i, p in enumerate(tau):
        for rates, part in by_letters(p, letters).items():
            if not rates:
                g[i] = part
            elif rates[0] >= n:
                M[i][rates[0] - n] = part
            else:
                j, k = rates
                c[i][j][k] = c[i][k][j] = part if j == k else part * Fraction(1, 2)
    return Closed(M, c, g)


def by_letters(p: Polynomial, letters: Mapping[int, int]) -> dict[tuple[int, ...], Polynomial]:
    """Coefficients of the products of some letters: {their numbers: polynomial in the others}."""
    parts: dict[tuple[int, ...], dict] = {}
    for monomial, number in p.terms.items():
        chosen = [letters[x] for x, power in monomial if x in letters for _ in range(power)]
        rest = tuple(item for item in monomial if item[0] not in letters)
        parts.setdefault(tuple(sorted(chosen)), {})[rest] = number
    return {key: Polynomial(p.alphabet, terms) for key, terms in parts.items()}


def single_term(chain: Chain, name: str, indices: Sequence[int], budget: int) -> Polynomial:
    """One entry of M, C, g, tau or the Christoffel symbols, by Newton-Euler.

    Only what the entry needs is set in motion. TooLongError if it takes more than the budget.
    """
    n, (i, *others) = chain.n, indices
    q, qd, qdd = coordinates(n)
    rest: list[Any] = [0] * n
    alphabet = Alphabet(budget)
    motion, weightless = {
        "M": ((rest, [int(k in others) for k in range(n)]), True),
        "C": ((qd, rest), True),
        "christoffel": (([v if k in others else 0 for k, v in enumerate(qd)], rest), True),
        "g": ((rest, rest), False),
        "tau": ((qd, qdd), False),
    }[name]
    arm = replace(chain, gravity=(0, 0, 0)) if weightless else chain
    tau = over(alphabet, equation.inverse_dynamics, arm, q, *motion)[i]
    if name not in ("C", "christoffel"):
        return tau
    parts = by_letters(tau, {alphabet.letter(v): k for k, v in enumerate(qd)})
    total, j = alphabet.of(0), others[0]
    for k in range(n) if name == "C" else others[1:]:
        p = parts.get((min(j, k), max(j, k)), alphabet.of(0))
        c = p if j == k else p * Fraction(1, 2)
        total = total + (c * qd[k] if name == "C" else c)
    return total


def parallel(chain: Chain) -> dict[Any, int]:
    """Angle of every revolute joint -> number of its set of parallel axes."""
    x = exactly(lambda c, q, fn: list(coupling.positions(c, q)), chain, coordinates(chain.n)[0])
    sets: dict[int, int] = {}
    axes: dict[tuple, int] = {}  # of joints on the same link
    for i, joint in enumerate(chain.joints):
        if joint.kind != "revolute":
            continue
        R, before = joint.placement.R, joint.parent
        while before >= 0 and chain.joints[before].kind != "revolute":
            R, before = multiply(chain.joints[before].placement.R, R), chain.joints[before].parent
        axis = tuple(sp.expand(row[2]) for row in R)
        along = before >= 0 and axis[:2] == (0, 0)
        sets[i] = sets[before] if along else axes.setdefault((before, axis), i)
    angles: dict[Any, int] = {}
    for i, number in sets.items():
        angles.setdefault(sp.sympify(x[i]), number)
    return angles


def velocity_torque(c: list[list[Row]], i: int, qd: list, groups: Mapping[Any, int]) -> Any:
    """sum c_ijk qd_j qd_k: by products of velocities, or with what they share in front."""
    pairs = [(j, k) for j in range(len(qd)) for k in range(j, len(qd)) if len(c[i][j][k])]
    parts = [c[i][j][k] if j == k else c[i][j][k] * 2 for j, k in pairs]
    by_pair = [readable(p, groups) * qd[j] * qd[k] for p, (j, k) in zip(parts, pairs, strict=True)]
    plain = sp.Add(*by_pair)
    if sum(len(p) for p in parts) > COMPARED:
        return plain
    rows = [
        (number, {**factor, **({qd[j]: 2} if j == k else {qd[j]: 1, qd[k]: 1})})
        for p, (j, k) in zip(parts, pairs, strict=True)
        for number, factor in terms_of(p, groups)
    ]
    return min((grouped(rows), plain), key=sp.count_ops)


def energy_form(chain: Chain, kind: str, groups: Mapping[Any, int]) -> Any:
    """T(q, qd) ("kinetic") or U(q) ("potential"); TooLongError if it is too long."""
    q, qd, _ = coordinates(chain.n)
    alphabet = Alphabet(BUDGET)
    if kind == "kinetic":
        total = over(alphabet, energy.kinetic_energy, chain, q, qd)
    else:
        total = over(alphabet, energy.potential_energy, chain, q)
    if len(total) > LONGEST:
        raise TooLongError(f"the {kind} energy has {len(total)} terms")
    parts = by_letters(total, {alphabet.letter(x): k for k, x in enumerate(qd)})
    return sp.Add(*(sp.Mul(readable(p, groups), *(qd[k] for k in r)) for r, p in parts.items()))


def friction_torque(chain: Chain) -> sp.Matrix:
    """Friction of every joint; equal Coulomb friction both ways as sign(qd)."""
    _, qd, _ = coordinates(chain.n)
    return sp.Matrix([signed(x) for x in exactly(friction.friction_torque, chain, qd)])


def load_shares(chain: Chain) -> list[Any]:
    """Friction per transmitted torque of every joint, of the sign of the motion."""
    _, qd, _ = coordinates(chain.n)
    return [signed(x) for x in exactly(friction.load_shares, chain, qd)]


def load_torque(chain: Chain) -> sp.Matrix:
    """Torque against loads of one's own."""
    q, qd, _ = coordinates(chain.n)
    return sp.Matrix(exactly(loads.load_torque, chain, q, qd))


def load_energy(chain: Chain) -> Any:
    """Energy of the loads that say theirs."""
    q, _, _ = coordinates(chain.n)
    return exactly(loads.load_energy, chain, q)


class SpringPart(NamedTuple):
    """A spring over SymPy: its length or angle, how that is written, tension and slopes."""

    spring: Any
    length: Any
    letter: Any
    force: Any  # with damping
    slopes: list[Any]  # of the length, by coordinate


def spring_parts(
    chain: Chain, groups: Mapping[Any, int], letter: Callable[[int], Any] | None = None
) -> list[SpringPart]:
    """Every spring, lengths between points written as `letter(number)` or as they are."""
    q, qd, _ = coordinates(chain.n)
    found = []
    for k, (spring, length) in enumerate(_lengths(chain, groups), 1):
        inside = length.args[0] if isinstance(length, sp.Pow) else None
        own = length if letter is None or inside is None else letter(k)
        if inside is None:
            slopes = [sp.diff(length, a) for a in q]
        else:  # dl/dq = (dl^2/dq) / 2 l
            slopes = [sp.diff(inside, a) / (2 * own) for a in q]
        parts = [*springs.tensions(spring, own, SYMPY)]
        if len(spring.coefficients) > len(parts):
            parts.append(sum(a * b for a, b in zip(slopes, qd, strict=True)))
        F = sum(c * part for c, part in zip(spring.coefficients, parts, strict=True))
        found.append(SpringPart(spring, length, own, F, slopes))
    return found


def spring_torque(chain: Chain, groups: Mapping[Any, int]) -> sp.Matrix:
    """Torque against the springs: tension times dl/dq."""
    total = sp.zeros(chain.n, 1)
    for part in spring_parts(chain, groups):
        total += sp.Matrix([part.force * slope for slope in part.slopes])
    return total


def stored_energy(spring: Any, length: Any) -> Any:
    """Energy of one spring."""
    parts = springs.energies(spring, length, SYMPY)
    return sum(c * part for c, part in zip(spring.coefficients, parts, strict=False))


def spring_energy(chain: Chain, groups: Mapping[Any, int]) -> Any:
    """Energy of the springs."""
    pairs = _lengths(chain, groups)
    return sum((stored_energy(spring, length) for spring, length in pairs), sp.Integer(0))


def _lengths(chain: Chain, groups: Mapping[Any, int]) -> list[tuple[Any, Any]]:
    """Every spring over SymPy with its length, or its angle."""
    q = coordinates(chain.n)[0]
    x = [sp.sympify(plain(a)) for a in coupling.positions(chain, q)]
    own = converted(chain, plain).springs
    alphabet = Alphabet(BUDGET)
    squares = iter(over(alphabet, springs.squared_lengths, chain, q, forces=chain.springs))
    return [
        (s, x[s.joint] if s.joint >= 0 else sp.sqrt(readable(next(squares), groups))) for s in own
    ]


def signed(expr: Any) -> Any:
    """max(0, -s) as max(0, s) - s if then no max is left; s x as |x| for s = sign(x)."""

    def pairs(e: Any) -> list[Any]:
        return [x for x in e.args if x.is_Symbol and sp.sign(x) in e.args]

    def absolute(product: Any) -> Any:
        own = pairs(product)
        rest = [x for x in product.args if x not in own and x not in map(sp.sign, own)]
        return sp.Mul(*rest, *map(sp.Abs, own))

    expr = sp.sympify(expr)
    expr = expr.replace(lambda e: isinstance(e, sp.Mul) and bool(pairs(e)), absolute)
    other = sp.expand(one_sided(expr))
    return expr if other.has(sp.Max) else other


def one_sided(expr: Any) -> Any:
    """max(0, -s) as max(0, s) - s."""
    shapes = {a for m in expr.atoms(sp.Max) for a in m.args if a.could_extract_minus_sign()}
    return expr.xreplace({sp.Max(0, s): sp.Max(0, -s) + s for s in shapes})
