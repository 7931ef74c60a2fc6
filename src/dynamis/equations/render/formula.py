"""The small part of LaTeX our formulas use, as MathML and as plain text.

Names and general formulas are written once, in LaTeX; every page prints them from there.
"""

import re
from collections.abc import Callable
from html import escape
from typing import NamedTuple

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|\d+(?:\.\d+)?|.", re.DOTALL)
GREEK_NAMES = (
    "alpha beta gamma delta epsilon eta theta lambda mu nu xi pi rho sigma tau phi psi omega "
    "Gamma Delta Theta Lambda Sigma Phi Psi Omega"
)
GREEK: dict[str, str] = dict(zip(GREEK_NAMES.split(), "αβγδεηθλμνξπρστφψωΓΔΘΛΣΦΨΩ", strict=True))
OPERATORS = {
    "times": "\u00d7", "cdot": "·", "partial": "∂", "sum": "∑", "ge": "≥", "le": "≤", "ne": "≠",
    "in": "∈", "int": "∫", "ldots": "…", "to": "→", "approx": "≈", "pm": "±", "{": "{", "}": "}",
    "circ": "°",
}  # fmt: skip
MINUS = "\u2212"
OPENING, CLOSING = "([", ")]"
BRACKETS = (*OPENING, *CLOSING, *"{}|‖")
TALL = ("frac",)  # what brackets stretch around; they do not around dots and indices
BASE_HEIGHT = "0.6em"  # of a letter with a dot: its power stands beside the dot, not above it
INDEX = re.compile(r"^[\d,]+[xyz]?$")
SPACES = {",": "0.17em", "quad": "1em", "qquad": "2em", " ": "0.3em", ";": "0.28em"}
SUMS = ("+", "-", "=", "pm")
WORDS = ("sin", "cos", "tan", "tanh", "exp", "max", "min", "log", "det")
ACCENTS = {
    "dot": ("˙", "d"), "ddot": ("¨", "dd"), "tilde": ("~", "~"), "hat": ("^", "^"),
    "bar": ("¯", "bar"),
}  # fmt: skip
ASCII = {
    "omega": "w", "partial": "d", "times": "x", "cdot": "*", "sum": "sum ", "ldots": "...",
    "int": "integral ", "ge": ">=", "le": "<=", "ne": "!=", "to": "->", "approx": "~", "pm": "+-",
    "in": "in", "circ": "°",
}  # fmt: skip


class Node(NamedTuple):
    """One piece of a formula: its kind, its text, and the pieces inside."""

    kind: str
    text: str = ""
    parts: tuple["Node", ...] = ()


DEGREE, COMMA = Node("o", "circ"), Node("o", ",")


def parse(latex: str) -> Node:
    """A formula as a tree."""
    return _row(TOKEN.findall(latex)[::-1], "")


def _row(tokens: list[str], end: str) -> Node:
    parts: list[Node] = []
    while tokens:
        token = tokens.pop()
        if token == end:
            break
        if token in "_^":
            base = parts.pop() if parts else Node("row")
            parts.append(_scripts(tokens, token, base))
        elif not token.isspace():
            parts.append(_piece(token, tokens))
            if _is_bracket(parts[-1], CLOSING):
                _close(parts)
    return parts[0] if len(parts) == 1 else Node("row", "", tuple(parts))


def _is_bracket(node: Node, known: str) -> bool:
    return node.kind in ("o", "fence") and node.text in known


def _close(parts: list[Node]) -> None:
    """From the last bracket that is open to the one just read: one piece, as a base of scripts."""
    for k in range(len(parts) - 2, -1, -1):
        if _is_bracket(parts[k], OPENING):
            first, *inside, last = parts[k:]
            parts[k:] = [Node("group", first.text + last.text, tuple(inside))]
            return


