"""Joints that meet their stops within a step."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..dynamics import equation
from ..spatial.functions import Functions
from .hold import masked_solve

if TYPE_CHECKING:
    from .plant import Plant

Scalars = Sequence[Any]
SLOW = 4.0  # steps of acceleration: impacts this slow are pushes
REBOUND = 0.01  # rad/s or m/s below which a joint comes to rest at its stop


def impacts(
    plant: "Plant", x: SimpleNamespace, q: list[Any], qd: list[Any], h: Any, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Joints that met their stops, and what the impact does to the others."""
    speed, target = list(qd), [0.0] * plant.chain.n
    hits: list[Any] = [None] * plant.chain.n
    since: list[Any] = [0.0] * plant.chain.n
    back: list[Any] = [0.0] * plant.chain.n
    place, event, hard = list(q), 0.0, 0.0
    for i, stop in enumerate(plant.stops):
        if stop is None:
            continue
        out = (q[i] > stop[1]) * (qd[i] > 0.0) + (q[i] < stop[0]) * (qd[i] < 0.0)
        place[i] = fn.max(stop[0], fn.min(q[i], stop[1]))
        since[i] = _since(q[i] - place[i], x.qd[i], qd[i], h, fn)
        speed[i] = fn.select(out, qd[i] + (x.qd[i] - qd[i]) * since[i], qd[i])
        back[i] = _rebound(plant, speed[i], out, fn)
        gain = fn.select(back[i] == 0.0, 0.0, qd[i] - speed[i])  # in the rest of the step
        target[i] = back[i] + gain
        hits[i] = 1.0 * out
        event = fn.max(event, hits[i])
        gained = SLOW * (qd[i] - x.qd[i])  # slower: resting joints take no notice
        hard = fn.max(hard, hits[i] * (speed[i] * speed[i] > gained * gained))
    held = []
    for i, can in enumerate(plant.holds):
        rests = (qd[i] == 0.0) * (hard == 0.0) * 1.0 if can else None
        held.append(rests if hits[i] is None else fn.max(hits[i], rests))
    M = equation.mass_matrix(plant.chain, place, fn)
    momentum = [sum(m * v for m, v in zip(row, speed, strict=True)) for row in M]
    after = masked_solve(M, momentum, held, target, fn)
    held, target = _resting(plant, place, after, held, target, fn)
    after = masked_solve(M, momentum, held, target, fn)
    for i, stop in enumerate(plant.stops):
        if stop is not None:  # a rebound has the rest of the step to move
            on = place[i] + 0.5 * h * since[i] * (back[i] + target[i])
            place[i] = fn.max(stop[0], fn.min(on, stop[1]))
    return place, [fn.select(event > 0.0, a, b) for a, b in zip(after, qd, strict=True)]


def _rebound(plant: "Plant", qd: Any, out: Any, fn: Functions) -> Any:
    """Velocity of a joint that hit its stop with qd."""
    if not plant.restitution:
        return 0.0
    fast = fn.max(qd, -qd) > REBOUND
    return fn.select(fast * out > 0.0, -plant.restitution * qd, 0.0)


def _resting(
    plant: "Plant", q: Scalars, qd: Scalars, held: Scalars, target: Scalars, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Held joints and their velocities, with those at a stop that would move beyond it."""
    new, values = list(held), list(target)
    for i, stop in enumerate(plant.stops):
        if stop is not None:
            out = (q[i] >= stop[1]) * (qd[i] > 0.0) + (q[i] <= stop[0]) * (qd[i] < 0.0)
            values[i] = fn.select(held[i], target[i], 0.0)
            new[i] = fn.max(1.0 * held[i], 1.0 * out)
    return new, values


def _since(over: Any, before: Any, after: Any, h: Any, fn: Functions) -> Any:
    """The share of the step since a joint passed its stop, to be `over` beyond it now.

    over = h s (after + (before - after) s / 2), solved by two rounds. What the forces did beyond
    the stop is taken back: it would be energy from nowhere.
    """
    share: Any = 0.0
    for _ in range(3):
        mean = after + 0.5 * (before - after) * share
        share = fn.max(0.0, fn.min(over / fn.select(mean == 0.0, 1.0, h * mean), 1.0))
    return share
