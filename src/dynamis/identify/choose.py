"""Which friction model an arm needs: the one that predicts blocks of time it has not seen best."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .frictions import CHOSEN_AMONG, FRICTIONS, SLOW, SPEEDS, FrictionModel
from .information import Information, information
from .loads import with_loads
from .log import Log
from .processing import Processing, prepare
from .samples import Samples
from .solve import weighted
from .unknowns import Unknowns, unknowns

if TYPE_CHECKING:
    from ..robot import Robot

BLOCKS = 6
BETTER = 0.05  # a model with more constants must be this much better


def choose_friction(
    robot: "Robot",
    logs: Sequence[Log],
    rotors: bool | None,
    how: Processing,
    threads: int | None = None,
) -> tuple[FrictionModel, list[tuple[str, float]]]:
    """The best model and every model's cross-validated relative error, best first."""
    zone = SLOW * min(SPEEDS) if how.dead_zone is None else how.dead_zone  # the same for all
    same = replace(how, dead_zone=zone)
    motions = [samples for log in logs for samples in prepare(log, same)[0]]
    scores: list[tuple[float, FrictionModel]] = []
    for name in CHOSEN_AMONG:
        tried = [
            (_score(robot, m, motions, rotors, threads), m) for m in FRICTIONS[name].variants()
        ]
        scores.append(min(tried, key=lambda pair: pair[0]))
    best = scores[0]
    for candidate in scores[1:]:
        if candidate[0] < (1.0 - BETTER) * best[0]:
            best = candidate
    ranked = sorted(scores, key=lambda pair: pair[0])
    return best[1], [(str(model), score) for score, model in ranked]


def _folds(motions: Sequence[Samples]) -> list[list[Samples]]:
    """Contiguous blocks; each is left out once."""
    rows = sum(len(m) for m in motions)
    share = rows / BLOCKS
    folds: list[list[Samples]] = []
    for samples in motions:
        count = max(1, round(len(samples) / share))
        edges = np.linspace(0, len(samples), count + 1).astype(int)
        folds += [[samples.rows(a, b)] for a, b in pairwise(edges)]
    return folds


def _score(
    robot: "Robot",
    model: FrictionModel,
    motions: Sequence[Samples],
    rotors: bool | None,
    threads: int | None,
) -> float:
    """Relative error on blocks left out in turn, of the rows that move, filtered."""
    wanted: Unknowns = unknowns(robot, model, rotors)
    if "load" in wanted.kinds:
        wanted, _ = with_loads(wanted, motions, None, threads)
    parts = [information(fold, wanted, method="gram", threads=threads) for fold in _folds(motions)]
    wrong = right = 0.0
    for left_out in range(len(parts)):
        rest = [p for k, p in enumerate(parts) if k != left_out] or parts
        x = weighted(joined(rest)).x
        wrong += float(parts[left_out].residuals(x).sum())
        right += float(parts[left_out].torques.sum())
    return float(np.sqrt(wrong / max(right, 1e-300)))


def joined(parts: Sequence[Information]) -> Information:
    """Several motions as one."""
    stacked = np.concatenate([p.factors for p in parts], axis=1)
    rows = np.sum([p.rows for p in parts], axis=0)
    size = stacked.shape[-1]
    factors = np.stack([np.linalg.qr(block, mode="r")[:size] for block in stacked])
    return Information(factors, rows, "qr")
