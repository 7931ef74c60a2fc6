"""Prints the seconds from `import dynamis` to the first result; `traced` leaves the imports out."""

import sys
import time

import llvmlite.binding  # noqa: F401
import numpy as np

t = time.perf_counter()
import dynamis as dy  # noqa: E402

if "traced" in sys.argv:
    import casadi  # noqa: F401

    t = time.perf_counter()
robot = dy.load("puma560")
q = np.zeros(6)
robot.inverse_dynamics(q, q, q)
print(time.perf_counter() - t)
