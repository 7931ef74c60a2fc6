"""A base that moves: as more joints below it, in every function that takes its motion."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dynamis as dy
from dynamis.compile.kernels import FORWARD_METHODS
from dynamis.errors import OptionError, ShapeError
from dynamis.model.pose import Pose

from ..closed_mechanisms import any_mechanism, five_bar, states_near
from ..random_robots import any_arm, build, close, states
from .test_laws import WRENCH, Case, applies, times

few = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
MOVES = np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4, 1.0, 2.0, 3.0])
AXES = (
    *(("prismatic", tuple(axis)) for axis in np.eye(3).tolist()),
    *(("revolute", tuple(axis)) for axis in np.eye(3)[::-1].tolist()),
)


def forward_of_inverse_is_the_identity(c):
    pushed = {"wrench": WRENCH, "link_forces": c.forces, "base_motion": MOVES}
    tau = c.robot.inverse_dynamics(*c.motion, **pushed)
    M = c.robot.mass_matrix(c.q)
    for method in (None,) if c.closed else (None, *FORWARD_METHODS):
        if method is None or applies(c.robot, method):
            qdd = c.robot.forward_dynamics(c.q, c.qd, tau, method=method, **pushed)
            size = max(1.0, np.abs(tau).max() / np.abs(M).max())
            close(qdd, c.qdd, max(1e-11, 1e-13 * np.linalg.cond(M).max()), size)


def regressor_times_parameters_is_the_torque(c):
    if c.robot.model.rubs_under_load or c.robot.model.own_laws:
        return
    Y = c.robot.regressor(*c.motion, base_motion=MOVES)
    tau = c.robot.inverse_dynamics(*c.motion, base_motion=MOVES)
    close(times(Y, c.robot.parameters.values), tau, 1e-10)


@few
@given(any_arm(5))
def test_arms(robot):
    c = Case(robot)
    forward_of_inverse_is_the_identity(c)
    regressor_times_parameters_is_the_torque(c)


@settings(few, max_examples=12)
@given(any_mechanism())
def test_mechanisms(robot):
    c = Case(robot)
    forward_of_inverse_is_the_identity(c)
    regressor_times_parameters_is_the_torque(c)


def on_six_joints(robot):
    """The robot on six joints without masses between the ground and its base."""
    model = robot.model
    ground = []
    for k, (kind, axis) in enumerate(AXES):
        names = {"name": f"g{k}", "joint_name": f"ground{k}"}
        ground.append(dy.Link(joint=kind, axis=axis, parent=f"g{k - 1}" if k else None, **names))
    own = [
        replace(x, parent=x.parent or "g5", name=name, joint_name=joint)
        for x, name, joint in zip(
            model.links, model.link_names, model.tree_joint_names, strict=True
        )
    ]
    assert not any(model.base.xyz) and not any(model.base.rpy)
    at_base = (None, model.base_name)
    closures = [
        replace(x, between=tuple("g5" if name in at_base else name for name in x.between))
        for x in model.closures
    ]
    more = {"closures": tuple(closures), "configurations": {}}
    return dy.Robot(replace(model, links=(*ground, *own), **more))


def moved(taller, state, q, qd, qdd):
    """base_motion of the arm whose base has this state of six joints."""
    x = [np.concatenate([a, b]) for a, b in zip(state, (q, qd, qdd), strict=True)]
    R = taller.fk(x[0], link="g5")[:3, :3]
    J, Jd = taller.jacobian(x[0], link="g5"), taller.jacobian_dot(x[0], x[1], link="g5")
    v, a = J @ x[1], J @ x[2] + Jd @ x[1]
    g = taller.gravity
    return x, np.concatenate([R.T @ v[3:], R.T @ a[3:], R.T @ (a[:3] - g) + g])


@pytest.mark.parametrize("seed", range(3))
def test_as_six_joints_more(seed):
    """Torques, reactions, accelerations and columns of an arm on a base that turns and moves."""
    kinds, parents = ["revolute", "prismatic", "revolute", "revolute"], [-1, 0, 0, 2]
    robot = build("urdf", kinds, seed, parents)
    robot = dy.Robot(replace(robot.model, base=Pose()))
    taller, rng = on_six_joints(robot), np.random.default_rng(seed)
    q, qd, qdd = states(robot)
    x, base = moved(taller, rng.normal(size=(3, 6)), q, qd, qdd)
    tau = taller.inverse_dynamics(*x, wrench=WRENCH)
    own = robot.inverse_dynamics(q, qd, qdd, wrench=WRENCH, base_motion=base)
    close(own, tau[6:])
    for method in (None, *FORWARD_METHODS):
        found = robot.forward_dynamics(q, qd, own, method=method, wrench=WRENCH, base_motion=base)
        close(found, qdd, 1e-9)
    w = taller.joint_reactions(*x, wrench=WRENCH)[6:]
    close(robot.joint_reactions(q, qd, qdd, wrench=WRENCH, base_motion=base), w)
    close(robot.regressor(q, qd, qdd, base_motion=base) @ robot.parameters.values,
          robot.inverse_dynamics(q, qd, qdd, base_motion=base))  # fmt: skip


def test_rows_of_a_path_are_those_of_six_joints():
    """`BaseMotion` by the Jacobians of the same joints, gravity turned into the base."""
    robot = build("urdf", ["revolute", "revolute"], 4)
    robot = dy.Robot(replace(robot.model, base=Pose()))
    taller, rng = on_six_joints(robot), np.random.default_rng(0)
    path = dy.trajectory.quintic(rng.normal(size=6), rng.normal(size=6), 2.0)
    motion, t = dy.trajectory.BaseMotion(path), np.array([[0.0, 0.4], [1.3, 2.0]])
    found = motion.rows(robot, t)
    assert found.shape == (2, 2, 9)
    for time, row in zip(t.ravel(), found.reshape(-1, 9), strict=True):
        state = [np.asarray(part)[[0, 1, 2, 5, 4, 3]] for part in path(time)]
        _, base = moved(taller, state, *np.zeros((3, robot.n)))
        close(row, base)


def test_a_closed_mechanism_on_a_base_that_moves():
    robot = five_bar()
    taller, rng = on_six_joints(robot), np.random.default_rng(3)
    q, qd, qdd, *_ = states_near(robot, 1, condition=300.0, home=robot.home)
    q, qd, qdd = q[0], qd[0], qdd[0]
    x, base = moved(taller.without_closures(), rng.normal(size=(3, 6)), q, qd, qdd)
    tree = taller.without_closures().inverse_dynamics(*x)[6:]
    f, J = robot.constraint_forces(q, qd, qdd, base_motion=base), robot.closure_jacobian(q)
    tau = robot.inverse_dynamics(q, qd, qdd, base_motion=base)
    close(tau + J.T @ f, tree)
    close(robot.forward_dynamics(q, qd, tau, base_motion=base), qdd, 1e-9)
    close(robot.regressor(q, qd, qdd, base_motion=base) @ robot.parameters.values, tau)
    w = robot.joint_reactions(q, qd, qdd, base_motion=base)
    close(w[robot.active, 5], tau[robot.active])


def test_an_imu_says_the_same_wherever_it_sits():
    """Its readings by hand from the path: rates, and accelerations at its place less gravity."""
    robot = dy.load("planar-2link")
    path = dy.trajectory.quintic([0] * 6, [0.1, 0.2, 0.1, 0.4, 0.3, -0.2], 2.0)
    motion, t = dy.trajectory.BaseMotion(path), np.linspace(0.0, 2.0, 2001)
    rows, r = motion.rows(robot, t), np.array([0.4, -0.2, 0.1])
    R = np.array(Pose((0, 0, 0), (0.3, -0.5, 0.8)).frame({}).R)
    w, wd, a = rows[:, :3], rows[:, 3:6], rows[:, 6:] - robot.gravity
    felt = a + np.cross(wd, r) + np.cross(w, np.cross(w, r))
    measured = dy.trajectory.BaseMotion.from_imu(t, w @ R, felt @ R, xyz=r, rpy=(0.3, -0.5, 0.8))
    close(measured.rows(robot, t), rows, 1e-6)


def test_what_is_refused():
    robot = dy.load("planar-2link")
    base, t = dy.trajectory.BaseMotion, np.linspace(0, 1, 11)
    with pytest.raises(OptionError, match="expected a trajectory of x, y, z"):
        base(3.0)
    with pytest.raises(ShapeError, match="path has 2 coordinates, expected six"):
        base(dy.trajectory.quintic([0, 0], [1, 1], 1.0))
    with pytest.raises(ShapeError, match=r"angular_rate has shape \(11, 2\)"):
        base.from_imu(t, np.zeros((11, 2)), np.zeros((11, 3)))
    with pytest.raises(ShapeError, match="increasing times"):
        base.from_imu(t[::-1], np.zeros((11, 3)), np.zeros((11, 3)))
    with pytest.raises(OptionError, match="recorded 0 to 1 s"):
        base.from_imu(t, np.zeros((11, 3)), np.zeros((11, 3))).rows(robot, 2.0)
    q = np.zeros(2)
    with pytest.raises(OptionError, match="qd_ref and base_motion"):
        robot.regressor(q, q, q, qd_ref=q, base_motion=np.zeros(9))
