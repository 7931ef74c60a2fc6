"""Misprints of "Práctica 3, Dinámica de Robots"."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dynamis.dynamics.kinematics import jacobian
from dynamis.equations.derivation.setting import one_link
from dynamis.model.chain import chain
from dynamis.model.model import Payload
from dynamis.spatial.functions import MATH

from .engine import Array, Facts, Verdict, catalogue, facts, verdict
from .entry import Entry

Z = np.array([0.0, 0.0, 1.0])


def sliding_velocity() -> Verdict:
    """(3.27), joint 2 of the R P P R arm."""
    at = facts("rppr")
    w, R = at["1w1"], at["1R2"]
    return verdict(np.cross(R.T @ w, w), R.T @ w, at["2w2"])


def sliding_acceleration() -> Verdict:
    """(3.28), joint 2 of the R P P R arm."""
    at = facts("rppr")
    right = at["1R2"].T @ at["1wd1"]
    return verdict(np.cross(right, Z * at.qd[1]), right, at["2wd2"])


def turning_origin() -> Verdict:
    """(3.29), joint 2 of the six-axis arm."""
    at = facts("elbow6")
    w, wd, p = at["2w2"], at["2wd2"], at["2p2"]
    rest = np.cross(wd, p) + at["1R2"].T @ at["1vd1"]
    printed, right = (rest + np.cross(v, np.cross(v, p)) for v in (wd, w))
    return verdict(printed, right, at["2vd2"])


def sliding_origin() -> Verdict:
    """(3.29), joint 3 of the R P P R arm."""
    at = facts("rppr")
    R, w, wd, p = at["2R3"], at["3w3"], at["3wd3"], at["3p3"]
    z = R.T @ Z
    rest = R.T @ at["2vd2"] + z * at.qdd[2] + np.cross(wd, p) + 2 * np.cross(w, z * at.qd[2])
    printed, right = (rest + np.cross(w, np.cross(v, p)) for v in (wd, w))
    return verdict(printed, right, at["3vd3"])


def euler_moment() -> Verdict:
    """(3.32), link 2 of the six-axis arm, I times w as the closest thing with a meaning."""
    at = facts("elbow6")
    w, inertia = at["2w2"], at["2I2"]
    rest = np.cross(w, inertia @ w)
    return verdict(inertia @ w + rest, inertia @ at["2wd2"] + rest, at["2N2"])


def moving_point() -> Verdict:
    """(3.5), the centre of mass of link 2 of the six-axis arm."""
    at = facts("elbow6")
    w, wd, s, T = at["2w2"], at["2wd2"], at["2s2"], at.pose(2)
    rest = at["2vd2"] + np.cross(wd, s)
    r = T[:3, :3].T @ T[:3, 3] + s
    printed, right = (rest + np.cross(w, np.cross(w, v)) for v in (r, s))
    return verdict(printed, right, at["2a2"])


def relative_velocity() -> Verdict:
    """(3.15), joint 2 of the six-axis arm, in coordinates of frame 1."""
    at = facts("elbow6")
    link = chain(one_link(at.model, 1))
    J = np.array(jacobian(link, [at.q[1]], MATH))
    p = at["1R2"] @ at["2p2"]
    absolute = at["1w1"] + Z * at.qd[1]
    return verdict(np.cross(absolute, p), np.cross(Z * at.qd[1], p), J[:3, 0] * at.qd[1])


class Composite(NamedTuple):
    """Links j to n as one body, in base axes, from the origin of frame j - 1."""

    M: float
    c: Array
    E: Array


def composites(at: Facts, variant: str = "") -> list[Composite]:
    """Práctica 3's recursion for M, c and E, or a misprinted variant of its E."""
    n = at.model.n
    poses = [at.pose(k) for k in range(n + 1)]
    result: list[Composite | None] = [None] * n
    truth = composites(at) if variant == "index" else []
    for j in range(n - 1, -1, -1):
        R = poses[j + 1][:3, :3]
        p = poses[j + 1][:3, 3] - poses[j][:3, 3]
        m, s = float(at[f"m{j + 1}"]), R @ at[f"{j + 1}s{j + 1}"]
        J = R @ at[f"{j + 1}I{j + 1}"] @ R.T
        after = result[j + 1] if j + 1 < n else None
        if after is None:
            result[j] = Composite(m, s + p, J)
            continue
        M = after.M + m
        c = (m * (s + p) + after.M * (after.c + p)) / M
        d, e = after.c + p - c, s + p - c
        used = truth[j - 1] if variant == "index" and j else after
        E = (
            used.E
            + used.M * _spread(d, d, variant)
            + J
            + m * _spread(e, e if variant != "outer" else d, variant)
        )
        result[j] = Composite(M, c, E)
    return [x for x in result if x is not None]


