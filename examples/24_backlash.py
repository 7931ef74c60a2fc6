"""Backlash under a position loop: a gear with free play never comes to rest."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)
MOTOR, LINK = 0.2, 0.5  # kg m^2 at the joint
GAP = 5e-3  # rad to either side
DT = 1e-4  # s, of the steps and of the loop
REDUCED = 1 / (1 / MOTOR + 1 / LINK)  # kg m^2, that the teeth feel


def geared(stiffness, gap):
    """A motor and a link; the velocity gain of the loop is the viscous friction of the motor."""
    drive = dy.Drive(
        rotor_inertia=MOTOR,
        viscous=1.2,
        stiffness=stiffness,
        damping=2 * 0.05 * np.sqrt(stiffness * REDUCED),
        backlash=gap,
    )
    link = dy.Link(inertia=(0, 0, LINK), friction=dy.Friction(viscous=0.3), drive=drive)
    return dy.Robot.from_dh("geared", convention="standard", gravity=(0, 0, 0), links=[link])


def held(stiffness, gap):
    """20 s of a loop that measures the link and drives the motor: tau = -60 q - 1.2 motor_rate."""
    law = dy.control.JointPID(kp=60.0)
    return dy.simulate(
        geared(stiffness, gap), 20.0, DT, q0=[0.05], motor0=[0.05], controller=law,
        reference=[0.0], sensors=dy.Sensors(side="link"),
    )  # fmt: skip


def cycle(run):
    """Period and amplitude of the link in the last ten seconds."""
    t, q = run.t[run.t > 10], run.q[run.t > 10, 0]
    up = np.flatnonzero((q[:-1] < 0) & (q[1:] >= 0))
    crossings = t[up] - q[up] * (t[up + 1] - t[up]) / (q[up + 1] - q[up])
    return np.diff(crossings).mean(), q.max()


tight = held(2e4, 0.0)
print(f"without play: after 20 s within {np.abs(tight.q[tight.t > 19]).max():.1e} rad")
runs = {}
for stiffness in (2e3, 2e4, 2e5, 2e6):
    run = runs[stiffness] = held(stiffness, GAP)
    period, amplitude = cycle(run)
    print(
        f"stiffness {stiffness:.0e}: period {period:.4f} s, amplitude {1000 * amplitude:.3f} mrad "
        f"({run.integrator})"
    )

run, last = runs[2e4], runs[2e4].t > 18.5
inside = np.abs(run.deflection[last, 0]) <= GAP
print(f"the teeth are apart {100 * inside.mean():.0f} % of the time")

figure = Figure(figsize=(9, 6), layout="constrained")
(early, phase), (apart, late) = figure.subplots(2, 2)
early.plot(tight.t, 1000 * tight.q[:, 0], color="0.6", label="without play")
early.plot(run.t, 1000 * run.q[:, 0], color="C0", label="with play")
early.set(title="the link from 50 mrad", xlabel="t (s)", ylabel="link (mrad)", xlim=(0, 6))
early.legend()
late.plot(run.t[last], 1000 * run.q[last, 0], color="C0", label="link")
late.plot(run.t[last], 1000 * run.motor[last, 0], color="C1", label="motor")
late.set(title="the limit cycle", xlabel="t (s)", ylabel="position (mrad)", ylim=(-9, 12))
late.legend(ncols=2, loc="upper center")
apart.plot(run.t[last], 1000 * run.deflection[last, 0], color="C2")
apart.axhspan(-1000 * GAP, 1000 * GAP, color="#f3d9a4", alpha=0.5, linewidth=0)
apart.set(title="teeth (shaded: in the gap)", xlabel="t (s)", ylabel="motor minus link (mrad)")
phase.plot(1000 * run.q[:, 0], run.qd[:, 0], color="0.75", linewidth=0.8, label="on the way")
phase.plot(1000 * run.q[last, 0], run.qd[last, 0], color="C3", label="limit cycle")
phase.set(title="phase plane of the link", xlabel="link (mrad)", ylabel="rate (rad/s)")
phase.set_ylim(-0.5, 0.6)  # the legend above the curves
phase.legend(loc="upper right")
for ax in (early, phase, apart, late):
    ax.grid(alpha=0.3)
figure.savefig(OUT / "24_backlash.png", dpi=120)
