"""Misprints of Rosillo et al. 2010 (Gibbs-Appell, PUMA 560)."""

from dataclasses import replace
from functools import cache

import numpy as np

from dynamis.dynamics.gibbs_appell import Wrench, down, home, observation_matrix, row
from dynamis.dynamics.kinematics import inertias, motions, poses
from dynamis.dynamics.newton_euler import LinkMotion, newton_euler, outward
from dynamis.model.chain import Chain, chain
from dynamis.spatial.functions import MATH
from dynamis.spatial.inertia import linear

from .engine import Array, Verdict, catalogue, skew, verdict
from .entry import Entry

N = 6
Q, QD, QDD = (
    tuple(a + b * k for k in range(N)) for a, b in ((0.4, 0.3), (0.9, -0.25), (0.5, 0.35))
)
TILTED = (3.0, 1.0, -9.0)  # gravity that is not along the first axis
STEP = 1e-3  # s


@cache
def arm() -> Chain:
    """The PUMA in modified DH, where the user's frames are the joints' own; gravity tilted."""
    return chain(replace(catalogue("puma560-mdh"), gravity=TILTED))


@cache
def moving(shift: float = 0.0) -> list[LinkMotion]:
    """The links' motion, a little later at constant acceleration."""
    q, qd, qdd = (np.array(v) for v in (Q, QD, QDD))
    return links_at(q + qd * shift + qdd * shift**2 / 2, qd + qdd * shift, qdd)


def links_at(q: Array, qd: Array, qdd: Array) -> list[LinkMotion]:
    """The links' motion at any state."""
    return outward(arm(), q.tolist(), qd.tolist(), qdd.tolist(), MATH)[1]


def jerk(i: int) -> Array:
    """Components of the rate of wd of link i, by a central difference of fourth order."""
    wd = {k: np.array(moving(k * STEP)[i].wd) for k in (-2, -1, 1, 2)}
    return (8 * (wd[1] - wd[-1]) - (wd[2] - wd[-2])) / (12 * STEP)


def hat(v: Array) -> Array:
    """The 3x6 matrix with hat(v) (Ixx, Ixy, Iyy, Ixz, Iyz, Izz) = I v."""
    x, y, z = v
    return np.array([[x, y, 0, z, 0, 0], [0, x, y, 0, z, 0], [0, 0, 0, x, y, z]])


def second_moments() -> Verdict:
    """A_ii of link 3."""
    m = moving()[2]
    w, wd = np.array(m.w), np.array(m.wd)
    truth = np.array(home(m).A).T
    return verdict(hat(wd) + hat(jerk(2)), hat(wd) + skew(w) @ hat(w), truth)


def eta() -> Verdict:
    """eta of link 3."""
    m = moving()[2]
    w, wd = np.array(m.w), np.array(m.wd)
    return verdict(skew(jerk(2)), skew(wd) + skew(w) @ skew(w), m.U)


def eta_definition() -> Verdict:
    """eta below (6): link 3."""
    m = moving()[2]
    w, wd = np.array(m.w), np.array(m.wd)
    return verdict(skew(wd + np.cross(w, wd)), skew(wd) + skew(w) @ skew(w), m.U)


def derivative() -> Verdict:
    """(13): how wd_3 and its rate depend on qdd_3."""
    pairs = []
    for step in (0.0, 1.0):
        qdd = np.array(QDD) + step * np.eye(N)[2]
        state = [
            (np.array(Q) + np.array(QD) * t + qdd * t * t / 2, np.array(QD) + qdd * t, qdd)
            for t in (-STEP, 0.0, STEP)
        ]
        wd = [np.array(links_at(*s)[2].wd) for s in state]
        pairs.append((wd[1], (wd[2] - wd[0]) / (2 * STEP)))
    right, printed = (b - a for a, b in zip(*pairs, strict=True))
    return verdict(printed, right, [0, 0, 1])


def torques_by_6(arm_to: str) -> Array:
    """(6) with the first moment about O_i, or with the centre of mass seen from O_k."""
    where = [np.array(T.R) for T in poses(arm(), Q, MATH)]
    origins = [np.array(T.p) for T in poses(arm(), Q, MATH)]
    bodies, links = inertias(arm(), Q), moving()
    tau = np.zeros(N)
    for k in range(N):
        for i in range(k, N):
            body, m = bodies[i], links[i]
            r = where[i].T @ (origins[i] - origins[k])
            first = np.array(body.h) + (body.m * r if arm_to == "k" else 0.0)
            a, U = np.array(m.a), np.array(m.U)
            moment = np.array(home(m).A).T @ np.array(body.I) + (skew(r) @ U - skew(a)) @ first
            moment = moment + np.cross(r, a) * body.m
            tau[k] += (where[k].T @ where[i] @ moment)[2]
    return tau


