"""Laws in the space of the tool: the tool accelerates, and yields, as they say."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import Impedance, TaskSpace
from dynamis.control.task_space import pose_error
from dynamis.dynamics.kinematics import jacobian_dot
from dynamis.spatial.functions import MATH
from dynamis.spatial.rotations import rotation_from_axis_angle
from tests.random_robots import build

from .blocks import ARMS, sample, torque

RELATIVE = 1e-7  # rounding, times the condition of J and of M
PLANE = (1, 1, 0, 0, 0, 0)
CASES = {
    "puma560-pose": ("puma560", "pose"),
    "puma560-position": ("puma560", "position"),
    "panda-pose": ("panda", "pose"),
    "panda-mask": ("panda", (1, 0, 1, 0, 1, 1)),
    "planar-2link": ("planar-2link", PLANE),
    "stanford": ("stanford", "pose"),
    "random-rpr": ("random-rpr", "position"),
    "random-rotors": ("random-rotors", "position"),
}
cases = pytest.mark.parametrize("arm, task", CASES.values(), ids=CASES)


def rows(task):
    mask = {"pose": (1,) * 6, "position": (1, 1, 1, 0, 0, 0)}.get(task, task)
    return np.flatnonzero(mask)


def moved(robot, q, qd, qdd):
    """Twist and acceleration of the tool in base axes, and its Jacobian."""
    J = robot.jacobian(q)
    Jd = np.array(jacobian_dot(robot.chain, q.tolist(), qd.tolist(), MATH))
    return J @ qd, J @ qdd + Jd @ qd, J


def errors(robot, at, task):
    q, qd, q_d, qd_d, qdd_d = at
    T, T_d = robot.fk(q), robot.fk(q_d)
    turn = 0.5 * np.cross(T_d[:3, :3].T, T[:3, :3].T).sum(axis=0)
    e = np.r_[T[:3, 3] - T_d[:3, 3], turn]
    xd = robot.jacobian(q) @ qd
    xd_d, xdd_d, _ = moved(robot, q_d, qd_d, qdd_d)
    chosen = rows(task)
    return e[chosen], (xd - xd_d)[chosen], xdd_d[chosen]


def agree(got, expected, relative=RELATIVE):
    np.testing.assert_allclose(got, expected, atol=relative * (1 + np.abs(expected).max()), rtol=0)


@cases
def test_the_tool_accelerates_as_asked(arm, task):
    robot, chosen = ARMS[arm](), rows(task)
    kp, kd = np.linspace(9, 25, len(chosen)), np.linspace(4, 10, len(chosen))
    law = TaskSpace(kp, kd, task=task, friction="measured", singular_damping=0.0)
    at = sample(robot, 1)
    qdd = robot.forward_dynamics(at[0], at[1], torque(law, robot, at))
    e, ed, xdd_d = errors(robot, at, task)
    agree(moved(robot, at[0], at[1], qdd)[1][chosen], xdd_d - kd * ed - kp * e)


def test_what_the_task_leaves_free_follows_the_joints():
    robot = dy.load("panda")
    law = TaskSpace(
        25.0, 10.0, friction="measured", singular_damping=0.0, null_damping=3.0, null_stiffness=2.0
    )
    q, qd, q_d, qd_d, qdd_d = at = sample(robot, 2)
    qdd = robot.forward_dynamics(q, qd, torque(law, robot, at))
    free = np.linalg.svd(robot.jacobian(q))[2][-1]  # J free = 0
    v = qdd_d - 3.0 * (qd - qd_d) - 2.0 * (q - q_d)
    np.testing.assert_allclose(free @ qdd, free @ v, rtol=1e-8)


def test_on_the_reference_both_laws_are_inverse_dynamics():
    for arm in ("panda", "puma560", "random-rpr"):
        robot = ARMS[arm]()
        q, qd, _, _, qdd = sample(robot, 3)
        expected = robot.inverse_dynamics(q, qd, qdd)
        for law in (TaskSpace(25.0, 10.0), Impedance(300.0)):
            agree(torque(law, robot, (q, qd, q, qd, qdd)), expected)


@cases
@pytest.mark.parametrize("ratio", [None, 0.7])
def test_the_tool_is_a_mass_on_a_spring(arm, task, ratio):
    robot, chosen = ARMS[arm](), rows(task)
    K, D = np.linspace(100, 300, len(chosen)), np.linspace(20, 60, len(chosen))
    damping = {"damping": D} if ratio is None else {"damping_ratio": ratio}
    law = Impedance(K, **damping, task=task, friction="measured", singular_damping=0.0)
    q, qd, *_ = at = sample(robot, 4)
    J = robot.jacobian(q)[chosen]
    Lambda = np.linalg.inv(J @ np.linalg.solve(robot.mass_matrix(q), J.T))
    F = np.zeros(6)
    F[chosen] = np.linspace(-20, 30, len(chosen))  # the world on the tool, base axes
    R = robot.fk(q)[:3, :3]
    wrench = -np.r_[R.T @ F[:3], R.T @ F[3:]]
    qdd = robot.forward_dynamics(q, qd, torque(law, robot, at), wrench=wrench)
    e, ed, xdd_d = errors(robot, at, task)
    xdd = moved(robot, q, qd, qdd)[1][chosen]
    D = D if ratio is None else 2 * ratio * np.sqrt(K * np.diag(Lambda))
    terms = [Lambda @ (xdd - xdd_d), D * ed, K * e]
    scale = max(np.abs(t).max() for t in terms)
    np.testing.assert_allclose(sum(terms), F[chosen], atol=RELATIVE * scale, rtol=0)


def test_null_motion_is_not_felt_at_the_tool():
    robot = dy.load("panda")
    q, qd, *_ = at = sample(robot, 5)
    pushed = []
    for null in (0.0, 30.0):
        law = Impedance(200.0, 30.0, null_damping=null, singular_damping=0.0)
        tau = torque(law, robot, at)
        pushed.append(robot.jacobian(q) @ robot.forward_dynamics(q, qd, tau))
    agree(*pushed)


def test_near_a_singularity_torques_stay_bounded():
    robot = dy.load("puma560")
    q = np.array([0.3, 0.8, -0.5, 0.2, 0.0, 0.4])  # wrist axes 4 and 6 in line
    at = q, np.ones(6), q + 0.05, np.ones(6), np.ones(6)
    for law in (TaskSpace(25.0, 10.0), Impedance(300.0)):
        assert np.abs(torque(law, robot, at)).max() < 3e3
    exact = TaskSpace(25.0, 10.0, singular_damping=0.0)
    assert np.isnan(torque(exact, robot, at)).all()


def test_the_task_by_default():
    for arm, size in (("puma560", 6), ("planar-2link", 3), ("panda", 6)):
        robot = ARMS[arm]()
        assert len(TaskSpace(1.0, 1.0).gains(robot)["kp"]) == size
        assert len(Impedance(1.0).gains(robot)["stiffness"]) == size


def test_fewer_joints_than_rows_reach_what_they_can():
    robot = dy.load("planar-2link")
    at = sample(robot, 6)
    plain, plane = (
        torque(TaskSpace(25.0, 10.0, task=t, singular_damping=1e-4), robot, at)
        for t in ("position", PLANE)
    )
    agree(plain, plane, 1e-6)


@pytest.mark.parametrize("angle", [0.01, 0.7, -1.4])
def test_orientation_error_turns_from_desired_to_actual(angle):
    axis = np.array([1.0, 2.0, -2.0]) / 3.0
    T_d, T = np.eye(4), np.eye(4)
    T_d[:3, :3] = build("standard", ("revolute",) * 3, 1).fk([0.1, 0.2, 0.3])[:3, :3]
    T[:3, :3] = np.array(rotation_from_axis_angle(tuple(axis), angle)) @ T_d[:3, :3]
    e = pose_error(T.tolist(), T_d.tolist())
    np.testing.assert_allclose(e, np.r_[0, 0, 0, np.sin(angle) * axis], atol=1e-12)
