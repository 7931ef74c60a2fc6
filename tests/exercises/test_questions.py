"""Exercises of a teacher's own: a Python file, numbers, words, workings, a class and its marks."""

import json

import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import FileError, OptionError
from dynamis.exercises import question
from dynamis.exercises.display import bundle, checked_html

FILE = """
import dynamis as dy

def solve(draw):
    k, m = draw("k", 100, 400, 50), draw("m", 1, 5, 0.5)
    draw.mistake("ten_times", [m * draw.slip.g / k * 10])
    return [m * draw.slip.g / k]

pen = dy.exercises.Pen()
pen.line((0, 0), (0, 1))
pen.circle((0, 0), 0.1)
pen.label((0.3, 0), "m")

spring = dy.exercises.Question(
    number=101,
    name="spring",
    solve=solve,
    words={
        "en": {
            "title": "A spring", "answers": ["x [m]"],
            "text": "A mass of m = {m} kg hangs on a spring of k = {k} N/m, $F = k x$. How far?",
            "steps": {"x": "Weight and force of the spring are the same:"},
            "mistakes": {"ten_times": "a zero too many"},
        },
        "es": {
            "title": "Un resorte", "answers": ["x [m]"],
            "text": "Una masa de m = {m} kg cuelga de un resorte de k = {k} N/m. ¿Cuánto baja?",
        },
    },
    steps=[dy.exercises.Step("x", "m * g / k", "m")],
    drawing=pen.done(),
)
"""


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    """Whatever another file of tests left there."""
    monkeypatch.setattr(question, "_registered", {})


@pytest.fixture
def spring(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE, "utf-8")
    (found,) = dy.exercises.register(path)
    return found


def test_a_question_of_a_file_is_an_exercise_like_the_others(spring):
    one = dy.exercises.exercise(101, 7)
    assert one == dy.exercises.exercise("spring", 7) == dy.exercises.exercise(spring, 7)
    m, k = (one.drawn().numbers[x] for x in "mk")
    assert one.answers == pytest.approx([m * 9.81 / k])
    assert f"m = {m:g} kg" in one.text and "F = k x" in one.text and "$" not in one.text
    assert str(one.working()[0]).startswith("x = m g/k\n")
    assert one.working()[0].value == pytest.approx(one.answers[0])
    assert one.check([m * 10 / k])[0].hint.startswith("computed with g = 10")
    assert one.check([10 * one.answers[0]])[0].hint == "a zero too many"
    spanish = dy.exercises.sheet(7, "es", [101], format="html")
    assert "101. Un resorte" in spanish and "<svg" in spanish
    assert r"\begin{tikzpicture}" in dy.exercises.sheet(7, "en", ["spring"], format="latex")


def test_the_command_with_a_file_of_ones_own(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text(FILE, "utf-8")
    assert main(["exercise", "spring", "--exercises", str(path), "--seed", "7"]) == 0
    assert "101. A spring" in capsys.readouterr().out
    quiz = tmp_path / "quiz.xml"
    words = ["exercise", "--exercises", str(path), "--seeds", "1-3", "--output"]
    assert main([*words, str(quiz)]) == 0
    assert quiz.read_text("utf-8").count('type="numerical"') == 3
    assert main(["exercise", "spring,5", "--output", str(tmp_path / "ps1.ipynb")]) == 0
    assert json.loads((tmp_path / "ps1.ipynb").read_text("utf-8"))["nbformat"] == 4
    assert main([*words, str(tmp_path / "class")]) == 0
    (tmp_path / "back").mkdir()
    form = (tmp_path / "class" / "students" / "answers-2.csv").read_bytes().rstrip()
    answer = dy.exercises.exercise(101, 2).answers[0]
    (tmp_path / "back" / "a.csv").write_bytes(form + f"{answer:.4g}".encode())
    table = tmp_path / "class" / "teacher" / "class.csv"
    marks = dy.exercises.class_marks(tmp_path / "back", table)
    assert [x.right for x in marks.students] == [0, 1, 0]
    assert main(["exercise", "--output", str(quiz)]) == 2
    assert "need seeds" in capsys.readouterr().err
    question._registered.clear()
    with pytest.raises(OptionError, match="101"):
        dy.exercises.class_marks(tmp_path / "back", table)


WORDS = {"en": {"title": "t", "text": "{a}", "answers": ["x"]}}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"number": 0}, "number is 0"),
        ({"name": "A b"}, "lower-case"),
        ({"solve": 3}, "expected a function"),
        ({"words": {}}, "dictionary of languages"),
        ({"words": {"fr": WORDS["en"]}}, "'en', 'es'"),
        ({"words": {"en": {"title": "t"}}}, "title, text, answers"),
        ({"words": {"en": WORDS["en"] | {"hints": {}}}}, "hints"),
        ({"words": {"en": WORDS["en"] | {"answers": "x"}}}, "expected a list"),
    ],
)
def test_questions_that_mean_nothing(change, said):
    good = {"number": 101, "name": "own", "solve": lambda draw: [1.0], "words": WORDS}
    with pytest.raises(OptionError, match=said):
        dy.exercises.Question(**{**good, **change})


