"""Misprints of the six-joint coursework on a 6R arm (Newton-Euler, control)."""

from functools import cache

import numpy as np

from dynamis.spatial.rotations import multiply, rotation_x, rotation_y, rotation_z

from .engine import Array, Facts, Verdict, facts, verdict
from .entry import Entry

Z = np.array([0.0, 0.0, 1.0])


@cache
def moving() -> Facts:
    """The 6R arm in motion."""
    return facts("sixr")


def sines(at: Facts) -> tuple[Array, Array]:
    """C and S by joint number, counted from 1."""
    return tuple(np.concatenate([[0.0], f(at.q)]) for f in (np.cos, np.sin))  # type: ignore


def label() -> Verdict:
    """The matrix of joint 1, used as iR(i-1) in w_1 = R (w_0 + z qd)."""
    at = moving()
    R, w = at["0R1"], Z * at.qd[0]
    return verdict(R @ w, R.T @ w, at["1w1"])


def composed_rotation() -> Verdict:
    """Rx(alpha) Ry(phi) Rz(theta) at three angles."""
    a, p, t = 0.4, 0.7, 1.1
    (ca, cp, ct), (sa, sp, st) = np.cos([a, p, t]), np.sin([a, p, t])
    top, middle = [cp * ct, -cp * st], [sa * sp * ct + ca * st, -sa * sp * st + ca * ct, -sa * cp]
    printed = [[*top, 1.0], middle, [-sa * sp * ct + sa * st, sa * sp * st + sa * ct, ca * cp]]
    right = [[*top, sp], middle, [-ca * sp * ct + sa * st, ca * sp * st + sa * ct, ca * cp]]
    return verdict(printed, right, multiply(rotation_x(a), multiply(rotation_y(p), rotation_z(t))))


def half_product() -> Verdict:
    """Rx(alpha) Ry(phi), entry (3, 1)."""
    a, p = 0.4, 0.7
    value = np.cos(a) * np.sin(p)
    return verdict(value, -value, multiply(rotation_x(a), rotation_y(p))[2][0])


def inside_rotation() -> Verdict:
    """Angular acceleration of link 2 by the general formula."""
    at = moving()
    R, turn = at["1R2"].T, np.cross(at["1w1"], Z * at.qd[1])
    wd = at["1wd1"] + Z * at.qdd[1]
    return verdict(R @ wd + turn, R @ (wd + turn), at["2wd2"])


def second_link() -> Verdict:
    """Angular acceleration of link 2 written out."""
    at = moving()
    C, S = sines(at)
    v, a = at.qd, at.qdd
    printed = [-S[2] * a[0] - v[0] * v[1], a[1], C[2] * v[0]]
    right = [-S[2] * a[0] - C[2] * v[0] * v[1], a[1], C[2] * a[0] - S[2] * v[0] * v[1]]
    return verdict(printed, right, at["2wd2"])


def fourth_velocity(entry: int) -> Verdict:
    """Second and third entry of w_4."""
    at = moving()
    C, S = sines(at)
    v = at.qd
    printed = {
        1: S[2] * v[0] * C[3] - S[3] * v[1] + v[3],
        2: S[2] * v[0] * S[3] * S[4] - C[3] * v[1] * S[4] + C[2] * v[0] * C[4] + v[2] * C[4],
    }
    right = {
        1: -S[2] * v[0] * C[3] + S[3] * v[1] - v[3],
        2: S[2] * v[0] * S[3] * S[4] + C[3] * v[1] * S[4] + C[2] * v[0] * C[4] + v[2] * C[4],
    }
    return verdict(printed[entry], right[entry], at["4w4"][entry])


def third_acceleration() -> Verdict:
    """Third entry of wd_3, from rest so that nothing else of it matters."""
    at = facts("sixr", qd=[0.0] * 6)
    C, S = sines(at)
    turn, tilt = S[2] * at.qdd[0] * C[3], at.qdd[1] * S[3]
    return verdict(turn + tilt, turn - tilt, at["3wd3"][2])


