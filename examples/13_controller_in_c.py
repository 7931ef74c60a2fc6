"""Computed torque with integral of an identified PUMA 560 as C: equal torques in every cycle."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import dynamis as dy
from dynamis.realtime import Law
from dynamis.realtime.c_text import SelfTestSamples, recorded, self_test, stem_of

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
law = dy.control.ComputedTorque.from_bandwidth(puma, 40.0, integral=True, model=model)
there = np.array([0.5, -0.4, 0.6, 0.3, -0.3, 0.4])
move = dy.trajectory.via([0 * there, there, -there, 0 * there], [0.0, 3.0, 7.0, 10.0])
run = dy.simulate(puma, 10.0, 1e-3, controller=law, reference=move, sample_time=SAMPLE_TIME,
                  sensors=dy.Sensors(encoder=2 * np.pi / 40_000, velocity_filter=60.0))  # fmt: skip
print(run.metrics)
seen, wanted = run.measured, np.concatenate(move(run.measured.t), axis=1)
rows = SelfTestSamples(seen.q, seen.qd, wanted, "ten seconds of a simulated closed loop")
whole = Law(law, puma, SAMPLE_TIME)
torques = recorded(whole, seen.q, seen.qd, wanted)
off = np.abs(torques - run.measured.tau).max()
print(f"the law in Python beside the simulated one: {off:.1e} N m")


def made(*command: str) -> str:
    """What make says last."""
    make = ["make", "--no-print-directory", *command]
    done = subprocess.run(make, capture_output=True, text=True, check=True)
    return done.stdout.strip().splitlines()[-1]


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    for trig in ("libm", "own"):
        files = dy.export_controller(puma, law, folder / trig, SAMPLE_TIME, trig=trig)
    print("written:", ", ".join(sorted(f.name for f in files)))
    if shutil.which("cc") is None or shutil.which("make") is None:
        print("no C compiler here: not compiled")
    else:
        print("self-test:", made("-C", str(folder / "own"), "test"))
        # all ten seconds once more, in both precisions
        for dtype in ("float64", "float32"):
            where = folder / dtype
            dy.export_controller(puma, law, where, SAMPLE_TIME, dtype=dtype, trig="own")
            replay = self_test(whole, ["ten seconds"], dtype, rows)
            (where / f"{stem_of(whole)}_test.c").write_text(replay)
            print(f"the run in C, {dtype}:", made("-C", str(where), "test"))
print("program:", whole.program().cost)
