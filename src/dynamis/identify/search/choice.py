"""What the log decided: one choice after the other, and all that a fit needs."""

from dataclasses import dataclass

from ...arguments import strict
from ...model.check.finding import Finding
from ..friction.models import FrictionModel
from ..processing import Processing


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
        error = " ".join(x for x in (percent(self.error), self.of) if x)
        error += f", {self.why}" if self.why else ""
        others = [f"{name} {percent(x)}" for name, x in self.others[:NAMED]]
        return self.what, self.chosen, error, ", ".join(others)

    def __str__(self) -> str:
        what, chosen, error, _ = self.cells()
        said = [f"{name} {percent(x)}" for name, x in self.others[:NAMED]]
        if said:
            said[0] = " would give ".join((self.others[0][0], percent(self.others[0][1])))
        return f"{what} {chosen}: {error}" + (f"; {', '.join(said)}" if said else "")


CHOICES = ("choice", "chosen", "error on blocks left out", "others would give")
NAMED = 4  # others that a line names


def percent(error: float) -> str:
    """An error in words."""
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
