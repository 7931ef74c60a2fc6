"""PUMA 560 at 5 ms with encoders and friction: three inverse-dynamics controllers, one motion."""

from pathlib import Path

import numpy as np

import dynamis as dy
from dynamis.bench.simulation import control_cycle

OUT = Path("out")
OUT.mkdir(exist_ok=True)

puma = dy.load("puma560")
there = np.array([0.4, -0.35, 0.45, 0.3, -0.25, 0.35])
motion = dy.trajectory.via([0 * there, there, -there, 0 * there], [0.0, 5.0, 10.0, 15.0])
encoders = dy.Sensors(encoder=2 * np.pi / 40_000, velocity_filter=60.0)
laws = {
    "point to point": dy.control.PointToPoint.from_bandwidth(puma, 50.0, friction="desired"),
    "computed torque": dy.control.ComputedTorque.from_bandwidth(puma, 50.0),
    "with integral": dy.control.ComputedTorque.from_bandwidth(puma, 50.0, integral=True),
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

cycle = control_cycle(puma, laws["with integral"])
print(f"one control cycle, compiled: {1e6 * cycle.compiled:.2f} us")
print(f"one control cycle, dy.control.ControlLoop in Python: {1e6 * cycle.python:.0f} us")
print("one control cycle, published: 3550 us")
run.plot(path=OUT / "10_puma_controllers.png")
