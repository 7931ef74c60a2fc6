"""Functions and laws that a user writes: where one went wrong, and what to write instead.

A law is called once with symbols, which only record what is computed with them. Whatever cannot be
recorded raises somewhere; here that becomes the line of the user's code, and words.
"""

import linecache
import os
import re
import sysconfig
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from .errors import PACKAGE, abbreviated, did_you_mean
from .spatial.recorder import BRANCH, BY_ZERO, EQUAL, NOT_A_NUMBER, NUMBER

QUOTED = 80  # characters of a line of code
ELEMENTARY = (
    "sin", "cos", "sqrt", "exp", "log", "tanh", "sign", "min", "max", "floor", "atan2", "select",
)  # fmt: skip
LIBRARIES = re.compile(r"\b(?:math|np|numpy|cmath)\.(\w+)")
INSTEAD: Mapping[str, str] = {  # functions of math and NumPy in words of these; FN: fn or arm
    **{name: f"FN.{name}(x)" for name in ("sin", "cos", "sqrt", "exp", "log", "tanh", "sign")},
    **dict.fromkeys(("maximum", "fmax", "max"), "FN.max(x, y)"),
    **dict.fromkeys(("minimum", "fmin", "min"), "FN.min(x, y)"),
    **dict.fromkeys(("where", "heaviside", "piecewise"), "FN.select(condition, a, b)"),
    **dict.fromkeys(("abs", "fabs", "absolute"), "abs(x)"),
    **dict.fromkeys(("floor", "trunc"), "FN.floor(x)"),
    **dict.fromkeys(("pow", "power"), "x ** y"),
    "round": "FN.floor(x + 0.5)",
    "ceil": "-FN.floor(-x)",
    "clip": "FN.max(low, FN.min(x, high))",
    "tan": "FN.sin(x) / FN.cos(x)",
    **dict.fromkeys(("atan2", "arctan2"), "FN.atan2(y, x)"),
    **dict.fromkeys(("atan", "arctan"), "FN.atan2(x, 1.0)"),
    **dict.fromkeys(("asin", "arcsin"), "FN.atan2(x, FN.sqrt(1.0 - x * x))"),
    **dict.fromkeys(("acos", "arccos"), "FN.atan2(FN.sqrt(1.0 - x * x), x)"),
    "hypot": "FN.sqrt(x * x + y * y)",
    "square": "x * x",
    "sinh": "0.5 * (FN.exp(x) - FN.exp(-x))",
    "cosh": "0.5 * (FN.exp(x) + FN.exp(-x))",
}

# what somebody else's code did with a symbol, by what it raised, and what to write; the first wins
COUNT = "counts or indexes with a value that is known only when it runs"
SELECT = (
    "write FN.select(condition, a, b) instead of `if`, `and`, `or`, `not` and `a < x < b`, FN.min "
    "and FN.max instead of min and max"
)
SYMBOLS = (
    "it is called once, with symbols: write FN.sin, FN.exp, ... instead of the functions of math "
    "and NumPy, and leave out float(), int() and dtype=float"
)
FIXED = "loops and indices need plain numbers: range(len(q)), q[0]; FN.select chooses a value"
CAUSES: tuple[tuple[str, str, str], ...] = (
    ("truth value", BRANCH, SELECT),
    (BRANCH, BRANCH, SELECT),
    (EQUAL, EQUAL, "compare with < or >: FN.select(abs(x) < 1e-9, a, b)"),
    (NUMBER, NUMBER, SYMBOLS),
    (NOT_A_NUMBER, NOT_A_NUMBER, "look where the NaN comes from; no torque would come out of it"),
    (BY_ZERO, BY_ZERO, "a constant of the law is zero, or rounds to it"),
    ("to_int not defined", NUMBER, SYMBOLS),
    ("setting an array element with a sequence", NUMBER, SYMBOLS),
    ("__format__", NUMBER, "print the value itself, without a format: it is a symbol"),
    ("__round__", "rounds a symbol", "write FN.floor(x + 0.5)"),
    ("__trunc__", NUMBER, SYMBOLS),
    ("cannot be interpreted as an integer", COUNT, FIXED),
    ("indices must be integers", COUNT, FIXED),
    ("loop of ufunc", "calls a function of NumPy with a symbol", SYMBOLS),
    ("maximum recursion depth", "calls a function of NumPy with a symbol", SYMBOLS),
    ("for %:", "takes a remainder", "write x - y * FN.floor(x / y)"),
    ("for //:", "divides to whole numbers", "write FN.floor(x / y)"),
    ("does not support item assignment", "writes into what it was given", "copy it: list(q)"),
    ("can't multiply sequence by non-int", "multiplies a list by a number",
     "lists are not vectors: [2.0 * x for x in q], or np.array(q) * 2.0"),
)  # fmt: skip
SYMBOL_TYPES = ("Recorded", "Scalar", "SX")


