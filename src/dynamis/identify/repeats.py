"""Repeats: motions that were in the training data already, by whatever shift in time."""

from collections.abc import Iterator, Sequence

import numpy as np

from ..logs.log import Log, interpolated
from .motion import band, resting

ROWS = 40  # of a window
SHORTEST, LONGEST = 0.3, 3.0  # s, of a window
NEAR = 0.03  # of the joints' ranges: so far may a repeat be off; other motions are 0.1 off
MOVING = 0.05  # of the joints' ranges: a window that goes less far says nothing
BLOCK = 256  # windows that are compared at a time
MOSTLY = 0.5  # of the time: by then it is called a repeat


def repeated(log: Log, others: Sequence[Log]) -> float:
    """Share of the moving time of a log whose motion other logs contain; NaN if nothing moves.

    A window of one period of the motion's band repeats another if the joints' positions differ by
    less than 3 % of their ranges, RMS over its rows and the joints.
    """
    every = [log, *others]
    length = float(np.clip(1.0 / band(log), SHORTEST, LONGEST))
    ranges = np.ptp(np.concatenate([x.q for x in every]), axis=0)
    moves = ~np.all([resting(x) for x in every], axis=0)
    if not moves.any():
        return float("nan")
    apart = [x[:: ROWS // 2] for x in _windows(log, length, ranges, moves)]
    own = _rows(np.concatenate([x[np.ptp(x, axis=1).max(axis=-1) > MOVING] for x in apart]))
    if not len(own):
        return float("nan")
    nearest, own_square = np.full(len(own), np.inf), (own**2).sum(axis=1)[:, None]
    for windows in (x for other in others for x in _windows(other, length, ranges, moves)):
        for k in range(0, len(windows), BLOCK):
            found = _rows(windows[k : k + BLOCK])
            square = own_square + (found**2).sum(axis=1) - own @ (2.0 * found.T)
            nearest = np.minimum(nearest, square.min(axis=1) / own.shape[1])
    return float((nearest < NEAR**2).mean())


def _windows(
    log: Log, length: float, ranges: np.ndarray, moves: np.ndarray
) -> Iterator[np.ndarray]:
    """Positions over ranges in windows of so many seconds, (W, rows, joints that move): views."""
    yield np.empty((0, ROWS, int(moves.sum())))  # where a log has none
    for piece in log.pieces():
        t = np.arange(piece.t[0], piece.t[-1], length / ROWS)
        q = interpolated(t, piece.t, piece.q / np.where(moves, ranges, 1.0)).T
        if len(t) >= ROWS:
            windows = np.lib.stride_tricks.sliding_window_view(q[moves], ROWS, axis=1)
            yield windows.transpose(1, 2, 0)


def _rows(windows: np.ndarray) -> np.ndarray:
    """One row for each window."""
    return windows.reshape(len(windows), windows.shape[1] * windows.shape[2])
