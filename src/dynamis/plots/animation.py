"""Animations of runs: .gif by Pillow, .mp4 by ffmpeg, .html that draws itself.

Of pictures the scenery is drawn once, the arm in every one. A .gif has one palette, made of the
colours of the drawing, and delays that add up to the true time; any ffmpeg that is there writes
the .mp4.
"""

import html
import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

from .. import templates
from ..arguments import LARGEST, checked, choice, positive
from ..errors import FileError, OptionError, ShapeError
from ..files import checked_path, whole
from ..progress import counted
from ..robot import Robot
from . import viewer
from .figure import check_run, plain
from .scene import (
    BRIGHT,
    DARK,
    LINKS,
    MOVING_SIDES,
    SEEN,
    SHADES,
    SHADOW,
    Bodywork,
    Stage,
    View,
    bodywork,
    view_of,
)
from .skeleton import STYLES, TRACE, Skeleton, Style, skeleton, strokes
from .solid import COLOURS

if TYPE_CHECKING:
    from ..simulation.run import Run as RunLike


FINEST = 3000  # points of the tool's path


@dataclass(frozen=True)
class FilmedMotion:
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
    body: Bodywork | None = None  # solid links; None: sticks

    def strokes(self, k: int) -> dict[str, np.ndarray]:
        """Lines at a moment."""
        found = strokes(self.arm[k], self.reach, self.frames)
        return {x: found[x] for x in SEEN if x in found} if self.body else found


@checked
def animate(
    run: "RunLike",
    path: Any,
    fps: float = 30.0,
    speed: float = 1.0,
    frames: bool = True,
    trace: bool = True,
    links: str = "solid",
) -> Path:
    """Write a run as .gif, .mp4 or .html (interactive, opens offline) and return the path.

    `fps` pictures a second, `speed` times as fast as it happened; `frames` draws the frames of
    the links, `trace` the path of the tool, `links` is "solid" or "sticks". Of an ensemble the
    first member is shown.
    """
    choice(links, "links", LINKS)
    check_run(run)
    target = checked_path(path, WRITERS, "animation")
    writer = WRITERS[target.suffix.lower()]
    fps, speed = positive(fps, "fps"), positive(speed, "speed")
    tool = writer.check(float(fps))
    if not (run.t[-1] - run.t[0]) * fps / speed < LARGEST:
        many = f"{fps:g} pictures a second at {speed:g} times the speed"
        raise OptionError(f"{many} are more than {writer.most} pictures", "raise speed, lower fps")
    count = picture_count(run.t, fps, speed)
    if count > writer.most:
        raise OptionError(
            f"that makes {count} pictures, expected at most {writer.most} in {target.suffix}",
            "raise speed, lower fps, or write .mp4",
        )
    motion = resampled(run, float(fps), float(speed), frames, trace, links)
    with whole(target) as partial:
        writer.write(motion, partial, tool)
    return target


def picture_count(t: np.ndarray, fps: float, speed: float) -> int:
    """Pictures from the first moment to the last."""
    return int(np.floor((t[-1] - t[0]) * fps / speed + 1e-6)) + 1


def resampled(
    run: "RunLike", fps: float, speed: float, frames: bool, trace: bool, links: str = "sticks"
) -> FilmedMotion:
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
    body = bodywork(run.robot, arm, MOVING_SIDES) if links == "solid" else None
    if body:
        bounds = body.bounds(view, arm, path)
    else:
        bounds = view.bounds(np.concatenate([arm.points, path]), arm.reach)
    return FilmedMotion(
        run.robot, moments, arm, view, arm.reach, bounds, fps, frames, trace, note, t[finer], path,
        body,
    )  # fmt: skip


# pictures


def film(motion: FilmedMotion) -> Iterator[np.ndarray]:
    """Pictures (height, width, 3) of bytes."""
    title = plain(motion.robot.name) + (f", {motion.note}" if motion.note else "")
    stage = Stage(title, motion.view, motion.bounds, motion.body)
    if motion.trace:
        stage.artists.add("trace", motion.path[:1], TRACE)
    stage.artists.add_all(motion.strokes(0))
    for k in counted("drawing", len(motion.t)):
        moved = motion.strokes(k)
        if motion.trace:
            past = np.searchsorted(motion.path_t, motion.t[k], side="right")
            moved["trace"] = np.vstack([motion.path[:past], motion.arm.tool[k, :3, 3]])
        yield stage.take(motion.arm.frames[k], moved, f"t = {motion.t[k]:.2f} s")


# an arm that moves while nobody knows yet where it will go

TARGET = Style("#d9480f", marker="X", size=13.0, face="#ffc9a8")


