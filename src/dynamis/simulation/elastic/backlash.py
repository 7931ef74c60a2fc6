"""Backlash of elastic gears in a step: teeth that meet or part, and what that does to both sides.

A step begins with every pair of teeth on a flank or within the gap, and its stages keep to that:
their forces are smooth. What changed meanwhile is put right afterwards, from where the stages led.
With d = th - q, s = d - b beyond a flank, u the speed at which it was met, t the time since, and m
the mass that the teeth feel, 1/m = r^T M^-1 r, r = (1, -1) over motor and joint:

    teeth met, contact resolved    s'' = a - (D s' + K s) / m for the time t, from s = 0, s' = u
    teeth met, contact shorter     s' = -e u, e = exp(-pi z / sqrt(1 - z^2)), z = D / 2 sqrt(K m)
    teeth parted                   what the spring pulled beyond the flank is taken back

Impulses act along r through M. Teeth that strike together in one step have the smallest e of them,
by Moreau's law: no energy is created. A contact is resolved while w dt < 1, w^2 = K / m.
"""

from typing import TYPE_CHECKING, Any

from ...model.chain import Elasticity
from ...spatial.functions import Functions, zero
from ...spatial.vectors import Scalars
from ..inertia import ArmInertia, Constrained, independent_solve

if TYPE_CHECKING:
    from ..plant import Plant, PlantState
    from .stiff_gears import ElasticGear

REBOUND = 0.01  # rad/s or m/s below which teeth that meet stay together
TOUCHING = 1e-13  # rad or m: rounding of teeth that are on their flank
SWEEPS = 3  # over teeth that strike together: those that would be pulled are let go
PI = 3.141592653589793


def with_backlash(gears: "list[ElasticGear]") -> "list[ElasticGear]":
    """Gears with backlash."""
    return [x for x in gears if not zero(x.gear.backlash)]


def flank(x: "ElasticGear", q: Scalars, qd: Scalars, fn: Functions) -> Any:
    """1 or -1 where the teeth touch, 0 within the gap and where they are about to strike."""
    d, v, b = x.difference(q), x.difference(qd), x.gear.backlash
    found: Any = 0.0
    for side in (1.0, -1.0):
        s = side * d - b
        touching = (s > TOUCHING) + (s >= -TOUCHING) * (s <= TOUCHING) * (side * v <= REBOUND)
        found = fn.select(touching > 0.0, side, found)
    return found


def on_flank(gear: Elasticity, side: Any) -> Elasticity:
    """A gear whose teeth stay on a side: a spring without backlash, none within the gap."""
    touching = side * side
    names = ("stiffness", "damping", "hardening")
    scaled = {x: getattr(gear, x) for x in names}
    scaled = {x: value if zero(value) else touching * value for x, value in scaled.items()}
    return gear._replace(**scaled, backlash=0.0, rest=side * gear.backlash)


