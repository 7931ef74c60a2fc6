"""Exercises: answers by formulas of the textbook, texts that hold every number, honest marks."""

import json
import re
from math import acos, atan, atan2, cos, exp, hypot, nan, pi, sin, sqrt

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import DynamisError, OptionError, ShapeError
from dynamis.exercises.question import LANGUAGES, words
from dynamis.exercises.questions import QUESTIONS, NumberDraw

g = 9.81
SEEDS = (0, 1, 2041)


def lengths_and_angles(v):
    q1, q2 = (v.get(k, 0.0) * pi / 180 for k in ("q1", "q2"))
    return v["L1"], v["L2"], q1, q1 + q2, q2


def point(v):
    a, b, q1, q12, _ = lengths_and_angles(v)
    return np.array([a * cos(q1) + b * cos(q12), a * sin(q1) + b * sin(q12)])


def jacobian(v):
    a, b, q1, q12, _ = lengths_and_angles(v)
    return np.array([[-a * sin(q1) - b * sin(q12), -b * sin(q12)],
                     [a * cos(q1) + b * cos(q12), b * cos(q12)]])  # fmt: skip


def inertia(v):
    a, b, _, _, q2 = lengths_and_angles(v)
    m1, m2 = v["m1"], v["m2"]
    m22 = m2 * b**2 / 3
    m12 = m22 + m2 * a * b / 2 * cos(q2)
    return np.array([[m1 * a**2 / 3 + m2 * a**2 + m22 + m2 * a * b * cos(q2), m12], [m12, m22]])


def velocity_torques(v):
    a, b, _, _, q2 = lengths_and_angles(v)
    h, w1, w2 = v["m2"] * a * b / 2 * sin(q2), v["qd1"], v["qd2"]
    return np.array([-h * (2 * w1 * w2 + w2**2), h * w1**2])


def weights(v, load=0.0):
    a, b, q1, q12, _ = lengths_and_angles(v)
    m1, m2 = v["m1"], v["m2"]
    second = (m2 / 2 + load) * g * b * cos(q12)
    return np.array([(m1 / 2 + m2 + load) * g * a * cos(q1) + second, second])


def polar(v):
    r, m2 = v["r"], v["m2"]
    tau = (v["m1"] * v["L1"] ** 2 + m2 * r**2) * v["alpha"] + 2 * m2 * r * v["w"] * v["v"]
    return [tau, m2 * v["a"] - m2 * r * v["w"] ** 2]


def geared(v):
    J = v["m"] * v["L"] ** 2 / 3 + v["N"] ** 2 * v["Jm"] * 1e-4
    return [J, J * v["qdd"] / v["N"]]


def fallen(v):
    m, e, L = v["m"], v["mE"], v["L"]
    return [sqrt(2 * (m / 2 + e) * g * L / ((m / 3 + e) * L**2))]


def identified(v):
    moment = (v["t0"] - v["t1"]) / (g * (1 - cos(v["q"] * pi / 180)))
    return [moment, v["t0"] - moment * g]


def reached(v):
    a, b = v["L1"], v["L2"]
    q2 = np.arccos((v["x"] ** 2 + v["y"] ** 2 - a**2 - b**2) / (2 * a * b))
    return [np.arctan2(v["y"], v["x"]) - np.arctan2(b * sin(q2), a + b * cos(q2)), q2]


def pd(v):
    kp = v["J"] * v["w"] ** 2
    return [kp, 2 * v["J"] * v["w"] - v["B"], v["T"] / kp]


# frames and rotations


def turned(axis, degrees):
    """Rotation about x, y or z, as every book prints it."""
    c, s = cos(degrees * pi / 180), sin(degrees * pi / 180)
    return np.array({
        "x": [[1, 0, 0], [0, c, -s], [0, s, c]],
        "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        "z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
    }[axis])  # fmt: skip


def uvw(v):
    return np.array([v["u"], v["v"], v["w"]])


def row_of_table(v):
    t, d, a, al = v["theta"] * pi / 180, v["d"], v["a"], v["alpha"] * pi / 180
    A = np.array([  # Denavit-Hartenberg, standard
        [cos(t), -sin(t) * cos(al), sin(t) * sin(al), a * cos(t)],
        [sin(t), cos(t) * cos(al), -cos(t) * sin(al), a * sin(t)],
        [0, sin(al), cos(al), d],
    ])  # fmt: skip
    return A @ [*uvw(v), 1]


def entries(v):
    return np.array([[v[f"r{i}{j}"] for j in (1, 2, 3)] for i in (1, 2, 3)])


