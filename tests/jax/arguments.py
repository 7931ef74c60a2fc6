"""Arguments for every function of dynamis.jax, away from where derivatives do not exist."""

import numpy as np

import dynamis.jax as dj

STATE, TORQUE = ("q", "qd", "qdd"), ("q", "qd", "tau")
FUNCTIONS = {
    "inverse_dynamics": (*STATE, "parameters"),
    "forward_dynamics": (*TORQUE, "parameters"),
    "fk": ("q", "parameters"),
    "jacobian": ("q", "parameters"),
    "mass_matrix": ("q", "parameters"),
    "gravity_torque": ("q", "parameters"),
    "regressor": STATE,
    "step": (*TORQUE, "dt", "parameters"),
}


def arguments(name: str, robot, rng, *leading: int, parameters=True) -> list[np.ndarray]:
    """One value per argument; parameters with the leading axes too."""
    found = []
    for argument in FUNCTIONS[name]:
        if argument == "parameters":
            factors = rng.uniform(0.9, 1.1, (*leading, len(robot.parameters.values)))
            found += [robot.parameters.values * factors] if parameters else []
        elif argument == "dt":
            found.append(rng.uniform(0.005, 0.01, leading))
        else:
            found.append(rng.uniform(0.2, 1.0, (*leading, robot.n)))
    return found


def function(name: str, robot):
    """The function of one robot, its arguments by position."""

    def call(*given):
        return getattr(dj, name)(robot, *given)

    return call


def results(found) -> list:
    return list(found) if isinstance(found, tuple) else [found]


def equal(found, expected) -> bool:
    """Bit for bit, shapes and types too."""
    pairs = list(zip(results(found), results(expected), strict=True))
    return all(a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def close(found, expected, rtol=1e-9) -> None:
    for a, b in zip(results(found), results(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * (1.0 + np.abs(b).max(initial=0.0)))
