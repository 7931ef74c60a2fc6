"""Cut-off, source of the velocities and delay of the torque, as the log decides on them."""

from dataclasses import dataclass, replace

import numpy as np

from ...model.check.finding import Finding
from ..friction.models import FrictionModel
from ..processing import Processing
from ..verdict.diagnose import DELAYED
from .choice import Choice, percent
from .tries import ALIKE, SOURCES, Missed, Tries, least_missed

CUTOFF = "cut-off"
VELOCITIES = "velocities"
DELAY = "delay of the torque"
JOINTWISE = f"the least joint by joint within {100 * ALIKE:.0f} % of the least"
LOWEST = 1.0 / 32.0  # of the cut-off that suits the motion
FINER = 2.0**0.5  # from one cut-off to the next at last; by octaves before
MOVES = 3  # of the cut-off at last
ROUNDS = 3  # of velocities, delay and cut-off
SURELY = 4.0  # standard deviations of a delay of the torque, which must make the error no larger
SMALL = 0.05  # of a step of the log: a delay that does not matter


class Timing(Tries):
    """Cut-off, velocities and delay of some logs."""

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
        return replace(how, cutoff=least_missed(tried))

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
            best = least_missed(tried)
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
        f"{percent(errors['difference'])}, the logged ones {percent(errors['log'])}"
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
