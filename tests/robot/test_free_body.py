"""Free bodies of links: equilibrium, action and reaction, the torque, table 3.1 by its numbers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dynamis as dy
from dynamis.equations.derivation.newton_euler import newton_steps
from dynamis.equations.derivation.setting import numeric
from dynamis.equations.render.formula import plain
from dynamis.errors import ModelError, OptionError, ShapeError

from ..random_robots import chains, close, states, trees, with_links

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WRENCH = np.array([10.0, -20.0, 30.0, 5.0, -6.0, 7.0])


def check_equilibrium(robot):
    """Of every link; what a link gets is the opposite of what it exerts; the torque is n or f z."""
    bare = with_links(
        robot, lambda link, _: replace(link, friction=dy.Friction(), drive=dy.Drive())
    )
    q, qd, qdd = states(bare)
    bodies = [bare.free_body(i, q, qd, qdd, WRENCH) for i in range(bare.n)]
    tau = bare.inverse_dynamics(q, qd, qdd, wrench=WRENCH)
    largest = max(np.abs(load).max() for body in bodies for x in body.loads for load in x[3:])
    size = max(largest, 1.0)
    axes = np.array([bare.frames(q)[i + 1] for i in range(bare.n)])
    for i, body in enumerate(bodies):
        reach = 1.0 + np.abs(body.loads[0].point).max()
        close(body.residual, np.zeros(6), 1e-11, size * reach)
        np.testing.assert_allclose(body.frame, axes[i], atol=1e-12)
        joint = bare.chain.joints[i]
        z = body.frame[:3, :3] @ np.array(bare.chain.bodies[i].user.R)[2]
        part = body.loads[0].moment if joint.kind == "revolute" else body.loads[0].force
        close(part @ z, tau[i], 1e-11, size * reach)
        if joint.parent >= 0:
            reaction = bodies[joint.parent][body.name]
            for action, other in zip(body.loads[0][2:], reaction[2:], strict=True):
                sign = 1.0 if action is body.loads[0].point else -1.0
                close(other, sign * action, 1e-12, size)


@few
@given(chains(longest=5))
def test_chains_are_in_equilibrium(robot):
    check_equilibrium(robot)


@few
@given(trees(longest=5))
def test_trees_are_in_equilibrium(robot):
    check_equilibrium(robot)


@pytest.mark.parametrize("name", ["rppr", "elbow6", "pendulum3", "puma560-mdh"])
def test_numbers_are_those_of_the_derivation(name):
    """f, n, F and N of table 3.1, in coordinates of the link's own frame."""
    robot = dy.load(name)
    q, qd, qdd = states(robot)
    drafts = newton_steps(numeric(robot.model, q.tolist(), qd.tolist(), qdd.tolist()))
    printed = {plain(raw.name): raw.value for draft in drafts for raw in draft.items}
    for i in range(robot.n):
        body, k = robot.free_body(i, q, qd, qdd), i + 1
        R = body.frame[:3, :3].T
        close(R @ body.loads[0].force, printed[f"{k}f{k}"])
        close(R @ body.loads[0].moment, printed[f"{k}n{k}"])
        by_source = {x.source: x for x in body.loads}
        if {"weight", "inertia"} <= set(by_source):
            total = by_source["weight"].force + by_source["inertia"].force
            close(-R @ total, printed[f"{k}F{k}"])
            close(-R @ by_source["inertia"].moment, printed[f"{k}N{k}"])


def test_a_bar_at_rest_by_hand():
    """Two bars stretched out: 3 kg each, the second carried by the first."""
    arm = dy.load("pendulum3")
    body = arm.free_body("link2", [0.0, 0.0, 0.0])
    assert [x.source for x in body.loads] == ["joint2", "link3", "weight"]
    np.testing.assert_allclose(body["joint2"].force, [0, 58.8, 0], atol=1e-12)
    np.testing.assert_allclose(body["joint2"].moment, [0, 0, 58.8], atol=1e-12)
    np.testing.assert_allclose(body["link3"].force, [0, -29.4, 0], atol=1e-12)
    np.testing.assert_allclose(body["link3"].moment, [0, 0, -14.7], atol=1e-12)
    np.testing.assert_allclose(body["weight"].point, [1.5, 0, 0], atol=1e-12)
    assert "m2 g" in str(body) and "58.8" in str(body)


def test_the_load_in_the_hand_is_part_of_the_last_link():
    """At rest joint 2 of the R P P R arm carries links 2, 3, 4 and 3 kg: 156.8 N."""
    arm = dy.load("rppr").with_payload(3.0)
    q = [0.3, 0.6, 0.5, 0.4]
    body = arm.free_body("link2", q)
    np.testing.assert_allclose(body["joint2"].force, [0, 0, 156.8], atol=1e-12)
    weight = arm.free_body("link4", q)["weight"]
    np.testing.assert_allclose(weight.force, [0, 0, -58.8], atol=1e-12)


def test_what_cannot_be_drawn_so_is_refused():
    arm = dy.load("pendulum3")
    with pytest.raises(OptionError, match=r"no link 'link9'.*from 0 to 2"):
        arm.free_body("link9", [0, 0, 0])
    with pytest.raises(ShapeError, match=r"q is .*expected 3 finite"):
        arm.free_body(0, [0, 0])
    with pytest.raises(ShapeError, match="wrench"):
        arm.free_body(0, [0, 0, 0], wrench=[1, 2, 3])
    with pytest.raises(OptionError, match="acts not on 'link1'"):
        arm.free_body(0, [0, 0, 0])["link3"]
    with pytest.raises(OptionError, match="closures"):
        dy.load("five-bar").free_body(0, [0, 0, 0, 0])
    pulled = arm.with_spring(dy.Spring(to="link2", stiffness=10.0))
    with pytest.raises(OptionError, match=r"spring .* pulls at links"):
        pulled.free_body(0, [0, 0, 0])
    names = arm.parameters.names
    massless = dict(zip(names, arm.parameters.values, strict=True)) | {names[0]: 0.0}
    with pytest.raises(ModelError, match="no centre of mass"):
        arm.with_parameters(massless).free_body(0, [0, 0, 0])
