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
from .skeleton import STYLES, TOOL_TRIAD, TRIAD, triad_share
from .solid import COLOURS, Shape, SolidPart, cylinder, placed, solid, stand

if TYPE_CHECKING:
    from ..simulation.run import Run as RunLike

FPS = 20.0  # poses a second; the page interpolates between them
MOST = 600  # poses
TRAIL, TRAIL_POINTS = "#b06ad0", 600
OUTLINE = 60  # directions in which the arm's outermost points are sought
SLIM = 0.3  # thickness of sticks, per thickness of solid links
TURN, TILT = -0.83, 0.38  # rad: where the eye is, around the vertical and above the floor
ALMOST_LEVEL, ALMOST_ABOVE = 0.12, 1.4  # rad: the least and the most that it is above the floor


def moving_arm(run: "RunLike", name: str) -> str:
    """The arm of a run as elements of a page; `name` says what is seen."""
    t, q = np.asarray(run.t, dtype=float), np.asarray(run.q, dtype=float)
    count = int(np.clip(np.ceil((t[-1] - t[0]) * FPS) + 1, 2, MOST))
    moments = np.linspace(t[0], t[-1], count)
    shown = np.stack([np.interp(moments, t, column) for column in q.T], axis=-1)
    finer = np.unique(np.linspace(0, len(t) - 1, min(len(t), TRAIL_POINTS)).round().astype(int))
    made = scene(run.robot, run.robot.frames(shown))
    return elements(made, moments, name, run.robot.fk(q[finer])[..., :3, 3])


def elements(
    scene: dict[str, Any], t: np.ndarray, name: str, trail: Any = None, speed: float = 1.0
) -> str:
    """Canvas and controls of a scene at the moments t, played `speed` times as fast.

    A page needs `style` and `script` once, too.
    """
    data = scene | {"start": float(t[0]), "seconds": float(t[-1] - t[0]) or 1.0, "speed": speed}
    if trail is not None:
        data |= {"trail": packed(trail), "trailColour": TRAIL}
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    name = html.escape(name, quote=True)
    return templates.filled(__package__, "viewer.html", NAME=name, DATA=text)


def script() -> str:
    """What draws every moving arm of a page."""
    return templates.text(__package__, "viewer.js")


def style() -> str:
    """How the controls of a moving arm look."""
    return templates.text(__package__, "viewer.css")


def scene(
    robot: Robot,
    frames: np.ndarray,
    links: str = "solid",
    tool: np.ndarray | None = None,
    towards: np.ndarray | None = None,
) -> dict[str, Any]:
    """Triangles, where they are at every pose, the floor, and from where to look at them.

    `frames` is robot.frames(q), (F, links + 1, 4, 4). With `tool` (F, 4, 4) its frame and those of
    the links are drawn; `towards` is the direction to the eye, of planar arms.
    """
    if len(frames) == 1:
        frames = np.repeat(frames, 2, axis=0)
    shape = solid(robot, thickness=1.0 if links == "solid" else SLIM)
    ground = stand(robot, shape, frames)
    moves: list[np.ndarray] = []  # (F, 3, 4) of all that moves alike
    places: dict[int, int] = {}  # of a body among them

    def carrier(body: int) -> int:
        if body not in places:
            moves.append(frames[:, body, :3])
            places[body] = len(moves) - 1
        return places[body]

    parts = []
    for part, T in zip(shape.parts, np.moveaxis(shape.transforms(frames), -3, 0), strict=True):
        if part.ends is None:
            parts.append(_part(part, carrier(part.body)))
        else:
            moves.append(T[:, :3])
            parts.append(_part(part, len(moves) - 1))
    parts += [_part(part, carrier(part.body)) for part in ground.parts]
    if tool is not None:
        for body, axes in _triads(robot, shape.reach, frames[0], tool[0]):
            parts += [_drawn(axis, colour, carrier(body)) for axis, colour in axes]
    corners = shape.corners(shape.transforms(frames)).reshape(-1, 3)
    foot = frames[0, 0, :3, 3]
    foot = foot + (ground.floor - float(foot @ shape.up)) * shape.up
    side = np.eye(3)[1 if shape.up[0] > 0.5 else 0]
    front, turn, tilt = np.cross(shape.up, side), TURN, TILT
    if towards is not None:
        turn = float(np.arctan2(towards @ front, towards @ side))
        tilt = float(np.clip(np.arcsin(towards @ shape.up), ALMOST_LEVEL, ALMOST_ABOVE))
    return {
        "parts": parts,
        "moves": [packed(move.reshape(len(frames), -1)) for move in moves],
        "up": shape.up.tolist(), "side": side.tolist(), "front": front.tolist(),
        "turn": turn, "tilt": tilt, "reach": shape.reach, "foot": foot.tolist(),
        "outline": packed(np.concatenate([_outermost(corners), foot[None]])),
    }  # fmt: skip


def _triads(robot: Robot, reach: float, frames: np.ndarray, tool: np.ndarray) -> Any:
    """Bodies, and the axes of their frames as thin rods with colours; the tool's at last."""
    length = triad_share(robot) * reach
    tip = robot.model.tip + 1
    every = [(body, np.eye(4), length) for body in range(len(frames))]
    every.append((tip, np.linalg.inv(frames[tip]) @ tool, TOOL_TRIAD * reach))
    for body, T, long in every:
        rod = cylinder(long, 0.05 * TRIAD * reach, 6)
        yield (
            body,
            [
                (placed(rod, T[:3, 3], T[:3, k]), STYLES[f"{name} axes"].colour)
                for k, name in enumerate("xyz")
            ],
        )


def _part(part: SolidPart, move: int) -> dict[str, Any]:
    return _drawn((part.vertices, part.faces), COLOURS[part.colour], move)


def _drawn(shape: Shape, colour: str, move: int) -> dict[str, Any]:
    vertices, faces = shape
    text = base64.b64encode(faces.astype("<u2").tobytes()).decode()
    return {"move": move, "colour": colour, "v": packed(vertices), "f": text}


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
