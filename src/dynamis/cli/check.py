"""`dynamis check`: errors in a robot's description."""

from ..robot import load
from .arguments import Json, RobotName, RunXacro
from .printing import data, data_json, in_terminal, table


def run(robot: RobotName, *, run_xacro: RunXacro = False, json: Json = False) -> int:
    """Check a robot's description for errors.

    Findings are errors, warnings and notes, each with what to do. Exit code 1 if there is an error,
    2 if the description cannot be read.

    For example:

      dynamis check puma560
      dynamis check arm.toml --json
    """
    found = load(robot, run_xacro=run_xacro)
    findings = found.check()
    worst = any(f.level == "error" for f in findings)
    if json:
        data_json({"robot": found.name, "ok": not worst, "findings": findings})
        return int(worst)
    if not findings:
        data(f"{found.name}: no findings")
        return 0
    rows = [((f.level, f.level), f.where, f.what, in_terminal(f.remedy)) for f in findings]
    data(table(f"{found.name}: findings", ("level", "where", "what", "what to do"), rows))
    return int(worst)
