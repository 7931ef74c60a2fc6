"""What the log decides, next to the best that scanning by hand finds on a third log.

    python -m tests.identify.choices --count 40

Every case is an arm that rubs somehow, driven by a controller that holds its torque over a sample
and measures with encoders of 12 to 20 bits; cut-offs, sources of velocities, delays and laws of
friction are scanned, and the least error on a third log is compared with that of the default.
"""

import argparse
import itertools
import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import dynamis as dy
from dynamis.identify.estimate import validation
from dynamis.identify.estimators import with_loads
from dynamis.identify.friction.models import FRICTIONS, SLOW
from dynamis.identify.information import information, weighted
from dynamis.identify.motion import HIGHEST
from dynamis.identify.processing import Processing, prepare
from dynamis.identify.unknowns import unknowns

BITS = (12, 14, 17, 20)
STEPS = (2e-3, 4e-3, 1e-2)  # s, of controllers
BANDWIDTH = 4.0  # Hz
SECONDS = 20.0
LAWS = ("smooth", "grotjahn", "directional", "loaded", "loaded-grotjahn")
RUBS = (
    {},
    {"law": "smooth", "velocity": 0.01},
    {"law": "smooth", "velocity": 0.003, "ratio": 1.5},
    {"law": "smooth", "velocity": 0.003, "load": 0.06},
    {"law": "smooth", "velocity": 0.003, "viscous": (0.5, 0.9)},
)


class Case(NamedTuple):
    """Errors on the third log: of the default and the least by hand, with what gave it."""

    default: float
    best: float
    how: str
    found: dy.identify.Estimate

    @property
    def more(self) -> float:
        """By how much the default is worse, of the least error."""
        return self.default / self.best - 1.0


def drawn(rng: np.random.Generator) -> dy.Robot:
    """Two or three links with gears and friction."""
    rubs: Any = {"viscous": 0.6, "coulomb": 1.2, "offset": 0.1} | RUBS[rng.integers(len(RUBS))]
    links = []
    for k in range(int(rng.integers(2, 4))):
        length, mass = rng.uniform(0.25, 0.5), rng.uniform(2.0, 5.0) / (k + 1)
        scale = rng.uniform(0.7, 1.4) / (k + 1)
        viscous = tuple(scale * x for x in np.broadcast_to(rubs["viscous"], 2))
        own = rubs | {"viscous": viscous if viscous[0] != viscous[1] else viscous[0]}
        own |= {"coulomb": scale * rubs["coulomb"], "offset": scale * rubs["offset"]}
        about = mass * length**2 / 12
        links.append(
            dy.Link(
                a=length, alpha=float(rng.choice([0.0, np.pi / 2])), mass=mass,
                com=(-length / 2, 0, 0), inertia=(0.1 * about, about, about),
                friction=dy.Friction(**own),
                drive=dy.Drive(gear=80, rotor_inertia=rng.uniform(0.3, 1.0) * 1e-4 / (k + 1)),
            )
        )  # fmt: skip
    return dy.Robot.from_dh("drawn", convention="standard", gravity=(0, -9.81, 0), links=links)


def recorded(robot: dy.Robot, bits: int, step: float, noise: float, motion: int) -> dy.Log:
    """A log of a controller that holds its torque over a sample."""
    rng = np.random.default_rng([motion, 5])
    a, b = rng.normal(size=(2, robot.n, 5)) * 0.25 / np.sqrt(np.arange(1, 6))
    move = dy.trajectory.fourier(a=a.tolist(), b=b.tolist(), period=10.0)
    q0 = move(0.0)[0]
    law = dy.control.JointPID.from_bandwidth(robot, BANDWIDTH, q=q0)
    size = np.abs(robot.gravity_torque(q0)).max() + 1.0
    sensors = dy.Sensors(
        encoder=2 * np.pi / 2**bits, velocity_filter=5.0 * BANDWIDTH, seed=motion,
        torque_noise=noise * size,
    )  # fmt: skip
    run = dy.simulate(
        robot,
        SECONDS,
        step / 4,
        q0=q0,
        controller=law,
        reference=move,
        sensors=sensors,
        sample_time=step,
    )
    return dy.Log.from_run(run)


def by_hand(robot: dy.Robot, seen: dy.Log, third: dy.Log, delay: float) -> tuple[float, str]:
    """The least error on a third log, and with what."""
    best = np.inf, ""
    cutoffs = [x for x in 2.0 ** np.arange(0.0, 6.1, 0.5) if x <= HIGHEST * seen.rate]
    models = [replace(FRICTIONS[name], constants={"velocity": 0.003}) for name in LAWS]
    sought = [unknowns(robot, m, True) for m in models]
    for velocity, cutoff in itertools.product(("log", "difference"), cutoffs):
        how = Processing(cutoff=cutoff, velocity=velocity, torque_delay=delay)
        for model, wanted in zip(models, sought, strict=True):
            zone = replace(how, dead_zone=SLOW * model.speed)
            motions, _ = prepare(seen, zone)
            own, known = with_loads(wanted, motions)
            x = weighted(information(motions, own, known=known)).x
            x = x if known is None else np.where(np.isnan(known), x, known)
            error = validation(own, x, third, how).relative_error_overall
            if error < best[0]:
                best = float(error), f"{cutoff:.3g} Hz, {velocity}, {model}"
    return best


def case(seed: int) -> Case:
    """One arm, identified by default and by hand."""
    rng = np.random.default_rng([seed, 3])
    robot = drawn(rng)
    bits, step = BITS[seed % len(BITS)], STEPS[int(rng.integers(len(STEPS)))]
    noise = float(10.0 ** rng.uniform(-3.0, -1.5))
    seen, third = (recorded(robot, bits, step, noise, 10 * seed + k) for k in (0, 1))
    found = dy.identify(robot, seen, estimator="weighted", force=True)
    default = found.validate(third).relative_error_overall
    best, how = by_hand(robot, seen, third, -0.5 * step)
    return Case(default, best, f"{bits} bits, {1 / step:.0f} Hz: {how}", found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=4)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    more, begin = [], time.time()
    for seed in range(asked.first, asked.first + asked.count):
        one = case(seed)
        more.append(one.more)
        how = one.found.processing[0]
        print(
            f"{seed}: {100 * one.default:.2f} % ({how.cutoff:.3g} Hz, {how.velocity}, "
            f"{1e3 * float(how.torque_delay or 0):.2f} ms, {one.found.friction}), by hand "
            f"{100 * one.best:.2f} % ({one.how}): {100 * one.more:+.1f} %",
            flush=True,
        )
    within = sum(x <= 0.1 for x in more)
    print(
        f"{within} of {len(more)} within 10 %, worst {100 * max(more):.1f} %, "
        f"{(time.time() - begin) / len(more):.1f} s each"
    )


if __name__ == "__main__":
    main()
