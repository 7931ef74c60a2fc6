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
from . import holding, motors
from .holding import Box, directions, impacts, masked_solve, reversals
from .tableau import Tableau

Scalars = Sequence[Any]
ENDLESS = 1e300  # the force of a joint stop


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
        integrated = {"q": n, "qd": n, "bristle": len(holding.bristles(self.chain))}
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
        held = holding.held(self.chain)
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
        other = holding.always(self.chain, x.qd, x.bristle, h, fn)[0]
        new.friction = [a + b for a, b in zip(other, left, strict=True)]
        return new

    def _directions(
        self, x: SimpleNamespace, M: Sequence[Scalars], rest: Scalars, fn: Functions
    ) -> list[Any]:
        """Where every joint slides in the coming step; 0 where it holds."""
        boxes = self._boxes(x, fn)
        moving = [fn.select(v < 0.0, -1.0, 1.0) for v in x.qd]
        slide = holding.sliding(self.chain, x.qd, moving, fn)
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
            q, qd = reversals(self, x, q, qd, h, fn)
        if any(self.stops):
            q, qd = impacts(self, x, q, qd, h, fn)
        new = SimpleNamespace(**{**vars(end), "q": q, "qd": qd})
        if hasattr(new, "impulse"):  # an observer wants to know what acted since its last sample
            new.impulse = [a + h * t for a, t in zip(end.impulse, x.tau, strict=True)]
        return new

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
        other, rates = holding.always(c, x.qd, x.bristle, h, fn)
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
        slide = holding.sliding(self.chain, x.qd, x.direction, fn)
        held = [(d == 0.0) if can else None for d, can in zip(x.direction, self.holds, strict=True)]
        return masked_solve(M, [a - s for a, s in zip(rest, slide, strict=True)], held, zeros, fn)

    def friction_boxes(self, x: SimpleNamespace, fn: Functions) -> list[tuple[Any, Any] | None]:
        """Bounds of what friction and gears hold of every coordinate; None: nothing does."""
        boxes = holding.limits(self.chain, fn)
        if self._losses:
            for i, (low, high) in motors.bands(self.chain, x.tau, fn).items():
                before = boxes[i] or (0.0, 0.0)
                boxes[i] = (before[0] + low, before[1] + high)
        return boxes

    def _boxes(self, x: SimpleNamespace, fn: Functions) -> list[Box | None]:
        boxes: list[Box | None] = []
        for i, (friction, stop) in enumerate(
            zip(self.friction_boxes(x, fn), self.stops, strict=True)
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

    def _shared(self, x: SimpleNamespace, r: list[Any], fn: Functions) -> list[Any]:
        """Leave to shared motors what they can hold while everything they turn is at rest."""
        if not holding.shared_motors(self.chain):
            return r
        at_rest: Any = 1.0
        for v in x.qd:
            at_rest = at_rest * (v == 0.0)
        taken = holding.shared_hold(self.chain, r, fn)
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