def second_origin() -> Verdict:
    """Acceleration of the origin of frame 2."""
    at = moving()
    C, S = sines(at)
    v, a, l1, g = at.qd, at.qdd, at.model.values["l1"], 9.81
    middle = -((C[2] * v[0]) ** 2) * l1 - (S[2] * v[0]) ** 2 * l1
    right = np.array([-C[2] * a[0] * l1 - S[2] * g, middle, -S[2] * a[0] * l1 + C[2] * g])
    both = v[0] * v[1] * l1
    extra = np.array([-S[2] * both, 0.0, (C[2] - 1.0) * both])
    return verdict(right + extra, right, at["2vd2"])


def added_velocity() -> Verdict:
    """Second entry of the acceleration of the origin of frame 3."""
    at = moving()
    C, S = sines(at)
    l2, w, wd = at.model.values["l2"], at["3w3"], at["3wd3"]
    rest = -wd[2] * l2 - w[0] * w[1] * l2
    velocity = S[2] * at.qd[0] * C[3] - S[3] * at.qd[1]
    return verdict(rest + velocity, rest + at["2vd2"][2], at["3vd3"][1])


def stray_factor() -> Verdict:
    """5R6 transposed, with the factor C5 behind it."""
    at = moving()
    right = [
        [np.cos(at.q[5]), np.sin(at.q[5]), 0],
        [-np.sin(at.q[5]), np.cos(at.q[5]), 0],
        [0, 0, 1],
    ]
    return verdict(np.array(right) * np.cos(at.q[4]), right, at["5R6"].T)


def sixth_origin() -> Verdict:
    """Third entry of the acceleration of the origin of frame 6."""
    at = moving()
    l4, (x, y, z), rest = at.model.values["l4"], at["6w6"], at["5vd5"][2]
    return verdict(-(z**2) * l4 - x**2 * l4 + rest, -(x**2 + y**2) * l4 + rest, at["6vd6"][2])


def moments() -> Verdict:
    """n_4, n_3 and n_2 from the engine's n and f of the link after."""
    at = moving()
    found = []
    for k in (4, 3, 2):
        R, p = at[f"{k}R{k + 1}"], at[f"{k}p{k}"]
        n, f = at[f"{k + 1}n{k + 1}"], at[f"{k + 1}f{k + 1}"]
        own = np.cross(p, at[f"{k}F{k}"])
        arm = R.T @ p
        printed, right = R @ np.cross(n + arm, f) + own, R @ (n + np.cross(arm, f)) + own
        found.append(verdict(printed, right, at[f"{k}n{k}"]))
    return Verdict(min(v.printed for v in found), max(v.right for v in found))


def missing_length() -> Verdict:
    """4p4 in the line of n_4."""
    at = moving()
    return verdict([0, 0, 0], [0, -at.model.values["l3"], 0], at["4p4"])


def always_stable() -> Verdict:
    """J = 1, B = 0.1, kp = 1, ki = 5, kd = 0.1, k = 1: real part of the slowest root.

    Said: never positive. Routh: positive exactly where (B + kd) kp < J ki. At the limit
    ki = (B + kd) kp / J it must vanish.
    """
    J, B, kp, kd = 1.0, 0.1, 1.0, 0.1
    slowest = [max(np.roots([J, B + kd, kp, ki]).real) for ki in (5.0, (B + kd) * kp / J)]
    return Verdict(printed=float(slowest[0]), right=float(abs(slowest[1])))


def missing_gain() -> Verdict:
    """e(s) for k = 3 from the loop itself, (J s + B) s q = k R e - tau_p with e = q_d - q."""
    J, B, k, s = 1.0, 0.5, 3.0, 0.8
    R, plant = 4.0 + 2.0 / s + 1.5 * s, (J * s + B) * s
    tau_p, q_d = 0.7, 1.2
    q = (k * R * q_d - tau_p) / (plant + k * R)
    top = tau_p + plant * q_d
    return verdict(top / (R + plant), top / (k * R + plant), q_d - q)


