"""How large will the error be, 999 times in 1000? Four thousand arms that differ, and the worst."""

from pathlib import Path

import numpy as np

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

arm = dy.load("scara")
law = dy.control.ComputedTorque(kp=400.0, kd=40.0)  # knows the arm as described
move = dy.trajectory.quintic(np.zeros(3), [0.8, -0.6, 0.1], duration=0.4)
vary = dy.Scatter(
    arm, mass=0.05, com=0.005, inertia=0.1, payload=(0.0, 1.0), joint_offset=0.001
)  # every body that is drawn can exist
study = dy.study(
    arm, 0.5, controller=law, reference=move, vary=vary, samples=4000,
    measure=("rms_error", "peak_tool_error", "peak_torque"),
)  # fmt: skip
print(study)

(bound,) = study.quantiles("peak_tool_error", 0.999)
low, high = study.quantile_intervals("peak_tool_error", 0.999)[0, :, 0]
print(f"999 of 1000 arms keep the tool within {1e3 * bound:.2f} mm of its path")
print(f"with 95 % confidence between {1e3 * low:.2f} and {1e3 * high:.2f} mm")
for name, part in study.sensitivity("peak_tool_error").ranked(3):
    print(f"of the variance, {name} explains {100 * part:.1f} %")

worst = study.worst("peak_tool_error", 1)
run = study.replay(worst.samples[0])
print(f"the worst is sample {worst.samples[0]}: {1e3 * worst.values[0, 0]:.2f} mm")
gap = run.robot.fk(run.q)[:, :3, 3] - arm.fk(run.reference.q)[:, :3, 3]
print(f"replayed: {1e3 * np.linalg.norm(gap, axis=1).max():.2f} mm")

study.plot("peak_tool_error", path=OUT / "18_how_sure.png")
run.plot(("error", "tau"), path=OUT / "18_how_sure_worst.png")
study.report(OUT / "18_how_sure.html")
print("wrote out/18_how_sure.html with everything")
