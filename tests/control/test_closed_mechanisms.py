"""Controllers of closed mechanisms: the arm they see, laws in the loop, what goes wrong."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.controller import drives_at, drives_at_first
from dynamis.control.law import Law
from dynamis.errors import OptionError
from dynamis.spatial.functions import MATH
from tests.closed_mechanisms import five_bar, motions
from tests.thorough import thorough_but

RUBBING = dy.Friction(viscous=0.3, coulomb=0.2)


def with_friction(robot):
    links = tuple(replace(x, friction=RUBBING) for x in robot.model.links)
    return dy.Robot(replace(robot.model, links=links))


def seen(robot, q):
    """The arm of a control computer at q, and the positions of its drives as it knows them."""
    drives = q[list(robot.driven)].tolist()
    return drives_at(robot, drives_at_first(robot, drives, MATH).joints, drives, MATH), drives


ROBOTS = {
    "five-bar": lambda: with_friction(five_bar()),
    "3-rps": lambda: with_friction(dy.load("3-rps")),
    "four drives": lambda: with_friction(five_bar(passive=False)),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_the_arm_of_the_drives_has_the_numbers_of_the_robot(name):
    robot = ROBOTS[name]()
    drives = list(robot.driven)
    q, qd, qdd, *_ = (x[0] for x in motions(robot, 1, spread=0.2))
    arm, q_a = seen(robot, q)
    np.testing.assert_allclose(arm.here.q, q, atol=1e-12)
    qd_a, qdd_a = qd[drives].tolist(), qdd[drives].tolist()
    tau = robot.inverse_dynamics(q, qd, qdd)[drives]
    near = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(arm.inverse_dynamics(q_a, qd_a, qdd_a), tau, **near)
    carried = np.add(arm.frictionless_torque(q_a, qd_a, qdd_a), arm.friction_torque(qd_a))
    np.testing.assert_allclose(carried, tau, **near)
    np.testing.assert_allclose(arm.forward_dynamics(q_a, qd_a, tau.tolist()), qdd_a, **near)
    still = robot.inverse_dynamics(
        q, 0 * q, robot.joint_accelerations(q, 0 * q, np.zeros(robot.dof))
    )
    np.testing.assert_allclose(arm.static_torque(q_a), still[drives], **near)
    Y = np.array(arm.regressor(q_a, qd_a, qdd_a))
    np.testing.assert_allclose(Y @ robot.parameters.values, tau, **near)
    np.testing.assert_allclose(arm.fk(q_a), robot.fk(q), **near)
    np.testing.assert_allclose(arm.kinetic_energy(q_a, qd_a), robot.kinetic_energy(q, qd), **near)
    np.testing.assert_allclose(arm.joint_rates(q_a, qd_a), qd, **near)
    if name == "four drives":
        with pytest.raises(OptionError, match="4 drives and 2 degrees"):
            arm.mass_matrix(q_a)
        return
    v = np.array(qd_a)
    np.testing.assert_allclose(arm.mass_matrix(q_a), robot.mass_matrix(q), **near)
    np.testing.assert_allclose(arm.mass_times(q_a, qd_a), robot.mass_matrix(q) @ v, **near)
    C = robot.coriolis_matrix(q, qd)
    np.testing.assert_allclose(arm.coriolis_matrix(q_a, qd_a), C, **near)
    np.testing.assert_allclose(arm.coriolis_transposed(q_a, qd_a), C.T @ v, **near)
    np.testing.assert_allclose(arm.jacobian(q_a), robot.drive_jacobian(q), **near)
    ahead, behind = (robot.drive_jacobian(robot.project(q + s * 1e-6 * qd)) for s in (1, -1))
    rate = (ahead - behind) / 2e-6
    np.testing.assert_allclose(arm.jacobian_dot(q_a, qd_a), rate, atol=1e-7)


def test_another_velocity_in_the_regressor():
    """M a + C(q, qd) v + g along the drives, friction left out."""
    robot = five_bar()
    q, qd, *_ = (x[0] for x in motions(robot, 1, spread=0.2))
    arm, q_a = seen(robot, q)
    v, a = [0.7, -0.3], [0.2, 1.1]
    Y = np.array(arm.regressor(q_a, qd[[0, 2]].tolist(), a, v))
    expected = robot.mass_matrix(q) @ a + robot.coriolis_matrix(q, qd) @ v + robot.gravity_torque(q)
    np.testing.assert_allclose(Y @ robot.parameters.values, expected, atol=1e-10)


def test_joints_follow_and_stay_where_they_closed():
    robot = five_bar()
    arm, q_a = seen(robot, robot.home)
    moved = [x + 0.01 for x in q_a]
    after = arm.near(arm.joints, moved)
    np.testing.assert_allclose(robot.closure_error(np.array(after.joints)), 0.0, atol=1e-15)
    torn = after.near(after.joints, [2.5, -2.5])  # the couplers cannot reach that far
    assert np.isnan(torn.gravity_torque(torn_drives(torn))).all()
    assert torn.joints == after.joints


def torn_drives(arm):
    return [arm.here.q[k] for k in arm.chain.driven]


def test_what_the_drives_do_not_decide_is_refused():
    robot = five_bar()
    links = [replace(x, passive=x.name != "a1") for x in robot.model.links]
    under = dy.Robot(replace(robot.model, links=tuple(links)))
    with pytest.raises(OptionError, match="2 degrees of freedom that its 1 drive"):
        Law(dy.control.ComputedTorque(100.0, 20.0), under, 1e-3).start([0.1], [0.0], MATH)
    assert len(Law(dy.control.JointPID(100.0), under, 1e-3).start([0.1], [0.0], MATH)) == 5
    with pytest.raises(OptionError, match="no mass matrix of its drives"):
        Law(dy.control.JointPID(100.0), under, 1e-3, safe="gravity")


def test_only_laws_that_compute_with_the_model_find_the_joints():
    robot = five_bar()
    plain, heavy = (Law(dy.control.JointPID(9.0, gravity=g), robot, 1e-3) for g in (False, True))
    assert "computer.joints" not in plain.slots and heavy.slots["computer.joints"] == robot.n
    safe = Law(dy.control.JointPID(9.0), robot, 1e-3, safe="gravity")
    assert safe.slots["computer.joints"] == robot.n


LAWS = {
    "computed torque": (dy.control.ComputedTorque(900.0, 60.0), 2e-4),
    "feed forward": (dy.control.FeedForward(900.0, 60.0), 2e-4),
    "platform": (dy.control.TaskSpace(900.0, 60.0), 2e-4),
    "impedance": (dy.control.Impedance(2000.0), 2e-3),
    "adaptive": (dy.control.SlotineLi(30.0, 20.0, 0.05), 2e-3),
}


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", thorough_but(["adaptive"], LAWS))
def test_laws_track_a_closed_mechanism(name):
    law, bound = LAWS[name]
    robot = with_friction(dy.load("five-bar"))
    start = robot.home[list(robot.driven)]
    move = dy.trajectory.quintic(start, start + np.array([0.3, -0.2]), 0.4)
    run = dy.simulate(robot, 0.5, 1e-3, q0=robot.home, controller=law, reference=move)
    assert not run.message and np.abs(run.error).max() < bound
    drives = list(robot.driven)
    assert np.abs(run.q[-1, drives] - run.q[0, drives]).min() > 0.19  # it moved


@pytest.mark.usefixtures("compiled")
def test_a_push_is_observed():
    robot = five_bar()
    observer = dy.control.MomentumObserver(50.0)
    push = np.array([1.5, 0.0, -0.8, 0.0])
    start = robot.home[list(robot.driven)]
    run = dy.simulate(
        robot, 0.5, 1e-3, q0=robot.home, controller=dy.control.ComputedTorque(400.0, 40.0),
        reference=start, observer=observer, external=push,
    )  # fmt: skip
    np.testing.assert_allclose(run.observed[-1], push[[0, 2]], atol=1e-2)


@pytest.mark.usefixtures("compiled")
def test_the_safe_torque_where_the_mechanism_becomes_singular():
    """Cranks driven apart until the couplers are in line: the computer stops there."""
    robot = five_bar()
    start = robot.home[list(robot.driven)]
    apart = dy.trajectory.quintic(start, [3.0, 0.2], 1.0)
    law = dy.control.ComputedTorque(900.0, 60.0, limit=80.0)
    run = dy.simulate(robot, 1.2, 1e-3, q0=robot.home, controller=law, reference=apart)
    status = run.states["computer.status"][:, 0]
    first = int(np.flatnonzero(status)[0])
    assert (
        "safe" in run.message and (status[first + 1 :] == 2.0).all() and not run.tau[first:].any()
    )
    assert np.isfinite(run.q).all() and np.abs(run.tau).max() <= 80.0
    # in line with each other the couplers would be passed within four samples
    across = np.sin(run.q[:, 0] + run.q[:, 1] - run.q[:, 2] - run.q[:, 3])
    now, before = across[first], across[first - 1]
    assert 0.01 < abs(now) < 0.75 * abs(before) < 0.3
    assert np.sign(across[first + 5]) != np.sign(now)


def test_another_assembly_than_the_computers_is_refused():
    robot = five_bar()
    start = robot.home[list(robot.driven)]
    other = next(q for q in robot.assemble(start) if np.abs(q - robot.home).max() > 0.3)
    given = {"controller": dy.control.ComputedTorque(400.0, 40.0), "reference": start}
    with pytest.raises(OptionError, match="another assembly"):
        dy.simulate(robot, 0.01, q0=other, **given)
    turned = robot.with_home(other)
    np.testing.assert_array_equal(turned.home, other)
    assert not dy.simulate(turned, 0.01, q0=other, **given).message
    with pytest.raises(dy.errors.ClosureError):
        robot.with_home(other + 0.1)
    with pytest.raises(OptionError, match="no closures"):
        robot.without_closures().with_home(other)
