"""Prints the tables of errors of docs/identification.md: python -m docs.identification FOLDER

FOLDER holds logs of real arms.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import dynamis as dy

GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)  # N m per A, published for the UR10e
COLUMNS = {"t": "times", "q": "positions", "qd": "velocities", "tau": "torques"}  # of the LWR4+
ROWS = {
    "excitation_30s": (634, 3510),
    "excitation_40s": (499, 4460),
    "free_50s": (194, 4966),
    "point_to_point": (699, 4200),
}


def row(name, estimate, cutoff, published):
    """One line: as logged and low-passed, on the fitted rows and on the last third."""
    fit, out = estimate.training[0], estimate.held_out

    def percent(check):
        return f"{100 * check.relative_error_overall:.2f}"

    cells = [
        name,
        estimate.friction,
        estimate.estimator,
        f"{len(estimate.names)}",
        f"{percent(fit)} / {percent(fit.filtered(cutoff))}",
        f"{percent(out)} / {percent(out.filtered(cutoff))}"
        + (", a repeat" if out.is_repeat else ""),
        f"{percent(out.filtered(cutoff).moving())}",
        "yes" if estimate.is_physical else "no",
        published,
    ]
    print("| " + " | ".join(cells) + " |", flush=True)


def tx40(data):
    """The arm with its coupled wrist, and its log."""
    gears = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
    matrix = np.diag(gears)
    matrix[5, 4] = 32.0
    model = dy.load(data / "tx40" / "tx40.urdf").model
    links = tuple(
        replace(k, drive=dy.Drive(gear=g)) for k, g in zip(model.links, gears, strict=True)
    )
    raw = np.load(data / "tx40" / "excitation.npz")
    log = dy.Log(t=np.arange(len(raw["q"])) * float(raw["ts"]), q=raw["q"], tau=raw["tau"])
    return dy.Robot(
        replace(model, links=links, gear_matrix=tuple(map(tuple, matrix.tolist())))
    ), log


def main(data):
    """The table."""
    print(
        "| arm | friction | estimator | unknowns | as logged / low-passed | last third held out | moving rows of it | physical | published |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    arm, log = dy.load("panda"), dy.read_log(data / "panda" / "excitation.npz")
    for friction in ("smooth", "auto"):
        for estimator in ("weighted", "feasible"):
            row(
                "Panda, 10 Hz",
                dy.identify(arm, log, friction=friction, estimator=estimator),
                10.0,
                "1.41, 1.10",
            )
    arm, log = tx40(data)
    for friction in ("smooth", "auto"):
        for estimator in ("weighted", "feasible"):
            row(
                "TX40, 20 Hz",
                dy.identify(arm, log, friction=friction, estimator=estimator),
                20.0,
                "4.83; 6.7 held out, moving",
            )
    arm = dy.load(data / "lwr4" / "lwr4.urdf")
    log = dy.read_log(data / "lwr4" / "measurements_1.npz", columns=COLUMNS)
    for friction in ("smooth", "loaded"):
        for estimator in ("weighted", "feasible"):
            row(
                "LWR4+, 10 Hz",
                dy.identify(arm, log, friction=friction, estimator=estimator),
                10.0,
                "2.15, 2.81",
            )
    arm = dy.load(data / "ur10e" / "ur10e.urdf")
    names = {"t": "t", "q": "q", "qd": "qd", "current": "i"}
    logs = {
        name: dy.read_log(
            data / "ur10e" / f"{name}.npz", columns=names, drive_gains=GAINS, rows=rows
        )
        for name, rows in ROWS.items()
    }
    for trained in ("excitation_30s", "excitation_40s"):
        for friction in ("smooth", "auto"):
            found = dy.identify(arm, logs[trained], friction=friction, rotors=True)
            row(f"UR10e {trained}, 10 Hz", found, 10.0, "5.2")
            for other in ROWS:
                check = found.validate(logs[other])
                joints = " ".join(f"{100 * x:.0f}" for x in check.relative_error)
                print(
                    f"  on {other}{' (repeat)' if check.is_repeat else ''}: {100 * check.relative_error_overall:.2f} as logged, "
                    f"{100 * check.filtered(10.0).relative_error_overall:.2f} low-passed; per joint {joints}"
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
