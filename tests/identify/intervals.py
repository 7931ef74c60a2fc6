"""How often intervals hold the truth of arms whose torque has what no law of the fit describes.

    python -m tests.identify.intervals --count 100 --friction smooth

Every case is an arm of two or three links with gears, and a log of a motion of its own: ripple by
position, slow noise (1/f, or with one correlation time), white noise, and friction that stretches
before it slips (LuGre's bristles, or elements with memory). The truth is that of bodies and rotors,
of viscous friction, and of Coulomb friction at sliding: with memory, when every element slips.
"""

import argparse
import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

import dynamis as dy
from dynamis.robot.deflections import deflections

from .choices import drawn
from .motions import series

REACH = 1.96  # deviations on either side of an interval of 95 %
RIPPLES = (40.0, 200.0)  # of a turn of the joint over one period of ripple
TIMES = (0.2, 5.0)  # s, correlation times of slow noise
PRESLIDING = (5e-4, 5e-3)  # rad


class Sizes(NamedTuple):
    """Shares of each joint's torque: white noise, slow noise, ripple; and rad before it slips."""

    noise: float = 0.02
    drift: float = 0.03
    ripple: float = 0.04
    presliding: float = 2e-3


class Disturbed(NamedTuple):
    """An arm without friction, a log of it, and the friction that the log has, per joint."""

    robot: dy.Robot
    log: dy.Log
    viscous: np.ndarray
    coulomb: np.ndarray


class Errors(NamedTuple):
    """Errors of unknowns, kind by kind, and their deviations by noise alone and as reported."""

    kinds: np.ndarray
    off: np.ndarray
    noise: np.ndarray
    said: np.ndarray
    sources: np.ndarray

    @property
    def outside(self) -> np.ndarray:
        """Which are outside the interval reported."""
        return self.off > REACH * self.said


def bare(robot: dy.Robot) -> dy.Robot:
    """A robot whose joints and motors do not rub."""
    links = []
    for link in robot.model.links:
        drive = link.drive
        if drive is not None:
            drive = replace(drive, viscous=0.0, coulomb=(0.0, 0.0), efficiency=1.0)
        links.append(replace(link, friction=dy.Friction(), drive=drive))
    return dy.Robot(replace(robot.model, links=tuple(links)))


def disturbed(seed: int, described: dy.Robot | None = None, sizes: Sizes | None = None, **motion):
    """One case; `described` is the arm, else one is drawn with the sizes and the motion."""
    rng = np.random.default_rng([seed, 1])
    if described is None:
        described = drawn(rng)
        noise, drift, ripple = rng.uniform([0.005, 0.01, 0.02], [0.03, 0.05, 0.06])
        presliding = float(np.exp(rng.uniform(*np.log(PRESLIDING))))
        sizes = sizes or Sizes(noise, drift, ripple, presliding)
        motion = {"seconds": rng.uniform(10, 30), "harmonics": int(rng.integers(4, 9))} | motion
    robot, sizes = bare(described), sizes or Sizes()
    motion = {"seconds": 20.0, "harmonics": 6, "size": 0.45} | motion
    t, q, qd, qdd = series(seed, robot.n, **motion)
    rigid = robot.inverse_dynamics(q, qd, qdd)
    size = np.sqrt((rigid**2).mean(axis=0))
    size = np.maximum(size, 0.03 * size.max())
    viscous, coulomb = 0.1 * size, 0.15 * size
    tau = rigid + viscous * qd + coulomb * hysteresis(q, qd, t[1], sizes.presliding, seed)
    turns = np.exp(rng.uniform(*np.log(RIPPLES), size=robot.n))
    phase = rng.uniform(0, 2 * np.pi, size=robot.n)
    tau += sizes.ripple * size * (np.sin(turns * q) + 0.5 * np.sin(2 * turns * q + phase))
    tau += sizes.drift * size * slow(q.shape, t[1], rng, seed)
    tau += sizes.noise * size * rng.normal(size=q.shape)
    return Disturbed(robot, dy.Log(t=t, q=q, qd=qd, tau=tau), viscous, coulomb)


