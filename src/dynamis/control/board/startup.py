"""The start of an arm that does not know where it is, in phases, and the reference in each.

COARSE     potentiometers are read some times while the arm is held where they say it is
INDEX      every motor turns slowly until the index pulse tells its place within the turn
APPROACH   the arm goes to its reference, always between where it was and where that is
RUNNING    the reference itself
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...spatial.functions import Functions
from ...spatial.vectors import less
from ..controller import reference_of
from .board import Board
from .wiring import Channel

COARSE, INDEX, APPROACH, RUNNING = 0.0, 1.0, 2.0, 3.0
PHASES = ("coarse", "index", "approach", "running")
RISE = 0.2  # s until a motor has its search speed
TURNS = 1.5  # of a motor, after which an index that has not come is missing
SHORTEST = 0.5  # s, of an approach
# w(u) = u^rows (c0 + c1 u + ...) goes from 0 to 1, with all derivatives that a reference of so many
# rows has 0 at both ends; and its largest rate, times duration over way
BLENDS = {3: (10.0, -15.0, 6.0), 5: (126.0, -420.0, 540.0, -315.0, 70.0)}
STEEPEST = {3: 1.875, 5: 2.4609375}
DONE = 1.0 - 1e-9

Names = Mapping[str, list[Any]]


def initial_state(n: int) -> dict[str, list[Any]]:
    """The state before the first sample."""
    each = ("place", "rate", "way", "travel")
    return {**{name: [0.0] * n for name in each}, "phase": [COARSE], "gone": [0.0], "pace": [1.0]}


def phase_after(x: Names, full: Any, known: Sequence[Any], fine: Any, fn: Functions) -> Any:
    """The phase of this sample; `full`: the potentiometers were read, `fine`: the reference is."""
    still: Any = 1.0
    for k, v in zip(known, x["rate"], strict=True):
        still = still * (k > 0.0) * (v == 0.0)
    phase = x["phase"][0]
    over = x["gone"][0] >= DONE
    phase = fn.select((phase == APPROACH) * over, RUNNING, phase)
    phase = fn.select((phase == INDEX) * (still > 0.0) * (fine > 0.0), APPROACH, phase)
    return fn.select((x["phase"][0] == COARSE) * (full > 0.0), INDEX, phase)


def advance(
    x: Names,
    phase: Any,
    known: Sequence[Any],
    wanted: Any,
    channels: Sequence[Channel],
    board: Board,
    middle: Sequence[float],
    dt: Any,
    fn: Functions,
) -> tuple[Any, dict[str, list[Any]], list[Any]]:
    """The reference of this sample, the state after it, and which index pulses are missing."""
    after, missing = {name: list(x[name]) for name in x}, []
    rows: list[list[Any]] = [[] for _ in wanted]
    entered = (phase == APPROACH) * (x["phase"][0] == INDEX)
    away = less(wanted.q, x["place"])
    longest = _longest(away, channels, board, STEEPEST[len(rows)], fn)
    pace = fn.select(entered, dt / longest, x["pace"][0])
    u = fn.select(entered, 0.0, x["gone"][0])
    for i, c in enumerate(channels):
        turn = abs(c.scale) * c.counts
        speed = turn * board.search_speed
        ahead = fn.select(x["place"][i] > middle[i], -1.0, 1.0)
        way = fn.select((phase == INDEX) * (x["phase"][0] == COARSE), ahead, x["way"][i])
        goal = fn.select((phase == INDEX) * (known[i] <= 0.0), way * speed, 0.0)
        most = dt * (speed / RISE)
        change = fn.max(-most, fn.min(goal - x["rate"][i], most))
        rate = x["rate"][i] + change
        place = x["place"][i] + dt * rate
        travel = x["travel"][i] + abs(dt * rate)
        missing.append((known[i] <= 0.0) * (travel > TURNS * turn))
        approach = _blend(wanted, i, place, u, pace / dt)
        own = (place, rate, change / dt, *(0.0 for _ in rows[3:]))
        for row, late, early, end in zip(rows, approach, own, wanted, strict=True):
            row.append(
                fn.select(phase >= RUNNING, end[i], fn.select(phase >= APPROACH, late, early))
            )
        for name, value in (("place", place), ("rate", rate), ("way", way), ("travel", travel)):
            after[name][i] = value
    after |= {"pace": [pace], "phase": [phase]}
    after["gone"] = [fn.select(phase == APPROACH, u + pace, x["gone"][0])]
    return reference_of(rows), after, missing


def strays(
    wanted: Sequence[Any], q: Sequence[Any], phase: Any, channels: Sequence[Channel], board: Board
) -> list[Any]:
    """Motors that are not where they search: something drives or counts the wrong way."""
    most = [board.stray * abs(c.scale) * c.counts for c in channels]
    return [(phase <= INDEX) * (abs(a - b) > m) for a, b, m in zip(q, wanted, most, strict=True)]


def _longest(
    away: Sequence[Any], channels: Sequence[Channel], board: Board, steepest: float, fn: Functions
) -> Any:
    """Seconds of an approach: no motor turns faster than `approach_speed` because of it."""
    longest: Any = SHORTEST
    for way, c in zip(away, channels, strict=True):
        speed = abs(c.scale) * c.counts * board.approach_speed
        longest = fn.max(longest, abs(way) * (steepest / speed))
    return longest


def _blend(wanted: Any, i: int, place: Any, u: Any, per: Any) -> list[Any]:
    """Between a place and the reference, a share w(u) of the way, with derivatives; `per` is du/dt.

    The joint stays between the two: place + w (q - place), by Leibniz' rule.
    """
    way = [wanted[0][i] - place, *(row[i] for row in wanted[1:])]
    share = _shares(u, per, len(way))
    rows = [
        sum((math.comb(k, j) * share[j] * way[k - j] for j in range(1, k + 1)), share[0] * way[k])
        for k in range(len(way))
    ]
    return [place + rows[0], *rows[1:]]


def _shares(u: Any, per: Any, rows: int) -> list[Any]:
    """w and its derivatives by time."""
    found, scale = [], 1.0
    for k in range(rows):
        terms = [c * math.perm(rows + j, k) for j, c in enumerate(BLENDS[rows])]
        value: Any = terms.pop()
        while terms:
            value = terms.pop() + u * value
        for _ in range(rows - k):
            value = u * value
        found.append(scale * value)
        scale = per * scale
    return found
