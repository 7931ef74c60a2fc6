"""An arm as a few broken lines, the same for every way of drawing: gaps are NaN."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .skeleton import Skeleton


@dataclass(frozen=True)
class Style:
    """How a stroke looks; widths in points."""

    colour: str
    width: float = 0.0
    marker: str = ""
    size: float = 0.0
    ends: str = "round"


STICK = "#46566a"
STYLES = {  # drawn in this order
    "base": Style("#9aa3ad", width=5.0),
    "sticks": Style(STICK, width=4.0),
    "revolute axes": Style("#1c2530", width=9.0, ends="butt"),
    "prismatic axes": Style("#b8651b", width=12.0, ends="butt"),
    "prismatic joints": Style("#b8651b", marker="s", size=11.0),
    "revolute joints": Style("#1c2530", marker="o", size=8.0),
    "x axes": Style("#d62828", width=1.8),
    "y axes": Style("#2a9d3a", width=1.8),
    "z axes": Style("#2563eb", width=1.8),
}
GHOST = ("sticks",)
TRACE = Style("#8e44ad", width=1.6)
TRIAD, TOOL_TRIAD, BARREL, PEDESTAL = 0.09, 0.12, 0.025, 0.07  # lengths per reach


def strokes(arm: Skeleton, reach: float, frames: bool = True) -> dict[str, np.ndarray]:
    """Points of each stroke, (M, 3), of an arm at one position."""
    base = arm.frames[0]
    around = np.linspace(0.0, 2 * np.pi, 33)[:, None]
    circle = np.cos(around) * base[:3, 0] + np.sin(around) * base[:3, 1]
    found: dict[str, Any] = {
        "base": base[:3, 3] + PEDESTAL * reach * circle,
        "sticks": _broken(arm.segments),
    }
    half = BARREL * reach * arm.axes
    ends = np.stack([arm.joints - half, arm.joints + half], axis=-2)
    for kind in ("revolute", "prismatic"):
        chosen = [k == kind for k in arm.kinds]
        found[f"{kind} axes"] = _broken(ends[chosen])
        found[f"{kind} joints"] = arm.joints[chosen]
    if frames:
        every = np.concatenate([arm.frames, arm.tool[None]])
        length = np.full((len(every), 1), TRIAD * reach)
        length[-1] = TOOL_TRIAD * reach
        for i, name in enumerate("xyz"):
            origin = every[:, :3, 3]
            tips = origin + length * every[:, :3, i]
            found[f"{name} axes"] = _broken(np.stack([origin, tips], axis=-2))
    return {name: found[name] for name in STYLES if name in found and len(found[name])}


def _broken(segments: np.ndarray) -> np.ndarray:
    """One line through all segments (K, 2, 3), with gaps."""
    gaps = np.full((len(segments), 1, 3), np.nan)
    return np.concatenate([segments, gaps], axis=1).reshape(-1, 3)
