"""LuGre and smooth friction in motion."""

import numpy as np
import pytest

import dynamis as dy
from tests.simulation.arms import slider
from tests.thorough import thorough_but

F, RATIO, VELOCITY = 4.0, 1.5, 0.01


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


def lugre(stiffness=1e4, damping=10.0, viscous=0.5):
    return slider(
        dy.Friction(
            viscous=viscous, coulomb=F, law="lugre", static_ratio=RATIO, velocity=VELOCITY,
            stiffness=stiffness, damping=damping,
        )
    )  # fmt: skip


def test_before_sliding_it_is_a_spring():
    """A load bends the bristles by load / s; with their slip q = -(Fs / s) log(1 - load / Fs)."""
    robot = lugre(damping=600.0)
    for load in (0.05, 2.0):
        run = dy.simulate(robot, 1.0, 1e-4, torque=[load], save_every=100)
        slip = -RATIO * F / 1e4 * np.log(1 - load / (RATIO * F))
        assert run.q[-1, 0] == pytest.approx(slip, rel=0.02)
        assert run.states["bristle"][-1, 0] == pytest.approx(load / 1e4, rel=1e-4)
        assert abs(run.qd[-1, 0]) < 1e-6
        assert run.friction[-1, 0] == pytest.approx(load, rel=1e-3)


def drag(v, viscous=0.5):
    return np.sign(v) * F * (1 + (RATIO - 1) * np.exp(-((v / VELOCITY) ** 2))) + viscous * v


@pytest.mark.parametrize("v", thorough_but([0.02, -0.5], [0.005, 0.02, 0.5, -0.5]))
def test_steady_sliding_is_the_stribeck_curve(v):
    """Pulled at a set speed by a stiff hand."""
    run = dy.simulate(
        lugre(), 1.0, 2e-4, qd0=[v], controller=lambda t, q, qd: 4e3 * (v - qd), sample_time=2e-4,
        save_every=100,
    )  # fmt: skip
    assert run.qd[-1, 0] == pytest.approx(v, rel=0.5)
    assert run.friction[-1, 0] == pytest.approx(drag(run.qd[-1, 0]), rel=3e-3)
    assert run.tau[-1, 0] == pytest.approx(run.friction[-1, 0], rel=3e-3)


def test_stiff_bristles_are_stable_at_a_millisecond():
    robot = lugre(stiffness=1e5, damping=100.0)
    run = dy.simulate(robot, 2.0, 1e-3, qd0=[0.5])
    assert not run.diverged and np.abs(run.qd[-1, 0]) < 1e-3
    dry = slider(dy.Friction(viscous=0.5, coulomb=F, law="stribeck", static_ratio=RATIO,
                             velocity=VELOCITY))  # fmt: skip
    stops = dy.simulate(dry, 2.0, 1e-3, qd0=[0.5]).q[-1, 0]
    assert run.q[-1, 0] == pytest.approx(stops, rel=2e-2)
    pushed = dy.simulate(robot, 2.0, 1e-3, torque=[20.0])
    assert pushed.qd[-1, 0] == pytest.approx(
        dy.simulate(dry, 2.0, 1e-3, torque=[20.0]).qd[-1, 0], rel=1e-2
    )


@pytest.mark.parametrize("integrator", ["rk4", "heun", "dormand-prince"])
def test_bristles_in_every_integrator(integrator):
    """Steps of one length smear the stiff start; error control does not."""
    run = dy.simulate(lugre(), 0.2, 1e-3, qd0=[0.5], integrator=integrator, tolerance=1e-7)
    truth = dy.simulate(lugre(), 0.2, 1e-5, qd0=[0.5], save_every=100)
    np.testing.assert_allclose(run.q, truth.q, atol=4e-6 if "prince" in integrator else 4e-4)


def test_bristles_take_energy():
    run = dy.simulate(lugre(), 1.0, 1e-4, qd0=[0.5], save_every=10)
    spring = 0.5 * 1e4 * run.states["bristle"][:, 0] ** 2
    assert np.diff(run.energy.total + spring).max() < 1e-6


def test_a_smooth_law_creeps_as_it_says():
    """tanh(qd / velocity): a load of half the limit moves on with velocity atanh(1/2)."""
    robot = slider(dy.Friction(coulomb=F, law="smooth", velocity=0.01))
    run = dy.simulate(robot, 1.0, 1e-3, torque=[2.0])
    assert run.qd[-1, 0] == pytest.approx(0.01 * np.arctanh(0.5), rel=1e-6)
    assert not run.stuck.any()
    np.testing.assert_allclose(run.friction, robot.friction_torque(run.qd), atol=1e-12)
