"""Drawings: labelled with the names of the text, the same picture as SVG and as TikZ."""

import re
import xml.etree.ElementTree as ET

import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.exercises.drawings import DRAWINGS
from dynamis.exercises.drawings.drawing import Circle, Label, Stroke
from dynamis.exercises.questions import QUESTIONS

SPACE = "{http://www.w3.org/2000/svg}"


def test_every_exercise_has_a_drawing():
    assert list(DRAWINGS) == list(QUESTIONS)


@pytest.mark.parametrize("name", QUESTIONS)
def test_pictures_are_whole(name):
    drawing = DRAWINGS[name]
    picture = ET.fromstring(drawing.svg("A <title> & more"))
    width, height = (float(picture.get(x)) for x in ("width", "height"))
    assert 100 < width < 700 and 100 < height < 450
    assert picture.findtext(f"{SPACE}title") == "A <title> & more"
    kinds = [sum(isinstance(x, kind) for x in drawing.parts) for kind in (Stroke, Circle, Label)]
    tags = [len(picture.findall(f"{SPACE}{tag}")) for tag in ("path", "circle", "text")]
    assert kinds == tags and kinds[2] >= 2
    for path in picture.findall(f"{SPACE}path"):
        for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", path.get("d")):
            assert 0 <= float(x) <= width and 0 <= float(y) <= height
    lines = drawing.tikz().splitlines()
    assert lines[0].startswith(r"\begin{tikzpicture}") and lines[-1] == r"\end{tikzpicture}"
    assert len(lines) == len(drawing.parts) + 2
    number = r"\(-?\d+\.\d+, -?\d+\.\d+\)"
    path = rf"\\path\[[^\]]+\] {number}( -- {number})*( circle\[radius=\d+\.\d+\])?;"
    node = rf"\\node\[[^\]]+\] at {number} \{{.+\}};"
    assert all(re.fullmatch(rf"{path}|{node}", line) for line in lines[1:-1])


@pytest.mark.parametrize("name", QUESTIONS)
def test_labels_are_apart(name):
    labels = [x for x in DRAWINGS[name].parts if isinstance(x, Label) and x.text]
    boxes = []
    for label in labels:
        (x, y), w = label.at, label.width
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * w
        boxes.append((left, left + w, y - 0.06, y + 0.06, label.text))
    for k, (l1, r1, b1, t1, one) in enumerate(boxes):
        for l2, r2, b2, t2, other in boxes[k + 1 :]:
            assert r1 <= l2 or r2 <= l1 or t1 <= b2 or t2 <= b1, (one, other)


def test_labels():
    pen = dy.exercises.Pen()
    for text in ("L1", "alpha_1", "q_ref", "motor", "kp"):
        pen.label((0, 0), text)
    tikz = pen.done().tikz()
    for latex in ("$L_{1}$", r"$\alpha_{1}$", "$q_{ref}$", "{motor}", "$k_{p}$"):
        assert latex in tikz
    with pytest.raises(OptionError, match="'start', 'middle' or 'end'"):
        pen.label((0, 0), "x", "left")
