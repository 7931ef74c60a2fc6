"""Centre of mass, its Jacobian and the centroidal momentum."""

import numpy as np
import pytest

import dynamis as dy


def test_a_centre_of_mass_that_slides_in_its_link():
    links = [
        dy.Link(d=0.3, mass=2.0, com=(0.0, 0.0, 0.1)),
        dy.Link(joint="prismatic", mass=1.5, com_factor=-0.5, alpha=0.4),
    ]
    arm = dy.Robot.from_dh("slide", convention="standard", links=links)
    q, h = np.array([0.3, 0.7]), 1e-6 * np.eye(2)
    slope = np.stack([(arm.com(q + e) - arm.com(q - e)) / 2e-6 for e in h], axis=-1)
    np.testing.assert_allclose(arm.com_jacobian(q), slope, atol=1e-8)


@pytest.mark.parametrize("code", ["on", "off"])
def test_an_arm_without_mass_has_none(code, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", code)
    links = [dy.Link(a=1.0), dy.Link(a=1.0, inertia=(0.1, 0.1, 0.1))]
    arm = dy.Robot.from_dh("air", convention="standard", links=links)
    for call in (arm.com, arm.com_jacobian, lambda q: arm.centroidal_momentum(q, q)):
        with pytest.raises(dy.errors.ModelError, match="no link has a mass"):
            call([0.1, 0.2])
    assert arm.with_payload(2.0).com([0.0, 0.0]) == pytest.approx([2.0, 0.0, 0.0])


@pytest.mark.filterwarnings("ignore:Pinocchio cannot hold")
@pytest.mark.parametrize("name", ["ur10e", "panda", "puma560", "scara"])
def test_pinocchio_has_the_same(name):
    pin = pytest.importorskip("pinocchio")
    robot = dy.load(name)
    model = dy.interop.to_pinocchio(robot)
    data = model.createData()
    q, qd = np.random.default_rng(3).uniform(-1.0, 1.0, (2, robot.n))
    np.testing.assert_allclose(robot.com(q), pin.centerOfMass(model, data, q), atol=1e-9)
    J = pin.jacobianCenterOfMass(model, data, q)
    np.testing.assert_allclose(robot.com_jacobian(q), J, atol=1e-9)
    h = pin.computeCentroidalMomentum(model, data, q, qd)
    np.testing.assert_allclose(robot.centroidal_momentum(q, qd), h.vector, atol=1e-9)


@pytest.mark.usefixtures("compiled")
def test_batches_in_machine_code():
    robot = dy.load("panda")
    q, qd = np.random.default_rng(4).uniform(-1.0, 1.0, (2, 3, 4, robot.n))
    assert robot.com(q).shape == (3, 4, 3) and robot.com_jacobian(q).shape == (3, 4, 3, 7)
    np.testing.assert_allclose(
        robot.centroidal_momentum(q, qd)[1, 2], robot.centroidal_momentum(q[1, 2], qd[1, 2]),
        rtol=1e-12,
    )  # fmt: skip


def test_centres_of_mass_held_where_they_are():
    """rppr of document 000: the same torques at q, and parameters with a regressor."""
    robot = dy.load("rppr")
    q, qd, qdd = np.random.default_rng(4).normal(size=(3, 4))
    held = robot.with_constant_com(q)
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(held.inverse_dynamics(q, qd, qdd), tau, atol=1e-11)
    np.testing.assert_allclose(held.regressor(q, qd, qdd) @ held.parameters.values, tau, atol=1e-11)
    np.testing.assert_allclose(held.mass_matrix(q), robot.mass_matrix(q), atol=1e-11)
    assert held.base_parameters().rank > 0 and held.with_constant_com(2 * q) == held
    third = held.model.links[2]
    assert third.com == pytest.approx((0, 0, -0.5 * q[2])) and third.com_factor is None
    assert held.model.links[0].com_factor == -0.5  # of a revolute link nothing moves
    other = robot.inverse_dynamics(2 * q, qd, qdd) - held.inverse_dynamics(2 * q, qd, qdd)
    assert np.abs(other).max() > 0.1
    rest = robot.with_constant_com()
    np.testing.assert_allclose(
        rest.inverse_dynamics(0 * q, qd, qdd), robot.inverse_dynamics(0 * q, qd, qdd), atol=1e-11
    )
    with pytest.raises(dy.errors.ModelError, match="no regressor") as raised:
        robot.regressor(q, qd, qdd)
    assert "with_constant_com(q)" in str(raised.value.hint)
    with pytest.raises(dy.errors.ShapeError, match="q has shape"):
        robot.with_constant_com(np.zeros(3))
