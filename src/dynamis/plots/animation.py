"""Animations of runs: .gif by Pillow, .mp4 by ffmpeg, .html that opens offline by plotly.

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
from .figure import INK, SOFT, Picture, check_run, plain
from .scene import (
    BRIGHT,
    DARK,
    LINKS,
    SEEN,
    SHADES,
    SHADOW,
    Artists,
    Bodywork,
    Solids,
    View,
    add_axes,
    bodywork,
    prepare,
    view_of,
)
from .skeleton import STYLES, TRACE, Skeleton, Style, skeleton, strokes
from .solid import COLOURS

if TYPE_CHECKING:
    from ..simulation.run import Run as RunLike


FINEST = 3000  # points of the tool's path
FILM_SIDES = 10  # of a tube in moving pictures


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
) -> Motion:
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
    body = bodywork(run.robot, arm, FILM_SIDES) if links == "solid" else None
    if body:
        bounds = body.bounds(view, arm, path)
    else:
        bounds = view.bounds(np.concatenate([arm.points, path]), arm.reach)
    return Motion(
        run.robot, moments, arm, view, arm.reach, bounds, fps, frames, trace, note, t[finer], path,
        body,
    )  # fmt: skip


# pictures

SIZE, DPI = (6.4, 4.8), 80  # inches, pixels per inch: 512 x 384
FASTEST = 50.0  # pictures a second; players slow down what claims to be faster
TINTS = 5  # of each colour towards white
GREYS = 14


def film(motion: Motion) -> Iterator[np.ndarray]:
    """Pictures (height, width, 3) of bytes."""
    figure = Picture(figsize=SIZE, dpi=DPI)
    axes = add_axes(figure, motion.view)
    prepare(axes, motion.view, motion.bounds)
    title = plain(motion.robot.name) + (f", {motion.note}" if motion.note else "")
    figure.suptitle(title, color=INK)
    clock = figure.text(0.98, 0.02, "", ha="right", color=SOFT, size=10)
    artists = Artists(axes, motion.view)
    solids = Solids(axes, motion.view, motion.body) if motion.body else None
    if motion.trace:
        artists.add("trace", motion.path[:1], TRACE)
    artists.add_all(motion.strokes(0))
    moving = [*artists.lines.values(), clock]
    for artist in (*moving, *(solids.artists if solids else ())):
        artist.set_animated(True)
    canvas = figure.canvas
    canvas.draw()
    scenery = canvas.copy_from_bbox(figure.bbox)  # type: ignore[attr-defined]
    renderer = canvas.get_renderer()  # type: ignore[attr-defined]
    for k in counted("drawing", len(motion.t)):
        canvas.restore_region(scenery)  # type: ignore[attr-defined]
        if solids:
            solids.move(motion.arm.frames[k], turnable=False)
            solids.draw(renderer)
        artists.move(motion.strokes(k))
        if motion.trace:
            past = np.searchsorted(motion.path_t, motion.t[k], side="right")
            artists.move({"trace": np.vstack([motion.path[:past], motion.arm.tool[k, :3, 3]])})
        clock.set_text(f"t = {motion.t[k]:.2f} s")
        for artist in moving:
            artist.draw(renderer)
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[attr-defined]


def check_gif(fps: float) -> None:
    """Whether a .gif can play at this rate."""
    if fps > FASTEST:
        raise OptionError(
            f"fps is {fps:g}, expected at most {FASTEST:g} for a .gif", "use .mp4 or .html"
        )


def write_gif(motion: Motion, path: Path, _: None) -> None:
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


def _palette(motion: Motion) -> Image.Image:
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


def write_mp4(motion: Motion, path: Path, ffmpeg: str) -> None:
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

DIGITS = 4  # decimals, of a reach
SYMBOLS = {"o": "circle", "s": "square", "P": "cross", "X": "x"}
FONT = {"family": "system-ui, sans-serif", "color": "#1c2530", "size": 13}
WIDER = 2.0  # lines in space look thinner than they are
GREY = "#ccd3da"
AT_ONCE = {"mode": "immediate", "transition": {"duration": 0}}


def moving_figure(motion: Motion) -> dict[str, Any]:
    """The arm as a plotly figure: play, pause, a slider over time, to turn with the mouse."""
    start = strokes(motion.arm[0], motion.reach, motion.frames)
    moving = [name for name in start if name != "base"]
    still = [_line(motion, start["base"], STYLES["base"])]
    if motion.trace:
        still.append(_line(motion, motion.path, TRACE))
    places = list(range(len(still), len(still) + len(moving)))
    pictures = []
    for k in counted("writing", len(motion.t)):
        now = strokes(motion.arm[k], motion.reach, motion.frames)
        data = [{"type": "scatter3d", **_columns(motion, now[name])} for name in moving]
        pictures.append({"name": str(k), "data": data, "traces": places})
    return {
        "data": [*still, *(_line(motion, start[name], STYLES[name]) for name in moving)],
        "layout": _layout(motion),
        "frames": pictures,
    }


def write_html(motion: Motion, path: Path, _: None) -> None:
    """The page of the moving figure."""
    import plotly.io

    body = plotly.io.to_html(
        moving_figure(motion),
        include_plotlyjs=True,
        include_mathjax=False,
        full_html=False,
        auto_play=False,
        validate=False,
        config={"displaylogo": False, "responsive": True},
        default_height="100%",
    )
    title = html.escape(motion.robot.name)
    page = templates.filled(__package__, "animation.html", TITLE=title, BODY=body)
    path.write_text(page, encoding="utf-8")


def _columns(motion: Motion, points: np.ndarray) -> dict[str, list[float | None]]:
    """Coordinates with as many digits as can be seen; gaps are null."""
    decimals = DIGITS - int(np.floor(np.log10(motion.reach)))
    columns = np.round(points, decimals).T
    return {
        name: [None if np.isnan(x) else float(x) for x in column]
        for name, column in zip("xyz", columns, strict=True)
    }


def _line(motion: Motion, points: np.ndarray, style: Style) -> dict[str, Any]:
    line = {"color": style.colour, "width": WIDER * style.width}
    look: dict[str, Any] = {"mode": "lines", "line": line}
    if style.marker:
        marker = {"symbol": SYMBOLS[style.marker], "size": style.size, "color": style.colour}
        look = {"mode": "markers", "marker": marker}
    rest = {"type": "scatter3d", "hoverinfo": "skip", "showlegend": False}
    return rest | look | _columns(motion, points)


def _layout(motion: Motion) -> dict[str, Any]:
    name = html.escape(motion.robot.name) + (f", {motion.note}" if motion.note else "")
    return {
        "title": {"text": name, "x": 0.5, "y": 0.97},
        "font": FONT,
        "paper_bgcolor": "white",
        "margin": {"l": 0, "r": 0, "t": 50, "b": 10},
        "scene": _scene(motion),
        "updatemenus": [_buttons(motion.fps)],
        "sliders": [_slider(motion)],
    }


def _scene(motion: Motion) -> dict[str, Any]:
    """Equal scales over the whole motion, seen face on if it is planar."""
    bounds = View(np.eye(3), motion.view.up).bounds(motion.arm.points, motion.reach)
    size = bounds[:, 1] - bounds[:, 0]
    plain = {"gridcolor": GREY, "zerolinecolor": GREY, "backgroundcolor": "white", "nticks": 6}
    plain |= {"tickangle": 0}
    axes = {
        f"{name}axis": plain | {"range": bounds[i].tolist(), "title": {"text": f"{name} (m)"}}
        for i, name in enumerate("xyz")
    }
    closer = 1.0
    if motion.view.flat:
        closer = 2.0
        axes["xyz"[int(np.argmax(np.abs(motion.view.normal)))] + "axis"]["visible"] = False
    ratio = dict(zip("xyz", (closer * size / size.max()).tolist(), strict=True))
    return axes | {"aspectmode": "manual", "aspectratio": ratio, "camera": _camera(motion.view)}


def _camera(view: View) -> dict[str, Any]:
    up, centre = view.up, np.zeros(3)
    if view.flat:
        eye, kind = 1.5 * view.normal, "orthographic"
    else:
        side = np.roll(up, 1)
        eye, kind = 1.45 * side + 0.6 * up - 1.15 * np.cross(up, side), "perspective"
        centre = -0.12 * up
    vectors = {"eye": eye, "center": centre, "up": up}
    found = {name: dict(zip("xyz", v.tolist(), strict=True)) for name, v in vectors.items()}
    return found | {"projection": {"type": kind}}


def _buttons(fps: float) -> dict[str, Any]:
    play = AT_ONCE | {"frame": {"duration": 1000 / fps, "redraw": True}, "fromcurrent": True}
    pause = AT_ONCE | {"frame": {"duration": 0, "redraw": False}}
    place = {"x": 0.02, "y": 0, "xanchor": "left", "yanchor": "top", "pad": {"t": 4}}
    buttons = [
        {"label": "\u25b6 play", "method": "animate", "args": [None, play]},
        {"label": "\u2759\u2759 pause", "method": "animate", "args": [[None], pause]},
    ]
    look = {"type": "buttons", "direction": "left", "showactive": False}
    return look | place | {"buttons": buttons}


def _slider(motion: Motion) -> dict[str, Any]:
    jump = AT_ONCE | {"frame": {"duration": 0, "redraw": True}}
    steps = [
        {"method": "animate", "label": f"{t:.2f}", "args": [[str(k)], jump]}
        for k, t in enumerate(motion.t)
    ]
    place = {"active": 0, "x": 0.02, "len": 0.96, "y": 0, "pad": {"t": 44, "b": 4}}
    look = {"ticklen": 0, "minorticklen": 0, "transition": {"duration": 0}}
    clock = {"prefix": "t = ", "suffix": " s", "xanchor": "right"}
    return place | look | {"currentvalue": clock, "steps": steps}


class Writer(NamedTuple):
    """A kind of file: most pictures, a check of the rate before any work, and what writes it."""

    most: int
    check: Callable[[float], Any]
    write: Callable[[Motion, Path, Any], None]  # with what the check returned


WRITERS = {
    ".gif": Writer(3000, check_gif, write_gif),  # all in memory until the file is written
    ".html": Writer(3000, lambda fps: None, write_html),  # a browser holds them all
    ".mp4": Writer(50_000, check_mp4, write_mp4),
}
