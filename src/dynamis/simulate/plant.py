"""The arm in motion: one step from state to state, over any scalar.

    begin     which joints hold, and where the others slide           (once per step)
    rate      velocities and accelerations, held joints left out      (once per stage)
    finish    what stopped, reversed or hit a joint stop in the step  (once per step)

Directions are fixed during a step, so the stages see smooth forces and the integrator keeps its
order between events. A joint whose velocity changes sign within a step either goes on, with the
jump of its friction made good for the rest of the step (second order in the step), or comes to
rest at its turning point by an impulse through M. A gear that loses power rubs like friction that
grows with the torque it transmits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..dynamics import coupling, equation
from ..dynamics.newton_euler import newton_euler
from ..model.chain import Chain
from ..spatial.functions import Functions
from . import motors, resist
from .hold import Box, directions, masked_solve
from .tableau import Tableau

Scalars = Sequence[Any]
ENDLESS = 1e300  # the force of a joint stop
SLOW = 4.0  # steps of acceleration: impacts this slow are pushes
REBOUND = 0.01  # rad/s or m/s below which a joint comes to rest at its stop


@dataclass(frozen=True)
class Acting:
    """Forces known beforehand at one instant: torques fed forward, from outside, tool wrench."""

    feed: Scalars | None = None
    outside: Scalars | None = None
    wrench: Scalars | None = None


@dataclass(frozen=True)
class Plant:
    """An arm, its friction, its drives and its joint stops.

    `stops` are (lowest, highest) positions per coordinate, None where there is none.
    """

    chain: Chain
    stops: tuple[tuple[float, float] | None, ...]
    restitution: float = 0.0
    drives: bool = True

    def slots(self) -> dict[str, int]:
        """What is integrated, then what acts during a step."""
        n = self.chain.n
        integrated = {"q": n, "qd": n, "bristle": len(resist.bristles(self.chain))}
        integrated["current"] = len(motors.inductive(self.chain)) if self.drives else 0
        return {
            **integrated,
            "tau": n,
            "friction": n,
            "direction": n,
            "command": n,
            "loss": self._losses,
        }

    @property
    def _losses(self) -> int:
        return len(self.chain.motors) if self.drives and motors.lossy(self.chain) else 0

    @property
    def holds(self) -> list[bool]:
        """Which coordinates can come to a hold: by friction or at a stop."""
        return [rubs or stop is not None for rubs, stop in zip(self.rubs, self.stops, strict=True)]

    @property
    def rubs(self) -> list[bool]:
        """Which coordinates friction can hold: of joints, shared motors, gears with losses."""
        held = resist.held(self.chain)
        if self._losses:
            held = held | set(motors.lossy_joints(self.chain))
        return [i in held for i in range(self.chain.n)]

    # the three parts of a step

    def begin(self, x: SimpleNamespace, acting: Acting, h: Any, fn: Functions) -> SimpleNamespace:
        """Directions of friction, direction of power through the gears, torques that act."""
        tau, _ = self._drive(x, acting, fn)
        new = SimpleNamespace(**{**vars(x), "tau": tau})
        if self._losses:
            new.loss = motors.at_rest_lossless(self.chain, x.qd, x.loss, fn)
        M, rest, _ = self._forces(new, acting, h, fn)
        if any(self.holds):
            new.direction = self._directions(new, M, rest, fn)
        qdd = self._accelerations(M, rest, new, fn)
        if self._losses:
            new.loss = motors.losses(self.chain, tau, x.qd, qdd, new.direction, fn)
        left = [
            a - sum(m * v for m, v in zip(row, qdd, strict=True))
            for a, row in zip(rest, M, strict=True)
        ]
        other = resist.always(self.chain, x.qd, x.bristle, h, fn)[0]
        new.friction = [a + b for a, b in zip(other, left, strict=True)]
        return new

    def _directions(
        self, x: SimpleNamespace, M: Sequence[Scalars], rest: Scalars, fn: Functions
    ) -> list[Any]:
        """Where every joint slides in the coming step; 0 where it holds."""
        boxes = self._boxes(x, fn)
        moving = [fn.select(v < 0.0, -1.0, 1.0) for v in x.qd]
        slide = resist.sliding(self.chain, x.qd, moving, fn)
        r = [
            a if b is None else a - fn.select(b.holds > 0.0, 0.0, s)
            for a, b, s in zip(rest, boxes, slide, strict=True)
        ]
        d = directions(M, self._shared(x, r, fn), boxes, x.direction, fn)
        return [
            1.0 if b is None else fn.select(b.holds > 0.0, di, mi)
            for b, di, mi in zip(boxes, d, moving, strict=True)
        ]

    def rate(
        self, x: SimpleNamespace, acting: Acting, h: Any, fn: Functions
    ) -> dict[str, list[Any]]:
        """Time derivatives of what is integrated."""
        tau, current_rate = self._drive(x, acting, fn)
        x = SimpleNamespace(**{**vars(x), "tau": tau})
        M, rest, bristle_rate = self._forces(x, acting, h, fn)
        qdd = self._accelerations(M, rest, x, fn)
        return {"q": list(x.qd), "qd": qdd, "bristle": bristle_rate, "current": current_rate}

    def finish(
        self, x: SimpleNamespace, end: SimpleNamespace, h: Any, fn: Functions
    ) -> SimpleNamespace:
        """The state after a step from x, `end` being where the stages led."""
        q, qd = list(end.q), list(end.qd)
        if any(self.rubs):
            q, qd = self._reversals(x, q, qd, h, fn)
        if any(self.stops):
            q, qd = self._impacts(x, q, qd, h, fn)
        new = SimpleNamespace(**{**vars(end), "q": q, "qd": qd})
        if hasattr(new, "impulse"):  # an observer wants to know what acted since its last sample
            new.impulse = [a + h * t for a, t in zip(end.impulse, x.tau, strict=True)]
        return new

    def _reversals(
        self, x: SimpleNamespace, q: list[Any], qd: list[Any], h: Any, fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        """Joints that turned back: on they go with friction the other way, or they hold.

        The stages kept pushing as before the turn. For the rest of the step the friction of a joint
        that goes on jumps by the width of its box; one that cannot go on against that rests.
        """
        n, rests = range(self.chain.n), self._friction_boxes(x, fn)
        back: list[Any] = [None] * self.chain.n
        push, left, latest = [0.0] * self.chain.n, [0.0] * self.chain.n, 0.0
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
        M = equation.mass_matrix(self.chain, q, fn)
        momentum = [sum(m * v for m, v in zip(row, qd, strict=True)) for row in M]
        pushed = [a + p for a, p in zip(momentum, push, strict=True)]
        zeros = [0.0] * self.chain.n
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

    def _impacts(
        self, x: SimpleNamespace, q: list[Any], qd: list[Any], h: Any, fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        """Joints that met their stops, and what the impact does to the others."""
        speed, target = list(qd), [0.0] * self.chain.n
        hits: list[Any] = [None] * self.chain.n
        since: list[Any] = [0.0] * self.chain.n
        back: list[Any] = [0.0] * self.chain.n
        place, event, hard = list(q), 0.0, 0.0
        for i, stop in enumerate(self.stops):
            if stop is None:
                continue
            out = (q[i] > stop[1]) * (qd[i] > 0.0) + (q[i] < stop[0]) * (qd[i] < 0.0)
            place[i] = fn.max(stop[0], fn.min(q[i], stop[1]))
            since[i] = _since(q[i] - place[i], x.qd[i], qd[i], h, fn)
            speed[i] = fn.select(out, qd[i] + (x.qd[i] - qd[i]) * since[i], qd[i])
            back[i] = self._rebound(speed[i], out, fn)
            gain = fn.select(back[i] == 0.0, 0.0, qd[i] - speed[i])  # in the rest of the step
            target[i] = back[i] + gain
            hits[i] = 1.0 * out
            event = fn.max(event, hits[i])
            gained = SLOW * (qd[i] - x.qd[i])  # slower: resting joints take no notice
            hard = fn.max(hard, hits[i] * (speed[i] * speed[i] > gained * gained))
        held = []
        for i, can in enumerate(self.holds):
            rests = (qd[i] == 0.0) * (hard == 0.0) * 1.0 if can else None
            held.append(rests if hits[i] is None else fn.max(hits[i], rests))
        M = equation.mass_matrix(self.chain, place, fn)
        momentum = [sum(m * v for m, v in zip(row, speed, strict=True)) for row in M]
        after = masked_solve(M, momentum, held, target, fn)
        held, target = self._resting(place, after, held, target, fn)
        after = masked_solve(M, momentum, held, target, fn)
        for i, stop in enumerate(self.stops):
            if stop is not None:  # a rebound has the rest of the step to move
                on = place[i] + 0.5 * h * since[i] * (back[i] + target[i])
                place[i] = fn.max(stop[0], fn.min(on, stop[1]))
        return place, [fn.select(event > 0.0, a, b) for a, b in zip(after, qd, strict=True)]

    def advance(
        self, x: SimpleNamespace, nodes: Sequence[Acting], h: Any, tableau: Tableau, fn: Functions
    ) -> SimpleNamespace:
        """One whole step; `nodes` are the forces at the distinct instants of the tableau."""
        start = self.begin(x, nodes[0], h, fn)
        at = {c: nodes[k] for k, c in enumerate(tableau.nodes)}
        rates: list[dict[str, list[Any]]] = []
        for row, c in zip(tableau.A, tableau.c, strict=True):
            stage = moved(start, rates, row, h)
            rates.append(self.rate(stage, at[c], h, fn))
        end = moved(start, rates, tableau.b, h)
        if tableau.semi_implicit:
            end.q = [a + h * v for a, v in zip(start.q, end.qd, strict=True)]
        return self.finish(start, end, h, fn)

    # what the parts share

    def _drive(
        self, x: SimpleNamespace, acting: Acting, fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        command = list(x.command)
        if acting.feed is not None:
            command = [a + b for a, b in zip(command, acting.feed, strict=True)]
        if not self.drives:
            return command, []
        return motors.driven(self.chain, command, x.qd, x.current, fn)

    def _rest(
        self, x: SimpleNamespace, acting: Acting, h: Any, fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        """Torque left for acceleration and for friction that can hold; rates of the bristles."""
        c = self.chain
        zero = [0.0] * len(c.joints)
        place, speed = coupling.positions(c, x.q), coupling.rates(c, x.qd)
        bias = coupling.torques(c, newton_euler(c, place, speed, zero, fn, acting.wrench))
        other, rates = resist.always(c, x.qd, x.bristle, h, fn)
        rest = [t - b - f for t, b, f in zip(x.tau, bias, other, strict=True)]
        if acting.outside is not None:
            rest = [a + b for a, b in zip(rest, acting.outside, strict=True)]
        return rest, rates

    def _forces(
        self, x: SimpleNamespace, acting: Acting, h: Any, fn: Functions
    ) -> tuple[Sequence[Scalars], list[Any], list[Any]]:
        """Mass matrix and torque left, as felt through gears that lose power; bristle rates."""
        M: Sequence[Scalars] = equation.mass_matrix(self.chain, x.q, fn)
        rest, rates = self._rest(x, acting, h, fn)
        if self._losses:
            M = motors.lossy_matrix(self.chain, M, x.loss)
            rest = motors.lossy_torque(self.chain, rest, x.tau, x, fn)
        return M, rest, rates

    def _accelerations(
        self, M: Sequence[Scalars], rest: Scalars, x: SimpleNamespace, fn: Functions
    ) -> list[Any]:
        zeros = [0.0] * len(rest)
        slide = resist.sliding(self.chain, x.qd, x.direction, fn)
        held = [(d == 0.0) if can else None for d, can in zip(x.direction, self.holds, strict=True)]
        return masked_solve(M, [a - s for a, s in zip(rest, slide, strict=True)], held, zeros, fn)

    def _friction_boxes(self, x: SimpleNamespace, fn: Functions) -> list[tuple[Any, Any] | None]:
        """Bounds of what friction and gears hold of every coordinate; None: nothing does."""
        boxes = resist.limits(self.chain, fn)
        if self._losses:
            for i, (low, high) in motors.bands(self.chain, x.tau, fn).items():
                before = boxes[i] or (0.0, 0.0)
                boxes[i] = (before[0] + low, before[1] + high)
        return boxes

    def _boxes(self, x: SimpleNamespace, fn: Functions) -> list[Box | None]:
        boxes: list[Box | None] = []
        for i, (friction, stop) in enumerate(
            zip(self._friction_boxes(x, fn), self.stops, strict=True)
        ):
            if friction is None and stop is None:
                boxes.append(None)
                continue
            low, high = friction or (0.0, 0.0)
            if stop is not None:
                low = fn.select(x.q[i] <= stop[0], -ENDLESS, low)
                high = fn.select(x.q[i] >= stop[1], ENDLESS, high)
            boxes.append(Box(low, high, (x.qd[i] == 0.0) * (high > low) * 1.0))
        return boxes

    def _rebound(self, qd: Any, out: Any, fn: Functions) -> Any:
        """Velocity of a joint that hit its stop with qd."""
        if not self.restitution:
            return 0.0
        fast = fn.max(qd, -qd) > REBOUND
        return fn.select(fast * out > 0.0, -self.restitution * qd, 0.0)

    def _resting(
        self, q: Scalars, qd: Scalars, held: Scalars, target: Scalars, fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        """Held joints and their velocities, with those at a stop that would move beyond it."""
        new, values = list(held), list(target)
        for i, stop in enumerate(self.stops):
            if stop is not None:
                out = (q[i] >= stop[1]) * (qd[i] > 0.0) + (q[i] <= stop[0]) * (qd[i] < 0.0)
                values[i] = fn.select(held[i], target[i], 0.0)
                new[i] = fn.max(1.0 * held[i], 1.0 * out)
        return new, values

    def _shared(self, x: SimpleNamespace, r: list[Any], fn: Functions) -> list[Any]:
        """Leave to shared motors what they can hold while everything they turn is at rest."""
        if not resist.shared_motors(self.chain):
            return r
        at_rest: Any = 1.0
        for v in x.qd:
            at_rest = at_rest * (v == 0.0)
        taken = resist.shared_hold(self.chain, r, fn)
        return [a - fn.select(at_rest > 0.0, t, 0.0) for a, t in zip(r, taken, strict=True)]


def moved(
    start: SimpleNamespace, rates: Sequence[dict], weights: Scalars, h: Any
) -> SimpleNamespace:
    """start + h sum weights rates."""
    new = SimpleNamespace(**vars(start))
    for name in ("q", "qd", "bristle", "current"):
        values = list(getattr(start, name))
        for i in range(len(values)):
            terms = [w * k[name][i] for w, k in zip(weights, rates, strict=True) if w != 0.0]
            if terms:
                values[i] = values[i] + h * sum(terms[1:], terms[0])
        setattr(new, name, values)
    return new


def _share(before: Any, after: Any, fn: Functions) -> Any:
    """The share of a step after which a velocity that changes evenly is zero, 0 to 1."""
    gap = before - after
    share = fn.select(gap == 0.0, 0.0, before / fn.select(gap == 0.0, 1.0, gap))
    return fn.max(0.0, fn.min(share, 1.0))


def _turning_point(q: Any, before: Any, after: Any, h: Any, fn: Functions) -> Any:
    """Where a joint that slows down evenly from `before` towards `after` comes to rest."""
    return q + 0.5 * h * before * _share(before, after, fn)


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
