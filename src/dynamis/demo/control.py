"""Chapters on control: a comparison of three controllers, an animation, and C code."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..control import ComputedTorque, JointPID, PointToPoint
from ..control.sensors import Sensors
from ..plots.animation import moving_figure, resampled
from ..realtime.export import export_controller
from ..robot import Robot
from ..simulation.simulate import simulate
from ..trajectory import via
from .chapter import Chapter, panels

SAMPLE_TIME, DT, BANDWIDTH = 0.005, 1e-3, 25.0
TRIGS = ("libm", "own")


def controllers(robot: Robot, model: Robot) -> tuple[Chapter, Any, Any]:
    """One motion under three laws; their model is the identified one."""
    ready = np.asarray(robot.configurations["ready"])
    there = np.array([0.6, -0.5, 0.7, 0.8, -0.6, 1.0])
    move = via([ready, ready + there, ready - there, ready], [0.0, 1.5, 3.5, 5.0])
    laws = {
        "joint PID": JointPID.from_bandwidth(robot, BANDWIDTH, q=ready, integral=True),
        "point to point": PointToPoint.from_bandwidth(BANDWIDTH, model=model),
        "computed torque": ComputedTorque.from_bandwidth(BANDWIDTH, integral=True, model=model),
    }
    sensors = Sensors(encoder=2 * np.pi / 60_000, velocity_filter=60.0)
    runs = {
        name: simulate(
            robot, 5.0, DT, ready, controller=law, reference=move, sample_time=SAMPLE_TIME,
            sensors=sensors,
        )
        for name, law in laws.items()
    }  # fmt: skip
    made = Chapter(
        "Three controllers",
        f"One motion, {SAMPLE_TIME * 1e3:g} ms sample time, encoders and differences, on the "
        "arm with static friction. The last two use the identified model.",
    )
    rows, errors = [], {}
    for name, run in runs.items():
        found = run.metrics
        errors[name] = 1e3 * np.asarray(run.error)
        total = found.overall
        rows.append((name, *(f"{1e3 * x:.2f}" for x in (*found.rms, total["rms"], total["max"]))))
        made.facts[name] = {"rms": found.rms.tolist(), "max": found.max.tolist()}
    header = ("RMS error, mrad", *robot.joint_names, "all", "largest")
    made.table("tracking", header, rows)
    made.grid(panels(next(iter(runs.values())).t, errors, robot.joint_names, "mrad"))
    best = runs["computed torque"]
    made.chart(moving_figure(resampled(best, 20.0, 1.0, True, True)), 560)
    return made, laws["computed torque"], best


def code(robot: Robot, law: Any) -> Chapter:
    """The last controller as C99, and its self-test if there is a compiler."""
    made = Chapter(
        "The controller as C",
        "Computed torque with the identified model as C99, without allocation or branches on "
        "data. The self-test replays recorded samples.",
    )
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for trig in TRIGS:
            files = export_controller(law, robot, Path(folder) / trig, SAMPLE_TIME, trig=trig)
            lines = sum(len(f.read_text().splitlines()) for f in files if f.suffix in (".c", ".h"))
            said = "no C compiler here" if compiler is None else _tested(files[0].parent, compiler)
            made.good &= not said.startswith("FAILED")
            mark = "good" if said.startswith("passed") else ""
            what = "links sin, cos" if trig == "libm" else "constant execution, nothing linked"
            rows.append((trig, what, str(len(files)), str(lines), (said, mark)))
            made.facts[trig] = {"files": [f.name for f in files], "self_test": said}
    made.table("generated C", ("trig", "", "files", "lines of C", "self-test"), rows)
    return made


def _tested(folder: Path, compiler: str) -> str:
    """Compile the self-test without make, and run it."""
    sources = sorted(f.name for f in folder.glob("*.c") if not f.name.endswith("_loop.c"))
    build = [compiler, "-std=c99", "-O1", "-ffp-contract=off", *sources, "-o", "self_test", "-lm"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"FAILED to compile: {done.stderr.strip()[:80]}"
    run = subprocess.run([folder / "self_test"], capture_output=True, text=True, check=False)
    return run.stdout.strip()
