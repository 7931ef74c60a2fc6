"""With the exact model the arm accelerates as the law says."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.compile.arrays import NUMPY
from dynamis.control import (
    ComputedTorque,
    FeedForward,
    Impedance,
    JointPID,
    PointToPoint,
    SlotineLi,
    TaskSpace,
)
from tests.random_robots import chains, lossless
from tests.thorough import thorough_but

from .blocks import ARMS, sample, stepped, torque

RELATIVE = 1e-8  # rounding of the solve, times the condition of the mass matrix
arms = pytest.mark.parametrize("arm", ARMS)


def accelerations(robot, law, at, **rest):
    return robot.forward_dynamics(at[0], at[1], torque(law, robot, at, **rest))


def agree(got, expected):
    np.testing.assert_allclose(got, expected, atol=RELATIVE * (1 + np.abs(expected).max()), rtol=0)


def frictionless(robot):
    names, values = robot.parameters.names, robot.parameters.values.copy()
    words = ("viscous", "coulomb+", "coulomb-", "offset")
    values[[name.rsplit(".", 1)[-1] in words for name in names]] = 0.0
    return robot.with_parameters(values)


@arms
def test_computed_torque_linearises_the_error(arm):
    robot = ARMS[arm]()
    kp, kd, ki = np.linspace(9, 30, robot.n), np.linspace(5, 11, robot.n), 40.0
    law = ComputedTorque(kp, kd, ki, friction="measured")
    q, qd, q_d, qd_d, qdd_d = at = sample(robot, 1)
    before = np.linspace(-0.1, 0.2, robot.n)
    got = accelerations(robot, law, at, dt=0.01, state={"integral": before.tolist()})
    e, ed = q - q_d, qd - qd_d
    agree(got, qdd_d - kd * ed - kp * e - ki * (before + 0.01 * e))


@arms
def test_point_to_point_is_a_spring_and_a_damper(arm):
    robot = ARMS[arm]()
    law = PointToPoint(16.0, 6.0, friction="measured")
    at = q, qd, q_d, _, _ = sample(robot, 2)
    agree(accelerations(robot, law, at), -6.0 * qd - 16.0 * (q - q_d))


@given(chains(longest=5, rotors=True), st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_computed_torque_on_any_chain(robot, seed):
    law = ComputedTorque(16.0, 8.0, friction="measured")
    q, qd, q_d, qd_d, qdd_d = at = sample(robot, seed)
    tau = torque(law, lossless(robot), at)
    expected = robot.inverse_dynamics(q, qd, qdd_d - 8.0 * (qd - qd_d) - 16.0 * (q - q_d))
    np.testing.assert_allclose(tau, expected, atol=1e-9 * (1 + np.abs(expected).max()), rtol=0)


@given(chains(longest=5), st.integers(0, 100))
@settings(max_examples=15, deadline=None)
def test_computed_torque_is_that_of_the_motors_of_any_chain(robot, seed):
    """Behind gears with losses: the motor's torque of the wanted motion, times the gear ratio."""
    law = ComputedTorque(16.0, 8.0, friction="measured")
    q, qd, q_d, qd_d, qdd_d = at = sample(robot, seed)
    a = qdd_d - 8.0 * (qd - qd_d) - 16.0 * (q - q_d)
    expected = robot.motor_torque(q, qd, a) * [m.gear for m in robot.chain.motors]
    tau = torque(law, robot, at)
    np.testing.assert_allclose(tau, expected, atol=1e-9 * (1 + np.abs(expected).max()), rtol=0)


def geared(robot, **drive):
    """The robot with every drive changed; passive joints have none."""
    links = tuple(
        x if x.passive else replace(x, drive=replace(x.drive or dy.Drive(), **drive))
        for x in robot.model.links
    )
    return dy.Robot(replace(robot.model, links=links))


def coupled_wrist():
    """Two joints; motor 2 turns with both."""
    body = {"inertia": (0.1, 0.1, 0.1)}
    motor = dy.Drive(gear=32, rotor_inertia=1e-4, viscous=1e-4, coulomb=0.02)
    links = [dy.Link(a=0.5, mass=1.0, **body), dy.Link(a=0.4, mass=0.5, **body, drive=motor)]
    options = {"gravity": (0, -9.81, 0), "gear_matrix": [[45, 0], [32, 32]]}
    return dy.Robot.from_dh("coupled", convention="standard", links=links, **options)


LOSSY = {
    "puma560": lambda: geared(dy.load("puma560"), efficiency=0.7),
    "rppr": lambda: dy.load("rppr"),
    "gear matrix": lambda: geared(coupled_wrist(), efficiency=0.7),
    "full rotors": lambda: geared(
        dy.Robot(replace(dy.load("planar-2link").model, rotors="full")),
        efficiency=0.7, gear=-40.0, rotor_inertia=1e-4, coulomb=0.01,
    ),
    "five-bar": lambda: geared(dy.load("five-bar"), efficiency=0.7),
}  # fmt: skip


KINDS = ("computed", "feed-forward", "tool", "impedance", "adaptive")
PAIRS = [(arm, kind) for arm in LOSSY for kind in KINDS]
PAIRS.remove(("rppr", "adaptive"))  # its sliding centres of mass are no parameters
QUICK = [("full rotors", kind) for kind in KINDS] + [("rppr", "computed"), ("five-bar", "computed")]


