"""Backlash of elastic gears in a step: teeth that meet or part, and what that does to both sides.

A step begins with every pair of teeth on a flank or within the gap, and its stages keep to that:
their forces are smooth. What changed meanwhile is put right afterwards, from where the stages led.
With d = th - q, s = d - b beyond a flank, u the speed at which it was met, t the time since, and m
the mass that the teeth feel, 1/m = r^T M^-1 r, r = (1, -1) over motor and joint:

    teeth met, contact resolved    s'' = a - (D s' + K s) / m for the time t, from s = 0, s' = u
    teeth met, contact shorter     s' = -e u, e = exp(-pi z / sqrt(1 - z^2)), z = D / 2 sqrt(K m)
    teeth parted                   what the spring pulled beyond the flank is taken back

A contact is resolved while w dt < 1, w^2 = K / m. Impulses p act along r through M. Of teeth that
strike together u are the speeds, G = R M^-1 R^T with a row r of each, e the smallest of them; those
on their flank take part. By Moreau's law

    G p = -(1 + e) u,  p <= 0,  energy changes by -(1 - e^2) / 2 u^T G^-1 u <= 0

Teeth that would be pulled are let go. Those that this pushes beyond their flank strike in a second
pass; what is left then waits on the flank for the next step, its motor put back there.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...model.chain import Elasticity
from ...spatial.functions import Functions, zero
from ...spatial.vectors import Scalars, inner, less, matrix_times
from ..inertia import ArmInertia, Constrained, independent_solve

if TYPE_CHECKING:
    from ..plant import Plant
    from ..state import PlantState
    from .stiff_gears import ElasticGear

REBOUND = 0.01  # rad/s or m/s below which teeth that meet stay together
TOUCHING = 1e-13  # rad or m: rounding of teeth that are on their flank
SWEEPS = 3  # over teeth that strike together: those that would be pulled are let go
PASSES = 2  # over teeth that others push beyond their flank
PI = 3.141592653589793


def with_backlash(gears: "list[ElasticGear]") -> "list[ElasticGear]":
    """Gears with backlash."""
    return [x for x in gears if not zero(x.gear.backlash)]


def flank(x: "ElasticGear", shorter: bool, q: Scalars, qd: Scalars, h: Any, fn: Functions) -> Any:
    """1 or -1 where the teeth touch, 0 within the gap and where they are about to strike or part.

    `shorter`: contacts are shorter than the step h. Teeth that leave the flank within it are free.
    """
    d, v, b = x.difference(q), x.difference(qd), x.gear.backlash
    found: Any = 0.0
    for side in (1.0, -1.0):
        s, rate = side * d - b, side * v
        goes = rate <= REBOUND if shorter else rate >= 0.0
        touching = (s > TOUCHING) + (s >= -TOUCHING) * (s <= TOUCHING) * goes
        if shorter:
            touching = touching * (h * (rate + REBOUND) + fn.max(s, 0.0) >= 0.0)
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
    soft, hard = [], []
    rows = zip(with_backlash(plant.gears), x.flank, plant.hard, strict=True)
    for gear, side, shorter in rows:
        (hard if shorter else soft).append(_Teeth(gear, side, shorter, h, fn))
    if soft:
        inertia = plant.impact_inertia(q, fn, x, h)
    for own in soft:
        own.feel(inertia, plant.held(x))
        own.reach(x.qd, q, qd)
    for own in soft:
        velocity, position = own.resolved()
        q, qd = own.pushed(q, own.m * position), own.pushed(qd, own.m * velocity)
    if not hard:
        return q, qd
    first = q
    q, qd = _impacts(plant, x, hard, q, qd, h, fn)
    for own in [*soft, *hard] if len(plant.hard) > 1 else []:
        q = own.put_back(q, own.gear.difference(first))
    return q, qd


def _impacts(
    plant: "Plant", x: "PlantState", hard: "list[_Teeth]", q: list[Any], qd: list[Any], h: Any,
    fn: Functions,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """q and qd after contacts that are shorter than a step, and the flight that follows them.

    Impulses p act through M where the teeth met, a time t before the end of the step. After them
    the rates are v' instead of v, and the torques f of inertia, friction and soft gears others:

        v' = v + M^-1 (sum r p + t (f(q', v') - f(q, v)))

    with q' halfway between where the teeth would be without the impact and where they are.
    """
    for own in hard:
        own.reach(x.qd, q, qd)
    since = _time_since(hard, fn)
    gained = [since * (v - before) / h for v, before in zip(qd, x.qd, strict=True)]
    met = [a - since * (v - 0.5 * g) for a, v, g in zip(q, qd, gained, strict=True)]
    inertia = plant.impact_inertia(met, fn, x, h)
    for own in hard:
        own.feel(inertia, None)
    first, rates = q, qd
    for k in range(PASSES if len(hard) > 1 else 1):
        for own in hard:
            if k:
                own.reach(qd, q, qd)
            own.speed = own.sign * own.gear.difference(less(qd, gained))
        q, qd = _struck(hard, q, qd, fn)
    halfway = [0.5 * (a + b) for a, b in zip(first, q, strict=True)]
    f = (plant.torque_in_flight(x, *at, h, fn) for at in ((halfway, qd), (first, rates)))
    more = inertia.response(less(*f), [None] * len(qd), fn)
    return q, [v + since * a for v, a in zip(qd, more, strict=True)]


def _time_since(teeth: "list[_Teeth]", fn: Functions) -> Any:
    """The time since teeth met; of several that did, the mean by the squares of their speeds."""
    if len(teeth) == 1:
        return teeth[0].t
    squares = [own.meets * (own.u * own.u) for own in teeth]
    whole = sum(squares[1:], squares[0])
    return inner(squares, [own.t for own in teeth]) / fn.select(whole > 0.0, whole, 1.0)


class Strike(NamedTuple):
    """Speed of teeth where they strike, and what this takes off s' and s."""

    speed: Any
    jump: Any
    move: Any


