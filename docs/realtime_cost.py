"""Prints the tables of docs/realtime.md: python docs/realtime_cost.py [--cycles [N]]

Without options the cost on paper: operations, instructions, jumps, stack, code of every form on every target. With --cycles the
cycle times instead: the generated loop with made-up measurements (--dry) and with nothing in it (--empty), N cycles each (100 000
unless given: 500 s at 5 ms, 100 s at 1 ms), then against `dynamis plant` over UDP. On a machine that does nothing else.
"""

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dynamis as dy
from dynamis.realtime import Law
from dynamis.realtime.cost import FLAGS, controller_cost

FORMS = [(trig, dtype) for trig in ("own", "libm") for dtype in ("float64", "float32")]
WORDS = {"float64": "double", "float32": "float"}
MOVE, LASTS = [0.5, -0.4, 0.6, 0.2, 0.3, 0.1], 2.0  # rad, s


def table(*rows):
    """Markdown, the first row is the head."""
    head, *rest = rows
    for row in (head, ["---"] * len(head), *rest):
        print(f"| {' | '.join(map(str, row))} |" if row[0] != "---" else "|---" * len(head) + "|")
    print(flush=True)


def cost() -> None:
    """One row for every form and target."""
    puma = dy.load("puma560")
    controller = dy.control.ComputedTorque.from_bandwidth(puma, 10.0, integral=True, limit=100.0)
    law = Law(controller, puma, 0.005)
    rows = []
    for trig, dtype in FORMS:
        found = controller_cost(law, trig=trig, dtype=dtype)
        for row in found.compiled:
            count = found.counted if row.target == "x86-64" else "-"
            form = f"{trig}, {WORDS[dtype]}"
            rows.append([form, row.target, count, row.jumps, row.stack, row.code, row.links])
    print(f"One sample is {found.operations} before the compiler sees it.\n")
    head = ["form", "target", "instructions per step", "conditional jumps in the step"]
    table([*head, "stack, bytes", "code, bytes", "links"], *rows)
    safe_state(controller)


def safe_state(controller) -> None:
    """What the safe state adds to every step, with the processor's fused multiply-add and without."""
    robot = dy.load("puma560")
    safe = {"zero": {}, "gravity, numbers": {"safe_damping": 0.5}, "gravity, auto": {}}
    rows = []
    for name, options in safe.items():
        law = Law(controller, robot, 0.005, safe=name.split(",")[0], **options)
        rows.append(
            [name, *(controller_cost(law, flags=(*FLAGS, *f)).worst for f in ((), ("-mfma",)))]
        )
    first = rows[0][1:]
    for row in rows[1:]:
        row[1:] = [f"{n} (+{100 * (n / m - 1):.0f} %)" for n, m in zip(row[1:], first, strict=True)]
    table(["safe torque", "instructions per step", "with -mfma"], *rows)


def built(folder: Path, period: float) -> Path:
    """The loop of a controller with a trajectory inside, compiled."""
    puma = dy.load("puma560")
    law = dy.control.ComputedTorque.from_bandwidth(puma, 20.0, integral=True)
    motion = dy.trajectory.quintic(np.zeros(6), np.array(MOVE), LASTS)
    dy.export_controller(puma, law, folder, period, reference=motion, trig="own", latch=50)
    sources = [str(f) for f in sorted(folder.glob("*.c")) if not f.name.endswith("_test.c")]
    subprocess.run(["cc", *FLAGS, *sources, "-o", str(folder / "loop")], check=True)
    return folder / "loop"


def loop(program: Path, *words: object) -> dict:
    """The report of one run."""
    print(f"{program.name} {' '.join(map(str, words))} ...", file=sys.stderr, flush=True)
    command = [str(program), *map(str, words), "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if not done.stdout.strip():
        sys.exit(f"the loop ended with exit code {done.returncode} and no report")
    return json.loads(done.stdout)


def against_plant(program: Path, cycles: int) -> dict:
    """The same with the simulated arm in another process."""
    command = [sys.executable, "-m", "dynamis", "plant", "puma560", "--port", "0"]
    plant = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        port = plant.stderr.readline().split()[-1]  # type: ignore[union-attr]
        return loop(program, "--port", port, "--cycles", cycles)
    finally:
        plant.terminate()
        plant.wait(timeout=30)


def timed(name: str, found: dict) -> list[str]:
    """One row of the cycle times."""

    def times(key: str, quantile: bool = True) -> str:
        us = found[f"{key}_us"]
        parts = [us["mean"], us["p99.9"], us["max"]] if quantile else [us["mean"], us["max"]]
        return " / ".join(f"{x:.0f}" if x >= 10 else f"{x:.1f}" for x in parts) + " us"

    step = "-" if found["mode"] == "empty" else times("step")
    words = f"{times('latency', False)}, {found['overruns']} overruns"
    safe = ", ended in the safe state" if found["safe"] else ""
    return [f"{name}, {found['cycles']} cycles{safe}", step, times("cycle"), words]


def cycles(count: int) -> None:
    """Cycle times of the loop on this machine."""
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for period in (0.005, 0.001):
            program = built(Path(scratch) / f"{period}", period)
            ms = f"{1e3 * period:g} ms"
            rows.append(timed(ms, loop(program, "--dry", "--cycles", count)))
            rows.append(timed(f"{ms}, empty", loop(program, "--empty", "--cycles", count)))
        rows.append(timed(f"{ms} against the plant over UDP", against_plant(program, count)))
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    print(f"On {system}.\n")
    head = ["loop", "step, mean / 99.9 % / largest", "whole cycle, mean / 99.9 % / largest"]
    table([*head, "wake-up, mean / largest"], *rows)


def main() -> None:
    """Cost on paper, or cycle times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cycles", type=int, nargs="?", const=100_000, metavar="N")
    asked = parser.parse_args()
    if asked.cycles is None:
        cost()
    elif asked.cycles < 1:
        parser.error(f"--cycles is {asked.cycles}, expected 1 or more")
    else:
        cycles(asked.cycles)


if __name__ == "__main__":
    main()