@pytest.mark.parametrize("arm, kind", thorough_but(QUICK, PAIRS))
def test_laws_know_the_losses_of_the_gears(arm, kind, compiled):
    """With the exact model what is left is the sampling; without its losses far more."""
    robot = LOSSY[arm]()
    start = np.full(robot.n, 0.3) if not robot.model.closures else robot.home
    of_tool = {"task": "position", "null_stiffness": 600.0, "null_damping": 50.0}
    laws = {
        "computed": lambda **x: ComputedTorque.from_bandwidth(robot, 25.0, **x),
        "feed-forward": lambda **x: FeedForward.from_bandwidth(robot, 25.0, q=start, **x),
        "tool": lambda **x: TaskSpace.from_bandwidth(robot, 25.0, **of_tool, **x),
        "impedance": lambda **x: Impedance.from_bandwidth(robot, 25.0, q=start, **of_tool, **x),
        "adaptive": lambda **x: SlotineLi.from_bandwidth(robot, 25.0, 0.0, q=start, **x),
    }
    begin = start[list(robot.driven)]
    move = dy.trajectory.quintic(begin, begin + 0.2, 0.4)
    worst = {}
    for name, model in (("exact", robot), ("lossless", geared(robot, efficiency=1.0))):
        run = dy.simulate(
            robot, 0.4, dt=5e-4, q0=start, controller=laws[kind](model=model), reference=move
        )
        worst[name] = np.abs(run.error).max()
    share = 0.2 if kind == "adaptive" else 0.03  # which smooths Coulomb friction
    assert worst["exact"] < share * worst["lossless"]


@arms
def test_feed_forward_is_inverse_dynamics_along_the_reference(arm):
    robot = ARMS[arm]()
    q, qd, q_d, qd_d, qdd_d = at = sample(robot, 3)
    expected = robot.inverse_dynamics(q_d, qd_d, qdd_d) - 40.0 * (q - q_d) - 7.0 * (qd - qd_d)
    agree(torque(FeedForward(40.0, 7.0), robot, at), expected)


def test_where_friction_is_taken():
    robot = dy.load("panda")  # its friction has offsets
    at = _, qd, _, qd_d, _ = sample(robot, 4)
    bare = torque(ComputedTorque(9.0, 6.0, friction="none"), robot, at)
    agree(bare, torque(ComputedTorque(9.0, 6.0), frictionless(robot), at))
    for choice, velocity in (("desired", qd_d), ("measured", qd)):
        for law in (ComputedTorque(9.0, 6.0), PointToPoint(9.0, 6.0), FeedForward(9.0, 6.0)):
            kind = type(law)
            with_, without = (kind(9.0, 6.0, friction=f) for f in (choice, "none"))
            extra = torque(with_, robot, at) - torque(without, robot, at)
            agree(extra, robot.friction_torque(velocity))
    assert ComputedTorque(1, 1).friction == FeedForward(1, 1).friction == "desired"
    assert PointToPoint(1, 1).friction == "none"


def test_a_law_computes_with_its_own_model():
    robot = dy.load("planar-2link")
    values = robot.parameters.values.copy()
    names = robot.parameters.names
    values[[name.startswith("link1.") for name in names]] *= 1.1
    other = robot.with_parameters(values)
    at = sample(robot, 5)
    for kind in (ComputedTorque, PointToPoint, FeedForward):
        agree(torque(kind(9.0, 6.0, model=other), robot, at), torque(kind(9.0, 6.0), other, at))
        assert not np.allclose(
            torque(kind(9.0, 6.0, model=other), robot, at), torque(kind(9.0, 6.0), robot, at)
        )


def test_joint_pid_is_its_equation():
    robot = dy.load("puma560")
    at = q, qd, q_d, qd_d, _ = sample(robot, 6)
    e, before = q - q_d, np.linspace(0, 1, 6)
    state = {"integral": before.tolist()}
    law = JointPID(50.0, 30.0, 7.0, gravity=True)
    tau, after = stepped(law, robot, at, dt=0.01, state=state)
    total = before + 0.01 * e
    agree(tau, -50.0 * e - 30.0 * total - 7.0 * qd + robot.gravity_torque(q))
    agree(after["integral"], total)
    on_error = JointPID(50.0, 30.0, 7.0, derivative="error")
    agree(
        torque(on_error, robot, at, dt=0.01, state=state),
        -50.0 * e - 30.0 * total - 7.0 * (qd - qd_d),
    )


def test_document_002_with_masses_ten_percent_off(compiled):
    """Kp = 25, Kv = 10: the integral takes most of the permanent error, Kp = 50 halves it."""
    robot = dy.load("planar-2link")
    off = [1.1 if name.startswith("link1.") else 0.9 for name in robot.parameters.names]
    model = robot.with_parameters(robot.parameters.values * off)
    law = ComputedTorque(25.0, 10.0, model=model)
    # three laws side by side: gains are scalars too, so they may be batches
    columns = {"kp": [25.0, 25.0, 50.0], "kd": [10.0] * 3, "ki": [100.0, 0.0, 0.0]}
    gains = SimpleNamespace(limit=[1e300] * 2, **{k: [np.array(v)] * 2 for k, v in columns.items()})
    h, state, errors = 5e-3, None, []
    q, qd = np.zeros((2, 3)), np.zeros((2, 3))
    for t in h * np.arange(3000):
        reference = [np.array(x) for x in ([np.sin(t), np.cos(t)], [np.cos(t), -np.sin(t)])]
        at = (q, qd, *reference, -reference[0])
        tau, state = stepped(law, robot, at, dt=h, state=state, fn=NUMPY, gains=gains)
        qd = qd + h * robot.forward_dynamics(q.T, qd.T, np.array(tau).T).T
        q = q + h * qd
        errors.append(np.abs(q - reference[0][:, None]).max(axis=0))
    with_integral, plain, stiffer = np.max(errors[-1300:], axis=0)  # one period, after 8 s
    assert 3.0 * with_integral < plain
    assert stiffer / plain == pytest.approx(0.5, abs=0.05)
    assert with_integral > 1e-4  # small and periodic, not zero
