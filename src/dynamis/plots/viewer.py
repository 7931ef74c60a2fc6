"""A moving arm inside a page: solid links on a floor, to play, to step through and to turn.

The page draws it itself, on a plain canvas: no library, no graphics card, nothing to fetch.
"""

import base64
import html
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import templates
from ..robot import Robot
from .solid import COLOURS, Part, solid, stand

if TYPE_CHECKING:
    from ..simulation.run import Run as RunLike

FPS = 20.0  # poses a second; the page interpolates between them
MOST = 600  # poses
TRAIL, TRAIL_POINTS = "#b06ad0", 600
OUTLINE = 60  # directions in which the arm's outermost points are sought


def moving_arm(run: "RunLike", name: str) -> str:
    """The arm of a run as elements of a page; `name` says what is seen. Once a page: `script`."""
    t, q = np.asarray(run.t, dtype=float), np.asarray(run.q, dtype=float)
    count = int(np.clip(np.ceil((t[-1] - t[0]) * FPS) + 1, 2, MOST))
    moments = np.linspace(t[0], t[-1], count)
    shown = np.stack([np.interp(moments, t, column) for column in q.T], axis=-1)
    finer = np.unique(np.linspace(0, len(t) - 1, min(len(t), TRAIL_POINTS)).round().astype(int))
    trail = run.robot.fk(q[finer])[..., :3, 3]
    data = scene(run.robot, shown) | {
        "seconds": float(t[-1] - t[0]),
        "trail": packed(trail),
        "trailColour": TRAIL,
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return templates.filled(
        __package__, "viewer.html", NAME=html.escape(name, quote=True), DATA=text
    )


def script() -> str:
    """What draws every moving arm of a page."""
    return templates.text(__package__, "viewer.js")


def style() -> str:
    """How the controls of a moving arm look."""
    return templates.text(__package__, "viewer.css")


def scene(robot: Robot, q: np.ndarray) -> dict[str, Any]:
    """Triangles, where they are at every position q (F, n), the floor, and what must be in view."""
    shape, frames = solid(robot), robot.frames(q)
    ground = stand(robot, shape, frames)
    moves: list[np.ndarray] = []  # (F, 3, 4) of all that moves alike
    places: dict[int, int] = {}  # of a body among them
    parts = []
    for part, T in zip(shape.parts, np.moveaxis(shape.transforms(frames), -3, 0), strict=True):
        if part.ends is not None or part.body not in places:
            moves.append(T[:, :3])
            if part.ends is None:
                places[part.body] = len(moves) - 1
        parts.append(_part(part, len(moves) - 1 if part.ends else places[part.body]))
    if ground.parts and 0 not in places:
        moves.append(frames[:, 0, :3])
        places[0] = len(moves) - 1
    parts += [_part(part, places[0]) for part in ground.parts]
    corners = shape.corners(shape.transforms(frames)).reshape(-1, 3)
    foot = frames[0, 0, :3, 3]
    foot = foot + (ground.floor - float(foot @ shape.up)) * shape.up
    return {
        "parts": parts,
        "moves": [packed(move.reshape(len(q), -1)) for move in moves],
        "up": shape.up.tolist(),
        "reach": shape.reach,
        "foot": foot.tolist(),
        "outline": packed(np.concatenate([_outermost(corners), foot[None]])),
    }


def _part(part: Part, move: int) -> dict[str, Any]:
    faces = base64.b64encode(part.faces.astype("<u2").tobytes()).decode()
    return {"move": move, "colour": COLOURS[part.colour], "v": packed(part.vertices), "f": faces}


def packed(values: np.ndarray) -> list[Any]:
    """Numbers as a scale and 16-bit integers in base64: to 1/32767 of the largest."""
    scale = float(np.abs(values).max()) or 1.0
    whole = np.round(values / scale * 32767.0).astype("<i2")
    return [float(f"{scale / 32767.0:.9g}"), base64.b64encode(whole.tobytes()).decode()]


def _outermost(points: np.ndarray) -> np.ndarray:
    """The farthest points in directions all around."""
    k = np.arange(OUTLINE) + 0.5
    high, turn = 1.0 - 2.0 * k / OUTLINE, np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - high**2)
    ways = np.stack([across * np.cos(turn), across * np.sin(turn), high], axis=-1)
    return points[np.unique(np.argmax(points @ ways.T, axis=0))]