def _scripts(tokens: list[str], first: str, base: Node) -> Node:
    found = {first: _argument(tokens)}
    if tokens and tokens[-1] in "_^" and tokens[-1] not in found:
        token = tokens.pop()
        found[token] = _argument(tokens)
    nothing = Node("row")
    return Node("scripts", "", (base, found.get("_", nothing), found.get("^", nothing)))


def _argument(tokens: list[str]) -> Node:
    while tokens and tokens[-1].isspace():
        tokens.pop()
    return _piece(tokens.pop(), tokens) if tokens else Node("row")


def _piece(token: str, tokens: list[str]) -> Node:
    if token == "{":
        return _row(tokens, "}")
    if not token.startswith("\\"):
        kind = "n" if token[0].isdigit() else "i" if token.isalpha() else "o"
        return Node(kind, token)
    name = token[1:]
    for kind, known in (("i", GREEK), ("space", SPACES), ("word", WORDS)):
        if name in known:
            return Node(kind, name)
    if name in ACCENTS:
        return Node("accent", name, (_argument(tokens),))
    if name in ("mathrm", "mathit", "operatorname", "text"):
        return Node("word", _raw(tokens))
    if name in ("frac", "sqrt"):
        return Node(name, "", tuple(_argument(tokens) for _ in range(2 if name == "frac" else 1)))
    if name in ("left", "right"):
        return Node("fence", tokens.pop())
    return Node("o", name)


def _raw(tokens: list[str]) -> str:
    """The text in braces, as it stands."""
    text = ""
    if tokens and tokens.pop() == "{":
        while tokens and (token := tokens.pop()) != "}":
            text += token.removeprefix("\\")
    return text


def mathml(latex: str) -> str:
    """Presentation MathML of a formula, without the <math> around it."""
    return _mathml(parse(latex))


def _mathml(node: Node) -> str:
    return _MATHML[node.kind](node)


def _inside(node: Node) -> str:
    return "".join(
        f'<mo form="prefix">{MINUS}</mo>' if _is_sign(node.parts, k) else _mathml(part)
        for k, part in enumerate(node.parts)
    )


def _is_sign(parts: tuple[Node, ...], k: int) -> bool:
    """True if a minus belongs to the term after it: it stands first, behind = or behind a comma."""
    return parts[k] == Node("o", "-") and (k == 0 or parts[k - 1] in (Node("o", "="), COMMA))


def _mathml_scripts(node: Node) -> str:
    base, low, high = node.parts
    inner = [_mathml(part) for part in node.parts]
    empty = Node("row")
    if base.kind == "accent" and high != empty:
        inner[0] = f'<mpadded height="{BASE_HEIGHT}">{inner[0]}</mpadded>'
    big = base == Node("o", "sum")
    if high == DEGREE:
        return inner[0] + '<mo lspace="0" rspace="0">°</mo>'
    if base == empty:  # {}^{0}A: a frame in front
        return f'<msup class="before"><mrow></mrow>{inner[2]}</msup>'
    if low == empty:
        return _tag("mover" if big else "msup", inner[0] + inner[2])
    if high == empty:
        return _tag("munder" if big else "msub", inner[0] + inner[1])
    return _tag("munderover" if big else "msubsup", "".join(inner))


def _mathml_operator(node: Node) -> str:
    sign = OPERATORS.get(node.text, node.text)
    if sign in BRACKETS:
        return _bracket(sign)
    return _tag("mo", escape(MINUS if sign == "-" else sign))


def _bracket(sign: str, stretchy: bool = False) -> str:
    tight = ' lspace="0" rspace="0"' if sign in "|‖" else ""
    return f'<mo stretchy="{str(stretchy).lower()}"{tight}>{escape(sign)}</mo>'


def _mathml_group(node: Node) -> str:
    """A pair of brackets of one size, and what is inside."""
    tall = _holds(node, TALL)
    left, right = (_bracket(sign, tall) for sign in node.text)
    return _tag("mrow", left + _inside(node) + right)


def _holds(node: Node, kinds: tuple[str, ...]) -> bool:
    return node.kind in kinds or any(_holds(part, kinds) for part in node.parts)


