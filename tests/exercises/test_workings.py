"""Worked solutions: computed from the numbers in the text alone, and they end at the answers."""

import json
import re

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.cli import main
from dynamis.equations.render.formula import mathml, plain
from dynamis.exercises.question import LANGUAGES, words
from dynamis.exercises.questions import QUESTIONS, NumberDraw
from dynamis.exercises.steps import STEPS
from dynamis.exercises.steps import steps_of as steps

SEEDS = (0, 7, 2041, 31337)
CALCULATOR = {"atan2", "atan", "acos", "sqrt", "sin", "cos", "exp", "pi"}  # what stays in a line
PRINTED = 6e-4  # of the largest side: numbers put in have five digits, answers four


def test_every_exercise_has_a_working():
    assert list(STEPS) == list(QUESTIONS)


def label(line):
    return str(line).partition(" = ")[0]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_working_ends_at_the_answers(name):
    for seed in SEEDS:
        one = dy.exercises.exercise(name, seed)
        lines = one.working()
        found = {label(line): line for line in lines}
        values = [found[key].value for key in one.names]
        np.testing.assert_allclose(values, one.answers, rtol=1e-9, atol=1e-11)
        assert label(lines[-1]) in one.names
        said = [str(found[key]).rpartition(" = ")[2] for key in one.names]
        listed = [part.rpartition(" = ")[2] for part in one.solution().split(", ")]
        assert said == listed, "as printed, to the last digit"


def value_of(text):
    """What a printed line of numbers is when a calculator reads it."""
    text = re.sub(r"([\d.]+)°", r"(\1 * pi / 180)", text.replace("^", "**"))
    return float(sp.sympify(text))


@pytest.mark.parametrize("name", QUESTIONS)
def test_numbers_put_in_give_what_is_printed(name):
    """The line of numbers, read as a calculator would, is the value; each symbol was replaced."""
    for seed in SEEDS[:2]:
        for line in dy.exercises.exercise(name, seed).working():
            if not line.numbers:
                continue
            shown = plain(line.numbers)
            assert set(re.findall(r"[A-Za-z]\w*", shown)) <= CALCULATOR
            size = max([abs(line.value), *(abs(float(x)) for x in re.findall(r"\d[\d.]*", shown))])
            assert value_of(shown) == pytest.approx(line.value, abs=PRINTED * size)


@pytest.mark.parametrize("name", QUESTIONS)
def test_texts_of_steps(name):
    known = {step.name for step in steps(name)}
    tables = [words(language)[name]["steps"] for language in LANGUAGES]
    assert set(tables[0]) == set(tables[1]) <= known and tables[0] != tables[1]
    assert steps(name)[0].name in tables[0], "a working begins with a sentence"
    draw = NumberDraw(0, name)
    QUESTIONS[name](draw)
    assert draw.angles <= set(draw.numbers)


def test_the_working_of_one_exercise_in_full():
    lines = dy.exercises.exercise("gear", 2041, "es").working()
    assert [str(x) for x in lines] == [
        "J = Jm N^2 + m L^2/3\n  = 0.00025 * 80^2 + 7 * 0.5^2/3\n  = 2.183 kg m²",
        "tau = J qdd\n    = 2.1833 * 4\n    = 8.7333 N m",
        "tau_m = tau/N\n      = 8.7333/80\n      = 0.1092 N m",
    ]
    assert lines[2].text.startswith("Par del motor")
    assert lines[1].latex() == (
        r"\begin{aligned} \tau &= J \, \ddot{q} \\ &= 2.1833 \cdot 4 "
        r"\\ &= 8.7333 \; \text{N m} \end{aligned}"
    )


def test_signs_and_degrees_in_formulas():
    assert plain(r"x = -a \, \cos(-20^{\circ}) - \frac{a + b}{2 \, c}") == (
        "x = -a cos(-20°) - (a + b)/(2 c)"
    )
    assert plain(r"\frac{a \cdot b}{3}") == "a * b/3"
    assert mathml("x = -a - b").count('<mo form="prefix">') == 1
    assert "<mn>20</mn><mo" in mathml(r"20^{\circ}")


@pytest.mark.parametrize("language", LANGUAGES)
def test_sheets_in_every_format(language):
    said = words(language)["words"]
    for format in ("markdown", "html", "latex"):
        plain_sheet, solved, worked = (
            dy.exercises.sheet(7, language, which=["gear", 2], format=format, **more)
            for more in ({}, {"solutions": True}, {"workings": True})
        )
        assert said["solutions"] not in plain_sheet and said["workings"] not in plain_sheet
        assert said["solutions"] in solved and said["workings"] in worked
        assert len(plain_sheet) < len(solved) < len(worked)
        answer = dy.exercises.exercise("gear", 7, language).solution().split(", ")[1]
        number = answer.split(" ")[2]
        assert number not in plain_sheet and number in solved and number in worked
        assert "⟦" not in worked and "{said" not in worked
    assert "<html lang=" in dy.exercises.sheet(7, language, [1], format="html")


def test_the_command_prints_workings(capsys, tmp_path):
    assert main(["exercise", "12", "--seed", "2041", "--working"]) == 0
    out = capsys.readouterr().out
    assert "    tau_m = tau/N\n          = 8.7333/80\n" in out and "J = 2.183 kg m²" in out
    assert main(["exercise", "12", "--seed", "2041", "--working", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [x["value"] for x in facts["working"]][2] == pytest.approx(facts["answers"][1])
    page = tmp_path / "sheet.html"
    assert main(["exercise", "1,gear", "--seed", "3", "--working", "--output", str(page)]) == 0
    assert page.read_text() == dy.exercises.sheet(
        3, which=[1, "gear"], workings=True, format="html"
    )
    assert main(["exercise", "--output", str(tmp_path / "sheet.pdf")]) == 2
    assert ".html" in capsys.readouterr().err
