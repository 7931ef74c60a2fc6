"""An exercise: a question with the numbers of one student, its answers and marks for others."""

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from .. import templates
from ..arguments import checked, choice, fraction, whole
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError, shown
from .questions import QUESTIONS, NumberDraw

if TYPE_CHECKING:
    from .workings import Line

LANGUAGES = ("en", "es")
TOLERANCE = 0.01  # of an answer: three digits are enough
FLOOR = 0.01  # of the exercise's largest answer: what a tolerance is a share of at least
LARGEST_SEED = 10**18
DIGITS = 4  # of an answer that is shown
TURNS = 4.0 * math.pi  # rad: farther round an angle is no answer
# what people write instead of the answer: a factor -> the word for it
MISTAKES = {
    -1.0: "sign", 180.0 / math.pi: "degrees", math.pi / 180.0: "radians", 1000.0: "thousand",
    0.001: "thousand", 2.0: "two", 0.5: "two",
}  # fmt: skip
ANGULAR = ("degrees", "radians")  # mistakes of angles only


@dataclass(frozen=True)
class Mark:
    """One answer that was checked; `hint` says what it looks like where it is wrong."""

    name: str
    unit: str
    given: float
    right: bool
    hint: str = ""


@dataclass(frozen=True)
class Exercise:
    """A question with the numbers of one student; print it, solve it, `check` it."""

    number: int
    seed: int
    language: str
    title: str
    text: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    answers: tuple[float, ...]

    @checked
    def check(self, answers: Any, tolerance: float = TOLERANCE) -> list[Mark]:
        """A mark for each answer: right within `tolerance` of the value (1 %)."""
        share = fraction(tolerance, "tolerance")
        expected = f"{len(self.names)}: {', '.join(self.names)}"
        given = numbers(answers, "answers", f"expected {expected}").reshape(-1)
        if given.shape != (len(self.names),):
            raise ShapeError(
                f"the number of answers is {given.size}, expected {expected}",
                "a comma separates answers; write decimals with a point",
            )
        rows = zip(self.names, self.units, given.tolist(), self.answers, strict=True)
        return [self._mark(*row, share) for row in rows]

    def _mark(self, name: str, unit: str, given: float, right: float, share: float) -> Mark:
        floor = FLOOR * max(map(abs, self.answers))

        def near(value: float) -> bool:
            return abs(given - value) <= share * max(abs(value), floor)

        off = abs(given - right)
        if unit == "rad" and abs(given) <= TURNS:  # whole turns are no mistake
            off = abs(math.remainder(given - right, math.tau))
        if off <= share * max(abs(right), floor):
            return Mark(name, unit, given, True)
        known = {k: word for k, word in MISTAKES.items() if "rad" in unit or word not in ANGULAR}
        hint = next((word for factor, word in known.items() if near(factor * right)), "")
        if not hint and any(near(x) for x in self.answers):
            hint = "order"
        return Mark(name, unit, given, False, words(self.language)["hints"].get(hint, ""))

    def __str__(self) -> str:
        """Markdown: number, title, text and what is asked."""
        asked = words(self.language)["words"]["asked"]
        listed = ", ".join(map(_with_unit, self.names, self.units))
        return f"## {self.number}. {self.title}\n\n{self.text}\n\n{asked} {listed}\n"

    def solution(self) -> str:
        """The answers in a line."""
        rows = zip(self.names, self.answers, self.units, strict=True)
        return ", ".join(f"{name} = {rounded(x, DIGITS)} {unit}".rstrip() for name, x, unit in rows)

    def working(self) -> "tuple[Line, ...]":
        """The steps from the given numbers to the answers, line by line; needs SymPy."""
        from .workings import worked

        name = EXERCISES[self.number - 1]
        draw = NumberDraw(self.seed, name)
        QUESTIONS[name](draw)
        said = words(self.language)[name]["steps"]
        keys = (_split(x)[0] for x in words("en")[name]["answers"])
        return worked(name, draw, said, dict(zip(keys, self.names, strict=True)))


def rounded(value: float, digits: int) -> str:
    """A number to so many digits; 2.5665 is the same whichever way it was computed."""
    return f"{float(f'{value:.12g}'):.{digits}g}"


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


@cache
def words(language: str) -> dict[str, Any]:
    """Titles, texts and hints of a language."""
    return tomllib.loads(templates.text(__package__, f"exercises.{language}.toml"))


EXERCISES = tuple(QUESTIONS)  # names, in the order of their numbers


@checked
def exercise(which: int | str, seed: int = 0, language: str = "en") -> Exercise:
    """An exercise by number or name, with the numbers of the student `seed`.

    `language` is "en" or "es". The same seed gives the same numbers on every machine.
    """
    choice(language, "language", LANGUAGES)
    seed = whole(seed, "seed", 0, LARGEST_SEED)
    number = number_of(which)
    name = EXERCISES[number - 1]
    draw = NumberDraw(seed, name)
    answers = QUESTIONS[name](draw)
    said = words(language)[name]
    names, units = zip(*(_split(x) for x in said["answers"]), strict=True)
    text = said["text"].strip().format(**{k: f"{x:g}" for k, x in draw.numbers.items()})
    return Exercise(
        number, seed, language, said["title"], text, names, units,
        tuple(map(float, answers)),
    )  # fmt: skip


def number_of(which: Any) -> int:
    """The number of an exercise, given by number or name."""
    if isinstance(which, str):
        return EXERCISES.index(choice(which, "exercise", EXERCISES)) + 1
    number = whole(which, "exercise")
    if number > len(EXERCISES):
        raise OptionError(f"exercise {shown(which)} does not exist, expected 1 to {len(EXERCISES)}")
    return number


def _split(text: str) -> tuple[str, str]:
    """Name and unit of "x [m]"."""
    name, _, unit = text.partition(" [")
    return name, unit.removesuffix("]")