def zyz(v):
    R = entries(v)
    angles = [
        atan2(R[1, 2], R[0, 2]), atan2(hypot(R[0, 2], R[1, 2]), R[2, 2]), atan2(R[2, 1], -R[2, 0])
    ]  # fmt: skip
    phi, theta, psi = np.degrees(angles)
    again = turned("z", phi) @ turned("y", theta) @ turned("z", psi)
    np.testing.assert_allclose(again, R, atol=2e-4)
    return angles


def one_turn(v):
    R = entries(v)
    angle = acos((np.trace(R) - 1) / 2)
    k = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (2 * sin(angle))
    np.testing.assert_allclose(np.linalg.norm(k), 1, atol=5e-4)
    np.testing.assert_allclose(R @ k, k, atol=5e-4)
    return [angle, *k]


def seen_by_camera(v):
    down = turned("z", v["a"]) @ np.diag([1, -1, -1])
    return np.array([v["X"], v["Y"], v["Z"]]) + down @ uvw(v)


def seen_by_gripper(v):
    R = turned("z", v["a"]) @ turned("y", v["b"])
    return R.T @ (uvw(v) - [v["X"], v["Y"], v["Z"]])


# arms in space, bodies


def stuck(v):
    a, b, q2, q3 = v["L2"], v["L3"], v["q2"] * pi / 180, v["q3"] * pi / 180

    def tool(q):
        reach = a * cos(q[1]) + b * cos(q[1] + q[2])
        return np.array(
            [reach * cos(q[0]), reach * sin(q[0]), a * sin(q[1]) + b * sin(q[1] + q[2])]
        )

    q, steps = np.array([0.3, q2, q3]), 1e-5 * np.eye(3)
    J = [(tool(q + h) - tool(q - h)) / 2e-5 for h in steps]
    det = -a * b * sin(q3) * (a * cos(q2) + b * cos(q2 + q3))
    np.testing.assert_allclose(np.linalg.det(np.transpose(J)), det, rtol=1e-6)
    up = atan2(a + b * cos(q3), b * sin(q3))
    np.testing.assert_allclose(tool([0, up, q3])[0], 0, atol=1e-12)
    return [det, up]


def ring(v):
    a, b, limit = v["L1"], v["L2"], v["qm"] * pi / 180
    near = hypot(a + b * cos(limit), b * sin(limit))
    return [a + b, near, pi * ((a + b) ** 2 - near**2)]


def wrist(v):
    a, b = v["a"] * pi / 180, v["b"] * pi / 180
    way = np.array([cos(b) * cos(a), cos(b) * sin(a), -sin(b)])
    center = np.array([v["x"], v["y"], v["z"]]) - v["d6"] * way
    return [*center, atan2(center[1], center[0])]


def slide(v):
    flat = hypot(v["x"], v["y"])
    q1, q2, d3 = atan2(v["y"], v["x"]), atan2(v["z"] - v["h"], flat), hypot(flat, v["z"] - v["h"])
    tool = d3 * np.array([cos(q1) * cos(q2), sin(q1) * cos(q2), sin(q2)]) + [0, 0, v["h"]]
    np.testing.assert_allclose(tool, [v["x"], v["y"], v["z"]])
    return [q1, q2, d3]


def cylinder(v):
    def place(t):
        q, r = v["q1"] * pi / 180 + v["w"] * t, v["r"] + v["vr"] * t
        return np.array([r * cos(q), r * sin(q), v["vz"] * t])

    h = 1e-3  # Richardson's extrapolation of central differences
    one, two = ((place(k * h) - place(-k * h)) / (2 * k * h) for k in (1, 2))
    velocity = (4 * one - two) / 3
    return [*velocity[:2], np.linalg.norm(velocity)]


def link_and_motor(v):
    L, m, e, R = v["L"], v["m"], v["mE"], v["R"]
    c = (m * L / 2 + e * L) / (m + e)
    about_c = m * L**2 / 12 + m * (L / 2 - c) ** 2 + e * R**2 / 2 + e * (L - c) ** 2
    return [c, m * L**2 / 3 + e * R**2 / 2 + e * L**2, about_c]


