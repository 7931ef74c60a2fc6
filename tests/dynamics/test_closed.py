"""Dynamics of closed mechanisms: laws that hold whatever the mechanism."""

import re
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ClosureError, ModelError, OptionError, SingularError
from dynamis.robot.placing import closure_frames

from ..closed_mechanisms import (
    five_bar,
    four_bar,
    made,
    motions,
    parallelogram,
    random_loops,
)
from ..random_robots import close, with_links


def test_links_without_inertia_move_by_their_closures():
    """A four-bar whose coupler weighs nothing has a tree with a singular mass matrix."""
    light = {"mass": 0.0, "inertia": None}
    robot = with_links(four_bar(), lambda x, i: replace(x, **light) if i == 1 else x)
    assert robot.chain.mobility.augmented
    q, qd, qdd, *_ = motions(robot, 4)
    close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, 1e-9)


def test_batches_have_the_bits_of_single_calls():
    robot = five_bar()
    q, qd, qdd, *_ = motions(robot, 6)
    tau = robot.inverse_dynamics(q, qd, qdd)
    for k in range(6):
        assert np.array_equal(robot.inverse_dynamics(q[k], qd[k], qdd[k]), tau[k])
    assert robot.inverse_dynamics(q[:0], qd[:0], qdd[:0]).shape == (0, 4)
    grid = robot.inverse_dynamics(*(x.reshape(2, 3, 4) for x in (q, qd, qdd)))
    assert np.array_equal(grid.reshape(6, 4), tau)
    assert np.isnan(robot.inverse_dynamics(np.full(4, np.nan), qd[0], qdd[0])).any()


OFF = np.array([1.0, 0.0, 0.0, 0.0])


def test_what_does_not_close_is_named():
    robot = five_bar()
    q, qd, qdd, *_ = (x[0] for x in motions(robot, 1))
    with pytest.raises(ClosureError, match=r"closure1\.[xy] is open by .*at most 1e-06"):
        robot.inverse_dynamics(q + 0.01 * OFF, qd, qdd)
    with pytest.raises(ClosureError, match="does not close"):
        robot.regressor(q + 0.1, qd, qdd)
    with pytest.raises(ClosureError):
        robot.regressor(q, qd, qdd + 0.1, qd)
    with pytest.raises(ClosureError, match="qd opens the loops"):
        robot.forward_dynamics(q, qd + 0.1 * OFF, qd)
    with pytest.raises(ClosureError, match="qdd opens the loops"):
        robot.inverse_dynamics(q, qd, qdd + 0.1 * OFF)
    with pytest.raises(ClosureError, match=r"sample \(1,\)"):
        robot.mass_matrix(np.array([q, q + 0.01 * OFF]))
    quiet = robot.with_closure_limits(nan=True)
    both = np.array([q, q + 0.01 * OFF])
    assert np.isnan(quiet.mass_matrix(both)).all(axis=(1, 2)).tolist() == [False, True]
    assert np.isnan(quiet.forward_dynamics(both, 0 * both, 0 * both)).any(axis=1).tolist() == [
        False,
        True,
    ]
    assert quiet.closure_status(both).tolist() == [0.0, 2.0]
    loose = robot.with_closure_limits(tolerance=0.1)
    assert np.isfinite(loose.mass_matrix(q + 0.01 * OFF)).all()


def test_a_sample_that_is_no_number_hides_no_other():
    """It is NaN; one beside it that does not close is named as it is alone, in every shape."""
    robot = five_bar()
    q, qd, qdd, *_ = motions(robot, 6)
    known = robot.inverse_dynamics(q, qd, qdd)
    lost = q.copy()
    lost[3, 1] = np.nan
    found = robot.inverse_dynamics(lost, qd, qdd)
    assert np.isnan(found[3, [0, 2]]).all()
    close(np.delete(found, 3, axis=0), np.delete(known, 3, axis=0))
    lost[4, 1] += 0.1
    for x, sample in ((lost, "(4,)"), (lost.reshape(2, 3, 4), "(1, 1)")):
        with pytest.raises(ClosureError, match=f"sample {re.escape(sample)}.*open by 0.0399"):
            robot.gravity_torque(x)
    assert np.isnan(robot.closure_error(lost)).any(axis=1).tolist() == [False] * 3 + [
        True,
        False,
        False,
    ]
    fast = qd.copy()
    fast[5, 1] += 1.0
    fast[0] = np.nan
    with pytest.raises(ClosureError, match=r"sample \(5,\).*qd opens the loops"):
        robot.inverse_dynamics(q, fast, qdd)
    tau = np.zeros((6, 4))
    tau[0] = np.nan
    with pytest.raises(ClosureError, match=r"sample \(4,\).*does not close"):
        robot.forward_dynamics(np.where(np.isnan(lost), q, lost), qd, tau)


@pytest.mark.parametrize("size", [10.0, 1.0, 1e-2, 3e-4])
def test_closed_is_next_to_the_size_of_the_mechanism(size):
    """A knee bent by 1e-3 rad is no rounding in bars of 0.1 mm either; 1e-6 m are a hundredth."""
    robot = five_bar(size=size)
    assert robot.chain.tolerance == pytest.approx(min(1e-6, 1e-5 * 0.4 * size))
    q = robot.assemble([1.4, np.pi - 1.4])[0]
    robot.gravity_torque(q)
    q[1] += 1e-3
    with pytest.raises(ClosureError, match="does not close"):
        robot.gravity_torque(q)
    robot.with_closure_limits(tolerance=1e-2).gravity_torque(q)
    links = (
        replace(x, xyz=tuple(np.add(x.xyz, [0.5 * (x.parent is None), 0, 0])))
        for x in robot.model.links
    )
    moved = dy.Robot(replace(robot.model, links=tuple(links)))  # half a metre from its base
    assert moved.chain.tolerance == pytest.approx(robot.chain.tolerance)


