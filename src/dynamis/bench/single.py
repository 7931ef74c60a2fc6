"""Calls from Python, one by one and in batches, against Pinocchio, MuJoCo, CasADi and others."""

import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..agree.peers import MujocoPeer, PinocchioPeer, toolbox_peer
from ..compile.arrays import evaluate, run
from ..compile.interpreter import interpret
from ..compile.kernels import KERNELS
from ..compile.machine import host
from ..dynamics import equation
from ..errors import DynamisError
from ..model.link import Link
from ..robot import Robot
from .table import Figure, timed, together

# how far compiled results are from the same program in extended precision


def worst_difference(robot: Robot, name: str, arguments: list[np.ndarray], got: Any) -> float:
    """max |got - exact| / max |exact| over every result."""
    results = got if isinstance(got, tuple) else (got,)
    exact = interpret(robot.program(name), arguments, np.longdouble)
    pairs = zip(results, exact, strict=True)
    return max(float(np.abs(a - b).max()) / (float(np.abs(b).max()) or 1.0) for a, b in pairs)


GROUP = "one call"
TARGETS = {
    "inverse_dynamics": 3.0, "forward_dynamics": 5.0, "inverse_dynamics_derivatives": 5.0,
    "regressor": 5.0,
}  # fmt: skip


def against_pinocchio(robot: Robot, state: list[np.ndarray]) -> Iterator[Figure]:
    """The four kernels with a target, and others."""
    if find_spec("pinocchio") is None:
        return
    peer = PinocchioPeer(robot, state[0])
    pin, model, data = peer.pin, peer.model, peer.data
    q, qd, qdd = state
    theirs: dict[str, Any] = {
        "inverse_dynamics": lambda: pin.rnea(model, data, q, qd, qdd),
        "forward_dynamics": lambda: pin.aba(model, data, q, qd, qdd),
        "inverse_dynamics_derivatives": lambda: pin.computeRNEADerivatives(model, data, q, qd, qdd),
        "regressor": lambda: pin.computeJointTorqueRegressor(model, data, q, qd, qdd),
        "mass_matrix": lambda: pin.crba(model, data, q),
        "coriolis_matrix": lambda: pin.computeCoriolisMatrix(model, data, q, qd),
        "fk": lambda: pin.forwardKinematics(model, data, q),
        "jacobian": lambda: pin.computeJointJacobians(model, data, q),
    }
    arguments = {"mass_matrix": [q], "fk": [q], "jacobian": [q], "coriolis_matrix": [q, qd]}
    for name, call in theirs.items():
        given, method = arguments.get(name, state), getattr(robot, name)
        yield timed(
            GROUP, name, robot.name, direct(method, given), call, peer="Pinocchio",
            target=TARGETS.get(name), error=worst_difference(robot, name, given, method(*given)),
        )  # fmt: skip


def direct(method: Any, arguments: list[np.ndarray]) -> Any:
    """A call written out, as the peers' are: unpacking a list would cost as much as a kernel."""
    q, qd, x = [*arguments, None, None][:3]
    if qd is None:
        return lambda: method(q)
    return (lambda: method(q, qd)) if x is None else (lambda: method(q, qd, x))


def against_others(robot: Robot, state: list[np.ndarray]) -> Iterator[Figure]:
    """Inverse dynamics against whatever else is installed."""
    name, method = "inverse_dynamics", robot.inverse_dynamics
    error = worst_difference(robot, name, state, method(*state))
    for peer, call in _others(robot, state):
        calls = direct(method, state), call
        yield timed(GROUP, name, robot.name, *calls, peer=peer, error=error, rounds=5)


def _others(robot: Robot, state: list[np.ndarray]) -> Iterator[tuple[str, Any]]:
    function = robot.casadi("inverse_dynamics")
    yield "CasADi", lambda: function(*state)
    if find_spec("mujoco") is not None:
        yield from _mujoco(robot, state)
    if find_spec("roboticstoolbox") is not None and robot.model.convention == "standard":
        toolbox = toolbox_peer(robot, state[0])
        yield "Robotics Toolbox", lambda: toolbox.peer.rne(*state)
    if find_spec("dynibo") is not None:
        yield from _dynibo(robot, state)


def _mujoco(robot: Robot, state: list[np.ndarray]) -> Iterator[tuple[str, Any]]:
    try:
        peer: Any = MujocoPeer(robot, state[0])
    except DynamisError:
        return  # an arm MuJoCo cannot represent, such as one with a massless link
    mujoco, model, data = peer.mj, peer.model, peer.data
    data.qpos[:], data.qvel[:], data.qacc[:] = state
    yield "MuJoCo", lambda: mujoco.mj_inverse(model, data)


def _dynibo(robot: Robot, state: list[np.ndarray]) -> Iterator[tuple[str, Any]]:
    """Through a URDF; it knows neither rotors nor friction, and refuses massless links."""
    import dynibo

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "robot.urdf"
        robot.save(path)
        try:
            peer = dynibo.Robot.from_urdf(str(path))
        except dynibo.DyniboError:
            return
    q, qd, qdd = state
    yield "dynibo", lambda: peer.inverse_dynamics(q, qd, qdd)


# batches: SIMD across samples and threads

