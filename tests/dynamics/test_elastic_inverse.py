"""Inverse dynamics of elastic arms: arms integrated with its torques, splines, the rigid limit."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline

import dynamis as dy
from dynamis.dynamics.elastic import expanded
from dynamis.dynamics.equation import inverse_dynamics
from dynamis.errors import OptionError
from dynamis.spatial.functions import MATH

from ..closed_mechanisms import five_bar

RODS = ((5.0, 0.5), (3.0, 0.4))  # kg, m


def two_links(friction=(), hardening=0.0, stiffness=(2000.0, 800.0), **more):
    links = []
    for i, (mass, length) in enumerate(RODS):
        inertia = (0.0, mass * length**2 / 12, mass * length**2 / 12)
        drive = dy.Drive(gear=50.0, rotor_inertia=4e-5, stiffness=stiffness[i], hardening=hardening,
                         viscous=1e-5, **more)  # fmt: skip
        rubs = dy.Friction(**{"viscous": 0.3, **dict(friction)})
        links.append(dy.Link(joint="revolute", a=length, mass=mass, com=(-length / 2, 0, 0),
                             inertia=inertia, drive=drive, friction=rubs))  # fmt: skip
    gravity = (0, -9.81, 0)
    return dy.Robot.from_dh("two", convention="standard", gravity=gravity, links=links)


def sines(t, size=2):
    """q and its first four derivatives, (5, ..., size)."""
    w = np.array([2.0, 3.1, 1.3, 2.6, 1.9, 3.7])[:size]
    a = np.array([0.6, -0.4, 0.5, 0.3, 0.7, -0.6])[:size]
    x = np.multiply.outer(np.asarray(t, float), w)
    f = (np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin)
    return np.stack([a * w**k * g(x + 0.3) for k, g in enumerate(f)])


def reflected(robot):
    return np.array([m.inertia for m in robot.chain.motors])


def test_torques_fed_to_an_integrated_arm_move_its_links_so():
    """M q'' + h = K d + K3 d^3, B th'' + f th' = tau - e, from kernels of the rigid arm alone."""
    robot = two_links(hardening=4e5)
    link = robot.with_drive(0, None).with_drive(1, None)
    K, K3, B = np.array([2000.0, 800.0]), 4e5, reflected(robot)
    viscous = 50.0**2 * 1e-5

    def rate(t, y):
        q, th, qd, thd = y.reshape(4, 2)
        d = th - q
        e = K * d + K3 * d**3
        tau = robot.elastic_inverse_dynamics(*sines(t))[0]
        return np.concatenate(
            [qd, thd, link.forward_dynamics(q, qd, e), (tau - e - viscous * thd) / B]
        )

    q, qd = sines(0.0)[:2]
    _, motor, motor_rate = robot.elastic_inverse_dynamics(*sines(0.0))
    start = np.concatenate([q, motor, qd, motor_rate])
    end = solve_ivp(rate, (0.0, 0.3), start, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    q, qd = sines(0.3)[:2]
    _, motor, motor_rate = robot.elastic_inverse_dynamics(*sines(0.3))
    np.testing.assert_allclose(end, np.concatenate([q, motor, qd, motor_rate]), atol=1e-9)


LAWS = {
    "coulomb": {"coulomb": 0.8, "offset": 0.2},
    "smooth": {"coulomb": 0.8, "law": "smooth", "velocity": 0.4},
    "stribeck": {"coulomb": (0.8, -0.5), "law": "stribeck"},
    "two viscous": {"viscous": (0.3, 0.5)},
}
MORE_LAWS = {
    "load": {"viscous": 0.0, "load": 0.1},  # of what the gear transmits, friction of links too
    "lugre": {"coulomb": 0.5, "law": "lugre"},
    "ratio": {"coulomb": 0.8, "law": "smooth", "velocity": 0.4, "ratio": 0.3},
}


@pytest.mark.parametrize("friction", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("hardening", [0.0, 4e5])
def test_against_differentiation_by_splines(friction, hardening):
    robot = two_links({**friction}, hardening)
    link = robot.with_drive(0, None).with_drive(1, None)
    t = np.linspace(0.02, 0.22, 401)  # no joint turns back within
    q, qd, qdd, qddd, qdddd = sines(t)
    assert (np.sign(qd) == np.sign(qd[0])).all()
    tau, motor, motor_rate = robot.elastic_inverse_dynamics(q, qd, qdd, qddd, qdddd)
    e, d = link.inverse_dynamics(q, qd, qdd), motor - q
    K = np.array([2000.0, 800.0])
    np.testing.assert_allclose(K * d + hardening * d**3, e, atol=1e-9)
    spline = make_interp_spline(t, motor, k=7)
    inner = slice(40, -40)
    np.testing.assert_allclose(motor_rate[inner], spline(t, 1)[inner], atol=1e-8)
    by_motor = tau - e - 50.0**2 * 1e-5 * motor_rate
    np.testing.assert_allclose(by_motor[inner], (reflected(robot) * spline(t, 2))[inner], atol=1e-4)


@pytest.mark.parametrize(
    "friction",
    [*LAWS.values(), *MORE_LAWS.values()],
    ids=[*LAWS, *MORE_LAWS],
)
def test_stiff_joints_are_rigid_ones(friction):
    """The deviations go with 1 / K, friction of motors and links counted once."""
    given = {"coulomb": (4e-4, -3e-4)}
    rigid = two_links({**friction}, stiffness=(None, None), **given)
    motion = sines(np.linspace(0.0, 3.0, 50))
    expected = rigid.inverse_dynamics(*motion[:3])
    size = []
    for k in (1e9, 1e10):
        robot = two_links({**friction}, stiffness=(k, k), **given)
        tau, motor, motor_rate = robot.elastic_inverse_dynamics(*motion)
        size.append(np.abs(tau - expected).max())
        np.testing.assert_allclose(motor, motion[0], atol=1e3 / k)
        np.testing.assert_allclose(motor_rate, motion[1], atol=1e4 / k)
    assert size[0] < 1e-4
    np.testing.assert_allclose(size[1] / size[0], 0.1, rtol=0.02)


@pytest.mark.parametrize("friction", [*LAWS.values(), {"coulomb": 0.8, "load": 0.1}])
def test_both_sides_of_the_expanded_chain_are_in_balance(friction):
    down = two_links({**friction}, hardening=4e5, coulomb=(4e-4, -3e-4))
    for t, robot in ((0.1, down), (0.8, down), (0.1, down.with_gravity((0, 9.81, 0)))):
        motion = sines(t)
        tau, motor, motor_rate = robot.elastic_inverse_dynamics(*motion)
        h = 1e-4
        near = [robot.elastic_inverse_dynamics(*sines(t + k * h))[2] for k in (-1, 1)]
        acceleration = (near[1] - near[0]) / (2 * h)
        states = zip(motion[:3], (motor, motor_rate, acceleration), strict=True)
        both = [np.concatenate(x).tolist() for x in states]
        found = inverse_dynamics(expanded(robot.chain), *both, MATH)
        np.testing.assert_allclose(found, [0.0, 0.0, *tau], atol=1e-5)


def test_rigid_joints_among_elastic_ones_and_arms_without_any():
    motion = sines(np.linspace(0.0, 1.0, 20), 6)
    puma = dy.load("puma560")
    tau, motor, motor_rate = puma.elastic_inverse_dynamics(*motion)
    np.testing.assert_allclose(tau, puma.inverse_dynamics(*motion[:3]), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(motor, motion[0])
    np.testing.assert_array_equal(motor_rate, motion[1])
    robot = puma.with_drive(1, stiffness=2e4).with_drive(4, stiffness=1e3)
    tau, motor, motor_rate = robot.elastic_inverse_dynamics(*motion)
    rigid = [0, 2, 3, 5]
    expected = puma.inverse_dynamics(*motion[:3])
    np.testing.assert_allclose(tau[:, rigid], expected[:, rigid], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(motor[:, rigid], motion[0][:, rigid])
    assert np.abs(tau - expected)[:, [1, 4]].min() > 1e-6


def test_trees_with_leaders_of_mimic_joints():
    drive = dy.Drive(gear=30.0, rotor_inertia=1e-5, stiffness=3e3)
    links = [
        dy.Link(name="hand", axis=(0, 0, 1), mass=1.0, inertia=(0.1, 0.1, 0.1), drive=drive),
        dy.Link(name="left", joint_name="left", joint="prismatic", parent="hand", axis=(0, 1, 0),
                mass=0.3, com=(0.1, 0, 0), drive=drive),
        dy.Link(name="right", joint="prismatic", parent="hand", axis=(0, -1, 0), mass=0.3,
                com=(0.1, 0, 0), mimic=("left", 1.0, 0.02)),
    ]  # fmt: skip
    robot = dy.Robot.from_dh("hand", convention="urdf", links=links, gravity=(0, -9.81, 0))
    link = robot.with_drive(0, None).with_drive(1, None)
    t = np.linspace(0.0, 0.2, 401)
    motion = sines(t)
    tau, motor, motor_rate = robot.elastic_inverse_dynamics(*motion)
    e = link.inverse_dynamics(*motion[:3])
    np.testing.assert_allclose(motor, motion[0] + e / 3e3, rtol=1e-12)
    spline, inner = make_interp_spline(t, motor, k=7), slice(40, -40)
    np.testing.assert_allclose(motor_rate[inner], spline(t, 1)[inner], atol=1e-8)
    np.testing.assert_allclose((tau - e)[inner], (9e-3 * spline(t, 2))[inner], atol=1e-4)


def test_closed_mechanisms_with_elastic_drives():
    """Along a motion of the loops, motors and torques as differences in time give them."""
    drive = dy.Drive(gear=30.0, rotor_inertia=1e-5, stiffness=3e3)
    robot = five_bar().with_drive(0, drive).with_drive(2, drive)
    link = five_bar()
    h, count = 1e-3, 9
    t = h * (np.arange(count) - count // 2)
    drives = sines(t) + np.array([[1.9, 1.2], *([[0, 0]] * 4)])[:, None, :]
    q = np.stack([robot.assemble(x, q0=robot.assemble(drives[0, 0])[0])[0] for x in drives[0]])
    qd = link.joint_rates(q, drives[1])
    qdd = link.joint_accelerations(q, qd, drives[2])
    across = make_interp_spline(t, qdd, k=7)
    more = across(t, 1), across(t, 2)  # of the joints that follow
    tau, motor, motor_rate = robot.elastic_inverse_dynamics(q, qd, qdd, *more)
    e = link.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(motor, q + e / 3e3, atol=1e-12)
    spline, middle = make_interp_spline(t, motor, k=7), count // 2
    np.testing.assert_allclose(motor_rate[middle], spline(t[middle], 1), atol=1e-7)
    inertia = np.array([9e-3, 0.0, 9e-3, 0.0])
    np.testing.assert_allclose((tau - e)[middle], inertia * spline(t[middle], 2), atol=1e-5)


def test_forms_of_the_kernel(tmp_path, compiled):
    robot = two_links({"coulomb": 0.2}, hardening=4e5)
    motion = sines(np.linspace(0.0, 1.0, 6).reshape(2, 3))
    expected = robot.elastic_inverse_dynamics(*motion)
    out = tuple(np.empty((2, 3, 2)) for _ in range(3))
    robot.elastic_inverse_dynamics(*motion, out=out)
    for a, b in zip(out, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    function = robot.casadi("elastic_inverse_dynamics")
    given = [x[1, 2] for x in motion]
    for a, b in zip(function(*given), expected, strict=True):
        np.testing.assert_allclose(a.full().ravel(), b[1, 2], rtol=1e-12)
    by_parameters = robot.kernel("elastic_inverse_dynamics", parameters="argument")
    found = by_parameters(*motion, robot.parameters.values)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    assert robot.export("elastic_inverse_dynamics", target="c", directory=tmp_path)


def test_code_of_one_stiffness_is_not_that_of_another(compiled):
    """Chains differ in nothing else."""
    motion = sines(0.3)
    soft, hard = (two_links(stiffness=(k, k)).elastic_inverse_dynamics(*motion)
                  for k in (1e3, 2e3))  # fmt: skip
    np.testing.assert_allclose(soft[1] - motion[0], 2 * (hard[1] - motion[0]), rtol=1e-9)


@pytest.mark.parametrize("field", ["damping", "backlash"])
def test_what_the_motion_does_not_decide_is_refused_by_name(field):
    robot = two_links().with_drive(1, **{field: 0.01})
    with pytest.raises(OptionError, match=f"'joint2' has drive.{field} 0.01") as error:
        robot.elastic_inverse_dynamics(*sines(0.0))
    assert f"with_drive('joint2', {field}=0)" in error.value.hint
    with pytest.raises(OptionError, match="'joint2'"):
        robot.cost("elastic_inverse_dynamics")
    with pytest.raises(OptionError, match="grotjahn"):
        two_links({"law": "grotjahn", "ratio": 0.5}).elastic_inverse_dynamics(*sines(0.0))
