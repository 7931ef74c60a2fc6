"""Forward dynamics of closed mechanisms against Pinocchio's constrained dynamics and MuJoCo."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..agree.closed import ConstrainedMujoco, ConstrainedPinocchio, closed_states
from ..agree.peers import without_friction
from ..agree.table import relative_difference
from ..interop.rigid_tree import NotRepresentableError
from ..model import catalogue
from ..model.closure import Closure
from ..model.link import Link
from ..robot import Robot, load
from .table import Figure, timed

GROUP = "closed mechanisms"
NAMES = ("delta", "gough-stewart")
LOOPS = (1, 2, 4, 8)
TARGET = 5.0
ACCURACY, MOST = 1e-10, 10  # of Pinocchio's iteration, as it is used


def loop_chain(loops: int) -> Robot:
    """Four-bars one upon the other: the rocker of each carries the next; one drive each."""
    links, closures = [], []

    def bar(name: str, parent: str | None, at: tuple, length: float, mass: float, **more: Any):
        inertia = (0.002, mass * length**2 / 12, mass * length**2 / 12)
        com = (length / 2, 0.0, 0.0)
        body: Any = {"mass": mass, "com": com, "inertia": inertia, "axis": (0.0, 0.0, 1.0)}
        links.append(Link(name=name, parent=parent, xyz=at, **body, **more))

    for k in range(loops):
        base = f"rocker{k}" if k else None
        crank, coupler, rocker = (f"{x}{k + 1}" for x in ("crank", "coupler", "rocker"))
        at, turn = ((0.15, 0.0, 0.0), (0.0, 0.0, 0.3)) if k else ((0.0,) * 3, (0.0,) * 3)
        bar(crank, base, at, 0.1, 3.0, rpy=turn)
        bar(coupler, crank, (0.1, 0.0, 0.0), 0.35, 0.5, passive=True)
        bar(rocker, base, (0.4, 0.0, 0.0), 0.3, 0.8, passive=True)
        ends = ({"xyz": (0.35, 0.0, 0.0)}, {"xyz": (0.3, 0.0, 0.0)})
        closures.append(Closure(kind="ball", between=(coupler, rocker), frames=ends))
    more: Any = {"closures": closures, "gravity": (0.0, -9.81, 0.0)}
    more["configurations"] = {"home": (0.7, -0.1, 1.5) * loops}
    return Robot.from_dh(f"four-bars-{loops}", convention="urdf", links=links, **more)


def closed_figures(loops: tuple[int, ...] = LOOPS) -> Iterator[Figure]:
    """Those of the catalogue that are there, then chains of loops, one call each.

    The error is the largest relative difference from the peer's accelerations, MuJoCo's at
    constraints that are exact; what is timed are its own soft ones.
    """
    # the peers have no Coulomb friction, or one of their own
    robots = [without_friction(load(name)) for name in NAMES if name in catalogue.names()]
    for robot in (*robots, *map(loop_chain, loops)):
        s = closed_states(robot, 1, 0)
        state = [s[name][0].copy() for name in ("q", "qd", "tau")]
        ours = robot.forward_dynamics(*state)
        for peer, engine, call in _peers(robot, state):
            theirs = engine.forward_dynamics(*state)
            error = relative_difference(ours, theirs)
            yield timed(
                GROUP, "forward_dynamics", robot.name, _direct(robot, state), call, peer=peer,
                target=TARGET, error=error,
            )  # fmt: skip


def _direct(robot: Robot, state: list[np.ndarray]) -> Callable[[], Any]:
    method, (q, qd, tau) = robot.forward_dynamics, state
    return lambda: method(q, qd, tau)


def _peers(robot: Robot, state: list[np.ndarray]) -> Iterator[tuple[str, Any, Callable[[], Any]]]:
    """Engines that hold the mechanism, and a call of each."""
    engines = {"pinocchio": ConstrainedPinocchio, "mujoco": ConstrainedMujoco}
    for module, build in engines.items():
        if find_spec(module) is None:
            continue
        try:
            engine: Any = build(robot)
        except NotRepresentableError:
            continue
        if module == "mujoco":
            yield "MuJoCo mj_forward", engine, _mujoco(engine, state)
        else:
            yield "Pinocchio constraintDynamics", engine, _pinocchio(engine, state)


def _pinocchio(engine: ConstrainedPinocchio, state: list[np.ndarray]) -> Callable[[], Any]:
    pin, model, data = engine.pin, engine.model, engine.data
    theirs = np.empty((3, len(engine.order)))
    theirs[:, engine.order] = state
    q, qd, tau = (row.copy() for row in theirs)
    held, rows, loose = engine.held, engine.rows, engine.settings(ACCURACY, MOST)
    return lambda: pin.constraintDynamics(model, data, q, qd, tau, held, rows, loose)


def _mujoco(engine: ConstrainedMujoco, state: list[np.ndarray]) -> Callable[[], Any]:
    q, qd, tau = state
    engine.place(q, qd, tau)
    forward, model, data = engine.mj.mj_forward, engine.model, engine.data
    return lambda: forward(model, data)
