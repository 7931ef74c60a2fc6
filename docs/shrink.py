"""Pictures small enough for a repository."""

from pathlib import Path

from PIL import Image

LARGEST = 100_000  # bytes


def shrink(source: str | Path, to: str | Path) -> None:
    """A copy of a picture with few colours, and smaller until it fits; films as they are."""
    source, to = Path(source), Path(to)
    to.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix != ".png":
        to.write_bytes(source.read_bytes())
        return
    picture = Image.open(source).convert("RGB")
    while True:
        few = picture.quantize(128, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        few.save(to, optimize=True)
        if to.stat().st_size <= LARGEST:
            return
        picture = picture.resize([round(0.85 * x) for x in picture.size], Image.Resampling.LANCZOS)
