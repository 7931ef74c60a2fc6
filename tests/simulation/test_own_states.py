"""Laws of a user's own with states, in motion: integrated with the arm."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import dynamis as dy
from tests.simulation.arms import slider, spinner
from tests.simulation.own_states import Aging, Dahl, Maxwell

MASS = 1.5


@pytest.fixture(scope="module", autouse=True)
def machine_code(compiled):
    """Quick."""


def shaken(friction, dt=1e-3, seconds=2.0, **options):
    force = lambda t: [8.0 * np.sin(7.0 * t)]  # noqa: E731
    robot = slider(friction, mass=MASS)
    return dy.simulate(robot, seconds, dt, torque=force, check_step=False, **options)


def dahl_path(law, t):
    """(q, qd, z) of the slider that is shaken, from another integrator."""

    def rate(at, x):
        _, v, z = x
        f = law.stiffness * z + law.grease * v
        return v, (8.0 * np.sin(7.0 * at) - f) / MASS, v - law.stiffness / law.dry * abs(v) * z

    options = {"rtol": 1e-11, "atol": 1e-13, "max_step": 2e-3, "method": "DOP853"}
    return solve_ivp(rate, (0.0, t[-1]), [0.0, 0.0, 0.0], t_eval=t, **options).y


def test_dahl_friction_is_that_of_another_integrator():
    law, errors = Dahl(), []
    for dt in (1e-3, 2.5e-4):
        run = shaken(dy.Friction(law=law), dt)
        q, _, z = dahl_path(law, run.t)
        errors.append(np.abs(run.q[:, 0] - q).max())
        np.testing.assert_allclose(run.states["law_state"][:, 0], z, atol=1e-3 * law.dry / 2000.0)
        wanted = law.stiffness * run.states["law_state"][:, 0] + law.grease * run.qd[:, 0]
        np.testing.assert_allclose(run.friction[:, 0], wanted, atol=1e-12)
        assert not run.stuck.any()
    assert np.ptp(q) > 0.05 and np.abs(z).max() == pytest.approx(1.5e-3, rel=1e-3)
    assert errors[0] < 5e-6 and errors[1] < 1e-6  # of second order: |qd| has a kink
    run = shaken(dy.Friction(law=law), integrator="dormand-prince", tolerance=1e-9)
    np.testing.assert_allclose(run.q[:, 0], dahl_path(law, run.t)[0], atol=1e-6)


def linear_path(law, t, q0, v0=0.0):
    """(q, qd, z) of a mass beside a Maxwell element, in closed form."""
    k, c = law.stiffness, law.damping
    A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -law.gain * k / MASS], [0.0, 1.0, -k / c]])
    return np.array([expm(A * at) @ [q0, v0, 0.0] for at in t]).T


def test_a_spring_and_a_damper_in_series_in_closed_form():
    law = Maxwell()
    robot = slider(mass=MASS).with_load(law)
    run = dy.simulate(robot, 3.0, 1e-3, q0=[0.2], qd0=[1.3], save_every=50)
    wanted = linear_path(law, run.t, 0.2, 1.3)
    found = [run.q[:, 0], run.qd[:, 0], run.states["law_state"][:, 0]]
    np.testing.assert_allclose(found, wanted, atol=1e-10)
    assert not run.check()


def test_a_joint_ages_while_it_is_held():
    """Two states: "rest" grows only while the joint holds, by which it then breaks loose."""
    law = Aging()
    push = lambda t: [np.select([t < 1.0, t < 1.5], [0.5, 2.9], 3.1)]  # noqa: E731
    robot = slider(dy.Friction(law=law), mass=MASS)
    run = dy.simulate(robot, 2.0, 1e-3, torque=push, check_step=False)
    rest, way = run.states["law_state"].T
    late = run.t > 1.5 + 2e-3
    assert run.stuck[~late, 0][:-3].all() and not run.stuck[late].any()
    still = run.t < 1.5
    np.testing.assert_allclose(rest[still], 1.0 - np.exp(-run.t[still] / law.time), atol=1e-9)
    np.testing.assert_allclose(way, run.q[:, 0], atol=1e-12)
    assert run.q[-1, 0] > 0.01 and rest[-1] < 0.8


@dataclass(frozen=True)
class Counter:
    """Dry friction, and how long it slid forwards less backwards."""

    dry: float = 1.0
    states = ("time",)

    def torque(self, qd, direction, constants, fn, state):
        return constants["dry"] * direction

    def rate(self, qd, direction, constants, fn, state):
        return {"time": direction}


@pytest.mark.parametrize("ratio", [0.5, -2.0])
def test_a_joint_at_rest_is_told_where_it_starts_to_slide(ratio):
    """Also one that follows another, the other way around."""
    robot = dy.load("planar-2link").with_gravity((0, 0, 0))
    links = list(robot.model.links)
    rubs = dy.Friction(law=Counter())
    links[1] = replace(links[1], mimic=("joint1", ratio, 0.0), friction=rubs)
    tied = dy.Robot(replace(robot.model, links=tuple(links), configurations={}))
    run = dy.simulate(tied, 0.1, 1e-3, torque=lambda t: [-30.0 * (t >= 0.05)], check_step=False)
    slides = -np.sign(ratio) * np.maximum(run.t - 0.05, 0.0)
    np.testing.assert_allclose(run.states["law_state"][:, 0], slides, atol=1e-12)


def test_a_hold_on_a_spring_is_exact():
    """Dry friction beside a spring, both by a law: the joint holds to the last bit."""
    law = Aging(dry=1.0, rise=0.0, stiffness=40.0)
    robot = slider(dy.Friction(law=law), mass=MASS)
    run = dy.simulate(robot, 60.0, 1e-3, qd0=[1.0], save_every=20, check_step=False)
    late = run.t > 30.0
    assert np.ptp(run.q[late]) == 0.0 and run.stuck[late].all()
    assert abs(40.0 * run.q[-1, 0]) < 1.0
    np.testing.assert_allclose(run.states["law_state"][:, 1], run.q[:, 0], atol=1e-12)


def test_stops_and_reversals_leave_a_state_where_the_joint_is():
    """The way a joint has gone, over impacts at stops."""
    law = Aging(dry=0.3, rise=0.0)
    bare = slider(dy.Friction(law=law), mass=MASS, limits=(-0.1, 0.1))
    run = dy.simulate(bare, 1.0, 1e-3, qd0=[2.0], stops=True, restitution=0.8, check_step=False)
    assert (np.diff(np.sign(run.qd[:, 0])) != 0.0).sum() >= 5
    np.testing.assert_allclose(run.states["law_state"][:, 1], run.q[:, 0], atol=1e-9)


def test_a_negative_mimic_ratio_turns_it_around():
    """Joint 2 follows joint 1 with ratio -2: its law has its own speed and direction."""
    law = Aging(dry=0.5, rise=0.0, stiffness=30.0)
    robot = dy.load("planar-2link").with_gravity((0, 0, 0))
    links = list(robot.model.links)
    links[0] = replace(links[0], friction=dy.Friction())
    links[1] = replace(
        links[1], mimic=("joint1", -2.0, 0.1), friction=dy.Friction(law=law, offset=0.2)
    )
    tied = dy.Robot(replace(robot.model, links=tuple(links), configurations={}))
    torque = lambda t: [40.0 * np.sin(9.0 * t)]  # noqa: E731
    run = dy.simulate(tied, 1.0, 2e-4, torque=torque, check_step=False)
    q = run.q[:, 0]
    np.testing.assert_allclose(run.states["law_state"][:, 1], -2.0 * (q - q[0]), atol=1e-10)
    wanted = -2.0 * (0.5 * np.sign(-2.0 * run.qd[:, 0]) - 60.0 * (q - q[0]) + 0.2)
    moving = np.abs(run.qd[:, 0]) > 0.05
    np.testing.assert_allclose(run.friction[moving, 0], wanted[moving], atol=1e-3)


@pytest.mark.parametrize("stiffness", [500.0, 1e8])
def test_elastic_joints_have_it_on_their_links(stiffness):
    drive = dy.Drive(gear=50, rotor_inertia=1e-4, stiffness=stiffness, damping=0.1)
    law = Dahl(stiffness=300.0, dry=2.0)
    robot = spinner(dy.Friction(law=law), drive).with_load(Maxwell(stiffness=20.0))
    torque = lambda t: [20.0 * np.sin(9.0 * t)]  # noqa: E731
    run = dy.simulate(robot, 1.0, 2e-4, torque=torque, check_step=False)
    assert (run.integrator == "ros34pw2") == (stiffness == 1e8)
    t, v = run.t, run.qd[:, 0]

    def rate(at, z):
        u = np.interp(at, t, v)
        return u - law.stiffness / law.dry * abs(u) * z[0], u - 20.0 / 5.0 * z[1]

    z = solve_ivp(rate, (0.0, 1.0), [0.0, 0.0], t_eval=t, max_step=1e-3, rtol=1e-9).y.T
    np.testing.assert_allclose(run.states["law_state"], z, atol=2e-5)
    wanted = law.stiffness * z[:, 0] + law.grease * v
    np.testing.assert_allclose(run.friction[:, 0], wanted, atol=5e-3)
    assert not run.motor_friction.any()


def test_a_passive_joint_of_a_closed_mechanism_has_it():
    robot = dy.load("five-bar")
    (passive, *_) = [i for i in range(robot.n) if i not in robot.driven]
    links = list(robot.model.links)
    links[passive] = replace(
        links[passive], friction=dy.Friction(law=Aging(dry=0.02, rise=0.0, stiffness=0.5))
    )
    robot = dy.Robot(replace(robot.model, links=tuple(links)))
    loaded = robot.with_load(Maxwell(stiffness=0.8, damping=0.05, joint=passive))
    run = dy.simulate(loaded, 0.5, 5e-4, q0=robot.home, check_step=False)
    q = run.q[:, passive]
    assert np.ptp(q) > 0.05 and not run.diverged
    rest, way, stretch = run.states["law_state"].T
    np.testing.assert_allclose(way, q - q[0], atol=1e-6)
    wanted = np.zeros(len(q))
    step, leak = run.dt, 0.8 / 0.05
    for k in range(len(q) - 1):  # v - leak z, v the mean of a step
        v, fall = (q[k + 1] - q[k]) / step, np.exp(-leak * step)
        wanted[k + 1] = wanted[k] * fall + v * (1.0 - fall) / leak
    np.testing.assert_allclose(stretch, wanted, atol=5e-6)
    assert not rest.any()


def test_arms_of_an_ensemble_have_states_of_their_own():
    robot = slider(dy.Friction(law=Aging(), coulomb=0.1), mass=MASS).with_load(Maxwell())
    starts = np.array([[0.3], [-0.7], [0.0], [0.05]])
    run = dy.simulate(robot, 1.0, q0=np.zeros((4, 1)), qd0=starts, check_step=False)
    for k, v in enumerate(starts):
        alone = dy.simulate(robot, 1.0, qd0=v, check_step=False)
        np.testing.assert_array_equal(run.q[k], alone.q)


def test_linear_constants_may_differ_in_an_ensemble():
    robot = slider(mass=MASS).with_load(Maxwell())
    values = np.array([robot.parameters.values] * 2)
    column = robot.parameters.names.index("Maxwell.gain")
    values[1, column] = 0.25
    run = dy.simulate(robot, 1.0, q0=[0.2], qd0=[1.0], parameters=values, check_step=False)
    for k, gain in enumerate((1.0, 0.25)):
        q, *_ = linear_path(Maxwell(gain=gain), run.t, 0.2, 1.0)
        np.testing.assert_allclose(run.q[k, :, 0], q, atol=1e-9)


@pytest.mark.filterwarnings("ignore:the simulation ended early")
@pytest.mark.parametrize("members", [(), (2,)])
def test_a_state_that_is_too_fast_for_the_steps_is_named(members):
    robot = slider(dy.Friction(law=Aging()), mass=MASS).with_load(Maxwell(stiffness=4e4))
    qd0 = np.ones((*members, 1))
    said = dy.simulate(robot, 0.3, qd0=qd0, dt=1e-3).message
    words = r"0.001 s are too long for the state 'Maxwell.stretch' of a law, use dt=([\d.e-]+\d)"
    dt = float(re.search(words, said)[1])
    run = dy.simulate(robot, 0.3, qd0=qd0, dt=dt)
    assert 1e-4 < dt < 3e-4 and not run.message


def test_the_check_of_the_step_bears_rates_that_are_stiff_for_its_coarse_steps(recwarn):
    """At 20 m/s "rest" falls with 400 / s."""
    robot = slider(dy.Friction(law=Aging(dry=2.0, rise=6.0)), mass=0.4)
    pull = lambda t: [20.0 * max(t - 4.0, 0.0)]  # noqa: E731
    run = dy.simulate(robot, 5.0, 1e-3, torque=pull)
    assert not run.check() and run.qd[-1, 0] > 10.0 and not recwarn.list


def test_a_simulator_goes_on_where_it_was():
    robot = slider(dy.Friction(law=Dahl()), mass=MASS)
    sim = dy.Simulator(robot, dt=1e-3)
    for _ in range(2):  # a reset begins anew
        sim.reset(qd0=[0.05])
        for _ in range(4):
            sim.step(steps=25)
        whole = dy.simulate(robot, 0.1, qd0=[0.05], check_step=False)
        np.testing.assert_array_equal(sim.q, whole.q[-1])


def test_a_law_without_states_keeps_its_program():
    run = shaken(dy.Friction(viscous=0.5, coulomb=0.2))
    assert run.states["law_state"].shape == (len(run.t), 0)
