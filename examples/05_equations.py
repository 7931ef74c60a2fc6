"""Closed forms, a derivation step by step, base parameters and operation counts."""

import tempfile
from pathlib import Path

import dynamis as dy

arm = dy.load("planar-rr")  # its lengths, masses and inertias are symbols
equations = arm.equations("lagrange-euler")
print("M =", equations.M)
print("g =", equations.g)
print("tau1 =", equations.tau[0])

polar = dy.load("polar-rp")
print(str(polar.equations("lagrange-euler").steps)[:1200])
with tempfile.TemporaryDirectory() as folder:
    page = Path(folder) / "polar.html"
    polar.equations("lagrange-euler").html(page)
    print(f"as a printable page: {page.stat().st_size} bytes")

puma = dy.load("puma560-mdh")
base = puma.base_parameters(inertial_only=True)
print(base.rank, "inertial base parameters, among them", base.names[0])
for way in ("nothing", "speed", "operations"):
    print(f"inverse dynamics optimised for {way}:", puma.cost("inverse_dynamics", optimise=way))
print(puma.significance(percent=1.0))
