"""Animations as .mp4, by ffmpeg."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import matplotlib as mpl

from ..errors import FileError, OptionError
from .animation import Motion
from .film import film

MOST = 50_000  # pictures


def check(fps: float) -> str:
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


def write(motion: Motion, path: Path, ffmpeg: str) -> None:
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
        pipe.stdin.write(first.tobytes())
        for picture in pictures:
            pipe.stdin.write(picture.tobytes())
        complaint = pipe.communicate()[1]
    except BrokenPipeError:
        complaint = pipe.communicate()[1]
    finally:
        pipe.kill()
    if pipe.returncode:
        raise FileError(f"ffmpeg failed: {complaint.decode(errors='replace').strip()}")
