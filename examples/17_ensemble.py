"""An ensemble of arms under one controller: on a GPU if there is one, else on the processor."""

import numpy as np

import dynamis as dy

devices = dy.gpu.devices()
print("computed on", devices[0].name if devices else "the processor")
device, arms = ("cuda", 1_000_000) if devices else ("cpu", 2_000)

puma = dy.load("puma560")
rng = np.random.default_rng(0)
values = np.asarray(puma.parameters.values) * rng.uniform(0.9, 1.1, (arms, 1))
law = dy.control.ComputedTorque.from_bandwidth(puma, 25.0)  # rad/s
move = dy.trajectory.quintic(np.zeros(6), [0.6, -0.4, 0.5, 0.3, 0.2, 0.1], duration=0.4)
run = dy.simulate(
    puma, 0.5, q0=np.zeros((arms, 6)), controller=law, reference=move, parameters=values,
    device=device, save_every=50,
)  # fmt: skip
worst = np.abs(run.error).max(axis=(1, 2))
print(f"{arms:,} arms, every one heavier or lighter by up to 10 %")
print(f"largest error of half of them below {np.quantile(worst, 0.5):.4f} rad")
print(f"of 999 in 1000 below {np.quantile(worst, 0.999):.4f} rad, of all {worst.max():.4f} rad")

again = dy.simulate(
    puma, 0.5, q0=np.zeros((1, 6)), controller=law, reference=move,
    parameters=values[[worst.argmax()]], save_every=50,
)  # fmt: skip
same = np.array_equal(again.q[0], run.q[worst.argmax()])
print("the worst of them alone, on the processor: the same bits", same)
