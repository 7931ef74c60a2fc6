"""One call from Python: ours against Pinocchio, MuJoCo, Robotics Toolbox, dynibo and CasADi."""

import math
import tempfile
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..agree.mujoco_peer import MujocoPeer
from ..agree.pinocchio_peer import PinocchioPeer
from ..agree.toolbox_peer import toolbox_peer
from ..compile.interpreter import interpret
from ..model.link import Link
from ..robot import Robot
from .table import Figure, together

# how far compiled results are from the same program in extended precision


def worst_difference(robot: Robot, name: str, arguments: list[np.ndarray], got: Any) -> float:
    """max |got - exact| / max |exact| over every result."""
    results = got if isinstance(got, tuple) else (got,)
    exact = interpret(robot.program(name), arguments, np.longdouble)
    worst = 0.0
    for a, b in zip(results, exact, strict=True):
        scale = float(np.abs(b).max()) or 1.0
        worst = max(worst, float(np.abs(a - b).max()) / scale)
    return worst


GROUP = "one call"
TARGETS = {
    "inverse_dynamics": 3.0,
    "forward_dynamics": 5.0,
    "inverse_dynamics_derivatives": 5.0,
    "regressor": 5.0,
}


def against_pinocchio(robot: Robot, state: list[np.ndarray]) -> Iterator[Figure]:
    """The four kernels with a target, and the mass matrix."""
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
        given = arguments.get(name, state)
        method = getattr(robot, name)
        got = method(*given)
        ours, other = together(direct(method, given), call)
        error = worst_difference(robot, name, given, got)
        yield Figure(GROUP, name, robot.name, ours, "Pinocchio", other, TARGETS.get(name), error)


def direct(method: Any, arguments: list[np.ndarray]) -> Any:
    """A call written out, as the peers' are: unpacking a list would cost as much as a kernel."""
    if len(arguments) == 1:
        (q,) = arguments
        return lambda: method(q)
    if len(arguments) == 2:
        q, qd = arguments
        return lambda: method(q, qd)
    q, qd, x = arguments
    return lambda: method(q, qd, x)


def against_others(robot: Robot, state: list[np.ndarray]) -> Iterator[Figure]:
    """Inverse dynamics against whatever else is installed."""
    method = robot.inverse_dynamics
    error = worst_difference(robot, "inverse_dynamics", state, method(*state))
    for peer, call in _others(robot, state):
        ours, other = together(direct(method, state), call, rounds=5)
        yield Figure(GROUP, "inverse_dynamics", robot.name, ours, peer, other, None, error)


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
    mujoco: Any = import_module("mujoco")
    from ..errors import DynamisError

    try:
        peer: Any = MujocoPeer(robot, state[0])
    except DynamisError:
        return  # an arm MuJoCo cannot represent, such as one with a massless link
    model, data = peer.model, peer.data
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


# how the time of a call grows with the number of joints

JOINTS = (2, 4, 6, 8, 12, 16, 24, 32, 48, 64)
KERNELS = ("inverse_dynamics", "forward_dynamics")


def chain_of(n: int) -> Robot:
    """n copies of one general link."""
    links = [
        Link(
            a=0.1,
            d=0.2,
            alpha=(math.pi / 2, -math.pi / 2, 0.0)[i % 3],
            mass=1.0,
            com=(0.1, 0.02, 0.03),
            inertia=(0.1, 0.12, 0.11, 0.01, 0.02, 0.015),
        )
        for i in range(n)
    ]
    return Robot.from_dh(f"chain{n}", convention="standard", links=links)


def growth(joints: tuple[int, ...] = JOINTS) -> dict[str, dict[int, float]]:
    """Seconds of one call for each kernel and each length."""
    times: dict[str, dict[int, float]] = {name: {} for name in KERNELS}
    for n in joints:
        robot = chain_of(n)
        state = list(np.random.default_rng(n).normal(size=(3, n)))
        for name in KERNELS:
            method = getattr(robot, name)
            method(*state)
            (times[name][n],) = together(direct(method, state), rounds=5, seconds=0.005)
    return times


def slope(times: dict[int, float]) -> float:
    """Exponent of the growth between the longest chain and one half as long."""
    last = max(times)
    half = min(times, key=lambda n: abs(n - last / 2))
    return math.log(times[last] / times[half]) / math.log(last / half)
