"""Identify a simulated PUMA 560 from encoders and noisy torques, and compare with the truth."""

from pathlib import Path

import numpy as np

import dynamis as dy
from dynamis.plots.figure import Picture, save

OUT = Path("out")
OUT.mkdir(exist_ok=True)

puma = dy.load("puma560")
limits = {"qd_limits": [2, 1.5, 2, 3, 3, 3], "qdd_limits": [8, 8, 8, 12, 12, 12]}
exciting = dy.excite(puma, harmonics=5, period=10.0, starts=1, max_iterations=25, **limits)
print(f"excitation: condition number {exciting.condition_number:.1f}, "
      f"{exciting.gain.condition_median:.1f} times better than random")  # fmt: skip


def pid(motion):
    """Gains for the inertias where the motion begins."""
    return dy.control.JointPID.from_bandwidth(
        puma, 20.0, q=motion(0.0)[0], integral=True, derivative="error", sample_time=1e-3
    )


def recorded(motion, duration, name, noise=1.0, seed=0):
    """What the computer logs while PIDs follow a motion: counts, differences, noisy torques."""
    sensors = dy.Sensors(
        encoder=2 * np.pi / 60_000, velocity_filter=50.0, position_noise=3e-5, seed=seed,
        torque_noise=noise * np.array([0.5, 0.5, 0.25, 0.05, 0.05, 0.05]),
    )  # fmt: skip
    run = dy.simulate(puma, duration, 1e-3, q0=motion(0.0)[0], controller=pid(motion),
                      reference=motion, sensors=sensors)  # fmt: skip
    return dy.Log.from_run(run, name)


def at_pace(motion, share):
    """The path of a motion, slower or faster."""
    return dy.trajectory.fourier(
        share * motion.a, share * motion.b, motion.period / share, motion.q0, motion.harmonics
    )


log = recorded(exciting.trajectory, 20.0, "exciting")
slow = recorded(at_pace(exciting.trajectory, 0.2), 50.0, "slow", seed=1)
there = np.array([0.8, -0.4, 0.6, 0.9, -0.8, 1.2])
ready = puma.configurations["ready"]
other = dy.trajectory.via([ready, ready + there, ready - there, ready], [0.0, 2.0, 5.0, 7.0])
check = recorded(other, 7.0, "point to point", seed=2)

how = {"friction": "asymmetric", "processing": dy.Processing(velocity="difference")}
direct = dy.identify(puma, log, estimator="weighted", **how)
x, (low, high) = direct.unknowns.values, direct.intervals(0.99).T
inside = (low <= x) & (x <= high)
print(f"\n{'unknown':34} {'true':>9} {'estimate':>9} {'std':>8}  inside")
for name, *row, good in zip(
    direct.names, x, direct.values, direct.standard_deviations, inside, strict=True
):
    short = name if len(name) < 34 else f"{name[:30]} ..."
    print(f"{short:34} {row[0]:9.4f} {row[1]:9.4f} {row[2]:8.4f}  {'yes' if good else 'no'}")
print(f"inside their 99 % intervals: {inside.sum()} of {len(x)}")
print(direct.interval_source)

seen = dy.Sensors(velocity="difference", velocity_filter=50.0)  # what shapes the loop
refined = direct.refine(
    log, pid(exciting.trajectory), exciting.trajectory, iterations=3, sensors=seen
)
for name, found in {"direct": direct, "output error": refined}.items():
    off = (found.values - x) / direct.standard_deviations
    print(f"{name}: {np.sqrt((off**2).mean()):.2f} standard deviations of the direct estimate off")

two_step = dy.identify(puma, log, estimator="weighted", method="two-step", slow=slow, **how)
feasible = dy.identify(puma, log, estimator="feasible", **how)
poor = dy.identify(
    puma, recorded(exciting.trajectory, 2.5, "short", noise=10.0, seed=3), estimator="ordinary",
    held_out=False, **how,
)  # fmt: skip
print(
    "\nrelative error of the torque as logged; where joints stick, the law of sliding does not hold"
)
print(f"{'':28} {'fitted':>9} {'held out':>9} {'another motion':>15} {'while sliding':>14}")
for name, found in {
    "direct": direct, "two-step": two_step, "feasible": feasible, "output error": refined,
    "ordinary, short and noisy": poor,
}.items():  # fmt: skip
    new = found.validate(check)
    slides = np.abs(check.qd) > 0.1
    sliding = np.linalg.norm(new.residual[slides]) / np.linalg.norm(new.measured[slides])
    held = "" if found.held_out is None else f"{found.held_out.relative_error_overall:.2%}"
    print(f"{name:28} {found.training[0].relative_error_overall:9.2%} {held:>9} "
          f"{new.relative_error_overall:15.2%} {sliding:14.2%}")  # fmt: skip

poses = np.random.default_rng(0).uniform(-np.pi, np.pi, (20_000, puma.n))
for name, found in {"feasible": feasible, "ordinary, short and noisy": poor}.items():
    least = np.linalg.eigvalsh(found.robot.mass_matrix(poses))[:, 0]
    print(f"{name}: physical {found.is_physical}, "
          f"smallest eigenvalue of the mass matrix {least.min():.3g}")  # fmt: skip

shown = direct.validate(check)
figure = Picture(figsize=(9.0, 7.0), layout="constrained")
for axis, name, measured, predicted in zip(
    figure.subplots(3, 2, sharex=True).flat, puma.joint_names, shown.measured.T, shown.predicted.T,
    strict=True,
):  # fmt: skip
    axis.plot(shown.t, measured, linewidth=0.5, color="0.6", label="measured")
    axis.plot(shown.t, predicted, linewidth=1.2, label="predicted")
    axis.set_title(name, fontsize=9)
    axis.grid(alpha=0.3)
figure.axes[0].legend(fontsize=8)
figure.suptitle("A motion the estimate has not seen: torque (N m) over time (s)", fontsize=11)
save(figure, OUT / "12_identify_puma.png")