def teeth(
    plant: "Plant", x: "PlantState", q: list[Any], qd: list[Any], h: Any, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """q and qd after teeth met or parted in a step from x, whose stages led to q and qd."""
    inertia = plant.impact_inertia(q, fn, x, h)
    soft, hard = [], []
    rows = zip(with_backlash(plant.gears), x.flank, plant.hard, strict=True)
    for gear, side, shorter in rows:
        own = _Teeth(gear, side, inertia, None if shorter else plant.held(x), h, fn)
        own.reach(x.qd, q, qd)
        (hard if shorter else soft).append(own)
    for own in soft:
        velocity, position = own.resolved()
        q, qd = own.pushed(q, own.m * position), own.pushed(qd, own.m * velocity)
    return _struck(hard, q, qd, fn)


class _Teeth:
    """One pair of teeth at the end of the stages of a step, seen in the direction of a flank."""

    def __init__(
        self, gear: "ElasticGear", side: Any, inertia: ArmInertia | Constrained,
        held: Scalars | None, h: Any, fn: Functions,
    ):  # fmt: skip
        self.gear, self.side, self.h, self.fn = gear, side, h, fn
        n = len(inertia.M)
        r: list[Any] = [0.0] * n
        r[gear.motor], r[gear.joint] = 1.0, -1.0
        self.response = inertia.response(r, [None] * n if held is None else held, fn)
        self.m = 1.0 / fn.max(gear.difference(self.response), 1e-300)
        self.stiffness, self.damping = gear.gear.stiffness / self.m, gear.gear.damping / self.m

    def reach(self, before: Scalars, q: Scalars, qd: Scalars) -> None:
        """Look where the stages led, from the velocities before."""
        fn, b = self.fn, self.gear.gear.backlash
        d, rate, first = (self.gear.difference(x) for x in (q, qd, before))
        within = self.side == 0.0
        self.sign = fn.select(within, fn.select(d < 0.0, -1.0, 1.0), self.side)
        self.s, self.v = self.sign * d - b, self.sign * rate
        self.a = (self.v - self.sign * first) / self.h
        self.meets = within * (self.s > 0.0) * (self.v > 0.0)
        self.parts = (1.0 - within) * (self.s < -TOUCHING) * (self.v < 0.0)
        # s = u t + a t^2 / 2, v = u + a t: u and t from the end of the step backwards
        over = fn.select(self.meets, self.s, 0.0)
        self.u = fn.sqrt(fn.max(self.v * self.v - 2.0 * self.a * over, 0.0))
        both = fn.select(self.meets, self.u + self.v, 1.0)
        self.t = fn.max(0.0, fn.min(2.0 * over / both, self.h))

    def pushed(self, rates: Scalars, impulse: Any) -> list[Any]:
        """Rates after an impulse that parts the teeth where it is positive in their direction."""
        push = self.sign * impulse
        return [v + push * r for v, r in zip(rates, self.response, strict=True)]

    def resolved(self) -> tuple[Any, Any]:
        """Changes of s' and s that teeth which met or parted make, 0 of others."""
        fn = self.fn
        velocity, position = self._met()
        parted, moved = self._parted()
        return (
            fn.select(self.meets, velocity, fn.select(self.parts, parted, 0.0)),
            fn.select(self.meets, position, fn.select(self.parts, moved, 0.0)),
        )

    def _met(self) -> tuple[Any, Any]:
        """Changes from motion without contact, after s'' = a - 2 c s' - k s for a time t."""
        fn = self.fn
        k, c, t = self.stiffness, 0.5 * self.damping, self.t
        square = k - c * c
        # cosine and sine over w, by their hyperbolic sisters where damping is above critical
        w = fn.sqrt(fn.max(fn.max(square, -square), 1e-12 * k))
        grow, fall = fn.exp(w * t), fn.exp(-w * t)
        under = square > 0.0
        C = fn.select(under, fn.cos(w * t), 0.5 * (grow + fall))
        S = fn.select(under, fn.sin(w * t), 0.5 * (grow - fall)) / w
        decay, rest = fn.exp(-c * t), self.a / k
        start = self.u - c * rest
        s = rest + decay * (start * S - rest * C)
        v = decay * (start * C + square * (rest * S)) - c * (s - rest)
        return v - self.v, s - self.s

    def _parted(self) -> tuple[Any, Any]:
        """The pull of the spring beyond the flank since the teeth left it, taken back."""
        fn = self.fn
        v, s, k, c = -self.v, -self.s, self.stiffness, self.damping
        left = fn.sqrt(v * v + k * (s * s)) + c * s  # at the flank; nothing pulls after it
        t = 2.0 * s / fn.select(self.parts, left + v, 1.0)
        gained = left - v
        return -gained, -(gained * t) / 3.0

    def restitution(self) -> Any:
        """e of a contact that is shorter than a step."""
        fn = self.fn
        z = 0.5 * self.damping / fn.sqrt(self.stiffness)
        under = fn.max(1.0 - z * z, 1e-12)
        return fn.exp(-PI * z / fn.sqrt(under))


def _struck(
    teeth: list[_Teeth], q: list[Any], qd: list[Any], fn: Functions
) -> tuple[list[Any], list[Any]]:
    """q and qd after contacts that are shorter than a step; slow ones end on the flank, at rest."""
    e, size = 1.0, range(len(teeth))
    for own in teeth:
        fast = fn.select(own.u > REBOUND, own.restitution(), 0.0)
        e = fn.select(own.meets, fn.min(e, fast), e)
    jumps, moves = [], []
    for own in teeth:
        jump, gap = (1.0 + e) * own.u, 2.0 * own.gear.gear.backlash
        stays = (own.u <= REBOUND) + (e * own.u * own.t >= gap) > 0.0  # slow, or through the gap
        jumps.append(-fn.select(stays, own.v, jump))
        moves.append(-fn.select(stays, own.s, jump * own.t))
    active = [1.0 * own.meets for own in teeth]
    G = [[a.sign * b.sign * a.gear.difference(b.response) for b in teeth] for a in teeth]
    impulses: list[Any] = []
    shifts: list[Any] = []
    for _ in range(min(SWEEPS, len(teeth))):
        A = [
            [fn.select(active[i] * active[j] > 0.0, G[i][j], float(i == j)) for j in size]
            for i in size
        ]
        impulses, shifts = (
            independent_solve(A, [fn.select(on > 0.0, x, 0.0) for on, x in rows], fn)[0]
            for rows in (zip(active, jumps, strict=True), zip(active, moves, strict=True))
        )
        active = [on * (p < 0.0) for on, p in zip(active, impulses, strict=True)]
    for own, on, p, shift in zip(teeth, active, impulses, shifts, strict=True):
        q = own.pushed(q, fn.select(on > 0.0, shift, 0.0))
        qd = own.pushed(qd, fn.select(on > 0.0, p, 0.0))
    return q, qd