ENTRIES = (
    Entry(
        "composition of rotations, R(x) R(y), entry (3,1)",
        r"c\alpha \, s\phi",
        r"-c\alpha \, s\phi",
        "Row three of the first matrix times column one of the second.",
        half_product,
    ),
    Entry(
        "composition of rotations, result",
        r"(1,3): 1 \qquad (3,1): -s\alpha \, s\phi \, c\theta + s\alpha \, s\theta \qquad "
        r"(3,2): s\alpha \, s\phi \, s\theta + s\alpha \, c\theta",
        r"(1,3): s\phi \qquad (3,1): -c\alpha \, s\phi \, c\theta + s\alpha \, s\theta \qquad "
        r"(3,2): c\alpha \, s\phi \, s\theta + s\alpha \, c\theta",
        "The printed matrix is not a rotation: its third column is longer than one.",
        composed_rotation,
    ),
    Entry(
        "rotation matrices, general form",
        r"{}^{i}R_{i-1} = \begin{bmatrix} \cos\theta_i & \ldots \\ \sin\theta_i & \ldots \\ 0 & "
        r"\ldots \end{bmatrix}",
        r"{}^{i-1}R_{i} = \begin{bmatrix} \cos\theta_i & \ldots \\ \sin\theta_i & \ldots \\ 0 & "
        r"\ldots \end{bmatrix}",
        "The matrix printed takes frame i to frame i - 1; the recursion needs its transpose.",
        label,
    ),
    Entry(
        "angular velocity of link 4, second entry",
        r"S_2 \dot\theta_1 C_3 - S_3 \dot\theta_2 + \dot\theta_4",
        r"-S_2 \dot\theta_1 C_3 + S_3 \dot\theta_2 - \dot\theta_4",
        "The second row of 4R3 is (0, 0, -1).",
        lambda: fourth_velocity(1),
    ),
    Entry(
        "angular velocity of link 4, third entry",
        r"S_2 \dot\theta_1 S_3 S_4 - C_3 \dot\theta_2 S_4 + \ldots",
        r"S_2 \dot\theta_1 S_3 S_4 + C_3 \dot\theta_2 S_4 + \ldots",
        "Minus S4 times minus C3; w5 and w6 inherit both signs.",
        lambda: fourth_velocity(2),
    ),
    Entry(
        "angular acceleration, general form",
        r"{}^{i}R_{i-1} \left({}^{i-1}\dot\omega_{i-1} + z_0 \ddot q_i\right) + "
        r"{}^{i-1}\omega_{i-1} \times z_0 \dot q_i",
        r"{}^{i}R_{i-1} \left({}^{i-1}\dot\omega_{i-1} + z_0 \ddot q_i + {}^{i-1}\omega_{i-1} "
        r"\times z_0 \dot q_i\right)",
        "The product is in frame i - 1 and must be turned like the rest; everything after it "
        "inherits the slip.",
        inside_rotation,
    ),
    Entry(
        "angular acceleration of link 2",
        r"\left(-S_2 \ddot\theta_1 - \dot\theta_1 \dot\theta_2, \; \ddot\theta_2, \; C_2 "
        r"\dot\theta_1\right)",
        r"\left(-S_2 \ddot\theta_1 - C_2 \dot\theta_1 \dot\theta_2, \; \ddot\theta_2, \; C_2 "
        r"\ddot\theta_1 - S_2 \dot\theta_1 \dot\theta_2\right)",
        "What the formula above gives once the product is inside.",
        second_link,
    ),
    Entry(
        "angular acceleration of link 3, third entry",
        r"S_2 \ddot\theta_1 C_3 + \ldots + \ddot\theta_2 S_3",
        r"S_2 \ddot\theta_1 C_3 + \ldots - \ddot\theta_2 S_3",
        "The third row of 3R2 is (-C3, -S3, 0).",
        third_acceleration,
    ),
    Entry(
        "acceleration of frame 2",
        r"\left(-C_2 \ddot\theta_1 l_1 - S_2 \dot\theta_1 \dot\theta_2 l_1 - S_2 g, \; \ldots, \; "
        r"-S_2 \ddot\theta_1 l_1 - \dot\theta_1 \dot\theta_2 l_1 + C_2 \dot\theta_1 \dot\theta_2 "
        r"l_1 + C_2 g\right)",
        r"\left(-C_2 \ddot\theta_1 l_1 - S_2 g, \; -\dot\theta_1^2 l_1, \; -S_2 \ddot\theta_1 l_1 "
        r"+ C_2 g\right)",
        "With the right angular acceleration the products of velocities cancel: l1 lies along the "
        "axis of joint 2.",
        second_origin,
    ),
    Entry(
        "acceleration of frame 3, second entry",
        r"\ldots + S_2 \dot\theta_1 C_3 - S_3 \dot\theta_2",
        r"\ldots + \left({}^{2}\dot v_2\right)_3",
        "A velocity is added to accelerations; the third entry of the acceleration before belongs "
        "there.",
        added_velocity,
    ),
    Entry(
        "acceleration of frame 6, 6R5",
        r"{}^{6}R_{5} = \begin{bmatrix} C_6 & S_6 & 0 \\ -S_6 & C_6 & 0 \\ 0 & 0 & 1 "
        r"\end{bmatrix} C_5",
        r"{}^{6}R_{5} = \begin{bmatrix} C_6 & S_6 & 0 \\ -S_6 & C_6 & 0 \\ 0 & 0 & 1 "
        r"\end{bmatrix}",
        "A rotation has no factor.",
        stray_factor,
    ),
    Entry(
        "acceleration of frame 6, third entry",
        r"-\left(\omega_{6,3}\right)^2 l_4 - \left(\omega_{6,1}\right)^2 l_4 + \ldots",
        r"-\left(\omega_{6,1}\right)^2 l_4 - \left(\omega_{6,2}\right)^2 l_4 + \ldots",
        "The centripetal acceleration along z has the two other entries of the velocity.",
        sixth_origin,
    ),
    Entry(
        "moments n_4, n_3, n_2",
        r"{}^{i}R_{i+1} \left[\left({}^{i+1}n_{i+1} + {}^{i+1}R_{i} {}^{i}p_{i}\right) \times "
        r"{}^{i+1}f_{i+1}\right] + \ldots",
        r"{}^{i}R_{i+1} \left[{}^{i+1}n_{i+1} + \left({}^{i+1}R_{i} {}^{i}p_{i}\right) \times "
        r"{}^{i+1}f_{i+1}\right] + \ldots",
        "A moment was added to an arm before the product was taken; the general formula has it "
        "right.",
        moments,
    ),
    Entry(
        "moment n_4, arm",
        r"{}^{4}p_{4} = (0, 0, 0)",
        r"{}^{4}p_{4} = (0, -l_3, 0)",
        "In the first of its two places the arm of link 4 was replaced by zero.",
        missing_length,
    ),
    Entry(
        "single-joint control, error",
        r"e = \frac{\tau_p + (J s + B) s \, q_d}{R + (J s + B) s}",
        r"e = \frac{\tau_p + (J s + B) s \, q_d}{k R + (J s + B) s}",
        "The motor's constant k stands in the loop; the two agree only for k = 1.",
        missing_gain,
    ),
    Entry(
        "single-joint control, PID",
        r"\text{always stable}",
        r"\text{stable if and only if } (B + k \, k_d) \, k_p > J \, k_i",
        "By Routh's criterion; with J = 1, B = 0.1, kp = 1, kd = 0.1, ki = 5 and k = 1 a pair of "
        "roots has a positive real part.",
        always_stable,
    ),
)
