"""A robot arm as it was built, from positions that a laser tracker measured; all simulated."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

robot = dy.load("puma560")
real = robot  # with errors of assembly: joint zeros (rad), lengths (m), angles (rad)
for link, change in {
    "link2": {"offset": 3e-3, "a": 0.4325},
    "link3": {"offset": -4e-3, "a": 0.0211},
    "link4": {"d": 0.4325, "alpha": np.pi / 2 + 1.5e-3},
    "link5": {"offset": 2e-3},
}.items():
    real = real.with_link(link, **change)

target = np.array([0.03, 0.02, 0.10])  # the reflector on the flange; nobody knows it exactly
frame = dy.transforms.pose(dy.transforms.from_rpy(0.2, -0.1, 2.0), (2.5, -1.0, 0.3))
rng = np.random.default_rng(0)


def measured(q: np.ndarray) -> dy.calibration.Points:
    """What the tracker sees, with 20 um of noise."""
    T = frame @ real.fk(q)
    p = T[:, :3, :3] @ target + T[:, :3, 3]
    return dy.calibration.Points(q, p + 2e-5 * rng.normal(size=p.shape))


q = dy.calibration_postures(robot, 80, target=target, floor=-0.3)
calibration = dy.calibrate(robot, measured(q))
print(calibration)
print(calibration.parameters)

low, high = robot.limits.T
elsewhere = measured(rng.uniform(low, high, (400, robot.n)))
before = calibration.validate(elsewhere, nominal=True)
after = calibration.validate(elsewhere)
print(f"elsewhere: {1e3 * before.mean:.2f} mm before, {1e3 * after.mean:.3f} mm after")

calibration.save(OUT / "30_as_built_arm.toml")
same = np.abs(dy.load(OUT / "30_as_built_arm.toml").fk(q) - calibration.robot.fk(q)).max()
print(f"saved and loaded it is the same within 1e-12: {same < 1e-12}")

picture = Figure(figsize=(7, 3.5), layout="constrained")
axes = picture.subplots()
bins = np.geomspace(5e-3, 10.0, 60)
for name, one in (("as described", before), ("as built", after)):
    axes.hist(1e3 * one.errors, bins=bins, label=name, alpha=0.8)
axes.set(xscale="log", xlabel="distance from the measured point, mm", ylabel="postures")
axes.legend()
picture.savefig(OUT / "30_as_built_arm.png", dpi=110)
