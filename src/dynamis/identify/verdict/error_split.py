"""The torque error as one figure, split into noise of the signal, friction at rest and the model.

    e^2 = noise^2 + rest^2 + model^2,   each next to |tau|, all rows as logged

The residual r = tau - predicted of every joint has N rows, of which M move (faster than the dead
zone of the fit) and N - M rest. No filtered motion reaches above the cut-off, so what moving rows
have there is noise, and white noise goes on below it:

    s^2 = sum_moving (r^2 - low^2) / (M nu)   nu: share of white noise that the low-pass takes away
    rest^2 = sum_resting r^2 - (N - M) s^2,  model^2 = sum_moving r^2 - M s^2,  noise^2 = N s^2

(each over |tau|^2; rest^2 and model^2 are at least 0, and noise^2 is then what remains).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.signal import butter, sosfreqz

from ...arguments import strict
from ...tables import text_table
from ..processing import GUARD

if TYPE_CHECKING:
    from ..estimate import Validation

BLOCKS = 5  # of the time, that show how the model's part scatters
FEWEST = 30  # moving rows that show a noise
NO_FILTER = 0.49  # of the sampling rate: a cut-off above filters nothing
ORDER = 4  # of the filter, in each direction
HEAD = ("joint", "error", "noise of the torque", "the model", "friction at rest")


@strict
@dataclass(frozen=True, eq=False)
class ErrorSplit:
    """Sums of squares of every joint, (n,): of the torque, and of what the prediction misses.

    `error`, `noise`, `model` and `rest` are of all joints, next to the norm of all torques; their
    squares add: error^2 = noise^2 + model^2 + rest^2. `shares` has them joint by joint.
    `model_blocks` (BLOCKS, n) are the model's squares in parts of the time, if they are known.
    """

    joint_names: tuple[str, ...]
    rows: int
    moving: np.ndarray  # rows in which the joint moves, (n,)
    torque_squares: np.ndarray
    noise_squares: np.ndarray
    model_squares: np.ndarray
    rest_squares: np.ndarray
    model_blocks: np.ndarray | None = None

    @property
    def sure_model_squares(self) -> np.ndarray:
        """The model's squares less their standard deviation by the scatter over parts, (n,)."""
        return self._less_scatter(self.model_squares, lambda x: x)

    @property
    def sure_model(self) -> float:
        """The part of the error that the model leaves, its square less a standard deviation."""
        sure = self._less_scatter(self.model_squares.sum(), lambda x: x.sum(axis=1))
        return float(np.sqrt(sure / max(float(self.torque_squares.sum()), 1e-300)))

    def _less_scatter(self, total: Any, of_blocks: Callable[[np.ndarray], np.ndarray]) -> Any:
        if self.model_blocks is None:
            return total
        blocks = of_blocks(self.model_blocks)
        return np.maximum(0.0, total - np.sqrt(len(blocks)) * blocks.std(axis=0, ddof=1))

    @property
    def squares(self) -> np.ndarray:
        """Sums of squares of the residual, noise, model and friction at rest, (n, 4)."""
        parts = self.noise_squares, self.model_squares, self.rest_squares
        return np.stack([sum(parts), *parts], axis=1)

    @property
    def shares(self) -> np.ndarray:
        """Error, noise, model and friction at rest of every joint over its torque, (n, 4).

        Infinite where a joint has no torque but an error.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.nan_to_num(
                np.sqrt(self.squares / self.torque_squares[:, None]), posinf=np.inf
            )

    @property
    def _whole(self) -> np.ndarray:
        return np.sqrt(self.squares.sum(axis=0) / max(float(self.torque_squares.sum()), 1e-300))

    @property
    def error(self) -> float:
        """The relative error of all joints as logged."""
        return float(self._whole[0])

    @property
    def noise(self) -> float:
        """The part of the error that is noise of the torque signal."""
        return float(self._whole[1])

    @property
    def model(self) -> float:
        """The part of the error that the model leaves while joints move."""
        return float(self._whole[2])

    @property
    def rest(self) -> float:
        """The part of the error at rest, where friction takes any value up to break-away."""
        return float(self._whole[3])

    @property
    def sizes(self) -> np.ndarray:
        """Root mean squares of every joint: torque, residual, noise, model and rest, (n, 5)."""
        both = np.concatenate([self.torque_squares[:, None], self.squares], axis=1)
        return np.sqrt(both / max(1, self.rows))

    @property
    def said(self) -> str:
        """The parts in words."""
        return _said(self._whole)

    def cells(self) -> list[tuple[str, ...]]:
        """Rows of a table: every joint and all; error, noise, model, friction at rest."""
        rows = [*zip(self.joint_names, self.shares, strict=True), ("all", self._whole)]
        return [(name, *map(percent, share)) for name, share in rows]

    def as_dict(self) -> dict[str, Any]:
        """The figures by name, for files."""
        parts = {name: getattr(self, name) for name in ("error", "noise", "model", "rest")}
        columns = zip(("error", "noise", "model", "rest"), self.shares.T, strict=True)
        return parts | {"joints": dict(columns)}

    def __str__(self) -> str:
        title = f"torque error {percent(self.error)}: {self.said}"
        return f"{title}\n{text_table([HEAD, *self.cells()], right=5, rule=False)}"


def of_joint(split: ErrorSplit, joint: int) -> str:
    """Error and parts of one joint in words."""
    share = split.shares[joint]
    return f"{percent(share[0])} of its torque is missed: {_said(share)}"


def percent(share: float) -> str:
    """A share as it is shown everywhere."""
    if not np.isfinite(share):
        return "no torque"
    return f"{100.0 * share:.2f} %" if share < 1.0 else f"{100.0 * share:.0f} %"


def _said(share: np.ndarray) -> str:
    noise, model, rest = map(percent, share[1:])
    return f"noise of the torque signal {noise}, the model {model}, friction at rest {rest}"


def error_split(check: "Validation", cutoff: float, slow: float | np.ndarray) -> ErrorSplit:
    """Split the error of measured beside predicted torque, as logged.

    `cutoff` (Hz) and `slow` (rad/s or m/s, of every joint or of all) are those of the fit.
    """
    rate = 1.0 / float(np.median(np.diff(check.t)))
    kept = np.ones(check.measured.shape, bool) if check.counted is None else check.counted
    squares = np.where(kept, check.residual**2, 0.0)
    moving = kept & ~at_rest(check.speed, slow, GUARD * rate / cutoff)
    above = squares - np.where(kept, check.filtered(cutoff).residual ** 2, 0.0)
    taken = removed_share(cutoff, rate)
    variance = np.zeros(squares.shape[1])
    for j in range(len(variance)) if taken > 0.0 else ():
        seen = moving[:, j] if moving[:, j].sum() >= FEWEST else kept[:, j]
        variance[j] = max(0.0, float(above[seen, j].mean()) / taken) if seen.any() else 0.0

    def beyond(rows: np.ndarray) -> np.ndarray:
        """Sums of squares without the noise's."""
        return np.maximum(0.0, (squares * rows).sum(axis=0) - variance * rows.sum(axis=0))

    model, rest = beyond(moving), beyond(kept & ~moving)
    noise = np.maximum(0.0, squares.sum(axis=0) - model - rest)
    torque = np.where(kept, check.measured**2, 0.0).sum(axis=0)
    parts = zip(np.array_split(squares, BLOCKS), np.array_split(moving, BLOCKS), strict=True)
    blocks = np.array([((s - variance) * m).sum(axis=0) for s, m in parts])
    names, count = check.joint_names, moving.sum(axis=0)
    return ErrorSplit(names, len(check.t), count, torque, noise, model, rest, blocks)


def together(splits: Sequence[ErrorSplit]) -> ErrorSplit:
    """The split of several motions as one."""
    fields = ("rows", "moving", "torque_squares", "noise_squares", "model_squares", "rest_squares")
    sums = {name: sum(getattr(x, name) for x in splits) for name in fields}
    return replace(splits[0], model_blocks=None, **sums)


def at_rest(speed: np.ndarray, slow: float | np.ndarray, reach: float) -> np.ndarray:
    """Rows (N, n) slower than that, and their neighbours to either side so many rows away."""
    slower = np.abs(speed) < slow
    return maximum_filter1d(slower.astype(np.uint8), 2 * int(reach) + 1, axis=0) > 0


def removed_share(cutoff: float, rate: float) -> float:
    """Share of white noise's power that low-passing takes away: 1 - mean of |H(f)|^4."""
    if cutoff >= NO_FILTER * rate:
        return 0.0
    _, gain = sosfreqz(butter(ORDER, cutoff, fs=rate, output="sos"), worN=4096)
    return float(1.0 - np.mean(np.abs(gain) ** 4))