class _Teeth:
    """One pair of teeth at the end of the stages of a step, seen in the direction of a flank."""

    speed: Any  # at the instant of all impacts in the step

    def __init__(self, gear: "ElasticGear", side: Any, shorter: bool, h: Any, fn: Functions):
        self.gear, self.side, self.shorter, self.h, self.fn = gear, side, shorter, h, fn

    def feel(self, inertia: ArmInertia | Constrained, held: Scalars | None) -> None:
        """Look what an impulse does, with joints that are `held`."""
        own, n = self.gear, len(inertia.M)
        r: list[Any] = [0.0] * n
        r[own.motor], r[own.joint] = 1.0, -1.0
        self.response = inertia.response(r, [None] * n if held is None else held, self.fn)
        self.m = 1.0 / self.fn.max(own.difference(self.response), 1e-30)
        self.stiffness, self.damping = own.gear.stiffness / self.m, own.gear.damping / self.m

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
        self.carries = (1.0 - within) * (self.v >= -REBOUND)
        # s = u t + a t^2 / 2, v = u + a t: u and t from the end of the step backwards
        over = fn.select(self.meets, self.s, 0.0)
        self.u = fn.sqrt(fn.max(self.v * self.v - 2.0 * self.a * over, 0.0))
        both = fn.select(self.meets, self.u + self.v, 1.0)
        self.t = fn.max(0.0, fn.min(2.0 * over / both, self.h))

    def pushed(self, rates: Scalars, impulse: Any) -> list[Any]:
        """Rates after an impulse that parts the teeth where it is positive in their direction."""
        push = self.sign * impulse
        return [v + push * r for v, r in zip(rates, self.response, strict=True)]

    def put_back(self, q: Scalars, first: Any) -> list[Any]:
        """q with the motor no farther beyond a flank than d was at first.

        The kinetic energy does not depend on where a motor is. Resolved contacts on their flank
        stay: their spring has taken what others pushed.
        """
        own, fn, b = self.gear, self.fn, self.gear.gear.backlash
        if self.shorter:
            first = self.side * fn.max(self.side * first, 0.0)
        d = own.difference(q)
        over = d - fn.max(fn.min(first, -b), fn.min(d, fn.max(first, b)))
        if not self.shorter:
            over = fn.select(self.side == 0.0, over, 0.0)
        new = list(q)
        new[own.motor] = q[own.motor] - over
        return new

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

    def strike(self, e: Any) -> Strike:
        """Teeth that met rebound by e: slow ones stay, and those that would cross the gap again."""
        fn, gap = self.fn, 2.0 * self.gear.gear.backlash
        stays = (self.u <= REBOUND) + (e * self.u * self.t >= gap) > 0.0
        jump = (1.0 + e) * self.u
        jump, move = (fn.select(stays, a, b) for a, b in ((self.v, jump), (self.s, jump * self.t)))
        return Strike(
            self.speed,
            fn.select(self.meets, jump, (1.0 + e) * self.v),
            fn.select(self.meets, move, 0.0),
        )

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
    e, hit, fast = 1.0, 0.0, 0.0
    for own in teeth:
        bounces = own.meets * (own.u > REBOUND)
        e = fn.select(bounces > 0.0, fn.min(e, own.restitution()), e)
        hit, fast = fn.max(hit, 1.0 * own.meets), fn.max(fast, 1.0 * bounces)
    e = fn.select(fast > 0.0, e, 0.0)
    rows = [own.strike(e) for own in teeth]
    active = [1.0 * own.meets for own in teeth]
    if len(teeth) > 1:  # teeth on their flank carry the blow on
        active = [fn.max(on, hit * own.carries) for on, own in zip(active, teeth, strict=True)]
    G = [[a.sign * b.sign * a.gear.difference(b.response) for b in teeth] for a in teeth]
    impulses, shifts = impulses_of(rows, active, G, fn)
    for own, p, shift in zip(teeth, impulses, shifts, strict=True):
        q, qd = own.pushed(q, shift), own.pushed(qd, p)
    return q, qd