def test_what_cannot_be_registered(tmp_path, spring):
    def own(number, name, solve=lambda draw: [draw("a", 1, 2, 1)]):
        return dy.exercises.Question(number, name, solve, WORDS)

    for one, said in (
        (own(5, "mine"), "below 101"),
        (own(102, "gear"), "below 101"),
        (own(101, "other"), "share a number or a name"),
        ([own(103, "a"), own(103, "b")], "share a number"),
        ("x", "no Python file"),
        ([3], "has 3"),
    ):
        with pytest.raises((OptionError, FileError), match=said):
            dy.exercises.register(one)
    for text, said in (("x = 1", "defines no exercise"), ("1 / 0", "ZeroDivisionError")):
        (tmp_path / "bad.py").write_text(text)
        with pytest.raises(FileError, match=said):
            dy.exercises.register(tmp_path / "bad.py")
    dy.exercises.register(own(101, "spring"))  # again, as a notebook does
    assert dy.exercises.exercise(101).title == "t"
    with pytest.raises(OptionError, match="gave 2 answers, expected 1: x"):
        dy.exercises.exercise(own(104, "two", lambda draw: [1.0, 2.0]))
    with pytest.raises(OptionError, match="numbers drawn are b"):
        dy.exercises.exercise(own(104, "two", lambda draw: [draw("b", 1, 2, 1)]))


def test_notebooks_show_the_exercise_and_check_it():
    one = dy.exercises.exercise("gear", 2041)
    shown = one._repr_html_()
    assert "<svg" in shown and "<math" in shown and "Behind the gear" in shown
    assert not any(f"{x:.4g}" in shown for x in one.answers)
    found = bundle(one)
    assert found["text/html"] == shown and found["text/plain"] == str(one)
    said = checked_html(one, [f"{one.answers[0]:.4f}".replace(".", ","), "x<y"])
    assert "J: right" in said and "no number: &#x27;x&lt;y&#x27;" in said


def test_widgets_have_a_box_for_each_answer_and_check_them():
    pytest.importorskip("ipywidgets")
    from dynamis.exercises.display import widget

    one = dy.exercises.exercise("gear", 2041)
    _, *boxes, button, marks = widget(one).children
    assert [box.description for box in boxes] == list(one.names)
    for box, value in zip(boxes, (one.answers[0], -one.answers[1]), strict=True):
        box.value = f"{value:.4g}"
    button.click()
    assert "J: right" in marks.value and "the sign is wrong" in marks.value
    assert "application/vnd.jupyter.widget-view+json" in one._repr_mimebundle_()


def test_a_run_in_a_notebook():
    run = dy.simulate(dy.load("planar-rr"), 0.1, q0=[0.1, 0.2])
    shown = run._repr_html_()
    assert "<table>" in shown and shown.count("<tr>") == 3 and "Run(&#x27;planar-rr" in shown
    assert f"{run.q[-1, 1]:.4g}" in shown
