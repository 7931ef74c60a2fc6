"""Exercises with numbers of their own for every student, and answers that check themselves."""

from ..lazy import public_dir
from .classes import Student, write_class
from .exercise import EXERCISES, Exercise, Mark, exercise
from .marking import ClassMarks, StudentMarks, TermMarks, class_marks, term_marks
from .sheets import sheet

__all__ = [
    "EXERCISES",
    "ClassMarks",
    "Exercise",
    "Mark",
    "Student",
    "StudentMarks",
    "TermMarks",
    "class_marks",
    "exercise",
    "sheet",
    "term_marks",
    "write_class",
]
__dir__ = public_dir(__name__)
