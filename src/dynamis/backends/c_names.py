"""Names that are safe in generated code: whatever a model file calls itself."""

import re
from collections.abc import Iterable

KEYWORDS = frozenset(
    [
        "auto",
        "break",
        "case",
        "char",
        "const",
        "continue",
        "default",
        "do",
        "double",
        "else",
        "enum",
        "extern",
        "float",
        "for",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "main",
        "register",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "typedef",
        "union",
        "unsigned",
        "void",
        "volatile",
        "while",
        "sin",
        "cos",
        "sqrt",
        "exp",
        "log",
        "tanh",
        "pow",
        "atan2",
        "floor",
        "fabs",
    ]
)
LONGEST = 40


def identifier(text: str, otherwise: str = "robot") -> str:
    """A C identifier that resembles `text`: letters, digits and underscores only."""
    plain = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()[:LONGEST].strip("_")
    if not plain or plain[0].isdigit():
        plain = f"{otherwise}_{plain}".rstrip("_")
    return f"{plain}_" if plain in KEYWORDS else plain


def comment(text: str) -> str:
    """`text` as it may stand in a comment: one line, ASCII, unable to end the comment."""
    plain = re.sub(r"[^ -~]+", "?", text.replace("\n", " ").replace("\\", "/"))
    plain = re.sub(r"\?+", "?", plain)  # no trigraphs
    return plain.replace("*/", "* /").replace("/*", "/ *")


def intro(notes: Iterable[str]) -> str:
    """The comment that begins a file of C."""
    return f"/*\n{remarks(notes, ' *')} */"


def remarks(notes: Iterable[str], mark: str = "#") -> str:
    """Notes as lines of comment, each behind its mark."""
    return "".join(f"{mark} {comment(line)}".rstrip() + "\n" for line in notes)
