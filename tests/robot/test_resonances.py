"""Natural frequencies of elastic arms: exact ones, and those of other computations."""

import numpy as np
import pytest
from scipy.linalg import eigh

import dynamis as dy
from dynamis.errors import ClosureError, ModelError, OptionError, SingularError

from ..closed_mechanisms import bar, five_bar, joined, made

K, GEAR, ROTOR = 1e4, 100.0, 2e-5
B = GEAR**2 * ROTOR
EXACT = 1e-12  # relative: eigenvalues of small matrices
DRIVE = dy.Drive(gear=GEAR, rotor_inertia=ROTOR, stiffness=K)
SPRING = dy.Spring(kind="torsion", joint="joint1", stiffness=300.0)
REST = (0, 0, 0)


def rod(mass=2.0, length=1.0, **more):
    inertia = (0, mass * length**2 / 12, mass * length**2 / 12)
    return dy.Link(joint="revolute", a=length, mass=mass, com=(-length / 2, 0, 0), inertia=inertia,
                   **more)  # fmt: skip


def arm(*links, gravity=REST, **more):
    return dy.Robot.from_dh("arm", convention="standard", gravity=gravity, links=links, **more)


def hertz(square):
    return np.sqrt(square) / (2.0 * np.pi)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_two_masses(kind):
    link = dy.Link(joint=kind, mass=3.0, inertia=(0, 0, 3.0), drive=DRIVE)
    found = arm(link).resonances([0.3])
    np.testing.assert_allclose(found.free, hertz([K * (1 / B + 1 / 3.0)]), rtol=EXACT)
    np.testing.assert_allclose(found.locked, hertz([K / 3.0]), rtol=EXACT)
    # the momentum of a free mode is zero: B th + M q = 0
    np.testing.assert_allclose(found.free_modes[0], [[-B / 3.0], [1.0]], rtol=EXACT)
    np.testing.assert_allclose(found.locked_modes, [[1.0]])


def independent_way(robot, q):
    """Frequencies from the rigid mass matrix less the rotors, and a difference of torques."""
    own = [k for k, link in enumerate(robot.model.moving_links) if link.drive]
    rotors = np.diag([robot.chain.motors[k].inertia if k in own else 0.0 for k in range(robot.n)])
    rest, h = np.zeros(robot.n), 1e-5
    steps = h * np.eye(robot.n)
    G = (robot.inverse_dynamics(q + steps, rest, rest)
         - robot.inverse_dynamics(q - steps, rest, rest)).T / (2 * h)  # fmt: skip
    S = np.eye(robot.n)[:, own]
    k = np.diag([link.drive.stiffness for link in robot.model.moving_links if link.drive])
    M = np.zeros((robot.n + len(own),) * 2)
    M[: robot.n, : robot.n] = robot.mass_matrix(q) - rotors
    M[robot.n :, robot.n :] = S.T @ rotors @ S
    D = np.hstack([-S.T, np.eye(len(own))])
    full = D.T @ k @ D
    full[: robot.n, : robot.n] += G
    return hertz(eigh(full, M, eigvals_only=True)[-len(own) :])


def test_arms_with_rigid_joints_among_elastic_ones_against_the_rigid_kernels():
    robot = arm(rod(drive=DRIVE), rod(1.0), rod(drive=DRIVE), gravity=(0, -9.81, 0))
    q = np.random.default_rng(0).uniform(-2, 2, (4, 5, 3))
    found = robot.resonances(q)
    assert found.free.shape == found.locked.shape == (4, 5, 2)
    assert found.free_modes.shape == (4, 5, 2, 2, 3)
    assert found.locked_modes.shape == (4, 5, 2, 3)
    np.testing.assert_array_equal(found.locked_modes[..., 1], 0.0)  # locked with its motor
    joints, motors = found.free_modes[..., 0, :], found.free_modes[..., 1, :]
    np.testing.assert_array_equal(joints[..., 1], motors[..., 1])
    for index in np.ndindex(4, 5):
        expected = independent_way(robot, q[index])
        np.testing.assert_allclose(found.free[index], expected, rtol=1e-7)
    one = robot.resonances(q[2, 3])
    np.testing.assert_allclose(one.free, found.free[2, 3], rtol=EXACT)
    assert "rotors free" in repr(one)
    assert "20 configurations" in repr(found)


def test_modes_solve_the_equation():
    robot = arm(rod(drive=DRIVE), rod(1.0, drive=DRIVE))
    q = np.array([0.4, 1.1])
    found = robot.resonances(q)
    M = robot.mass_matrix(q) - B * np.eye(2)
    for w, (x, th) in zip(2 * np.pi * found.free, found.free_modes, strict=True):
        np.testing.assert_allclose(w**2 * M @ x, K * (x - th), rtol=1e-9)
        np.testing.assert_allclose(w**2 * B * th, K * (th - x), rtol=1e-9)
    for w, x in zip(2 * np.pi * found.locked, found.locked_modes, strict=True):
        np.testing.assert_allclose(w**2 * M @ x, K * x, rtol=1e-9)


