"""Questions of course platforms: Moodle XML and GIFT, with tolerances and named mistakes.

https://docs.moodle.org/en/Moodle_XML_format, https://docs.moodle.org/en/GIFT_format and
https://docs.moodle.org/en/Embedded_Answers_(Cloze)_question_type
"""

import base64
import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from .. import templates
from ..arguments import checked, choice, is_list, whole
from ..errors import OptionError, counted, shown
from ..files import checked_path, write
from . import typeset
from .exercise import LARGEST_SEED, TURNS, Exercise, exercise
from .question import EXERCISES, LANGUAGES, Question, words

FORMATS = {"moodle": (".xml",), "gift": (".gift", ".txt")}
MOST_VARIANTS = 1000  # of one exercise
CLOZE = re.compile(r"([}#~/\"\\])")  # what must be escaped within an embedded answer
GIFT = re.compile(r"([~=#{}:\\])")


@checked
def write_quiz(
    path: str | Path,
    seeds: Sequence[int],
    which: Sequence[int | str | Question] | None = None,
    language: str = "en",
) -> Path:
    """Write questions for a course platform: Moodle XML (.xml) or GIFT (.gift, .txt).

    Every exercise is a category with one question for each of the `seeds`, of which a quiz draws
    one at random. Answers are numbers, right within 1 %; typical mistakes have their hints as
    feedback. Moodle XML has the drawings, and all answers of an exercise in one question; GIFT has
    neither: a question for each answer. The file has the answers: it is the teacher's.
    """
    format = next((k for k, x in FORMATS.items() if Path(path).suffix.lower() in x), "moodle")
    target = checked_path(path, [x for known in FORMATS.values() for x in known], "quiz")
    return write(target, quiz(seeds, which, language, format))


@checked
def quiz(
    seeds: Sequence[int],
    which: Sequence[int | str | Question] | None = None,
    language: str = "en",
    format: str = "moodle",
) -> str:
    """The text that `write_quiz` writes; `format` is "moodle" or "gift"."""
    choice(format, "format", FORMATS)
    choice(language, "language", LANGUAGES)
    drawn = _seeds(seeds)
    variants = [
        [exercise(x, seed, language) for seed in drawn]
        for x in (EXERCISES if which is None else which)
    ]
    if format == "gift":
        return "\n".join(part for some in variants for part in _gift(some))
    parts = [part for some in variants for part in _moodle(some)]
    return templates.filled(__package__, "quiz.xml", QUESTIONS="\n".join(parts))


def _seeds(given: Any) -> list[int]:
    if not is_list(given):
        raise OptionError(f"seeds is {shown(given)}, expected a list of whole numbers")
    found = [whole(x, "seed", 0, LARGEST_SEED) for x in given]
    if not 0 < len(found) <= MOST_VARIANTS or len(set(found)) < len(found):
        raise OptionError(
            f"seeds has {counted(len(found), 'number')}, expected 1 to {MOST_VARIANTS} different "
            "ones",
            "every seed is a variant of each exercise",
        )
    return found


def _category(one: Exercise) -> str:
    title = words(one.language)["words"]["exercises"]
    # a slash within a name is written twice
    return f"$course$/top/{title}/{one.heading.replace('/', '//')}"


def _name(one: Exercise) -> str:
    """Names are sorted as text: numbers have three digits."""
    return f"{one.number:03} {one.title} [{one.seed}]"


def right_values(one: Exercise, k: int) -> list[float]:
    """The answer, and for an angle those that are whole turns away."""
    value = one.answers[k]
    if one.units[k] != "rad":
        return [value]
    turns = (value + n * math.tau for n in (0, -1, 1, -2, 2))
    return [x for x in turns if abs(x) <= TURNS]


def wrong_values(one: Exercise, k: int) -> Iterator[tuple[float, str]]:
    """Typical wrong answers with what to say; none is a right one, or one before."""
    taken = right_values(one, k)
    for value, hint in one.typical(k):
        if all(abs(value - x) > one.margin(x) for x in taken) and hint:
            taken.append(value)
            yield value, hint


def number(value: float) -> str:
    """Six digits."""
    return f"{value:.6g}"


# Moodle XML


def _moodle(variants: Sequence[Exercise]) -> Iterator[str]:
    yield (
        '<question type="category"><category><text>'
        f"{escape(_category(variants[0]), quote=False)}</text></category></question>"
    )
    for one in variants:
        yield _moodle_cloze(one) if one.names[1:] else _moodle_numerical(one)


