"""The agreement table of a robot: every method and every peer, with the worst difference seen."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from ..arguments import checked, one_of, strict, whole
from ..compile.kernels import FORWARD_METHODS, INVERSE_METHODS, MASS_MATRICES
from ..dynamics import equation
from ..errors import DynamisError, ShapeError, SingularError, shown
from ..interop.rigid_tree import NotRepresentableError, slides
from ..model.model import NO_FORCES
from ..robot import Robot
from ..spatial.functions import MATH
from .closed import (
    ConstrainedMujoco,
    ConstrainedPinocchio,
    closed_states,
    dense_forward_dynamics,
)
from .peers import PEERS, installed, without_friction

# random states at which methods and peers are compared

RANGES = {"revolute": (-np.pi, np.pi), "prismatic": (0.1, 1.0)}


@dataclass(frozen=True)
class SampledStates:
    """Positions, velocities and accelerations (samples, n), and tool wrenches (samples, 6)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    wrench: np.ndarray


def random_states(robot: Robot, samples: int, seed: int) -> SampledStates:
    """q uniform over a turn or over 0.1 to 1 m; qd, qdd and wrench normal."""
    rng = np.random.default_rng(seed)
    low, high = np.array([RANGES[kind] for kind in robot.joint_kinds]).T
    q = rng.uniform(low, high, (samples, robot.n))
    qd, qdd, wrench = (rng.standard_normal((samples, size)) for size in (robot.n, robot.n, 6))
    return SampledStates(q, qd, qdd, wrench)


@strict
@dataclass(frozen=True)
class Row:
    """A method or peer, a quantity, the worst relative difference, or why there is none."""

    source: str
    quantity: str
    difference: float | None
    limit: float
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether the difference is within the limit, or there is nothing to compare."""
        return self.difference is None or self.difference <= self.limit

    @property
    def compared(self) -> bool:
        """Whether there is a number."""
        return self.difference is not None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for machines."""
        return {**asdict(self), "ok": self.ok}


def relative_difference(a: np.ndarray, b: np.ndarray, least: float = 0.0) -> float:
    """max |a - b| / max(max |b|, least) over all samples and entries; NaN is infinitely wrong.

    `least` keeps a quantity that may vanish altogether from being measured against rounding.
    """
    if np.shape(a) != np.shape(b):
        raise ShapeError(f"shapes {np.shape(a)} and {np.shape(b)} differ, expected the same")
    difference = float(np.max(np.abs(a - b), initial=0.0))
    if not np.isfinite(difference):
        return float("inf")
    scale = max(float(np.max(np.abs(b), initial=0.0)), least)
    return difference / scale if scale > 0 else difference


# our own methods against each other: every one is a second opinion on the others

LIMIT = 1e-10
INVERSE, FORWARD, MASS = "newton-euler", "walker-orin-3", "walker-orin-3"


def own_rows(robot: Robot, states: SampledStates) -> list[Row]:
    """Every inverse, forward and mass-matrix method, the whole equation, and the regressor."""
    s = states
    inverse = partial(robot.inverse_dynamics, s.q, s.qd, s.qdd)
    tau, pushed, M = inverse(), inverse(wrench=s.wrench), robot.mass_matrix(s.q)
    forward = partial(robot.forward_dynamics, s.q, s.qd, tau)
    rows = []
    for m in (m for m in INVERSE_METHODS if m != INVERSE):
        found = partial(inverse, method=m)
        rows.append(_row(m, "inverse dynamics", found, tau))
        rows.append(_row(m, "inverse dynamics, wrench", partial(found, wrench=s.wrench), pushed))
    for m in (m for m in MASS_MATRICES if m != MASS):
        rows.append(_row(m, "mass matrix", partial(_mass_matrix, robot, s.q, m), M))
    rows.append(_row("equation of motion", "inverse dynamics", lambda: _terms(robot, s), tau))
    rows.append(_row("regressor", "inverse dynamics", lambda: _linear(robot, s), tau))
    for m in FORWARD_METHODS:  # the accelerations that made tau, and what the reference gives
        rows.append(_row(m, "forward(inverse) = identity", partial(forward, method=m), s.qdd))
        if m != FORWARD and rows[-1].compared:
            found = partial(forward, method=m)
            rows.append(_row(m, "forward dynamics", found, forward(method=FORWARD)))
    return rows


def _row(source: str, quantity: str, value: Callable[[], np.ndarray], reference: np.ndarray) -> Row:
    """The comparison, or the method's own words why it does not apply to this robot."""
    try:
        found = value()
    except DynamisError as error:
        return Row(source, quantity, None, LIMIT, f"does not apply: {error.message}")
    return Row(source, quantity, relative_difference(found, reference), LIMIT)


def _mass_matrix(robot: Robot, q: np.ndarray, method: str) -> np.ndarray:
    return np.array([equation.mass_matrix(robot.chain, x, MATH, method) for x in q.tolist()])


