"""One joint under PID: what a constant disturbance leaves, and where stability ends."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

J, B, k, tau_p = 0.5, 0.2, 1.0, 2.0
t = np.linspace(0.0, 6.0, 601)
loops = {
    "PD": dy.control.SingleJoint(J, B, k, kp=20.0, kd=5.0),
    "PID": dy.control.SingleJoint(J, B, k, kp=20.0, ki=30.0, kd=5.0),
}
figure = Figure(figsize=(9, 4), layout="constrained")
left, right = figure.subplots(1, 2)
for name, loop in loops.items():
    left.plot(t, loop.step_disturbance(t, tau_p), label=name)
    print(f"{name}: a disturbance of {tau_p} N m leaves {tau_p * loop.disturbance_error:.6f} rad")
print(f"tau_p / (k kp) = {tau_p / (k * 20.0):.6f} rad")

limit = loops["PID"].ki_limit  # (B + k kd) kp / J
print(f"stable below ki = {limit:.1f}:")
for share in (0.9, 1.0, 1.1):
    loop = dy.control.SingleJoint(J, B, k, kp=20.0, ki=share * limit, kd=5.0)
    rightmost = loop.poles.real.max()
    print(f"  ki = {share:.1f} of that: stable {loop.stable}, rightmost pole {rightmost:+.3f}")
    right.plot(t, loop.step_disturbance(t, tau_p), label=f"ki = {share:.1f} of the limit")

# this joint as a simulated arm: a disk on a vertical axis, pushed by a constant torque
disk = dy.Robot.from_dh(
    "disk",
    convention="standard",
    gravity=(0, 0, -9.81),
    links=[dy.Link(mass=1.0, com=(0, 0, 0), inertia=(0, 0, J), friction=dy.Friction(viscous=B))],
)
for name, ki in (("PD", 0.0), ("PID", 30.0)):
    pid = dy.control.JointPID(kp=20.0, ki=ki, kd=5.0)
    run = dy.simulate(disk, 30.0, 1e-3, controller=pid, reference=[0.0], external=[-tau_p])
    print(f"simulated {name}: {run.error[-1, 0]:+.6f} rad after 30 s")

for ax, title in ((left, "a step of disturbance"), (right, "on both sides of stability")):
    ax.set(title=title, xlabel="t (s)", ylabel="error (rad)")
    ax.grid(alpha=0.3)
    ax.legend()
right.set_ylim(-0.12, 0.17)  # the legend above the curves
figure.savefig(OUT / "08_single_joint.png", dpi=120)
