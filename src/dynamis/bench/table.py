"""Figures of a bench run and the table they make."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from ..files import write


@dataclass(frozen=True)
class Figure:
    """One measurement: our time beside a peer's (or a limit), and how far the answers differ."""

    group: str
    what: str
    robot: str
    ours: float  # seconds
    peer: str = ""
    theirs: float | None = None  # seconds
    target: float | None = None  # the ratio to reach, or the seconds not to exceed if no peer
    error: float | None = None  # worst relative difference from long double; each group says

    @property
    def ratio(self) -> float | None:
        """How many times faster we are."""
        return None if self.theirs is None else self.theirs / self.ours

    @property
    def reached(self) -> bool | None:
        """Whether the target was met; None if there is none."""
        if self.target is None:
            return None
        return self.ours <= self.target if self.ratio is None else self.ratio >= self.target


@dataclass(frozen=True)
class BenchTable:
    """Every figure of one run, and the machine it ran on."""

    machine: str
    figures: tuple[Figure, ...]
    growth: dict[str, dict[int, float]]  # kernel -> number of joints -> seconds a call
    slopes: dict[str, float]  # exponent of the growth between the longest chains

    def as_dict(self) -> dict:
        """Everything, for JSON."""
        rows = [asdict(f) | {"ratio": f.ratio, "reached": f.reached} for f in self.figures]
        growth = {name: {str(n): t for n, t in g.items()} for name, g in self.growth.items()}
        return {
            "machine": self.machine,
            "figures": rows,
            "growth": growth,
            "slopes": self.slopes,
        }

    def save(self, path: str | Path) -> None:
        """Write as JSON."""
        write(path, json.dumps(self.as_dict(), indent=1) + "\n")
