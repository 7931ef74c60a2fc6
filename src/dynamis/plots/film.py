"""Animations as pictures: .gif by Pillow, .mp4 by ffmpeg.

The scenery is drawn once, the arm in every picture. A .gif has one palette, made of the colours of
the drawing, and delays that add up to the true time; any ffmpeg that is there writes the .mp4.
"""

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

from ..errors import FileError, OptionError
from ..progress import counted
from .animation import Motion
from .figure import INK, SOFT, Picture, plain
from .scene import Artists, add_axes, prepare
from .skeleton import STYLES, TRACE, strokes

SIZE, DPI = (6.4, 4.8), 80  # inches, pixels per inch: 512 x 384
FASTEST = 50.0  # pictures a second; players slow down what claims to be faster
SHADES = 5  # of each colour towards white
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
    if motion.trace:
        artists.add("trace", motion.path[:1], TRACE)
    artists.add_all(strokes(motion.arm[0], motion.reach, motion.frames))
    moving = [*artists.lines.values(), clock]
    for artist in moving:
        artist.set_animated(True)
    canvas = figure.canvas
    canvas.draw()
    scenery = canvas.copy_from_bbox(figure.bbox)  # type: ignore[attr-defined]
    renderer = canvas.get_renderer()  # type: ignore[attr-defined]
    for k in counted("drawing", len(motion.t)):
        canvas.restore_region(scenery)  # type: ignore[attr-defined]
        artists.move(strokes(motion.arm[k], motion.reach, motion.frames))
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
    palette = _palette()
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


def _palette() -> Image.Image:
    """Shades of every colour that strokes have, and greys for the rest."""
    colours = [to_rgb(style.colour) for style in (*STYLES.values(), TRACE)]
    strength = np.linspace(0, 1, SHADES + 1)[1:, None, None]
    shades = (1 - strength + strength * np.array(colours)).reshape(-1, 3)
    greys = np.linspace(0.1, 1, GREYS)[:, None] * np.ones(3)
    table = np.round(255 * np.unique(np.concatenate([greys, shades]), axis=0)).astype(int)
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
