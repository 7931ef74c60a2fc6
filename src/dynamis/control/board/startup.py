"""The start of an arm that does not know where it is, in phases, and the reference in each.

COARSE     potentiometers are read some times while the arm is held where they say it is
INDEX      every motor turns slowly until the index pulse tells its place within the turn
APPROACH   the arm goes to its reference, always between where it was and where that is
RUNNING    the reference itself
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...spatial.functions import Functions
from ...spatial.vectors import less
from ..controller import Reference
from .board import Board
from .wiring import Channel

COARSE, INDEX, APPROACH, RUNNING = 0.0, 1.0, 2.0, 3.0
PHASES = ("coarse", "index", "approach", "running")
RISE = 0.2  # s until a motor has its search speed
TURNS = 1.5  # of a motor, after which an index that has not come is missing
SHORTEST = 0.5  # s, of an approach
STEEPEST = 1.875  # of a quintic: largest rate times its duration over its way
DONE = 1.0 - 1e-9

Names = Mapping[str, list[Any]]


def started(n: int) -> dict[str, list[Any]]:
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


def moved(
    x: Names,
    phase: Any,
    known: Sequence[Any],
    wanted: Reference,
    channels: Sequence[Channel],
    board: Board,
    middle: Sequence[float],
    dt: Any,
    fn: Functions,
) -> tuple[Reference, dict[str, list[Any]], list[Any]]:
    """The reference of this sample, the state after it, and which index pulses are missing."""
    after, rows, missing = {name: list(x[name]) for name in x}, ([], [], []), []
    entered = (phase == APPROACH) * (x["phase"][0] == INDEX)
    away = less(wanted.q, x["place"])
    pace = fn.select(entered, _pace(away, channels, board, dt, fn), x["pace"][0])
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
        approach = _blended(wanted, i, place, u, pace / dt)
        own = place, rate, change / dt
        for row, late, early, end in zip(rows, approach, own, wanted, strict=True):
            row.append(
                fn.select(phase >= RUNNING, end[i], fn.select(phase >= APPROACH, late, early))
            )
        for name, value in (("place", place), ("rate", rate), ("way", way), ("travel", travel)):
            after[name][i] = value
    after |= {"pace": [pace], "phase": [phase]}
    after["gone"] = [fn.select(phase == APPROACH, u + pace, x["gone"][0])]
    return Reference(*rows), after, missing


def _pace(
    away: Sequence[Any], channels: Sequence[Channel], board: Board, dt: Any, fn: Functions
) -> Any:
    """The share of an approach that a sample takes."""
    longest: Any = SHORTEST
    for way, c in zip(away, channels, strict=True):
        speed = abs(c.scale) * c.counts * board.approach_speed
        longest = fn.max(longest, abs(way) * (STEEPEST / speed))
    return dt / longest


def _blended(wanted: Reference, i: int, place: Any, u: Any, per: Any) -> tuple[Any, Any, Any]:
    """Between a place and the reference, a share w(u) of the way; `per` is du/dt.

    w goes from 0 to 1 with rest at both ends, so the joint stays between the two.
    """
    w = u * u * u * (10.0 - u * (15.0 - 6.0 * u))
    wd = per * (30.0 * u * u * (1.0 - u * (2.0 - u)))
    wdd = per * per * (60.0 * u * (1.0 - u * (3.0 - 2.0 * u)))
    q, qd, qdd = (row[i] for row in wanted)
    away = q - place
    return place + w * away, w * qd + wd * away, w * qdd + 2.0 * wd * qd + wdd * away
