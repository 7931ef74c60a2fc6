"""Counts in, codes out: a law behind a board, as one program that is simulated and exported.

    answer, state = stepped(state, readings, reference or t)

Readings become positions (`readings`), the arm is led to its reference (`startup`), the law runs at
positions and velocities from differences, and its torques become codes. A sample with a fault is a
bad sample of the law: safe torque, and from `latch` in a row, or at once where the position is
lost, until a new start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...arguments import strict
from ...compile.service import Key, traced
from ...errors import OptionError, shown
from ...lazy import cached_property
from ...spatial.functions import MATH, Functions
from ...spatial.vectors import slices
from ..controller import NO_LIMIT, Values
from ..law import UNKNOWN, Law
from . import startup
from .board import Board
from .readings import (
    INPUTS,
    LAW,
    MISSED,
    MISSING,
    ONE,
    OWN,
    STRAYS,
    UNSTEADY,
    Intake,
    Reader,
    Readings,
)
from .startup import INDEX, RUNNING
from .wiring import Channel, channels, refuse_coarse

if TYPE_CHECKING:
    from ...compile.program import Program

STARTING = 3.0  # status, beside those of the law
LOST = 1e9  # a position that no law takes for one


class Answer(NamedTuple):
    """What goes out, and what is known: `fault` of FAULTS at `joint` (-1: of none)."""

    codes: list[Any]
    volts: list[Any]
    q: list[Any]
    qd: list[Any]
    status: Any
    phase: Any
    fault: Any
    joint: Any


@strict
@dataclass(frozen=True, eq=False)
class BoardLaw:
    """A law of counts and codes: a `Law`, and the board between it and its arm."""

    law: Law
    board: Board

    def __post_init__(self) -> None:
        if not isinstance(self.law, Law):
            raise OptionError(f"law is {shown(self.law)}, expected dynamis.realtime.Law(...)")
        if not isinstance(self.board, Board):
            raise OptionError(f"board is {shown(self.board)}, expected dy.control.Board(...)")
        _ = self.inner

    @property
    def n(self) -> int:
        """Joints."""
        return self.law.n

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """Numbers of every joint."""
        law = self.law
        found = channels(self.board, law.robot, law.sample_time, law.jumps)
        refuse_coarse(found, self.board.samples, law.robot.joint_names)
        return found

    @cached_property
    def reader(self) -> Reader:
        """What takes readings into the state."""
        return Reader(self.board, self.channels)

    @cached_property
    def inner(self) -> Law:
        """The law behind the conversions: it sees positions, and knows what converters reach."""
        most = [abs(c.most * c.per_volt) for c in self.channels]
        limit = [min(pair) for pair in zip(most, self.law.limits, strict=True)]
        return replace(self.law, velocity="difference", reference=None, jump=None, limit=limit)

    @cached_property
    def _middle(self) -> list[float]:
        """Where joints are far from their stops."""
        rows = self.law.robot.limits.tolist()
        return [0.5 * (a + b) if abs(a) < NO_LIMIT and abs(b) < NO_LIMIT else 0.0 for a, b in rows]

    @cached_property
    def key(self) -> Key | None:
        """What decides the code besides sizes of gains; None if only tracing it tells."""
        if self.law.reference is not None or self.inner.key is None:
            return None
        return (*self.inner.key, repr((self.board, self.channels, self._middle)))

    @cached_property
    def slots(self) -> dict[str, int]:
        """Names and sizes of the state."""
        return {k: len(v) for k, v in self.begun(self.inner.gains, MATH).items()}

    @property
    def states(self) -> int:
        """How many numbers the state has."""
        return sum(self.slots.values())

    def begun(self, gains: Values, fn: Functions) -> dict[str, list[Any]]:
        """The state before the first sample, by name: the arm is anywhere."""
        still = [0.0] * self.n
        own = {**{x: list(still) for x in OWN}, **{x: [0.0] for x in ONE}}
        own |= startup.initial_state(self.n)
        law = self.inner.begun(still, still, gains, fn)
        return {**{f"start.{k}": v for k, v in own.items()}, **law}

    # one sample

    def stepped(
        self,
        x: Mapping[str, list[Any]],
        t: Any,
        readings: Readings,
        wanted: Any,
        gains: Values,
        dt: Any,
        fn: Functions,
    ) -> tuple[Answer, dict[str, list[Any]]]:
        """(answer, state by name) of one sample; `wanted` is not looked at if t decides."""
        own = {k.removeprefix("start."): v for k, v in x.items() if k.startswith("start.")}
        first = own["samples"][0] == 0.0
        read = self.reader.take(own, readings, first, fn)
        goal, fine = self.law._wanted(t, wanted, fn)
        known = read.state["known"]
        place = [fn.select(first, q, a + d)
                 for q, a, d in zip(read.q, own["place"], read.shift, strict=True)]  # fmt: skip
        move = {name: own[name] for name in startup.initial_state(self.n)} | {"place": place}
        phase = startup.phase_after(move, read.full, known, fine, fn)
        reference, after, missing = startup.advance(
            move, phase, known, goal, self.channels, self.board, self._middle, dt, fn
        )
        strays = startup.strays(reference.q, read.q, phase, self.channels, self.board)
        faults = [
            fn.max(a, fn.max(MISSING * b, STRAYS * c))
            for a, b, c in zip(read.faults, missing, strays, strict=True)
        ]
        worst, joint = _worst(faults, fn)
        told = fine + 1.0 * (phase <= INDEX)  # nobody need want anything before
        first_q, *others = reference.q
        reference = reference._replace(q=[fn.select(told > 0.0, first_q, LOST), *others])
        law = self._law_state(x, read, worst, first, gains, fn)
        good = read.good * (worst < UNSTEADY)
        q = [fn.select(good > 0.0, v, LOST) for v in read.q]
        torque, new, status = self.inner.stepped(law, t, q, q, reference, gains, dt, fn)
        runs = good * (status == 0.0)
        mine = {k: [fn.select(runs > 0.0, a, b) for a, b in zip(after[k], move[k], strict=True)]
                for k in after}  # fmt: skip
        fault = fn.select(worst > 0.0, worst, self._quiet_fault(read.missed, status, fn))
        latched = x["computer.bad"][0] >= float(self.law.latch)  # what ended it stays
        fault = fn.select(latched, own["fault"][0], fault)
        joint = fn.select(latched, own["joint"][0], joint)
        state = {**read.state, **mine, "fault": [fault], "joint": [joint]}
        volts, codes = self._converted(torque, fn)
        starting = (status == 0.0) * (phase < RUNNING)
        answer = Answer(
            codes, volts, new["computer.last_q"], new["computer.speed"],
            fn.select(starting, STARTING, status), phase, fault, joint,
        )  # fmt: skip
        return answer, {**{f"start.{k}": state[k] for k in own}, **new}

    def _quiet_fault(self, missed: Any, status: Any, fn: Functions) -> Any:
        """The fault of a sample whose readings are good."""
        refused = (status > 0.0) * (missed < float(self.law.latch))
        return fn.select(refused, LAW, fn.select(missed > 0.0, MISSED, 0.0))

    def _law_state(
        self, x: Mapping[str, list[Any]], read: Intake, worst: Any, first: Any, gains: Values,
        fn: Functions,
    ) -> dict[str, list[Any]]:  # fmt: skip
        """The law's own state before a sample: begun where the first place is known, its last
        position moved with the home, samples missed counted as unseen."""
        latch = float(self.law.latch)
        law = {k: list(v) for k, v in x.items() if not k.startswith("start.")}
        begun = self.inner.begun(read.q, [0.0] * self.n, gains, fn)
        starts = first * (read.good > 0.0)
        for k, old in law.items():
            if k.startswith("controller."):
                law[k] = [fn.select(starts, a, b) for a, b in zip(begun[k], old, strict=True)]
        last = zip(read.q, law["computer.last_q"], read.shift, strict=True)
        law["computer.last_q"] = [fn.select(first, q, a + d) for q, a, d in last]
        unseen = law["computer.unseen"][0]
        law["computer.unseen"] = [unseen + fn.select(unseen < 0.0, 0.0, read.missed)]
        ends = fn.max(1.0 * (worst >= UNSTEADY), 1.0 * (read.missed >= latch))
        law["computer.bad"] = [fn.select(ends > 0.0, latch, law["computer.bad"][0])]
        return law

    def _converted(self, torque: Sequence[Any], fn: Functions) -> tuple[list[Any], list[Any]]:
        """Volts of the codes, and the codes."""
        volts, codes = [], []
        for c, tau in zip(self.channels, torque, strict=True):
            asked = fn.max(-c.most, fn.min(tau * (1.0 / c.per_volt), c.most))
            code = fn.floor((asked - c.lowest) * (1.0 / c.step) + 0.5)
            code = fn.max(0.0, fn.min(code, c.codes))
            codes.append(code)
            volts.append(c.lowest + c.step * code)
        return volts, codes

    # programs

    def program(self) -> "Program":
        """One sample as a straight line of operations."""
        return self._program

    @cached_property
    def _program(self) -> "Program":
        n, size, inside = self.n, self.states, self.law.reference is not None
        given: dict[str, tuple[int, ...]] = {"state": (size,), "tick": (1,)}
        given |= dict.fromkeys(INPUTS[1:], (n,))
        given |= {"t": (1,)} if inside else {"reference": (self.law.rows, n)}

        def function(state: Any, tick: Any, *rest: Any) -> Any:
            *rows, wanted, fn = rest
            named = {k: list(state[place]) for k, place in slices(self.slots).items()}
            read = Readings(tick[0], *map(list, rows))
            now = (wanted[0], None) if inside else (UNKNOWN, wanted)
            a, after = self.stepped(
                named, now[0], read, now[1], self.inner.gains, self.law.sample_time, fn
            )
            told = [a.status, a.phase, a.fault, a.joint]
            return a.codes, a.volts, a.q, told, [v for k in self.slots for v in after[k]]

        out = {"codes": (n,), "volts": (n,), "position": (n,), "told": (4,), "next": (size,)}
        return traced("step", function, given, out)


def _worst(faults: Sequence[Any], fn: Functions) -> tuple[Any, Any]:
    """The worst fault and its joint."""
    worst, joint = 0.0 * faults[0], 0.0 * faults[0] - 1.0
    for i, fault in enumerate(faults):
        joint = fn.select(fault > worst, float(i), joint)
        worst = fn.max(worst, fault)
    return worst, joint
