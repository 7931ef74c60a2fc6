"""The determinant of a Jacobian as a product, where it vanishes, and which motion is lost there.

The determinant does not depend on the axes, nor that of all six rows on the point: it is taken
where the Jacobian is shortest. What is lost is read off the Jacobian at several positions where a
factor vanishes: what they have in common is said.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp

from ...dynamics import kinematics
from ...dynamics.kinematics import motions
from ...model.chain import Chain, chain
from ...model.model import Model
from ...spatial.frames import ORIGIN, Frame, compose, inverse
from ...spatial.functions import MATH
from ...spatial.rotations import transpose
from ...spatial.vectors import ZERO, cross, subtract
from ..derivation.setting import Setting
from ..render import math
from ..scalars.factor import factored
from ..scalars.scalars import coordinates
from .place import Place
from .steps import Target, rows_of

ROWS = 6
SAMPLES = 6  # positions that a sentence is read off
TRIES = 40
GRID = 181  # places at which a factor is looked at for a change of sign
TINY = 1e-7  # singular value, next to the largest, of what is lost
CLEAR = 1e-3  # and of what is not
SAME = 1e-5  # a direction, a moment or a rate that counts as zero
LENGTHS = (0.3, 1.0)  # m, of symbols without a value


@dataclass(frozen=True)
class Determinant:
    """det J of the rows that count: of a point, in the axes of a joint frame."""

    rows: tuple[int, ...]
    joint: int  # whose frame gives the axes, and the point of all six rows
    matrix: Any  # of polynomials
    factors: tuple[tuple[sp.Expr, int], ...]

    @property
    def expression(self) -> sp.Expr:
        """The product."""
        return sp.Mul(*(base**power for base, power in self.factors))

    @property
    def zeros(self) -> list[sp.Expr]:
        """Factors that contain coordinates."""
        return [base for base, _ in self.factors if joints_in(base)]


def joints_in(expression: Any) -> list[Any]:
    """Symbols q1, ... of an expression, in order."""
    found = [s for s in expression.free_symbols if math.COORDINATE.match(s.name)]
    return sorted(found, key=lambda s: int(s.name[1:]))


def determinant(s: Setting, t: Target) -> Determinant | None:
    """Where as many rows count as there are coordinates; None: there is no determinant."""
    n, best = s.model.n, None
    for k in sorted(t.moving):
        rows = seen_from(s, t, k, at_origin=n == ROWS)
        chosen = chosen_rows(rows, n)
        if chosen is None:
            continue
        found = [rows[r] for r in chosen]
        size = _size(found)
        if best is None or size < best[0]:
            best = size, k, chosen, found
    if best is None:
        return None
    _, k, chosen, found = best
    value = laplace(found)
    of = getattr(value, "alphabet", None)
    factors = factored(value, s.groups) if of is not None else [(sp.sympify(value), 1)]
    return Determinant(chosen, k, found, tuple(factors))


def _size(rows: Sequence[Sequence[Any]]) -> int:
    return sum(len(x) if hasattr(x, "terms") else 1 for row in rows for x in row if x)


def chosen_rows(rows: Sequence[Sequence[Any]], n: int) -> tuple[int, ...] | None:
    """Rows that move at all, linear ones or all, if they are as many as the coordinates."""
    moving = tuple(r for r in range(ROWS) if any(x for x in rows[r]))
    linear = tuple(r for r in moving if r < 3)
    if n == ROWS:
        return tuple(range(ROWS))
    return next((found for found in (linear, moving) if len(found) == n), None)


def seen_from(s: Setting, t: Target, k: int, at_origin: bool) -> list[list[Any]]:
    """The six rows in axes of joint frame k, of its origin or of the target's point."""
    path = s.chain.ancestors(t.link)[::-1]  # from the base
    steps = dict(enumerate(motions(s.chain, s.x, s.fn)))
    poses: dict[int, Frame] = {k: ORIGIN}
    place = path.index(k)
    for i in path[place + 1 :]:
        poses[i] = compose(poses[s.chain.joints[i].parent], steps[i])
    for i in reversed(path[:place]):
        child = path[path.index(i) + 1]
        poses[i] = compose(poses[child], inverse(steps[child]))
    p = ZERO if at_origin else compose(poses[path[-1]], t.offset).p
    pairs = []
    for i, joint in enumerate(s.chain.joints):
        if i not in poses:
            pairs.append((ZERO, ZERO))
            continue
        z = transpose(poses[i].R)[2]
        turns = joint.kind == "revolute"
        pairs.append((cross(z, subtract(p, poses[i].p)), z) if turns else (z, ZERO))
    return rows_of(s, pairs)


