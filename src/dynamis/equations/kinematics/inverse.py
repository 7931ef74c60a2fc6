"""Closed-form inverse kinematics as written down: equations in order, branches, their numbers."""

import math
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
import sympy as sp

from ...arguments import checked, known_options, number, strict
from ...compile.arrays import numbers
from ...errors import ShapeError, SymbolError, shown
from ...ik.target import rigid
from ...model.model import Model
from ..derivation.steps import Item, Step
from ..render.math import symbol_latex
from .rows import Row

INSIDE = 1e-12  # below 0 by this a square is 0 to rounding


@strict
@dataclass
class HandInverse:
    """Closed-form inverse kinematics: steps, names in order, signs of the branches."""

    model: Model
    steps: list[tuple[str, str, list[Item]]] = field(default_factory=list)  # title, text, items
    names: list[tuple[sp.Symbol, Any]] = field(default_factory=list)
    signs: list[sp.Symbol] = field(default_factory=list)
    joints: dict[int, sp.Symbol] = field(default_factory=dict)
    reach: list[tuple[str, Any]] = field(default_factory=list)  # names and expressions
    needs: str = "pose"  # or "position"

    # -- written --------------------------------------------------------------------------------

    def step(self, title: str, text: str) -> None:
        """Begin a step."""
        self.steps.append((title, text, []))

    def let(self, name: str, value: Any) -> sp.Symbol:
        """An equation `name = value` of the present step; what follows may use the name."""
        symbol = self._free(name)
        self._write(symbol, symbol_latex(symbol.name), value)
        return symbol

    def _free(self, name: str) -> sp.Symbol:
        """A letter that the model does not use itself."""
        while name in self.model.symbols:
            name += "_h"
        return sp.Symbol(name, real=True)

    def _write(self, symbol: sp.Symbol, latex: str, value: Any) -> None:
        self.steps[-1][2].append(Item(latex, sp.sympify(value)))
        self.names.append((symbol, sp.sympify(value)))

    def sign(self, name: str) -> sp.Symbol:
        """A sign that is free: +1 or -1."""
        self.signs.append(self._free(name))
        return self.signs[-1]

    def turn(self, k: int, row: Row, theta: Any) -> sp.Symbol:
        """q of a revolute joint from its angle theta."""
        return self.joint(k, row.way * theta - row.offset)

    def joint(self, k: int, value: Any) -> sp.Symbol:
        """q of a joint; another symbol than the coordinate, printed alike."""
        symbol = sp.Symbol(f"q{k + 1}", extended_real=True)
        self._write(symbol, f"q_{{{k + 1}}}", value)
        self.joints[k] = symbol
        return symbol

    def derived(self, first: int, T: Any = None) -> list[Step]:
        """The steps, numbered; with a pose and all signs +1, numbers beside them."""
        known = {} if T is None else self.at_pose(T)
        found = []
        letters = ", ".join(s.name for s in self.signs)
        signs = f" Every choice of the signs {letters} = +1, -1 with real roots is a solution."
        for k, (title, text, items) in enumerate(self.steps):
            more = signs if k == len(self.steps) - 1 else ""
            values = tuple(replace(x, value=known.get(x.name)) for x in items)
            found.append(Step(first + k, title, text + more, (), values))
        return found

    def at_pose(self, T: Any) -> dict[str, float]:
        """Every equation by its LaTeX name, at a pose of the tool, all signs +1."""
        known = {s: float(T[i][j]) for s, (i, j) in target_names()}
        known |= dict.fromkeys(self.signs, 1.0)
        known |= {sp.Symbol(x, real=True): v for x, v in self.model.values.items()}
        found: dict[str, float] = {}
        items = [item for _, _, items in self.steps for item in items]
        for (symbol, x), item in zip(self.names, items, strict=True):
            value = complex(sp.N(x.xreplace(known)))
            real = value.imag**2 <= INSIDE
            known[symbol] = found[item.name] = value.real if real else math.nan
        return found

    # -- computed -------------------------------------------------------------------------------

    @checked
    def solve(self, T: Any, **values: float) -> np.ndarray:
        """Positions of the joints that put the tool at a pose (4, 4), one row per real branch.

        Symbols take the model's values, unless given here by name.
        """
        pose = _pose(T)
        what = f"robot {self.model.name!r} has no symbol"
        known_options(values, self.model.symbols, what)
        known = {**self.model.values, **{name: number(x, name) for name, x in values.items()}}
        missing = next((x for x in self.model.symbols if x not in known), None)
        if missing is not None:
            raise SymbolError(f"symbol {missing!r} has no value", f"solve(T, {missing}=1)")
        symbols = [sp.Symbol(x, real=True) for x in self.model.symbols]
        targets = [s for s, _ in target_names()]
        arguments = [*targets, *self.signs, *symbols]
        names = [(s, x) for s, x in self.names if s not in targets]
        own = {s: sp.Symbol(f"name{k}_", real=True) for k, (s, _) in enumerate(names)}
        steps = [(own[s], x.xreplace(own)) for s, x in names]
        shared: Any = lambda _: (steps, [own[self.joints[k]] for k in range(self.model.n)])  # noqa: E731
        whole = [self.joints[k] for k in range(self.model.n)]
        own_root = [{"sqrt": _root}, "numpy"]
        function = sp.lambdify(arguments, whole, own_root, cse=shared)
        at = [float(pose[i, j]) for _, (i, j) in target_names()]
        found: list[np.ndarray] = []
        for signs in product((1.0, -1.0), repeat=len(self.signs)):
            with np.errstate(invalid="ignore", divide="ignore"):
                q = np.array(function(*at, *signs, *(known[s.name] for s in symbols)), float)
            if np.isfinite(q).all() and not any(np.allclose(q, x, atol=1e-9) for x in found):
                turning = np.array([x == "revolute" for x in self.model.joint_kinds])
                q = np.where(turning, np.pi - (np.pi - q) % (2 * np.pi), q)
                found.append(q)
        return np.array(found).reshape(-1, self.model.n)


def _pose(T: Any) -> np.ndarray:
    """A checked pose."""
    expected = "expected one 4x4 pose of finite numbers"
    array = numbers(T, "T", expected)
    if array.shape != (4, 4) or not np.isfinite(array).all():
        raise ShapeError(f"T is {shown(T)}, {expected}")
    return rigid(array)


def _root(x: Any) -> Any:
    """A square root; of rounding below zero it is 0."""
    return np.sqrt(0.0 if -INSIDE < x < 0.0 else x)


def target_names() -> list[tuple[sp.Symbol, tuple[int, int]]]:
    """Letters of the entries of the pose that is asked for."""
    turns = [(f"r{i + 1}{j + 1}", (i, j)) for i in range(3) for j in range(3)]
    places = [(f"p_{x}", (i, 3)) for i, x in enumerate("xyz")]
    return [(sp.Symbol(name, real=True), at) for name, at in (*turns, *places)]
