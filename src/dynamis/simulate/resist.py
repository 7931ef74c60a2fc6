"""Friction of the coordinates of a robot in motion and at rest.

The friction of a joint that follows another (mimic) is felt by its leader; a motor that several
joints share (coupled wrist) rubs at its own speed.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..dynamics import coupling, friction
from ..dynamics.constant import zero
from ..model.chain import Chain, Resistance
from ..spatial.functions import Functions

Scalars = Sequence[Any]
PASSES = 12  # over shared motors and the joints they turn
ROUNDING = 1e-6  # of a shared motor's friction: what counts as held by it alone
COUPLED_SPEED = 1e-3  # rad/s over which a shared motor's Coulomb friction changes sign while moving


class Element(NamedTuple):
    """Friction of one tree joint as its coordinate feels it: speed = factor qd[coordinate]."""

    tree: int
    coordinate: int
    factor: float
    resistance: Resistance


def elements(chain: Chain) -> list[Element]:
    """One per joint of the model."""
    found = []
    for i, resistance in enumerate(chain.resistances):
        if chain.coupling is None:
            found.append(Element(i, i, 1.0, resistance))
            continue
        row = chain.coupling[i]
        c = next((k for k, w in enumerate(row) if not zero(w)), 0)
        found.append(Element(i, c, row[c], resistance))
    return found


def sticking(element: Element) -> bool:
    """Whether this friction can hold a joint."""
    r = element.resistance
    none = all(zero(x) for x in (r.plus, r.minus))
    return r.law in friction.STICKS and not none


def held(chain: Chain) -> set[int]:
    """Coordinates that friction can hold: their own, or that of a motor they share."""
    found = {e.coordinate for e in elements(chain) if sticking(e)}
    for i in shared_motors(chain):
        row = shared_row(chain, i)
        found |= {c for c, w in enumerate(row) if not zero(w)}
    return found


def bristles(chain: Chain) -> list[Element]:
    """The elements whose friction has a state."""
    return [e for e in elements(chain) if e.resistance.law in friction.BRISTLE]


def own_limits(chain: Chain, fn: Functions) -> list[tuple[Any, Any] | None]:
    """Bounds of the holding friction of every coordinate itself; None: it has none."""
    boxes: list[tuple[Any, Any] | None] = [None] * chain.n
    for e in elements(chain):
        if not sticking(e):
            continue
        low, high = (e.factor * x for x in friction.static_limits(e.resistance, fn))
        low, high = fn.min(low, high), fn.max(low, high)
        before = boxes[e.coordinate] or (0.0, 0.0)
        boxes[e.coordinate] = (before[0] + low, before[1] + high)
    return boxes


def limits(chain: Chain, fn: Functions) -> list[tuple[Any, Any] | None]:
    """Bounds of what must be held of every coordinate; None: friction never holds it."""
    boxes = own_limits(chain, fn)
    for i in shared_motors(chain):  # what such a motor leaves over must be next to nothing
        for c, w in enumerate(shared_row(chain, i)):
            if not zero(w):
                slack = ROUNDING * (chain.motors[i].plus - chain.motors[i].minus)
                low, high = boxes[c] or (0.0, 0.0)
                boxes[c] = (low - slack, high + slack)
    return boxes


def always(
    chain: Chain, qd: Scalars, z: Scalars, h: Any, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Friction that acts in any direction (offsets, smooth laws, bristles); and the rates of z."""
    tau: list[Any] = [0.0] * chain.n
    rates, k = [], 0
    for e in elements(chain):
        r, u = e.resistance, e.factor * qd[e.coordinate]
        if r.law in friction.BRISTLE:
            own, rate = friction.lugre(r, u, z[k], h, fn)
            rates.append(rate)
            own, k = own + r.offset, k + 1
        elif sticking(e):
            own = r.offset
        else:
            own = friction.torque(r, u, fn)
        tau[e.coordinate] = tau[e.coordinate] + e.factor * own
    return [t + m for t, m in zip(tau, _shared_motors(chain, qd, fn), strict=True)], rates


def sliding(chain: Chain, qd: Scalars, d: Scalars, fn: Functions) -> list[Any]:
    """Friction of the joints that can hold, sliding in directions d."""
    tau: list[Any] = [0.0] * chain.n
    for e in elements(chain):
        if sticking(e):
            s = 1.0 if _positive(e.factor) else fn.sign(e.factor)
            own = friction.sliding(
                e.resistance, e.factor * qd[e.coordinate], s * d[e.coordinate], fn
            )
            tau[e.coordinate] = tau[e.coordinate] + e.factor * own
    return tau


def shared_motors(chain: Chain) -> list[int]:
    """Motors whose friction several joints feel."""
    return [
        i
        for i, m in enumerate(chain.motors)
        if m.coupled and not all(zero(x) for x in (m.plus, m.minus))
    ]


def shared_row(chain: Chain, i: int) -> list[Any]:
    """A motor's speed per coordinate speed."""
    row = [*chain.motors[i].row, *([0.0] * (len(chain.joints) - len(chain.motors[i].row)))]
    return list(coupling.torques(chain, row))


def _shared_motors(chain: Chain, qd: Scalars, fn: Functions) -> list[Any]:
    """Viscous friction of shared motors, and their Coulomb friction while they turn."""
    tau: list[Any] = [0.0] * chain.n
    for i, motor in enumerate(chain.motors):
        if not motor.coupled:
            continue
        row = shared_row(chain, i)
        u = sum(w * x for w, x in zip(row, qd, strict=True))
        s = fn.tanh(u / COUPLED_SPEED)
        own = motor.viscous * u + motor.plus * fn.max(s, 0.0) + motor.minus * fn.max(-s, 0.0)
        tau = [t + w * own for t, w in zip(tau, row, strict=True)]
    return tau


def shared_hold(chain: Chain, r: Scalars, fn: Functions) -> list[Any]:
    """What shared motors at rest take, within their limits, of torques r that must be held.

    What a joint's own friction can hold it does: passes over both leave as little as possible.
    """
    rows = [(shared_row(chain, i), chain.motors[i]) for i in shared_motors(chain)]
    boxes = [box or (0.0, 0.0) for box in own_limits(chain, fn)]
    forces: list[Any] = [0.0] * len(rows)
    for _ in range(PASSES):
        for k, (row, motor) in enumerate(rows):
            left = _less(
                r,
                [(w, f) for m, ((w, _), f) in enumerate(zip(rows, forces, strict=True)) if m != k],
            )
            over = _less(left, [(row, forces[k])])
            own = [fn.max(low, fn.min(x, high)) for x, (low, high) in zip(over, boxes, strict=True)]
            wanted = sum(w * (x - f) for w, x, f in zip(row, left, own, strict=True))
            forces[k] = fn.max(motor.minus, fn.min(wanted / sum(w * w for w in row), motor.plus))
    nothing: list[Any] = [0.0] * chain.n
    taken = _less(nothing, [(row, force) for (row, _), force in zip(rows, forces, strict=True)])
    return [-t for t in taken]


def _less(values: Scalars, pushes: Sequence[tuple[Scalars, Any]]) -> list[Any]:
    """values - sum row force"""
    left = list(values)
    for row, force in pushes:
        left = [x - w * force for x, w in zip(left, row, strict=True)]
    return left


def _positive(x: Any) -> bool:
    return isinstance(x, float) and x > 0
