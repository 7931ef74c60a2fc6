"""Joints that turn back or meet their stops within a step: impulses through M, once per step."""

from typing import TYPE_CHECKING, Any

from ..dynamics.elements import friction
from ..dynamics.elements.gears import stored
from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, inner, plus
from .inertia import ArmInertia, Constrained
from .rows import always, bristles, own_rates, with_own_states

if TYPE_CHECKING:
    from .plant import Plant
    from .state import PlantState

REBOUND = 0.01  # rad/s or m/s below which a joint comes to rest at its stop
SLOW = 4.0  # steps of acceleration: impacts this slow are pushes


def impacts(
    plant: "Plant", x: "PlantState", q: list[Any], qd: list[Any], h: Any, fn: Functions
) -> tuple[list[Any], list[Any], ArmInertia | Constrained]:
    """q and qd with joints that met their stops and what the impact does to the others; the
    inertia there.
    """
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
    times = [0.0 if hit is None else fn.select(hit, h, 0.0) for hit in hits]
    inertia = plant.inertia_for(place, fn, x, times, h)  # a blow is shorter than a step
    momentum = inertia.momentum(speed)
    after, _ = inertia.solve(momentum, held, target, fn)
    held, target = _resting(plant, place, after, held, target, fn)
    after, _ = inertia.solve(momentum, held, target, fn)
    for i, stop in enumerate(plant.stops):
        if stop is not None:  # a rebound has the rest of the step to move
            on = place[i] + 0.5 * h * since[i] * (back[i] + target[i])
            place[i] = fn.max(stop[0], fn.min(on, stop[1]))
    for i, j, _ in plant.gears:  # a stiff gear takes its motor along: else it would be stretched
        if plant.stops[i] is not None:
            share = -inertia.M[j][i] / inertia.M[j][j]
            place[j] = place[j] + share * (place[i] - q[i])
    if plant.gears:
        after = _without_gain(plant, inertia, (q, qd), (place, after), fn)
    return place, [fn.select(event > 0.0, a, b) for a, b in zip(after, qd, strict=True)], inertia


def _without_gain(
    plant: "Plant", inertia: ArmInertia | Constrained, before: tuple[Scalars, Scalars],
    after: tuple[Scalars, Scalars], fn: Functions,
) -> list[Any]:  # fmt: skip
    """Velocities after impacts, slower where they and the elastic gears would gain energy.

    What a gear does between an impact and the end of its step is not resolved. The bare masses
    count, so that the gears are taken off the inertia that impulses meet.
    """

    def energies(q: Scalars, qd: Scalars) -> tuple[Any, Any]:
        kinetic, potential = 0.5 * inner(qd, inertia.momentum(qd)), 0.0
        for own in plant.gears:
            v = own.difference(qd)
            kinetic = kinetic + 0.5 * inertia.M[own.motor][own.joint] * (v * v)
            potential = potential + stored(own.gear, own.difference(q), fn)
        return kinetic, potential

    (T0, U0), (T1, U1) = energies(*before), energies(*after)
    left = fn.max(T0 + U0 - U1, 0.0)
    share = fn.select(left < T1, fn.sqrt(left / fn.select(left < T1, T1, 1.0)), 1.0)
    return [share * v for v in after[1]]


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
) -> tuple[list[Any], list[Any], ArmInertia | Constrained]:
    """q and qd with joints that turned back, and the inertia at q.

    On they go with friction the other way, or they hold. The stages kept pushing as before the
    turn: for the rest of the step the friction of a joint that goes on jumps by the width of its
    box; one that cannot go on against that rests.
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
    late = [t if b is None else fn.select(b, t, 0.0) for t, b in zip(left, back, strict=True)]
    inertia = plant.inertia_for(q, fn, x, late, h)
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
            if plant.gears:  # one that starts and stops within a step has moved all the same
                d = x.direction[i]
                turn = x.q[i] + d * fn.max(d * (turn - x.q[i]), d * (q[i] - x.q[i]))
            moved_on = fn.select(stops[i], turn, moved_on)
        new_q.append(fn.select(event > 0.0, moved_on, q[i]))
        new_qd.append(fn.select(event > 0.0, after[i], qd[i]))
    return new_q, new_qd, inertia


def stretched_at_end(
    plant: "Plant", x: "PlantState", end: "PlantState", q: Scalars, qd: Scalars, h: Any,
    fn: Functions,
) -> list[Any]:  # fmt: skip
    """Bristles of friction, and elements of memory after a step from x to q and qd.

    The latter follow their joint to where it turned, if it did, and on to its end.
    """
    found = list(end.bristle)
    for k, (e, element) in enumerate(bristles(plant.chain)):
        if element is not None:
            i, z = e.coordinate, x.bristle[k]
            turn = _turning_point(x.q[i], x.qd[i], qd[i], h, fn)
            turn = fn.select(x.qd[i] * qd[i] < 0.0, turn, q[i])
            for a, b in ((x.q[i], turn), (turn, q[i])):
                z = friction.stretched(z + e.factor * (b - a), element, fn)
            found[k] = z
    return found


def own_states_at_end(
    plant: "Plant", x: "PlantState", end: "PlantState", q: Scalars, h: Any, fn: Functions
) -> list[Any]:
    """States of laws of the user's after a step from x to q, `end` being where the stages led.

    Where a joint turned or met a stop the stages went elsewhere: then a step of the midpoint rule,
    every joint at its mean velocity.
    """
    if not end.law_state or not (any(plant.holds) or plant.hard):
        return list(end.law_state)
    event: Any = 0.0
    for a, b in zip(q, end.q, strict=True):
        event = fn.max(event, 1.0 - 1.0 * (a == b))
    duration = fn.select(h > 0.0, h, 1.0)
    mean = [(b - a) / duration for a, b in zip(x.q, q, strict=True)]

    def rates(chain: Chain, at: Scalars) -> list[Any]:
        return own_rates(chain, at, mean, x.direction, fn)

    first = rates(plant.chain, x.q)
    half = [z + 0.5 * h * rate for z, rate in zip(x.law_state, first, strict=True)]
    place = [0.5 * (a + b) for a, b in zip(x.q, q, strict=True)]
    rows = zip(x.law_state, rates(with_own_states(plant.chain, half), place), strict=True)
    passed = [z + h * rate for z, rate in rows]
    return [fn.select(event > 0.0, a, b) for a, b in zip(passed, end.law_state, strict=True)]


def _share(before: Any, after: Any, fn: Functions) -> Any:
    """The share of a step after which a velocity that changes evenly is zero, 0 to 1."""
    gap = before - after
    share = fn.select(gap == 0.0, 0.0, before / fn.select(gap == 0.0, 1.0, gap))
    return fn.max(0.0, fn.min(share, 1.0))


def _turning_point(q: Any, before: Any, after: Any, h: Any, fn: Functions) -> Any:
    """Where a joint that slows down evenly from `before` towards `after` comes to rest."""
    return q + 0.5 * h * before * _share(before, after, fn)
