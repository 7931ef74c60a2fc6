"""Six joints move 45 degrees together: the torque each of them needs."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

arm = dy.load("sixr")  # lengths .5 .5 .4 .1 m and masses 10 8 6 4 2 1 kg are invented
move = dy.trajectory.quintic(np.zeros(6), np.full(6, np.pi / 4), duration=2.0).sample(0.01)
tau = arm.inverse_dynamics(move.q, move.qd, move.qdd)

print("joint   start      end    least     most  (N m)")
for name, curve in zip(arm.joint_names, tau.T, strict=True):
    shown = curve[0], curve[-1], curve.min(), curve.max()
    print(f"{name:6}" + " ".join(f"{x:8.2f}" for x in shown))

figure = Figure(figsize=(9, 5), layout="constrained")
for name, curve, ax in zip(arm.joint_names, tau.T, figure.subplots(2, 3).flat, strict=True):
    ax.plot(move.t, curve)
    ax.set(title=name, xlabel="t (s)", ylabel="torque (N m)")
    ax.grid(alpha=0.3)
figure.savefig(OUT / "07_six_torques.png", dpi=120)
