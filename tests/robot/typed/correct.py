# pyright: strict
"""A session with an arm in which a strict type checker finds nothing to report."""

from pathlib import Path

import numpy as np

import dynamis as dy


def described() -> dy.Robot:
    shoulder = dy.Link(a=0.4, mass=3.0, com=(-0.2, 0, 0), inertia=(0.0, 0.04, 0.04))
    elbow = dy.Link(
        joint="revolute",
        a=0.3,
        mass=2.0,
        com=(-0.15, 0, 0),
        friction=dy.Friction(viscous=0.1, coulomb=(0.4, -0.4)),
        drive=dy.Drive(gear=100, rotor_inertia=2e-4),
        limits=(-3.1, 3.1),
    )
    tool = {"xyz": (0, 0, 0.1)}
    return dy.Robot.from_dh(
        "two-link", convention="standard", links=[shoulder, elbow], tool=tool, values={"m1": 3.0}
    )


def kernels(robot: dy.Robot) -> np.ndarray:
    q, qd = np.zeros(robot.n), [0.1] * robot.n
    tau = robot.inverse_dynamics(q, qd, q, method="newton-euler", wrench=[0, 0, 5.0, 0, 0, 0])
    tau += robot.gravity_torque(q, threads=1, dtype=np.float64) + robot.friction_torque(qd)
    many: np.ndarray = robot.inverse_dynamics(*np.zeros((3, 100, robot.n)), dtype="float32")
    M = robot.mass_matrix(q, out=np.empty((robot.n, robot.n)))
    J = robot.jacobian(q, frame="tool", link=robot.link_names[0])
    by_q, _, by_qdd = robot.inverse_dynamics_derivatives(q, qd, q, out=[M, M, M])
    qdd = robot.forward_dynamics(q, qd, tau, method=None)
    again: np.ndarray = robot.kernel("inverse_dynamics", parameters="argument")(
        q, qd, qdd, robot.parameters.values
    )
    print(J @ qd, by_q @ q, by_qdd - M, robot.torque_terms(q, qd, q)["gravity"], again - tau)
    print(many.shape, robot.regressor(q, qd, q).shape, robot.base_parameters(tolerance=1e-9).rank)
    return robot.fk(q)


def positions(robot: dy.Robot, T: np.ndarray) -> np.ndarray:
    found = robot.ik(T, task="position", limits=True, q0=np.zeros(robot.n))
    first: np.ndarray = found.q[0]
    each = robot.ik([T, T], "position", seed=1)
    singular = robot.singularity(first, task=(1, 1, 0, 0, 0, 0), condition=500.0)
    print(found.reason, each.found, singular.kind, robot.manipulability(first, task="position"))
    return first


def uses(folder: Path) -> None:
    robot = dy.load("planar-2link").with_payload(1.0, com=(0, 0, 0.1)).with_gravity((0, 0, -9.81))
    stiff = dy.Spring(kind="torsion", joint="joint2", stiffness=20.0)
    robot = robot.with_drive("joint1", gear=100).with_spring(stiff).with_limits(0, (-3.0, 3.0))
    robot = robot.with_link("link2", mass=9.0, com=(0.0, 0.0, 0.1)).with_drive(0, None)
    goal = positions(robot, kernels(robot))
    law = dy.control.ComputedTorque.from_bandwidth(robot, 20.0)
    dy.export_controller(robot, law, folder / "law")
    move = dy.trajectory.quintic(np.zeros(robot.n), goal, 1.0)
    run = dy.simulate(robot, 1.0, dt=1e-3, controller=law, reference=move)
    print(run.animate(folder / "run.gif", fps=20, speed=2.0), run.q[-1] - goal)
    run.plot("q", path=folder / "run.png")
    robot.plot(goal, frames=False, path=folder / "arm.png", links="sticks")
    robot.plot_workspace(folder / "map.png", plane="xy", points=40, limits=True)
    motion = dy.excite(robot, harmonics=3, period=5.0, starts=2, seed=1)
    log = dy.read_log(run.save(folder / "run.csv"))
    estimate = dy.identify(robot, log, friction="asymmetric", estimator="feasible")
    names: tuple[str, ...] = estimate.robot.parameters.names
    print(names, motion.condition_number, estimate.validate(log).rms, described().check())
    estimate.robot.save(folder / "arm.toml")


if __name__ == "__main__":
    uses(Path("out"))
