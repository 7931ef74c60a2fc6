"""`dynamis league`: every estimator on every data set, by held-out error."""

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from ..errors import OptionError
from .arguments import Json, check_folders, words
from .printing import Cell, data, data_json, raw, table, wrote

Folders = Annotated[
    tuple[Path, ...],
    Positional,
    arg(metavar="FOLDER [FOLDER ...]", help="Folders with data sets.", help_behavior_hint=""),
]


def run(
    folders: Folders,
    *,
    estimators: Annotated[str | None, arg(metavar="NAME,..")] = None,
    ignore_hashes: bool = False,
    output: Path | None = None,
    markdown: bool = False,
    json: Json = False,
) -> int:
    """Run every estimator on every data set and compare their errors on unseen motions.

    A data set is a file NAME.league.toml beside its logs, in FOLDER or one level below. It holds:
    name; robot (of the catalogue, or a file beside it); friction, rotors, gear_matrix; [read] with
    options of dy.read_log (columns, units, sample_time, joints, drive_gains, gear_matrix, offset,
    topic); [[train]] and [[test]], each with log, and rows or window; [sha256] of the files.
    Without [[test]] the test begins at row test_from, or is the last third of the time. The public
    logs of five arms need no such file, in folders emps, lwr4, panda, tx40 and ur10e. What fails
    has the reason in its row, as do files that are not those of the definition.

    For example:

      dynamis league recordings
      dynamis league recordings/panda mine --estimators ordinary,feasible
      dynamis league recordings --output docs/league.md

    Args:
        estimators: Those to run (default: all): ordinary (plain least squares), weighted, robust,
            total, instrumental, feasible, robust-feasible, mujoco (MuJoCo's system identification),
            figaroh and figaroh-weighted (FIGAROH's).
        ignore_hashes: Run also on files whose SHA-256 is not that of the definition.
        output: Also write a page of documentation to this .md.
        markdown: Print a Markdown table instead.
    """
    from ..bench.league import COLUMNS, LeagueRow, league
    from ..files import checked_path

    if not folders:
        raise OptionError("there is no FOLDER", "dynamis league FOLDER [FOLDER ...]")
    check_folders(output)
    if output is not None:
        checked_path(output, (".md",), "page")
    found = league(folders, words(estimators), ignore_hashes)
    if output is not None:
        found.save(output)

    def cells(row: LeagueRow) -> list[Cell]:
        texts: list[Cell] = [*row.cells()]
        if row.physical is not None:
            texts[COLUMNS.index("physical")] = (
                "yes" if row.physical else "no",
                "good" if row.physical else "warning",
            )
        return texts

    if json:
        data_json(found.as_dict() | {"output": output})
    elif markdown:
        raw(found.markdown() + "\n")
    else:
        right = tuple(x for x in COLUMNS if x.endswith((", %", ", s")))
        data(table("", COLUMNS, map(cells, found.rows), right=right))
        wrote(output)
    return 0
