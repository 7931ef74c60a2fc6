"""Pictures small enough for a repository."""

from pathlib import Path

import numpy as np
from PIL import Image

LARGEST = 100_000  # bytes
COMMON, RARE = 96, 96  # colours: the most frequent as they are, others of any area, however small


def shrink(source: str | Path, to: str | Path) -> None:
    """A copy of a picture with few colours, and smaller until it fits; films as they are."""
    source, to = Path(source), Path(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".png":
        to.write_bytes(source.read_bytes())
        return
    picture = Image.open(source).convert("RGB")
    while True:
        few = reduced(picture)
        few.save(to, optimize=True)
        if to.stat().st_size <= LARGEST:
            return
        picture = picture.resize([round(0.85 * x) for x in picture.size], Image.Resampling.LANCZOS)


def reduced(picture: Image.Image) -> Image.Image:
    """With a palette of the colours of large areas and lines, and of small ones: a tool, an axis."""
    given, where, count = np.unique(
        np.asarray(picture).reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    spread = picture.quantize(RARE, method=Image.Quantize.MAXCOVERAGE).getpalette()
    table = np.concatenate([given[np.argsort(-count)[:COMMON]], np.reshape(spread, (-1, 3))[:RARE]])
    apart = given[:, None].astype(int) - table
    nearest = np.argmin((apart**2).sum(axis=-1), axis=1).astype(np.uint8)
    few = Image.fromarray(nearest[where].reshape(picture.height, picture.width), mode="P")
    few.putpalette(table.astype(np.uint8).ravel().tolist())
    return few
