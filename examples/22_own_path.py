"""A path from a CSV file: read, checked, followed, and inside a controller in C."""

import shutil
import subprocess
from pathlib import Path

import numpy as np

import dynamis as dy

arm = dy.load("planar-2link")
Path("out").mkdir(exist_ok=True)
file = Path("out/22_points.csv")
file.write_text("""\
t [s],joint1 [deg],joint2 [deg]
0.0,  0,  20
0.6, 30, -10
1.0, 45, -40
2.0, 90,   0
""")
move = dy.trajectory.from_file(file, arm)
print(f"{move}: {len(move.knots)} points, from {move(0.0).q} to {move(move.duration).q}")
print("findings:", [str(x) for x in move.check(arm)] or "none")

# the same points without times, as fast as limits allow
points = np.degrees(move(move.knots).q)
file.write_text("joint1 [deg],joint2 [deg]\n" + "\n".join(f"{a},{b}" for a, b in points))
fast = dy.trajectory.from_file(file, arm, velocity=2.0, acceleration=8.0)
state = fast(np.linspace(0.0, fast.duration, 1001))
print(f"without times: {fast.duration:.3f} s, {np.abs(state.qd).max():.2f} rad/s,", end=" ")
print(f"{np.abs(state.qdd).max():.2f} rad/s^2")

# followed, recorded, and the recording as a reference again
law = dy.control.ComputedTorque.from_bandwidth(arm, 20.0)
run = dy.simulate(arm, 2.0, controller=law, reference=move, q0=move(0.0).q)
print(f"followed within {np.abs(run.error).max():.1e} rad")
run.plot(("q", "error"), path="out/22_own_path.png")
run.save("out/22_run.csv")
again = dy.trajectory.from_file("out/22_run.csv", arm)
fewer = again.simplified(1e-4)
off = np.abs(fewer(run.t).q - run.q).max()
print(f"a recording of {len(again.knots)} rows with {len(fewer.knots)} knots: off by {off:.0e} rad")


# a function of time as a table: code can hold it
def circle(t):
    w = np.pi
    q = np.array([0.4 * np.sin(w * t), 0.4 * np.cos(w * t)])
    qd = w * np.array([q[1], -q[0]])
    return q, qd, -w * w * q


table = dy.trajectory.from_function(circle, 2.0, tolerance=1e-5)
print(f"a circle as {len(table.knots)} knots")
out = Path("out/22_own_path")
dy.export_controller(arm, law, out, 0.005, reference=table)
if shutil.which("cc") and shutil.which("make"):
    done = subprocess.run(["make", "-s"], cwd=out, capture_output=True, text=True, check=True)
    print("in C:", done.stdout.strip())
else:
    print("no C compiler: the exported code was not run")

file.write_text("t,joint1,joint2\n0,0,0\n1,nan,0\n")
try:
    dy.trajectory.from_file(file, arm)
except dy.errors.FileError as error:
    print("refused:", error)
