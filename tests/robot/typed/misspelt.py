# pyright: strict
"""Calls with a mistake each: a type checker reports every line marked, and no other."""

import numpy as np

import dynamis as dy

robot = dy.load("planar-2link")
q = np.zeros(robot.n)
T = robot.fk(q)

robot.inverse_dynamics(q, q, q, wrnch=np.zeros(6))  # mistake
robot.forward_dynamics(q, q)  # mistake
robot.mass_matrix(q, thread=1)  # mistake
robot.gravity_torque(q, out=[[0.0, 0.0]])  # mistake
robot.inverse_dynamics_derivatives(q, q, q, out=q)  # mistake
robot.jacobian(q, fram="tool")  # mistake
robot.gravty_torque(q)  # mistake
robot.kernel("mass_matrix")(q, thread=1)  # mistake
robot.ik(T, limit=True)  # mistake
print(robot.ik(T).found)  # mistake
robot.singularity(q, conditon=500.0)  # mistake
robot.manipulability(q, tasks="position")  # mistake
robot.assemble(q, start=3)  # mistake
robot.base_parameters(tolerence=1e-9)  # mistake
robot.significance(percnt=2.0)  # mistake
robot.export("mass_matrix", targt="c")  # mistake
robot.plot(q, frame=False)  # mistake
robot.plot_workspace(plan="xy")  # mistake
robot.with_payload(1.0, comm=(0, 0, 0.1))  # mistake
robot.with_friction(viscuos=1.0)  # mistake
robot.with_drive(0, gaer=100)  # mistake
robot.with_spring("spring1", stifness=2.0)  # mistake
robot.with_limits(0, velocity=2.0)  # mistake
robot.with_link("link1", mas=2.0)  # mistake
dy.Robot.from_dh("arm", convention="standard", links=[dy.Link()], valuse={})  # mistake
dy.Drive(gaer=100)  # mistake
dy.excite(robot, harmonic=3)  # mistake
print(robot.parameters.values.shap)  # mistake
print(dy.control.step_metrics(q, q).rise_tim)  # mistake
log = dy.read_log("run.csv")
dy.identify(robot, log, fricton="asymmetric")  # mistake
run = dy.simulate(robot, 1.0)
run.animate("run.gif", fsp=20)  # mistake
run.plot("q", pth="run.png")  # mistake
# the order of version 0.2
law = dy.control.ComputedTorque.from_bandwidth(20.0)  # mistake
dy.export_controller(law, robot, "out")  # mistake
dy.export_observer(dy.control.MomentumObserver(10.0), robot, "out")  # mistake
dy.export_fmu(what=robot, path="arm.fmu")  # mistake
dy.compile(robot.gravity_torque, robot)  # mistake
