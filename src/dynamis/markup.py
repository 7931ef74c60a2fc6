"""Plain text inside Markdown and LaTeX: nothing in it is a command there."""

LATEX = str.maketrans({
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
})  # fmt: skip
MARKDOWN = str.maketrans(
    {c: f"\\{c}" for c in "\\`*_[]#|$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)


def latex(text: str) -> str:
    """The text as it is, in LaTeX."""
    return text.translate(LATEX)


def markdown(text: str) -> str:
    """The text as it is, in Markdown."""
    return text.translate(MARKDOWN)
