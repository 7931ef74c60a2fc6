"""Exercises with numbers of their own for every student, and answers that check themselves."""

from ..lazy import public_dir
from .classes import Student, write_class
from .drawings import Drawing, Pen
from .exercise import Exercise, Mark, exercise
from .marking import ClassMarks, StudentMarks, TermMarks, class_marks, term_marks
from .notebooks import assignment, write_assignment
from .question import EXERCISES, Question, Step, register
from .quiz import quiz, write_quiz
from .sheets import sheet

__all__ = [
    "EXERCISES",
    "ClassMarks",
    "Drawing",
    "Exercise",
    "Mark",
    "Pen",
    "Question",
    "Step",
    "Student",
    "StudentMarks",
    "TermMarks",
    "assignment",
    "class_marks",
    "exercise",
    "quiz",
    "register",
    "sheet",
    "term_marks",
    "write_assignment",
    "write_class",
    "write_quiz",
]
__dir__ = public_dir(__name__)
