"""What is tried on some logs: rules where nothing was, errors on blocks of time left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...lazy import cached_property
from ...logs.log import Log
from ...model.check.finding import Finding
from ..friction.models import FrictionModel
from ..left_out import Instants, LeftOut, Rows, Score
from ..motion import HIGHEST, MULTIPLE, noisy_velocities, of_the_motions
from ..processing import Processing
from ..unknowns import RIGID, Unknowns, unknowns
from .choice import Choice

if TYPE_CHECKING:
    from ...robot import Robot


ALIKE = 0.02  # of the error: cut-offs within it are compared joint by joint
HIGHEST_IN_TIME = 0.4  # of the sampling rate: a torque that is not late shows more
AT_ONCE = 3  # ways of processing whose rows are kept


class Missed(NamedTuple):
    """Relative errors of the torque as logged: of all joints, and the mean joint's."""

    all: float = float("inf")
    joint: float = float("inf")


def least_missed(tried: dict[float, Missed]) -> float:
    """Of those that miss about as little as the best the one whose joints miss the least.

    All torque together is mostly that of the joints that carry.
    """
    least = min(tried.values()).all
    good = [x for x, missed in tried.items() if missed.all <= (1.0 + ALIKE) * least]
    return min(good, key=lambda x: tried[x].joint)


@dataclass(eq=False)
class Tries:
    """What is tried on some logs; `tell` says what, and that a step is done."""

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

    @cached_property
    def instants(self) -> Instants:
        """The instants at which every way of processing is compared."""
        return Instants.of(self.logs, self.processing)

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


SOURCES = {"log": "as logged", "difference": "by differences", None: "by the rule"}
