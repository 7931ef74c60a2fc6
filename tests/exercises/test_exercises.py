"""Exercises: answers by formulas of the textbook, texts that hold every number, honest marks."""

import json
import re
from math import cos, pi, sin, sqrt

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import DynamisError, OptionError, ShapeError
from dynamis.exercises.exercise import LANGUAGES, words
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
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_are_those_of_the_textbook(name):
    for seed in SEEDS:
        draw = NumberDraw(seed, name)
        answers = QUESTIONS[name](draw)
        by_hand = np.asarray(BY_HAND[name](draw.numbers))
        np.testing.assert_allclose(answers, by_hand, rtol=1e-9, atol=1e-9)


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
    assert first.count("\n## ") == len(dy.exercises.EXERCISES) == 15
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


def test_what_is_not_there_is_refused():
    with pytest.raises(OptionError, match="1 to 15"):
        dy.exercises.exercise(16)
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
    assert main(["exercise", "30"]) == 2


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
