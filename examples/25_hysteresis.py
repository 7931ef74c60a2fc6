"""Hysteresis of a joint: friction with memory, found in a log and compensated."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)
MEMORY = dy.Memory(radii=(1e-3, 1e-2), weights=(3.0, 4.0))  # rad, N m


def arm(**friction):
    """A bar of 1 m in the vertical plane; without `friction` as its maker describes it."""
    link = dy.Link(a=1.0, mass=5.0, com=(-0.5, 0, 0), inertia=(0, 0.4, 0.4),
                   friction=dy.Friction(**friction))  # fmt: skip
    return dy.Robot.from_dh("bar", convention="standard", gravity=(0, -9.81, 0), links=[link])


real = arm(viscous=1.5, coulomb=1.0, memory=MEMORY)

# loops: slow motions of two sizes, friction alone
t = np.linspace(0.0, 30.0, 6001)
loops = {}
for size in (2e-3, 2e-2):
    q = size * np.sin(0.8 * t)[:, None]
    still = np.zeros_like(q)
    level = real.with_gravity((0, 0, 0))
    log = dy.Log(t=t, q=q, tau=still, qd=size * 0.8 * np.cos(0.8 * t)[:, None], qdd=still)
    loops[size] = q, dy.torque_along(level, log)


def recorded(law, move, seconds, seed):
    """A log of the real arm under a law, with an encoder of 20 bits."""
    sensors = dy.Sensors(encoder=2 * np.pi / 2**20, seed=seed)
    run = dy.simulate(real, seconds, 1e-3, q0=move(0.0)[0], controller=law, reference=move,
                      sensors=sensors, check_step=False)  # fmt: skip
    return dy.Log.from_run(run)


# identification: what the log says of friction with memory
law = dy.control.ComputedTorque(400.0, 40.0)
a, b = [[0.5, -0.3, 0.12, 0.08]], [[-0.2, 0.25, 0.1, -0.12]]
log = recorded(law, dy.trajectory.fourier(a, b, 5.0), 20.0, seed=1)
other = recorded(law, dy.trajectory.fourier(b, a, 4.0), 8.0, seed=2)
found = {name: dy.identify(arm(), log, friction=name) for name in ("smooth", "memory")}
for name, estimate in found.items():
    check = estimate.validate(other)
    print(f"{name}: {100 * check.relative_error_overall:.2f} % on another motion")
memory = found["memory"].robot.model.links[0].friction.memory
print("found", memory.text)

# control: a small move there and back, feed-forward of both models
move = dy.trajectory.via([[0.0], [0.03], [0.015], [0.03]], [0.0, 0.5, 0.8, 1.1])
errors = {}
for name, estimate in found.items():
    forward = dy.control.FeedForward(200.0, 20.0, model=estimate.robot)
    run = dy.simulate(real, 1.3, q0=[0.0], controller=forward, reference=move, check_step=False)
    errors[name] = run.t, 1000 * (run.q - move(run.t)[0])[:, 0]
    print(f"feed-forward {name}: largest error {np.abs(errors[name][1]).max():.3f} mrad")

figure = Figure(figsize=(9, 6), layout="constrained")
(large, small), (fitted, control) = figure.subplots(2, 2)
for ax, (size, (q, tau)) in zip((small, large), loops.items(), strict=True):
    ax.plot(1000 * q[:, 0], tau[:, 0], color="C0")
    ax.set(title=f"friction of a slow motion of {1000 * size:g} mrad", ylabel="torque (N m)")
    ax.set(xlabel="position (mrad)")
part = (other.t > 2.0) & (other.t < 3.5)
fitted.plot(other.t[part], other.tau[part, 0], color="0.6", label="measured")
for color, (name, estimate) in zip(("C1", "C3"), found.items(), strict=True):
    fitted.plot(other.t[part], estimate.predict(other)[part, 0], color=color, label=name)
fitted.set(title="another motion", xlabel="t (s)", ylabel="torque (N m)")
for color, (name, (at, off)) in zip(("C1", "C3"), errors.items(), strict=True):
    control.plot(at, off, color=color, label=f"feed-forward, {name}")
control.set(title="a small move there and back", xlabel="t (s)", ylabel="error (mrad)")
fitted.legend()
control.set_ylim(-20, 11)  # the legend below the curves
control.legend(loc="lower right", ncols=2, fontsize="small")
for ax in (large, small, fitted, control):
    ax.grid(alpha=0.3)
figure.savefig(OUT / "25_hysteresis.png", dpi=120)
