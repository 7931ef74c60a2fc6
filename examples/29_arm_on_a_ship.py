"""An arm on a ship that rolls: forces in its joints, and a law that knows how the deck moves."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)
arm = dy.load("ur10e").with_payload(8.0, com=(0.0, 0.0, 0.1))
start, end = [0.0, -1.2, 1.6, -2.0, -1.57, 0.0], [1.6, -0.9, 1.3, -2.0, -1.57, 0.5]
move, LASTS = dy.trajectory.quintic(start, end, 4.0), 10.0  # s; it holds the end

# surge, sway, heave (m) and roll, pitch, yaw (rad) of the deck: sines with periods of their own
AMPLITUDES = [0.2, 0.3, 0.8, *np.radians([12, 5, 2])]
PERIODS = np.array([9.0, 7.0, 6.0, 7.0, 6.0, 11.0])  # s
deck = dy.trajectory.sine(np.zeros(6), AMPLITUDES, 1 / PERIODS)
ship = dy.trajectory.BaseMotion(deck)


def felt(t):
    """Torque that the motion of the deck asks for, along the reference."""
    state = move(t)
    return arm.inverse_dynamics(*state, base_motion=ship.rows(arm, t)) - arm.inverse_dynamics(
        *state
    )


law = dy.control.ComputedTorque(kp=100.0, kd=20.0, model=arm)
given = {"dt": 4e-3, "controller": law, "reference": move}
runs = {
    "in the harbour": dy.simulate(arm, LASTS, **given),
    "at sea": dy.simulate(arm, LASTS, base_motion=ship, **given),
    "at sea, deck known": dy.simulate(arm, LASTS, base_motion=ship, torque=felt, **given),
}
for name, run in runs.items():
    axial, radial, tilting, _ = run.reactions.largest_by_axis[0]
    error = 1000 * np.abs(run.error).max()
    print(f"{name}: error {error:.2f} mrad; at the foot {axial:.0f} N along the axis, "
          f"{radial:.0f} N across it, {tilting:.0f} N m")  # fmt: skip

# what an IMU on the deck records, 1.5 m from the foot, says the same
t = np.linspace(0.0, LASTS, 2001)
w, wd, a = np.split(ship.rows(arm, t), 3, axis=1)
place = np.array([1.5, 0.5, 0.2])
feels = a - arm.gravity + np.cross(wd, place) + np.cross(w, np.cross(w, place))
imu = dy.trajectory.BaseMotion.from_imu(t, w, feels, xyz=place)
run = dy.simulate(arm, LASTS, base_motion=imu, **given)
print(f"by its IMU: {np.abs(run.q - runs['at sea'].q).max():.0e} rad apart")

figure = Figure(figsize=(9, 6.4), layout="constrained")
(rolls, errors), (forces, moments) = figure.subplots(2, 2)
for label, k in (("roll", 3), ("pitch", 4)):
    rolls.plot(t, np.degrees(deck(t).q[:, k]), label=label)
heave = rolls.twinx()
heave.plot(t, deck(t).q[:, 2], color="C2", label="heave (right)")
heave.set_ylabel("heave (m)")
heave.set_ylim(-1.6, 1.6)
rolls.set(title="the deck", ylabel="angle (deg)", ylim=(-24, 24))
lines = rolls.get_lines() + heave.get_lines()
rolls.legend(lines, [x.get_label() for x in lines], ncols=3, loc="upper center", fontsize=8)
for colour, (name, run) in zip(("0.6", "C3", "C0"), runs.items(), strict=True):
    parts = run.reactions.by_axis[:, 0]
    errors.plot(run.t, 1000 * np.abs(run.error).max(axis=1) + 1e-4, color=colour, label=name)
    if name != "at sea, deck known":
        forces.plot(run.t, parts[:, 1], color=colour, label=name)
        moments.plot(run.t, parts[:, 2], color=colour, label=name)
errors.set(title="largest error of a joint", ylabel="mrad", yscale="log", ylim=(5e-5, 1e4))
forces.set(title="force across axis 1 at the foot", ylabel="N", ylim=(-5, 115))
moments.set(title="tilting moment at the foot", ylabel="N m", ylim=(120, 235))
for axes in (errors, forces, moments):
    axes.legend(fontsize=8, loc="upper center", ncols=2)
for axes in (rolls, errors, forces, moments):
    axes.set_xlabel("t (s)")
    axes.grid(alpha=0.3)
figure.savefig(OUT / "29_arm_on_a_ship.png", dpi=120)
