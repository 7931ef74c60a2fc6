"""Time to the first answer, each in a process of its own."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from .table import Figure

GROUP = "start"
IMPORT = "import time; t = time.perf_counter(); import dynamis; print(time.perf_counter() - t)"
FIRST = """
import time
import numpy as np, llvmlite.binding
{before}
t = time.perf_counter()
import dynamis as dy
{between}
robot = dy.load("puma560")
q = np.zeros(6)
robot.inverse_dynamics(q, q, q)
print(time.perf_counter() - t)
"""


def _seconds(script: str, cache: str, rounds: int = 5) -> float:
    """Best of several runs of a script that prints seconds."""
    environment = {**os.environ, "DYNAMIS_CACHE": cache, "DYNAMIS_COMPILE": "on"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    best = float("inf")
    for _ in range(rounds):
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        best = min(best, float(done.stdout))
    return best


def startup() -> Iterator[Figure]:
    """Import, first use with and without the cache."""
    with tempfile.TemporaryDirectory() as cache:
        yield Figure(GROUP, "import dynamis", "", _seconds(IMPORT, cache), target=0.3)
        traced = FIRST.format(before="", between="import casadi; t = time.perf_counter()")
        yield Figure(
            GROUP, "first inverse_dynamics, trace to answer", "puma560",
            _seconds(traced, "off"), target=0.3,
        )  # fmt: skip
        cached = FIRST.format(before="", between="")
        _seconds(cached, cache, rounds=1)
        yield Figure(
            GROUP, "from the cache, beyond NumPy and llvmlite", "puma560",
            _seconds(cached, cache), target=0.03,
        )  # fmt: skip
