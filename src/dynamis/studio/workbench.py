"""What the pages of one tab leave for each other: the last run, its controller, an estimate."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .session import Session

if TYPE_CHECKING:
    from ..identify import Estimate, Log
    from ..simulate import Run


@dataclass
class Workbench:
    """The results of one tab; None where there is none yet, or none of this robot."""

    run: "Run | None" = None
    controller: Any = None
    reference: Any = None  # what the controller followed
    log: "Log | None" = None
    estimate: "Estimate | None" = None

    @classmethod
    def of(cls, session: Session) -> "Workbench":
        """The one of a session, made when first asked for."""
        with session.lock:
            found = getattr(session, "bench", None)
            if found is None:
                found = session.bench = cls()  # type: ignore[attr-defined]
            return found