def laplace(rows: Sequence[Sequence[Any]]) -> Any:
    """A determinant by its minors; entries that are zero are left out."""
    known: dict[tuple[int, ...], Any] = {(): 1.0}

    def minor(columns: tuple[int, ...]) -> Any:
        """The last rows, as many as there are columns."""
        if columns not in known:
            total, row = 0.0, rows[len(rows) - len(columns)]
            for place, c in enumerate(columns):
                if row[c]:
                    rest = minor((*columns[:place], *columns[place + 1 :]))
                    total = total + (rest * row[c] if place % 2 == 0 else -(rest * row[c]))
            known[columns] = total
        return known[columns]

    return minor(tuple(range(len(rows[0]))))


# what is lost


@dataclass(frozen=True)
class Lost:
    """Sentence about a place where a factor vanishes."""

    factor: sp.Expr
    where: str  # coordinates at which it does, or nothing
    formula: str  # the same in LaTeX
    sentences: tuple[str, ...]


@dataclass
class Numeric:
    """A robot in floats, symbols without a value drawn."""

    model: Model
    place: Place
    found: Determinant
    seed: int = 0
    chain: Chain = field(init=False)
    values: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        drawn = {x: float(self.random.uniform(*LENGTHS)) for x in self.model.symbols}
        self.values = {**drawn, **self.model.values}
        self.chain = chain(replace(self.model, values=self.values))
        self.at = self.place.on(self.model, self.chain, MATH, self.values)
        self.tool_moves = self.place.link is None and self.place.point is None

    def function(self, factor: Any) -> Callable[[Any], float]:
        """A factor over q."""
        q = coordinates(self.model.n)[0]
        known = {s: self.values[s.name] for s in factor.free_symbols if s.name in self.values}
        return sp.lambdify([q], factor.xreplace(known), "math")

    def draw(self) -> np.ndarray:
        """A position."""
        return self.random.uniform(-2.5, 2.5, self.model.n)

    def zero_of(self, factor: Any) -> np.ndarray | None:
        """A position at which a factor vanishes; None: none was found."""
        from scipy.optimize import brentq, minimize_scalar

        f = self.function(factor)
        for symbol in self.random.permutation(
            np.array([int(s.name[1:]) - 1 for s in joints_in(factor)])
        ):
            q = self.draw()

            def along(x: float, q: np.ndarray = q, k: int = int(symbol)) -> float:
                q[k] = x
                return float(f(q))

            grid = np.linspace(-np.pi, np.pi, GRID) + 1e-3
            values = [along(x) for x in grid]
            size = max(abs(x) for x in values)
            pairs = [
                (a, b) for (a, u), (b, v) in pairwise(zip(grid, values, strict=True)) if u * v < 0
            ]
            if pairs:
                a, b = pairs[self.random.integers(len(pairs))]
                root: Any = brentq(along, a, b, xtol=1e-15)
                along(root)
                return q
            least = int(np.argmin(np.abs(values)))
            bounds = grid[max(least - 1, 0)], grid[min(least + 1, GRID - 1)]
            x = minimize_scalar(lambda x: abs(along(x)), bounds=bounds, method="bounded",
                                options={"xatol": 1e-12}).x  # fmt: skip
            if abs(along(float(x))) < 1e-9 * size:
                return q
        return None


def lost_motions(model: Model, place: Place, found: Determinant) -> Iterator[Lost]:
    """Sentences on the motion lost where each factor vanishes."""
    numeric = Numeric(model, place, found)
    for factor in found.zeros:
        samples = []
        for _ in range(TRIES):
            q = numeric.zero_of(factor)
            if q is None:
                break
            if (one := _sample(numeric, q)) is not None:
                samples.append(one)
            if len(samples) == SAMPLES:
                break
        where, formula = where_zero(factor)
        yield Lost(factor, where, formula, tuple(_sentences(numeric, samples)))


@dataclass(frozen=True)
class _Sample:
    """Losses of motion at one position: (sentence, subject) pairs, axes, joints."""

    ways: frozenset[tuple[str, str]]
    order: tuple[tuple[str, str], ...]
    axes: frozenset[str]
    joints: frozenset[int]


