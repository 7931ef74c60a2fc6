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
Row = tuple[str, str, str, str]  # what, our time, theirs, ratio


def speed(robot: Robot) -> Chapter:
    """One call and a batch, in microseconds and as ratios within this run."""
    peer = find_spec("pinocchio") is not None
    beside = "ratios are within this run" if peer else "nobody beside us: pip install pin"
    made = Chapter(
        "Speed",
        f"Best of several rounds on this machine, now; {beside}. dynamis bench measures "
        "everything.",
    )
    state = list(np.random.default_rng(1).normal(size=(3, robot.n)))
    rows = _beside_pinocchio(robot, state) if peer else _alone(robot, state)
    many = [np.random.default_rng(2).normal(size=(SIZE, robot.n)) for _ in range(3)]
    (batch,) = together(lambda: robot.inverse_dynamics(*many, threads=1))
    rows.append((f"inverse_dynamics, each of {SIZE}", f"{1e6 * batch / SIZE:.4f}", "", ""))
    columns = ("", "dynamis, us", "Pinocchio, us", "ratio")[: 4 if peer else 2]
    made.table("one call", columns, [row[: len(columns)] for row in rows])
    made.chart(bars([r[0] for r in rows], [float(r[1]) for r in rows], "us"), 260)
    made.facts = {row[0]: {"us": float(row[1]), "ratio": float(row[3] or "nan")} for row in rows}
    return made


def _beside_pinocchio(robot: Robot, state: list[np.ndarray]) -> list[Row]:
    return [
        (f.what, f"{1e6 * f.ours:.2f}", f"{1e6 * (f.theirs or 0):.2f}", f"{f.ratio or 0.0:.1f}")
        for f in against_pinocchio(robot, state)
        if f.what in ALONE
    ]


def _alone(robot: Robot, state: list[np.ndarray]) -> list[Row]:
    times = {name: together(direct(getattr(robot, name), state))[0] for name in ALONE}
    return [(name, f"{1e6 * ours:.2f}", "", "") for name, ours in times.items()]
