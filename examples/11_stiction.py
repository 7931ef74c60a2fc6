"""PUMA 560 and stiction: joints stick below their static friction and break away at it."""

import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy
from dynamis.errors import DynamisWarning

OUT = Path("out")
OUT.mkdir(exist_ok=True)

puma = dy.load("puma560")
q = puma.configurations["ready"]
weight = puma.gravity_torque(q)
static = np.array([law.plus for law in puma.chain.resistances])  # N m, moving positive

load = weight + 0.9 * static
run = dy.simulate(puma, 60.0, 1e-3, q, torque=load, save_every=1000)
print(f"90 % of the static friction, 60 s: every joint moved {np.abs(run.q - q).max()} rad")

dt, seconds = 1e-4, 2.0  # in that time the torque rises to twice the static friction
print("joint   static (N m)   broke away at   error (one step of the ramp is 1.0e-04)")
for i, name in enumerate(puma.joint_names):
    rise = np.where(np.arange(puma.n) == i, static / (0.5 * seconds), 0.0)
    run = dy.simulate(puma, seconds, dt, q, torque=lambda t, r=rise: weight + r * t)
    first = int(np.argmin(run.stuck[:, i]))
    reached = (run.tau - weight)[first, i]
    error = reached / static[i] - 1
    print(f"{name:7} {static[i]:12.4f} {reached:15.4f} {error:9.1e}")
    if i == 0:
        shown = run

absurd = dy.control.JointPID(kp=1e7, kd=1e5)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DynamisWarning)  # that it diverges is the point here
    run = dy.simulate(puma, 1.0, 1e-3, q, controller=absurd, reference=q + 0.1)
print(f"gains of 1e7: {run.message}; the last valid state is at {run.t[-1]:g} s")

figure = Figure(figsize=(9, 4.5), layout="constrained")
top, bottom = figure.subplots(2, 1, sharex=True)
moving = shown.t[int(np.argmin(shown.stuck[:, 0]))]
top.plot(shown.t, shown.tau[:, 0], label="motor")
top.plot(shown.t, shown.friction[:, 0], label="friction")
top.axhline(static[0], color="0.6", linestyle="dashed", label="static friction")
bottom.plot(shown.t, shown.q[:, 0] - q[0], color="C2")
for ax, label in ((top, "torque (N m)"), (bottom, "position (rad)")):
    ax.axvspan(0.0, moving, color="#f3d9a4", alpha=0.5, linewidth=0)
    ax.set_ylabel(label)
    ax.grid(alpha=0.3)
top.set_title("joint 1 under a torque that grows: it sticks (shaded), then breaks away")
top.legend()
bottom.set_xlabel("t (s)")
figure.savefig(OUT / "11_stiction.png", dpi=120)
