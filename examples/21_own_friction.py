"""A friction law of one's own: fitted to measured torques, simulated in stick-slip, in C."""

import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import dynamis as dy


@dataclass(frozen=True)
class Seal:
    """A lip seal: dry friction that falls with speed (Stribeck), and grease that thins."""

    dry: float = 1.0  # N m
    stick: float = 1.0  # N m, on top of dry at rest
    thick: float = 1.0  # N m at high speed
    falls: float = 0.05  # rad/s over which `stick` is lost
    thins: float = 1.0  # rad/s

    def torque(self, qd, direction, constants, fn):
        speed = qd * direction  # |qd|
        sticking = constants["stick"] * fn.exp(-speed / constants["falls"])
        viscous = constants["thick"] * qd / (constants["thins"] + speed)
        return (constants["dry"] + sticking) * direction + viscous


def table_with(law):
    """A turntable with a vertical axis and this friction."""
    link = dy.Link(mass=8.0, inertia=(0.1, 0.1, 0.4), friction=dy.Friction(law=law))
    return dy.Robot.from_dh("turntable", convention="standard", links=[link])


# torques measured at constant speeds, here made by a law that nobody knows
truth = Seal(dry=3.0, stick=1.5, thick=4.0, falls=0.04, thins=0.7)
rng = np.random.default_rng(0)
speeds = np.repeat([-2.0, -1.0, -0.4, -0.1, -0.03, -0.01, 0.01, 0.03, 0.1, 0.4, 1.0, 2.0], 5)[
    :, None
]
measured = table_with(truth).friction_torque(speeds) + 0.05 * rng.normal(size=speeds.shape)


def fitted(falls, thins):
    """Constants that the torque is linear in by least squares; the others are given."""
    model = table_with(Seal(falls=falls, thins=thins))
    columns = [model.parameters.names.index(f"joint1.{x}") for x in ("dry", "stick", "thick")]
    still = np.zeros_like(speeds)
    Y = model.regressor(still, speeds, still)[:, 0, columns]
    found, *_ = np.linalg.lstsq(Y, measured[:, 0])
    left = measured[:, 0] - Y @ found
    return left @ left, dict(
        zip(("dry", "stick", "thick"), found, strict=True), falls=falls, thins=thins
    )


_, constants = min(
    (fitted(a, b) for a in (0.02, 0.04, 0.08) for b in (0.35, 0.7, 1.4)), key=lambda x: x[0]
)
law = Seal(**{name: float(x) for name, x in constants.items()})
print("fitted:", ", ".join(f"{name} {x:.2f}" for name, x in constants.items()))
table = table_with(law)
off = table.friction_torque(speeds) - measured
print(f"torque beside the measurements: {np.sqrt((off**2).mean()):.3f} N m RMS of 0.05 noise")

# pulled slowly by a soft controller it sticks and slips; without the fall it slides
Path("out").mkdir(exist_ok=True)
slow = dy.trajectory.quintic([0.0], [0.3], duration=6.0)
soft = dy.control.JointPID(kp=60.0, ki=0.0, kd=1.0)
for name, seal in (("fitted", law), ("without stick", replace(law, stick=0.0))):
    run = dy.simulate(table_with(seal), 6.0, controller=soft, reference=slow)
    slips = int((np.diff(run.stuck[:, 0].astype(int)) < 0).sum())
    if seal is law:
        run.plot(("q", "qd"), path="out/21_own_friction.png")
    print(f"simulated, {name}: {slips} slips, at rest {100 * run.stuck.mean():.0f} % of the time")

out = Path("out/21_own_friction")
table.export("inverse_dynamics", directory=out)
if shutil.which("cc") and shutil.which("make"):
    done = subprocess.run(["make", "-s"], cwd=out, capture_output=True, text=True, check=True)
    print("in C:", done.stdout.strip())
else:
    print("no C compiler: the exported code was not run")
