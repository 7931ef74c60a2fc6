"""Questions of course platforms, read back by parsers written from their documentation."""

import base64
import re
import xml.etree.ElementTree as ET

import pytest

import dynamis as dy
from dynamis.errors import FileError, OptionError
from dynamis.exercises.question import EXERCISES

SEEDS = (3, 7, 2041)


def unescaped(text):
    return re.sub(r"\\(.)", r"\1", text)


def split(text, sign):
    """Parts between signs that no backslash escapes."""
    return re.split(rf"(?<!\\){sign}", text)


def embedded(text):
    """Numerical answers of a Cloze question: [(value, tolerance, share, feedback), ...] each."""
    found = []
    for body in re.findall(r"\{(.*?)(?<!\\)\}", text, re.DOTALL):
        weight, kind, rows = body.split(":", 2)
        assert (weight, kind) == ("1", "NUMERICAL")
        answers = []
        for row in split(rows, "~"):
            value, *feedback = split(row, "#")
            share = re.match(r"=|%(\d+)%", value)
            number, tolerance = value[share.end() :].split(":")
            percent = 100 if share[0] == "=" else int(share[1])
            said = unescaped("#".join(feedback))
            answers.append((float(number), float(tolerance), percent, said))
        found.append(answers)
    return found


def moodle(text):
    """Category -> questions of a Moodle XML file: (name, kind, html, files, answers)."""
    root = ET.fromstring(text)
    assert root.tag == "quiz"
    found, here = {}, None
    for question in root:
        kind = question.get("type")
        if kind == "category":
            here = found.setdefault(question.findtext("category/text"), [])
            continue
        html = question.findtext("questiontext/text")
        assert question.find("questiontext").get("format") == "html" and here is not None
        files = {
            x.get("name"): base64.b64decode(x.text, validate=True)
            for x in question.findall("questiontext/file")
            if x.get("encoding") == "base64"
        }
        if kind == "cloze":
            answers = embedded(html)
        else:
            answers = [[
                (
                    float(x.findtext("text")), float(x.findtext("tolerance")),
                    int(x.get("fraction")), x.findtext("feedback/text"),
                )
                for x in question.findall("answer")
            ]]  # fmt: skip
        here.append((question.findtext("name/text"), kind, html, files, answers))
    return found


def marked(answers, given):
    """Share and feedback of an answer: the first row that it is within."""
    return next(
        ((share, said) for value, off, share, said in answers if abs(given - value) <= off), (0, "")
    )


@pytest.mark.parametrize("language", ["en", "es"])
def test_moodle_xml_has_every_exercise_and_marks_as_check_does(language):
    found = moodle(dy.exercises.quiz(SEEDS, language=language))
    assert len(found) == len(EXERCISES)
    for number, (category, questions) in enumerate(found.items(), 1):
        assert category.startswith("$course$/top/") and f"/{number}. " in category
        assert len({name for name, *_ in questions}) == len(SEEDS)
        for seed, (_, kind, html, files, answers) in zip(SEEDS, questions, strict=True):
            one = dy.exercises.exercise(number, seed, language)
            assert kind == ("cloze" if len(one.names) > 1 else "numerical")
            ((name, picture),) = files.items()
            assert f"@@PLUGINFILE@@/{name}" in html
            assert ET.fromstring(picture).tag.endswith("svg")
            assert len(answers) == len(one.answers)
            for k, (rows, right) in enumerate(zip(answers, one.answers, strict=True)):
                assert marked(rows, right) == (100, "")
                assert marked(rows, right + 0.9 * one.margin(right))[0] == 100
                assert marked(rows, right + 1.2 * one.margin(right))[0] == 0
                if one.units[k] == "rad":
                    assert marked(rows, right + 6.283185)[0] == 100
                given = [-x if j == k else x for j, x in enumerate(one.answers)]
                mark = one.check(given)[k]
                if not mark.right:
                    assert marked(rows, -right) == (0, mark.hint)


def test_braces_of_a_text_are_no_answers():
    for one in ("phase-margin", "euler-zyz"):
        ((_, _, html, _, answers),) = next(iter(moodle(dy.exercises.quiz([1], [one])).values()))
        assert len(answers) == 3 and html.count("{") == 3


def gift(text):
    """Category, title, text and numerical answers of each question of a GIFT file."""
    found, category = [], None
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("$CATEGORY: "):
            category = block.removeprefix("$CATEGORY: ")
            continue
        match = re.fullmatch(
            r"::(?P<title>(?:\\.|[^:\\])*)::(?P<text>(?:\\.|[^{\\])*)\{#(?P<answers>.*)\}",
            block, re.DOTALL,
        )  # fmt: skip
        assert match, block
        rows = []
        for line in match["answers"].strip().splitlines():
            head, *feedback = split(line.strip(), "#")
            share = re.match(r"=(?:%(\d+)%)?", head)
            value, off = head[share.end() :].split(":")
            said = unescaped("#".join(feedback))
            rows.append((float(value), float(off), int(share[1] or 100), said))
        found.append((category, unescaped(match["title"]), unescaped(match["text"]), rows))
    return found


def test_gift_has_a_question_for_each_answer():
    found = gift(dy.exercises.quiz(SEEDS, format="gift"))
    wanted = [
        (one, k)
        for number in range(1, len(EXERCISES) + 1)
        for seed in SEEDS
        for one in [dy.exercises.exercise(number, seed)]
        for k in range(len(one.names))
    ]
    assert len(found) == len(wanted) and len({title for _, title, *_ in found}) == len(found)
    for (category, title, text, rows), (one, k) in zip(found, wanted, strict=True):
        assert one.heading.replace("/", "//") in category and title.endswith(one.names[k])
        assert one.text.replace("\n", " ") in text
        assert marked(rows, one.answers[k]) == (100, "")
        assert marked(rows, one.answers[k] + 1.2 * one.margin(one.answers[k]))[0] == 0


def test_files_and_what_is_refused(tmp_path):
    path = dy.exercises.write_quiz(tmp_path / "quiz.xml", range(1, 4), ["gear"], "es")
    assert path.read_text("utf-8") == dy.exercises.quiz([1, 2, 3], ["gear"], "es")
    assert "::" in dy.exercises.write_quiz(tmp_path / "quiz.gift", [1], [1]).read_text()
    for seeds in ([], [1, 1], 3, [-1], range(1001)):
        with pytest.raises(OptionError, match="seed"):
            dy.exercises.quiz(seeds)
    with pytest.raises((OptionError, FileError), match="xml"):
        dy.exercises.write_quiz(tmp_path / "quiz.html", [1])
    with pytest.raises(OptionError, match="'moodle', 'gift'"):
        dy.exercises.quiz([1], format="qti")
