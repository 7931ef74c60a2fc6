"""The loops of a closed mechanism after a step: closed again, and whether they decided its motion.

A step leaves the loops open by its own error. `put_back` closes them by the least motion in the
sense of M. Three figures tell whether the step was sound; one that was not gives NaN, which ends a
run of any kind:

    opening     |e(q)| after that, m or rad                   at most the chain's tolerance
    departure   |v_n|^2 / (|v|^2 + |v_0|^2), where v_n = M^-1 J^T (J M^-1 J^T)^-1 J v is the part
                of the velocity v after the stages that opens the loops, v_0 that before them
    fall        of the squared sines between rows of J: those before the step by those after it

The step's error along the loops, which shows nowhere else, is of the size of the departure: of
random mechanisms the energy is wrong by about |v_n| / |v| after the worst step of a run. A step of
order p in which velocities turn by x has a departure of about x^(p+1), at most TURN^(p+1). Sines
that fall to less than half in a step are those of a configuration where the closures lose rank,
which the next step would pass: beyond it the motion is not determined.
"""

import math
from typing import Any, NamedTuple

from ...dynamics import closed
from ...dynamics.closures import closure_error, closure_jacobian
from ...model.chain import Chain
from ...spatial.functions import Functions
from ...spatial.vectors import Scalars, inner, matrix_times, plus
from ..inertia import ArmInertia, Constrained, inertia_at

STILL = 1e-12  # rad/s or m/s: rounding, of a joint that others hold
CORRECTIONS = 2  # of positions: a step leaves the loops open by its own error
AT_REST_TOO = 1  # of positions, where friction may have brought to rest more joints than can be
AFTER_IMPACTS = 3  # of positions and velocities: joints were put back to stops by a part of a step
SLACK = 1e-3  # of the tolerance: loops more open than this are closed by joints at rest too
TURN = 0.35  # rad in a step: the departure is 0.5 % of a step of order 4, 12 % of order 1
NARROW = 0.1  # squared sine between rows of J, below which they may lose rank
FALL = 4.0  # of a squared sine in a step: one more would pass zero
AT_REST = 1e-6  # rad/s or m/s: below, velocities are rounding, in single precision too


class LoopFigures(NamedTuple):
    """Agreement of a step with the loops."""

    opening: Any  # the largest
    departure: Any  # squared
    fall: Any  # the largest

    def sound(self, chain: Chain, order: int) -> Any:
        """Whether the loops decided a step of this order."""
        most = most_departure(order)
        near = (self.opening <= chain.tolerance) * (self.departure <= most * most)
        return near * (self.fall < FALL)


def most_departure(order: int) -> float:
    """The largest |v_n| / |v| of a sound step."""
    return TURN ** (min(order, 4) + 1)


def put_back(
    chain: Chain, q: list[Any], qd: list[Any], held: Scalars, stopped: Scalars,
    inertia: ArmInertia | Constrained, fn: Functions,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The loops closed again after a step, by the least motion in the sense of M.

    `inertia` is that where the stages led, or at the stops: what turned back since moved little.

    Joints that are `held` stay. Those that came to rest in this step may be more than degrees of
    freedom: what is open then is closed by all that are not `stopped`, and by those of these that
    others stop already. None stands for joints that never hold, or have no stop.
    """
    assert isinstance(inertia, Constrained)
    found = inertia
    rows, zeros = closed.mobility(chain).rows, [0.0] * chain.n
    holds, stops = (any(h is not None for h in x) for x in (held, stopped))

    def correction(opening: Scalars, still: Scalars, yielding: bool = False) -> list[Any]:
        back = Constrained(found.M, found.mass, [opening[r] for r in rows], found.pushes)
        return back.solve(zeros, still, zeros, fn, yielding)[0]

    for _ in range(CORRECTIONS):
        q = plus(q, correction(closure_error(chain, q, fn), held))
    if holds:
        some, place = _largest(closure_error(chain, q, fn), fn) > SLACK * chain.tolerance, q
        for _ in range(AFTER_IMPACTS if stops else AT_REST_TOO):
            place = plus(place, correction(closure_error(chain, place, fn), stopped, True))
        q = [fn.select(some, a, b) for a, b in zip(place, q, strict=True)]
    J = closure_jacobian(chain, q, fn)
    for _ in range(AFTER_IMPACTS if stops else 1):
        qd = plus(qd, correction(matrix_times(J, qd), held))
    some = 0.0
    for h in held:
        some = some if h is None else fn.max(some, 1.0 * h)
    return q, [
        v if h is None else fn.select(some * (fn.max(v, -v) < STILL) > 0.0, 0.0, v)
        for v, h in zip(qd, held, strict=True)
    ]


def _largest(values: Scalars, fn: Functions) -> Any:
    """The largest size of a value."""
    found: Any = 0.0
    for x in values:
        found = fn.max(found, fn.max(x, -x))
    return found


def loop_figures(
    chain: Chain, start: tuple[Scalars, Scalars], end: tuple[Scalars, Scalars], q: Scalars,
    fn: Functions, sines: Scalars | None = None,
) -> LoopFigures:  # fmt: skip
    """Figures of a step from one (q, qd) to another, where its stages led, and then to q.

    `sines` are those between the rows of J at the start, if they are known.
    """
    opening = _largest(closure_error(chain, q, fn), fn)
    after = _inertia(chain, end[0], fn)
    if sines is None:
        sines = closed.sines(chain, _inertia(chain, start[0], fn).mass)
    opens = matrix_times(after.mass.J, end[1])
    whole: Any = 0.0
    for qd in (start[1], end[1]):
        whole = whole + inner(qd, after.momentum(qd))
    for i, row in enumerate(after.M):
        whole = whole + AT_REST * AT_REST * row[i]
    departure = inner(opens, after.mass.gram.solve(opens)) / whole
    fall: Any = 0.0
    for old, new in zip(sines, closed.sines(chain, after.mass), strict=True):
        fall = fn.max(fall, fn.select(new < NARROW, old / new, 0.0))
    return LoopFigures(opening, departure, fall)


def _inertia(chain: Chain, q: Scalars, fn: Functions) -> Constrained:
    """Inertia of a closed mechanism for impulses."""
    found = inertia_at(chain, q, fn)
    assert isinstance(found, Constrained)
    return found


def or_nan(values: Scalars, good: Any, fn: Functions) -> list[Any]:
    """The values of a sound step, or NaN."""
    return [fn.select(good > 0.0, x, math.nan) for x in values]
