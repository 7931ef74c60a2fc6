"""`dynamis demo`: a first look."""

from dataclasses import asdict
from pathlib import Path

from ..report.overview import overview
from ..robot import load
from . import agree, check, show
from .arguments import Json
from .printing import data, data_json, talk

ROBOT = "puma560"


def run(*, json: Json = False) -> int:
    """Load the PUMA 560, print its DH table, check it, and compare our methods on it.

    Leaves report.html, one self-contained page, in the folder it was started from.

    For example:

      dynamis demo
    """
    robot = load(ROBOT)
    if json:
        table = agree.compared(ROBOT)
        found = [asdict(finding) for finding in robot.check()]
        data_json({"robot": robot.name, "findings": found, "agreement": table.as_dict()})
        return int(not table.ok)
    talk("a robot of the catalogue, its DH table:")
    data(show.geometry(robot))
    talk("what a check of its description finds:")
    check.run(ROBOT)
    table = agree.compared(ROBOT)
    data(agree.full_table(table))
    talk("writing report.html")
    overview(robot, table).save(Path("report.html"))
    talk("next: dynamis robots, dynamis show ROBOT, dynamis agree --all")
    return int(not table.ok)
