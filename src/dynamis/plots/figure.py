"""Figures that need no display and show themselves in notebooks."""

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..errors import OptionError, shown
from ..files import checked_path, whole

SUFFIXES = (".png", ".svg", ".pdf", ".jpg")
INK, SOFT, LINE = "#1c2530", "#5b6672", "#dfe3e8"


def plain(text: str) -> str:
    """A name as matplotlib should draw it: `$` starts no formula, surrogates are spelt out."""
    return text.replace("$", r"\$").encode(errors="backslashreplace").decode()


class Picture(Figure):
    """A matplotlib Figure made without pyplot; a notebook shows it as its last expression."""

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=100)
        return stream.getvalue()


def save(figure: Figure, path: Any) -> None:
    """Write a figure as its suffix says."""
    with whole(checked_path(path, SUFFIXES, "picture")) as partial:
        figure.savefig(partial, dpi=150)


def check_save(path: Any) -> None:
    """Refuse a path before anything is drawn; None is fine."""
    if path is not None:
        checked_path(path, SUFFIXES, "picture")


def check_run(run: Any) -> None:
    """Refuse what is not like a Run: what has not even times and positions of a robot."""
    if not all(hasattr(run, name) for name in ("robot", "t", "q")):
        raise OptionError(f"run is {shown(run)}, expected what dy.simulate returned")
