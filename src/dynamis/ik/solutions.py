"""What `robot.ik` answers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Solutions:
    """Every distinct solution found, each with what it leaves of the task's error.

    `residual` is the norm of the task's error, metres and radians taken together. `reason` is
    empty when there is nothing to say; otherwise it says why there is no solution, that the target
    is singular (a closed form then sets the angle that is free to 0) or how nearly so (solutions
    may then be missing), or that these are a few of a continuum.
    """

    q: np.ndarray  # (k, n)
    residual: np.ndarray  # (k,)
    reason: str
    method: str  # "closed form: ..." or "numeric"

    def __len__(self) -> int:
        return len(self.q)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.q)

    def __repr__(self) -> str:
        count = f"{len(self)} solution{'' if len(self) == 1 else 's'}"
        head = f"Solutions({count}, {self.method}" + (f"; {self.reason}" if self.reason else "")
        rows = [
            "  [" + " ".join(f"{x:z9.5f}" for x in q) + f"]  residual {r:.1e}"
            for q, r in zip(self.q, self.residual, strict=True)
        ]
        return "\n".join([head + (":" if rows else ")"), *rows]) + (")" if rows else "")
