"""Steps of closed mechanisms in two source trees: python tests/yardstick/closed_steps.py OLD NEW

OLD and NEW are `src` folders with their C extension built. Every figure is the best of some
processes, which take turns: CPU seconds of compiling a simulation with an empty cache, of one arm
and then of many; CPU microseconds of a step, alone and of one arm among 512; operations of a step.
Two open arms are beside the mechanisms.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time

MECHANISMS, ARMS = ("delta", "gough-stewart"), ("puma560", "ur10e")
DT, BATCH = 1e-3, 512
ALONE, TOGETHER = 200, 10  # steps of one measurement
TRIES = 12  # measurements of one process


def measured(name: str) -> dict[str, float]:
    """Figures of one robot with the dynamis that is importable here."""
    import numpy as np

    import dynamis as dy

    robot = dy.load(name)
    many = np.tile(robot.home, (BATCH, 1))  # home of a mechanism closes
    found: dict[str, float] = {}
    for what, q0, steps in (("alone", robot.home, ALONE), ("batch", many, TOGETHER)):
        begun = process_time()
        simulator = dy.Simulator(robot, dt=DT, threads=1)
        simulator.reset(q0)
        simulator.step(steps=1)
        found[f"compile {what}, s"] = process_time() - begun
        best = float("inf")
        for _ in range(TRIES):
            simulator.reset(q0)
            begun = process_time()
            simulator.step(steps=steps)
            best = min(best, process_time() - begun)
        assert np.isfinite(simulator.q).all(), f"{name} is lost"
        found[f"step {what}, us"] = 1e6 * best / steps / (q0.size // robot.n)
    found["operations"] = simulator.assembly.plant_task.program().length
    return found


def in_tree(tree: Path, name: str) -> dict[str, float]:
    """Figures of one process that imports dynamis from a source tree, its cache empty."""
    with tempfile.TemporaryDirectory() as cache:
        given = {"PYTHONPATH": str(tree), "DYNAMIS_CACHE": cache, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--measure", name]
        found = subprocess.run(command, env=os.environ | given, check=True, stdout=subprocess.PIPE)
    return json.loads(found.stdout)


def compared(trees: list[Path], name: str, processes: int) -> None:
    """Print the best figures of both trees, and the new ones next to the old ones."""
    best: list[dict[str, float]] = [{}, {}]
    for _ in range(processes):
        for figures, tree in zip(best, trees, strict=True):
            for what, value in in_tree(tree, name).items():
                figures[what] = min(value, figures.get(what, value))
    for what, old in best[0].items():
        new = best[1][what]
        print(
            f"{name:14s} {what:17s} {old:10.4g} {new:10.4g} {100.0 * new / old:6.0f} %", flush=True
        )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="*", type=Path, help="old and new src folder")
    parser.add_argument("--processes", type=int, default=5, help="of every tree and robot")
    parser.add_argument("--only", nargs="*", default=[*MECHANISMS, *ARMS], help="robots")
    parser.add_argument("--measure", help="print the figures of one robot in this process and stop")
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure)))
        return
    if len(given.trees) != 2:
        parser.error("two src folders are needed: the old and the new one")
    print(f"{'robot':14s} {'figure':17s} {'old':>10s} {'new':>10s} {'new/old':>8s}")
    for name in given.only:
        compared([tree.resolve() for tree in given.trees], name, given.processes)


if __name__ == "__main__":
    main()
