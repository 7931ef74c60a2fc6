"""The computer of a 1990s lab: a PUMA 560 behind counters and converters, and its program in C."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)
SAMPLE, START = 5e-3, 10.0  # s: the published sample time; when every start is over

# the arm: torque constants (N m/A) and amplifiers (A/V) are assumed, so that 10 V give about what
# the joints of a PUMA bear; its friction is 20 % above that of the model
puma = dy.load("puma560")
for joint in range(6):
    puma = puma.with_drive(joint, torque_constant=0.23 if joint < 3 else 0.07,
                           amplifier_gain=0.8 if joint < 3 else 0.45)  # fmt: skip
names = puma.parameters.names
more = [1.2 if "viscous" in name or "coulomb" in name else 1.0 for name in names]
real = puma.with_parameters(np.array(puma.parameters.values) * more)

# the board: counters of 24 bits, converters of 12; the joints are somewhere
board = dy.control.Board.load(Path(__file__).with_suffix(".toml"))
sensors = dy.Sensors(board=board, velocity_filter=60.0, seed=1)
somewhere = np.array([-0.8, 0.3, -0.9, 0.9, 0.4, -1.5])
there = np.array([0.4, -0.35, 0.45, 0.3, -0.25, 0.35])
motion = dy.trajectory.via(
    [0 * there, 0 * there, there, -there, 0 * there],
    [0.0, START, START + 5, START + 10, START + 15],
)
laws = {
    "point to point": dy.control.PointToPoint.from_bandwidth(
        puma, 20.0, model=puma, friction="desired"
    ),
    "trajectory": dy.control.ComputedTorque.from_bandwidth(puma, 20.0, model=puma),
    "with integral": dy.control.ComputedTorque.from_bandwidth(
        puma, 20.0, model=puma, integral=True
    ),
}
published = {"mean": (-0.00095, -0.00452, -0.00141, 0.00625, 0.00363, -0.00979),
             "RMS": (0.0054, 0.0048, 0.0092, 0.0177, 0.0154, 0.0310)}  # fmt: skip


def row(title, values):
    print(f"{title:24} " + "  ".join(f"{x:8.5f}" for x in values))


runs, errors = {}, {}
for name, law in laws.items():
    runs[name] = dy.simulate(real, START + 15.0, 1e-3, q0=somewhere, controller=law,
                             reference=motion, sensors=sensors, sample_time=SAMPLE)  # fmt: skip
    run = runs[name]
    errors[name] = (run.measured.q - motion(run.measured.t).q)[run.measured.t > START]
phase = run.states["board.phase"][:, 0]
for k, words in enumerate(("potentiometers", "index pulses", "approach")):
    print(f"{words:14} {1e-3 * (phase == k).sum():6.3f} s")
print("position errors (rad)    " + "  ".join(f"{n:>8}" for n in puma.joint_names))
for name, error in errors.items():
    row(f"{name}, mean", error.mean(0))
    row(f"{name}, RMS", np.sqrt((error**2).mean(0)))
for name, values in published.items():
    row(f"published, {name}", values)

# the same program as C: the bits of the simulation, and its time
folder = OUT / "27_lab_computer"
dy.export_controller(puma, laws["with integral"], folder, SAMPLE, velocity_filter=60.0,
                     inputs="counts", outputs="codes", board=board, trig="own")  # fmt: skip
print(f"{len(list(folder.iterdir()))} files, {board.name}")
compiler = shutil.which("gcc") or shutil.which("clang")
if compiler is None:
    print("no C compiler")
else:
    make = ["make", "--no-print-directory", "-B", f"CC={compiler}"]
    test = subprocess.run([*make, "CFLAGS=-std=c99 -O2 -ffp-contract=off"],
                          cwd=folder, capture_output=True, text=True, check=True)  # fmt: skip
    print("self-test:", test.stdout.splitlines()[-1])
    cycles = """
#include <stdio.h>
#include <time.h>
#include "puma560_computedtorque.h"
int main(void)
{
    static puma560_computedtorque_state state;
    static puma560_computedtorque_measurement read;
    static puma560_computedtorque_reference wanted;
    static puma560_computedtorque_output out;
    clock_t begun;
    puma560_computedtorque_init(&state);
    begun = clock();
    for (read.tick = 0; read.tick < 20000; read.tick++)
        puma560_computedtorque_step(&state, &read, &wanted, &out);
    printf("%.2f\\n", 1e6 * (double)(clock() - begun) / CLOCKS_PER_SEC / 20000.0);
    return 0;
}
"""
    (folder / "cycles.c").write_text(cycles)
    words = ["-std=c99", "-O2", "-ffp-contract=off", "puma560_computedtorque.c", "cycles.c"]
    subprocess.run([compiler, *words, "-o", "cycles"], cwd=folder, check=True)
    took = subprocess.run(
        [folder.absolute() / "cycles"], capture_output=True, text=True, check=True
    )
    print(f"one cycle from counts to codes: {float(took.stdout):.2f} us")
print("one cycle, published (Pentium 4): 3550 us")

# references and positions, errors, control actions: as its figures 13 to 15
run, figure = runs["with integral"], Figure(figsize=(10, 9), layout="constrained")
places, off, volts = figure.subplots(3, 1, sharex=True)
t, wanted = run.measured.t, motion(run.measured.t).q
given = run.states["board.volts"][:: round(SAMPLE / run.dt)][: len(t)]
for i, joint in enumerate(puma.joint_names):
    places.plot(t, wanted[:, i], color=f"C{i}", lw=0.8)
    places.plot(t, run.measured.q[:, i], "--", color=f"C{i}", label=joint)
    off.plot(t[t > START], 1e3 * errors["with integral"][:, i], color=f"C{i}", lw=0.8)
    volts.plot(t, given[:, i], color=f"C{i}", lw=0.6)
places.set(ylabel="rad", title="references (lines) and positions (dashed), from an unknown place")
off.set(ylabel="mrad", title="errors")
volts.set(ylabel="V", xlabel="s", title="what the D/A converters give")
places.legend(ncols=6, fontsize="small", loc="upper right")
for ax in (places, off, volts):
    ax.grid(alpha=0.3)
figure.savefig(OUT / "27_lab_computer.png", dpi=110)
