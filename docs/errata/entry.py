"""One misprint: where it stands, what is printed, what is right, and the check that decides."""

from collections.abc import Callable
from dataclasses import dataclass

from .engine import Verdict


@dataclass(frozen=True)
class Entry:
    """A misprint; formulas are LaTeX."""

    where: str
    printed: str
    right: str
    why: str
    check: Callable[[], Verdict]
