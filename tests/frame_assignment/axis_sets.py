"""Random sets of joint axes in which every case of two neighbours occurs."""

import math
import random

from dynamis.model.dh.axes import Axis
from dynamis.spatial.frames import Frame, about_x, about_z, compose, translation
from dynamis.spatial.rotations import transpose

CASES = ("skew", "intersecting", "parallel", "coincident")
RIGHT = (math.pi / 2, -math.pi / 2)


def random_axes(seed: int) -> tuple[list[Axis], list[str], Frame, Frame]:
    """1 to 8 axes, the cases of their pairs where both turn, base and tool."""
    draw = random.Random(seed)
    base = free_frame(draw) if draw.random() < 0.5 else Frame()
    at, axes, cases = compose(base, free_frame(draw)), [], []
    if draw.random() < 0.5:  # the base is frame 0
        at = base
    for k in range(draw.randint(1, 8)):
        if k:
            cases.append(draw.choice(CASES))
            at = compose(at, step(cases[-1], draw))
        kind = "prismatic" if draw.random() < 0.3 else "revolute"
        axes.append(Axis(kind, at.p, transpose(at.R)[2]))
    tool = free_frame(draw) if draw.random() < 0.5 else compose(at, translation(z=0.2))
    return axes, cases, base, tool


def length(draw: random.Random) -> float:
    return draw.choice([0.0, 0.3, round(draw.uniform(-1, 1), 3), draw.uniform(-1, 1)])


def reach(draw: random.Random) -> float:
    return draw.choice([0.25, 0.7, draw.uniform(0.1, 1.0)])


def free_frame(draw: random.Random) -> Frame:
    turned = compose(about_z(draw.uniform(-3, 3)), about_x(draw.uniform(-3, 3)))
    moved = translation(length(draw), length(draw), length(draw))
    return compose(compose(moved, turned), about_z(draw.choice([0.0, draw.uniform(-3, 3)])))


def step(case: str, draw: random.Random) -> Frame:
    """From one axis to the next, in one of the four cases."""
    along, own = translation(z=length(draw)), translation(z=length(draw))
    heading = about_z(draw.choice([0.0, math.pi / 2, draw.uniform(-3, 3)]))
    turn = draw.choice([*RIGHT, draw.uniform(0.3, 2.8), -draw.uniform(0.3, 2.8)])
    if case in ("parallel", "coincident"):
        turn = draw.choice([0.0, math.pi])
    across = translation(x=reach(draw) if case in ("skew", "parallel") else 0.0)
    for part in (heading, across, about_x(turn), own):
        along = compose(along, part)
    return along
