"""Small arms and logs of them whose truth is known."""

from dataclasses import replace

import numpy as np

import dynamis as dy


def arm(**friction):
    """Two links in a vertical plane, slender rods with friction and drives."""
    resist = dy.Friction(viscous=0.6, coulomb=1.2, offset=0.15, **friction)
    links = [
        dy.Link(
            a=length, mass=mass, com=(-length / 2, 0, 0),
            inertia=(0.002, mass * length**2 / 12, mass * length**2 / 12),
            friction=resist, drive=dy.Drive(gear=50, rotor_inertia=1e-4),
        )
        for length, mass in ((0.5, 4.0), (0.4, 2.5))
    ]  # fmt: skip
    return dy.Robot.from_dh("rods", convention="standard", gravity=(0, -9.81, 0), links=links)


def series(seed, n=2, seconds=10.0, rate=200.0, harmonics=5, size=0.5):
    """A random Fourier motion on an even grid: t, q, qd, qdd."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(seconds * rate)) / rate
    w = 2 * np.pi / seconds * np.arange(1, harmonics + 1)
    a, b = rng.normal(size=(2, n, harmonics)) * size / np.sqrt(np.arange(1, harmonics + 1))
    phase = w[:, None] * t
    q = a @ np.sin(phase) + b @ np.cos(phase)
    qd = (a * w) @ np.cos(phase) - (b * w) @ np.sin(phase)
    qdd = -(a * w * w) @ np.sin(phase) - (b * w * w) @ np.cos(phase)
    return t, q.T, qd.T, qdd.T


def log_of(robot, seed=0, noise=0.02, **options):
    """What the arm needs for a random motion, with white noise on the torque."""
    t, q, qd, qdd = series(seed, robot.n, **options)
    rng = np.random.default_rng([seed, 7])
    tau = robot.inverse_dynamics(q, qd, qdd) + noise * rng.normal(size=q.shape)
    return dy.Log(t=t, q=q, qd=qd, tau=tau, name=f"motion {seed}")


def coupled():
    """An arm whose second motor turns with the first joint: both share one law of friction."""
    drives = [dy.Drive(gear=10.0, viscous=0.02), dy.Drive(gear=10.0, viscous=0.02)]
    own = dy.Friction(viscous=1.0, coulomb=0.5, law="smooth", ratio=2.0)
    links = [
        replace(x, drive=d, friction=own) for x, d in zip(arm().model.links, drives, strict=True)
    ]
    return dy.Robot(
        replace(arm().model, links=tuple(links), gear_matrix=((10.0, 0.0), (5.0, 10.0)))
    )