class CodeLine(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


def place_of(error: BaseException) -> CodeLine | None:
    """The line of the user's code that an error comes from.

    The last one outside this package and outside what is installed beside it.
    """
    found: list[tuple[str, int]] = []
    step: TracebackType | None = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            found.append((file, step.tb_lineno))
        step = step.tb_next
    own = [x for x in found if not in_environment(x[0])] or found[:1]
    return _place(*own[-1]) if own else None


def defined(function: Any) -> CodeLine | None:
    """Where a function, or the class of an object, was written; None for builtins."""
    function = getattr(function, "__func__", function)
    function = getattr(function, "__wrapped__", function)
    method = vars(type(function)).get("__call__")  # of an object that is called
    code = getattr(function, "__code__", getattr(method, "__code__", None))
    if code is None or code.co_filename.startswith(PACKAGE):
        return None
    return _place(code.co_filename, code.co_firstlineno)


def location(function: Any) -> str:
    """ " (law.py, line 3)" of a function of the user's, nothing where that is not known."""
    place = defined(function)
    return "" if place is None else f" ({place})"


def _place(file: str, line: int) -> CodeLine:
    text = abbreviated(linecache.getline(file, line).strip(), QUOTED)
    if "ipykernel" in file or file.startswith("<ipython"):
        return CodeLine("this notebook's cell", line, text)
    if not file.startswith("<"):
        relative = os.path.relpath(file)
        file = file if relative.startswith("..") else relative
    return CodeLine(file, line, text)


@cache
def _libraries() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple({str(Path(x)) + os.sep for x in map(sysconfig.get_path, names) if x})


def in_environment(file: str) -> bool:
    """Whether a file of code is of this package, of Python, or installed beside them."""
    if file.startswith((PACKAGE, *_libraries(), "<frozen", "<__array_function__")):
        return True
    return not {"site-packages", "dist-packages"}.isdisjoint(Path(file).parts)


def explained(error: BaseException, fn: str, what: str) -> tuple[str, str | None]:
    """Message and hint for an error of a law called with symbols; `what` cannot be used.

    `fn` is how the law calls the namespace of the elementary functions.
    """
    place = place_of(error)
    did, instead = _cause(error, "" if place is None else place.text)
    hint = None if instead is None else instead.replace("FN", fn)
    if place is None:
        return f"{what}: it {did}", hint
    quoted = f": `{place.text}`" if place.text else ""
    return f"{what}: {place} {did}{quoted}", hint


def _cause(error: BaseException, text: str) -> tuple[str, str | None]:
    """What an error says happened, and what to write instead."""
    raised = type(error).__name__
    said = (str(error).strip() or raised).splitlines()[-1]
    if isinstance(error, AttributeError) and error.name is not None:
        return _attribute(error, said, text)
    for fragment, did, instead in CAUSES:
        if fragment in said:
            return did, _for(text) or instead
    if isinstance(error, KeyError):
        return f"asks for {said}, which is not there", None
    return f"raises {raised}: {abbreviated(said, 200)}", None


def _for(text: str) -> str | None:
    """What to write instead of a function of math or NumPy in a line of code."""
    name = next((x for x in LIBRARIES.findall(text) if x in INSTEAD), None)
    return None if name is None else f"write {INSTEAD[name]} instead of {_called(text, name)}"


def _called(text: str, name: str) -> str:
    return next(m[0] for m in LIBRARIES.finditer(text) if m[1] == name)


def _attribute(error: AttributeError, said: str, text: str) -> tuple[str, str | None]:
    """An attribute that something handed to a law does not have, and those it has."""
    name, kind = str(error.name), type(error.obj).__name__
    if kind in SYMBOL_TYPES:
        did = "calls a function of NumPy with a symbol" if LIBRARIES.search(text) else said
        return did if did != said else f"asks a symbol for .{name}", _for(text) or SYMBOLS
    if kind in ("Functions", "Arm", "DriveArm"):
        known: Iterable[str] = [x for x in dir(error.obj) if not x.startswith("_")]
        if kind == "Functions":
            known = ELEMENTARY
        instead = INSTEAD.get(name)
        hint = f"write {instead}" if instead else did_you_mean(name, known)
        return f"asks for {'fn' if kind == 'Functions' else 'arm'}.{name}, which is not there", hint
    if kind in ("Sample", "SimpleNamespace", "Reference"):
        held = [x for x in dir(error.obj) if not x.startswith("_") and x not in ("count", "index")]
        hint = did_you_mean(name, held)
        if kind == "SimpleNamespace":
            hint += "; states are named by `start`, gains by GAINS or `gains(robot)`"
        return f"asks for .{name}, which is not there", hint
    return f"raises {type(error).__name__}: {said}", None
