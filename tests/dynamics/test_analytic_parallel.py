"""Five-bar and delta next to equations written for these mechanisms alone.

Positions in closed form (circles, spheres that meet), rates and accelerations by differentiating
the distances that bars keep, torques by virtual work: for every body, mass times acceleration less
gravity along its velocity per drive rate, and rate of angular momentum along its angular velocity.
"""

import numpy as np
import pytest

import dynamis as dy

AGREES = 1e-12


def numbers(robot, name):
    """Mass, distance of the centre of mass along x, axial and transverse moment of inertia."""
    link = next(link for link in robot.model.links if link.name == name)
    return link.mass, link.com[0], link.inertia[0], link.inertia[1]


def drive_part(robot, rates):
    """What a drive adds: reflected rotor inertia, friction torque."""
    link = robot.model.links[robot.active[0]]
    inertia = link.drive.gear**2 * link.drive.rotor_inertia
    return inertia, link.friction.viscous * rates + link.friction.coulomb[0] * np.sign(rates)


# five-bar: cranks at angles a, couplers at angles b, in the plane


def along(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def across(angle):
    return np.array([-np.sin(angle), np.cos(angle)])


FEET = np.array([[-0.125, 0.0], [0.125, 0.0]])
CRANK, COUPLER = 0.23, 0.35


def five_bar_angles(a):
    """Angles of the couplers with the tip above the line of the elbows."""
    elbows = [FEET[i] + CRANK * along(a[i]) for i in (0, 1)]
    d = elbows[1] - elbows[0]
    half = 0.5 * np.hypot(*d)
    turn = np.arctan2(d[1], d[0])
    rise = np.arccos(half / COUPLER)
    return np.array([turn + rise, turn + np.pi - rise])


def coupler_rates(b, right):
    """x with COUPLER (x1 n(b1) - x2 n(b2)) = right: each alone along the other's bar."""
    first = right @ along(b[1]) / (COUPLER * (across(b[0]) @ along(b[1])))
    second = right @ along(b[0]) / (-COUPLER * (across(b[1]) @ along(b[0])))
    return np.array([first, second])


def five_bar_dynamics(robot, a, v, w):
    """Torques, mass matrix and coupler angles, rates, accelerations at crank angles, rates, ..."""
    b = five_bar_angles(a)

    def rates_of(v):
        return coupler_rates(b, CRANK * (v[1] * across(a[1]) - v[0] * across(a[0])))

    bd = rates_of(v)
    inward = [CRANK * v[i] ** 2 * along(a[i]) + COUPLER * bd[i] ** 2 * along(b[i]) for i in (0, 1)]
    bdd = rates_of(w) + coupler_rates(b, inward[0] - inward[1])
    gravity = np.array([0, -9.81])
    rotor, friction = drive_part(robot, v)
    tau, M = rotor * w + friction, rotor * np.eye(2)
    per = [rates_of(e) for e in np.eye(2)]
    for i, side in enumerate(("left", "right")):
        m, c, _, inertia = numbers(robot, f"{side}_crank")
        velocity = [c * across(a[i]) * float(k == i) for k in (0, 1)]
        turn = [float(k == i) for k in (0, 1)]
        force = m * (c * w[i] * across(a[i]) - c * v[i] ** 2 * along(a[i]) - gravity)
        tau += [force @ velocity[k] + inertia * w[i] * turn[k] for k in (0, 1)]
        M += m * np.array(velocity) @ np.array(velocity).T + inertia * np.outer(turn, turn)
        m, c, _, inertia = numbers(robot, f"{side}_coupler")
        turn = [per[k][i] for k in (0, 1)]
        velocity = [CRANK * across(a[i]) * (k == i) + c * across(b[i]) * turn[k] for k in (0, 1)]
        a_elbow = CRANK * (w[i] * across(a[i]) - v[i] ** 2 * along(a[i]))
        force = m * (a_elbow + c * (bdd[i] * across(b[i]) - bd[i] ** 2 * along(b[i])) - gravity)
        tau += [force @ velocity[k] + inertia * bdd[i] * turn[k] for k in (0, 1)]
        M += m * np.array(velocity) @ np.array(velocity).T + inertia * np.outer(turn, turn)
    state = [
        np.array([a[0], b[0] - a[0], a[1], b[1] - a[1]]),
        np.array([v[0], bd[0] - v[0], v[1], bd[1] - v[1]]),
        np.array([w[0], bdd[0] - w[0], w[1], bdd[1] - w[1]]),
    ]
    return tau, M, state


def agree(value, expected):
    assert np.abs(value - expected).max() <= AGREES * np.abs(expected).max()


@pytest.mark.parametrize("seed", range(6))
def test_five_bar(seed):
    robot = dy.load("five-bar")
    rng = np.random.default_rng(seed)
    a = np.array([2.1, 1.05]) + rng.uniform(-0.3, 0.3, 2)
    v, w = rng.normal(size=(2, 2)) * ((3.0,), (20.0,))
    tau, M, (q, qd, qdd) = five_bar_dynamics(robot, a, v, w)
    assert np.abs(robot.closure_error(q)).max() < 1e-14
    agree(robot.inverse_dynamics(q, qd, qdd)[[0, 2]], tau)
    agree(robot.mass_matrix(q), M)
    agree(robot.joint_rates(q, v), qd)
    agree(robot.joint_accelerations(q, qd, w), qdd)


# delta

SIDE, SMALL, UPPER, FORE = 0.567, 0.076, 0.524, 1.244
OUTWARD = np.array([(np.cos(x), np.sin(x), 0) for x in np.radians([-90, 30, 150])])
TANGENT = np.cross([0, 0, 1], OUTWARD)
FOOT = np.sqrt(3) / 6 * SIDE * OUTWARD
CORNER = np.sqrt(3) / 3 * SMALL * OUTWARD
GRAVITY = np.array([0, 0, -9.81])


def knees(theta):
    """Knees, and their first and second derivatives by their own angle, (3, 3) each."""
    c, s = np.cos(theta)[:, None], np.sin(theta)[:, None]
    down = np.array([0, 0, -1.0])
    return (
        FOOT + UPPER * (c * OUTWARD + s * down),
        UPPER * (-s * OUTWARD + c * down),
        UPPER * (-c * OUTWARD - s * down),
    )


def delta_position(theta):
    """The lower of the two points at the forearm's length from three centres."""
    c = knees(theta)[0] - CORNER
    A = 2 * (c[1:] - c[0])
    r = (c[1:] ** 2).sum(axis=1) - (c[0] ** 2).sum()
    line = np.cross(A[0], A[1])
    start = np.linalg.lstsq(A, r, rcond=None)[0]
    f = start - c[0]
    k = line @ line, 2 * f @ line, f @ f - FORE**2
    roots = (-k[1] + np.array([1, -1]) * np.sqrt(k[1] ** 2 - 4 * k[0] * k[2])) / (2 * k[0])
    return min((start + x * line for x in roots), key=lambda p: p[2])


def spin(y, e, ed):
    """Rate about its own axis e of a forearm on two joints, about y and across y and e."""
    return (y @ e) * (y @ np.cross(e, ed)) / (1 - (y @ e) ** 2)


def delta_dynamics(robot, theta, v, w):
    """Torques, mass matrix, position, velocity and acceleration of the platform."""
    p, (A, A1, A2) = delta_position(theta), knees(theta)
    d = p + CORNER - A
    Ad, Add = A1 * v[:, None], A1 * w[:, None] + A2 * (v**2)[:, None]
    per_drive = np.linalg.solve(d, np.diag((d * A1).sum(axis=1)))  # d . (pd - Ad) = 0
    pd = per_drive @ v
    square = ((pd - Ad) ** 2).sum(axis=1)
    pdd = np.linalg.solve(d, (d * Add).sum(axis=1) - square)
    rotor, friction = drive_part(robot, v)
    tau, M = rotor * w + friction, rotor * np.eye(3)
    platform = next(x for x in robot.model.links if x.name == "platform").mass
    tau += platform * (pdd - GRAVITY) @ per_drive
    M += platform * per_drive.T @ per_drive
    for i in range(3):
        m, c, _, inertia = numbers(robot, f"upper{i + 1}")
        share = c / UPPER
        tau[i] += m * (share * Add[i] - GRAVITY) @ (share * A1[i]) + inertia * w[i]
        M[i, i] += m * c**2 + inertia
        m, c, axial, inertia = numbers(robot, f"forearm{i + 1}")
        share, e, y = c / FORE, d[i] / FORE, TANGENT[i]
        ed, edd = (pd - Ad[i]) / FORE, (pdd - Add[i]) / FORE
        acceleration = Add[i] + share * (pdd - Add[i])
        cosine, cosine_rate = y @ e, y @ ed
        turn, turn_rate = y @ np.cross(e, ed), y @ np.cross(e, edd)
        rest = 1 - cosine**2
        spin_rate = (cosine_rate * turn + cosine * turn_rate) / rest
        spin_rate += 2 * cosine**2 * cosine_rate * turn / rest**2
        moment = inertia * np.cross(e, edd) + axial * (spin_rate * e + spin(y, e, ed) * ed)
        velocity, angular = [], []
        for k in range(3):
            knee = A1[i] * (k == i)
            own = per_drive[:, k] - knee
            velocity.append(knee + share * own)
            angular.append(np.cross(e, own / FORE) + spin(y, e, own / FORE) * e)
        velocity, angular = np.array(velocity), np.array(angular)
        tau += velocity @ (m * (acceleration - GRAVITY)) + angular @ moment
        body = inertia * (np.eye(3) - np.outer(e, e)) + axial * np.outer(e, e)
        M += m * velocity @ velocity.T + angular @ body @ angular.T
    return tau, M, (p, pd, pdd)


@pytest.mark.parametrize("seed", range(6))
def test_delta(seed):
    robot = dy.load("delta")
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-0.3, 0.8, 3)
    v, w = rng.normal(size=(2, 3)) * ((3.0,), (20.0,))
    tau, M, (p, pd, pdd) = delta_dynamics(robot, theta, v, w)
    q = robot.assemble(theta, q0=robot.configurations["home"])[0]
    agree(q[9:], p)
    qd = robot.joint_rates(q, v)
    qdd = robot.joint_accelerations(q, qd, w)
    agree(qd[9:], pd)
    agree(qdd[9:], pdd)
    agree(robot.inverse_dynamics(q, qd, qdd)[list(robot.active)], tau)
    agree(robot.mass_matrix(q), M)
    agree(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd))[9:], pdd)
