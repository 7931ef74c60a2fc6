"""What the log decides: cut-off, source of the velocities, delay of the torque, friction, rotors.

By the error on blocks of time left out in turn: first the cut-off and the velocities with a smooth
law of friction, then the delay of the torque, then law and rotors, then the cut-off once more
between its neighbours. What the caller gives stays.
"""

from collections.abc import Sequence
from dataclasses import replace

from ...arguments import is_word
from ..friction.models import (
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
from ..left_out import Score
from ..motion import late_velocities
from ..processing import ESTIMATED, Processing
from .choice import Choice, Decided
from .radii import best_radii, fewest
from .timing import ROUNDS, Timing
from .tries import ALIKE

AS_GOOD = 0.05  # of the least error: of friction models within it the simplest is taken
BESIDE_MEMORY = "constants beside memory"
BY_JOINT = "as logged, mean joint"
SIMPLEST = f"the fewest unknowns within {100 * AS_GOOD:.0f} % of the least and not surely worse"
REST = f"without sharp signs, which miss over {100 * AS_GOOD:.0f} % more of the torque as logged"
FEW = 5  # laws that are tried with delays of their own
CLOSE = 1.3  # times the least error: a delay makes up for no more


class Search(Timing):
    """The search on some logs."""

    def run(self) -> Decided:
        """Decide in order; where the logs are too short for it, the rules of Processing decide."""
        auto = is_word(self.friction, ("auto",))
        start = friction_named("smooth" if auto else self.friction)
        zone = self.processing.dead_zone
        if zone is None:  # one for all laws
            zone = SLOW * (min(TRIED["velocity"]) if auto else start.speed if start.columns else 0)
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
        score, law, rotors = simplest(found)
        found = self._in_their_time(how, found, rotors) if auto else found
        score, law, rotors = simplest(found)
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
            (own, least), *rest = ((constants(x), e) for e, x in bent)
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

        best, radii = best_radii(lambda x: of(x, plain.columns), without, asked, self.tell)
        if not radii:
            return plain, []
        found = [(best, law)]
        for model in [] if asked else simpler_than(plain):
            score = of(radii, model.columns)
            found += [] if score is None else [(score, with_memory(model))]
        near = [x for x in found if x[0].filtered <= (1.0 + AS_GOOD) * best.filtered]
        near = [x for x in near if not x[0].surely_worse(best)]
        best, law = min(near, key=lambda x: (len(x[1].columns), x[0].filtered))
        best, radii = fewest(lambda x: of(x, law.columns), without, best, radii)
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
        least = min(s.filtered for s, *_ in as_logged(found))
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


def constants(model: FrictionModel) -> str:
    """The constants of a law that are tried, in words."""
    return ", ".join(f"{name} = {model.constants[name]:g}" for name in model.grid)


Tried = tuple[Score, FrictionModel, bool | None]


def simplest(found: Sequence[Tried]) -> Tried:
    """The fewest unknowns among those within 5 % of the best and not surely worse.

    Of a law with a sharp sign also of the torque as logged: it is wrong at rest and where joints
    turn back, of which the rows that are fitted have little.
    """
    found = as_logged(found)
    best = min(found, key=lambda x: x[0].filtered)[0]
    near = [x for x in found if x[0].filtered <= (1.0 + AS_GOOD) * best.filtered]
    near = [x for x in near if not x[0].surely_worse(best)]
    return min(near, key=lambda x: (len(x[0].x), x[0].filtered))


def as_logged(found: Sequence[Tried]) -> list[Tried]:
    """Without laws of a sharp sign beyond 5 % of the least error of the torque as logged."""
    least = min(x[0].error for x in found)
    return [x for x in found if x[1].law == "smooth" or x[0].error <= (1.0 + AS_GOOD) * least]
