"""The whole bench."""

from collections.abc import Callable, Iterator

import numpy as np

from ..backends.machine import host
from ..robot import Robot, load
from .batch import batches
from .growth import JOINTS, growth, slope
from .identification import identification
from .simulation import simulation
from .single import against_others, against_pinocchio
from .startup import startup
from .table import BenchTable, Figure

ROBOTS = ("puma560", "ur10e")


def bench(quick: bool = False, say: Callable[[str], None] = lambda _: None) -> BenchTable:
    """Measure everything; `quick` leaves out start-up times and long chains."""
    figures: list[Figure] = []
    for name in ROBOTS:
        robot = load(name)
        say(f"one call: {name}")
        figures += _single(robot)
    say("batches")
    figures += batches(load("puma560"))
    say("simulation")
    figures += simulation(load("puma560"))
    say("identification")
    figures += identification(load("panda"))
    if not quick:
        say("start-up")
        figures += startup()
    say("growth with the number of joints")
    times = growth((2, 4, 8) if quick else JOINTS)
    where = host()
    machine = f"{where.cpu}, {where.bits}-bit vectors"
    slopes = {name: slope(t) for name, t in times.items()}
    if 32 in times["inverse_dynamics"]:
        figures.append(_ratio_of_lengths(times["inverse_dynamics"]))
    return BenchTable(machine, tuple(figures), times, slopes)


def _single(robot: Robot) -> Iterator[Figure]:
    state = list(np.random.default_rng(1).normal(size=(3, robot.n)))
    yield from against_pinocchio(robot, state)
    yield from against_others(robot, state)


def _ratio_of_lengths(times: dict[int, float]) -> Figure:
    """32 copies of a link should cost at most 6 times what 6 cost."""
    return Figure(
        "growth", "32 links beside 6 (at least 1/6 as fast)", "chain",
        times[32], "6 links", times[6], 1 / 6,
    )  # fmt: skip