class LivePicture:
    """A drawing whose scenery is made once and whose arm is put where it is, call by call.

    `around` (K, n) are configurations that must fit into it.
    """

    def __init__(self, robot: Robot, around: np.ndarray):
        self.robot = robot
        arm = skeleton(robot, around)
        self.reach, view = arm.reach, view_of(robot, arm)
        body = bodywork(robot, arm, MOVING_SIDES)
        self.stage = Stage(plain(robot.name), view, body.bounds(view, arm), body)
        self.stage.artists.add("target", arm.tool[0, None, :3, 3], TARGET)
        self.stage.artists.add_all(self._strokes(around[0]))

    def __call__(self, q: np.ndarray, target: np.ndarray, text: str = "") -> np.ndarray:
        """The picture, (height, width, 3) of bytes: the arm at q (n,), a mark at target (3,)."""
        strokes = self._strokes(q) | {"target": np.asarray(target)[None]}
        return self.stage.take(self.robot.frames(q), strokes, text)

    def _strokes(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Lines that solid links are drawn with."""
        found = strokes(skeleton(self.robot, q), self.reach, frames=False)
        return {name: found[name] for name in SEEN if name in found}


# files

FASTEST = 50.0  # pictures a second; players slow down what claims to be faster
TINTS = 5  # of each colour towards white
GREYS = 14


def check_gif(fps: float) -> None:
    """Whether a .gif can play at this rate."""
    if fps > FASTEST:
        raise OptionError(
            f"fps is {fps:g}, expected at most {FASTEST:g} for a .gif", "use .mp4 or .html"
        )


def write_gif(motion: FilmedMotion, path: Path, _: None) -> None:
    """Pictures with one palette; delays are whole hundredths that add up to the true time."""
    pictures = film(motion)
    first = next(pictures)
    palette = _palette(motion)
    ends = np.round(np.arange(1, len(motion.t) + 1) * 100 / motion.fps)
    delays = (10 * np.diff(ends, prepend=0)).astype(int).tolist()
    _reduced(first, palette).save(
        path,
        format="GIF",
        save_all=True,
        append_images=(_reduced(picture, palette) for picture in pictures),
        duration=delays,
        loop=0,
        optimize=False,
        disposal=1,
    )


def _palette(motion: FilmedMotion) -> Image.Image:
    """Tints of every colour that strokes have, shades of the solid parts, and greys."""
    styles = {name: STYLES[name] for name in (SEEN if motion.body else STYLES)}
    strength = np.linspace(0, 1, TINTS + 1)[1:, None, None]
    colours = np.array([to_rgb(style.colour) for style in (*styles.values(), TRACE)])
    found = [np.linspace(0.1, 1, GREYS)[:, None] * np.ones(3)]
    found.append((1 - strength + strength * colours).reshape(-1, 3))
    if motion.body:
        parts = np.array([to_rgb(COLOURS[c]) for c in {p.colour for p in motion.body.parts}])
        shades = np.linspace(DARK, BRIGHT, SHADES)[:, None, None] * parts
        found += [np.clip(shades, 0, 1).reshape(-1, 3), np.array([to_rgb(SHADOW)])]
    table = np.unique(np.round(255 * np.concatenate(found)).astype(int), axis=0)
    image = Image.new("P", (1, 1))
    image.putpalette(table.ravel().tolist())
    return image


def _reduced(picture: np.ndarray, palette: Image.Image) -> Image.Image:
    return Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)


def check_mp4(_: float) -> str:
    """Where ffmpeg is: matplotlib's setting, the search path, or the package imageio-ffmpeg."""
    found = shutil.which(mpl.rcParams["animation.ffmpeg_path"]) or shutil.which("ffmpeg")
    if found is None and importlib.util.find_spec("imageio_ffmpeg"):
        import imageio_ffmpeg  # type: ignore[import-not-found]

        found = imageio_ffmpeg.get_ffmpeg_exe()
    if found is None:
        raise OptionError(
            "writing .mp4 needs ffmpeg, which is not installed",
            "install ffmpeg (or: pip install imageio-ffmpeg), or write .gif or .html",
        )
    return found


def write_mp4(motion: FilmedMotion, path: Path, ffmpeg: str) -> None:
    """Pictures through a pipe, as H.264."""
    pictures = film(motion)
    first = next(pictures)
    height, width = first.shape[:2]
    command = [
        ffmpeg, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-s", f"{width}x{height}", "-r", f"{motion.fps:g}", "-i", "-", "-an",
        "-c:v", "libx264", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(path),
    ]  # fmt: skip
    pipe = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert pipe.stdin is not None
    try:
        for picture in chain([first], pictures):
            pipe.stdin.write(picture.tobytes())
        complaint = pipe.communicate()[1]
    except BrokenPipeError:
        complaint = pipe.communicate()[1]
    finally:
        pipe.kill()
    if pipe.returncode:
        raise FileError(f"ffmpeg failed: {complaint.decode(errors='replace').strip()}")


# one page


def write_html(motion: FilmedMotion, path: Path, _: None) -> None:
    """A page that draws the arm itself: to play, to step through, to turn with the mouse."""
    title = motion.robot.name + (f", {motion.note}" if motion.note else "")
    made = viewer.scene(
        motion.robot,
        motion.arm.frames,
        links="solid" if motion.body else "sticks",
        tool=motion.arm.tool if motion.frames else None,
        towards=motion.view.normal if motion.view.flat else None,
    )
    speed = motion.fps * float(motion.t[1] - motion.t[0]) if len(motion.t) > 1 else 1.0
    arm = viewer.elements(made, motion.t, title, motion.path if motion.trace else None, speed)
    page = templates.filled(
        __package__, "animation.html", TITLE=html.escape(title), STYLE=viewer.style(),
        BODY=arm, SCRIPT=viewer.script(),
    )  # fmt: skip
    path.write_text(page, encoding="utf-8")


class Writer(NamedTuple):
    """A kind of file: most pictures, a check of the rate before any work, and what writes it."""

    most: int
    check: Callable[[float], Any]
    write: Callable[[FilmedMotion, Path, Any], None]  # with what the check returned


WRITERS = {
    ".gif": Writer(3000, check_gif, write_gif),  # all in memory until the file is written
    ".html": Writer(3000, lambda fps: None, write_html),  # a browser holds them all
    ".mp4": Writer(50_000, check_mp4, write_mp4),
}
