"""The agreement table of a robot: every method and every peer, with the worst difference seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import checked, is_word, whole
from ..compile.kernels import FORWARD_METHODS, INVERSE_METHODS, MASS_MATRICES
from ..dynamics import equation
from ..errors import DynamisError, OptionError, did_you_mean, shown
from ..robot import Robot
from ..spatial.functions import MATH
from .peers import PEERS, peer_rows
from .row import Row, States, first_line, random_states, relative_difference

# our own methods against each other: every one is a second opinion on the others

LIMIT = 1e-10
INVERSE, FORWARD, MASS = "newton-euler", "walker-orin-3", "walker-orin-3"


def own_rows(robot: Robot, states: States) -> list[Row]:
    """Every inverse, forward and mass-matrix method, the whole equation, and the regressor."""
    s = states
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd)
    return [
        *_inverse(robot, s, tau),
        *_mass_matrices(robot, s),
        _row("equation of motion", "inverse dynamics", lambda: _terms(robot, s), tau),
        _row("regressor", "inverse dynamics", lambda: _linear(robot, s), tau),
        *_forward(robot, s, tau),
    ]


def _row(source: str, quantity: str, value: Callable[[], np.ndarray], reference: np.ndarray) -> Row:
    """The comparison, or the method's own words why it does not apply to this robot."""
    try:
        found = value()
    except DynamisError as error:
        return Row(source, quantity, None, LIMIT, f"does not apply: {first_line(error)}")
    return Row(source, quantity, relative_difference(found, reference), LIMIT)


def _inverse(robot: Robot, s: States, tau: np.ndarray) -> list[Row]:
    pushed = robot.inverse_dynamics(s.q, s.qd, s.qdd, wrench=s.wrench)
    rows = []
    for method in INVERSE_METHODS:
        if method == INVERSE:
            continue
        for name, wrench, reference in (("", None, tau), (", wrench", s.wrench, pushed)):
            rows.append(
                _row(
                    method,
                    f"inverse dynamics{name}",
                    lambda m=method, w=wrench: robot.inverse_dynamics(
                        s.q, s.qd, s.qdd, method=m, wrench=w
                    ),
                    reference,
                )
            )
    return rows


def _mass_matrices(robot: Robot, s: States) -> list[Row]:
    reference = robot.mass_matrix(s.q)
    others = [method for method in MASS_MATRICES if method != MASS]
    return [
        _row(m, "mass matrix", lambda m=m: _mass_matrix(robot, s.q, m), reference) for m in others
    ]


def _mass_matrix(robot: Robot, q: np.ndarray, method: str) -> np.ndarray:
    chain = robot.chain
    return np.array([equation.mass_matrix(chain, x.tolist(), MATH, method) for x in q])


def _terms(robot: Robot, s: States) -> np.ndarray:
    """M qdd + C qd + g + friction"""
    M, C = robot.mass_matrix(s.q), robot.coriolis_matrix(s.q, s.qd)
    moving = np.einsum("sij,sj->si", M, s.qdd) + np.einsum("sij,sj->si", C, s.qd)
    return moving + robot.gravity_torque(s.q) + robot.friction_torque(s.qd)


def _linear(robot: Robot, s: States) -> np.ndarray:
    return robot.regressor(s.q, s.qd, s.qdd) @ robot.parameters.values


def _forward(robot: Robot, s: States, tau: np.ndarray) -> list[Row]:
    """Each method returns the accelerations that made tau, and what the reference method gives."""
    rows = []
    for method in FORWARD_METHODS:

        def qdd(m: str = method) -> np.ndarray:
            return robot.forward_dynamics(s.q, s.qd, tau, method=m)

        rows.append(_row(method, "forward(inverse) = identity", qdd, s.qdd))
        if method != FORWARD and rows[-1].compared:
            reference = robot.forward_dynamics(s.q, s.qd, tau, method=FORWARD)
            rows.append(_row(method, "forward dynamics", qdd, reference))
    return rows


SAMPLES, MOST = 20, 100_000


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
    unknown = [name for name in names if not is_word(name, PEERS)]
    if unknown:
        raise OptionError(
            f"peer {shown(unknown[0])} does not exist", did_you_mean(unknown[0], PEERS)
        )
    whole(samples, "samples", most=MOST)
    whole(seed, "seed", 0)
    states = random_states(robot, samples, seed)
    rows = own_rows(robot, states)
    for name in names:
        rows += peer_rows(robot, states, name)
    return AgreementTable(robot.name, tuple(rows), samples, seed)
