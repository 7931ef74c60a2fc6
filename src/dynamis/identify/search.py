"""What the log decides: cut-off, source of the velocities, delay of the torque, friction, rotors.

By the error on blocks of time left out in turn: first the cut-off and the velocities with a smooth
law of friction, then the delay of the torque, then law and rotors, then the cut-off once more
between its neighbours. What the caller gives stays.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import is_word, strict
from ..logs.log import Log
from ..model.check.finding import Finding
from .friction.models import (
    RADII,
    SLOW,
    TRIED,
    FrictionModel,
    chosen_among,
    friction_named,
    may_have_memory,
    simpler_than,
    with_memory,
    without_memory,
)
from .left_out import Instants, LeftOut, Rows, Score
from .motion import HIGHEST, MULTIPLE, late_velocities, noisy_velocities, of_the_motions
from .processing import ESTIMATED, Processing
from .unknowns import RIGID, Unknowns, unknowns
from .verdict.diagnose import DELAYED

if TYPE_CHECKING:
    from ..robot import Robot

ALIKE = 0.02  # of the error: cut-offs within it are compared joint by joint
AS_GOOD = 0.05  # of the least error: of friction models within it the simplest is taken
CUTOFF = "cut-off"
VELOCITIES = "velocities"
DELAY = "delay of the torque"
BESIDE_MEMORY = "constants beside memory"
BY_JOINT = "as logged, mean joint"
JOINTWISE = f"the least joint by joint within {100 * ALIKE:.0f} % of the least"
SIMPLEST = f"the fewest unknowns within {100 * AS_GOOD:.0f} % of the least and not surely worse"
REST = f"without sharp signs, which miss over {100 * AS_GOOD:.0f} % more of the torque as logged"
LOWEST = 1.0 / 32.0  # of the cut-off that suits the motion
HIGHEST_IN_TIME = 0.4  # of the sampling rate: a torque that is not late shows more
FINER = 2.0**0.5  # from one cut-off to the next at last; by octaves before
MOST_ELEMENTS = 3  # with memory, of a joint
MOVES = 3  # of the cut-off at last
ROUNDS = 3  # of velocities, delay and cut-off
AT_ONCE = 3  # ways of processing whose rows are kept
FEW = 5  # laws that are tried with delays of their own
CLOSE = 1.3  # times the least error: a delay makes up for no more
SURELY = 4.0  # standard deviations of a delay of the torque, which must make the error no larger
SMALL = 0.05  # of a step of the log: a delay that does not matter


@strict
@dataclass(frozen=True)
class Choice:
    """One thing that the log decided: `error` is that on blocks of time left out in turn.

    `others` are what else was tried, with their errors; `of` says of what torque, and with which
    law of friction they are, `why` this was chosen where its error is not the least.
    """

    what: str
    chosen: str
    error: float
    others: tuple[tuple[str, float], ...] = ()
    of: str = ""
    why: str = ""

    def cells(self) -> tuple[str, str, str, str]:
        """A row of a table, as CHOICES names it."""
        error = " ".join(x for x in (_percent(self.error), self.of) if x)
        error += f", {self.why}" if self.why else ""
        others = [f"{name} {_percent(x)}" for name, x in self.others[:NAMED]]
        return self.what, self.chosen, error, ", ".join(others)

    def __str__(self) -> str:
        what, chosen, error, _ = self.cells()
        said = [f"{name} {_percent(x)}" for name, x in self.others[:NAMED]]
        if said:
            said[0] = " would give ".join((self.others[0][0], _percent(self.others[0][1])))
        return f"{what} {chosen}: {error}" + (f"; {', '.join(said)}" if said else "")


CHOICES = ("choice", "chosen", "error on blocks left out", "others would give")
NAMED = 4  # others that a line names


def _percent(error: float) -> str:
    return f"{100 * error:.3g} %"


@dataclass(frozen=True, eq=False)
class Decided:
    """What the log decided: everything that a fit needs, the choices, errors by friction model."""

    processing: Processing
    friction: FrictionModel
    rotors: bool | None
    choices: tuple[Choice, ...] = ()
    scores: tuple[tuple[str, float], ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(eq=False)
class Search:
    """The search on some logs; `tell` says what is tried, and that a step is done."""

    robot: "Robot"
    logs: Sequence[Log]
    processing: Processing
    friction: Any
    rotors: bool | None
    passive: Any
    threads: int | None
    only: bool  # friction alone
    tell: Callable[[str], None]
    choices: list[Choice] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    _tried: dict[Processing, LeftOut] = field(default_factory=dict)
    _scores: dict[Any, Score | None] = field(default_factory=dict)

    def run(self) -> Decided:
        """Decide in order; where the logs are too short for it, the rules of Processing decide."""
        auto = is_word(self.friction, ("auto",))
        start = friction_named("smooth" if auto else self.friction)
        zone = self.processing.dead_zone
        if zone is None:  # one for all laws
            zone = SLOW * (min(TRIED["velocity"]) if auto else start.speed if start.columns else 0)
        self.instants = Instants.of(self.logs, self.processing)
        how = replace(self.processing, dead_zone=zone)
        if how.torque_delay == ESTIMATED:
            how = replace(how, torque_delay=0.0)
        if how.velocity_delay is None:
            how = replace(how, velocity_delay=late_velocities(self.logs))
        rule = self._rule()
        begin = replace(how, cutoff=how.cutoff or rule, velocity=how.velocity or self._velocity())
        if not self._enough(start) or not self._score(begin, start, self._first_rotors):
            return Decided(self.processing, start, self.rotors)
        found = begin
        if how.cutoff is None:
            found = self._cutoff(found, start, self._first_rotors)
        found = self._timed(found, start, self._first_rotors)
        law, rotors, scores = self._law(found, start)
        if law.open_radii or (auto and may_have_memory(law)):
            found, law, more = self._memory(found, law, rotors, how.cutoff is None)
            scores = sorted([*scores, *more], key=lambda x: x[1]) if auto else []
        if not law.has_memory:
            found = self._settled(found, law, rotors, how.cutoff is None)
        found = replace(found, dead_zone=self.processing.dead_zone)
        return Decided(found, law, rotors, tuple(self.choices), tuple(scores), tuple(self.findings))

    def _enough(self, model: FrictionModel) -> bool:
        """Whether the motion, of its own band, has as many independent rows as unknowns."""
        seconds, sought = sum(x.duration for x in self.logs), self._unknowns(model, self.rotors)
        return 2.0 * self._rule() / MULTIPLE * seconds * sought.rows >= len(sought)

    # what the rules say

    def _rule(self) -> float:
        """The cut-off of the rule: of several logs the highest."""
        return of_the_motions(self.logs, self.processing.rate)

    def _highest(self, in_time: bool) -> float:
        """The highest cut-off that is tried; higher where every one has its own delay."""
        share = HIGHEST_IN_TIME if in_time else HIGHEST
        return share * min(self.processing.rate or x.rate for x in self.logs)

    def _velocity(self) -> str | None:
        """The source of velocities of the rule; None where logs differ."""
        if any(x.qd is None for x in self.logs):
            return None if any(x.qd is not None for x in self.logs) else "difference"
        rule = [noisy_velocities(x, self.processing.cutoff or self._rule()) for x in self.logs]
        return "difference" if all(rule) else "log"

    @property
    def _first_rotors(self) -> bool | None:
        """Rotors until it is known whether they help."""
        return self._may_have_rotors[-1]

    @property
    def _may_have_rotors(self) -> tuple[bool | None, ...]:
        """Without and with rotors, as far as both are open."""
        drives = any(link.drive is not None for link in self.robot.model.links)
        if self.rotors is not None or self.only or drives or self.robot.model.closures:
            return (self.rotors,)
        return (False, True)

    # scores

    def _unknowns(self, model: FrictionModel, rotors: bool | None) -> Unknowns:
        return unknowns(self.robot, model, rotors, self.threads, self.passive)

    def _left_out(self, how: Processing) -> LeftOut:
        if how not in self._tried:
            while len(self._tried) >= AT_ONCE:  # rows take memory
                self._tried.pop(next(iter(self._tried)))
            rows = Rows.of(self.logs, how, self.instants, self.robot)
            self._tried[how] = LeftOut(rows, self.robot)
        return self._tried[how]

    def _score(self, how: Processing, model: FrictionModel, rotors: bool | None) -> Score | None:
        key = how, repr(model), rotors
        if key not in self._scores:
            sought = self._unknowns(model, rotors)
            self._scores[key] = self._left_out(how).score(sought, self._known(sought))
        return self._scores[key]

    def _known(self, sought: Unknowns) -> np.ndarray | None:
        """Values of unknowns that are not sought, NaN for the others; None: all are."""
        if not self.only:
            return None
        return np.where(np.isin(sought.kinds, RIGID), sought.values, np.nan)

    def _error(self, how: Processing, model: FrictionModel, rotors: bool | None) -> "Missed":
        """Infinite where there are too few rows."""
        self.tell(f"cut-off {how.cutoff:.3g} Hz, velocities {SOURCES[how.velocity]}")
        found = self._score(how, model, rotors)
        return Missed() if found is None else Missed(found.error, found.joint)

    # the choices, in order

    def _cutoff(
        self, how: Processing, law: FrictionModel, rotors: bool | None, in_time: bool = False
    ) -> Processing:
        """By octaves from the one given, down and up as long as the error falls."""
        start = float(how.cutoff or 0.0)
        tried = {start: self._error_at(start, how, law, rotors, in_time)}
        for factor in (0.5, 2.0):
            if min(tried.values()).all < (1.0 - ALIKE) * tried[start].all:
                break
            cutoff = start
            while LOWEST * start <= cutoff * factor <= self._highest(in_time):
                least, cutoff = min(tried.values()), cutoff * factor
                tried[cutoff] = self._error_at(cutoff, how, law, rotors, in_time)
                if tried[cutoff].all > least.all:
                    break
        return replace(how, cutoff=_least(tried))

    def _error_at(
        self, cutoff: float, how: Processing, law: FrictionModel, rotors: bool | None, in_time: bool
    ) -> "Missed":
        """The error with a cut-off, and with the delay that it shows where `in_time`."""
        tried = replace(how, cutoff=cutoff)
        if in_time:
            return self._delayed(tried, law, rotors).error
        return self._error(tried, law, rotors)

    def _refined(
        self, how: Processing, law: FrictionModel, rotors: bool | None, in_time: bool = False
    ) -> Processing:
        """Between the octaves, with the law that was chosen; each cut-off with its own delay."""
        here = float(how.cutoff or 0.0)
        tried = {here: self._error_at(here, how, law, rotors, in_time)}
        for _ in range(MOVES):
            for cutoff in (here / FINER, min(here * FINER, self._highest(in_time))):
                if not any(abs(cutoff / x - 1.0) < 0.01 for x in tried):
                    tried[cutoff] = self._error_at(cutoff, how, law, rotors, in_time)
            best = _least(tried)
            if best == here:
                break
            here = best
        others = sorted((x, e) for x, e in tried.items() if x != here)
        names = tuple((f"{x:.3g} Hz", e.all) for x, e in others if np.isfinite(e.all))
        error = tried[here].all
        why = "" if error <= min(tried.values()).all else JOINTWISE
        choice = Choice(CUTOFF, f"{here:.3g} Hz", error, names, "as logged", why)
        self.choices = [choice, *(x for x in self.choices if x.what != CUTOFF)]
        return replace(how, cutoff=here)

    def _settled(
        self, how: Processing, law: FrictionModel, rotors: bool | None, open_cutoff: bool
    ) -> Processing:
        """Velocities, delay and cut-off in turn, once friction is right, until the last stays.

        At a cut-off that is too high differences of positions are noisier than logged velocities;
        late velocities and a late torque are told apart by the law.
        """
        for _ in range(ROUNDS):
            cutoff, how = how.cutoff, self._timed(how, law, rotors)
            how = self._refined(how, law, rotors) if open_cutoff else how
            if how.cutoff == cutoff:
                break
        return how

    def _timed(self, how: Processing, model: FrictionModel, rotors: bool | None) -> Processing:
        """Logged velocities or differences of positions, with the delay they show; said."""
        best, tried = self._in_time(how, model, rotors)
        self.choices = [x for x in self.choices if x.what not in (VELOCITIES, DELAY)]
        self.findings.clear()
        of = f"as logged, {model} law"
        errors = {str(x.processing.velocity): x.error.all for x in tried}
        if len(tried) > 1:
            source = str(best.processing.velocity)
            rest = tuple((SOURCES[x], e) for x, e in errors.items() if x != source)
            self.choices.append(Choice(VELOCITIES, SOURCES[source], best.error.all, rest, of))
            if source == "difference":
                self.findings.append(_not_used(errors))
        if best.deviation is not None:
            delay = float(best.processing.torque_delay or 0.0)
            said = f"{1e3 * delay:.2g} +- {1e3 * best.deviation:.1g} ms"
            self.choices.append(
                Choice(DELAY, said, best.error.all, (("none", best.without.all),), of)
            )
            self.findings.append(_delay_said(delay, best.deviation))
        return best.processing

    def _in_time(
        self, how: Processing, model: FrictionModel, rotors: bool | None
    ) -> "tuple[DelayTried, list[DelayTried]]":
        """The best source of the velocities, and all, each with the delay that it shows."""
        sources = [how.velocity]
        if self.processing.velocity is None and all(x.qd is not None for x in self.logs):
            sources.append("difference" if how.velocity == "log" else "log")
        tried = [self._delayed(replace(how, velocity=x), model, rotors) for x in sources]
        own, other = tried[0], tried[-1]
        return (other if other.error.all < (1.0 - ALIKE) * own.error.all else own), tried

    def _delayed(self, how: Processing, model: FrictionModel, rotors: bool | None) -> "DelayTried":
        """With the delay of the torque that is significant and makes the error no larger."""
        asked = self.processing.torque_delay
        plain = replace(how, torque_delay=0.0 if asked is None else asked)
        error = self._error(plain, model, rotors)
        found = self._score(plain, model, rotors)
        if asked is not None or found is None or not self._left_out(plain).alone:
            return DelayTried(plain, error, error)
        beside = found.unknowns if self.only else self._unknowns(model, self._first_rotors)
        delay, deviation = self._left_out(plain).delay(found, beside)
        step = max(x.step for x in self.logs)
        if not max(SURELY * deviation, SMALL * step) < abs(delay) < max(DELAYED, step):
            return DelayTried(plain, error, error)
        then = replace(plain, torque_delay=delay)
        less = self._error(then, model, rotors)
        if less.all > error.all:
            return DelayTried(plain, error, error)
        return DelayTried(then, less, error, deviation)

    def _law(
        self, how: Processing, start: FrictionModel
    ) -> tuple[FrictionModel, bool | None, list[tuple[str, float]]]:
        """The law of friction and whether there are rotors: the simplest within 5 %."""
        auto, both = is_word(self.friction, ("auto",)), self._may_have_rotors
        if not auto and len(both) == 1 and not start.open_radii:
            return start, both[0], []
        heated = all(x.temperature is not None for x in self.logs)
        named = chosen_among(self.robot, heated) if auto else [start]
        laws = [m.variants() if auto else [m] for m in named]
        count = sum(map(len, laws))
        found: list[Tried] = []
        k = 0
        for variants in laws:
            own: dict[bool | None, list[tuple[Score, FrictionModel]]] = {}
            for model in variants:
                k += 1
                self.tell(f"friction {model}, {k} of {count}")
                for rotors in both:
                    score = self._score(how, model, rotors)
                    if score is not None:
                        own.setdefault(rotors, []).append((score, model))
            for rotors, tried in own.items():
                least = min(score.error for score, _ in tried)  # at rest too, as the robot will be
                alike = [x for x in tried if x[0].error <= (1.0 + ALIKE) * least]
                found.append((*min(alike, key=lambda x: x[0].filtered), rotors))
        score, law, rotors = _simplest(found)
        found = self._in_their_time(how, found, rotors) if auto else found
        score, law, rotors = _simplest(found)
        self._say_law(found, law, rotors, score, len(both) > 1)
        scores = [(str(m), s.filtered) for s, m, r in found if r == rotors] if auto else []
        return law, rotors, sorted(scores, key=lambda x: x[1])

    def _memory(
        self, how: Processing, law: FrictionModel, rotors: bool | None, open_cutoff: bool
    ) -> tuple[Processing, FrictionModel, list[tuple[str, float]]]:
        """The law with elements that have memory if they help; processing, and what they leave.

        A delay hides what turns back sharply, and a low cut-off hides the delay: with memory both
        are sought once more, then the constants of the law, and then the radii.
        """
        asked = law.open_radii
        plain = without_memory(law) if asked else law
        rounds = ROUNDS if not asked or plain.is_usual else 0
        bent: list[tuple[float, FrictionModel]] = []
        law, tried = self._radii(how, plain, rotors, asked)
        if law.has_memory and open_cutoff:
            how = self._cutoff(how, law, rotors, in_time=True)
            how = self._delayed(how, law, rotors).processing
        if law.has_memory:
            law, tried = self._radii(how, plain, rotors, asked)
        for _ in range(rounds):
            bent = self._beside(how, plain, law, rotors)
            if not bent or bent[0][1].constants == plain.constants:
                break
            plain = bent[0][1]
            law, tried = self._radii(how, plain, rotors, asked)
        if law.has_memory and open_cutoff:
            how = self._refined(how, law, rotors, in_time=True)
        how = self._timed(how, law, rotors)
        law = self._without_idle(how, law, rotors)
        if not tried:
            return how, law, []
        others = tuple((name, x.filtered) for name, x in tried[1:])
        said, error = ", ".join(f"{r:g}" for r in law.radii), tried[0][1].filtered
        self.choices.append(Choice("radii of memory", said, error, others, "filtered"))
        if len(bent) > 1:
            (own, least), *rest = ((_constants(x), e) for e, x in bent)
            self.choices.append(Choice(BESIDE_MEMORY, own, least, tuple(rest), BY_JOINT))
        return how, law, [(str(law), error)]

    def _radii(
        self, how: Processing, plain: FrictionModel, rotors: bool | None, asked: bool
    ) -> tuple[FrictionModel, list[tuple[str, Score]]]:
        """The law with elements of the radii that help, or without; scores, the chosen one first.

        Where they are `asked` for there is at least one; where not, the law may become a simpler
        one with them.
        """
        law, without = with_memory(plain), self._score(how, plain, rotors)
        if without is None:
            return law if asked else plain, []
        sought = self._unknowns(law.with_radii(*RADII), rotors)
        of = self._left_out(how).elements(sought, without, self._known(sought))

        best, radii = _best_radii(lambda x: of(x, plain.columns), without, asked, self.tell)
        if not radii:
            return plain, []
        found = [(best, law)]
        for model in [] if asked else simpler_than(plain):
            score = of(radii, model.columns)
            found += [] if score is None else [(score, with_memory(model))]
        near = [x for x in found if x[0].filtered <= (1.0 + AS_GOOD) * best.filtered]
        near = [x for x in near if not x[0].surely_worse(best)]
        best, law = min(near, key=lambda x: (len(x[1].columns), x[0].filtered))
        best, radii = _fewest(lambda x: of(x, law.columns), without, best, radii)
        law = law.with_radii(*radii)
        others = [(f"{r:g} alone", of((r,), law.columns)) for r in RADII if (r,) != radii]
        others = [("none", without), *((name, x) for name, x in others if x is not None)]
        return law, [(str(law), best), *others]

    def _beside(
        self, how: Processing, plain: FrictionModel, law: FrictionModel, rotors: bool | None
    ) -> list[tuple[float, FrictionModel]]:
        """The plain law with other constants, by what they leave beside the elements of `law`.

        Alone it bends over a wide range of velocities, in place of the elements; beside them that
        would be too wide, and what it lacks near rest would count as less of small elements. By the
        torque as logged: a filter hides what happens there.
        """
        tried = []
        for own in plain.variants() if law.has_memory else ():
            score = self._score(how, replace(law, constants=own.constants), rotors)
            tried += [] if score is None else [(score.joint, own)]
        return sorted(tried, key=lambda x: x[0])

    def _without_idle(
        self, how: Processing, law: FrictionModel, rotors: bool | None
    ) -> FrictionModel:
        """The law without elements whose weights are zero on every joint."""
        score = self._score(how, law, rotors) if len(law.radii) > 1 else None
        if score is None:
            return law
        elements = score.unknowns.elements
        used = elements.radii[score.x[elements.unknowns] > 0.0]
        return law.with_radii(*(r for r in law.radii if r in used)) if len(used) else law

    def _in_their_time(
        self, how: Processing, found: "list[Tried]", rotors: bool | None
    ) -> "list[Tried]":
        """The best few laws with the velocities and the delay that each of them shows.

        A delay looks like friction: it is seen only once the law is right.
        """
        ranked = sorted(found, key=lambda x: x[0].filtered)
        best = [
            x for x in ranked if x[2] == rotors and x[0].filtered < CLOSE * ranked[0][0].filtered
        ]
        again: list[Tried] = []
        for _, model, _ in best[:FEW]:
            in_time = self._in_time(how, model, rotors)[0]
            score = self._score(in_time.processing, model, rotors)
            if score is not None:
                again.append((score, model, rotors))
        models = [model for _, model, _ in again]
        return [*again, *(x for x in found if x[1] not in models or x[2] != rotors)]

    def _say_law(
        self, found: Sequence[tuple[Score, FrictionModel, bool | None]], law: FrictionModel,
        rotors: bool | None, score: Score, open_rotors: bool,
    ) -> None:  # fmt: skip
        """The choices of law and rotors, with what the others give."""
        same = [(str(m), s.filtered) for s, m, r in found if r == rotors and m is not law]
        least = min(s.filtered for s, *_ in _as_logged(found))
        if same:
            why = "" if score.filtered <= least else SIMPLEST
            if min(s.filtered for s, *_ in found) < least:
                why = ", ".join(x for x in (why, REST) if x)
            others = tuple(sorted(same, key=lambda x: x[1]))
            self.choices.append(
                Choice("friction", str(law), score.filtered, others, "filtered", why)
            )
        if open_rotors:
            words = {True: "sought", False: "not sought"}
            other = [s.filtered for s, m, r in found if m.name == law.name and r != rotors]
            rest = tuple((words[not rotors], e) for e in other)
            choice = Choice("rotor inertias", words[bool(rotors)], score.filtered, rest, "filtered")
            self.choices.append(choice)


class Missed(NamedTuple):
    """Relative errors of the torque as logged: of all joints, and the mean joint's."""

    all: float = float("inf")
    joint: float = float("inf")


