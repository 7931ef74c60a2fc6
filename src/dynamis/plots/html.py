"""Animations as one .html file that opens offline, by plotly."""

import html
from pathlib import Path
from typing import Any

import numpy as np

from .. import templates
from ..progress import counted
from .animation import Motion
from .scene import View
from .skeleton import STYLES, TRACE, Style, strokes

DIGITS = 4  # decimals, of a reach
SYMBOLS = {"o": "circle", "s": "square"}
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
    look: dict[str, Any] = {
        "mode": "lines",
        "line": {"color": style.colour, "width": WIDER * style.width},
    }
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
    keys = ("x", "y", "z")
    return {
        "eye": dict(zip(keys, eye.tolist(), strict=True)),
        "center": dict(zip(keys, centre.tolist(), strict=True)),
        "up": dict(zip(keys, up.tolist(), strict=True)),
        "projection": {"type": kind},
    }


def _buttons(fps: float) -> dict[str, Any]:
    play = AT_ONCE | {"frame": {"duration": 1000 / fps, "redraw": True}, "fromcurrent": True}
    pause = AT_ONCE | {"frame": {"duration": 0, "redraw": False}}
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "x": 0.02,
        "y": 0,
        "xanchor": "left",
        "yanchor": "top",
        "pad": {"t": 4},
        "buttons": [
            {"label": "\u25b6 play", "method": "animate", "args": [None, play]},
            {"label": "\u2759\u2759 pause", "method": "animate", "args": [[None], pause]},
        ],
    }


def _slider(motion: Motion) -> dict[str, Any]:
    jump = AT_ONCE | {"frame": {"duration": 0, "redraw": True}}
    steps = [
        {"method": "animate", "label": f"{t:.2f}", "args": [[str(k)], jump]}
        for k, t in enumerate(motion.t)
    ]
    return {
        "active": 0,
        "x": 0.02,
        "len": 0.96,
        "y": 0,
        "pad": {"t": 44, "b": 4},
        "ticklen": 0,
        "minorticklen": 0,
        "currentvalue": {"prefix": "t = ", "suffix": " s", "xanchor": "right"},
        "transition": {"duration": 0},
        "steps": steps,
    }
