"""`dynamis agree`: the formulations compared with each other and with other engines."""

from typing import TYPE_CHECKING, Annotated

from rich.table import Table
from tyro.conf import arg

from ..errors import OptionError
from ..model import catalogue
from ..robot import load
from .arguments import Json, RobotNames, RunXacro
from .printing import Cell, data, data_json, table, talk

if TYPE_CHECKING:
    from ..agree import AgreementTable, Row

Every = Annotated[bool, arg(name="all", help_behavior_hint="")]


def run(
    robots: RobotNames = (),
    *,
    every: Every = False,
    samples: int = 20,
    seed: int = 0,
    run_xacro: RunXacro = False,
    json: Json = False,
) -> int:
    """Verify the dynamics: all algorithms with each other, and with other engines.

    Newton-Euler, Lagrange-Euler, Gibbs-Appell, Walker-Orin and articulated bodies, and what is
    installed of Pinocchio, MuJoCo and Robotics Toolbox.

    Each number is the largest relative difference over random states, max |a - b| / max |b|. Exit
    code 1 if one exceeds its limit.

    For example:

      dynamis agree puma560
      dynamis agree --all
      dynamis agree arm.urdf --samples 100 --json

    Args:
        every: Every robot of the catalogue.
        samples: Number of random states.
        seed: Seed of the random states.
    """
    from ..agree import agreement

    tables = []
    for name in _chosen(robots, every):
        robot = load(name, run_xacro=run_xacro and name.lower().endswith(".xacro"))
        talk(f"comparing {robot.name}")
        tables.append(agreement(robot, samples=samples, seed=seed))
    if json:
        data_json([t.as_dict() for t in tables])
    elif len(tables) == 1:
        data(_every_row(tables[0]))
    else:
        data(_overview(tables))
        for t in tables:
            for row in (row for row in t.rows if not row.ok):
                data(f"{t.robot}, {row.source}, {row.quantity}: {row.difference:.1e}")
    return int(not all(t.ok for t in tables))


def _chosen(robots: tuple[str, ...], every: bool) -> tuple[str, ...]:
    if every and robots:
        raise OptionError(f"both --all and {' '.join(robots)} were given, expected one of them")
    names = tuple(filter(_is_open, catalogue.names())) if every else robots
    if not names:
        raise OptionError("no robot was given", "name one as in `dynamis agree puma560`, or --all")
    return names


def _is_open(name: str) -> bool:
    """Whether an arm of the catalogue has no closures: of those there is one formulation only."""
    from ..model.formats.files import load_model

    return not load_model(name).closures


def _every_row(found: "AgreementTable") -> Table:
    columns = ("method or engine", "quantity", "difference", "limit", "")
    rows = [
        (row.source, row.quantity, _difference(row), f"{row.limit:.0e}", row.reason)
        for row in found.rows
    ]
    title = f"{found.robot}: {'agrees' if found.ok else 'disagrees'}"
    return table(title, columns, rows, right=("difference", "limit"))


def _difference(row: "Row") -> Cell:
    if row.difference is None:
        return ""
    return f"{row.difference:.1e}", "good" if row.ok else "error"


def _overview(tables: "list[AgreementTable]") -> Table:
    """One line per robot: the largest difference of the formulations and of each engine."""
    from ..agree.peers import PEERS

    rows = []
    for t in tables:
        peers = [t.of(name) for name in PEERS]
        own = tuple(row for row in t.rows if not any(row in rows for rows in peers))
        rows.append([t.robot, _worst(own), *(_worst(found) for found in peers)])
    return table("largest relative differences", ("robot", "formulations", *PEERS), rows)


def _worst(rows: "tuple[Row, ...]") -> Cell:
    numbers = [row for row in rows if row.difference is not None]
    if not numbers:
        return rows[0].reason.split(":")[0], "note"
    return _difference(max(numbers, key=lambda row: row.difference or 0.0))
