"""Texts with formulas: LaTeX between dollar signs, and names of numbers, for every format."""

import re
from collections.abc import Callable, Iterable
from html import escape

from .. import markup
from ..lazy import installed

FORMULA = re.compile(r"\$([^$]+)\$")
FRACTION = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
COMMAND = re.compile(r"\\(?:left|right|[,;! ])|[\\{}]")
SPACE = "\u00a0"  # that no line breaks at
RAISED = {"°": r"\textdegree{}"} | {
    sign: rf"\textsuperscript{{{digit}}}" for sign, digit in zip("²³⁴", "234", strict=True)
}
GREEK = (
    "alpha", "beta", "gamma", "delta", "theta", "phi", "psi", "omega", "tau", "eta", "zeta", "rho",
)  # fmt: skip
LONG = re.compile(rf"[A-Za-z]+\d+|[A-Za-z]+_\w+|qdd?|{'|'.join(GREEK)}|[A-Za-z][a-zEL]|PM")
VALUE = r"(?![\w])(?:( = )([^\s(]*)|([),.;:?]+))?"  # behind a name


def plain(text: str) -> str:
    """The text as it is printed: q1 for q_1, a/b for a fraction."""
    return FORMULA.sub(lambda x: _spoken(x[1]), text)


def _spoken(latex: str) -> str:
    found = FRACTION.sub(lambda x: f"{_grouped(x[1])}/{_grouped(x[2])}", latex)
    return COMMAND.sub("", re.sub(r"\^\{?\\circ\}?", "°", found))


def _grouped(part: str) -> str:
    return f"({part})" if " " in part.strip() else part


def html(text: str, names: Iterable[str] = ()) -> str:
    """Escaped, its formulas as MathML; so are the names of numbers wherever the text has them."""
    if not installed("sympy"):  # the renderer is beside what needs it
        return escape(plain(text)).replace(" = ", f"{SPACE}={SPACE}")
    from ..equations.render.formula import mathml
    from .workings import symbol_of

    def formula(latex: str) -> str:
        return f"<math>{mathml(latex)}</math>"

    def outside(part: str) -> str:
        return _named(part, names, shown, f"{SPACE}={SPACE}")

    def shown(name: str, value: str) -> str:
        inside = formula(symbol_of(name)) + value
        return f'<span class="keep">{inside}</span>' if value else inside

    return _parts(text, lambda x: outside(escape(x)), formula)


def latex(text: str, names: Iterable[str] = ()) -> str:
    """For LaTeX, in which nothing of the text is a command but its formulas."""
    if not installed("sympy"):
        return raised(markup.latex(plain(text)))
    from .workings import symbol_of

    def outside(part: str) -> str:
        # names are found before underscores are escaped
        pieces = _named(part, names, lambda x, value: f"\0{symbol_of(x)}\0{value}", " = ").split(
            "\0"
        )
        pieces[::2] = [raised(markup.latex(x)) for x in pieces[::2]]
        return "".join(f"${x}$" if k % 2 else x for k, x in enumerate(pieces))

    return _parts(text, outside, lambda x: f"${x}$")


def raised(text: str) -> str:
    """Signs that a LaTeX without Unicode fonts may not have."""
    return text.translate(str.maketrans(RAISED))


def _parts(text: str, outside: Callable[[str], str], formula: Callable[[str], str]) -> str:
    pieces = FORMULA.split(text)
    return "".join(formula(x) if k % 2 else outside(x) for k, x in enumerate(pieces))


def _named(text: str, names: Iterable[str], shown: Callable[[str, str], str], equals: str) -> str:
    """Names of numbers typeset: long ones anywhere, single letters in front of an equals sign."""
    known = [x for x in dict.fromkeys(names) if x.isidentifier()]
    if not known:
        return text.replace(" = ", equals)
    one = "|".join(sorted(known, key=len, reverse=True))

    def put(match: re.Match) -> str:
        name, sign, value, close = match.groups()
        if not (sign or LONG.fullmatch(name)):
            return match[0]
        return shown(name, equals + value if sign else close or "")

    return re.sub(rf"(?<![\w.])({one}){VALUE}", put, text).replace(" = ", equals)
