"""Places held out: the arm fitted without them, and how far it misses them.

Instruments, targets and planes come from the other places; sockets, whose places are their own, are
the means of their points.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .accuracy import Accuracy, accuracy, merged
from .error_model import Postures
from .fit import Fit, fitted
from .observations import Observations, Sockets
from .residuals import Block, SocketsBlock, State

STEPS = 3  # from the fit to everything to one without a fold


def held_out(fit: Fit, fold: np.ndarray) -> Accuracy:
    """Every place by a fit to those of the other folds."""
    found, rows = [], []
    for f in range(int(fold.max()) + 1):
        inside = [fold[b.first : b.first + b.count] == f for b in fit.blocks]
        if any((~x).sum() < 1 for x in inside):
            continue
        others = [_subset(b, ~x) for b, x in zip(fit.blocks, inside, strict=True)]
        tested = [_subset(b, x) for b, x in zip(fit.blocks, inside, strict=True)]
        kept = [_state(b, s, ~x) for b, s, x in zip(fit.blocks, fit.states, inside, strict=True)]
        again = replace(
            fit, blocks=tuple(_numbered(others)), states=tuple(kept), parts=(), weights=(),
        )  # fmt: skip
        again = fitted(again, fit.kept, STEPS)
        used = [(b, s) for b, s in zip(tested, again.states, strict=True) if b is not None]
        found.append(accuracy("", fit.model, again.values, *zip(*used, strict=True)))
        rows += [_numbers(fit.blocks, k, x) for k, x in enumerate(inside) if x.any()]
    return merged("held out", found, np.argsort(np.concatenate(rows), kind="stable"))


def _rows(block: Block, inside: np.ndarray) -> np.ndarray:
    """Postures of chosen places, (N,) bool."""
    return inside[block.data.index[:, 0]] if isinstance(block, SocketsBlock) else inside


def _numbers(blocks: Sequence[Block], k: int, inside: np.ndarray) -> np.ndarray:
    """Places of chosen rows in all sets one after the other."""
    before = sum(len(b.at.q) for b in blocks[:k])
    return before + np.flatnonzero(_rows(blocks[k], inside))


def _subset(block: Block, inside: np.ndarray) -> Any:
    """The set at some of its places; None without any."""
    if not inside.any():
        return None
    rows = _rows(block, inside)
    more = (None if x is None else x[rows] for x in block.at[1:])
    at = Postures(block.at.q[rows], *more)
    return replace(block, data=subset(block.data, inside), at=at)


def subset(data: Observations, inside: np.ndarray) -> Observations:
    """Observations at some of their places of measurement."""
    rows = inside[data.index[:, 0]] if isinstance(data, Sockets) else inside
    changes: dict[str, Any] = {}
    for name in ("q", "position", "pose", "q_other", "std", "temperature"):
        value = getattr(data, name, None)
        if value is not None:
            changes[name] = np.asarray(value)[rows]
    if isinstance(data, Sockets):
        names = [x for x, use in zip(data.places, inside, strict=True) if use]
        changes["places"] = {x: list(data.places[x]) for x in names}
    return replace(data, **changes)


def _state(block: Block, state: State, inside: np.ndarray) -> State:
    """Places of a set that some of its places of measurement have."""
    if not isinstance(block, SocketsBlock):
        return state
    place = np.concatenate([[k] * len(x) for k, x in enumerate(block.data.places.values())])
    return {**state, "sockets": state["sockets"][inside[place]]}


def _numbered(blocks: Sequence[Block]) -> list[Block]:
    found, first = [], 0
    for block in blocks:
        found.append(replace(block, first=first))
        first += block.count
    return found
