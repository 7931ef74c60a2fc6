"""Our own methods against each other: every one is a second opinion on the others."""

from collections.abc import Callable

import numpy as np

from ..dynamics import equation
from ..dynamics.methods import FORWARD_METHODS, INVERSE_METHODS, MASS_MATRICES
from ..errors import DynamisError
from ..robot import Robot
from ..spatial.functions import MATH
from .row import Row, first_line, relative_difference
from .states import States

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
