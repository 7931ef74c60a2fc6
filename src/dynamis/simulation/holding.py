"""Joints that hold: Coulomb friction and joint stops as bounded forces.

With f the force of friction and stops, M qdd = r - f, a joint at rest obeys

    qdd = 0 and lowest <= f <= highest, or qdd > 0 and f = highest, or qdd < 0 and f = lowest

The joints at rest are coupled through M, so this is one small boxed problem. It is solved by
exchanging wrong guesses: a joint that holds beyond its bound slides, one that slides backwards
holds. A guess that no sweep changes is the solution, and for a positive definite M there is only
one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..dynamics import coupling
from ..dynamics.elements import friction
from ..model.chain import Chain, Resistance
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, inner, plus
from .inertia import ArmInertia, Constrained, inertia_at

if TYPE_CHECKING:
    from .plant import Plant, PlantState

SWEEPS = 4  # from the guess of the step before; what is still wrong then goes on in the next step
RELEASES = 2  # of these the last only let go: no joint ever holds more than it can


class Box(NamedTuple):
    """Bounds of a joint's holding force, and whether it may hold at all."""

    lowest: Any
    highest: Any
    holds: Any


def directions(
    inertia: ArmInertia | Constrained,
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
        qdd, force = inertia.solve(push, held, zeros, fn)
        taken = inertia.holding(r, push, qdd, force)
        for i in size:
            box = boxes[i]
            if box is None:
                continue
            f = taken[i]
            over = fn.select(f > box.highest, 1.0, fn.select(f < box.lowest, -1.0, 0.0))
            kept = (
                d[i]
                if sweep >= SWEEPS - RELEASES
                else fn.select(d[i] * qdd[i] < inertia.still, 0.0, d[i])
            )
            d[i] = fn.select(d[i] == 0.0, over, kept)
    return d


def _held(box: Box | None, d: Any) -> Any:
    """A condition as a number: CasADi's `and` is spelled as a product."""
    return None if box is None else box.holds * (d == 0.0)


def _bound(box: Box, d: Any, fn: Functions) -> Any:
    """Friction of a joint at rest that starts to move in direction d."""
    edge = fn.select(d > 0.0, box.highest, fn.select(d < 0.0, box.lowest, 0.0))
    return fn.select(box.holds > 0.0, edge, 0.0)


# joints that meet their stops within a step

REBOUND = 0.01  # rad/s or m/s below which a joint comes to rest at its stop
SLOW = 4.0  # steps of acceleration: impacts this slow are pushes


def impacts(
    plant: "Plant", x: "PlantState", q: list[Any], qd: list[Any], h: Any, fn: Functions
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
    inertia = inertia_at(plant.chain, place, fn, holds=plant.holds)
    momentum = inertia.momentum(speed)
    after, _ = inertia.solve(momentum, held, target, fn)
    held, target = _resting(plant, place, after, held, target, fn)
    after, _ = inertia.solve(momentum, held, target, fn)
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

    over = h s (after + (before - after) s / 2), solved by one guess and two corrections. What
    the forces did beyond the stop is taken back: it would be energy from nowhere.
    """
    share: Any = 0.0
    for _ in range(3):
        mean = after + 0.5 * (before - after) * share
        share = fn.max(0.0, fn.min(over / fn.select(mean == 0.0, 1.0, h * mean), 1.0))
    return share


# joints that turn back within a step


def reversals(
    plant: "Plant", x: "PlantState", q: list[Any], qd: list[Any], h: Any, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Joints that turned back: on they go with friction the other way, or they hold.

    The stages kept pushing as before the turn. For the rest of the step the friction of a joint
    that goes on jumps by the width of its box; one that cannot go on against that rests.
    """
    other = (
        always(plant.chain, x.qd, x.bristle, h, fn)[0]
        if friction.load_dependent(plant.chain)
        else ()
    )
    n, rests = range(plant.chain.n), plant.friction_boxes(x, other, fn)
    # `back`: 1 where the joint slid one way and now moves the other. For the time `left` after its
    # turn friction has pushed the wrong way by the whole width of its box: `push` corrects that.
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
    # As impulses, M qd' = M qd + push, so that joints coupled through M feel the turn of another.
    inertia = inertia_at(plant.chain, q, fn, holds=plant.holds)
    momentum = inertia.momentum(qd)
    pushed = plus(momentum, push)
    zeros = [0.0] * plant.chain.n
    trial, _ = inertia.solve(pushed, stuck, zeros, fn)
    # One that the correction takes beyond rest (it would slide the old way again) has come to a
    # hold instead: it gets no push, and the others are solved for once more with it held.
    stops, held = list(back), list(stuck)
    for i in n:
        if back[i] is not None:
            stops[i] = back[i] * (x.direction[i] * trial[i] >= 0.0)
            held[i] = fn.max(stuck[i], stops[i])
            pushed[i] = momentum[i] + fn.select(stops[i], 0.0, push[i])
    after, _ = inertia.solve(pushed, held, zeros, fn)
    event: Any = 0.0
    for b in back:
        event = event if b is None else fn.max(event, b)
    # Positions take half of the change of velocity over the longest `left`; a joint that holds is
    # where it turned. Nothing changes, bit for bit, in a step without a turn.
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


# Friction of the coordinates of a robot in motion and at rest.
#
# The friction of a joint that follows another (mimic) is felt by its leader; a motor that several
# joints share (coupled wrist) rubs at its own speed.

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
    return friction.sticks(element.resistance)


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
    return plus(tau, _shared_motors(chain, qd, fn)), rates


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


def under_load(
    chain: Chain, slide: Scalars, left: Scalars, qd: Scalars, d: Scalars, fn: Functions
) -> list[Any]:
    """Sliding friction with what the load adds, of torques `left` by friction of any direction."""
    tau = list(slide)
    for c, r in friction.load_dependent(chain):
        share = friction.load_share(r, qd[c], fn, d[c] if r.law in friction.STICKS else None)
        tau[c] = tau[c] + friction.taken(left[c] - slide[c], share, fn)
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
        u = inner(row, qd)
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