def _spread(a: Array, b: Array, variant: str) -> Array:
    """(a.a) 1 - a b^T, or diag(a + a) - a b^T as printed."""
    square = np.diag(a + a) if variant == "plus" else (a @ a) * np.eye(3)
    return square - np.outer(a, b)


def diagonal(at: Facts, bodies: list[Composite], product: str = "cross") -> Array:
    """H_jj of rotational joints from composite bodies."""
    result = []
    for j, body in enumerate(bodies):
        z = at.pose(j)[:3, 2]
        F = np.cross(z, body.M * body.c)
        lever = np.cross(body.c, F) if product == "cross" else body.c + F
        result.append(z @ (body.E @ z + lever))
    return np.array(result)


def composite_inertia(variant: str) -> Verdict:
    """The recursion of E_j: diagonal of the mass matrix of the six-axis arm."""
    at = facts("elbow6")
    printed, right = (diagonal(at, composites(at, v)) for v in (variant, ""))
    return verdict(printed, right, np.diag(at.mass_matrix()))


def lever_arm() -> Verdict:
    """(3.39): diagonal of the mass matrix of the six-axis arm."""
    at = facts("elbow6")
    bodies = composites(at)
    return verdict(diagonal(at, bodies, "sum"), diagonal(at, bodies), np.diag(at.mass_matrix()))


def sliding_force() -> Verdict:
    """(3.38): H_22 of the R P P R arm; joint 2 alone accelerates, nothing moves yet."""
    at = facts("rppr")
    M, z = composites(at)[1].M, at.pose(1)[:3, 2]
    printed, right = z @ (M * np.zeros(3)), z @ (M * z)
    return verdict(printed, right, at.mass_matrix()[1, 1])


def row_and_column() -> Verdict:
    """(3.40): H_13 of the R P P R arm, joint 1 rotational and joint 3 translational."""
    at = facts("rppr")
    poses, body = [at.pose(k)[:3] for k in range(5)], composites(at)[2]
    f = body.M * poses[2][:, 2]
    n = np.cross(body.c, f) + np.cross(poses[2][:, 3] - poses[0][:, 3], f)
    z = poses[0][:, 2]
    return verdict(z @ f, z @ n, at.mass_matrix()[0, 2])


def carried_load() -> Verdict:
    """The code of NEWTONEULER4: n_4 with a 3 kg load."""
    at = facts("rppr")
    load = Payload(mass=3.0, inertia=(0.05, 0.05, 0.05))
    loaded = facts(replace(catalogue("rppr"), payload=load))
    w, wd, p, s = at["4w4"], at["4wd4"], at["4p4"], at["4s4"]
    f5 = 3.0 * at["4vd4"]
    n5 = 0.05 * wd + np.cross(w, 0.05 * w)
    rest = n5 + np.cross(p + s, at["4F4"]) + at["4N4"]
    return verdict(rest + np.cross(p, n5), rest + np.cross(p, f5), loaded["4n4"])


def table_length() -> Verdict:
    """The code of NEWTONEULER4: entries of theta for four links."""
    printed, right = ["q1", "0", "q4"], ["q1", "0", "0", "q4"]
    return verdict(len(printed), len(right), catalogue("rppr").n)


