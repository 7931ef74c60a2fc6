"""Every error dynamis raises, and its one warning.

A message says what was given, what was expected and, on a `hint:` line, what to do.
"""

from collections.abc import Iterable

LONGEST_WORD = 100  # characters of a name that may be a misspelling


class DynamisError(Exception):
    """Base of all errors of this package."""

    def __init__(self, message: str, hint: str | None = None):
        self.hint = hint
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")


class ModelError(DynamisError, ValueError):
    """A robot description that means nothing."""


class FileError(DynamisError, ValueError):
    """A file that cannot be read as a robot, or written."""


class SymbolError(DynamisError, ValueError):
    """A number was needed where the model has a symbol without a value."""


class ShapeError(DynamisError, ValueError):
    """An array of the wrong shape or kind."""


class OptionError(DynamisError, ValueError):
    """An option, name or method that does not exist, or does not apply to this robot."""


class SingularError(DynamisError, ArithmeticError):
    """A mass matrix that cannot be inverted."""


class MissingPackageError(DynamisError, ImportError):
    """A package of an extra that is not installed."""


class DynamisWarning(UserWarning):
    """Something worth saying that does not stop the work."""


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or lists the words there are."""
    import difflib

    words = [str(word) for word in known]
    typed = given if isinstance(given, str) and len(given) <= LONGEST_WORD else ""
    close = difflib.get_close_matches(typed, words, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return "known: " + ", ".join(words) if words else "none are known here"
