"""Misprints of the source documents, each decided by the engine.

`python -m docs.errata docs/errata/index.md` writes the page; without a path it prints it.
"""

from collections.abc import Mapping, Sequence

from dynamis.files import write

from . import document_000, document_001, document_002, document_003, document_004
from .engine import AGREES
from .entry import Entry

DOCUMENTS: Mapping[str, tuple[str, Sequence[Entry]]] = {
    "000": ("Practica 3, Dinamica de Robots", document_000.ENTRIES),
    "001": ("Modelacion dinamica y simulacion de robots", document_001.ENTRIES),
    "002": (
        "Analisis dinamico, control dinamico y simulacion de un robot de 6 grados de libertad",
        document_002.ENTRIES,
    ),
    "003": (
        "Modelado y resolucion del problema dinamico inverso y directo en tiempo real de robots "
        "industriales",
        document_003.ENTRIES,
    ),
    "004": ("Algoritmo computacional Lagrange-Euler", document_004.ENTRIES),
}
HEAD = """\
# Errata of the source documents

dynamis implements the formulations of five documents. Their formulas have slips, of the authors,
of the printer or of the scanner. For each one this page gives what is printed, what is right, and
the check that decides: both formulas are evaluated next to what the engine computes for a robot
of the catalogue. A right formula agrees to better than {agrees:g}; the last line of every entry
says how far the printed one is off. Where a printed formula has no meaning, the text says how it
was read.

This page is written by `python -m docs.errata docs/errata/index.md`.
"""


def page() -> str:
    """The errata page as Markdown; every check is run."""
    parts = [HEAD.format(agrees=AGREES)]
    for number, (title, entries) in DOCUMENTS.items():
        parts.append(f"## Document {number}: {title}\n")
        parts += [_section(f"{number}.{k + 1}", entry) for k, entry in enumerate(entries)]
    return "\n".join(parts)


def _section(number: str, entry: Entry) -> str:
    found = entry.check()
    if not found.decides:
        raise ArithmeticError(f"erratum {number} ({entry.where}) is not decided: {found}")
    return (
        f"### {number} {entry.where.replace('_', chr(92) + '_')}\n\n"
        f"Printed:\n\n$$ {entry.printed} $$\n\n"
        f"Right:\n\n$$ {entry.right} $$\n\n"
        f"{entry.why}\n\n"
        f"Check: the printed formula is off by {found.printed:.2g}.\n"
    )


def main(arguments: Sequence[str]) -> None:
    """Write the page to a file, or print it."""
    if arguments:
        write(arguments[0], page())
    else:
        print(page(), end="")
