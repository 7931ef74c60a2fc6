"""A question: an exercise before its numbers are drawn; those of the package, and a teacher's own.

spring = dy.exercises.Question(
    number=101, name="spring", solve=solve, steps=[dy.exercises.Step("q", "T / k", "rad")],
    words={"en": {"title": "A spring", "text": "... k = {k} N m/rad ...", "answers": ["q [rad]"]}},
)
dy.exercises.register(spring)
"""

import re
import runpy
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from .. import templates
from ..arguments import choice, is_whole, path_of, strict
from ..errors import DynamisError, FileError, OptionError, abbreviated, counted, shown
from .drawings import DRAWINGS, Drawing
from .questions import QUESTIONS
from .questions.draw import Answers, NumberDraw

LANGUAGES = ("en", "es")
OWN = 101  # the least number of a teacher's question
MOST = 99_999
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
WORDS = ("title", "text", "answers")  # what the words of a language must have
TABLES = ("steps", "mistakes")  # what they may have


class Step(NamedTuple):
    """One step of a working: a symbol, what it is (a SymPy expression or its text), its unit."""

    name: str
    formula: Any
    unit: str = ""


@strict
@dataclass(frozen=True)
class Question:
    """An exercise whose numbers are drawn for every seed.

    `solve` is a function of a `NumberDraw` that draws the numbers and returns the answers. `words`
    has for each language ("en", "es") a title, a text with the names of numbers in braces, the
    answers with their units ("q [rad]"), and perhaps a table of sentences for steps and one of
    hints for mistakes. A missing language is the first that is there.
    """

    number: int
    name: str
    solve: Callable[[NumberDraw], Sequence[float]]
    words: Mapping[str, Mapping[str, Any]]
    steps: Sequence[Step] | Callable[[], Sequence[Step]] = ()
    drawing: Drawing | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not is_whole(self.number) or not 0 < self.number <= MOST:
            raise OptionError(
                f"number is {shown(self.number)}, expected a whole number from {OWN} to {MOST}"
            )
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise OptionError(
                f"name is {shown(self.name)}, expected lower-case letters, digits and hyphens"
            )
        if not callable(self.solve):
            raise OptionError(f"solve is {shown(self.solve)}, expected a function of a NumberDraw")
        if not isinstance(self.words, Mapping) or not self.words:
            raise OptionError(
                f"words is {shown(self.words)}, expected a dictionary of languages",
                'words={"en": {"title": "...", "text": "...", "answers": ["q [rad]"]}}',
            )
        for language, said in self.words.items():
            choice(language, "language", LANGUAGES)
            _check_words(said, f"words[{language!r}]")

    def said(self, language: str) -> Mapping[str, Any]:
        """Words in a language, or in the first that there is."""
        return self.words.get(language) or next(iter(self.words.values()))

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the answers as steps and forms know them: those of the first language."""
        return tuple(name_and_unit(x)[0] for x in next(iter(self.words.values()))["answers"])

    def solved(self, draw: NumberDraw, language: str) -> Answers:
        """The answers with these numbers, as many as the words name."""
        found, wanted = [float(x) for x in self.solve(draw)], self.said(language)["answers"]
        if len(found) != len(wanted):
            raise OptionError(
                f"solve of exercise {self.name!r} gave {counted(len(found), 'answer')}, expected "
                f"{len(wanted)}: {', '.join(wanted)}"
            )
        return found

    def working_steps(self) -> tuple[Step, ...]:
        """The steps over symbols; needs SymPy."""
        return tuple(self.steps() if callable(self.steps) else self.steps)


def _check_words(said: Any, name: str) -> None:
    if not isinstance(said, Mapping) or any(x not in said for x in WORDS):
        raise OptionError(f"{name} is {shown(said)}, expected {', '.join(WORDS)}")
    for key in said:
        choice(key, f"key of {name}", (*WORDS, *TABLES))
    answers = said["answers"]
    if not isinstance(answers, (list, tuple)) or not answers:
        raise OptionError(f'answers of {name} is {shown(answers)}, expected a list: ["q [rad]"]')
    texts = [said["title"], said["text"], *answers]
    texts += [x for table in TABLES for x in dict(said.get(table, {})).values()]
    wrong = next((x for x in texts if not isinstance(x, str)), None)
    if wrong is not None:
        raise OptionError(f"{name} has {shown(wrong)}, expected a text")


def name_and_unit(text: str) -> tuple[str, str]:
    """Name and unit of "x [m]"."""
    name, _, unit = text.partition(" [")
    return name, unit.removesuffix("]")


@cache
def words(language: str) -> dict[str, Any]:
    """Titles, texts and hints of a language."""
    return tomllib.loads(templates.text(__package__, f"exercises.{language}.toml"))


EXERCISES = tuple(QUESTIONS)  # names, in the order of their numbers
_registered: dict[int, Question] = {}


@cache
def _built_in(number: int) -> Question:
    name = EXERCISES[number - 1]

    def steps() -> Sequence[Step]:
        from .steps import steps_of

        return steps_of(name)

    said = {language: words(language)[name] for language in LANGUAGES}
    return Question(number, name, QUESTIONS[name], said, steps, DRAWINGS[name])


def question_of(which: Any) -> Question:
    """A question by number or name, or the question itself."""
    if isinstance(which, Question):
        return which
    if isinstance(which, str):
        own = {x.name: x for x in _registered.values()}
        if which in own:
            return own[which]
        return _built_in(EXERCISES.index(choice(which, "exercise", (*EXERCISES, *own))) + 1)
    number = int(which) if is_whole(which) else 0
    if number in _registered:
        return _registered[number]
    if not 0 < number <= len(EXERCISES):
        others = ", ".join(map(str, _registered))
        raise OptionError(
            f"exercise {shown(which)} does not exist, expected 1 to {len(EXERCISES)}"
            + (f" or {others}" if others else ""),
            "exercises of a teacher's own are given first: --exercises my.py, or "
            "dy.exercises.register",
        )
    return _built_in(number)


@strict
def register(questions: Question | Sequence[Question] | str | Path) -> tuple[Question, ...]:
    """Make questions of your own known by number and name, until Python ends.

    `questions` is a `Question`, a list of them, or the path of a Python file, which is run: give
    only files that you trust. Their numbers begin at 101. One that is registered again is replaced.
    """
    if isinstance(questions, Question):
        found: list[Any] = [questions]
    elif isinstance(questions, (str, Path)):
        found = list(_questions_in(path_of(questions, "questions")))
    else:
        found = list(questions) if isinstance(questions, (list, tuple)) else [questions]
    for one in found:
        _check_own(one, found)
    for one in found:
        _registered.pop(one.number, None)
        _registered[one.number] = one
    return tuple(found)


def _check_own(one: Any, beside: Sequence[Any]) -> None:
    if not isinstance(one, Question):
        raise OptionError(
            f"questions has {shown(one)}, expected dynamis.exercises.Question, or the path of a "
            "Python file with some"
        )
    if one.number < OWN or one.name in EXERCISES:
        raise OptionError(
            f"exercise {one.name!r} has number {one.number}, and dynamis has numbers below {OWN} "
            "and their names",
            f"number={OWN}, and a name that `dynamis exercise` does not print",
        )
    known = [x for x in (*_registered.values(), *beside) if isinstance(x, Question)]
    for other in known:
        if other is not one and (other.number == one.number) != (other.name == one.name):
            raise OptionError(
                f"exercises {other.name!r} ({other.number}) and {one.name!r} ({one.number}) share "
                "a number or a name",
                "give every exercise a number and a name of its own, and keep both: forms that "
                "were handed out have them",
            )


def _questions_in(path: Path) -> Iterator[Question]:
    """The questions that a Python file defines, in its order; the file is run."""
    if path.suffix.lower() != ".py" or not path.is_file():
        raise FileError(
            f"{str(path)!r} is no Python file with exercises", "expected an existing file (.py)"
        )
    try:
        defined = runpy.run_path(str(path))
    except DynamisError as error:
        raise FileError(f"{str(path)!r}: {error}") from error
    except Exception as error:
        said = abbreviated(f"{type(error).__name__}: {error}", 200)
        raise FileError(f"{str(path)!r} could not be run: {said}") from error
    found = {id(x): x for x in defined.values() if isinstance(x, Question)}
    if not found:
        raise FileError(
            f"{str(path)!r} defines no exercise",
            "spring = dynamis.exercises.Question(number=101, ...)",
        )
    yield from found.values()
