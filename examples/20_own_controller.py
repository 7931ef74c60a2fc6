"""A control law of one's own, from an idea to C: sliding mode with a disturbance estimate."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dynamis as dy

SAMPLE_TIME = 0.002
arm = dy.load("planar-2link")
loaded = arm.with_payload(2.0)  # what the law does not know
move = dy.trajectory.quintic([0.0, 0.3], [1.2, -0.6], duration=1.5)


# the idea as a function of numbers: it runs in Python only, at every stage of the integrator
def idea(t, q, qd):
    wanted = move(t)
    e, ed = q - wanted.q, qd - wanted.qd
    s = ed + 12.0 * e
    tau = arm.inverse_dynamics(q, qd, wanted.qdd - 12.0 * ed)
    return tau - 80.0 * np.clip(s / 0.5, -1.0, 1.0)


run = dy.simulate(loaded, 1.5, 5e-3, controller=idea, q0=move(0.0).q, reference=move)
print(f"as a function:        largest error {np.abs(run.error).max():.4f} rad")


@dataclass(frozen=True)
class SlidingMode(dy.control.Controller):
    """tau = inverse dynamics - reach sat(s / layer) - d,  s = ed + slope e,  d' = adapt s."""

    slope: float = 12.0  # 1/s
    reach: float = 80.0  # N m
    layer: float = 0.5  # rad/s
    adapt: float = 2000.0  # N m/rad
    model: dy.Robot | None = None  # what it computes with; None: the arm it drives
    GAINS = ("slope", "reach", "layer", "adapt")

    def start(self, arm, sample):
        return {"d": [0.0] * arm.n}

    def step(self, arm, sample):
        gains, wanted = sample.gains, sample.reference
        e, ed, d = sample.e, sample.ed, sample.state.d
        s = [ed[i] + gains.slope[i] * e[i] for i in range(arm.n)]
        a = [wanted.qdd[i] - gains.slope[i] * ed[i] for i in range(arm.n)]
        model = arm.inverse_dynamics(sample.q, sample.qd, a)
        inside = [arm.max(-1.0, arm.min(s[i] / gains.layer[i], 1.0)) for i in range(arm.n)]
        tau = [model[i] - gains.reach[i] * inside[i] - d[i] for i in range(arm.n)]
        return tau, {"d": [d[i] + sample.dt * gains.adapt[i] * s[i] for i in range(arm.n)]}


# the law as a class: compiled together with the arm, sampled, behind encoders
sensors = dy.Sensors(encoder=2 * np.pi / 20_000, velocity_filter=80.0)
for law in (SlidingMode(adapt=0.0, model=arm), SlidingMode(model=arm)):
    run = dy.simulate(loaded, 2.0, 1e-3, q0=move(0.0).q, controller=law, reference=move,
                      sample_time=SAMPLE_TIME, sensors=sensors)  # fmt: skip
    said = f"largest error {np.abs(run.error).max():.4f} rad, at the end"
    print(f"as a law, adapt {law.adapt:4.0f}: {said} {np.abs(run.error[-1]).max():.1e}")

out = Path("out/20_own_controller")
dy.export_controller(arm, law, out, SAMPLE_TIME, reference=move, limit=800.0, safe="gravity")
if shutil.which("cc") and shutil.which("make"):
    done = subprocess.run(["make", "-s"], cwd=out, capture_output=True, text=True, check=True)
    print("in C:", done.stdout.strip())
else:
    print("no C compiler: the exported code was not run")
