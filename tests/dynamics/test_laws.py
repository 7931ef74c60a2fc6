"""Laws of mechanics on random robots: both DH conventions, trees, R and P, rotors, payloads."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dynamis.compile.kernels import FORWARD_METHODS, INVERSE_METHODS

from ..random_robots import build, chains, robots, states

AGREE = 1e-10
DIFFERENCE = 3e-6  # central differences with STEP
STEP = 1e-5
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
any_robot = st.one_of(robots(), chains(longest=5, rotors=True))


def close(a, b, tolerance=AGREE):
    scale = max(np.abs(b).max(initial=0.0), 1.0)
    assert np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance * scale


def derivative(function, q, direction):
    return (function(q + STEP * direction) - function(q - STEP * direction)) / (2 * STEP)


def applies(robot, method):
    coupled = robot.chain.coupling is not None or any(m.coupled for m in robot.chain.motors)
    return not (method == "articulated-body" and coupled)


@few
@given(any_robot)
def test_formulations_agree(robot):
    q, qd, qdd = states(robot)
    wrench = np.array([1.0, -2.0, 3.0, 0.5, -0.6, 0.7])
    tau = robot.inverse_dynamics(q, qd, qdd, wrench=wrench)
    for method in INVERSE_METHODS:
        close(robot.inverse_dynamics(q, qd, qdd, method=method, wrench=wrench), tau)


@few
@given(any_robot)
def test_forward_of_inverse_is_identity(robot):
    q, qd, qdd = states(robot)
    wrench = np.array([1.0, -2.0, 3.0, 0.5, -0.6, 0.7])
    tau = robot.inverse_dynamics(q, qd, qdd, wrench=wrench)
    condition = np.linalg.cond(robot.mass_matrix(q))
    for method in filter(lambda m: applies(robot, m), FORWARD_METHODS):
        got = robot.forward_dynamics(q, qd, tau, method=method, wrench=wrench)
        close(got, qdd, max(AGREE, 1e-13 * condition))


@few
@given(any_robot)
def test_equation_of_motion_adds_up(robot):
    q, qd, qdd = states(robot)
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, qd)
    total = M @ qdd + C @ qd + robot.gravity_torque(q) + robot.friction_torque(qd)
    close(robot.inverse_dynamics(q, qd, qdd), total)
    close(sum(robot.torque_terms(q, qd, qdd).values()), total)


@few
@given(any_robot)
def test_mass_matrix_is_symmetric_positive_definite(robot):
    M = robot.mass_matrix(states(robot)[0])
    close(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@few
@given(any_robot)
def test_mdot_minus_2c_is_skew(robot):
    q, qd, _ = states(robot)
    S = derivative(robot.mass_matrix, q, qd) - 2 * robot.coriolis_matrix(q, qd)
    speed = np.abs(robot.chain.coupling).max() if robot.chain.coupling else 1.0
    close((S + S.T) / speed**2, 0 * S, DIFFERENCE)


@few
@given(any_robot)
def test_energy(robot):
    q, qd, _ = states(robot)
    close(robot.kinetic_energy(q, qd), 0.5 * qd @ robot.mass_matrix(q) @ qd)
    slope = [derivative(robot.potential_energy, q, e) for e in np.eye(robot.n)]
    close(robot.gravity_torque(q), np.array(slope), DIFFERENCE)


@few
@given(any_robot)
def test_power_balance(robot):
    """d/dt (T + U) along the motion equals the power of the torque less that of friction."""
    q, qd, qdd = states(robot)
    tau = robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd)

    def total(t):
        return robot.kinetic_energy(q + t * qd + t * t / 2 * qdd, qd + t * qdd) + (
            robot.potential_energy(q + t * qd + t * t / 2 * qdd)
        )

    speed = np.abs(robot.chain.coupling).max() if robot.chain.coupling else 1.0
    step = STEP / speed
    rate = (total(step) - total(-step)) / (2 * step)
    close(rate, tau @ qd, 1e-5)


@few
@given(any_robot)
def test_regressor_times_parameters(robot):
    q, qd, qdd = states(robot)
    p = robot.parameters
    assert len(set(p.names)) == len(p.names) == len(p.values)
    close(robot.regressor(q, qd, qdd) @ p.values, robot.inverse_dynamics(q, qd, qdd))


@few
@given(any_robot)
def test_observation_matrix_of_document_003_is_the_regressor(robot):
    """Built as document 003 does it, and with columns shared between links: the same matrix."""
    from dynamis.dynamics.elements.bodies import shared_observation_matrix
    from dynamis.dynamics.gibbs_appell import observation_matrix
    from dynamis.spatial.functions import MATH

    size = len(robot.chain.joints)
    x = np.random.default_rng(0).normal(size=(3, size)).tolist()
    W = np.array(observation_matrix(robot.chain, *x, MATH))
    close(np.array(shared_observation_matrix(robot.chain, *x, MATH)), W)


@few
@given(any_robot)
def test_two_velocity_regressor(robot):
    q, qd, qdd, ref = states(robot, vectors=4)
    Y = robot.regressor(q, qd, qdd, qd_ref=ref)
    expected = robot.mass_matrix(q) @ qdd + robot.coriolis_matrix(q, qd) @ ref
    close(Y @ robot.parameters.values, expected + robot.gravity_torque(q))
    same = robot.regressor(q, qd, qdd, qd_ref=qd) @ robot.parameters.values
    close(same, robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd))


@few
@given(any_robot)
def test_regressor_columns_one_at_a_time(robot):
    """Every column is the torque of a robot that has only that parameter."""
    q, qd, qdd = states(robot)
    if robot.model.rotors == "full":
        return  # a zero rotor has no column to compare with
    Y = robot.regressor(q, qd, qdd)
    rng = np.random.default_rng(1)
    for k in rng.choice(Y.shape[1], size=min(12, Y.shape[1]), replace=False):
        unit = np.zeros(Y.shape[1])
        unit[k] = 1.0
        close(robot.with_parameters(unit).inverse_dynamics(q, qd, qdd), Y[:, k])


@few
@given(any_robot)
def test_with_parameters_keeps_the_torque(robot):
    q, qd, qdd = states(robot)
    same = robot.with_parameters(robot.parameters.values)
    close(same.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))
    assert same.parameters.names == robot.parameters.names
    close(same.parameters.values, robot.parameters.values)


@few
@given(robots())
def test_jacobians(robot):
    q, qd, _ = states(robot)
    T, J = robot.fk(q), robot.jacobian(q)
    Tdot = derivative(robot.fk, q, qd)
    close(Tdot[:3, 3], J[:3] @ qd, DIFFERENCE)
    W = Tdot[:3, :3] @ T[:3, :3].T
    close(np.array([W[2, 1], W[0, 2], W[1, 0]]), J[3:] @ qd, DIFFERENCE)
    R = np.kron(np.eye(2), T[:3, :3])
    close(robot.jacobian(q, frame="tool"), R.T @ J)
    for frame in ("base", "tool"):
        slope = derivative(lambda x, f=frame: robot.jacobian(x, frame=f), q, qd)
        close(robot.jacobian_dot(q, qd, frame=frame), slope, 1e-5)


@few
@given(robots())
def test_wrench_is_jacobian_transpose(robot):
    q, qd, qdd = states(robot)
    wrench = np.array([1.0, -2.0, 3.0, 0.5, -0.6, 0.7])
    push = robot.inverse_dynamics(q, qd, qdd, wrench=wrench) - robot.inverse_dynamics(q, qd, qdd)
    close(push, robot.jacobian(q, frame="tool").T @ wrench, 1e-9)


@few
@given(robots(longest=5))
def test_moving_base(robot):
    """A base that accelerates upwards is gravity; both recursions agree on any base motion."""
    q, qd, qdd = states(robot)
    lift = np.array([0, 0, 0, 0, 0, 0, *(-robot.gravity)])
    still = robot.with_gravity((0, 0, 0))
    close(still.inverse_dynamics(q, qd, qdd, base_motion=lift), robot.inverse_dynamics(q, qd, qdd))
    motion = np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4, 1.0, 2.0, 3.0])
    a, b = (
        robot.inverse_dynamics(q, qd, qdd, base_motion=motion, method=m)
        for m in ("newton-euler", "newton-euler-base")
    )
    close(a, b)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_moving_base_is_an_extra_joint(convention):
    """Turning the base about its z is the same as one more revolute joint below."""
    robot = build(convention, ["revolute", "prismatic", "revolute"], 7)
    robot = type(robot)(robot.model.__class__(**{
        **{f: getattr(robot.model, f) for f in robot.model.__dataclass_fields__},
        "base": type(robot.model.base)(), "gravity": (0, 0, -9.81),
    }))  # fmt: skip
    import dynamis as dy

    turntable = dy.Link(mass=0.0)
    links = (turntable, *robot.model.links)
    links = [
        dy.Link(**{
            **{f: getattr(x, f) for f in x.__dataclass_fields__},
            "name": f"l{i}", "joint_name": f"j{i}",
            **({"inertia": None} if x.linear is not None else {}),
        })
        for i, x in enumerate(links)
    ]  # fmt: skip
    taller = dy.Robot.from_dh(
        "taller", convention=convention, links=links, gravity=(0, 0, -9.81),
        tool=robot.model.tool, payload=robot.model.payload,
    )  # fmt: skip
    q, qd, qdd = states(taller)
    q[0] = 0.0
    motion = [0, 0, qd[0], 0, 0, qdd[0], 0, 0, 0]
    expected = taller.inverse_dynamics(q, qd, qdd)[1:]
    close(robot.inverse_dynamics(q[1:], qd[1:], qdd[1:], base_motion=motion), expected)


@few
@given(robots())
def test_payload_is_a_body_at_the_tool(robot):
    """Carrying a mass costs its weight, its inertia and nothing else: linear in the mass."""
    q, qd, qdd = states(robot)
    empty = robot.with_payload(0.0)
    tau = [robot.with_payload(m, (0.1, 0, 0.2)).inverse_dynamics(q, qd, qdd) for m in (1.0, 3.0)]
    none = empty.inverse_dynamics(q, qd, qdd)
    close(tau[1] - none, 3.0 * (tau[0] - none), 1e-9)


@few
@given(robots())
def test_momentum(robot):
    """dP/dt is the force on the links: at rest under gravity alone the base carries the weight."""
    q, qd, _ = states(robot)
    P = robot.momentum(q, qd)
    masses = sum(b.inertia.m for b in robot.chain.bodies)
    g = robot.gravity
    if np.linalg.norm(g) < 1e-6:
        return
    # m g . v_com = -dU/dt, and P = m v_com
    rate = derivative(robot.potential_energy, q, qd)
    close(-P[:3] @ g, rate, 1e-5)
    assert masses > 0


def test_operational_inertia_inverts_the_mobility():
    robot = build("standard", ["revolute"] * 7, 3)
    q = states(robot)[0]
    J, M = robot.jacobian(q), robot.mass_matrix(q)
    close(robot.operational_inertia(q) @ (J @ np.linalg.inv(M) @ J.T), np.eye(6), 1e-7)
