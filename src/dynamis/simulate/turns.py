"""Joints that turn back within a step."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..dynamics import equation
from ..spatial.functions import Functions
from .hold import masked_solve

if TYPE_CHECKING:
    from .plant import Plant


def reversals(
    plant: "Plant", x: SimpleNamespace, q: list[Any], qd: list[Any], h: Any, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Joints that turned back: on they go with friction the other way, or they hold.

    The stages kept pushing as before the turn. For the rest of the step the friction of a joint
    that goes on jumps by the width of its box; one that cannot go on against that rests.
    """
    n, rests = range(plant.chain.n), plant.friction_boxes(x, fn)
    back: list[Any] = [None] * plant.chain.n
    push, left, latest = [0.0] * plant.chain.n, [0.0] * plant.chain.n, 0.0
    for i in n:
        box = rests[i]
        if box is None:
            continue
        width = box[1] - box[0]
        back[i] = 1.0 * (x.direction[i] * qd[i] < 0.0) * (width > 0.0)
        left[i] = h * (1.0 - _share(x.qd[i], qd[i], fn))
        push[i] = fn.select(back[i], x.direction[i] * width * left[i], 0.0)
        latest = fn.max(latest, fn.select(back[i], left[i], 0.0))
    stuck = [None if b is None else 1.0 * (x.direction[i] == 0.0) for i, b in enumerate(back)]
    M = equation.mass_matrix(plant.chain, q, fn)
    momentum = [sum(m * v for m, v in zip(row, qd, strict=True)) for row in M]
    pushed = [a + p for a, p in zip(momentum, push, strict=True)]
    zeros = [0.0] * plant.chain.n
    trial = masked_solve(M, pushed, stuck, zeros, fn)
    stops, held = list(back), list(stuck)
    for i in n:
        if back[i] is not None:
            stops[i] = back[i] * (x.direction[i] * trial[i] >= 0.0)
            held[i] = fn.max(stuck[i], stops[i])
            pushed[i] = momentum[i] + fn.select(stops[i], 0.0, push[i])
    after = masked_solve(M, pushed, held, zeros, fn)
    event: Any = 0.0
    for b in back:
        event = event if b is None else fn.max(event, b)
    new_q, new_qd = [], []
    for i in n:
        moved_on = q[i] + 0.5 * latest * (after[i] - qd[i])
        if back[i] is not None:
            turn = _turning_point(x.q[i], x.qd[i], qd[i], h, fn)
            moved_on = fn.select(stops[i], turn, moved_on)
        new_q.append(fn.select(event > 0.0, moved_on, q[i]))
        new_qd.append(fn.select(event > 0.0, after[i], qd[i]))
    return new_q, new_qd


def _share(before: Any, after: Any, fn: Functions) -> Any:
    """The share of a step after which a velocity that changes evenly is zero, 0 to 1."""
    gap = before - after
    share = fn.select(gap == 0.0, 0.0, before / fn.select(gap == 0.0, 1.0, gap))
    return fn.max(0.0, fn.min(share, 1.0))


def _turning_point(q: Any, before: Any, after: Any, h: Any, fn: Functions) -> Any:
    """Where a joint that slows down evenly from `before` towards `after` comes to rest."""
    return q + 0.5 * h * before * _share(before, after, fn)
