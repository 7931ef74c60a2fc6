"""Joint stops: never passed, never a source of energy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from tests.simulation.arms import GRAVITY, bar, pair, slider
from tests.simulation.test_elastic import two_links

DT = 1e-3


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


@pytest.fixture(scope="module")
def boxed():
    return pair(bar(limits=(-0.8, 0.9)), bar(limits=(-0.5, 0.4)))


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit-euler", "dormand-prince"])
def test_a_falling_mass_comes_to_rest_exactly_on_its_stop(integrator):
    robot = slider(limits=(-0.5, 1.0), gravity=GRAVITY)
    run = dy.simulate(robot, 1.0, 1e-2, stops=True, integrator=integrator, check_step=False)
    assert run.q.min() == -0.5
    down = run.t > np.sqrt(2 * 0.5 / GRAVITY) + 2e-2
    assert (run.q[down] == -0.5).all() and (run.qd[down] == 0.0).all() and run.stuck[down].all()
    np.testing.assert_allclose(run.friction[down], -2 * GRAVITY)  # what the stop carries
    before = run.t < np.sqrt(2 * 0.5 / GRAVITY) - 2e-2
    if integrator != "semi-implicit-euler":
        np.testing.assert_allclose(run.q[before, 0], -GRAVITY * run.t[before] ** 2 / 2, atol=1e-9)
    assert not run.stuck[before][1:].any()


def test_without_stops_limits_do_not_act():
    robot = slider(limits=(-0.5, 1.0), gravity=GRAVITY)
    assert dy.simulate(robot, 1.0).q[-1, 0] == pytest.approx(-GRAVITY / 2)


def test_one_open_side():
    robot = slider(limits=(-np.inf, 0.2)) if _takes_infinity() else slider(limits=(-1e9, 0.2))
    up = dy.simulate(robot, 1.0, qd0=[1.0], stops=True)
    down = dy.simulate(robot, 1.0, qd0=[-1.0], stops=True)
    assert up.q.max() == 0.2 and down.q[-1, 0] == pytest.approx(-1.0)


def _takes_infinity():
    try:
        slider(limits=(-np.inf, 0.2))
    except dy.errors.DynamisError:
        return False
    return True


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_restitution(restitution):
    robot = slider(limits=(-1.0, 0.25))
    run = dy.simulate(robot, 1.0, DT, qd0=[1.0], stops=True, restitution=restitution)
    np.testing.assert_allclose(run.qd[run.t > 0.252, 0], -restitution, atol=1e-12)
    assert run.q.max() <= 0.25
    free = dy.simulate(robot, 1.0, 1e-2, qd0=[1.0], stops=True, restitution=restitution,
                       integrator="dormand-prince")  # fmt: skip
    np.testing.assert_allclose(free.qd[-1, 0], -restitution, atol=1e-12)
    np.testing.assert_allclose(free.q[-1, 0], 0.25 - restitution * 0.75, atol=1e-9)


@pytest.mark.parametrize("h", [2e-2, 1e-2, 7e-3])
def test_a_step_that_ends_beyond_the_stop_gains_nothing(h):
    """An elastic ball comes back with the speed it had at the stop."""
    robot = slider(limits=(0.0, 10.0), gravity=GRAVITY)
    run = dy.simulate(robot, 0.6, h, q0=[1.0], stops=True, restitution=1.0)
    first = np.argmax(run.qd[:, 0] > 0)
    energy = 0.5 * run.qd[first, 0] ** 2 + GRAVITY * run.q[first, 0]
    assert energy == pytest.approx(GRAVITY, rel=1e-6)


def test_bounces_die_out():
    """A ball: heights fall with the square of the restitution."""
    robot = slider(limits=(0.0, 10.0), gravity=GRAVITY)
    run = dy.simulate(robot, 6.0, 1e-4, q0=[1.0], stops=True, restitution=0.7, save_every=10)
    hits = np.flatnonzero((run.qd[1:, 0] > 0) & (run.qd[:-1, 0] <= 0))
    tops = [run.q[a:b, 0].max() for a, b in pairwise(hits[:5])]
    np.testing.assert_allclose(tops, 0.49 ** np.arange(1, 5), rtol=5e-3)
    assert run.stuck[-1].all() and (run.q[-100:] == 0.0).all()


def test_a_turn_under_friction_is_no_bounce():
    """Restitution belongs to the stop: friction that turns a joint back only stops it."""
    robot = slider(dy.Friction(coulomb=1.0), mass=1.0, limits=(-5.0, 5.0))
    stopped = dy.simulate(robot, 1.0, 0.1, qd0=[0.55], torque=[-4.0], stops=True, restitution=1.0)
    plain = dy.simulate(robot, 1.0, 0.1, qd0=[0.55], torque=[-4.0])
    np.testing.assert_array_equal(stopped.q, plain.q)


@pytest.mark.parametrize("torque", [[150.0, 0.0], [150.0, 60.0], [-80.0, -50.0], [150.0, -50.0]])
def test_a_joint_pushed_against_its_stop_stays(boxed, torque):
    run = dy.simulate(boxed, 5.0, 0.2 * DT, torque=torque, stops=True)
    q1, q2 = np.where(np.sign(torque) > 0, [0.9, 0.4], [-0.8, -0.5])
    assert run.q[-1, 0] == q1 and run.stuck[-1, 0]
    if torque[1]:
        assert run.q[-1, 1] == q2 and run.stuck[-1].all()
        assert (run.q[-500:] == [q1, q2]).all() and (run.qd[-500:] == 0.0).all()


def test_it_leaves_when_it_is_pulled():
    robot = slider(limits=(-1.0, 0.1))
    run = dy.simulate(robot, 2.0, DT, torque=lambda t: [1.0 if t < 1 else -1.0], stops=True)
    leaves = run.t > 1.01
    assert (run.q[(run.t > 0.7) & (run.t < 1)] == 0.1).all() and (
        np.diff(run.q[leaves, 0]) < 0
    ).all()
    assert run.q[-1, 0] == pytest.approx(0.1 - 1.0**2 / 4, abs=2e-3)


def test_a_stuck_neighbour_breaks_away_from_a_stop_too():
    """Joint 2 rests on its stop until joint 1, held by friction, is let go."""
    robot = pair(bar(dy.Friction(coulomb=60.0), limits=(-0.8, 0.9)), bar(limits=(-0.5, 0.4)))
    run = dy.simulate(robot, 1.0, DT, torque=[0.0, 0.0], q0=[0.0, -0.5], stops=True)
    assert (run.q == [0.0, -0.5]).all() and run.stuck.all()


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.4, 1.0]), st.booleans())
def test_stops_are_never_passed_and_never_give_energy(seed, restitution, adaptive):
    rng = np.random.default_rng(seed)
    rub = rng.uniform(0, 3, 2) * (rng.random(2) < 0.5)
    robot = pair(
        bar(dy.Friction(coulomb=rub[0]), limits=(-0.8, 0.9)),
        bar(dy.Friction(coulomb=rub[1]), limits=(-0.5, 0.4)),
    )
    values = robot.parameters.values
    q0, qd0 = rng.uniform([-0.8, -0.5], [0.9, 0.4]), rng.normal(scale=4, size=2)
    options = {"integrator": "dormand-prince"} if adaptive else {"parameters": values}
    base = boxes() if not adaptive else robot
    run = dy.simulate(
        base, 1.0, 1e-3 if not adaptive else 1e-2, q0, qd0, stops=True,
        restitution=restitution, **options,
    )  # fmt: skip
    assert (run.q >= [-0.8, -0.5]).all() and (run.q <= [0.9, 0.4]).all()
    total = run.energy.total
    scale = run.energy.kinetic.max() + np.ptp(run.energy.potential)
    assert np.diff(total).max() <= 2e-3 * scale
    assert total[-1] <= total[0] + 2e-3 * scale


def boxes():
    """One structure for all draws: their numbers come as parameters."""
    return pair(
        bar(dy.Friction(coulomb=1.0), limits=(-0.8, 0.9)),
        bar(dy.Friction(coulomb=1.0), limits=(-0.5, 0.4)),
    )


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("K", [4e3, 1e5, 1e7, 1e9])
def test_stops_of_elastic_joints_create_no_energy(K, restitution):
    robot = two_links(K).with_gravity((0, 0, 0)).with_limits(0, (-0.5, 0.5))
    start = {"q0": [0.3, 0.4], "qd0": [1.0, 0.0], "check_step": False}
    run = dy.simulate(robot, 1.5, stops=True, restitution=restitution, **start)
    assert run.q[:, 0].max() <= 0.5 and run.qd[:, 0].min() < 0.01
    assert run.energy.total.max() < (1.0 + 1e-6) * run.energy.total[0]