ENTRIES = (
    Entry(
        "(3.5)",
        r"a = \ldots + w \times (w \times r) + \frac{dw}{dt} \times r^{*} + \ldots",
        r"a = \ldots + w \times (w \times r^{*}) + \frac{dw}{dt} \times r^{*} + \ldots",
        "The centripetal term belongs to the vector inside the moving frame, as its neighbours do.",
        moving_point,
    ),
    Entry(
        "(3.15), rotational",
        r"\frac{d^{*} p_{i}}{dt} = w_{i} \times p_{i}^{*}",
        r"\frac{d^{*} p_{i}^{*}}{dt} = w_{i}^{*} \times p_{i}^{*}",
        "The velocity inside frame i - 1 knows only the relative rotation w*; (3.17) uses it so.",
        relative_velocity,
    ),
    Entry(
        "(3.27), translational",
        r"{}^{i}R_{0} w_{i} = {}^{i}R_{0} w_{i-1} \left({}^{i-1}R_{0} w_{i-1}\right)",
        r"{}^{i}R_{0} w_{i} = {}^{i}R_{i-1} \left({}^{i-1}R_{0} w_{i-1}\right)",
        "A rotation, not a velocity, stands in front. Read here as a cross product.",
        sliding_velocity,
    ),
    Entry(
        "(3.28), translational",
        r"{}^{i}R_{0} \dot{w}_{i} = {}^{i}R_{i-1} \left({}^{i-1}R_{0} \dot{w}_{i-1}\right) \times "
        r"\left(z_{0} \dot{q}_{i}\right)",
        r"{}^{i}R_{0} \dot{w}_{i} = {}^{i}R_{i-1} \left({}^{i-1}R_{0} \dot{w}_{i-1}\right)",
        "A sliding joint does not turn: no product with its velocity.",
        sliding_acceleration,
    ),
    Entry(
        "(3.29), rotational",
        r"\left({}^{i}R_{0} \dot{w}_{i}\right) \times \left[\left({}^{i}R_{0} \dot{w}_{i}\right) "
        r"\times \left({}^{i}R_{0} p_{i}^{*}\right)\right]",
        r"\left({}^{i}R_{0} w_{i}\right) \times \left[\left({}^{i}R_{0} w_{i}\right) \times "
        r"\left({}^{i}R_{0} p_{i}^{*}\right)\right]",
        "The centripetal term has velocities; (3.18) has them right.",
        turning_origin,
    ),
    Entry(
        "(3.29), translational, last term",
        r"\left({}^{i}R_{0} w_{i}\right) \times \left[\left({}^{i}R_{0} \dot{w}_{i}\right) \times "
        r"\left({}^{i}R_{0} p_{i}^{*}\right)\right]",
        r"\left({}^{i}R_{0} w_{i}\right) \times \left[\left({}^{i}R_{0} w_{i}\right) \times "
        r"\left({}^{i}R_{0} p_{i}^{*}\right)\right]",
        "The same slip in the other case.",
        sliding_origin,
    ),
    Entry(
        "(3.32)",
        r"\ldots + \left({}^{i}R_{0} I_{i} {}^{0}R_{i}\right) + \left({}^{i}R_{0} w_{i}\right) + "
        r"\left({}^{i}R_{0} w_{i}\right) \times \left[\ldots\right]",
        r"\ldots + \left({}^{i}R_{0} I_{i} {}^{0}R_{i}\right) \left({}^{i}R_{0} \dot{w}_{i}\right) "
        r"+ \left({}^{i}R_{0} w_{i}\right) \times \left[\ldots\right]",
        "The inertia multiplies the angular acceleration, as in (3.19). Read here as I times w.",
        euler_moment,
    ),
    Entry(
        "(3.38), translational",
        r"F_{j} = M_{j} v_{j-1}",
        r"F_{j} = M_{j} z_{j-1}",
        "A unit slide accelerates along its axis; the velocity is zero here, and so H would be.",
        sliding_force,
    ),
    Entry(
        "(3.39)",
        r"n_{j} = N_{j} + c_{j} + F_{j}",
        r"n_{j} = N_{j} + c_{j} \times F_{j}",
        "A moment is an arm times a force.",
        lever_arm,
    ),
    Entry(
        "(3.40)",
        r"H_{ij} = z_{i-1} f_{i} \quad \text{if joint j is translational}",
        r"H_{ij} = z_{i-1} f_{i} \quad \text{if joint i is translational}",
        "The row decides whether a torque or a force is asked for.",
        row_and_column,
    ),
    Entry(
        "recursion of E_j, indices",
        r"E_{j} = E_{j-1} + M_{j-1} [\ldots] + \ldots",
        r"E_{j} = E_{j+1} + M_{j+1} [\ldots] + \ldots",
        "The recursion runs from the tip down, like those of M and c.",
        lambda: composite_inertia("index"),
    ),
    Entry(
        "recursion of E_j, squares",
        r"\left[(d + d) I - d \, d^{T}\right]",
        r"\left[(d \cdot d) I - d \, d^{T}\right]",
        "Steiner's theorem needs the square of the distance. Read here as a diagonal matrix.",
        lambda: composite_inertia("plus"),
    ),
    Entry(
        "recursion of E_j, last product",
        r"\left(s_{j} + p_{j}^{*} - c_{j}\right) \left(c_{j+1} + p_{j}^{*} - c_{j}\right)^{T}",
        r"\left(s_{j} + p_{j}^{*} - c_{j}\right) \left(s_{j} + p_{j}^{*} - c_{j}\right)^{T}",
        "The outer product is of one vector with itself.",
        lambda: composite_inertia("outer"),
    ),
    Entry(
        "code of NEWTONEULER4, r40n4a",
        r"\mathtt{ri0nia(r45, r50n5a, r50n5a, \ldots)}",
        r"\mathtt{ri0nia(r45, r50n5a, r50f5a, \ldots)}",
        "The third argument is the force of the load; its moment is passed twice.",
        carried_load,
    ),
    Entry(
        "code of NEWTONEULER4, teta",
        r"\mathtt{teta = [q(1) \; 0 \; q(4)]}",
        r"\mathtt{teta = [q(1) \; 0 \; 0 \; q(4)]}",
        "Four links have four angles.",
        table_length,
    ),
)
