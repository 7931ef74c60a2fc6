"""LaTeX formulas of the pages as MathML, which browsers draw without a script."""

import re
from html import unescape

from dynamis.equations.render.formula import mathml

WRITTEN = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
ENVIRONMENT = re.compile(r"\\begin\{(\w+)\}(.*?)\\end\{\1\}", re.DOTALL)
WORDS = re.compile(r"(?<=\\text\{)[^{}]*")
TYPEWRITER = re.compile(r"\\mathtt\{([^{}]*)\}")
SIGNS = {
    r"\Rightarrow": "⇒",
    r"\parallel": "∥",
    r"\tfrac": r"\frac",
    r"\lVert": "‖",
    r"\rVert": "‖",
    r"\bmod": r"\; \text{mod} \;",
}


def page_with_mathml(html: str) -> str:
    """The page with every formula drawn."""
    return WRITTEN.sub(_drawn, html)


def _drawn(match: re.Match) -> str:
    block = match["tag"] == "div"
    kind = ' display="block"' if block else ""
    return f"<math{kind}><mrow>{formula(unescape(match['latex']))}</mrow></math>"


def formula(latex: str) -> str:
    """MathML of a formula, matrices and cases included."""
    latex = TYPEWRITER.sub(_typed, latex)
    latex = WORDS.sub(lambda words: words[0].replace(" ", "\u00a0"), latex)  # kept at the ends too
    for name, sign in SIGNS.items():
        latex = re.sub(re.escape(name) + r"(?![A-Za-z])", lambda _, s=sign: s, latex)
    pieces, at = [], 0
    for match in ENVIRONMENT.finditer(latex):
        pieces += [_plain(latex[at : match.start()]), _table(match[1], match[2])]
        at = match.end()
    return "".join([*pieces, _plain(latex[at:])])


def _typed(match: re.Match) -> str:
    words = match[1].replace(r"\;", " ").replace(r"\ldots", "…")
    return rf"\text{{{words}}}"


def _plain(latex: str) -> str:
    return mathml(latex) if latex.strip() else ""


def _table(kind: str, inside: str) -> str:
    """A matrix; its brackets are drawn by the style sheet, as few machines have a font for them."""
    rows = [row.split("&") for row in inside.split(r"\\") if row.strip()]
    body = "".join(
        "<mtr>" + "".join(f"<mtd>{_plain(cell)}</mtd>" for cell in row) + "</mtr>" for row in rows
    )
    return f'<mtable class="{kind}">{body}</mtable>'