def test_gravity_and_springs_add_their_stiffness():
    """A rod that hangs, its rotor locked: (K + m g l / 2 + k) / M; and one on its head."""
    weight, M = 2.0 * 9.81 * 0.5, 2.0 / 3.0
    robot = arm(rod(drive=DRIVE), gravity=(9.81, 0, 0))
    np.testing.assert_allclose(robot.resonances([0.0]).locked, hertz([(K + weight) / M]))
    np.testing.assert_allclose(robot.resonances([np.pi]).locked, hertz([(K - weight) / M]))
    soft = robot.with_drive(0, stiffness=5.0)
    np.testing.assert_array_equal(soft.resonances([np.pi]).locked, 0.0)
    sprung = arm(rod(drive=DRIVE), gravity=(9.81, 0, 0), springs=(SPRING,))
    np.testing.assert_allclose(sprung.resonances([0.0]).locked, hertz([(K + 300.0 + weight) / M]))


def test_links_that_bend_are_passive_joints_with_springs():
    robot = arm(rod(passive=True), springs=(SPRING,))
    found = robot.resonances([0.0])
    np.testing.assert_allclose(found.free, hertz([300.0 / (2.0 / 3.0)]), rtol=EXACT)
    np.testing.assert_allclose(found.locked, found.free, rtol=EXACT)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_hardening_counts_at_the_torque_that_the_gear_holds(sign):
    """K s + K3 s^3 = m g l / 2 at s = 0.01: the weight is chosen for it."""
    s, cubic, M = 0.01, 3e7, 2.0 / 3.0
    g = (K * s + cubic * s**3) / (2.0 * 0.5)
    robot = arm(rod(drive=dy.Drive(gear=GEAR, rotor_inertia=ROTOR, stiffness=K, hardening=cubic)),
                gravity=(0, -sign * g, 0))  # fmt: skip
    found = robot.resonances([0.0])
    np.testing.assert_allclose(found.locked, hertz([(K + 3 * cubic * s**2) / M]), rtol=1e-10)


def test_trees_and_leaders_of_mimic_joints():
    links = [
        dy.Link(name="hand", axis=(0, 0, 1), mass=1.0, inertia=(0.1, 0.1, 0.1), drive=DRIVE),
        dy.Link(name="left", joint_name="left", joint="prismatic", parent="hand", axis=(0, 1, 0),
                mass=0.3, inertia=(0.1, 0.1, 0.1), drive=DRIVE),
        dy.Link(name="right", joint="prismatic", parent="hand", axis=(0, -1, 0), mass=0.3,
                inertia=(0.1, 0.1, 0.1), mimic=("left", 1.0, 0.0)),
    ]  # fmt: skip
    robot = dy.Robot.from_dh("hand", convention="urdf", links=links, gravity=REST)
    found = robot.resonances([0.2, 0.05])
    inertia = 0.3 + 2 * 0.3 * 0.05**2  # fingers at 0.05 m either side: the modes do not couple
    expected = hertz([K / inertia, K / 0.6])
    np.testing.assert_allclose(np.sort(found.locked), np.sort(expected), rtol=EXACT)
    expected = hertz([K * (1 / B + 1 / inertia), K * (1 / B + 1 / 0.6)])
    np.testing.assert_allclose(np.sort(found.free), np.sort(expected), rtol=EXACT)


def test_closed_mechanisms_by_their_independent_joints():
    robot = five_bar().with_drive(0, drive=DRIVE).with_drive(2, drive=DRIVE)
    q = robot.assemble([1.9, 1.2])[0]
    found = robot.resonances(q)
    M = robot.mass_matrix(q) - B * np.eye(2)
    flat = robot.with_gravity(REST)
    k = K * np.eye(2)
    np.testing.assert_allclose(flat.resonances(q).locked, hertz(eigh(k, M, eigvals_only=True)))
    # a mode moves all joints as the loops allow
    J = robot.closure_jacobian(q)
    np.testing.assert_allclose(J @ found.locked_modes.T, 0.0, atol=1e-9)
    np.testing.assert_allclose(J @ found.free_modes[:, 0].T, 0.0, atol=1e-9)
    passive = [1, 3]
    np.testing.assert_array_equal(found.free_modes[:, 0, passive], found.free_modes[:, 1, passive])
    with pytest.raises(ClosureError):
        robot.resonances(q + 0.1)


def test_more_drives_than_degrees_of_freedom_are_refused_by_name():
    links = [
        bar("crank", length=0.1, drive=DRIVE),
        bar("coupler", "crank", (0.1, 0, 0), 0.35, passive=True),
        bar("rocker", xyz=(0.4, 0, 0), length=0.3, drive=DRIVE),
    ]
    robot = made("four", links, [joined("pin", "coupler", "rocker", 0.35, 0.3)])
    with pytest.raises(ClosureError, match="more than its 1 degree"):
        robot.resonances(robot.home)


def test_what_has_no_resonances_says_so():
    with pytest.raises(OptionError, match="no elastic joints") as error:
        dy.load("puma560").resonances(np.zeros(6))
    assert "stiffness" in error.value.hint
    with pytest.raises(SingularError, match="without inertia behind"):
        arm(dy.Link(joint="revolute", a=1.0, drive=DRIVE)).resonances([0.0])
    with pytest.raises(ModelError):
        rod(passive=True, drive=DRIVE)
    robot = arm(rod(drive=DRIVE))
    assert np.isnan(robot.resonances([[0.0], [np.nan]]).free).tolist() == [[False], [True]]