def centre_of_mass() -> Verdict:
    """(6), torques of the six joints."""
    truth = newton_euler(arm(), Q, QD, QDD, MATH)
    return verdict(torques_by_6("k"), torques_by_6("i"), truth)


def first_link() -> Verdict:
    """(18), the last block: row 1 of W for the first moment of link 1."""
    W = np.array(observation_matrix(arm(), Q, QD, QDD, MATH))
    return verdict([0, 0, 0], -skew(np.array(moving()[0].a))[2], W[0, 1:4])


def home_sign() -> Verdict:
    """(20), B1_ii of link 3."""
    m = moving()[2]
    a = skew(np.array(m.a))
    return verdict(a, -a, np.array(home(m).B1).T)


def carried() -> tuple[Wrench, Array, Array]:
    """The columns of link 4 seen from frame 3, and the rotation and origin between them."""
    R, p = motions(arm(), Q, MATH)[3]
    return down(home(moving()[3]), R, p), np.array(R), np.array(p)


def carried_sign() -> Verdict:
    """(20), B1 of link 4 seen from frame 3."""
    block, R, p = carried()
    m = moving()[3]
    turned, lever = R @ -skew(np.array(m.a)), skew(p) @ R @ np.array(m.U)
    return verdict(turned - lever, turned + lever, np.array(block.B1).T)


def mass_sign() -> Verdict:
    """(23), B2 of link 4 seen from frame 3."""
    block, R, p = carried()
    push = skew(p) @ R @ np.array(moving()[3].a)
    return verdict(-push, push, block.B2)


def delta_index() -> Verdict:
    """(22), B2 of link 5 seen from frame 2: three joints down."""
    frames = [(np.array(R), np.array(p)) for R, p in motions(arm(), Q, MATH)]
    a = frames[4][0] @ np.array(moving()[4].a)  # in frame 4, where delta starts
    block = home(moving()[4])
    for k in (4, 3, 2):
        block = down(block, *motions(arm(), Q, MATH)[k])
    printed = right = skew(frames[4][1])
    between = np.eye(3)
    for k in (3, 2):
        R, p = frames[k]
        between = R @ between
        printed = skew(p) @ R + R @ printed
        right = skew(p) @ between + R @ right
    return verdict(printed @ a, right @ a, block.B2)


def sliding_rows() -> Verdict:
    """(13) on the R P P R arm: its sliding joints by the moment, and by the force."""
    robot = chain(catalogue("rppr"))
    q, qd, qdd = (v[: len(robot.joints)] for v in (Q, QD, QDD))
    frames, links = outward(robot, q, qd, qdd, MATH)
    found = {"printed": np.zeros(4), "right": np.zeros(4)}
    for i, body in enumerate(inertias(robot, q)):
        block = home(links[i])
        for k in robot.ancestors(i):
            for name, kind in (("printed", "revolute"), ("right", robot.joints[k].kind)):
                found[name][k] += np.dot(row(kind, block), linear(body))
            block = down(block, *frames[k])
    return verdict(found["printed"], found["right"], newton_euler(robot, q, qd, qdd, MATH))


def cost(n: int, kind: str) -> tuple[float, float]:
    """Cost of W: the total printed, and the sum of the parts printed before it."""
    pairs, triples = n * (n - 1) / 2, (n - 1) * (n - 2) / 2
    if kind == "sums":
        parts = 12 * pairs + 9 * n + 54 * pairs + 6 * n + 26 * triples + 24 * pairs
        return 58 * n**2 - 93 * n + 50, parts
    parts = 27 * pairs + 6 * n + 60 * pairs + 6 * n + 30 * triples + 36 * pairs
    return 153 / 2 * n**2 - 261 / 2 * n + 66, parts


def total_cost() -> Verdict:
    """Sums and products for six joints."""
    printed, parts = zip(*(cost(N, kind) for kind in ("sums", "products")), strict=True)
    return verdict(printed, (1700.0, 2217.0), parts)


