"""An exercise: a question with the numbers of one student, its answers and marks for others."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..arguments import checked, choice, fraction, whole
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError
from ..lazy import cached_property
from .drawings import Drawing
from .question import LANGUAGES, Question, name_and_unit, question_of, words
from .questions.draw import SLIPS, Answers, NumberDraw
from .typeset import plain

if TYPE_CHECKING:
    from .workings import Line

TOLERANCE = 0.01  # of an answer: three digits are enough
FLOOR = 0.01  # of the exercise's largest answer: what a tolerance is a share of at least
LARGEST_SEED = 10**18
DIGITS = 4  # of an answer that is shown
TURNS = 4.0 * math.pi  # rad: farther round an angle is no answer
# what people write instead of the answer: a factor, the unit of the answer, and the hint
MISTAKES: tuple[tuple[float, str, str], ...] = (
    (-1.0, "", "sign"), (180.0 / math.pi, "rad", "degrees"), (math.pi / 180.0, "rad", "radians"),
    (math.pi / 180.0, "°", "give_degrees"), (30.0 / math.pi, "rad/s", "rpm"),
    (math.pi / 30.0, "rpm", "give_rpm"), (1.0 / 60.0, "rpm", "per_second"),
    (1000.0, "", "thousand"), (0.001, "", "thousand"), (2.0, "", "two"), (0.5, "", "two"),
)  # fmt: skip


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
    """A question with the numbers of one student; print it, solve it, `check` it.

    A notebook shows it with its drawing and, where ipywidgets is installed, boxes for the answers.
    """

    number: int
    seed: int
    language: str
    title: str
    text: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    answers: tuple[float, ...]
    question: Question = field(repr=False, compare=False)

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
        return [self._mark(k, value, share) for k, value in enumerate(given.tolist())]

    def margin(self, value: float, share: float = TOLERANCE) -> float:
        """Distance within which an answer is taken for a value."""
        return share * max(abs(value), FLOOR * max(map(abs, self.answers)))

    def _mark(self, k: int, given: float, share: float) -> Mark:
        name, unit, right = self.names[k], self.units[k], self.answers[k]
        off = abs(given - right)
        if unit == "rad" and abs(given) <= TURNS:  # whole turns are no mistake
            off = abs(math.remainder(given - right, math.tau))
        if off <= self.margin(right, share):
            return Mark(name, unit, given, True)
        likely = self.typical(k) if math.isfinite(given) else ()
        near = (hint for value, hint in likely if abs(given - value) <= self.margin(value, share))
        return Mark(name, unit, given, False, next(near, ""))

    def typical(self, k: int) -> Iterator[tuple[float, str]]:
        """Wrong values of answer number k that people give, each with what to say about it.

        First mistakes of this question, then wrong factors, then slips (g = 10), then the other
        answers; a value that counts as right is left out.
        """
        said, right, unit = words(self.language)["hints"], self.answers[k], self.units[k]
        own = self.question.said(self.language).get("mistakes", {})
        every = [(values[k], own.get(hint, "")) for hint, values in self.drawn().mistakes.items()]
        every += [(x * right, said[hint]) for x, of, hint in MISTAKES if self._fits(of, unit)]
        every += [(values[k], said[hint]) for hint, values in self._slips]
        every += [(x, said["order"]) for x in self.answers]
        for value, hint in every:
            if math.isfinite(value) and abs(value - right) > self.margin(right):
                yield value, hint

    @staticmethod
    def _fits(of: str, unit: str) -> bool:
        """True if a wrong factor is one of this unit."""
        return of in unit if of != "°" else unit == of

    @cached_property
    def _slips(self) -> list[tuple[str, Answers]]:
        """Hint and answers of each slip."""
        right, found = self.drawn(), []
        for hint, slip in SLIPS.items():
            draw = NumberDraw(self.seed, self.question.name, slip)
            try:
                wrong = self.question.solved(draw, self.language)
            except (ArithmeticError, ValueError):
                continue
            if draw.numbers == right.numbers:  # else the slip is one of who set the question
                found.append((hint, wrong))
        return found

    def drawn(self) -> NumberDraw:
        """The numbers of the exercise, drawn again."""
        draw = NumberDraw(self.seed, self.question.name)
        self.question.solve(draw)
        return draw

    @property
    def heading(self) -> str:
        """5. Holding a load"""
        return f"{self.number}. {self.title}"

    @property
    def source(self) -> str:
        """The text with its formulas in LaTeX, between dollar signs."""
        return _source(self.question, self.language, self.drawn())

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of its numbers and answers, which sheets typeset."""
        return (*self.drawn().numbers, *self.names)

    @property
    def drawing(self) -> Drawing | None:
        """A picture of the arm, labelled with the names in the text; None where there is none."""
        return self.question.drawing

    def svg(self) -> str:
        """The drawing as an SVG picture; empty where there is none."""
        return "" if self.drawing is None else self.drawing.svg(self.title)

    def _repr_html_(self) -> str:
        from .display import fragment

        return fragment(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """For notebooks: boxes for the answers where ipywidgets is installed, else HTML."""
        from .display import bundle

        return bundle(self)

    def __str__(self) -> str:
        """Markdown: number, title, text and what is asked."""
        asked = words(self.language)["words"]["asked"]
        listed = ", ".join(map(_with_unit, self.names, self.units))
        return f"## {self.heading}\n\n{self.text}\n\n{asked} {listed}\n"

    def solution(self) -> str:
        """The answers in a line."""
        rows = zip(self.names, self.answers, self.units, strict=True)
        return ", ".join(f"{name} = {rounded(x, DIGITS)} {unit}".rstrip() for name, x, unit in rows)

    def working(self) -> "tuple[Line, ...]":
        """The steps from the given numbers to the answers, line by line; needs SymPy."""
        from .workings import worked

        said = self.question.said(self.language).get("steps", {})
        names = dict(zip(self.question.keys, self.names, strict=True))
        return worked(self.question.working_steps(), self.drawn(), said, names)


def rounded(value: float, digits: int) -> str:
    """A number to so many digits; 2.5665 is the same whichever way it was computed."""
    return f"{float(f'{value:.12g}'):.{digits}g}"


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


@checked
def exercise(which: int | str | Question, seed: int = 0, language: str = "en") -> Exercise:
    """An exercise by number or name, with the numbers of the student `seed`.

    `language` is "en" or "es". The same seed gives the same numbers on every machine. `which` may
    be a `Question` of your own.
    """
    choice(language, "language", LANGUAGES)
    seed = whole(seed, "seed", 0, LARGEST_SEED)
    question = question_of(which)
    draw = NumberDraw(seed, question.name)
    answers = question.solved(draw, language)
    said = question.said(language)
    names, units = zip(*map(name_and_unit, said["answers"]), strict=True)
    text = plain(_source(question, language, draw))
    return Exercise(
        question.number, seed, language, said["title"], text, names, units,
        tuple(answers), question,
    )  # fmt: skip


def _source(question: Question, language: str, draw: NumberDraw) -> str:
    shown = {k: f"{x:g}" for k, x in draw.numbers.items()}
    try:
        return question.said(language)["text"].strip().format(**shown)
    except (KeyError, IndexError, ValueError) as error:
        raise OptionError(
            f"the text of exercise {question.name!r} cannot be filled in: {error!r}; numbers drawn "
            f"are {', '.join(shown)}",
            "write numbers as {name}, and braces of a formula twice: {{ }}",
        ) from None


def number_of(which: Any) -> int:
    """The number of an exercise, given by number or name."""
    return question_of(which).number