def hysteresis(q, qd, dt, presliding, seed):
    """Coulomb friction of size 1 that stretches first: LuGre or, of odd seeds, two elements."""
    if seed % 2:
        return 0.5 * sum(deflections(q, np.full(q.shape[1], presliding * k))[0] for k in (0.5, 1.5))
    z, torque = np.zeros(qd.shape[1]), np.empty_like(qd)
    for k, v in enumerate(qd):  # z' = v - |v| z / presliding
        z = np.sign(v) + (z - np.sign(v)) * np.exp(-np.abs(v) * dt / presliding)
        torque[k] = z
    return torque


def slow(shape, dt, rng, seed):
    """Slow noise of variance 1: 1/f, or of every third seed with one correlation time."""
    white = rng.normal(size=shape)
    if seed % 3 == 2:
        keep = np.exp(-dt / np.exp(rng.uniform(*np.log(TIMES))))
        white[0] /= np.sqrt(1.0 - keep**2)  # as stationary as what follows
        return np.sqrt(1.0 - keep**2) * lfilter([1.0], [1.0, -keep], white, axis=0)
    f = np.fft.rfftfreq(len(white))
    found = np.fft.rfft(white, axis=0) / np.sqrt(np.maximum(f, f[1]))[:, None]
    found = np.fft.irfft(found, len(white), axis=0)
    return found / found.std(axis=0)


def errors(found: dy.identify.Estimate, viscous, coulomb) -> Errors:
    """Those of an estimate; what has no truth, weights of elements say, is left out."""
    u = found.unknowns
    true = u.group @ np.asarray(u.robot.parameters.values, dtype=float)
    for kind, values in (("viscous", viscous), ("coulomb", coulomb)):
        for k in u.of_kind(kind):
            true[k] = values[u.joints[k]]
    sums = np.eye(len(true))  # at sliding elements with memory are Coulomb friction
    for k in u.of_kind("coulomb"):
        sums[k, [i for i in u.of_kind("memory") if u.joints[i] == u.joints[k]]] = 1.0
    kept = np.isin(u.kinds, ["body", "rotor", "viscous", "coulomb", "offset", "load", "root"])
    noise, said = (
        np.sqrt(np.maximum(np.diag(sums @ C @ sums.T), 0.0))
        for C in (found.noise_covariance, found.covariance)
    )
    kept &= said > 0.0  # loads that were fixed at nothing
    off = np.abs(sums @ found.values - true)
    return Errors(
        *(np.asarray(x)[kept] for x in (u.kinds, off, noise, said, found.interval_sources))
    )


def case(seed: int, law: str = "auto", described: dy.Robot | None = None) -> Errors:
    """One arm, identified from one log."""
    robot, log, *friction = disturbed(seed, described)
    options = {"estimator": "weighted", "held_out": False, "force": True}
    return errors(dy.identify(robot, log, friction=law, **options), *friction)


def together(parts: list[Errors]) -> Errors:
    """Several cases as one."""
    return Errors(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--friction", default="auto")
    asked = parser.parse_args()
    begin = time.process_time()
    parts = [case(asked.first + k, asked.friction) for k in range(asked.count)]
    each = (time.process_time() - begin) / asked.count
    found = together(parts)
    print(
        f"{asked.friction}: {asked.count} arms, {len(found.off)} unknowns, outside 95 %: "
        f"{np.mean(found.outside):.3f} (by noise alone "
        f"{np.mean(found.off > REACH * found.noise):.3f}), {each:.1f} s of CPU each"
    )
    for kind in dict.fromkeys(found.kinds):
        k = found.kinds == kind
        z, wider = found.off[k] / found.said[k], found.said[k] / found.noise[k]
        print(
            f"  {kind:8} {k.sum():4d}: outside {np.mean(z > REACH):.3f}, deviations are "
            f"{np.median(wider):.2f} (median) times those of noise; errors {np.median(z):.2f} "
            f"(median), {np.sqrt(np.mean(z**2)):.2f} (RMS) of them"
        )
    ways, counts = np.unique(found.sources, return_counts=True)
    print("  decided by: " + ", ".join(f"{w} {c}" for w, c in zip(ways, counts, strict=True)))
    worst = [np.mean(x.outside) for x in parts]
    print(f"  arms with more than a quarter outside: {np.sum(np.array(worst) > 0.25)}")


if __name__ == "__main__":
    main()
