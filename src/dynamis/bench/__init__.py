"""Benchmarks: time compared with other engines in one run, with the error of every result."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import numpy as np

from .. import templates
from ..compile.machine import host
from ..robot import Robot, load
from .closed import LOOPS, closed_figures
from .contacts import contact_figures
from .simulation import simulation_figures
from .single import JOINTS, against_others, against_pinocchio, batches, growth, slope
from .table import BenchTable, Figure, timed

__all__ = ["BenchTable", "Figure", "bench"]

# identification from a long log

ROWS = 100_000
SECONDS = 2.0


def identification(robot: Robot) -> Iterator[Figure]:
    """Regressor and ordinary solution of a long log; the regressor is never stacked."""
    from ..identify.friction.models import FRICTIONS  # a second that other rows do not need
    from ..identify.information import information, ordinary
    from ..identify.processing import Samples
    from ..identify.unknowns import unknowns

    wanted = unknowns(robot, FRICTIONS["asymmetric"])
    rng = np.random.default_rng(0)
    q, qd, qdd, tau = rng.normal(size=(4, ROWS, robot.n))
    samples = Samples(0.001 * np.arange(ROWS), q, qd, qdd, tau, np.ones_like(tau))
    what = f"{len(wanted)} unknowns from {ROWS} rows, ordinary least squares"
    yield timed(
        "identification", what, robot.name, lambda: ordinary(information([samples], wanted)),
        target=SECONDS, rounds=3,
    )  # fmt: skip


# start-up: time to the first result, each in a process of its own

GROUP = "start"
IMPORT = "import time; t = time.perf_counter(); import dynamis; print(time.perf_counter() - t)"


def _seconds(script: str, cache: str, *options: str, rounds: int = 5) -> float:
    """Best of several runs of a script that prints seconds."""
    environment = {**os.environ, "DYNAMIS_CACHE": cache, "DYNAMIS_COMPILE": "on"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    best = float("inf")
    for _ in range(rounds):
        command = [sys.executable, "-c", script, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        best = min(best, float(done.stdout))
    return best


def startup() -> Iterator[Figure]:
    """Import, first use with and without the cache."""
    with tempfile.TemporaryDirectory() as cache:
        yield Figure(GROUP, "import dynamis", "", _seconds(IMPORT, cache), target=0.3)
        first = templates.text(__package__, "first_call.py.in")
        what, seconds = "first inverse_dynamics, trace to answer", _seconds(first, "off", "traced")
        yield Figure(GROUP, what, "puma560", seconds, target=0.3)
        _seconds(first, cache, rounds=1)
        what, seconds = "from the cache, beyond NumPy and llvmlite", _seconds(first, cache)
        yield Figure(GROUP, what, "puma560", seconds, target=0.03)


ROBOTS = ("puma560", "ur10e")


def bench(quick: bool = False, say: Callable[[str], None] = lambda _: None) -> BenchTable:
    """Measure everything; `quick` leaves out start-up times and long chains."""
    figures: list[Figure] = []
    for name in ROBOTS:
        robot = load(name)
        say(f"one call: {name}")
        state = list(np.random.default_rng(1).normal(size=(3, robot.n)))
        figures += against_pinocchio(robot, state)
        figures += against_others(robot, state)
    say("closed mechanisms")
    figures += closed_figures(LOOPS[:2] if quick else LOOPS)
    say("batches")
    figures += batches(load("puma560"))
    say("simulation")
    figures += simulation_figures(load("puma560"))
    figures += contact_figures(load("puma560"))
    say("identification")
    figures += identification(load("panda"))
    if not quick:
        say("start-up")
        figures += startup()
    say("growth with the number of joints")
    times = growth((2, 4, 8) if quick else JOINTS)
    machine = f"{host().cpu}, {host().bits}-bit vectors"
    slopes = {name: slope(t) for name, t in times.items()}
    long = times["inverse_dynamics"]
    if 32 in long:  # copies of a link should cost at most 6 times what 6 cost
        what = "32 links beside 6 (at least 1/6 as fast)"
        figures.append(Figure("growth", what, "chain", long[32], "6 links", long[6], 1 / 6))
    return BenchTable(machine, tuple(figures), times, slopes)