def _terms(robot: Robot, s: SampledStates) -> np.ndarray:
    """M qdd + C qd + g + friction + springs with their damping"""
    M, C = robot.mass_matrix(s.q), robot.coriolis_matrix(s.q, s.qd)
    moving = np.einsum("sij,sj->si", M, s.qdd) + np.einsum("sij,sj->si", C, s.qd)
    total = moving + robot.gravity_torque(s.q) + sum(robot._effect_torques(s.q, s.qd).values())
    return total + robot.load_friction(s.q, s.qd, s.qdd) if robot.rubs_under_load else total


def _linear(robot: Robot, s: SampledStates) -> np.ndarray:
    p = robot.parameters.values
    found = robot.regressor(s.q, s.qd, s.qdd) @ p
    if robot.rubs_under_load:
        found = found + robot.load_friction(s.q, s.qd, s.qdd)
    if not robot.model.own_laws:
        return found
    rest = robot.kernel("inverse_dynamics", parameters="argument")  # what no parameter multiplies
    return found + rest(s.q, s.qd, s.qdd, 0.0 * p)


# peers against us, quantity by quantity

PEER_LIMIT = 1e-9
SMALL_PART = 1e-3  # gravity and Coriolis torques count from this part of the whole torque on
Numbers = dict[str, np.ndarray]


class PeerQuantity(NamedTuple):
    """A peer's method, the state it takes, what we say, and its answer taken from x = K q to q."""

    method: str
    arguments: tuple[str, ...]
    ours: Callable[[Robot, Numbers], np.ndarray]
    back: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda K, tau: K.T @ tau
    part_of_torque: bool = False


def _coriolis(robot: Robot, s: Numbers) -> np.ndarray:
    return np.einsum("sij,sj->si", robot.coriolis_matrix(s["q"], s["qd"]), s["qd"])


QUANTITIES = {
    "tool pose": PeerQuantity("fk", ("q",), lambda r, s: r.fk(s["q"]), lambda K, T: T),
    "Jacobian": PeerQuantity(
        "jacobian", ("q",), lambda r, s: r.jacobian(s["q"]), lambda K, J: J @ K
    ),
    "inverse dynamics": PeerQuantity("inverse_dynamics", ("q", "qd", "qdd"), lambda r, s: s["tau"]),
    "mass matrix": PeerQuantity(
        "mass_matrix", ("q",), lambda r, s: r.mass_matrix(s["q"]), lambda K, M: K.T @ M @ K
    ),
    "Coriolis torque": PeerQuantity("coriolis_torque", ("q", "qd"), _coriolis, part_of_torque=True),
    "gravity torque": PeerQuantity(
        "gravity_torque", ("q",), lambda r, s: r.gravity_torque(s["q"]), part_of_torque=True
    ),
    "forward dynamics": PeerQuantity(
        "forward_dynamics",
        ("q", "qd", "tau"),
        lambda r, s: r.forward_dynamics(s["q"], s["qd"], s["tau"]),
    ),
}


def peer_rows(robot: Robot, states: SampledStates, name: str) -> list[Row]:
    """Every quantity by one peer against ours, or one row that says why not."""
    peer = PEERS[name]
    if not installed(name):
        return [Row(name, "all", None, PEER_LIMIT, f"not installed: pip install {peer.package}")]
    source = f"{name} {metadata.version(peer.package)}"
    bare = Robot(replace(robot.model, **NO_FORCES))  # no peer is given these
    twin = bare if peer.has_friction(bare) else without_friction(bare)
    try:  # one engine per sample where a centre of mass slides
        theirs = [peer.build(twin, x) for x in (states.q if slides(twin.chain) else states.q[:1])]
    except NotRepresentableError as error:
        return [Row(source, "all", None, PEER_LIMIT, error.message)]
    theirs *= len(states.q) // len(theirs)
    s = {"q": states.q, "qd": states.qd, "qdd": states.qdd}
    s["tau"] = twin.inverse_dynamics(s["q"], s["qd"], s["qdd"])
    return [_peer_row(source, what, theirs, twin, s) for what in QUANTITIES]


def _peer_row(source: str, what: str, theirs: list, robot: Robot, s: Numbers) -> Row:
    quantity = QUANTITIES[what]
    try:
        ours = quantity.ours(robot, s)
    except SingularError as error:
        return Row(source, what, None, PEER_LIMIT, f"not defined: {error.message}")
    states = zip(*(s[name] for name in quantity.arguments), strict=True)
    values = [_answer(e, what, *state) for e, state in zip(theirs, states, strict=True)]
    least = SMALL_PART * float(np.abs(s["tau"]).max()) if quantity.part_of_torque else 0.0
    return Row(source, what, relative_difference(ours, np.array(values), least), PEER_LIMIT)


def _answer(engine: Any, what: str, q: np.ndarray, *rates: np.ndarray) -> np.ndarray:
    """A peer's answer in coordinates q; of tied joints M_q qdd = tau - bias is solved."""
    quantity, K = QUANTITIES[what], engine.K
    if K is None:
        return getattr(engine, quantity.method)(q, *rates)
    if what == "forward dynamics":
        qd, tau = rates
        bias = _answer(engine, "inverse dynamics", q, qd, np.zeros_like(q))
        return np.linalg.solve(_answer(engine, "mass matrix", q), tau - bias)
    there = getattr(engine, quantity.method)(K @ q + engine.x0, *(K @ rate for rate in rates))
    return quantity.back(K, there)