def _tag(name: str, inside: str) -> str:
    return f"<{name}>{inside}</{name}>"


_MATHML: dict[str, Callable[[Node], str]] = {
    "row": lambda node: _tag("mrow", _inside(node)),
    "i": lambda node: _tag("mi", escape(GREEK.get(node.text, node.text))),
    "n": lambda node: _tag("mn", escape(node.text)),
    "o": _mathml_operator,
    "fence": lambda node: _bracket(node.text),
    "group": _mathml_group,
    "word": lambda node: f'<mi mathvariant="normal">{escape(node.text)}</mi>',
    "space": lambda node: f'<mspace width="{SPACES[node.text]}"></mspace>',
    "accent": lambda node: (
        f'<mover class="dot">{_inside(node)}<mo stretchy="false">'
        f"{ACCENTS[node.text][0]}</mo></mover>"
    ),
    "frac": lambda node: _tag("mfrac", _inside(node)),
    "sqrt": lambda node: _tag("msqrt", _inside(node)),
    "scripts": _mathml_scripts,
}


def plain(latex: str) -> str:
    """A formula as one line of plain text: U_{21} is U21, \\dot{\\omega}_3 is wd3."""
    return re.sub(r" +", " ", _plain(parse(latex))).strip()


def _plain(node: Node) -> str:
    return _PLAIN[node.kind](node)


def _plain_scripts(node: Node) -> str:
    base, low, high = (_plain(part) for part in node.parts)
    if node.parts[0] == Node("row"):  # {}^{0}A: a frame in front
        return high if high.isdigit() else f"({_tight(high)})"
    if node.parts[0] == Node("o", "sum"):
        limits = f"({_tight(low)} to {high}) " if high else f"({low}) "
        return f" sum{limits}" if low else " sum "
    above = high if node.parts[2] == DEGREE else f"^{_tight(high)}" if high else ""
    return base + _plain_below(_tight(low)) + above


def _tight(text: str) -> str:
    return text.replace(" ", "")


def _plain_below(text: str) -> str:
    """U21, q_i, R_(i-1)"""
    if not text or INDEX.match(text):
        return text
    return f"_{text}" if text.isalnum() else f"_({text})"


def _plain_operator(node: Node) -> str:
    sign = ASCII.get(node.text, node.text)
    if node.text == "partial":
        return sign
    return sign if sign in "()[]{}|.'/°" else f"{sign} " if sign in ",;" else f" {sign} "


def _plain_row(parts: tuple[Node, ...]) -> str:
    """One after the other; a sign in front belongs to what follows."""
    return "".join("-" if _is_sign(parts, k) else _plain(x) for k, x in enumerate(parts))


def _above(node: Node) -> str:
    """What stands above a stroke: a sum in brackets."""
    inside = _plain(node)
    apart = any(part.kind == "o" and part.text in SUMS for part in node.parts[1:])
    return f"({inside})" if apart and node.kind == "row" else inside


def _below(node: Node) -> str:
    """What stands below a stroke: all but a single piece in brackets."""
    inside = _plain(node)
    return f"({inside})" if node.kind in ("row", "frac") else inside


_PLAIN: dict[str, Callable[[Node], str]] = {
    "row": lambda node: _plain_row(node.parts),
    "i": lambda node: ASCII.get(node.text, node.text),
    "n": lambda node: node.text,
    "o": _plain_operator,
    "fence": lambda node: node.text,
    "group": lambda node: f"{node.text[0]}{_plain_row(node.parts)}{node.text[1]}",
    "word": lambda node: node.text,
    "space": lambda node: " ",
    "accent": lambda node: _plain(node.parts[0]) + ACCENTS[node.text][1],
    "frac": lambda node: f"{_above(node.parts[0])}/{_below(node.parts[1])}",
    "sqrt": lambda node: f"sqrt({_plain(node.parts[0])})",
    "scripts": _plain_scripts,
}
