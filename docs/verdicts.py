"""Verdicts on wrong logs and on good pieces of logs: python -m docs.verdicts FOLDER

FOLDER holds logs of real arms; the tables stand in docs/identification.md.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import dynamis as dy
from dynamis.errors import DynamisError

from .identification import COLUMNS, GAINS, ROWS, tx40

# wrong logs: each made from a good one


def signs(log, joint):
    """-1 for a joint (counted from 1), 1 for the others."""
    return np.where(np.arange(log.n) == joint - 1, -1.0, 1.0)


def torque_negated(log, joint):
    """A torque of the opposite sign."""
    return replace(log, tau=log.tau * signs(log, joint))


def axis_reversed(log, joint):
    """A joint that counts the other way round."""
    return replace(log, **{x: getattr(log, x) * signs(log, joint) for x in ("q", "qd", "tau")})


def direction_reversed(log, joint):
    """Positions and velocities of the opposite sign, torques as they are."""
    return replace(log, q=log.q * signs(log, joint), qd=log.qd * signs(log, joint))


def backwards(log):
    """Time that runs backwards, the velocities with it."""
    return replace(log, q=log.q[::-1], qd=-log.qd[::-1], tau=log.tau[::-1])


def scaled(log, joint, factor):
    """A torque by another gear ratio or gain."""
    return replace(log, tau=log.tau * np.where(np.arange(log.n) == joint - 1, factor, 1.0))


def exchanged(log, i, j):
    """All columns of two joints in each other's place."""
    order = np.arange(log.n)
    order[[i - 1, j - 1]] = j - 1, i - 1
    return replace(log, **{x: getattr(log, x)[:, order] for x in ("q", "qd", "tau")})


def turned(log, joint, angle):
    """A joint with another zero."""
    return replace(log, q=log.q + angle * (np.arange(log.n) == joint - 1))


def late(log, seconds):
    """Torques behind the motion."""
    return replace(
        log, tau=np.stack([np.interp(log.t - seconds, log.t, x) for x in log.tau.T], axis=1)
    )


