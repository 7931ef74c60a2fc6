"""Animations as .gif, by Pillow."""

from pathlib import Path

import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

from ..errors import OptionError
from .animation import Motion
from .film import film
from .skeleton import STYLES, TRACE

MOST = 3000  # pictures: all are in memory until the file is written
FASTEST = 50.0  # pictures a second; players slow down what claims to be faster
SHADES = 5  # of each colour towards white
GREYS = 14


def check(fps: float) -> None:
    """Whether a .gif can play at this rate."""
    if fps > FASTEST:
        raise OptionError(
            f"fps is {fps:g}, expected at most {FASTEST:g} for a .gif", "use .mp4 or .html"
        )


def write(motion: Motion, path: Path, _: None) -> None:
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
