"""A plot over time, with a line at the present instant if there is one."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import tables
from ...model.quantity import Expression, pi_text
from ..server.session import plain

# names of robots and joints where they may hold anything: in legends and as names of files

LONGEST_STEM = 60


def label(text: str, longest: int = 24) -> str:
    """A name in a legend: no markup, not too long."""
    words = " ".join(str(text).split()).translate(dict.fromkeys(map(ord, "<>&"), "_"))
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def legend(names: Sequence[str]) -> list[str]:
    """Names in a legend, longer where they would be the same."""
    found = [label(name) for name in names]
    return found if len({*found}) == len(found) else [label(name, LONGEST_STEM) for name in names]


def stem(text: str, nameless: str = "robot") -> str:
    """A file name without its ending, of any text."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", str(text)).strip("_-")[:LONGEST_STEM] or nameless


# tables and numbers as the pages show them


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: int = 0) -> str:
    """A table; the last `right` columns are set flush right. Nothing in it is markup."""
    return tables.markdown_table([header, *rows], right, plain)


SHOWN_DIGITS = 12  # of a number in a field; it keeps its value unless it is edited


def short(value: float) -> str:
    """A number of four digits; no -0."""
    return f"{value:.4g}" if abs(value) > 5e-13 else "0"


def typed(value: Any, angle: bool = False) -> str:
    """A quantity as one would type it: a symbol's text, pi/2, or a number of twelve digits."""
    if isinstance(value, Expression):
        return value.text
    number = float(value) + 0.0
    if angle and number:
        twelfths = round(12.0 * number / math.pi)
        if twelfths and math.isclose(number, twelfths * math.pi / 12.0, rel_tol=1e-15):
            return pi_text(twelfths)
    return f"{number:.{SHOWN_DIGITS}g}"


COLOURS = (
    "#c86818", "#2f6fb0", "#2e8b57", "#8e4ec6", "#c0392b", "#148f9c", "#7f6a00", "#5d6d7e"
)  # fmt: skip
MOST = 400  # points of a series
HEIGHT = 156  # pixels: three charts fit on a page 800 high
TIME_AXIS = {"size": 30, "space": 30, "label": "time (s)", "labelSize": 16, "labelGap": -2,
             "labelFont": "12px sans-serif"}  # fmt: skip
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Chart:
    """Curves over time, made when there is something to show."""

    def __init__(self, gui: Any, title: str, now: bool = True):
        self.gui, self.title, self.has_now = gui, title, now
        self.folder = gui.add_folder(title, visible=False)
        self._plot: Any = None
        self._names: tuple[str, ...] = ()
        self._colours: Sequence[int] = ()
        self._t = self._rows = np.zeros(0)

    def show(
        self, t: np.ndarray, rows: np.ndarray, names: Sequence[str],
        colours: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        """Draw rows (N, k) over t (N,), in the first colours or those of these numbers."""
        self._colours = range(len(names)) if colours is None else colours
        self._t, self._rows = thinned(t, rows)
        power = thousands(self._rows)
        self._rows = self._rows * 10.0**-power
        self.folder.label = self.title + (f" · 10{str(power).translate(RAISED)}" if power else "")
        if self._plot is not None and self._names == tuple(names):
            self._plot.data = self._data(float(self._t[0]))
        else:
            self._names = tuple(names)
            self._make()
        self.folder.visible = True

    def now(self, t: float) -> None:
        """Move the line to another instant."""
        if self._plot is not None and self.folder.visible:
            self._plot.data = self._data(t)

    def _make(self) -> None:
        if self._plot is not None:
            self._plot.remove()
        curves = [
            {"label": name, "stroke": COLOURS[i % len(COLOURS)], "width": 1.5,
             "points": {"show": False}}
            for i, name in zip(self._colours, legend(self._names), strict=True)
        ]  # fmt: skip
        if self.has_now:
            line = {"label": "now", "scale": "now", "stroke": "#444444", "points": {"show": False}}
            curves.append({**line, "class": "dynamis-now"})  # not in the legend: see layout.js
        with self.folder:
            self._plot = self.gui.add_uplot(
                data=self._data(float(self._t[0])),
                series=({"label": "t"}, *curves),
                scales={"x": {"time": False}, "now": {"range": (0.0, 1.0)}},
                axes=({**TIME_AXIS}, {"size": 52, "space": 22}),
                legend={"show": True, "live": False},
                height=HEIGHT,
                padding=(10, 14, 0, 0),
            )

    def _data(self, now: float) -> tuple[np.ndarray, ...]:
        """Three more samples at `now`, where the line goes up and down again."""
        t, rows = self._t, self._rows
        if not self.has_now:
            return t, *(np.array(y) for y in rows.T)
        now = float(np.clip(now, t[0], t[-1]))
        k = int(np.searchsorted(t, now))
        columns = [np.insert(y, k, [np.interp(now, t, y)] * 3) for y in rows.T]
        line = np.zeros(len(t) + 3)
        line[k + 1] = 1.0
        return np.insert(t, k, [now] * 3), *columns, line


def thinned(t: np.ndarray, rows: np.ndarray, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
    """At most so many samples, both ends included; a plot cannot hold what is not finite."""
    finite = np.flatnonzero(np.isfinite(rows).all(axis=1))
    if len(finite) == 0:
        return np.zeros(1), np.zeros((1, rows.shape[1]))
    if len(finite) > most:
        finite = finite[np.linspace(0, len(finite) - 1, most).round().astype(int)]
    return np.array(t[finite], float), np.array(rows[finite], float)


def thousands(rows: np.ndarray) -> int:
    """The power of ten, a multiple of 3, in which the largest number reads well."""
    largest = float(np.abs(rows).max(initial=0.0))
    if largest == 0.0 or 0.1 <= largest < 1e5:
        return 0
    return 3 * int(np.floor(np.log10(largest) / 3.0))
