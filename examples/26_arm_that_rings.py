"""Four laws for an arm on soft gears, with its model right and wrong, and a shaped reference."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)
H = 1e-3  # s: torques are held so long
START, END, T = np.array([0.2, 0.4]), np.array([0.6, 0.1]), 0.6
control, trajectory = dy.control, dy.trajectory


def arm(stiffness=1.0, mass=1.0):
    """Two links on soft gears; factors of both stiffnesses, and of all of the second link."""
    links = []
    for length, m, inertia, rotor, K in ((0.5, 5.0, 0.02, 0.3, 2e3), (0.4, 3.0, 0.01, 0.05, 8e2)):
        drive = dy.Drive(gear=100, rotor_inertia=rotor / 1e4, stiffness=stiffness * K)
        f = mass if links else 1.0
        links.append(
            dy.Link(a=length, mass=f * m, com=(-length / 2, 0, 0),
                    inertia=(0, f * inertia, f * inertia), drive=drive)
        )  # fmt: skip
    return dy.Robot.from_dh("soft", convention="standard", gravity=(0, -9.81, 0), links=links)


def simulated(robot, law, plan):
    """A run that begins at rest, and its errors in mrad."""
    run = dy.simulate(robot, 3.0, H, q0=START, controller=law, reference=plan)
    return run, 1000 * (run.q - plan(run.t).q)


def settled(run, plan):
    """Seconds from the end of the reference until both links stay within 1 mrad of it."""
    outside = np.flatnonzero(np.abs(run.q - END).max(axis=1) > 1e-3)
    return run.t[outside[-1]] - plan.duration


model, wrong = arm(), arm(stiffness=0.8, mass=1.2)
middle = (START + END) / 2
free, locked = model.resonances(middle).free, model.resonances(middle).locked
print(f"resonances: rotors free {free[0]:.1f}, {free[1]:.1f} Hz, locked {locked[0]:.1f}, "
      f"{locked[1]:.1f} Hz")  # fmt: skip

gains = {"kp": [2000.0, 200.0], "kd": [50.0, 5.0], "model": model}
laws = {
    "motor PD, gravity": control.MotorPD(**gains),
    "rigid feed-forward": control.FeedForward(**gains),
    "flatness": control.FlatnessFeedForward(**gains),
    "state feedback": control.StateFeedback.from_bandwidth(model, 50.0, H, q=middle, model=model),
}
move = trajectory.nonic(START, END, T)  # four continuous derivatives
runs = {}
for name, law in laws.items():
    said = []
    for robot in (model, wrong):
        run, error = runs[name, robot is model] = simulated(robot, law, move)
        moving = run.t <= T
        rms, swing = np.sqrt((error[moving] ** 2).mean()), np.ptp(error[~moving], axis=0).max()
        said.append(f"rms {rms:6.3f}, swing after {swing:6.3f} mrad")
    print(f"{name:18}: {said[0]}; stiffness -20 %, mass +20 %: {said[1]}")

# a reference shaped with the two lowest modes of the loop that it drives
law = laws["motor PD, gravity"]
modes = control.closed_loop_modes(model, law, middle, H)
print("modes of motor PD:", *(f"{f:.2f} Hz (damping ratio {z:.2f})" for f, z in modes[:2]))
shaped = trajectory.zvd(move, modes[:2])
slow = {}
for name, plan in (("unshaped", move), ("shaped", shaped)):
    slow[name] = simulated(model, law, plan)[0]
    print(f"{name}: lasts {plan.duration:.3f} s, within 1 mrad {settled(slow[name], plan):.3f} s "
          "after its end")  # fmt: skip

figure = Figure(figsize=(9, 6.5), layout="constrained")
axes = figure.subplots(2, 2)
for column, right in enumerate((True, False)):
    ax = axes[0, column]
    for color, name in enumerate(list(laws)[1:]):
        run, error = runs[name, right]
        ax.plot(run.t, error[:, 0], color=f"C{color}", label=name)
    ax.set(xlim=(0.0, 1.2), ylabel="error of link 1 (mrad)")
    ax.set_title("the model is right" if right else "stiffness 20 % lower, mass 20 % higher")
axes[0, 0].legend()
for color, name in enumerate(("flatness", "state feedback"), 1):
    run, error = runs[name, True]
    axes[1, 0].plot(run.t, error[:, 0], color=f"C{color}", label=name)
axes[1, 0].set(xlim=(0.0, 1.2), xlabel="t (s)", ylabel="error of link 1 (mrad)")
axes[1, 0].set_title("the same, magnified")
for color, (name, plan) in enumerate((("unshaped", move), ("shaped", shaped))):
    axes[1, 1].plot(slow[name].t, slow[name].q[:, 0], color=f"C{3 + color}", label=name)
    axes[1, 1].plot(slow[name].t, plan(slow[name].t).q[:, 0], ":", color=f"C{3 + color}")
axes[1, 1].set(xlim=(0.0, 2.2), xlabel="t (s)", ylabel="link 1 (rad)")
axes[1, 1].set_title("motor PD, reference dotted")
axes[1, 1].legend(loc="lower right")
for ax in axes.flat:
    ax.grid(alpha=0.3)
figure.savefig(OUT / "26_arm_that_rings.png", dpi=120)
