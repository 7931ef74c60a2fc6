"""A hose pack and a friction law of one's own: simulated, identified and exported to C."""

import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import dynamis as dy


@dataclass(frozen=True)
class Hose:
    """Hoses along the arm: they pull the elbow back, harder beyond a bend, and damp."""

    stiffness: float = 20.0  # N m/rad
    damping: float = 3.0  # N m s/rad
    bend: float = 0.5  # rad

    def torque(self, q, qd, constants, fn):
        beyond = fn.max(q[1] - constants["bend"], 0.0)
        pull = constants["stiffness"] * (q[1] + beyond * beyond)
        return [0.0, pull + constants["damping"] * qd[1]]


@dataclass(frozen=True)
class Grease:
    """Dry friction, and grease that is thinner the faster it is sheared."""

    dry: float = 4.0  # N m
    thick: float = 6.0  # N m
    speed: float = 0.8  # rad/s

    def torque(self, qd, direction, constants, fn):
        u = qd / constants["speed"]
        return constants["dry"] * direction + constants["thick"] * u / fn.sqrt(1.0 + u * u)


def own_torque(q, qd, hose, grease):
    """Both laws in plain NumPy."""
    u = qd / grease.speed
    tau = grease.dry * np.sign(qd) + grease.thick * u / np.sqrt(1.0 + u * u)
    beyond = np.maximum(q[..., 1] - hose.bend, 0.0)
    tau[..., 1] += hose.stiffness * (q[..., 1] + beyond**2) + hose.damping * qd[..., 1]
    return tau


def with_laws(hose, grease):
    links = [replace(x, friction=dy.Friction(law=grease)) for x in bare.model.links]
    return dy.Robot(replace(bare.model, links=tuple(links))).with_load(hose)


bare = dy.load("planar-2link")
arm = with_laws(Hose(), Grease())
print("parameters of the laws:", ", ".join(arm.parameters.names[-6:]))

rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 1000, 2))
expected = bare.inverse_dynamics(q, qd, qdd) + own_torque(q, qd, Hose(), Grease())
print(f"inverse dynamics beside NumPy: {np.abs(arm.inverse_dynamics(q, qd, qdd) - expected).max()}")

start = np.array([-np.pi / 2, 0.4])
run = dy.simulate(arm, 90.0, q0=start, save_every=100)
held = bare.gravity_torque(run.q[-1]) + own_torque(run.q[-1], np.zeros(2), Hose(), Grease())
print(f"simulated: it comes to rest: {(run.qd[-1] == 0.0).all()}, both joints stuck:", end=" ")
print(f"{run.stuck[-1].all()}, holding {np.abs(held).max():.2f} N m of {Grease().dry:g}")

t = np.arange(0.0, 20.0, 5e-3)
w = 2.0 * np.pi / 20.0 * np.arange(1, 9)
a, b = 0.35 * rng.normal(size=(2, 2, 8))
phase = w[:, None] * t
q = (a @ np.sin(phase) + b @ np.cos(phase)).T
qd = ((a * w) @ np.cos(phase) - (b * w) @ np.sin(phase)).T
qdd = -((a * w * w) @ np.sin(phase) + (b * w * w) @ np.cos(phase)).T
tau = bare.inverse_dynamics(q, qd, qdd) + own_torque(q, qd, Hose(), Grease())
log = dy.Log(t=t, q=q, qd=qd, tau=tau + 0.1 * rng.normal(size=tau.shape))
guess = with_laws(Hose(stiffness=1.0, damping=1.0), Grease(dry=1.0, thick=1.0))
estimate = dy.identify(guess, log, friction="described")
found = {x: k for k, x in enumerate(estimate.names)}
for name, true in zip(arm.parameters.names[-6:], arm.parameters.values[-6:], strict=True):
    value, std = estimate.values[found[name]], estimate.standard_deviations[found[name]]
    print(f"identified {name:16} {value:8.3f} +- {std:.3f}   true {true:g}")

out = Path("out/16_own_laws")
arm.export("inverse_dynamics", directory=out)
if shutil.which("cc") and shutil.which("make"):
    done = subprocess.run(["make", "-s"], cwd=out, capture_output=True, text=True, check=True)
    print("in C:", done.stdout.strip())
else:
    print("no C compiler: the exported code was not run")
