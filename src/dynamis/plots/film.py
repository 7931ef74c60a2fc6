"""Pictures of a motion one after another: the scenery is drawn once, the arm every time."""

from collections.abc import Iterator

import numpy as np

from ..progress import counted
from .animation import Motion
from .figure import INK, SOFT, Picture, plain
from .scene import Artists, add_axes, prepare
from .skeleton import TRACE, strokes

SIZE, DPI = (6.4, 4.8), 80  # inches, pixels per inch: 512 x 384


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
