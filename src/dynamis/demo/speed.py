"""The chapter on speed: a few figures of the bench, measured now, beside who is installed."""

from importlib.util import find_spec

import numpy as np

from ..bench.batch import SIZE
from ..bench.single import against_pinocchio, direct
from ..bench.timing import together
from ..robot import Robot
from .chapter import Chapter
from .charts import bars

ALONE = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_derivatives", "regressor")


def speed(robot: Robot) -> Chapter:
    """One call and a batch, in microseconds and as ratios within this run."""
    made = Chapter(
        "Speed",
        "Best of several rounds on this machine, now; ratios are within this run. "
        "`dynamis bench` measures everything.",
    )
    state = list(np.random.default_rng(1).normal(size=(3, robot.n)))
    rows = []
    if find_spec("pinocchio") is not None:
        for f in against_pinocchio(robot, state):
            if f.what in ALONE:
                ratio = 0.0 if f.ratio is None else f.ratio
                rows.append(
                    (f.what, f"{1e6 * f.ours:.2f}", f"{1e6 * (f.theirs or 0):.2f}", f"{ratio:.1f}")
                )
    else:
        for name in ALONE:
            (ours,) = together(direct(getattr(robot, name), state))
            rows.append((name, f"{1e6 * ours:.2f}", "", ""))
    many = [np.random.default_rng(2).normal(size=(SIZE, robot.n)) for _ in range(3)]
    (batch,) = together(lambda: robot.inverse_dynamics(*many, threads=1))
    rows.append((f"inverse_dynamics, each of {SIZE}", f"{1e6 * batch / SIZE:.4f}", "", ""))
    made.table("one call", ("", "dynamis, us", "Pinocchio, us", "ratio"), rows)
    made.chart(bars([r[0] for r in rows], [float(r[1]) for r in rows], "us"), 260)
    made.facts = {row[0]: {"us": float(row[1]), "ratio": float(row[3] or "nan")} for row in rows}
    return made