def _least(tried: dict[float, Missed]) -> float:
    """Of those that miss about as little as the best the one whose joints miss the least.

    All torque together is mostly that of the joints that carry.
    """
    least = min(tried.values()).all
    good = [x for x, missed in tried.items() if missed.all <= (1.0 + ALIKE) * least]
    return min(good, key=lambda x: tried[x].joint)


ScoreOf = Callable[[tuple[float, ...]], Score | None]  # of elements of some radii
Elements = tuple[Score, tuple[float, ...]]


def _best_radii(
    score_of: ScoreOf, without: Score, asked: bool, tell: Callable[[str], None]
) -> Elements:
    """Radii of the elements that help, and the score with them; none: that `without`.

    They help where less is left surely, joint by joint: it is little torque. One is added after
    the other, then those without which as little is left are taken away, then each moves to the
    next radius as long as less of the torque as logged is left, as a filter hides small radii, and
    it helps there too.
    """
    best, radii = without, ()
    while len(radii) < MOST_ELEMENTS:
        tell(f"friction with memory, radius {len(radii) + 1}")
        sets = ((*radii, r) for r in RADII if r not in radii)
        more = _best_of(sets, score_of, without)
        if not (more[0].surely_better_by_joint(best) or (asked and not radii)):
            break
        best, radii = more
    best, radii = _fewest(score_of, without, best, radii)
    while radii:
        scored = [(x, y) for y in _moved(radii) if (x := score_of(y)) is not None]
        beside = [x for x in scored if asked or x[0].surely_better_by_joint(without)]
        moved = min(beside, key=lambda x: x[0].joint, default=(best, radii))
        if not moved[0].joint < best.joint:
            break
        best, radii = moved
    return _fewest(score_of, without, best, radii)


