"""Animations of runs, written as their suffix says."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..arguments import LARGEST, checked, positive
from ..errors import OptionError, ShapeError
from ..files import checked_path, whole
from ..robot import Robot
from .run_like import RunLike, check_run
from .scene import View, view_of
from .skeleton import Skeleton, skeleton

FINEST = 3000  # points of the tool's path


@dataclass(frozen=True)
class Motion:
    """An arm at the moments that are shown."""

    robot: Robot
    t: np.ndarray  # (F,)
    arm: Skeleton  # (F, ...)
    view: View
    reach: float
    bounds: np.ndarray
    fps: float
    frames: bool
    trace: bool
    note: str
    path_t: np.ndarray  # (P,)
    path: np.ndarray  # (P, 3): of the tool


@checked
def animate(
    run: RunLike,
    path: Any,
    fps: float = 30.0,
    speed: float = 1.0,
    frames: bool = True,
    trace: bool = True,
) -> Path:
    """Write a run as .gif, .mp4 or .html (interactive, opens offline) and return the path.

    `fps` pictures a second, `speed` times as fast as it happened; `frames` draws the frames of
    the links, `trace` the path of the tool. Of an ensemble the first member is shown.
    """
    writers = _writers()
    check_run(run)
    target = checked_path(path, writers, "animation")
    writer = writers[target.suffix.lower()]
    fps, speed = positive(fps, "fps"), positive(speed, "speed")
    tool = writer.check(float(fps))
    many = f"{fps:g} pictures a second at {speed:g} times the speed"
    if not (run.t[-1] - run.t[0]) * fps / speed < LARGEST:
        raise OptionError(f"{many} are more than {writer.most} pictures", "raise speed, lower fps")
    count = picture_count(run.t, fps, speed)
    if count > writer.most:
        raise OptionError(
            f"that makes {count} pictures, expected at most {writer.most} in {target.suffix}",
            "raise speed, lower fps, or write .mp4",
        )
    motion = resampled(run, float(fps), float(speed), frames, trace)
    with whole(target) as partial:
        writer.write(motion, partial, tool)
    return target


def picture_count(t: np.ndarray, fps: float, speed: float) -> int:
    """Pictures from the first moment to the last."""
    return int(np.floor((t[-1] - t[0]) * fps / speed + 1e-6)) + 1


def resampled(run: RunLike, fps: float, speed: float, frames: bool, trace: bool) -> Motion:
    """The run at evenly spaced moments."""
    t, q, note = np.asarray(run.t, dtype=float), np.asarray(run.q, dtype=float), ""
    if q.ndim > 2:
        q = q.reshape(-1, *q.shape[-2:])
        note = f"run 1 of {len(q)}"
        q = q[0]
    if q.shape != (len(t), run.robot.n):
        raise ShapeError(f"run.q has shape {q.shape}, expected ({len(t)}, {run.robot.n})")
    bad = ~np.isfinite(q).all(axis=1)
    if bad.any():
        raise OptionError(
            f"the run has no finite position at t = {t[np.argmax(bad)]:g} s, nothing to draw",
            "it diverged: take a smaller dt or gentler gains, or animate the part before",
        )
    moments = t[0] + np.arange(picture_count(t, fps, speed)) * speed / fps
    shown = np.stack([np.interp(moments, t, column) for column in q.T], axis=-1)
    arm = skeleton(run.robot, shown)
    view = view_of(run.robot, arm)
    finer = np.unique(np.linspace(0, len(t) - 1, min(len(t), FINEST)).round().astype(int))
    path = run.robot.fk(q[finer])[..., :3, 3]
    bounds = view.bounds(np.concatenate([arm.points, path]), arm.reach)
    return Motion(
        run.robot, moments, arm, view, arm.reach, bounds, fps, frames, trace, note, t[finer], path
    )


class Writer(NamedTuple):
    """A kind of file: most pictures, a check of the rate before any work, and what writes it."""

    most: int
    check: Callable[[float], Any]
    write: Callable[[Motion, Path, Any], None]  # with what the check returned


def _writers() -> dict[str, Writer]:
    from .film import check_gif, check_mp4, write_gif, write_mp4
    from .html import write_html

    return {
        ".gif": Writer(3000, check_gif, write_gif),  # all in memory until the file is written
        ".html": Writer(3000, lambda fps: None, write_html),  # a browser holds them all
        ".mp4": Writer(50_000, check_mp4, write_mp4),
    }
