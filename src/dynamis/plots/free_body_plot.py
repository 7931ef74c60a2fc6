"""The free body of a link as a picture: straight arrows are forces, turning ones moments."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..arguments import checked, choice
from ..errors import OptionError, shown
from ..robot.free_body import FreeBody
from .figure import INK, SOFT, Picture, check_save, plain, save
from .labels import Label, Labels
from .scene import View, add_axes, prepare, view_on
from .skeleton import STICK, Skeleton, skeleton

JOINT, ONWARD, WEIGHT, INERTIA, TOOL = "#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#0f766e"
LETTERS = 11.0  # points
LONGEST = 0.55  # arrow, by the size of the picture's link
LEAST = 0.01  # of the largest: smaller ones stand in the table alone
SMALLEST = 0.15  # link as it is drawn, by the reach of the arm
TURN, RADIUS = np.radians(250.0), 0.13  # of the arc of a moment; its radius by the link's size
HEAD, SHARE = 0.06, 0.4  # of an arrow: by the link's size, and by its own length at most


WORDS = {
    "en": {"title": "{robot}: free body of {link}", "from": "from", "size": "size"},
    "es": {
        "title": "{robot}: cuerpo libre de {link}", "from": "de", "size": "módulo",
        "weight": "peso", "inertia": "inercia", "tool": "herram.",
    },
}  # fmt: skip


@checked
def plot_free_body(
    body: FreeBody, path: Any = None, ax: Any = None, language: str = "en"
) -> Figure:
    """A link alone with what acts on it, and a table of the numbers beside it (not with `ax`).

    Forces are drawn where they act, to one scale; moments to another one, in space as arrows with
    two heads along their axes, in a plane as arcs of one size. In grey and brown the link and its
    centre of mass; axes x, y, z are those of the base. Loads below 1 % of the largest are not
    drawn. `path` also writes the picture, `language` is "en" or "es".
    """
    choice(language, "language", WORDS)
    if not isinstance(body, FreeBody):
        raise OptionError(f"body is {shown(body)}, expected what robot.free_body returned")
    check_save(path)
    arm = skeleton(body.robot, body.q)
    view = view_on(ax, body.robot, arm)
    figure: Any = Picture(figsize=(9.6, 5.0)) if ax is None else ax.figure
    axes = _beside_a_table(figure, view) if ax is None else ax
    _draw(axes, view, body, arm)
    if ax is None:
        names = {"robot": plain(body.robot.name), "link": plain(body.name)}
        figure.suptitle(WORDS[language]["title"].format(**names), color=INK)
        _table(figure, body, WORDS[language])
    if path is not None:
        save(figure, path)
    return figure


def _beside_a_table(figure: Any, view: View) -> Any:
    axes = add_axes(figure, view)
    axes.set_position((0.07, 0.11, 0.47, 0.80) if view.flat else (-0.02, 0.02, 0.56, 0.92))
    return axes


def _draw(axes: Any, view: View, body: FreeBody, arm: Skeleton) -> None:
    sticks = _sticks(body, arm)
    points = np.array([load.point for load in body.loads])
    shape = np.concatenate([points, sticks.reshape(-1, 3)])
    size = max(float(np.linalg.norm(np.ptp(shape, axis=0))), SMALLEST * arm.reach)
    lines, marks = [], []
    for load, colour in zip(body.loads, _colours(body), strict=True):
        for kind, (letter, value) in enumerate(zip(load.letters, load[3:], strict=True)):
            largest = max(float(np.linalg.norm(x[3 + kind])) for x in body.loads)
            if not letter or not np.linalg.norm(value) > LEAST * largest:
                continue
            arc = kind == 1 and view.flat
            line = _arc(view, load.point, value, size) if arc else None
            if line is None:
                line = load.point + np.outer((0.0, LONGEST * size / largest), value)
            lines.append((line, colour, kind))
            name = Label(_formula(letter), colour, LETTERS, line[-1], line[-2])
            marks.append(name)
    drawn = np.concatenate([line for line, _, _ in lines] + [shape])
    bounds = view.bounds(drawn, size)
    prepare(axes, view, bounds)
    _bar(axes, view, sticks, points, body)
    for line, colour, kind in lines:
        _arrow(axes, view, line, colour, heads=2 if kind == 1 and not view.flat else 1, size=size)
    ends = [np.stack([a, b]) for line, _, _ in lines for a, b in pairwise(line)]
    along = np.linspace(0.0, 1.0, 30)[:, None, None]
    covered = (sticks[:, 0] * (1 - along) + sticks[:, 1] * along).reshape(-1, 3)
    Labels(axes, view, marks, np.array(ends).reshape(-1, 2, 3), covered)


def _sticks(body: FreeBody, arm: Skeleton) -> np.ndarray:
    """Lines from the link's joint to what is fixed to it, (K, 2, 3)."""
    start, i = body.loads[0].point, body.link
    if body.robot.model.convention == "standard":
        found = [*arm.segments[2 * i : 2 * i + 2]]
    else:
        found = [np.stack([start, load.point]) for load in body.loads[1:]]
    if i == body.robot.model.tip:
        found.append(arm.segments[-1])
    return np.array(found).reshape(-1, 2, 3)