BATCH = "batch"
SIZE, LARGE = 4096, 262_144


def batches(robot: Robot, seed: int = 0) -> Iterator[Figure]:
    """Seconds per evaluation, against Pinocchio, NumPy and kernels that are not optimised."""
    rng = np.random.default_rng(seed)
    state = [rng.normal(size=(SIZE, robot.n)) for _ in range(3)]

    def figure(name: str, *calls: Any, error: float, **more: Any) -> Figure:
        what = f"{name} x {SIZE}, one thread"
        return timed(BATCH, what, robot.name, *calls, each=SIZE, error=error, **more)

    def ours() -> np.ndarray:
        return robot.inverse_dynamics(*state)

    name = "inverse_dynamics"
    error = worst_difference(robot, name, state, robot.inverse_dynamics(*state, threads=1))
    if find_spec("pinocchio") is not None:
        target, peer = 40.0 if host().bits == 512 else 20.0, "Pinocchio rneaInParallel"
        call = _pinocchio(robot, state)
        yield figure(name, ours, call, peer=peer, target=target, error=error, rounds=9)
    call, peer = (lambda: _numpy(robot, state)), "NumPy vectorised"
    yield figure(name, ours, call, peer=peer, error=error, rounds=3)
    few = [a[:64] for a in state]
    for name in ("forward_dynamics", "mass_matrix", "fk", "regressor"):
        method, count = partial(getattr(robot, name), threads=1), len(KERNELS[name].inputs)
        error = worst_difference(robot, name, few[:count], method(*few[:count]))
        yield figure(name, partial(method, *state[:count]), error=error, rounds=5)
    for name in ("inverse_dynamics", "gravity_torque", "inverse_dynamics_derivatives"):
        kernel = KERNELS[name]
        count = len(kernel.inputs)
        codes = [robot._calls.code(k, "float64")
                 for k in (kernel, replace(kernel, optimise="nothing"))]  # fmt: skip
        calls = [partial(run, c, state[:count], kernel.inputs, threads=1) for c in codes]
        got = run(codes[0], few[:count], kernel.inputs)
        error = worst_difference(robot, name, few[:count], got)
        yield figure(name, *calls, peer="not optimised", error=error)
    yield _threads(robot, rng)
    yield _two_cores()


def _pinocchio(robot: Robot, state: list[np.ndarray]) -> Any:
    peer = PinocchioPeer(robot, state[0][0])
    pool = peer.pin.ModelPool(peer.model, 1)
    q, v, a = (np.asfortranarray(x.T) for x in state)
    return partial(peer.pin.rneaInParallel, 1, pool, q, v, a, np.empty_like(q, order="F"))


def _numpy(robot: Robot, state: list[np.ndarray]) -> np.ndarray:
    def call(*scalars: Any) -> Any:
        *values, fn = scalars
        return equation.inverse_dynamics(robot.chain, *values, fn=fn)

    return evaluate(call, state, [1, 1, 1], (robot.n,), ("q", "qd", "qdd"))


def _threads(robot: Robot, rng: Any) -> Figure:
    """One and two threads on a batch larger than the caches."""
    state = [rng.normal(size=(LARGE, robot.n)) for _ in range(3)]
    out, name = np.empty((LARGE, robot.n)), "inverse_dynamics"
    two, one = (partial(robot.inverse_dynamics, *state, threads=n, out=out) for n in (2, 1))
    few = [a[:64] for a in state]
    error = worst_difference(robot, name, few, two()[:64])
    return timed(
        BATCH, f"{name} x {LARGE}, two threads", robot.name, two, one, peer="one thread",
        target=1.8, error=error, each=LARGE, rounds=9,
    )  # fmt: skip


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
    return Figure(BATCH, "two processes of plain Python", "", both, "one process", alone)


# how the time of a call grows with the number of joints

JOINTS = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
GROWING = ("inverse_dynamics", "forward_dynamics")


def chain_of(n: int) -> Robot:
    """n copies of one general link."""
    body: Any = {"mass": 1.0, "com": (0.1, 0.02, 0.03)}
    body["inertia"] = (0.1, 0.12, 0.11, 0.01, 0.02, 0.015)
    alphas = (math.pi / 2, -math.pi / 2, 0.0)
    links = [Link(a=0.1, d=0.2, alpha=alphas[i % 3], **body) for i in range(n)]
    return Robot.from_dh(f"chain{n}", convention="standard", links=links)


def growth(joints: tuple[int, ...] = JOINTS) -> dict[str, dict[int, float]]:
    """Seconds of one call for each kernel and each length."""
    times: dict[str, dict[int, float]] = {name: {} for name in GROWING}
    for n in joints:
        robot = chain_of(n)
        state = list(np.random.default_rng(n).normal(size=(3, n)))
        for name in GROWING:
            method = getattr(robot, name)
            method(*state)
            (times[name][n],) = together(direct(method, state), rounds=5, seconds=0.005)
    return times


def slope(times: dict[int, float]) -> float:
    """Exponent of the growth between the longest chain and one half as long."""
    last = max(times)
    half = min(times, key=lambda n: abs(n - last / 2))
    return math.log(times[last] / times[half]) / math.log(last / half)
