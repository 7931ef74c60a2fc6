"""The PUMA 560: torque by every formulation, split into its parts, and back to accelerations."""

import numpy as np

import dynamis as dy

puma = dy.load("puma560")
print(puma.dh())

rng = np.random.default_rng(0)
q = puma.configurations["nominal"]
qd, qdd = rng.normal(size=(2, 6))

for method in ("newton-euler", "newton-euler-base", "lagrange-euler", "gibbs-appell"):
    print(f"{method:18}", puma.inverse_dynamics(q, qd, qdd, method=method).round(6))

for name, part in puma.torque_terms(q, qd, qdd).items():
    print(f"{name:18}", part.round(4))

tau = puma.inverse_dynamics(q, qd, qdd)
for method in (
    "walker-orin-1",
    "walker-orin-2",
    "walker-orin-3",
    "walker-orin-4",
    "articulated-body",
):
    error = np.abs(puma.forward_dynamics(q, qd, tau, method=method) - qdd).max()
    print(f"{method:18} returns the accelerations to {error:.1e}")

print("motor torques", puma.motor_torque(q, qd, qdd).round(4))
print("with 2.5 kg in the hand", puma.with_payload(2.5).gravity_torque(q).round(3))
