"""A million evaluations: batches, threads, derivatives, one parameter set per sample."""

import time

import numpy as np

import dynamis as dy

puma = dy.load("puma560")
rng = np.random.default_rng(0)
q, qd, qdd = rng.normal(size=(3, 1_000_000, 6))

puma.inverse_dynamics(q[0], qd[0], qdd[0])  # traced and compiled here, from the cache next time
start = time.perf_counter()
tau = puma.inverse_dynamics(q, qd, qdd)
seconds = time.perf_counter() - start
print(f"{len(q):,} inverse dynamics in {seconds:.3f} s: {seconds / len(q) * 1e9:.0f} ns each")
assert np.array_equal(tau[12345], puma.inverse_dynamics(q[12345], qd[12345], qdd[12345]))

dtau_dq, dtau_dqd, M = puma.inverse_dynamics_derivatives(q[:1000], qd[:1000], qdd[:1000])
print("derivatives", dtau_dq.shape, "exact to rounding")

kernel = puma.kernel("inverse_dynamics", parameters="argument")
ensemble = puma.parameters.values * rng.uniform(0.9, 1.1, size=(1000, 90))
deviation = kernel(q[0], qd[0], qdd[0], ensemble).std(axis=0)
print("standard deviation of the torque, parameters off by up to 10 %:", deviation.round(2))
