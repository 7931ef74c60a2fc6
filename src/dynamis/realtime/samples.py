"""Samples that a generated law is tested with: an arm that follows its reference, simulated."""

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import DynamisError
from ..trajectory.fourier import sine

if TYPE_CHECKING:
    from ..control.law import Law
    from ..trajectory.trajectory import Trajectory

COUNT = 200
SPAN = 0.3  # rad or m: how far the reference goes where none is inside
FREQUENCY = 0.5  # Hz, of that reference
OFF = 0.01  # rad or m: how far from its reference the arm starts
STEP = 5e-3  # s, the longest step of the simulation
GRID = 2.0**-20  # samples are rounded to it: the same on every machine, exact in single precision
FAR = 1e3  # rad, m, per second: a loop that went there is not worth recording
SIMULATED = "a simulated closed loop"
SYNTHETIC = "a made-up motion: the closed loop could not be simulated"


class Samples(NamedTuple):
    """Positions, velocities (K, n), references (K, 3 n) or times (K, 1), and whence they are."""

    q: np.ndarray
    qd: np.ndarray
    wanted: np.ndarray
    how: str


def sample_rows(law: "Law", count: int = COUNT) -> Samples:
    """Samples of the closed loop, rounded; of a made-up motion where there is no such loop."""
    found = closed_loop(law, count)
    q, qd, wanted, how = made_up(law, count) if found is None else found[0]
    if law.reference is None:
        wanted = _rounded(wanted)
    return Samples(_rounded(q), _rounded(qd), wanted, how)


def closed_loop(law: "Law", count: int = COUNT) -> tuple[Samples, np.ndarray] | None:
    """What the law would have seen in `dy.simulate`, and the torques there; None if it fails."""
    from ..simulation.simulate import simulate

    plan, dt = _plan(law), law.sample_time
    first = plan(0.0)
    try:
        run = simulate(
            law.robot, count * dt, dt / ceil(dt / STEP), first.q + OFF, first.qd, law.controller,
            reference=plan, sample_time=dt, progress=False,
        )  # fmt: skip
    except DynamisError:
        return None
    seen = run.measured
    if seen is None or run.message or len(seen.t) < count:
        return None
    q, qd, tau = (row[:count] for row in (seen.q, seen.qd, seen.tau))
    if not all((np.abs(x) < most).all() for x, most in ((q, FAR), (qd, FAR), (tau, FAR * FAR))):
        return None
    return Samples(q, qd, _wanted(law, plan, count), SIMULATED), tau


def made_up(law: "Law", count: int = COUNT) -> Samples:
    """A motion near its reference."""
    plan = _plan(law)
    state = plan(law.sample_time * np.arange(count))
    w = 6.0 * np.pi * FREQUENCY
    angle = w * law.sample_time * np.arange(count)[:, None] + np.arange(1, law.n + 1)
    q, qd = state.q + OFF * np.sin(angle), state.qd + OFF * w * np.cos(angle)
    return Samples(q, qd, _wanted(law, plan, count), SYNTHETIC)


def _plan(law: "Law") -> "Trajectory":
    if law.reference is not None:
        return law.reference
    return sine(0.0, SPAN, FREQUENCY, np.arange(1.0, law.n + 1.0))


def _wanted(law: "Law", plan: "Trajectory", count: int) -> np.ndarray:
    t = law.sample_time * np.arange(count)
    return t[:, None] if law.reference is not None else np.concatenate(plan(t), axis=1)


def _rounded(x: np.ndarray) -> np.ndarray:
    return GRID * np.round(x / GRID)