def _fewest(score_of: ScoreOf, without: Score, best: Score, radii: tuple[float, ...]) -> Elements:
    """Without elements that leave as little when they are taken away."""
    while len(radii) > 1:
        sets = (tuple(x for x in radii if x != r) for r in radii)
        fewer = _best_of(sets, score_of, without)
        if best.surely_better_by_joint(fewer[0]):
            break
        best, radii = fewer
    return best, radii


def _best_of(sets: Iterable[tuple[float, ...]], score_of: ScoreOf, without: Score) -> Elements:
    """The radii with which the least is left, joint by joint."""
    scored = [(x, radii) for radii in sets if (x := score_of(radii)) is not None]
    return max(scored, key=lambda x: float(x[0].by_joint(without).mean()))


def _constants(model: FrictionModel) -> str:
    """The constants of a law that are tried, in words."""
    return ", ".join(f"{name} = {model.constants[name]:g}" for name in model.grid)


def _moved(radii: Sequence[float]) -> Iterator[tuple[float, ...]]:
    """Some of RADII with one moved to the next smaller or larger of them."""
    for k, r in enumerate(radii):
        at = RADII.index(r)
        for other in RADII[max(at - 1, 0) : at + 2]:
            if other not in radii:
                yield (*radii[:k], other, *radii[k + 1 :])