def turret(v):
    """Lagrange: T = [(e^2 + L^2 c^2 / 3) w1^2 - e L s w1 w2 + L^2 w2^2 / 3] m / 2."""
    L, m, e, q = v["L"], v["m"], v["e"], v["q2"] * pi / 180
    w1, w2, a1, a2, c, s = v["qd1"], v["qd2"], v["qdd1"], v["qdd2"], cos(q), sin(q)
    tau1 = m * (e**2 + L**2 / 3 * c**2) * a1 - m * e * L / 2 * (s * a2 + c * w2**2)
    tau1 -= 2 / 3 * m * L**2 * s * c * w1 * w2
    tau2 = m * L**2 / 3 * (a2 + s * c * w1**2) - m * e * L / 2 * s * a1 + m * g * L / 2 * c

    def centre(t):
        yaw, lift = w1 * t + a1 * t * t / 2, q + w2 * t + a2 * t * t / 2
        along, right = np.array([cos(yaw), sin(yaw), 0]), np.array([sin(yaw), -cos(yaw), 0])
        return L / 2 * (cos(lift) * along + [0, 0, sin(lift)]) + e * right

    def second(h):
        return (centre(h) - 2 * centre(0) + centre(-h)) / h**2

    h = 0.02  # extrapolated twice
    first = [(4 * second(h / k) - second(2 * h / k)) / 3 for k in (1, 2)]
    acceleration = (16 * first[1] - first[0]) / 15
    force = m * (acceleration + np.array([0, 0, g])) @ [c, 0, s]
    return [np.round(force, 5), tau1, tau2]


def columns(v):
    rest = np.array([v["g1"], v["g2"]])
    M = np.transpose([[v["a1"], v["a2"]] - rest, [v["b1"], v["b2"]] - rest])
    qdd = np.linalg.solve(M, [v["t1"] - v["h1"], v["t2"] - v["h2"]])
    return [M[0, 0], M[0, 1], M[1, 1], *qdd]


def lifted(v):
    L, m1, m2, q, a = v["L"], v["m1"], v["m2"], v["q"] * pi / 180, v["a"]
    F = (m1 + m2) * (a + g) + m2 * L / 2 * (cos(q) * v["alpha"] - sin(q) * v["w"] ** 2)
    return [F, m2 * L**2 / 3 * v["alpha"] + m2 * L / 2 * cos(q) * (a + g)]


# motions and control


def swing(v):
    w = sqrt(v["kp"] / v["J"])
    z = (v["B"] + v["kd"]) / (2 * sqrt(v["kp"] * v["J"]))
    wd = w * sqrt(1 - z**2)
    return [w, z, 100 * exp(-z * w * pi / wd), pi / wd]


def bode(v):
    J, B, kp = v["J"], v["B"], v["kp"]
    square = np.roots([J**2, B**2, -(kp**2)]).max()
    w = sqrt(square)
    loop = kp / (1j * w * (J * 1j * w + B))
    np.testing.assert_allclose(abs(loop), 1)
    margin = pi + np.angle(loop)
    return [w, np.degrees(margin), 1000 * margin / w]


def swinging(v):
    w = sqrt(v["kp"] / v["J"])
    ki = (v["B"] + v["kd"]) * w**2
    s = 1j * w
    assert abs(v["J"] * s**3 + (v["B"] + v["kd"]) * s**2 + v["kp"] * s + ki) < 1e-9 * ki
    return [ki, w]


BY_HAND = {
    "forward-kinematics": point,
    "inverse-kinematics": reached,
    "tool-velocity": lambda v: jacobian(v) @ [v["qd1"], v["qd2"]],
    "statics": lambda v: jacobian(v).T @ [v["Fx"], v["Fy"]],
    "gravity-torques": lambda v: weights(v, v["mL"]),
    "mass-matrix": lambda v: inertia(v)[[0, 0, 1], [0, 1, 1]],
    "coriolis": velocity_torques,
    "inverse-dynamics": lambda v: (
        inertia(v) @ [v["qdd1"], v["qdd2"]] + velocity_torques(v) + weights(v)
    ),
    "release": lambda v: np.linalg.solve(inertia(v), -weights(v)),
    "polar": polar,
    "pendulum": fallen,
    "gear": geared,
    "pd-design": pd,
    "quintic-peaks": lambda v: [15 / 8 * v["D"] / v["T"], 10 / sqrt(3) * v["D"] / v["T"] ** 2],
    "moment-from-torques": identified,
    "dh-frames": lambda v: [
        v["b"], -pi / 2 * v["s"], v["h"], hypot(v["L"], v["k"]), -v["s"] * atan(v["k"] / v["L"])
    ],
    "dh-matrix": row_of_table,
    "rotation-order": lambda v: turned("z", v["a"]) @ turned("x", v["b"]) @ uvw(v),
    "euler-zyz": zyz,
    "axis-angle": one_turn,
    "camera": seen_by_camera,
    "inverse-transform": seen_by_gripper,
    "singularity": stuck,
    "workspace": ring,
    "wrist-center": wrist,
    "spherical-inverse": slide,
    "cylindrical-velocity": cylinder,
    "composite-link": link_and_motor,
    "newton-euler": turret,
    "walker-orin": columns,
    "lift": lifted,
    "trapezoid": lambda v: [
        v["v"] / v["a"], v["v"] ** 2 / (2 * v["a"]), v["D"] / v["v"] + v["v"] / v["a"]
    ],
    "motor-speed": lambda v: [
        v["N"] * v["qd"] / 6, v["tau"] / (v["N"] * v["eta"] / 100),
        v["tau"] * v["qd"] * pi / 180 / (v["eta"] / 100),
    ],
    "step-response": swing,
    "phase-margin": bode,
    "pid-limit": swinging,
}  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_those_of_the_textbook(name):
    for seed in SEEDS:
        draw = NumberDraw(seed, name)
        answers = QUESTIONS[name](draw)
        by_hand = np.asarray(BY_HAND[name](draw.numbers))
        differences = 1e-6 if name == "newton-euler" else 1e-9  # its acceleration is a difference
        np.testing.assert_allclose(answers, by_hand, rtol=differences, atol=1e-9)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", QUESTIONS)
