"""How the time of a call grows with the number of joints."""

import math

import numpy as np

from ..model.link import Link
from ..robot import Robot
from .single import direct
from .timing import together

JOINTS = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
KERNELS = ("inverse_dynamics", "forward_dynamics")


def chain_of(n: int) -> Robot:
    """n copies of one general link."""
    links = [
        Link(
            a=0.1,
            d=0.2,
            alpha=(math.pi / 2, -math.pi / 2, 0.0)[i % 3],
            mass=1.0,
            com=(0.1, 0.02, 0.03),
            inertia=(0.1, 0.12, 0.11, 0.01, 0.02, 0.015),
        )
        for i in range(n)
    ]
    return Robot.from_dh(f"chain{n}", convention="standard", links=links)


def growth(joints: tuple[int, ...] = JOINTS) -> dict[str, dict[int, float]]:
    """Seconds of one call for each kernel and each length."""
    times: dict[str, dict[int, float]] = {name: {} for name in KERNELS}
    for n in joints:
        robot = chain_of(n)
        state = list(np.random.default_rng(n).normal(size=(3, n)))
        for name in KERNELS:
            method = getattr(robot, name)
            method(*state)
            (times[name][n],) = together(direct(method, state), rounds=5, seconds=0.005)
    return times


def slope(times: dict[int, float]) -> float:
    """Exponent of the growth between the longest chain and one half as long."""
    last = max(times)
    half = min(times, key=lambda n: abs(n - last / 2))
    return math.log(times[last] / times[half]) / math.log(last / half)
