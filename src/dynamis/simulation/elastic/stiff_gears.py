"""Elastic gears in steps that do not resolve their vibration: a Rosenbrock step implicit in them.

With the tangent Kt and the damping D of every gear, a force that acts for a time t meets

    W = M + k [1, -1; -1, 1],  k = t D + t^2 Kt

over joint and motor: stiff gears move both, soft ones one of them. The rates of a stage are

    (M + k) w = -h (KK x + DD u') - k a,  k = g h D + (g h)^2 Kt,  x = u + g (v + h u')

a being the accelerations of its forces, u and u' sums of rates before, kv = a + w the rates that
count. M is that of the start of the step. Motors stand after the joints and M couples them to
nothing, so that they are eliminated first: the solve is that of the joints.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...dynamics.elastic import coordinate, motor_coordinate
from ...dynamics.elements.gears import moving_motors, tangent
from ...model.chain import Chain, Elasticity
from ...spatial.functions import Functions, zero
from ...spatial.vectors import Scalars

Rates = Mapping[str, Sequence[Any]]


class ElasticGear(NamedTuple):
    """An elastic gear between the coordinates of its joint and of its motor."""

    joint: int
    motor: int
    gear: Elasticity

    def difference(self, x: Scalars) -> Any:
        """Motor less joint."""
        return x[self.motor] - x[self.joint]


def elastic_gears(chain: Chain) -> list[ElasticGear]:
    """Those of an expanded chain."""
    return [
        ElasticGear(coordinate(chain, gear), motor_coordinate(chain, gear), gear)
        for gear in moving_motors(chain)
    ]


def tangents(
    gears: Sequence[ElasticGear], q: Scalars, qd: Scalars, h: Any, fn: Functions
) -> list[Any]:
    """Stiffness of every gear in a step from q, the larger of two: a smaller one may diverge."""
    found = []
    for x in gears:
        d = x.difference(q)
        here = tangent(x.gear, d, fn)
        if not zero(x.gear.hardening):
            here = fn.max(here, tangent(x.gear, d + h * x.difference(qd), fn))
        found.append(here)
    return found


def stiffened(
    M: Sequence[Scalars], gears: Sequence[ElasticGear], added: Sequence[Any]
) -> list[list[Any]]:
    """M + k [1, -1; -1, 1] of every gear, k being what is added."""
    new = [list(row) for row in M]
    for (i, j, _), k in zip(gears, added, strict=True):
        new[i][i], new[j][j] = new[i][i] + k, new[j][j] + k
        new[i][j], new[j][i] = new[i][j] - k, new[j][i] - k
    return new


def added_inertia(
    gears: Sequence[ElasticGear], tangents: Sequence[Any], times: Sequence[Any], share: float = 1.0
) -> list[Any]:
    """k = t D + share t^2 Kt of every gear."""
    rows = zip(gears, tangents, times, strict=True)
    return [_plus(share * (t * t) * Kt, t, x.gear.damping) for x, Kt, t in rows]


def _plus(stiff: Any, t: Any, damping: Any) -> Any:
    return stiff if zero(damping) else stiff + t * damping


def spring_push(
    gears: Sequence[ElasticGear],
    tangents: Sequence[Any],
    x: Scalars,
    rates: Scalars | None,
    size: int,
) -> list[Any]:
    """-(KK x + DD rates): torques of the gears, which x and rates of motor less joint would add."""
    total: list[Any] = [0.0] * size
    for own, Kt, d, rate in zip(gears, tangents, x, rates or x, strict=True):
        push = Kt * d
        if rates is not None and not zero(own.gear.damping):
            push = push + own.gear.damping * rate
        total[own.joint] = total[own.joint] + push
        total[own.motor] = total[own.motor] - push
    return total
