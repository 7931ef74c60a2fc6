"""Joints that hold: Coulomb friction and joint stops as bounded forces.

With f the force of friction and stops, M qdd = r - f, a joint at rest obeys

    qdd = 0 and lowest <= f <= highest, or qdd > 0 and f = highest, or qdd < 0 and f = lowest

The joints at rest are coupled through M, so this is one small boxed problem. It is solved by
exchanging wrong guesses: a joint that holds beyond its bound slides, one that slides backwards
holds. A guess that no sweep changes is the solution, and for a positive definite M there is only
one.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..dynamics.constant import zero
from ..dynamics.linear_solve import solve
from ..spatial.functions import Functions

Scalars = Sequence[Any]
SWEEPS = 4  # from the guess of the step before; what is still wrong then goes on in the next step
RELEASES = 2  # of these the last only let go: no joint ever holds more than it can


class Box(NamedTuple):
    """Bounds of a joint's holding force, and whether it may hold at all."""

    lowest: Any
    highest: Any
    holds: Any


def masked_solve(
    M: Sequence[Scalars], b: Scalars, held: Scalars, values: Scalars, fn: Functions
) -> list[Any]:
    """x from M x = b for the free entries, x = values exactly where `held` (None: never held)."""
    size = range(len(b))
    if all(h is None for h in held):
        return solve(M, b, fn)
    A: list[list[Any]] = [[0.0] * len(b) for _ in size]
    for i in size:
        for j in range(i + 1):
            entry = M[i][j]
            for h in {i, j}:
                if held[h] is not None:
                    entry = fn.select(held[h], float(i == j), entry)
            A[i][j] = A[j][i] = entry
    rhs = []
    for i in size:
        free = b[i]
        for j in size:
            if held[j] is not None and not zero(values[j]):
                free = free - fn.select(held[j], M[i][j] * values[j], 0.0)
        rhs.append(free if held[i] is None else fn.select(held[i], values[i], free))
    x = solve(A, rhs, fn)
    return [x[i] if held[i] is None else fn.select(held[i], values[i], x[i]) for i in size]


def directions(
    M: Sequence[Scalars],
    r: Scalars,
    boxes: Sequence[Box | None],
    guess: Scalars,
    fn: Functions,
) -> list[Any]:
    """-1, 0 or 1 for every joint at rest: where it starts to move, 0 if it holds.

    `r` is the torque left for friction and acceleration; `guess` the answer of the step before.
    Joints whose box is None, or does not hold, are free.
    """
    size = range(len(r))
    d = [0.0 if box is None else g for box, g in zip(boxes, guess, strict=True)]
    zeros = [0.0] * len(r)
    for sweep in range(SWEEPS):
        held = [_held(box, d[i]) for i, box in enumerate(boxes)]
        push = [
            ri if box is None else ri - _bound(box, di, fn)
            for ri, box, di in zip(r, boxes, d, strict=True)
        ]
        qdd = masked_solve(M, push, held, zeros, fn)
        for i in size:
            box = boxes[i]
            if box is None:
                continue
            f = r[i] - sum(M[i][j] * qdd[j] for j in size)
            over = fn.select(f > box.highest, 1.0, fn.select(f < box.lowest, -1.0, 0.0))
            kept = d[i] if sweep >= SWEEPS - RELEASES else fn.select(d[i] * qdd[i] < 0.0, 0.0, d[i])
            d[i] = fn.select(d[i] == 0.0, over, kept)
    return d


def _held(box: Box | None, d: Any) -> Any:
    """A condition as a number: CasADi's `and` is spelled as a product."""
    return None if box is None else box.holds * (d == 0.0)


def _bound(box: Box, d: Any, fn: Functions) -> Any:
    """Friction of a joint at rest that starts to move in direction d."""
    edge = fn.select(d > 0.0, box.highest, fn.select(d < 0.0, box.lowest, 0.0))
    return fn.select(box.holds > 0.0, edge, 0.0)