ENTRIES = (
    Entry(
        "(6), first moment",
        r"\left({}^{i}\tilde r_{O_k O_i} \, {}^{i}\tilde\eta_i - "
        r"{}^{i}\tilde{\ddot r}_{O_i}\right) m_i \, {}^{i}r_{O_k G_i}",
        r"\left({}^{i}\tilde r_{O_k O_i} \, {}^{i}\tilde\eta_i - "
        r"{}^{i}\tilde{\ddot r}_{O_i}\right) m_i \, {}^{i}r_{O_i G_i}",
        "The parameter of a link is its own first moment, as in (8).",
        centre_of_mass,
    ),
    Entry(
        "below (6)",
        r"\tilde\eta_i = \dot\omega_i + \omega_i \times \dot\omega_i",
        r"\tilde\eta_i = \tilde{\dot\omega}_i + \tilde\omega_i \, \tilde\omega_i",
        "The marks that make matrices of the vectors are lost, and a dot too many is printed.",
        eta_definition,
    ),
    Entry(
        "(13)",
        r"\frac{\partial {}^{j}\ddot\omega_j}{\partial \ddot q_j} = (0, 0, 1)",
        r"\frac{\partial {}^{j}\dot\omega_j}{\partial \ddot q_j} = (0, 0, 1)",
        "The angular acceleration, not its rate, as in (5).",
        derivative,
    ),
    Entry(
        "(13), prismatic joints",
        r"\tau_j = (0, 0, 1) \cdot \text{moment}",
        r"\tau_j = (0, 0, 1) \cdot \text{force}",
        "An omission rather than a misprint: D covers rotational joints only. A prismatic row "
        "takes the z entry of the force, with columns a for the mass and eta for the first moment.",
        sliding_rows,
    ),
    Entry(
        "(16), i = j",
        r"A_{jj} = \dot\omega + \ddot\omega",
        r"A_{jj} = \hat{\dot\omega} + \tilde\omega \, \hat\omega",
        "Marks lost: a 3x6 matrix, with a product of two velocities in place of a second "
        "derivative.",
        second_moments,
    ),
    Entry(
        "(18), last entry",
        r"B1_{nn} = 0",
        r"B1_{nn} = -{}^{1}\tilde{\ddot r}_{O_1}",
        "It vanishes only while gravity is along the first axis.",
        first_link,
    ),
    Entry(
        "(19), i = j",
        r"\eta_{jj} = \ddot\omega",
        r"\eta_{jj} = \tilde{\dot\omega} + \tilde\omega \, \tilde\omega",
        "The same marks lost.",
        eta,
    ),
    Entry(
        "(20), i = j",
        r"B1_{jj} = \tilde{\ddot r}_{O}",
        r"B1_{jj} = -\tilde{\ddot r}_{O}",
        "The sign of (6) and (18).",
        home_sign,
    ),
    Entry(
        "(20), i > j",
        r"B1_{ij} = R \, B1_{i-1,j} - \tilde r \, \eta_{ij}",
        r"B1_{ij} = R \, B1_{i-1,j} + \tilde r \, \eta_{ij}",
        "The moment of a force is the arm times the force; (6) has the sign right.",
        carried_sign,
    ),
    Entry(
        "(22), i > j + 1",
        r"\delta_{ij} = \tilde r \; {}^{n+1-i}R_{n+2-i} + {}^{n+1-i}R_{n+2-i} \, \delta_{i-1,j}",
        r"\delta_{ij} = \tilde r \; {}^{n+1-i}R_{n-j} + {}^{n+1-i}R_{n+2-i} \, \delta_{i-1,j}",
        "Both terms must act on vectors of frame n - j; the two agree only for i = j + 2.",
        delta_index,
    ),
    Entry(
        "(23), i > j",
        r"B2_{ij} = -\delta_{ij} \; {}^{n-j}R_{n+1-j} \; {}^{n+1-j}\ddot r_{O}",
        r"B2_{ij} = \delta_{ij} \; {}^{n-j}R_{n+1-j} \; {}^{n+1-j}\ddot r_{O}",
        "The same sign once more.",
        mass_sign,
    ),
    Entry(
        "section 4, cost of W for n = 6",
        r"58 n^2 - 93 n + 50 = 1580 \text{ sums}, \quad \tfrac{153}{2} n^2 - \tfrac{261}{2} n + 66 "
        r"= 2037 \text{ products}",
        r"1700 \text{ sums}, \quad 2217 \text{ products}",
        "The parts listed before add up to more: n (n - 1) was taken as (n - 1)(n - 2) in one of "
        "them.",
        total_cost,
    ),
)