def test_texts_hold_every_number_and_ask_for_every_answer(name, language):
    draw = NumberDraw(5, name)
    answers = QUESTIONS[name](draw)
    said = words(language)[name]
    assert set(re.findall(r"{(\w+)}", said["text"])) == set(draw.numbers)
    one = dy.exercises.exercise(name, 5, language)
    assert len(one.names) == len(answers) and one.units == dy.exercises.exercise(name, 5).units
    assert all(f"{x:g}" in one.text for x in draw.numbers.values()) and "{" not in str(one)
    assert all(mark.right for mark in one.check(one.answers))
    assert all(mark.right for mark in one.check([float(f"{x:.3g}") for x in one.answers]))


def test_a_seed_is_a_student():
    first, again, other = (dy.exercises.sheet(seed) for seed in (2041, 2041, 2042))
    assert first == again != other
    assert first.count("\n## ") == len(dy.exercises.EXERCISES) == 36
    numbers = [dy.exercises.exercise(5, seed).answers for seed in range(20)]
    assert len(set(numbers)) == 20
    # these never change: sheets that were handed out stay valid
    assert dy.exercises.exercise(1, 7).answers == pytest.approx((0.626129, 0.715317), abs=1e-6)
    chosen = dy.exercises.sheet(7, "es", which=[3, "gear"], solutions=True)
    assert chosen.count("\n## ") == 2 and "# Soluciones" in chosen and "3. vx = 2.339 m/s" in chosen


def test_marks_tell_what_a_wrong_answer_looks_like():
    one = dy.exercises.exercise("inverse-kinematics", 7)
    q1, q2 = one.answers
    right, wrong = one.check([q1 + 2 * pi, np.degrees(q2)])
    assert right.right and not wrong.right and "degrees" in wrong.hint
    assert "sign" in one.check([-q1, q2])[0].hint
    assert one.check([q1 * 1.05, q2])[0].hint == "" and not one.check([q1 * 1.05, q2])[0].right
    assert one.check([q1 * 1.05, q2], tolerance=0.1)[0].right
    spanish = dy.exercises.exercise(8, 7, "es")
    assert "signo" in spanish.check(-np.array(spanish.answers))[0].hint
    assert not spanish.check([np.nan, 1.0])[0].right


def test_angles_are_not_right_by_chance():
    for seed in range(40):
        one = dy.exercises.exercise(2, seed)
        wrong = [m for m in one.check(np.degrees(one.answers)) if not m.right]
        assert len(wrong) == sum(x != 0.0 for x in one.answers)
        assert all("degrees" in m.hint for m in wrong)
        assert not any(m.right for m in one.check([1000.0, 1e6]))
        assert all(m.right for m in one.check(np.array(one.answers) + 2.0 * np.pi))


