"""Batches: SIMD across samples and threads, against Pinocchio's parallel loop and NumPy."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..agree.pinocchio_peer import PinocchioPeer
from ..compile.arrays import evaluate, run
from ..compile.kernels import KERNELS
from ..compile.machine import host
from ..dynamics import equation
from ..robot import Robot
from .single import worst_difference
from .table import Figure, together

GROUP = "batch"
SIZE, LARGE = 4096, 262_144


def batches(robot: Robot, seed: int = 0) -> Iterator[Figure]:
    """Seconds per evaluation."""
    rng = np.random.default_rng(seed)
    state = [rng.normal(size=(SIZE, robot.n)) for _ in range(3)]
    method = robot.inverse_dynamics
    got = method(*state, threads=1)
    error = worst_difference(robot, "inverse_dynamics", state, got)
    what = f"inverse_dynamics x {SIZE}, one thread"
    wide = host().bits == 512
    if find_spec("pinocchio") is not None:
        call = _pinocchio(robot, state)
        ours, theirs = together(lambda: method(*state), call, rounds=9)
        target = 40.0 if wide else 20.0
        peer = "Pinocchio rneaInParallel"
        yield Figure(GROUP, what, robot.name, ours / SIZE, peer, theirs / SIZE, target, error)
    ours, theirs = together(lambda: method(*state), lambda: _numpy(robot, state), rounds=3)
    yield Figure(
        GROUP, what, robot.name, ours / SIZE, "NumPy vectorised", theirs / SIZE, None, error
    )
    for name in ("forward_dynamics", "mass_matrix", "fk", "regressor"):
        yield _alone(robot, name, state)
    for name in ("inverse_dynamics", "gravity_torque", "inverse_dynamics_derivatives"):
        yield _optimised(robot, name, state)
    yield _threads(robot, rng)
    yield _two_cores()


def _pinocchio(robot: Robot, state: list[np.ndarray]) -> Any:
    peer = PinocchioPeer(robot, state[0][0])
    pin: Any = peer.pin
    pool = pin.ModelPool(peer.model, 1)
    q, v, a = (np.asfortranarray(x.T) for x in state)
    out = np.empty_like(q, order="F")
    return lambda: pin.rneaInParallel(1, pool, q, v, a, out)


def _numpy(robot: Robot, state: list[np.ndarray]) -> np.ndarray:
    def call(*scalars: Any) -> Any:
        *values, fn = scalars
        return equation.inverse_dynamics(robot.chain, *values, fn=fn)

    return evaluate(call, state, [1, 1, 1], (robot.n,), ("q", "qd", "qdd"))


def _alone(robot: Robot, name: str, state: list[np.ndarray]) -> Figure:
    arguments = state[: len(KERNELS[name].inputs)]
    method = getattr(robot, name)
    got = method(*arguments, threads=1)
    (ours,) = together(lambda: method(*arguments, threads=1), rounds=5)
    few = [a[:64] for a in arguments]
    error = worst_difference(robot, name, few, got[:64])
    return Figure(GROUP, f"{name} x {SIZE}, one thread", robot.name, ours / SIZE, error=error)


def _optimised(robot: Robot, name: str, state: list[np.ndarray]) -> Figure:
    """Gain of the optimisation: the kernel traced with and without it."""
    kernel = KERNELS[name]
    arguments = state[: len(kernel.inputs)]
    codes = [robot._calls.code(k, "float64") for k in (kernel, replace(kernel, optimise="nothing"))]
    calls = [lambda c=code: run(c, arguments, kernel.inputs, threads=1) for code in codes]
    ours, plain = together(*calls, rounds=7)
    few = [a[:64] for a in arguments]
    error = worst_difference(robot, name, few, run(codes[0], few, kernel.inputs))
    what, peer = f"{name} x {SIZE}, one thread", "not optimised"
    return Figure(GROUP, what, robot.name, ours / SIZE, peer, plain / SIZE, None, error)


def _threads(robot: Robot, rng: Any) -> Figure:
    """One and two threads on a batch larger than the caches."""
    state = [rng.normal(size=(LARGE, robot.n)) for _ in range(3)]
    out = np.empty((LARGE, robot.n))
    method = robot.inverse_dynamics
    two, one = together(
        lambda: method(*state, threads=2, out=out),
        lambda: method(*state, threads=1, out=out),
        rounds=9,
    )
    few = [a[:64] for a in state]
    error = worst_difference(robot, "inverse_dynamics", few, out[:64])
    what = f"inverse_dynamics x {LARGE}, two threads"
    return Figure(GROUP, what, robot.name, two / LARGE, "one thread", one / LARGE, 1.8, error)


def _two_cores() -> Figure:
    """Gain of two cores on this machine: one plain loop, and two in parallel."""
    script = "import time; t = time.perf_counter(); [i * i for i in range(5_000_000)]; "
    script += "print(time.perf_counter() - t)"

    def seconds(count: int) -> float:
        command = [sys.executable, "-c", script]
        jobs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(count)]
        return max(float(job.communicate()[0]) for job in jobs)

    alone = min(seconds(1) for _ in range(3))
    both = min(seconds(2) for _ in range(3)) / 2
    return Figure(GROUP, "two processes of plain Python", "", both, "one process", alone)
