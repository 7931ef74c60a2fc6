"""PUMA 560 at 5 ms with encoders and friction: three inverse-dynamics controllers, one motion."""

import time
from pathlib import Path

import numpy as np

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

puma = dy.load("puma560")
there = np.array([0.4, -0.35, 0.45, 0.3, -0.25, 0.35])
motion = dy.trajectory.via([0 * there, there, -there, 0 * there], [0.0, 5.0, 10.0, 15.0])
encoders = dy.Sensors(encoder=2 * np.pi / 40_000, velocity_filter=60.0)
laws = {
    "point to point": dy.control.PointToPoint.from_bandwidth(50.0, friction="desired"),
    "computed torque": dy.control.ComputedTorque.from_bandwidth(50.0),
    "with integral": dy.control.ComputedTorque.from_bandwidth(50.0, integral=True),
}
print("RMS of the position error (rad)  " + "  ".join(f"{n:>8}" for n in puma.joint_names))
for name, law in laws.items():
    run = dy.simulate(
        puma, 15.0, 1e-3, controller=law, reference=motion, sensors=encoders, sample_time=5e-3
    )
    print(f"{name:32} " + "  ".join(f"{x:8.6f}" for x in run.metrics.rms))
published = (0.0054, 0.0048, 0.0092, 0.0177, 0.0154, 0.0310)
print(f"{'published, on the real arm':32} " + "  ".join(f"{x:8.4f}" for x in published))
print(run.metrics)


@lambda law: dy.compile(law, puma)
def cycle(arm, q, qd, q_d, qd_d, qdd_d):
    """Torque of one control cycle."""
    a = [d - 100 * (v - vd) - 2500 * (x - xd)
         for x, xd, v, vd, d in zip(q, q_d, qd, qd_d, qdd_d, strict=True)]  # fmt: skip
    return arm.inverse_dynamics(q, qd, a)


state = [np.zeros(6)] * 5
cycle(*state)
start = time.perf_counter()
for _ in range(10_000):
    cycle(*state)
print(f"one control cycle, called from Python: {(time.perf_counter() - start) * 100:.1f} us")
run.plot(path=OUT / "10_puma_controllers.png")
