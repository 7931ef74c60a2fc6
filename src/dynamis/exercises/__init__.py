"""Exercises with numbers of their own for every student, and answers that check themselves."""

from .classes import Student, write_class
from .exercise import EXERCISES, Exercise, Mark, exercise
from .marking import ClassMarks, StudentMarks, class_marks
from .sheets import sheet

__all__ = [
    "EXERCISES",
    "ClassMarks",
    "Exercise",
    "Mark",
    "Student",
    "StudentMarks",
    "class_marks",
    "exercise",
    "sheet",
    "write_class",
]
