"""A 3-RPS platform: excite, log, identify, compare controllers, export the best as C."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

drawn = dy.load("3-rps")
rubbing = dy.Friction(viscous=4.0, coulomb=2.0, law="smooth")  # of the hinges, in the real one
built = drawn
for link in drawn.model.links:
    own = rubbing if link.joint_name.startswith("hinge") else replace(link.friction, law="smooth")
    built = built.with_link(link.name, mass=1.2 * link.mass, friction=own)
drives = drawn.driven
home = drawn.home[drives]
print(f"{drawn.name}: {drawn.n} joints, {len(drives)} drives, {drawn.dof} degrees of freedom")

exciting = dy.excite(drawn, harmonics=4, period=6.0, starts=1, max_iterations=4)
print(f"exciting motion: condition number {exciting.condition_number:.0f}")


def recorded(motion, duration, name, seed):
    """What a computer logs while PIDs follow a motion: counted positions, noisy forces."""
    sensors = dy.Sensors(encoder=1e-6, torque_noise=1.0, velocity_filter=60.0, seed=seed)
    pid = dy.control.JointPID.from_bandwidth(drawn, 40.0, integral=True, derivative="error")
    start = np.array(drawn.home)
    start[drives] = motion(0.0).q
    run = dy.simulate(built, duration, 1e-3, q0=start, controller=pid, reference=motion,
                      sensors=sensors, project=True)  # fmt: skip
    return dy.Log.from_run(run, name)


log = recorded(exciting.trajectory, 6.0, "exciting", seed=1)
there = np.array([[0.06, -0.04, 0.02], [-0.05, 0.05, 0.07]])
places = [home, *(home + there), home]
move = dy.trajectory.via(places, [0.0, 0.8, 1.8, 2.6])
found = dy.identify(drawn, log, friction="smooth", held_out=False)
check = found.validate(recorded(move, 2.6, "point to point", seed=2))
print(f"{len(found.names)} parameters, physical: {found.is_physical}; "
      f"on another motion {check.relative_error_overall:.2%} of the force")  # fmt: skip

best = dy.control.ComputedTorque.from_bandwidth(drawn, 40.0, model=found.robot)
laws = {
    "PID": dy.control.JointPID.from_bandwidth(drawn, 40.0, integral=True),
    "point to point, identified": dy.control.PointToPoint.from_bandwidth(
        drawn, 40.0, model=found.robot, friction="desired"
    ),
    "computed torque, drawn": dy.control.ComputedTorque.from_bandwidth(drawn, 40.0, model=drawn),
    "computed torque, identified": best,
}
print("RMS of the position error (mm)      " + "  ".join(drawn.drive_names))
for name, law in laws.items():
    run = dy.simulate(built, 2.6, 1e-3, q0=built.home, controller=law, reference=move,
                      sample_time=2e-3)  # fmt: skip
    print(f"{name:32} " + "  ".join(f"{1e3 * x:6.3f}" for x in run.metrics.rms))
run.plot(path=OUT / "19_parallel_robot.png")
files = dy.export_controller(
    drawn, best, OUT / "19_3rps_in_c", 2e-3, reference=move, limit=800.0, trig="own", overwrite=True
)
print(f"{len(files)} files in {OUT / '19_3rps_in_c'}")
