"""Runs made by hand, as any source of runs would offer them."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

import dynamis as dy


@dataclass
class FakeRun:
    robot: Any
    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    reference: Any = None
    error: Any = None
    energy: Any = None
    events: list = field(default_factory=list)
    stuck: Any = None


def waving(robot, duration=1.0, count=101, members=0, reference=True):
    """A smooth motion that follows a reference with a small error."""
    if isinstance(robot, str):
        robot = dy.load(robot)
    t = np.linspace(0.0, duration, count)
    w = 2.0 + 0.3 * np.arange(robot.n)
    q, qd, qdd = 0.6 * np.sin(w * t[:, None]), 0.6 * w * np.cos(w * t[:, None]), None
    qdd = -(w**2) * q
    wanted = SimpleNamespace(q=q + 0.01, qd=qd - 0.02, qdd=qdd) if reference else None
    tau = robot.inverse_dynamics(q, qd, qdd)
    kinetic, potential = robot.kinetic_energy(q, qd), robot.potential_energy(q)
    energy = SimpleNamespace(kinetic=kinetic, potential=potential, total=kinetic + potential)
    if members:
        spread = 1.0 + 0.05 * np.linspace(-1, 1, members)[:, None, None]
        q, qd, tau, energy = spread * q, spread * qd, spread * tau, None
    error = q - wanted.q if reference else None
    return FakeRun(robot, t, q, qd, tau, wanted, error, energy)


def falling(robot, duration=2.0, dt=2e-3, q0=None):
    """Released from rest without torque, by RK4."""
    robot = dy.load(robot) if isinstance(robot, str) else robot
    zero = np.zeros(robot.n)

    def rate(x):
        q, qd = np.split(x, 2)
        return np.concatenate([qd, robot.forward_dynamics(q, qd, zero)])

    x = np.concatenate([zero + 0.3 if q0 is None else np.asarray(q0), zero])
    states = [x]
    count = round(duration / dt)
    for _ in range(count):
        k1 = rate(x)
        k2 = rate(x + dt / 2 * k1)
        k3 = rate(x + dt / 2 * k2)
        k4 = rate(x + dt * k3)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        states.append(x)
    q, qd = np.split(np.array(states), 2, axis=1)
    t = np.arange(count + 1) * dt
    kinetic, potential = robot.kinetic_energy(q, qd), robot.potential_energy(q)
    energy = SimpleNamespace(kinetic=kinetic, potential=potential, total=kinetic + potential)
    return FakeRun(robot, t, q, qd, np.zeros_like(q), energy=energy)
