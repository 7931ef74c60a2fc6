"""Computed torque with masses that are 10 % wrong: what the integral and the gains do."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

arm = dy.load("planar-2link")
wrong = arm.with_link(0, mass=22.0).with_link(1, mass=9.0)
slow = 1 / (2 * np.pi)  # sin(t) and cos(t)
wanted = dy.trajectory.sine([0.0, 0.0], [1.0, 1.0], [slow, slow], [0.0, np.pi / 2], duration=20.0)

figure = Figure(figsize=(9, 4), layout="constrained")
axes = figure.subplots(1, 2, sharey=True)
print(" Kp  Kv   Ki   largest error, joint 1 and 2 (mrad)")
print("              in the 5th second       at the end")
for kp, kv, ki in ((25, 10, 100), (25, 10, 0), (50, 10, 0)):
    law = dy.control.ComputedTorque(kp, kv, ki, model=wrong)
    run = dy.simulate(arm, 20.0, 1e-3, controller=law, reference=wanted)
    early = 1e3 * np.abs(run.error[4000:5000]).max(axis=0)
    late = 1e3 * np.abs(run.error[-6300:]).max(axis=0)
    print(f"{kp:3} {kv:3} {ki:4}   {early[0]:8.1f} {early[1]:8.1f}   {late[0]:8.1f} {late[1]:8.1f}")
    for ax, e in zip(axes, run.error.T, strict=True):
        ax.plot(run.t, 1e3 * e, label=f"Kp = {kp}, Kv = {kv}, Ki = {ki}")
for ax, name in zip(axes, arm.joint_names, strict=True):
    ax.set(title=name, xlabel="t (s)", ylabel="error (mrad)", ylim=(-80, 80))
    ax.grid(alpha=0.3)
axes[1].legend()
figure.savefig(OUT / "09_computed_torque.png", dpi=120)