def _sample(numeric: Numeric, q: np.ndarray) -> _Sample | None:
    """The motion that is lost at q; None where more than one is."""
    c, n = numeric.chain, numeric.model.n
    J = np.array(kinematics.jacobian(c, q.tolist(), MATH, **numeric.at), float)
    frames = np.array(kinematics.frames(c, q.tolist(), MATH), float)
    T = np.array(kinematics.fk(c, q.tolist(), MATH, **numeric.at), float)
    joint = np.array(kinematics.fk(c, q.tolist(), MATH, link=numeric.found.joint), float)[:3, :3]
    turned = np.vstack([joint.T @ J[:3], joint.T @ J[3:]])
    rows = list(numeric.found.rows)
    scale = np.array([1.0] * 3 + [float(np.abs(J[:3]).max()) or 1.0] * 3)[rows]
    U, sizes, V = np.linalg.svd(scale[:, None] * turned[rows])
    if sizes[-1] > TINY * sizes[0] or (n > 1 and sizes[-2] < CLEAR * sizes[0]):
        return None
    u = np.zeros(ROWS)
    u[rows] = U[:, -1] * scale
    u = u / np.abs(u).max()
    force, moment = joint @ u[:3], joint @ u[3:]
    rates = np.abs(V[-1])
    joints = frozenset(np.flatnonzero(rates > SAME * rates.max()).tolist())
    body = "tool" if numeric.tool_moves else "place"
    ways: list[tuple[str, str]] = []
    direction = force
    if np.linalg.norm(force) < SAME:
        ways.append(("turn", body))
        direction = moment
    elif max(rows) < 3:
        ways.append(("move", body if body == "place" else "point"))
    else:
        for k in range(len(frames), 0, -1):
            p = T[:3, 3] if k == len(frames) else frames[k, :3, 3]
            name = body if k == len(frames) else f"frame {k}"
            if np.linalg.norm(moment + np.cross(T[:3, 3] - p, force)) < SAME:
                ways.append(("move", name))
        if not ways:
            ways, direction = _at_rest(J, T, frames, joints)
    axes = {
        f"{letter} {k}"
        for k, F in enumerate(frames)
        for letter, column in zip("xyz", F[:3, :3].T, strict=True)
        if np.linalg.norm(np.cross(column, direction)) < SAME * np.linalg.norm(direction)
    }
    return _Sample(frozenset(ways), tuple(ways), frozenset(axes), joints)


def _at_rest(
    J: np.ndarray, T: np.ndarray, frames: np.ndarray, joints: frozenset[int]
) -> tuple[list[tuple[str, str]], np.ndarray]:
    """A turn that is lost with the origin of a frame at rest: a wrist's."""
    for k in range(len(frames) - 1, 0, -1):
        d = frames[k, :3, 3] - T[:3, 3]
        v = J[:3] + np.cross(J[3:].T, d).T
        still = np.flatnonzero(np.linalg.norm(v, axis=0) < SAME)
        if joints <= {*still.tolist()} and len(still) > 2:
            U, sizes, _ = np.linalg.svd(J[3:, still])
            if sizes[-1] < TINY * 100:
                return [("rest", f"frame {k}")], U[:, -1]
    return [("screw", "tool")], np.ones(3)


def _sentences(numeric: Numeric, samples: Sequence[_Sample]) -> Iterator[str]:
    """Properties that all samples share, in words."""
    if not samples:
        yield "For these lengths it does not."
        return
    common = frozenset.intersection(*(x.ways for x in samples))
    axes = frozenset.intersection(*(x.axes for x in samples))
    way = next((x for x in samples[0].order if x in common), ("screw", "tool"))
    letter, _, number = min(axes, key=lambda x: int(x.split()[1]), default="").partition(" ")
    axis = f"{letter} of frame {number}"
    body = _body(way[1])
    if way[0] == "screw":
        yield "The tool loses one motion, which changes with the joints."
    elif not axes:
        yield f"{body} loses one direction, which changes with the joints."
    elif way[0] == "rest":
        yield f"{body.replace('The', 'With the', 1)} at rest, the tool cannot turn about {axis}."
    elif way[0] == "turn":
        yield f"{body} cannot turn about {axis}."
    else:
        yield f"{body} cannot move along {axis}."
    if len({x.joints for x in samples}) == 1 and samples[0].joints:
        names = ", ".join(str(k + 1) for k in sorted(samples[0].joints))
        many = len(samples[0].joints) > 1
        if many:
            yield f"Joints {names} can then move together while it stays."
        else:
            yield f"Joint {names} can then move while it stays."


def _body(name: str) -> str:
    if name.startswith("frame"):
        return f"The origin of {name}"
    return {"tool": "The tool", "point": "The origin of T", "place": "The origin of T"}[name]


def where_zero(factor: Any) -> tuple[str, str]:
    """Coordinates at which a factor vanishes, as text and in LaTeX; nothing where it is longer."""
    if factor.is_Symbol:
        return f"{math.text(factor)} = 0", f"{math.latex(factor)} = 0"
    if isinstance(factor, (sp.sin, sp.cos)):
        x = factor.args[0]
        text, latex = math.text(x), math.latex(x)
        if isinstance(factor, sp.sin):
            return f"{text} = 0, pi", rf"{latex} = 0, \, \pi"
        return f"{text} = -pi/2, pi/2", rf"{latex} = \pm \frac{{\pi}}{{2}}"
    found = factor.atoms(sp.sin, sp.cos)
    angles = {f.args[0] for f in found}
    if len(angles) == 1 and isinstance(factor, sp.Add):
        (x,) = angles
        a, b = factor.coeff(sp.cos(x)), factor.coeff(sp.sin(x))
        rest: Any = sp.expand(factor - a * sp.cos(x) - b * sp.sin(x))
        if rest == 0 and not joints_in(a) and not joints_in(b):
            top: Any = a
            ratio = sp.together(-top / b)
            return "", rf"\tan\left({math.latex(x)}\right) = {math.latex(ratio)}"
    return "", ""
