"""Hints in the words of a terminal: Python's `columns=dict(q=...)` is `--columns q=...`."""

import re
from collections.abc import Callable

WORDS: tuple[tuple[str, str | Callable[[re.Match], str]], ...] = (
    (r"columns=dict\(([^)]*)\)", lambda found: "--columns " + _pairs(found[1])),
    (r"(?<!\S)sample_time(?:=(?:\.\.\.)?)?(?![\w.])", "--sample-time"),  # no part of a file's name
    (r"(?<!\S)drive_gains(?![\w.])", "--gains"),
    (r"\bestimator=['\"](\w+)['\"]", r"--estimator \1"),
    (r"\bdy\.excite\b", "dynamis excite"),
    (r"; force=True goes on", ""),
)


def in_terminal(text: str) -> str:
    """The same advice, as it is typed after a prompt."""
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text


def _pairs(inside: str) -> str:
    return inside.replace(" ", "").replace("None", "")