def _moodle_question(one: Exercise, kind: str, text: str, rest: str) -> str:
    picture, image = "", ""
    if one.drawing is not None:
        file = f"{one.question.name}.svg"
        data = base64.b64encode(one.svg().encode()).decode()
        image = f'<p><img src="@@PLUGINFILE@@/{file}" alt="{escape(one.title)}"></p>'
        picture = f'<file name="{file}" path="/" encoding="base64">{data}</file>'
    html = (image + text).replace("]]>", "]]&gt;")
    return (
        f'<question type="{kind}"><name><text>{escape(_name(one), quote=False)}</text></name>'
        f'<questiontext format="html"><text><![CDATA[{html}]]></text>{picture}</questiontext>'
        f"{rest}</question>"
    )


def _moodle_text(one: Exercise) -> str:
    intro = escape(words(one.language)["words"]["intro"])
    return f"<p>{_outside_cloze(one)}</p><p><small>{intro}</small></p>"


def _outside_cloze(one: Exercise) -> str:
    """The text without braces, which would begin an embedded answer."""
    found = typeset.html(one.source, one.symbols)
    return found.replace("{", "&#123;").replace("}", "&#125;")


def _moodle_numerical(one: Exercise) -> str:
    said = words(one.language)["words"]
    unit = f" ({one.units[0]})" if one.units[0] else ""
    asked = typeset.html(f"{said['asked']} {one.names[0]}{unit}", one.symbols)
    rows = [(x, 100, "") for x in right_values(one, 0)]
    rows += [(x, 0, hint) for x, hint in wrong_values(one, 0)]
    answers = "".join(
        f'<answer fraction="{share}" format="moodle_auto_format"><text>{number(x)}</text>'
        f'<feedback format="html"><text>{escape(escape(hint, quote=False), quote=False)}</text>'
        f"</feedback><tolerance>{number(one.margin(x))}</tolerance></answer>"
        for x, share, hint in rows
    )
    rest = f"<defaultgrade>1</defaultgrade><penalty>0.3333333</penalty>{answers}"
    return _moodle_question(one, "numerical", f"{_moodle_text(one)}<p>{asked}</p>", rest)


def _moodle_cloze(one: Exercise) -> str:
    rows = "".join(
        f"<li>{typeset.html(f'{name} = ', one.symbols)}{_embedded(one, k)} {escape(unit)}</li>"
        for k, (name, unit) in enumerate(zip(one.names, one.units, strict=True))
    )
    asked = escape(words(one.language)["words"]["asked"])
    rest = "<penalty>0.3333333</penalty>"
    text = f"{_moodle_text(one)}<p>{asked}</p><ul>{rows}</ul>"
    return _moodle_question(one, "cloze", text, rest)


def _embedded(one: Exercise, k: int) -> str:
    """{1:NUMERICAL:=right:tolerance~%0%wrong:tolerance#feedback}"""
    parts = [f"={number(x)}:{number(one.margin(x))}" for x in right_values(one, k)]
    for x, hint in wrong_values(one, k):
        said = CLOZE.sub(r"\\\1", escape(hint, quote=False))
        parts.append(f"%0%{number(x)}:{number(one.margin(x))}#{said}")
    return f"{{1:NUMERICAL:{'~'.join(parts)}}}"


# GIFT


def _gift(variants: Sequence[Exercise]) -> Iterator[str]:
    yield f"$CATEGORY: {_category(variants[0])}\n"
    for one in variants:
        intro = words(one.language)["words"]["intro"]
        asked = words(one.language)["words"]["asked"]
        for k, (name, unit) in enumerate(zip(one.names, one.units, strict=True)):
            wanted = f"{asked} {name} ({unit})" if unit else f"{asked} {name}"
            text = GIFT.sub(r"\\\1", f"{one.text} {wanted}. {intro}".replace("\n", " "))
            title = GIFT.sub(r"\\\1", f"{_name(one)} {name}")
            rows = [f"={number(x)}:{number(one.margin(x))}" for x in right_values(one, k)]
            rows += [
                f"=%0%{number(x)}:{number(one.margin(x))}#{GIFT.sub(_escaped, hint)}"
                for x, hint in wrong_values(one, k)
            ]
            listed = "\n".join(f"    {row}" for row in rows)
            yield f"::{title}::{text} {{#\n{listed}\n}}\n"


def _escaped(sign: re.Match) -> str:
    return f"\\{sign[1]}"
