"""Chapters on data: the design of an exciting motion, its recording, identification, validation."""

from importlib.util import find_spec
from typing import Any

import numpy as np

from ..control import JointPID
from ..control.sensors import Sensors
from ..excite.excite import excite
from ..identify.identification import identify
from ..identify.processing import Processing
from ..logs.log import Log
from ..robot import Robot
from ..simulation.simulate import simulate
from ..trajectory import via
from .chapter import Chapter, panels

SPEEDS, ACCELERATIONS = [2, 1.5, 2, 3, 3, 3], [8, 8, 8, 12, 12, 12]
NOISE = np.array([0.5, 0.5, 0.25, 0.05, 0.05, 0.05])  # N m
COUNTS = 60_000  # per turn of an encoder
PERIOD, DT = 10.0, 1e-3
SHOWN = 8  # parameters in the table
SLIDING = 0.1  # rad/s above which a joint surely slides
CUTOFF = 10.0  # Hz, of the comparison
UNFORCED = "; it does not force that, the feasible one does: pip install 'dynamis[identify]'"


def excitation(robot: Robot) -> tuple[Chapter, Any]:
    """A motion that tells the parameters."""
    found = excite(
        robot, harmonics=5, period=PERIOD, starts=1, max_iterations=15, progress=False,
        qd_limits=SPEEDS, qdd_limits=ACCELERATIONS,
    )  # fmt: skip
    path = found.trajectory.sample(0.02)
    made = Chapter(
        "A motion that tells the parameters",
        f"Five harmonics of {1 / PERIOD:g} Hz within the arm's limits, optimised: condition number "
        f"{found.condition_number:.3g}, {found.gain.condition_median:.2g} times better than random "
        "motions.",
    )
    made.grid(panels(path.t, {"position": path.q}, robot.joint_names, "rad"))
    made.facts = {
        "condition_number": found.condition_number,
        "better_than_random": found.gain.condition_median,
    }
    return made, found.trajectory


def recording(robot: Robot, motion: Any) -> tuple[Chapter, Log, Log]:
    """What the arm's computer would log: the exciting motion, and another one to check on."""
    ready = np.asarray(robot.configurations["ready"])
    there = np.array([0.8, -0.4, 0.6, 0.9, -0.8, 1.2])
    other = via([ready, ready + there, ready - there, ready], [0.0, 2.0, 5.0, 7.0])
    log = _recorded(robot, motion, 2 * PERIOD, "exciting", 0)
    check = _recorded(robot, other, 7.0, "point to point", 2)
    made = Chapter(
        "Recording",
        f"A simulated arm with friction that sticks follows the motion under joint PIDs; its "
        f"computer logs encoders of {COUNTS} counts per turn and noisy torques, {len(log.t)} rows "
        f"at {1 / DT:.0f} Hz.",
    )
    made.grid(panels(log.t, {"logged torque": log.tau}, robot.joint_names, "N m"))
    made.facts = {"rows": len(log.t), "rate": 1 / DT, "counts_per_turn": COUNTS}
    return made, log, check


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


def identification(robot: Robot, log: Log) -> tuple[Chapter, Any]:
    """Parameters that are physically possible, from the log alone."""
    estimator = "feasible" if find_spec("cvxpy") is not None else "weighted"
    how = Processing(velocity="difference")
    found = identify(robot, log, friction="asymmetric", estimator=estimator, processing=how)
    truth, std = found.unknowns.values, found.standard_deviations
    why = "" if estimator == "feasible" else UNFORCED
    made = Chapter(
        "Identification",
        f"{len(found.names)} base parameters by the {estimator} estimator "
        f"(physically possible: {'yes' if found.is_physical else 'no'}{why}). The arm is "
        "simulated, so the truth is known: the table shows the largest.",
        good=bool(found.is_physical) or estimator == "weighted",
    )
    largest = np.argsort(-np.abs(truth))[:SHOWN]
    rows = [
        (_short(found.names[i]), f"{truth[i]:.4f}", f"{found.values[i]:.4f}", f"{std[i]:.4f}")
        for i in largest
    ]
    made.table("largest base parameters", ("", "true", "estimate", "std"), rows)
    made.facts = {
        "unknowns": len(found.names),
        "is_physical": bool(found.is_physical),
        "training_error": float(found.training[0].relative_error_overall),
    }
    return made, found


def validation(robot: Robot, estimate: Any, check: Log) -> Chapter:
    """The torque of a motion the estimate has not seen."""
    new = estimate.validate(check)
    slides = new.filtered(CUTOFF).moving(SLIDING)
    made = Chapter(
        "Validation",
        "The identified model predicts the torque of a motion it has not seen: "
        f"{slides.relative_error_overall:.2%} off while joints slide, both low-passed at "
        f"{CUTOFF:g} Hz. As logged it is {new.relative_error_overall:.0%}: that holds the noise, "
        "and the rows where joints stick, which need any torque up to the static friction.",
    )
    rows = [
        (name, f"{part:.2%}", f"{logged:.2%}")
        for name, part, logged in zip(
            robot.joint_names, slides.relative_error, new.relative_error, strict=True
        )
    ]
    made.table("relative error", ("joint", "while sliding", "as logged"), rows)
    lines = {"measured": new.measured, "predicted": new.predicted}
    made.grid(panels(new.t, lines, robot.joint_names, "N m"))
    made.facts = {
        "sliding": float(slides.relative_error_overall),
        "as_logged": float(new.relative_error_overall),
    }
    return made


def _short(name: str) -> str:
    return name if len(name) < 40 else f"{name[:36]} ..."
