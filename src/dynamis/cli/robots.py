"""`dynamis robots`: the catalogue."""

import re
from typing import Any

from ..model import catalogue
from ..robot import load
from .arguments import Json
from .printing import data, data_json, table


def run(*, json: Json = False) -> int:
    """List the robots of the catalogue.

    For example:

      dynamis robots
      dynamis robots --json
    """
    entries = [_entry(name) for name in catalogue.names()]
    if json:
        data_json(entries)
        return 0
    columns = ("name", "joints", "dof", "convention", "description")
    rows = [[str(entry[column]) for column in columns] for entry in entries]
    data(table("", columns, rows, right=("dof",)))
    return 0


def _entry(name: str) -> dict[str, Any]:
    robot = load(name)
    _, *counts = robot.model.size_text.split(", ")  # of a mechanism with closures: the last ones
    joints = ", ".join([robot.model.joint_letters, *counts[-1:]])
    return {
        "name": name,
        "joints": joints,
        "dof": robot.dof,
        "convention": robot.model.convention,
        "description": first_sentence(robot.model.description),
    }


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a word."""
    flat = " ".join(text.split())
    found = re.match(r".*?([a-z)\]\d]|[A-Z]{2})\.(?= |$)", flat)
    return found[0] if found else flat
