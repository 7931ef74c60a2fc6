"""The demonstration: chapters from the model of an arm to its controller in C, in order."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..agree import agreement
from ..bench.single import SIZE, against_pinocchio, direct
from ..bench.table import together
from ..control import ComputedTorque, JointPID, PointToPoint
from ..control.sensors import Sensors
from ..equations.render.math import latex
from ..excite.design import excite
from ..identify.identification import identify
from ..identify.processing import Processing
from ..identify.verdict.error_split import HEAD as SPLIT_HEAD
from ..identify.verdict.error_split import percent
from ..logs.log import Log
from ..plots.viewer import moving_arm
from ..realtime.export import export_controller
from ..report.chart import bars
from ..robot import Robot
from ..simulation.simulator import simulate
from ..trajectory import via
from .chapter import Chapter, ChapterTable, Grid, Headline, panels

KERNELS = (
    *("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_torque", "fk", "jacobian"),
    *("regressor", "inverse_dynamics_derivatives"),
)
SHORT = (2, 3, 4)  # joints whose gravity torque is short
LESSON = (
    "Published parameters are often measured link by link or lumped together, and some then belong "
    "to no rigid body. Torques computed with them are right as long as the mass matrix is positive "
    "definite, but some simulators refuse them. The feasible estimator of chapter 6 gives "
    "parameters that a real arm can have."
)


def model(robot: Robot, known: dict[str, Any]) -> Chapter:
    """The DH table, and what a check of the published data finds."""
    table, found = robot.dh(), robot.check()
    made = Chapter(
        "The arm",
        f"{robot.model.description.split('. ')[0]}: {robot.n} joints, {table.convention} "
        "Denavit-Hartenberg convention.",
        result=f"{robot.n} joints, {table.convention} DH table",
    )
    header, *rows = table.cells()
    made.tables.append(ChapterTable(f"{table.convention.capitalize()} DH table", header, rows))
    if found:
        made.text += (
            f" A check of the published data has {len(found)} findings, which the details below "
            "explain: that is the first use of the package, before anything is computed."
        )
        made.fold(
            "What the check finds in the published data",
            ChapterTable(
                "findings",
                ("where", "what", "what to do"),
                [(f.place, f.what, f.remedy) for f in found],
            ),
            LESSON,
        )
    made.facts = {"robot": robot.name, "findings": [f"{f.level} {f.place} {f.what}" for f in found]}
    return made


def equations(robot: Robot, known: dict[str, Any]) -> Chapter:
    """Gravity torques in closed form, and the operations of each kernel."""
    g: Any = robot.equations().g
    made = Chapter(
        "Equations",
        "Derived symbolically by Lagrange-Euler; here the gravity torques of three "
        "joints (c23 is the cosine of q2 + q3). The compiled code is optimised for this arm: "
        "terms that are zero, one, or repeated are removed.",
        result="derived in closed form",
        formulas=[f"g_{{{i + 1}}} = {latex(g[i])}" for i in SHORT],
    )
    costs = {name: robot.cost(name) for name in KERNELS}
    rows = [(name, c.mul, c.add, c.trig, sum(c.saved.values())) for name, c in costs.items()]
    header = ("kernel", "products", "sums", "sines, cosines", "saved")
    made.fold(
        "Operations of each compiled function",
        ChapterTable("operations of one call", header, [tuple(map(str, row)) for row in rows]),
    )
    counted = {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    made.facts = {"operations": counted}
    return made


def agreed(robot: Robot, known: dict[str, Any]) -> Chapter:
    """Comparison of independent formulations and other engines."""
    table = agreement(robot)
    verdict = "agrees" if table.ok else "DISAGREES"
    worst = max((row.difference or 0.0) / row.limit for row in table.rows)
    made = Chapter(
        "Agreement",
        f"{robot.name}: {verdict}. Independent formulations and the engines installed here, at "
        f"random states; the largest difference is {worst:.1e} of its limit.",
        result=f"{len(table.rows)} comparisons with other methods and engines: {verdict}",
        good=table.ok,
    )
    rows: list[tuple[Any, ...]] = []
    for row in table.rows:
        shown = "" if row.difference is None else f"{row.difference:.1e}"
        mark = "" if row.difference is None else "good" if row.ok else "bad"
        rows.append((row.source, row.quantity, (shown, mark), f"{row.limit:.0e}", row.reason))
    header = ("method or engine", "quantity", "difference", "limit", "remark")
    made.fold(
        f"All {len(rows)} comparisons", ChapterTable(f"{robot.name}: {verdict}", header, rows)
    )
    made.facts = table.as_dict()
    return made


# chapters on data: design of an exciting motion, its recording, identification, validation

SPEEDS, ACCELERATIONS = [2, 1.5, 2, 3, 3, 3], [8, 8, 8, 12, 12, 12]
NOISE = np.array([0.5, 0.5, 0.25, 0.05, 0.05, 0.05])  # N m
COUNTS = 60_000  # per turn of an encoder
PERIOD, DT = 10.0, 1e-3  # s
SHOWN = 8  # parameters in the table
UNCONSTRAINED = "; the feasible estimator enforces it: install the extra identify"


def excitation(robot: Robot, known: dict[str, Any]) -> Chapter:
    """An exciting trajectory."""
    found = excite(
        robot, harmonics=5, period=PERIOD, starts=1, max_iterations=15, progress=False,
        qd_limits=SPEEDS, qdd_limits=ACCELERATIONS,
    )  # fmt: skip
    path = found.trajectory.sample(0.02)
    made = Chapter(
        "Exciting trajectory",
        f"Five harmonics of {1 / PERIOD:g} Hz within the arm's limits, optimised: condition number "
        f"{found.condition_number:.3g}, {found.gain.condition_median:.2g} times better than random "
        "motions.",
        result=f"condition number {found.condition_number:.3g}",
    )
    drawn = panels("positions", path.t, {"position": path.q}, robot.joint_names, "rad")
    made.fold("The motion of each joint", drawn)
    made.facts["condition_number"] = found.condition_number
    made.facts["better_than_random"] = found.gain.condition_median
    known["motion"] = found.trajectory
    return made


def recording(robot: Robot, known: dict[str, Any]) -> Chapter:
    """Logs of the exciting trajectory, and of another motion for validation."""
    ready = np.asarray(robot.configurations["ready"])
    there = np.array([0.8, -0.4, 0.6, 0.9, -0.8, 1.2])
    other = via([ready, ready + there, ready - there, ready], [0.0, 2.0, 5.0, 7.0])
    known["log"] = log = _recorded(robot, known["motion"], 2 * PERIOD, "exciting", 0)
    known["check"] = _recorded(robot, other, 7.0, "point to point", 2)
    made = Chapter(
        "Recording",
        f"A simulated arm with static friction tracks the trajectory under joint PIDs; the "
        f"log has encoders of {COUNTS} counts per turn and noisy torques, {len(log.t)} rows "
        f"at {1 / DT:.0f} Hz.",
        result=f"{len(log.t)} rows at {1 / DT:.0f} Hz, with friction, quantisation and noise",
    )
    drawn = panels("torques", log.t, {"logged torque": log.tau}, robot.joint_names, "N m")
    made.fold("The logged torque of each joint", drawn)
    made.facts = {"rows": len(log.t), "rate": 1 / DT, "counts_per_turn": COUNTS}
    return made


def _recorded(robot: Robot, motion: Any, duration: float, name: str, seed: int) -> Log:
    law = JointPID.from_bandwidth(
        robot, 20.0, q=motion(0.0)[0], integral=True, derivative="error", sample_time=DT
    )
    sensors = Sensors(
        encoder=2 * np.pi / COUNTS, velocity_filter=50.0, position_noise=3e-5, torque_noise=NOISE,
        seed=seed,
    )  # fmt: skip
    run = simulate(
        robot, duration, DT, motion(0.0)[0], controller=law, reference=motion, sensors=sensors
    )
    return Log.from_run(run, name)


def identification(robot: Robot, known: dict[str, Any]) -> Chapter:
    """Physically consistent parameters from the log."""
    estimator = "feasible" if find_spec("cvxpy") is not None else "weighted"
    how = Processing(velocity="difference")
    found = identify(
        robot, known["log"], friction="asymmetric", estimator=estimator, processing=how
    )
    truth, std = found.unknowns.values, found.standard_deviations
    why = "" if estimator == "feasible" else UNCONSTRAINED
    made = Chapter(
        "Identification",
        f"{len(found.names)} base parameters by the {estimator} estimator "
        f"(physically consistent: {'yes' if found.is_physical else 'no'}{why}). The arm is "
        "simulated, so the true values are known: the table shows the largest.",
        result=f"{len(found.names)} parameters, "
        f"{'' if found.is_physical else 'not '}physically consistent",
        good=bool(found.is_physical) or estimator == "weighted",
    )
    largest = np.argsort(-np.abs(truth))[:SHOWN]
    names = [x if len(x) < 40 else f"{x[:36]} ..." for x in found.names]
    columns = truth, found.values, std
    rows = [(names[i], *(f"{column[i]:.4f}" for column in columns)) for i in largest]
    header = ("parameter", "true", "estimate", "std")
    made.tables.append(ChapterTable("Largest base parameters, SI units", header, rows))
    made.facts = {
        "unknowns": len(found.names),
        "is_physical": bool(found.is_physical),
        "training_error": float(found.training[0].relative_error_overall),
    }
    known["estimate"] = found
    return made


def validation(robot: Robot, known: dict[str, Any]) -> Chapter:
    """Errors on a motion that was not used for the fit."""
    new = known["estimate"].validate(known["check"])
    split = known["estimate"].split(new)
    error = percent(split.error)
    made = Chapter(
        "Validation",
        f"Relative torque error on a motion that was not used for the fit, every row as logged: "
        f"{error}. Of it {split.said} (squares add). At rest static friction takes any value up "
        "to the break-away torque, which no model can predict; the noise was added to the "
        "simulated torques.",
        result=f"torque error {error} on another motion, of which the model {percent(split.model)}",
        headline=Headline(
            "Identified model", error,
            "torque error as logged on a motion that was not used for the fit: "
            f"friction at rest {percent(split.rest)}, noise of the torque signal "
            f"{percent(split.noise)}, the model {percent(split.model)}",
        ),
    )  # fmt: skip
    made.fold("The error of each joint", ChapterTable("relative error", SPLIT_HEAD, split.cells()))
    lines = {"measured": new.measured, "predicted": new.predicted}
    made.charts.append(
        panels("Measured and predicted torque", new.t, lines, robot.joint_names, "N m")
    )
    made.facts = split.as_dict()
    return made


# chapters on control: three controllers, the moving arm, C code

SAMPLE_TIME, BANDWIDTH = 0.005, 25.0
BEST = "computed torque"
TRIGS = ("libm", "own")


def controllers(robot: Robot, known: dict[str, Any]) -> Chapter:
    """One motion under three laws; their model is the identified one."""
    ready, model = np.asarray(robot.configurations["ready"]), known["estimate"].robot
    there = np.array([0.6, -0.5, 0.7, 0.8, -0.6, 1.0])
    move = via([ready, ready + there, ready - there, ready], [0.0, 1.5, 3.5, 5.0])
    laws = {
        "joint PID": JointPID.from_bandwidth(robot, BANDWIDTH, q=ready, integral=True),
        "point to point": PointToPoint.from_bandwidth(robot, BANDWIDTH, model=model),
        "computed torque": ComputedTorque.from_bandwidth(
            robot, BANDWIDTH, integral=True, model=model
        ),
    }
    sensors = Sensors(encoder=2 * np.pi / COUNTS, velocity_filter=60.0)
    runs = {
        name: simulate(
            robot, 5.0, DT, ready, controller=law, reference=move, sample_time=SAMPLE_TIME,
            sensors=sensors,
        )
        for name, law in laws.items()
    }  # fmt: skip
    rows, errors, facts = [], {}, {}
    for name, run in runs.items():
        found = run.metrics
        errors[name] = 1e3 * np.asarray(run.error)
        total = found.overall
        rows.append((name, *(f"{1e3 * x:.2f}" for x in (*found.rms, total["rms"], total["max"]))))
        facts[name] = {"rms": found.rms.tolist(), "max": found.max.tolist()}
    best, pid = (1e3 * runs[name].metrics.overall["rms"] for name in (BEST, "joint PID"))
    made = Chapter(
        "Three controllers",
        f"One motion, {SAMPLE_TIME * 1e3:g} ms sample time, encoders and differences, on the "
        "arm with static friction. The last two use the identified model.",
        result=f"tracking error {best:.2g} mrad with {BEST}, {pid:.2g} mrad with joint PIDs",
        headline=Headline(
            "Tracking", f"{best:.2g} mrad",
            f"RMS error of all joints under {BEST} with the identified model, on the simulated arm "
            f"with static friction; joint PIDs: {pid:.2g} mrad",
        ),
        arm=moving_arm(runs[BEST], f"{robot.name} tracking a motion under {BEST}"),
        facts=facts,
    )  # fmt: skip
    header = ("mrad", *robot.joint_names, "all", "largest")
    made.tables.append(ChapterTable("RMS of the tracking error", header, rows))
    t = next(iter(runs.values())).t
    made.charts.append(panels("Tracking error", t, errors, robot.joint_names, "mrad"))
    known["law"] = laws[BEST]
    return made


def code(robot: Robot, known: dict[str, Any]) -> Chapter:
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
            files = export_controller(
                robot, known["law"], Path(folder) / trig, SAMPLE_TIME, trig=trig
            )
            lines = sum(len(f.read_text().splitlines()) for f in files if f.suffix in (".c", ".h"))
            said = "no C compiler here" if compiler is None else _tested(files[0].parent, compiler)
            made.good &= not said.startswith("FAILED")
            mark = "good" if said.startswith("passed") else ""
            what = "linked from libm" if trig == "libm" else "own, of constant execution time"
            rows.append((trig, what, str(len(files)), str(lines), (said, mark)))
            made.facts[trig] = {"files": [f.name for f in files], "self_test": said}
    made.result = "; ".join(f"{row[0]}: {row[-1][0].split(',')[0]}" for row in rows)
    header = ("trig", "sine and cosine", "files", "lines of C", "self-test")
    made.tables.append(ChapterTable("Generated C", header, rows))
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


# the chapter on speed: a few figures of the bench

ALONE = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "regressor")
PEER = "Pinocchio"


def speed(robot: Robot, known: dict[str, Any]) -> Chapter:
    """One call and a batch, in microseconds and as ratios within this run."""
    peer = find_spec("pinocchio") is not None
    beside = "ratios are within this run" if peer else "no peer: pip install pin"
    state = list(np.random.default_rng(1).normal(size=(3, robot.n)))
    times: dict[str, list[float]] = {}  # ours, theirs
    for f in against_pinocchio(robot, state) if peer else ():
        if f.what in ALONE:
            times[f.what] = [1e6 * f.ours, 1e6 * (f.theirs or np.nan)]
    for name in () if peer else ALONE:
        (ours,) = together(direct(getattr(robot, name), state))
        times[name] = [1e6 * ours]
    many = [np.random.default_rng(2).normal(size=(SIZE, robot.n)) for _ in range(3)]
    (batch,) = together(lambda: robot.inverse_dynamics(*many, threads=1))
    each = f"inverse_dynamics, each of {SIZE}"
    names = ["dynamis", PEER][: 1 + peer]
    rows = [_timed(name, row) for name, row in times.items()]
    rows.append((each, f"{1e6 * batch / SIZE:.4f}", "", "")[: len(rows[0])])
    one = times["inverse_dynamics"]
    against = (
        f"; {one[1] / one[0]:.0f} times faster than {PEER}, called from Python" if peer else ""
    )
    made = Chapter(
        "Speed",
        f"Shortest of several rounds on this machine; {beside}. dynamis bench measures everything.",
        result=f"inverse dynamics in {one[0]:.2f} us{against}",
        headline=Headline(
            "Speed", f"{one[0]:.2f} \u00b5s",
            f"one call of inverse dynamics on this machine{against}; "
            f"{1e9 * batch / SIZE:.0f} ns in a batch on one core",
        ),
    )  # fmt: skip
    shown = list(times.items())
    shown.append((each, [1e6 * batch / SIZE]))
    made.charts.append(Grid("Time of one call", [bars(names, shown, "\u00b5s")], style="single"))
    columns = ("function", "dynamis, us", f"{PEER}, us", "ratio")[: len(rows[0])]
    made.fold("The same as a table", ChapterTable("one call", columns, rows))
    made.facts = {
        row[0]: {"us": float(row[1]), "ratio": float(row[3]) if row[3:] and row[3] else None}
        for row in rows
    }
    return made


def _timed(name: str, times: list[float]) -> tuple[str, ...]:
    """A function, its times in microseconds and their ratio."""
    ratio = [f"{times[1] / times[0]:.1f}"] if times[1:] else []
    return name, *(f"{x:.2f}" for x in times), *ratio


Step = Callable[[Robot, dict[str, Any]], Chapter]
STEPS: dict[str, tuple[str, Step]] = {
    "model": ("loading the arm and checking its data", model),
    "equations": ("deriving the equations", equations),
    "agreement": ("comparing with other methods and engines", agreed),
    "excitation": ("designing an exciting trajectory", excitation),
    "recording": ("recording it on the simulated arm", recording),
    "identification": ("identifying the model from the log", identification),
    "validation": ("validating it on another motion", validation),
    "controllers": ("tracking a motion with three controllers", controllers),
    "code": ("writing the controller as C and testing it", code),
    "speed": ("measuring speed", speed),
}


def demonstration(robot: Robot, say: Callable[[str], None]) -> Iterator[tuple[str, Chapter]]:
    """Names and chapters, one by one; `say` gets the name of the next step."""
    known: dict[str, Any] = {}  # what a chapter leaves for those after it
    for name, (what, step) in STEPS.items():
        say(what)
        begun = time.perf_counter()
        chapter = step(robot, known)
        chapter.seconds = time.perf_counter() - begun
        yield name, chapter
