"""A step of a joint, rigid and elastic: gains that suit the rigid arm ring on a real gear."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)
STEP = 0.1  # rad, of the first joint


def link(length, mass):
    """A thin rod behind a gear of 100; the rotor counts as 0.2 kg m^2 at the joint."""
    inertia = mass * length**2 / 12
    drive = dy.Drive(gear=100, rotor_inertia=2e-5)
    return dy.Link(
        a=length, mass=mass, com=(-length / 2, 0, 0), inertia=(0, inertia, inertia), drive=drive
    )


rigid = dy.Robot.from_dh(
    "two-link",
    convention="standard",
    gravity=(0, -9.81, 0),
    links=[link(0.5, 5.0), link(0.4, 3.0)],
)
soft = rigid.with_drive(0, stiffness=4000, damping=2).with_drive(1, stiffness=1500, damping=0.5)
modes = soft.resonances([0, 0])
print("rotors locked:", *(f"{f:.2f}" for f in modes.locked), "Hz")
print("rotors free:  ", *(f"{f:.2f}" for f in modes.free), "Hz")


def stepped(robot, bandwidth):
    """Poles of the rigid arm at `bandwidth` (rad/s), and a step of the reference."""
    law = dy.control.JointPID.from_bandwidth(rigid, bandwidth, gravity=True)
    return dy.simulate(robot, 2.0, q0=[0, 0], controller=law, reference=[STEP, 0])


def overshoot(run):
    """Of the first link, in percent of the step; the link sags by what the gear carries."""
    q = run.q[:, 0]
    return 100 * (q.max() - q[-1]) / STEP


def settled(run):
    """The time from which the first link stays within 5 % of the step of where it ends."""
    outside = np.flatnonzero(np.abs(run.q[:, 0] - run.q[-1, 0]) > 0.05 * STEP)
    return run.t[outside[-1] + 1]


figure = Figure(figsize=(9, 6), layout="constrained")
axes = figure.subplots(2, 2, sharex=True, sharey="row")
for column, bandwidth in enumerate((20.0, 60.0)):
    before, after = stepped(rigid, bandwidth), stepped(soft, bandwidth)
    for name, run in (("rigid", before), ("elastic", after)):
        print(
            f"{bandwidth:.0f} rad/s, {name}: overshoot {overshoot(run):.1f} %, "
            f"settled after {1000 * settled(run):.0f} ms"
        )
    top, bottom = axes[:, column]
    top.plot(before.t, before.q[:, 0], color="0.6", linewidth=3, label="rigid")
    top.plot(after.t, after.motor[:, 0], color="C1", linestyle="dashed", label="elastic: motor")
    top.plot(after.t, after.q[:, 0], color="C0", label="elastic: link")
    top.axhline(STEP, color="0.8", linewidth=1, zorder=0)
    top.set_title(f"gains of {bandwidth:.0f} rad/s")
    bottom.plot(after.t, 1000 * after.deflection[:, 0], color="C2")
    bottom.set(xlabel="t (s)", xlim=(0.0, 0.8))
    for ax in (top, bottom):
        ax.grid(alpha=0.3)
axes[0, 0].set_ylabel("joint 1 (rad)")
axes[1, 0].set_ylabel("motor minus link (mrad)")
axes[0, 0].legend(loc="lower right")
figure.savefig(OUT / "23_elastic_joint.png", dpi=120)

# how fast the link rings on a motor that its loop holds, and what of it the encoder sees
q = after.q[after.t > 0.15, 0] - after.q[-1, 0]
turns = np.flatnonzero(q[:-1] * q[1:] < 0)
period = 2 * np.diff(after.t[after.t > 0.15][turns])[:4].mean()
print(f"the link rings at {1 / period:.1f} Hz")
swing = [np.ptp(x[(after.t > 0.3) & (after.t < 0.6), 0]) for x in (after.q, after.motor)]
print(f"swing from 0.3 to 0.6 s: link {1000 * swing[0]:.1f} mrad, motor {1000 * swing[1]:.2f} mrad")