def _colours(body: FreeBody) -> list[str]:
    """One for each load."""
    known = {"weight": WEIGHT, "inertia": INERTIA, "tool": TOOL}
    rest = [known.get(load.source, ONWARD) for load in body.loads[1:]]
    return [JOINT, *rest]


def _formula(letter: str) -> str:
    """Letters as mathtext: -m1 a1, -f_tool."""
    words = re.sub(r"_tool\b", r"_{\\mathrm{tool}}", letter)
    numbered = re.sub(r"([a-zA-Z])(\d+)", r"\1_{\2}", words)
    return f"${numbered}$" if numbered else ""


def _arc(view: View, centre: np.ndarray, moment: np.ndarray, size: float) -> np.ndarray:
    """An arc around a point in the way that a moment across the plane turns, (M, 3)."""
    sign = np.sign(moment @ view.normal) or 1.0
    angle = np.radians(-35.0) + sign * np.linspace(0.0, TURN, 40)
    circle = np.cos(angle)[:, None] * view.rows[0] + np.sin(angle)[:, None] * view.rows[1]
    return centre + RADIUS * size * circle


def _bar(axes: Any, view: View, sticks: np.ndarray, points: np.ndarray, body: FreeBody) -> None:
    """The link, its joint and its centre of mass."""
    for stick in sticks:
        axes.plot(*view.seen(stick).T, color=STICK, linewidth=7.0, alpha=0.45, zorder=2)
    look: dict[str, Any] = {"linestyle": "none", "markeredgewidth": 1.5, "zorder": 4}
    for load, point in zip(body.loads, points, strict=True):
        own = load.source in ("weight", "inertia")
        marker = "D" if own else "o"
        face, colour = ("#ffc166", "#8a5a12") if own else ("white", INK)
        axes.plot(
            *view.seen(point[None]).T, marker=marker, markersize=6.0, markerfacecolor=face,
            markeredgecolor=colour, **look,
        )  # fmt: skip


def _arrow(axes: Any, view: View, line: np.ndarray, colour: str, heads: int, size: float) -> None:
    """A line with one head or two at its end."""
    axes.plot(*view.seen(line).T, color=colour, linewidth=2.0, zorder=6)
    way = line[-1] - line[-2]
    way = way / max(float(np.linalg.norm(way)), 1e-12)
    across = _across(view, way)
    head = min(HEAD * size, SHARE * float(np.linalg.norm(line[-1] - line[0])))
    for k in range(heads):
        tip = line[-1] - 0.7 * k * head * way
        for side in (-1.0, 1.0):
            wing = np.stack([tip, tip - head * way + side * 0.4 * head * across])
            axes.plot(*view.seen(wing).T, color=colour, linewidth=2.0, zorder=6)


def _across(view: View, way: np.ndarray) -> np.ndarray:
    """A direction across an arrow, in the picture's plane or as far as can be seen."""
    eye = view.normal if view.flat else np.array([0.58, -0.74, 0.34])  # of azimuth and elevation
    found = np.cross(way, eye)
    size = float(np.linalg.norm(found))
    return found / size if size > 1e-6 else np.eye(3)[int(np.argmin(np.abs(way)))]


def _table(figure: Any, body: FreeBody, words: Mapping[str, str]) -> None:
    """The numbers beside the drawing."""
    rows = body.rows[1:]
    header = ["", words["from"], "x", "y", "z", words["size"], ""]
    right = figure.add_axes((0.555, 0.08, 0.43, 0.82))
    right.set_axis_off()
    cells = [[_formula(row[0]), plain(words.get(row[1], row[1])), *row[2:]] for row in rows]
    made = right.table(
        [header, *cells], loc="center", cellLoc="right", edges="horizontal",
        colWidths=[0.14, 0.16, 0.165, 0.165, 0.165, 0.165, 0.1],
    )  # fmt: skip
    made.auto_set_font_size(False)
    made.set_fontsize(9.0)
    made.scale(1.0, 1.35)
    colours = {load.source: x for load, x in zip(body.loads, _colours(body), strict=True)}
    for (row, column), cell in made.get_celld().items():
        cell.set_edgecolor("#dfe3e8")
        source = rows[row - 1][1] if row else ""
        cell.get_text().set_color(SOFT if not row or column == 6 else colours.get(source, INK))
