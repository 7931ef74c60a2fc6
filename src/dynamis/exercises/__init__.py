"""Exercises with numbers of their own for every student, and answers that check themselves."""

from .exercise import EXERCISES, Exercise, Mark, exercise, sheet

__all__ = ["EXERCISES", "Exercise", "Mark", "exercise", "sheet"]
