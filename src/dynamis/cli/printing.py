"""Output of the commands: tables and JSON on stdout, messages on stderr.

Names and descriptions of a robot are untrusted text: terminal control characters are escaped.
"""

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..errors import legible
from ..progress import said

PIPED_WIDTH = 160  # columns if the output is not a terminal
STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan", "good": "green", "": ""}

Cell = str | tuple[str, str]  # text, or text and the name of its style


def data(*things: Any) -> None:
    """Print texts and tables on stdout."""
    said()
    _console(sys.stdout).print(*(legible(x) if isinstance(x, str) else x for x in things))


def talk(text: str) -> None:
    """Print on stderr."""
    said()
    _console(sys.stderr).print(legible(text), soft_wrap=True)  # an address stays in one piece


def wrote(*paths: Any) -> None:
    """Say which files were written."""
    for path in paths:
        if path is not None:
            talk(f"wrote {path}")


def raw(text: str) -> None:
    """Print on stdout as it is, without wrapping."""
    said()
    print(legible(text), end="")


def data_json(value: Any) -> None:
    """Print one JSON document on stdout: of arrays, paths and dataclasses too.

    Numbers that JSON lacks become null.
    """
    said()
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    escaped = not encoding.lower().startswith("utf")
    print(legible(json.dumps(_plain(value), indent=2, ensure_ascii=escaped, allow_nan=False)))


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Cell]], right: Sequence[str] = ()
) -> Table:
    """A table; the columns in `right` are set flush right."""
    title = legible(title)
    result = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    for column in columns:
        result.add_column(
            legible(column), justify="right" if column in right else "left", overflow="fold"
        )
    for row in rows:
        cells = ((cell, "") if isinstance(cell, str) else cell for cell in row)
        result.add_row(*(Text(legible(text), style=STYLES[style]) for text, style in cells))
    return result


def number(value: float) -> str:
    """A number as short as six digits allow."""
    return f"{value:.6g}" if value else "0"  # no -0


def _console(stream: Any) -> Console:
    wide = None if stream.isatty() or "COLUMNS" in os.environ else PIPED_WIDTH
    return Console(file=stream, width=wide, markup=False, emoji=False, highlight=False)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if (listed := getattr(value, "tolist", None)) is not None:  # NumPy's
        return _plain(listed())
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# hints in the words of a terminal: Python's `columns=dict(q=...)` is `--columns q=...`


def _typed(given: str) -> str:
    """Keywords and lists of Python as words of a shell, quoted where one needs it: q=a,b."""
    bare = re.sub(r"'([\w./-]*)'", r"\1", given.replace("[", "").replace("]", ""))
    return re.sub(r"\bNone\b", "", re.sub(r",\s+", ",", bare))


WORDS: tuple[tuple[str, str | Callable[[re.Match], str]], ...] = (
    (r"; columns=dict\(q=\[\.\.\.\]\) says which[\w ]*(, in that order)?", ""),  # of a motion: none
    (r"columns=dict\(((?:'[^']*'|[^)'])*)\)", lambda x: "--columns " + _typed(x[1])),
    (r"\bsample_time=(?=\d)", "--sample-time "),
    (r"(?<!\S)sample_time(?:=(?:\.\.\.)?)?(?![\w.])", "--sample-time"),  # no part of a file's name
    (r"\bdt(?:=| = )(?=\d)(?!\S+ s\b)", "--dt "),  # what to give, not what was given, in seconds
    (r"^limit (?=is|has)", "--torque-limit "),
    (r"^safe_damping (?=is|has)", "--safe-damping "),
    (r"\b(safe|velocity)=\"(\w+)\"", r"--\1 \2"),
    (r"\bsafe_damping=\"(\w+)\"", r"--safe-damping \1"),
    (r"(?<!\S)drive_gains=\[\.\.\.\]", "--gains NUMBER,.."),
    (r"(?<!\S)drive_gains(?![\w.])", "--gains"),
    (r"\btopic=\('([^']*)', '([^']*)'\)", r"--topic \1,\2"),
    (r"\btopic=(?![\w(])", "--topic"),
    (r"\b(estimator|friction)=['\"]([\w-]+)['\"]", r"--\1 \2"),
    (r"\brotors=True\b", "--rotors"),
    (r"\brotors=False\b", "--no-rotors"),
    (r"\bunits=\{([^}]*)\}", lambda x: "--units " + _typed(re.sub(r"'(\w+)': ", r"\1=", x[1]))),
    (r"\bjoints=\[([^\]]*)\]", lambda x: "--joints " + _typed(x[1])),
    (r"\bor \{'(\w+)': '([\w/]+)'\}", r"or \1=\2"),
    (r"\bprocessing=dy\.Processing\(torque_delay='estimate'\)", "--torque-delay estimate"),
    (r"\b(processing=dy\.Processing\([^)]*\))", r"dy.identify(..., \1) in Python"),
    (r"(?<!\S)joints=(?= )", "--joints"),
    (r"\bdy\.excite\b", "dynamis excite"),
    (r"\bconsistent=False\b", "--inconsistent"),
    (r"; force=True goes on", ""),
    (r"\bdy\.load\(path, run_xacro=True\)", "--run-xacro"),
    (r"\brun_xacro(=True)?(?= was| needs|, which)", "--run-xacro"),
)


def in_terminal(text: str) -> str:
    """A hint for Python with the options of the command line."""
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text