Tried = tuple[Score, FrictionModel, bool | None]


def _simplest(found: Sequence[Tried]) -> Tried:
    """The fewest unknowns among those within 5 % of the best and not surely worse.

    Of a law with a sharp sign also of the torque as logged: it is wrong at rest and where joints
    turn back, of which the rows that are fitted have little.
    """
    found = _as_logged(found)
    best = min(found, key=lambda x: x[0].filtered)[0]
    near = [x for x in found if x[0].filtered <= (1.0 + AS_GOOD) * best.filtered]
    near = [x for x in near if not x[0].surely_worse(best)]
    return min(near, key=lambda x: (len(x[0].x), x[0].filtered))


def _as_logged(found: Sequence[Tried]) -> list[Tried]:
    """Without laws of a sharp sign beyond 5 % of the least error of the torque as logged."""
    least = min(x[0].error for x in found)
    return [x for x in found if x[1].law == "smooth" or x[0].error <= (1.0 + AS_GOOD) * least]


@dataclass(frozen=True)
class DelayTried:
    """Processing with the delay it shows, the error with it and without; None: no delay."""

    processing: Processing
    error: "Missed"
    without: "Missed"
    deviation: float | None = None


def _not_used(errors: dict[str, float]) -> Finding:
    """A word on logged velocities that differences replaced."""
    what = (
        "the logged velocities were not used: differences of the filtered positions leave "
        f"{_percent(errors['difference'])}, the logged ones {_percent(errors['log'])}"
    )
    remedy = "nothing; processing=dy.Processing(velocity='log') uses the logged ones"
    return Finding("note", "velocities", what, remedy)


def _delay_said(delay: float, deviation: float) -> Finding:
    """A word on a delay that was taken into account."""
    late = "after" if delay > 0.0 else "before"
    what = (
        f"the torque comes {1e3 * abs(delay):.2g} +- {1e3 * deviation:.1g} ms {late} the motion: "
        "that is taken into account"
    )
    remedy = "nothing; processing=dy.Processing(torque_delay=0) takes it as logged"
    return Finding("note", "torques", what, remedy)


SOURCES = {"log": "as logged", "difference": "by differences", None: "by the rule"}