def test_answers_in_another_order_are_said_to_be():
    one = dy.exercises.exercise(5, 2041)
    assert all("order" in m.hint for m in one.check(one.answers[::-1]))


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("gravity-torques", lambda v: np.array(weights(v, v["mL"])) / g * 10, "g = 10"),
        ("gear", lambda v: [v["m"] * v["L"] ** 2 / 3 + v["N"] * v["Jm"] * 1e-4, nan], "square"),
        ("mass-matrix", lambda v: inertia(v) [[0, 0, 1], [0, 1, 1]] - [
            v["m1"] * v["L1"] ** 2 / 12 + v["m2"] * v["L2"] ** 2 / 12, v["m2"] * v["L2"] ** 2 / 12,
            v["m2"] * v["L2"] ** 2 / 12], "point masses"),
        ("forward-kinematics", lambda v: [
            v["L1"] * cos(v["q1"]) + v["L2"] * cos(v["q1"] + v["q2"]),
            v["L1"] * sin(v["q1"]) + v["L2"] * sin(v["q1"] + v["q2"])], "degrees"),
        ("rotation-order", lambda v: turned("x", v["b"]) @ turned("z", v["a"]) @ uvw(v), "order"),
        ("motor-speed", lambda v: [v["N"] * v["qd"] * pi / 180, nan, nan], "per minute"),
        ("motor-speed", lambda v: [v["N"] * v["qd"] / 360, nan, nan], "per second"),
        ("phase-margin", lambda v: [nan, bode(v)[1] * pi / 180, nan], "give degrees"),
        ("pendulum", lambda v: [fallen(v)[0] * 30 / pi], "give rad/s"),
        ("pendulum", lambda v: [fallen(v)[0] / sqrt(2)], "factor 1/2"),
        ("dh-matrix", lambda v: dy.transforms.dh(
            v["theta"] * pi / 180, v["d"], v["a"], v["alpha"] * pi / 180, "modified"
        )[:3] @ [*uvw(v), 1], "modified"),
    ],
)  # fmt: skip
def test_typical_mistakes_are_named(name, wrong, said):
    one = dy.exercises.exercise(name, 2041)
    draw = NumberDraw(2041, name)
    QUESTIONS[name](draw)
    given = np.asarray(wrong(draw.numbers), dtype=float)
    marks = [m for m, x in zip(one.check(given), given, strict=True) if x == x]
    assert marks and all(said in m.hint for m in marks), marks


@pytest.mark.parametrize("name", QUESTIONS)
def test_mistakes_have_words_and_are_wrong(name):
    draw = NumberDraw(3, name)
    answers = QUESTIONS[name](draw)
    tables = [words(language)[name].get("mistakes", {}) for language in LANGUAGES]
    assert set(draw.mistakes) == set(tables[0]) == set(tables[1])
    for values in draw.mistakes.values():
        assert len(values) == len(answers) and not np.allclose(values, answers, rtol=1e-3)
    for seed in SEEDS:  # no answer that is right is called a mistake
        one = dy.exercises.exercise(name, seed)
        for k, right in enumerate(one.answers):
            assert all(abs(x - right) > one.margin(right) and hint for x, hint in one.typical(k))


def test_what_is_not_there_is_refused():
    with pytest.raises(OptionError, match="1 to 36"):
        dy.exercises.exercise(37)
    with pytest.raises(OptionError, match="gear"):
        dy.exercises.exercise("gears")
    with pytest.raises(OptionError, match="'en', 'es'"):
        dy.exercises.sheet(1, "de")
    with pytest.raises(ShapeError, match="is 1, expected 2: x, y"):
        dy.exercises.exercise(1).check([1.0])
    with pytest.raises(DynamisError):
        dy.exercises.exercise(1).check("no")


def test_the_command_prints_and_marks(capsys):
    assert main(["exercise", "--seed", "7", "--language", "es"]) == 0
    assert capsys.readouterr().out == dy.exercises.sheet(7, "es")
    assert main(["exercise", "7", "--seed", "7", "--answer", "0.823", "-1.369"]) == 1
    out = capsys.readouterr().out
    assert "right" in out and "the sign is wrong" in out and "-1.369 N m" in out
    assert main(["exercise", "coriolis", "--seed", "7", "--answer", "0.823,1.369"]) == 0
    capsys.readouterr()
    assert main(["exercise", "1", "--seed", "7", "--answer", "1,2", "--json"]) == 1
    assert [mark["right"] for mark in json.loads(capsys.readouterr().out)] == [False, False]
    assert main(["exercise", "37"]) == 2


def test_decimal_commas_json_and_words(capsys):
    answers = dy.exercises.exercise(5, 2041).answers
    given = [f"{x:.4g}".replace(".", ",") for x in answers]
    assert main(["exercise", "5", "--seed", "2041", "--language", "es", "--answer", *given]) == 0
    assert "correcto" in capsys.readouterr().out
    assert main(["exercise", "5", "--seed", "2041", "--answer", ",".join(given)]) == 2
    assert "with a point" in capsys.readouterr().err
    assert main(["exercise", "5", "--json"]) == 0
    assert "answers" not in json.loads(capsys.readouterr().out)
    assert main(["exercise", "5", "--json", "--solution"]) == 0
    assert "answers" in json.loads(capsys.readouterr().out)
    assert main(["exercise", "--answer", "1", "2"]) == 2
    assert "say which" in capsys.readouterr().err
