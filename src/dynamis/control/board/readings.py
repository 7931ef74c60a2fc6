"""Readings of a board taken into the state: counters unwrapped, the home found, faults named."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...spatial.functions import Functions
from .board import Board
from .startup import APPROACH, INDEX
from .wiring import SURE, Channel


class Fault(NamedTuple):
    """What may be wrong with a sample, and what follows."""

    name: str
    meaning: str
    follows: str


BAD = "safe torque, a bad sample"
ENDS = "the safe state at once"
FAULTS = (  # the later, the worse
    Fault("none", "", ""),
    Fault(
        "sample missed",
        "the number of the sample went on by more than one",
        "velocities are made over the longer time; `latch` missed in a row are the safe state",
    ),
    Fault("law", "the reference, or the torque of the law, is not plausible", BAD),
    Fault("sample repeated", "the number of the sample did not go on", BAD),
    Fault(
        "potentiometer disagrees",
        "it and the encoder differ by more than half a turn of the motor",
        BAD,
    ),
    Fault("potentiometer dead", "its code is one that its wiper cannot give", BAD),
    Fault("counter jumps", "farther than the motor can have turned", f"{BAD}: it is not taken"),
    Fault("potentiometer unsteady", "readings of the start differ by more than its noise", ENDS),
    Fault(
        "counter overflows",
        "so many samples in a row were missed or bad that it may have gone round unseen",
        ENDS,
    ),
    Fault("counter backwards", "at the start it and the potentiometer go opposite ways", ENDS),
    Fault("joint strays", "the motor is farther from where it searches than `stray` turns", ENDS),
    Fault("index unsure", "the first pulse came half a turn from where it should", ENDS),
    Fault("index missing", "it did not come within one and a half turns", ENDS),
    Fault("index misplaced", "a later pulse came at another count: counts were lost", ENDS),
)
(
    _, MISSED, LAW, REPEATED, DISAGREES, DEAD, JUMPS,
    UNSTEADY, OVERFLOWS, BACKWARDS, STRAYS, UNSURE, MISSING, MISPLACED,
) = map(float, range(len(FAULTS)))  # fmt: skip
TICKS = 2.0**32  # of the number of a sample
INPUTS = ("tick", "counts", "latched", "index", "analog")
OWN = ("counts", "total", "home", "sum", "low", "high", "known")  # numbers per joint
ONE = ("samples", "tick", "unread", "fault", "joint")


class Readings(NamedTuple):
    """What is read at a sample: its number, counters, counts at the last index pulse, whether one
    came since the sample before, and codes of the potentiometers."""

    tick: Any
    counts: Sequence[Any]
    latched: Sequence[Any]
    index: Sequence[Any]
    analog: Sequence[Any]


class Intake(NamedTuple):
    """Readings understood: what is new in the state, positions, and what is wrong."""

    state: dict[str, list[Any]]
    q: list[Any]
    shift: list[Any]  # of positions, by a home that is known better
    missed: Any
    faults: list[Any]  # the worst of every joint
    good: Any
    full: Any  # potentiometers were read often enough


class Reader:
    """Takes the readings of a board: `channels` are its joints."""

    def __init__(self, board: Board, channels: Sequence[Channel]):
        self.board, self.channels = board, channels

    def take(self, own: Mapping[str, Any], r: Readings, first: Any, fn: Functions) -> Intake:
        """Counters unwrapped, potentiometers and index pulses taken into the home counts."""
        board, state = self.board, {name: list(own[name]) for name in (*OWN, *ONE)}
        since = fn.select(first, 1.0, nearest(r.tick - own["tick"][0], TICKS, fn))
        repeated, missed = 1.0 * (since < 1.0), fn.max(0.0, since - 1.0)
        elapsed = fn.max(1.0, since) + own["unread"][0]
        deltas, near = [], 1.0 - repeated
        leaps = []
        for c, now, before in zip(self.channels, r.counts, own["counts"], strict=True):
            delta = fn.select(first, 0.0, nearest(now - before, c.modulus, fn))
            far = 1.0 * (abs(delta) > c.farthest * elapsed)
            lost = (1.0 - 1.0 * first) * (c.farthest * elapsed >= 0.5 * c.modulus)
            deltas.append(delta)
            leaps.append(fn.max(JUMPS * far, OVERFLOWS * lost))
            near = near * (far == 0.0)
        reading = 1.0 * (own["samples"][0] < float(board.samples))
        last = 1.0 * (own["samples"][0] == float(board.samples - 1))
        faults, good = [], near
        for i in range(len(self.channels)):
            fault, fine = self._joint(i, own, state, r, deltas[i], (near, first, reading, last), fn)
            good = good * fine
            faults.append(fn.max(fault, fn.max(leaps[i], REPEATED * repeated)))
        for name in OWN:  # nothing is taken from a bad sample, but what the first one began
            state[name] = [
                fn.select(good > 0.0, a, b) for a, b in zip(state[name], own[name], strict=True)
            ]
        taken = own["samples"][0] + reading
        state["samples"] = [fn.select(good > 0.0, taken, own["samples"][0])]
        state["tick"] = [fn.select(repeated > 0.0, own["tick"][0], r.tick)]
        state["unread"] = [fn.select(good > 0.0, 0.0, elapsed)]
        places = zip(self.channels, state["total"], state["home"], strict=True)
        q = [c.zero + c.scale * (a + b) for c, a, b in places]
        homes = zip(self.channels, state["home"], own["home"], strict=True)
        shift = [c.scale * (a - b) for c, a, b in homes]
        full = 1.0 * (state["samples"][0] >= float(board.samples))
        return Intake(state, q, shift, missed, faults, good, full)

    def _joint(
        self, i: int, own: Mapping[str, Any], state: dict[str, list[Any]], r: Readings, delta: Any,
        about: tuple[Any, Any, Any, Any], fn: Functions,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Take the readings of a joint into the state; its fault, and whether they are good."""
        (near, first, reading, last), c = about, self.channels[i]
        count = r.counts[i]
        total = own["total"][i] + delta
        home, fault, fine = self._coarse(i, own, state, r, total, (first, reading, last), fn)
        misplaced = unsure = 0.0 * first
        known: Any = 1.0 * (own["known"][i] > 0.0)
        if not c.searched:
            known = fn.max(known, fn.max(last, 1.0 - reading))
        else:
            index = float(c.index or 0.0)
            there = total + home - nearest(count - r.latched[i], c.modulus, fn)
            off = nearest(there - index, c.counts, fn)
            hit = (r.index[i] > 0.5) * (own["phase"][0] >= INDEX) * near
            misplaced = hit * known * (abs(off) > float(self.board.slip))
            new = hit * (known == 0.0)
            unsure = new * (abs(off) > c.counts * (0.5 * (SURE + 0.5)))
            home = home - fn.select(new > 0.0, off, 0.0)
            known = fn.max(known, new)
        for name, value in (("counts", count), ("total", total), ("home", home), ("known", known)):
            state[name][i] = value
        return fn.max(fault, fn.max(UNSURE * unsure, MISPLACED * misplaced)), fine

    def _coarse(
        self, i: int, own: Mapping[str, Any], state: dict[str, list[Any]], r: Readings, total: Any,
        about: tuple[Any, Any, Any], fn: Functions,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Home of a joint by potentiometer or parking; its fault, and whether it is good."""
        (first, reading, last), c = about, self.channels[i]
        track, home = c.track, own["home"][i]
        if track is None:
            parked = fn.select(first, c.parked, home)
            return self._with_resolver(i, parked, r, total, first, fn), 0.0 * reading, 1.0
        code = r.analog[i]
        guess = track.base + track.rate * code - total
        dead = fn.max(1.0 * (code < track.lowest), 1.0 * (code > track.highest))
        sum_ = fn.select(first, guess, own["sum"][i] + guess * reading)
        low = fn.select(
            first, guess, fn.select(reading > 0.0, fn.min(own["low"][i], guess), own["low"][i])
        )
        high = fn.select(
            first, guess, fn.select(reading > 0.0, fn.max(own["high"][i], guess), own["high"][i])
        )
        for name, value in (("sum", sum_), ("low", low), ("high", high)):
            state[name][i] = value
        mean = sum_ * (1.0 / self.board.samples)
        coarse = fn.floor(fn.select(last > 0.0, mean, guess) + 0.5)
        new = fn.max(1.0 * first, last)
        coarse = self._with_resolver(i, coarse, r, total, new, fn)
        home = fn.select(new > 0.0, coarse, home)
        wide = 2.0 * (track.noise + abs(track.rate))
        unsteady = last * (high - low > wide)
        apart = 1.0 * (abs(guess - home) > c.apart)
        mirrored = abs(guess - home + 2.0 * total) < SURE * c.counts  # as far, the other way
        backwards = apart * mirrored * (own["phase"][0] <= APPROACH)
        fault = fn.max(DISAGREES * apart, DEAD * dead)
        fault = fn.max(fault, fn.max(UNSTEADY * unsteady, BACKWARDS * backwards))
        return home, fault, (dead == 0.0) * (apart == 0.0)

    def _with_resolver(
        self, i: int, home: Any, r: Readings, total: Any, new: Any, fn: Functions
    ) -> Any:
        """A new home that agrees with a resolver's place within the turn."""
        c = self.channels[i]
        if not c.absolute:
            return home
        off = nearest(r.counts[i] - (total + home), c.counts, fn)
        return home + fn.select(new > 0.0, off, 0.0)


def nearest(difference: Any, modulus: float, fn: Functions) -> Any:
    """The nearest to zero of what a counter that overflows may have moved."""
    return difference - modulus * fn.floor(difference * (1.0 / modulus) + 0.5)
