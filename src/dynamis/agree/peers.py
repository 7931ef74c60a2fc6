"""Comparison with other engines, quantity by quantity."""

from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from ..errors import SingularError
from ..interop.rigid_tree import NotRepresentableError, slides
from ..model.friction import Friction
from ..robot import Robot
from .mujoco_peer import MujocoPeer
from .pinocchio_peer import PinocchioPeer
from .row import Row, States, first_line, relative_difference
from .toolbox_peer import has_toolbox_friction, toolbox_peer

LIMIT = 1e-9
SMALL_PART = 1e-3  # gravity and Coriolis torques count from this part of the whole torque on


class Peer(NamedTuple):
    """Module of an engine, and the construction of its model."""

    module: str
    package: str
    build: Callable[[Robot, np.ndarray], Any]
    has_friction: Callable[[Robot], bool]


PEERS = {
    "pinocchio": Peer("pinocchio", "pin", PinocchioPeer, lambda robot: False),
    "mujoco": Peer("mujoco", "mujoco", MujocoPeer, lambda robot: False),
    "robotics-toolbox": Peer(
        "roboticstoolbox", "roboticstoolbox-python", toolbox_peer, has_toolbox_friction
    ),
}


class Quantity(NamedTuple):
    """A peer's method, the state it takes, and what we say."""

    method: str
    arguments: tuple[str, ...]
    ours: Callable[[Robot, dict[str, np.ndarray]], np.ndarray]
    part_of_torque: bool = False


def _coriolis(robot: Robot, s: dict[str, np.ndarray]) -> np.ndarray:
    return np.einsum("sij,sj->si", robot.coriolis_matrix(s["q"], s["qd"]), s["qd"])


def _forward(robot: Robot, s: dict[str, np.ndarray]) -> np.ndarray:
    return robot.forward_dynamics(s["q"], s["qd"], s["tau"])


QUANTITIES = {
    "tool pose": Quantity("fk", ("q",), lambda r, s: r.fk(s["q"])),
    "Jacobian": Quantity("jacobian", ("q",), lambda r, s: r.jacobian(s["q"])),
    "inverse dynamics": Quantity("inverse_dynamics", ("q", "qd", "qdd"), lambda r, s: s["tau"]),
    "mass matrix": Quantity("mass_matrix", ("q",), lambda r, s: r.mass_matrix(s["q"])),
    "Coriolis torque": Quantity("coriolis_torque", ("q", "qd"), _coriolis, part_of_torque=True),
    "gravity torque": Quantity(
        "gravity_torque", ("q",), lambda r, s: r.gravity_torque(s["q"]), part_of_torque=True
    ),
    "forward dynamics": Quantity("forward_dynamics", ("q", "qd", "tau"), _forward),
}


def installed(name: str) -> bool:
    """Whether a peer can be imported here."""
    return find_spec(PEERS[name].module) is not None


def peer_rows(robot: Robot, states: States, name: str) -> list[Row]:
    """Every quantity by one peer against ours, or one row that says why not."""
    peer = PEERS[name]
    if not installed(name):
        return [Row(name, "all", None, LIMIT, f"not installed: pip install {peer.package}")]
    source = f"{name} {metadata.version(peer.package)}"
    twin = robot if peer.has_friction(robot) else without_friction(robot)
    try:
        theirs = _engines(peer, twin, states.q)
    except NotRepresentableError as error:
        return [Row(source, "all", None, LIMIT, first_line(error))]
    s = {"q": states.q, "qd": states.qd, "qdd": states.qdd}
    s["tau"] = twin.inverse_dynamics(s["q"], s["qd"], s["qdd"])
    return [_row(source, what, theirs, twin, s) for what in QUANTITIES]


def _engines(peer: Peer, robot: Robot, q: np.ndarray) -> list[Any]:
    """One engine per sample; they are one and the same unless a centre of mass slides."""
    if slides(robot.chain):
        return [peer.build(robot, x) for x in q]
    return [peer.build(robot, q[0])] * len(q)


def _row(source: str, what: str, theirs: list, robot: Robot, s: dict[str, np.ndarray]) -> Row:
    quantity = QUANTITIES[what]
    try:
        ours = quantity.ours(robot, s)
    except SingularError as error:
        return Row(source, what, None, LIMIT, f"not defined: {first_line(error)}")
    states = zip(*(s[name] for name in quantity.arguments), strict=True)
    values = [
        getattr(engine, quantity.method)(*state)
        for engine, state in zip(theirs, states, strict=True)
    ]
    least = SMALL_PART * float(np.abs(s["tau"]).max()) if quantity.part_of_torque else 0.0
    return Row(source, what, relative_difference(ours, np.array(values), least), LIMIT)


def without_friction(robot: Robot) -> Robot:
    """The arm without friction."""
    links = []
    for link in robot.model.links:
        drive = link.drive
        if drive is not None:
            drive = replace(drive, viscous=0.0, coulomb=(0.0, 0.0))
        links.append(replace(link, friction=Friction(), drive=drive))
    return Robot(replace(robot.model, links=tuple(links)))
