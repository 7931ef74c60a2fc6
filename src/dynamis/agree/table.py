"""The agreement table of a robot: every method and every peer, with the worst difference seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..arguments import checked, is_word, whole
from ..errors import OptionError, did_you_mean, shown
from ..robot import Robot
from .own import own_rows
from .peers import PEERS, peer_rows
from .row import Row
from .states import random_states

SAMPLES, MOST = 20, 100_000


@dataclass(frozen=True)
class AgreementTable:
    """Rows of one robot.

    The difference of a row is max |a - b| / max |b| over all samples and entries, b being the
    reference method or the peer; gravity and Coriolis torques, which may vanish, are measured
    against at least a thousandth of the largest torque.
    """

    robot: str
    rows: tuple[Row, ...]
    samples: int
    seed: int

    @property
    def ok(self) -> bool:
        """Whether every difference is within its limit."""
        return all(row.ok for row in self.rows)

    @checked
    def of(self, source: str) -> tuple[Row, ...]:
        """The rows of one method or peer (a peer's name without its version)."""
        return tuple(r for r in self.rows if source in (r.source, r.source.split(" ")[0]))

    def as_dict(self) -> dict[str, Any]:
        """Plain data for machines."""
        return {
            "robot": self.robot,
            "samples": self.samples,
            "seed": self.seed,
            "ok": self.ok,
            "rows": [row.as_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        lines = [f"{self.robot}: {'agrees' if self.ok else 'DISAGREES'}"]
        for row in self.rows:
            value = row.reason if row.difference is None else f"{row.difference:.1e}"
            lines.append(f"  {row.source:24} {row.quantity:28} {value}")
        return "\n".join(lines)


@checked
def agreement(
    robot: Robot, samples: int = SAMPLES, seed: int = 0, peers: Sequence[str] | None = None
) -> AgreementTable:
    """Compare every method and every installed peer on random states of one robot."""
    names = tuple(PEERS) if peers is None else tuple(peers)
    unknown = [name for name in names if not is_word(name, PEERS)]
    if unknown:
        raise OptionError(
            f"peer {shown(unknown[0])} does not exist", did_you_mean(unknown[0], PEERS)
        )
    whole(samples, "samples", most=MOST)
    whole(seed, "seed", 0)
    states = random_states(robot, samples, seed)
    rows = own_rows(robot, states)
    for name in names:
        rows += peer_rows(robot, states, name)
    return AgreementTable(robot.name, tuple(rows), samples, seed)