def impulses_of(
    rows: Sequence[Strike], active: Sequence[Any], G: Sequence[Scalars], fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Impulses that give `active` teeth their jumps, and moves in the same way; 0 of others.

    G is what impulses do to the speeds of all teeth; teeth that would be pulled are let go.
    """
    size = range(len(rows))
    impulses: list[Any] = []
    shifts: list[Any] = []
    for _ in range(min(SWEEPS, len(rows))):
        A = [
            [fn.select(active[i] * active[j] > 0.0, G[i][j], float(i == j)) for j in size]
            for i in size
        ]
        impulses, shifts = (
            independent_solve(A, [fn.select(on > 0.0, -x, 0.0) for on, x in pairs], fn)[0]
            for pairs in (
                zip(active, [x.jump for x in rows], strict=True),
                zip(active, [x.move for x in rows], strict=True),
            )
        )
        active = [on * (p < 0.0) for on, p in zip(active, impulses, strict=True)]
    impulses, shifts = (
        [fn.select(on > 0.0, x, 0.0) for on, x in zip(active, values, strict=True)]
        for values in (impulses, shifts)
    )
    if len(rows) == 1:
        return impulses, shifts
    share = _without_gain(G, impulses, [x.speed for x in rows], fn)
    return [share * p for p in impulses], [share * p for p in shifts]


def _without_gain(G: Sequence[Scalars], p: Scalars, u: Scalars, fn: Functions) -> Any:
    """The share of impulses p at speeds u, at most 1, that adds no energy: p u + p G p / 2 <= 0.

    It is below 1 only where the last sweep let teeth go.
    """
    work, square = inner(p, u), inner(p, matrix_times(G, p))
    most = -2.0 * work / fn.select(square > 0.0, square, 1.0)
    return fn.select(square > 0.0, fn.max(0.0, fn.min(1.0, most)), 1.0)
