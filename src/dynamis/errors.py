"""Every error dynamis raises, and its one warning.

A message says what was given, what was expected and, on a `hint:` line, what to do. It may quote a
file of someone else's: it is never long, and never moves a terminal's cursor.
"""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

__all__ = [
    "ClosureError", "DeviceError", "DynamisError", "DynamisWarning", "FileError", "KeywordError",
    "MissingPackageError", "ModelError", "OptionError", "ShapeError", "SingularError",
    "SymbolError",
]  # fmt: skip

PACKAGE = str(Path(__file__).parent) + os.sep
LONGEST = 2000  # characters of a message, and of its hint
LONGEST_WORD = 100  # characters of a name that may be a misspelling
QUOTED = 200  # characters of something quoted in one
# control characters (but tabs and ends of lines), marks that turn text round, halves of characters
ILLEGIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def legible(text: str) -> str:
    """The text with escapes such as \\u001b for what a terminal obeys instead of showing."""
    return ILLEGIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def abbreviated(text: str, most: int = LONGEST) -> str:
    """The text, or its beginning and its end if it is longer than `most`."""
    if len(text) <= most:
        return text
    half = most // 2 - 20
    return f"{text[:half]} ... {len(text) - 2 * half} more ... {text[-half:]}"


def shown(value: object) -> str:
    """The repr of something given, short enough to be quoted."""
    try:
        return abbreviated(repr(value), QUOTED)
    except Exception:  # of a stranger's class, or a whole number of more digits than Python prints
        return f"<{type(value).__name__}>"


def counted(count: int, word: str) -> str:
    """1 joint, 2 joints; 1 entry, 2 entries."""
    if count == 1:
        return f"1 {word}"
    return f"{count} {word[:-1]}ies" if word.endswith(("try", "ity")) else f"{count} {word}s"


def _text(given: object) -> str:
    return legible(abbreviated(given if isinstance(given, str) else shown(given)))


def worded(names: Iterable[str], most: int = 8) -> str:
    """a, b and c; of many the first ones and how many more."""
    *first, last = names
    if len(first) >= most:
        return f"{', '.join(first[:most])} and {len(first) + 1 - most} more"
    return f"{', '.join(first)} and {last}" if first else last


class DynamisError(Exception):
    """Base of all errors of this package: `message` is what it says without its `hint`."""

    def __init__(self, message: str, hint: str | None = None):
        self.message = message = _text(message)
        self.hint = hint = None if hint is None else _text(hint)
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


class KeywordError(OptionError, TypeError):
    """A keyword that a function does not take: the one `given`, and those `known`."""

    def __init__(self, message: str, given: str = "", known: Sequence[str] = ()):
        words = known if isinstance(known, tuple | list) else ()
        self.given, self.known = given, tuple(dict.fromkeys(map(str, words)))
        super().__init__(
            message, did_you_mean(given, self.known) if isinstance(given, str) and given else None
        )


class SingularError(DynamisError, ArithmeticError):
    """A mass matrix that cannot be inverted."""


class ClosureError(DynamisError, ValueError):
    """Joint positions, rates or accelerations that open a loop, or a loop that cannot close."""


class DeviceError(DynamisError, RuntimeError):
    """A GPU that is not there, or that failed."""


class MissingPackageError(DynamisError, ImportError):
    """A package of an extra that is not installed."""


class DynamisWarning(UserWarning):
    """Something worth saying that does not stop the work."""

    def __init__(self, message: str = ""):
        super().__init__(legible(abbreviated(str(message))))


def warn(message: str) -> None:
    """Give a DynamisWarning that points at the line of the user's that led to it."""
    import warnings

    frame, level = sys._getframe(1), 2
    while frame.f_code.co_filename.startswith(PACKAGE) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DynamisWarning, stacklevel=level)


def closest(given: object, known: Iterable[str]) -> str | None:
    """The known word that may have been meant."""
    import difflib

    typed = given if isinstance(given, str) and len(given) <= LONGEST_WORD else ""
    return next(iter(difflib.get_close_matches(typed, known, n=1)), None)


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """A hint that names the closest known word, or lists the words there are."""
    words = [str(word) for word in known]
    close = closest(given, words)
    if close:
        return f"did you mean {close!r}?"
    return "known: " + ", ".join(words) if words else "none are known here"


def __dir__() -> list[str]:
    """The errors, without the functions that word their messages."""
    return sorted({*__all__, "__doc__", "__file__", "__name__"})
