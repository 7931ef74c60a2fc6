"""The numbers of a student, and the slips that typical wrong answers come from."""

from collections.abc import Mapping, Sequence
from math import pi
from random import Random
from typing import Any, NamedTuple

G = 9.81
SCALES = {"Jm": 1e-4}  # of numbers that a text gives with a power of ten behind
OWN_INERTIA = "/ 12"  # of a slender bar about its middle, by m L^2
Answers = list[float]


class Slip(NamedTuple):
    """Constants of an answer: gravity, a degree in radians, the inertia of a bar."""

    g: float = G
    degree: float = pi / 180.0
    bar: str = OWN_INERTIA


RIGHT = Slip()
SLIPS: Mapping[str, Slip] = {  # names of hints
    "ten": RIGHT._replace(g=10.0),
    "degree_mode": RIGHT._replace(degree=1.0),
    "point_masses": RIGHT._replace(bar="* 0"),
    "third": RIGHT._replace(bar="/ 3"),
}


class NumberDraw:
    """Round numbers for one student: the same seed gives the same ones on every machine."""

    def __init__(self, seed: int, name: str, slip: Slip = RIGHT):
        self._random = Random(f"{seed}/{name}")
        self.slip = slip
        self.numbers: dict[str, Any] = {}
        self.angles: set[str] = set()  # numbers in degrees
        self.mistakes: dict[str, tuple[float, ...]] = {}  # hint -> the answers that it leads to

    def __call__(self, name: str, least: float, most: float, step: float) -> float:
        """A multiple of `step` from `least` to `most`, kept under its name."""
        count = round((most - least) / step) + 1
        value = round(least + step * int(self._random.random() * count), 9)
        self.numbers[name] = value
        return value

    def degrees(self, name: str, least: int, most: int) -> float:
        """An angle of whole tens of degrees, in radians; shown in degrees."""
        self.angles.add(name)
        return self(name, least, most, 10) * self.slip.degree

    def sign(self, name: str, least: float, most: float, step: float) -> float:
        """A number of either sign, never small."""
        value = self(name, least, most, step)
        if self._random.random() < 0.5:
            value = self.numbers[name] = -value
        return value

    def given(self, name: str, value: float, digits: int = 4) -> float:
        """A number of the text that follows from others, rounded as the text gives it."""
        self.numbers[name] = round(value, digits) + 0.0
        return self.numbers[name]

    def hide(self, *names: str) -> None:
        """Take back numbers that the text does not tell."""
        for name in names:
            del self.numbers[name]
            self.angles.discard(name)

    def mistake(self, hint: str, answers: Sequence[float]) -> None:
        """Keep the answers that a typical mistake leads to; `hint` is its name in the words."""
        self.mistakes[hint] = tuple(map(float, answers))
