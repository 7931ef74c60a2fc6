"""Errata of the source documents, each with a numerical check.

`python -m docs.errata docs/errata/index.md` writes the page; without a path it prints it.
"""

from collections.abc import Mapping, Sequence

from dynamis.files import write

from . import (
    lagrange_euler_notes,
    practica_3,
    rosillo_2010,
    six_joint_coursework,
    torres_torriti_2011,
)
from .engine import AGREES
from .entry import Entry

DOCUMENTS: Mapping[str, tuple[str, Sequence[Entry]]] = {
    "Práctica 3": ("Dinámica de Robots", practica_3.ENTRIES),
    "Torres-Torriti 2011": (
        "Modelación dinámica y simulación de robots",
        torres_torriti_2011.ENTRIES,
    ),
    "Six-joint coursework": (
        "Análisis dinámico, control dinámico y simulación de un robot de 6 grados de libertad",
        six_joint_coursework.ENTRIES,
    ),
    "Rosillo et al. 2010": (
        "Modelado y resolución del problema dinámico inverso y directo en tiempo real de robots "
        "industriales",
        rosillo_2010.ENTRIES,
    ),
    "Lagrange-Euler notes": (
        "Algoritmo computacional Lagrange-Euler",
        lagrange_euler_notes.ENTRIES,
    ),
}
HEAD = """\
# Errata of the source documents

dynamis implements the formulations of five documents. Their formulas have errors, of the authors,
the printer or the scanner. For each error this page gives the printed formula, the correct one and
a numerical check: both are compared with what dynamis computes for a robot
of the catalogue. The correct formula agrees to better than {agrees:g}; the last line of every entry
gives the deviation of the printed one. If a printed formula is meaningless, the text says how it
was read.

This page is written by `python -m docs.errata docs/errata/index.md`.
"""


def page() -> str:
    """The errata page as Markdown; every check is run."""
    parts = [HEAD.format(agrees=AGREES)]
    for name, (title, entries) in DOCUMENTS.items():
        parts.append(f"## {name}: {title}\n")
        parts += [_section(f"{name}, erratum {k + 1}", entry) for k, entry in enumerate(entries)]
    return "\n".join(parts)


def _section(number: str, entry: Entry) -> str:
    found = entry.check()
    if not found.decides:
        raise ArithmeticError(f"erratum {number} ({entry.where}) is not decided: {found}")
    return (
        f"### {number}: {entry.where.replace('_', chr(92) + '_')}\n\n"
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