# closed mechanisms

CLOSED_PEERS = {"pinocchio": ConstrainedPinocchio, "mujoco": ConstrainedMujoco}


def closed_rows(robot: Robot, s: Numbers, names: Sequence[str]) -> list[Row]:
    """Dense algebra, laws and peers of a closed mechanism, at states that close."""
    q, qd, qdd, tau, what = s["q"], s["qd"], s["qdd"], s["tau"], "forward dynamics"
    if not len(q):
        reason = "no state that closes was found"
        return [Row("closures", "all", None, LIMIT, reason)]
    found = robot.forward_dynamics(q, qd, tau)
    dense = dense_forward_dynamics(robot, q, qd, tau)
    rows = [Row("dense algebra", what, relative_difference(found, dense), PEER_LIMIT)]
    if set(robot.independent) <= set(robot.active):
        given = robot.inverse_dynamics(q, qd, qdd)
        again = partial(robot.forward_dynamics, q, qd, given)
        rows.append(_row("projection", "forward(inverse) = identity", again, qdd))
        power = np.sum(robot.without_closures().inverse_dynamics(q, qd, qdd) * qd, axis=1)
        driven = partial(np.sum, given * qd, axis=1)
        rows.append(_row("virtual work", "power of the drives", driven, power))
    M, v = robot.mass_matrix(q), s["v"]
    energy = partial(np.einsum, "si,sij,sj->s", 0.5 * v, M, v)
    rows.append(_row("mass matrix", "kinetic energy", energy, robot.kinetic_energy(q, qd)))
    bare = without_friction(Robot(replace(robot.model, **NO_FORCES)))
    ours = bare.forward_dynamics(q, qd, tau)
    for name in names:
        rows.append(_closed_peer_row(bare, name, s, ours))
    return rows


def _closed_peer_row(robot: Robot, name: str, s: Numbers, ours: np.ndarray) -> Row:
    """Forward dynamics by one peer, or why not."""
    package = PEERS[name].package
    if not installed(name):
        return Row(name, "all", None, PEER_LIMIT, f"not installed: pip install {package}")
    source = f"{name} {metadata.version(package)}"
    if name not in CLOSED_PEERS:
        return Row(source, "all", None, PEER_LIMIT, "not representable: it has closures")
    try:
        engine = CLOSED_PEERS[name](robot)
    except NotRepresentableError as error:
        return Row(source, "all", None, PEER_LIMIT, error.message)
    states = zip(s["q"], s["qd"], s["tau"], strict=True)
    theirs = np.array([engine.forward_dynamics(*state) for state in states])
    return Row(source, "forward dynamics", relative_difference(ours, theirs), PEER_LIMIT)


SAMPLES, MOST = 20, 100_000


@strict
@dataclass(frozen=True)
class AgreementTable:
    """Rows of one robot.

    The difference of a row is max |a - b| / max |b| over all samples and entries, b being the
    reference method or the peer; gravity and Coriolis torques, which may vanish, are measured
    against at least a thousandth of the largest torque.
    """

    robot: str
    rows: tuple[Row, ...]
    samples: int
    seed: int

    @property
    def ok(self) -> bool:
        """Whether every difference is within its limit."""
        return all(row.ok for row in self.rows)

    @checked
    def of(self, source: str) -> tuple[Row, ...]:
        """The rows of one method or peer (a peer's name without its version)."""
        return tuple(r for r in self.rows if source in (r.source, r.source.split(" ")[0]))

    def as_dict(self) -> dict[str, Any]:
        """Plain data for machines."""
        return {
            "robot": self.robot,
            "samples": self.samples,
            "seed": self.seed,
            "ok": self.ok,
            "rows": [row.as_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        lines = [f"{self.robot}: {'agrees' if self.ok else 'DISAGREES'}"]
        for row in self.rows:
            value = row.reason if row.difference is None else f"{row.difference:.1e}"
            lines.append(f"  {row.source:24} {row.quantity:28} {value}")
        return "\n".join(lines)


@checked
def agreement(
    robot: Robot, samples: int = SAMPLES, seed: int = 0, peers: Sequence[str] | None = None
) -> AgreementTable:
    """Compare every method and every installed peer on random states of one robot."""
    names = tuple(PEERS) if peers is None else tuple(peers)
    for name in names:
        one_of(name, PEERS, f"peer {shown(name)} does not exist")
    whole(samples, "samples", most=MOST)
    whole(seed, "seed", 0)
    if robot.model.closures:
        rows = closed_rows(robot, closed_states(robot, samples, seed), names)
        return AgreementTable(robot.name, tuple(rows), samples, seed)
    states = random_states(robot, samples, seed)
    rows = own_rows(robot, states)
    for name in names:
        rows += peer_rows(robot, states, name)
    return AgreementTable(robot.name, tuple(rows), samples, seed)