def spiky(log, size):
    """Three spikes of the torque."""
    tau = np.array(log.tau)
    for k, joint in enumerate((0, 2, 4)):
        tau[(2 * k + 1) * len(tau) // 7, joint] = size * (-1) ** k
    return replace(log, tau=tau)


def corrupt_start(log):
    """Positions that begin with zeros."""
    q = np.array(log.q)
    q[:3] = 0.0
    return replace(log, q=q)


def static(log):
    """A pose held, with the noise of sensors."""
    rng, k = np.random.default_rng(0), len(log) // 2
    q, qd, tau = (
        x + s * rng.normal(size=log.q.shape)
        for x, s in ((log.q[k], 1e-6), (0.0, 1e-4), (log.tau[k], 0.1))
    )
    return replace(log, q=q, qd=qd, tau=tau)


WRONG = {
    "as recorded": lambda log: log,
    "torque 3 negated": lambda log: torque_negated(log, 3),
    "torque 6 negated": lambda log: torque_negated(log, 6),
    "all torques negated": lambda log: replace(log, tau=-log.tau),
    "axis 1 reversed": lambda log: axis_reversed(log, 1),
    "axis 3 reversed": lambda log: axis_reversed(log, 3),
    "joints 1 and 3 exchanged": lambda log: exchanged(log, 1, 3),
    "joints 2 and 3 exchanged": lambda log: exchanged(log, 2, 3),
    "joints 3 and 5 exchanged": lambda log: exchanged(log, 3, 5),
    "direction 5 reversed": lambda log: direction_reversed(log, 5),
    "time backwards": backwards,
    "joint 2 off by 30 degrees": lambda log: turned(log, 2, np.pi / 6),
    "joint 2 off by 90 degrees": lambda log: turned(log, 2, np.pi / 2),
    "joint 3 off by 30 degrees": lambda log: turned(log, 3, np.pi / 6),
    "degrees": lambda log: replace(log, q=np.degrees(log.q), qd=np.degrees(log.qd)),
    "torque 1 doubled": lambda log: scaled(log, 1, 2.0),
    "torque 2 doubled": lambda log: scaled(log, 2, 2.0),
    "all torques doubled": lambda log: replace(log, tau=2.0 * log.tau),
    "all torques a tenth": lambda log: replace(log, tau=0.1 * log.tau),
    "torque 30 ms late": lambda log: late(log, 0.03),
    "three spikes of 1000 N m": lambda log: spiky(log, 1e3),
    "three spikes of 1e6 N m": lambda log: spiky(log, 1e6),
    "one second only": lambda log: log.window(3.0, 4.0),
    "wrapped at pi": lambda log: replace(log, q=(log.q + np.pi) % (2 * np.pi) - np.pi),
    "first rows zero": corrupt_start,
    "a static pose": static,
}


# wrong logs that hardly differ from good ones: what changes is small next to the joint's friction

SUBTLE = {
    "joints 5 and 6 exchanged": lambda log: exchanged(log, 5, 6),
    "axis 5 reversed": lambda log: axis_reversed(log, 5),
    "axis 6 reversed": lambda log: axis_reversed(log, 6),
    "joint 4 off by 30 degrees": lambda log: turned(log, 4, np.pi / 6),
    "joint 5 off by 30 degrees": lambda log: turned(log, 5, np.pi / 6),
}

# the robot is described on another base than it stands on: gravity in the description, m/s^2

TILTED = {
    "on a wall": (0.0, 9.81, 0.0),
    "tilted by 30 degrees": (0.0, 9.81 * np.sin(np.pi / 6), -9.81 * np.cos(np.pi / 6)),
}


def judged(arm, log, **options):
    """Verdict, and the estimate if the log was not refused."""
    try:
        found = dy.identify(arm, log, **{"held_out": False, **options})
    except DynamisError as error:
        return error.verdict, None
    return found.verdict, found


def wrong_logs(data):
    """The table of wrong logs."""
    arm, log, options = recordings(data)["UR10e excitation_30s"]
    print("| log | verdict | reason | error as logged |\n|---|---|---|---|")
    cases = [(name, arm, made(log)) for name, made in {**WRONG, **SUBTLE}.items()]
    cases += [(f"described {name}", arm.with_gravity(g), log) for name, g in TILTED.items()]
    for name, described, wrong in cases:
        verdict, found = judged(described, wrong, friction="smooth", **options)
        error = found and f"{100 * found.training[0].relative_error_overall:.2f} %"
        print(f"| {name} | {verdict.level} | {verdict.reason} | {error or 'refused'} |", flush=True)


# good pieces


def recordings(data):
    """(robot, log, options) of real arms by name."""
    arm, found = dy.load(data / "ur10e" / "ur10e.urdf"), {}
    names = {"t": "t", "q": "q", "qd": "qd", "current": "i"}
    for name, rows in {**ROWS, "load_50s": (307, 5071)}.items():
        path = data / "ur10e" / f"{name}.npz"
        log = dy.read_log(path, columns=names, drive_gains=GAINS, rows=rows)
        found[f"UR10e {name}"] = arm, log, {"rotors": True}
    found["Panda"] = dy.load("panda"), dy.read_log(data / "panda" / "excitation.npz"), {}
    found["TX40"] = *tx40(data), {}
    path = data / "lwr4" / "measurements_1.npz"
    found["LWR4+"] = dy.load(data / "lwr4" / "lwr4.urdf"), dy.read_log(path, columns=COLUMNS), {}
    raw = np.load(data / "emps" / "emps.npz")
    links = [dy.Link(joint="prismatic", mass=100.0)]
    emps = dy.Robot.from_dh("emps", convention="standard", gravity=(0, 0, 0), links=links)
    force = float(raw["gtau"]) * raw["v"]
    found["EMPS"] = emps, dy.Log(t=raw["t"], q=raw["q"][:, None], tau=force[:, None]), {}
    return found


def pieces(data, length=12.0, step=2.5):
    """Every window of a recording, so long; a shorter recording whole."""
    for name, (arm, log, options) in recordings(data).items():
        starts = np.arange(0.0, max(log.duration - length, 0.0) + 1e-9, step)
        for start in starts:
            window = log if len(starts) == 1 else log.window(start, start + length)
            yield f"{name} from {start:g} s", arm, window, options


def random_arm(rng, n):
    """A chain of revolute and some prismatic joints, friction in each, gravity from anywhere."""
    links = []
    for k in range(n):
        size, mass = rng.uniform(0.1, 0.4), 8.0 * 0.6**k * rng.uniform(0.7, 1.4)
        slides = rng.random() < 0.2
        com = rng.uniform(-0.5, 0.5, 3) * (size, 0.1, 0.3)
        thick = mass * size**2 * rng.uniform(0.05, 0.15, 3)
        inertia = tuple(thick.sum() - thick)  # of a density: the triangle inequality holds
        rub = mass * rng.uniform(0.1, 0.4)
        coulomb = rub * rng.uniform(0.5, 2.0) * np.array([1.0, -rng.uniform(0.8, 1.2)])
        friction = dy.Friction(viscous=rub, coulomb=tuple(coulomb), law="smooth")
        turn = float(rng.choice([-0.5, 0.0, 0.5])) * np.pi
        how = {"joint": "prismatic", "theta": 0.3} if slides else {"d": rng.uniform(0.0, 0.3)}
        links.append(
            dy.Link(a=size, alpha=turn, mass=mass, com=tuple(com), inertia=inertia,
                    friction=friction, **how)
        )  # fmt: skip
    down = rng.normal(size=3)
    down *= 9.81 / np.linalg.norm(down)
    return dy.Robot.from_dh(f"random {n}", convention="standard", gravity=tuple(down), links=links)


def roughly(robot, rng, error=0.3):
    """The robot as somebody described it: bodies wrong by tens of percent, or without masses."""
    values = np.array(robot.parameters.values)
    bodies = 10 * len(robot.model.links)
    factors = np.repeat(rng.uniform(1.0 - error, 1.0 + error, bodies // 10), 10)
    factors[np.arange(bodies) % 10 == 0] *= 1.0 + 0.1 * rng.random(bodies // 10)
    values[:bodies] *= 0.0 if rng.random() < 0.2 else factors
    return robot.with_parameters(values)


def simulated(robot, rng, seconds=12.0, rate=200.0):
    """A log of a random Fourier motion with noise of torque, position and velocity."""
    t = np.arange(int(seconds * rate)) / rate
    w = 2 * np.pi * rng.uniform(0.08, 0.12) * np.arange(1, 6)
    slides = np.array([kind == "prismatic" for kind in robot.joint_kinds])
    a, b = rng.normal(size=(2, robot.n, 5)) * np.where(slides, 0.1, 0.5)[:, None]
    phase = w[:, None] * t
    q = (a @ np.sin(phase) + b @ np.cos(phase)).T
    qd = ((a * w) @ np.cos(phase) - (b * w) @ np.sin(phase)).T
    qdd = (-(a * w * w) @ np.sin(phase) - (b * w * w) @ np.cos(phase)).T
    tau = robot.inverse_dynamics(q, qd, qdd)
    sizes = np.sqrt((tau**2).mean(axis=0))
    tau = tau + rng.uniform(0.005, 0.05) * sizes * rng.normal(size=tau.shape)
    q, qd = q + 1e-5 * rng.normal(size=q.shape), qd + 1e-3 * rng.normal(size=q.shape)
    return dy.Log(t=t, q=q, qd=qd, tau=tau, name="simulated")


def random_pieces(count, seed=0, motions=4, most=6):
    """Logs of random arms of two joints and more, several motions of each."""
    for k in range(-(-count // motions)):
        rng = np.random.default_rng([seed, k])
        robot = random_arm(rng, int(rng.integers(2, most + 1)))
        described = roughly(robot, rng)
        for i in range(min(motions, count - motions * k)):
            yield f"random arm {k}, motion {i}", described, simulated(robot, rng), {}


def good_pieces(data, count, figure, every=1):
    """How pieces of good logs are judged by default, and a figure of what they leave over."""
    rows = []
    real = list(pieces(data))
    for name, arm, log, _ in [*real, *random_pieces(count - len(real))][::every]:
        begun = time.perf_counter()
        verdict, found = judged(arm, log, held_out=True)
        error = np.nan if found is None else found.training[0].relative_error_overall
        rows.append((name, verdict, error))
        if verdict.level != "good":
            print(f"  {name}: {verdict.level}: {verdict.reason}", flush=True)
        print(f"{name} {verdict.level} {time.perf_counter() - begun:.1f} s", end="\r", flush=True)
    print(
        "\n| logs | pieces | good | doubtful | not seen | not usable |\n|---|---|---|---|---|---|"
    )
    kinds = list(dict.fromkeys(name.split()[0] for name, *_ in rows))
    for kind in [*kinds, ""]:
        levels = [v.level for name, v, _ in rows if name.startswith(kind)]
        counts = [levels.count(x) for x in COLOURS]
        print(f"| {kind or 'all'} | {len(levels)} | {' | '.join(map(str, counts))} |")
    if figure is not None:
        draw(rows, figure)


COLOURS = {
    "good": "#1f5fa8", "doubtful": "#c9601a", "not seen": "#8e44ad", "not usable": "#b00020"
}  # fmt: skip


def draw(rows, path):
    """Relative error of every piece, as logged, by its verdict."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    for level, colour in COLOURS.items():
        k = [i for i, row in enumerate(rows) if row[1].level == level]
        error = [100 * np.nan_to_num(rows[i][2], nan=1.0) for i in k]
        axes.semilogy(k, error, "o", color=colour, markersize=4, label=f"{level}: {len(k)}")
    axes.set_xlabel("piece")
    axes.set_ylabel("relative error as logged, %")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--pieces", type=int, default=200)
    parser.add_argument("--every", type=int, default=1, help="only every so many of the pieces")
    given = parser.parse_args()
    wrong_logs(given.data)
    good_pieces(given.data, given.pieces, given.figure, given.every)