def test_small_slides_move():
    slide = {"joint": "prismatic", "mass": 1.0}
    links = [
        dy.Link(name="x", axis=(1, 0, 0), **slide),
        dy.Link(name="y", parent="x", axis=(0, 1, 0), passive=True, **slide),
        dy.Link(name="w", xyz=(1e-4, 0, 0), axis=(1, 1, 0), passive=True, **slide),
    ]
    assert made("slides", links, [dy.Closure(between=("y", "w"))]).dof == 1


def test_the_moment_of_a_universal_closure_is_about_the_axis_it_is_named_after():
    """x of the first frame cross y of the second, which is not z of the first."""
    robot = random_loops(["revolute"] * 6, range(-1, 5), [("universal", 5, -1)], 4)
    q = robot.project(np.array(robot.configurations["home"]) + 0.3)
    assert robot.closure_rows[-1].endswith("about x cross y")
    A, B = closure_frames(robot, robot.frames(q))[0][..., :3, :3]
    axis = np.cross(A[:, 0], B[:, 1])
    assert np.linalg.norm(axis) == pytest.approx(1.0) and abs(axis @ A[:, 2]) < 0.999
    turn, J = axis @ robot.jacobian(q)[3:], robot.closure_jacobian(q)[-1]
    close(np.abs(J), np.abs(turn))


def test_single_precision_that_cannot_close_says_so(compiled):
    robot = five_bar().with_closure_limits(tolerance=1e-9)
    q, qd, qdd, *_ = (x[0] for x in motions(robot, 1))
    with pytest.raises(ClosureError, match="do not close within 1e-09 in float32"):
        robot.inverse_dynamics(q, qd, qdd, dtype="float32")
    fit = robot.with_closure_limits(tolerance=1e-4, condition=1e3)
    found = fit.inverse_dynamics(q, qd, qdd, dtype="float32")
    np.testing.assert_allclose(found, robot.inverse_dynamics(q, qd, qdd), atol=1e-3)


def test_a_singular_configuration_is_named():
    """Both couplers in one line: the drives do not decide which way the joint between them goes."""
    robot = five_bar(ground=1.2)
    angle = np.arccos(2 / 3)
    q = np.array([angle, -angle, np.pi - angle, angle])
    with pytest.raises(SingularError, match=r"do not decide .* in the loop of 'closure1'"):
        robot.mass_matrix(q)
    with pytest.raises(SingularError, match=r"sample \(1,\).*condition number"):
        robot.mass_matrix([robot.assemble([0.6, 2.5])[0], q])
    assert robot.closure_status(q) == 1.0
    assert robot.closure_status(q + 0.1) == 2.0
    qdd = robot.forward_dynamics(q, np.zeros(4), np.zeros(4))  # it falls all the same
    assert np.isfinite(qdd).all()


@pytest.mark.parametrize("x", [1e-8, np.pi])
def test_the_condition_number_of_a_singular_configuration_is_above_the_one_allowed(x):
    """A row of a parallelogram's Jacobian vanishes where its bars lie in one line."""
    with pytest.raises(SingularError, match="condition number") as caught:
        parallelogram().mass_matrix([x, -x, x])
    found = re.search(r"condition number (\S+), at most (\S+)\)", str(caught.value))
    assert found and float(found[1]) > float(found[2])


def test_a_mechanism_that_closes_only_where_it_is_stretched_is_refused():
    with pytest.raises(ModelError, match="closes in one configuration only"):
        five_bar(ground=1.4, configurations={"home": (0, 0, np.pi, 0)})


def test_zero_mobility_and_wrong_closures_are_refused():
    robot = four_bar()
    _, second, third = robot.assemble([0.7])[0]
    turned = {"xyz": (0.3, 0, 0), "rpy": (0, 0, 0.7 + second - third)}
    ends = ({"xyz": (0.35, 0, 0)}, turned)
    weld = dy.Closure(kind="weld", between=("coupler", "rocker"), frames=ends)
    with pytest.raises(ModelError, match="0 degrees of freedom"):
        dy.Robot(replace(robot.model, closures=(weld,)))
    far = dy.Closure(kind="rod", between=("coupler", "rocker"), length=5.0)
    with pytest.raises(ModelError, match=r"closure1\.length stays open by 4"):
        dy.Robot(replace(robot.model, closures=(far,)))
    with pytest.raises(ModelError, match="both frames on 'rocker'"):
        made("x", robot.model.links, [dy.Closure(between=("rocker", "rocker"))])
    with pytest.raises(OptionError, match="ends on 'nowhere'"):
        made("x", robot.model.links, [dy.Closure(between=("rocker", "nowhere"))])
    with pytest.raises(ModelError, match="expected one for kind 'rod'"):
        dy.Closure(kind="rod", between=("a", "b"))
    with pytest.raises(OptionError, match="for mechanisms with closures"):
        dy.load("planar-2link").closure_error([0.1, 0.2])


def test_closures_without_end_are_refused_and_a_search_is_bounded():
    """What a file describes must not keep us busy: work is counted, not time."""
    links = [
        dy.Link(name=f"a{k}", parent=f"a{k - 1}" if k % 5 else None, xyz=(0.3, 0, 0.1), mass=1.0)
        for k in range(110)
    ]
    away = [
        dy.Closure(between=(f"a{k}", None), frames=(None, {"xyz": (50, 0, 0)}))
        for k in range(4, 110, 5)
    ]
    with pytest.raises(ModelError, match="have 66 conditions, expected at most 60"):
        made("many", links, away)
    with pytest.raises(ModelError, match="no assembly was found"):
        made("far", links, away[:20])
