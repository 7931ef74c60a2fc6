"""Computed torque with integral of an identified PUMA 560 as C: the same torques, every cycle."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import dynamis as dy
from dynamis.realtime.c_text import recorded
from dynamis.realtime.law import Law

SAMPLE_TIME = 0.005
puma = dy.load("puma560")

# a model from a log of the arm itself
rng = np.random.default_rng(0)
t = np.arange(0.0, 10.0, 0.005)
phase = 2 * np.pi * 0.1 * np.outer(t, np.arange(1, 6))
a, b = rng.normal(size=(2, 5, 6)) * 0.25
motion = [np.sin(phase) @ a + np.cos(phase) @ b]
for _ in range(2):
    motion.append(np.gradient(motion[-1], t, axis=0))
tau = puma.inverse_dynamics(*motion) + 0.1 * rng.normal(size=(len(t), 6))
log = dy.Log(t=t, q=motion[0], qd=motion[1], tau=tau)
model = dy.identify(puma, log, friction="asymmetric", held_out=False).robot

# ten seconds of closed loop, simulated
law = dy.control.ComputedTorque.from_bandwidth(40.0, integral=True, model=model)
there = np.array([0.5, -0.4, 0.6, 0.3, -0.3, 0.4])
move = dy.trajectory.via([0 * there, there, -there, 0 * there], [0.0, 3.0, 7.0, 10.0])
run = dy.simulate(puma, 10.0, 1e-3, controller=law, reference=move, sample_time=SAMPLE_TIME,
                  sensors=dy.Sensors(encoder=2 * np.pi / 40_000, velocity_filter=60.0))  # fmt: skip
print(run.metrics)
rows = run.measured.q, run.measured.qd, np.concatenate(move(run.measured.t), axis=1)
torques = recorded(Law(law, puma, SAMPLE_TIME), *rows)
off = np.abs(torques - run.measured.tau).max()
print(f"the law in Python beside the simulated one: {off:.1e} N m")

with tempfile.TemporaryDirectory() as folder:
    for trig in ("libm", "own"):
        files = dy.export_controller(law, puma, Path(folder) / trig, SAMPLE_TIME, trig=trig)
    print("written:", ", ".join(sorted(f.name for f in files)))
    if shutil.which("cc") is None:
        print("no C compiler here: not compiled")
    else:
        make = ["make", "--no-print-directory", "test"]
        done = subprocess.run(make, cwd=files[0].parent, capture_output=True, text=True, check=True)
        print("self-test:", done.stdout.strip().splitlines()[-1])
print("program:", Law(law, puma, SAMPLE_TIME).program().cost)
