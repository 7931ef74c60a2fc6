"""`dynamis studio`: the workbench in the browser."""

import sys
from typing import Annotated

from tyro.conf import Positional, arg

from .arguments import Json
from .printing import data_json, talk

RobotOrNone = Annotated[
    str,
    Positional,
    arg(metavar="[ROBOT]", help="Catalogue name, or path to a .toml or .urdf file."),
]


def run(
    robot: RobotOrNone = "puma560",
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open: bool = False,
    json: Json = False,
) -> int:
    """Look at a robot, edit it, move it, simulate it: in the browser, until interrupted.

    Only this machine can reach it, unless --host says otherwise; the address holds a token.

    For example:

      dynamis studio
      dynamis studio arm.urdf --open
      dynamis studio panda --port 0 --json
      dynamis studio --host 0.0.0.0

    Args:
        host: Address it listens at; 0.0.0.0 for every network.
        port: Where it listens; 0 for any that is free.
        open: Open the address in this machine's browser.
    """
    from ..studio import Studio

    studio = Studio(robot, host, port)
    if json:
        data_json({"address": studio.address})
    else:
        print(studio.address)
    sys.stdout.flush()
    talk(f"{studio.robot.name} is in the studio; Ctrl+C ends it")
    if host in ("0.0.0.0", "::"):
        talk("from other machines: the same address with this machine's name or number")
    if open:
        import webbrowser

        webbrowser.open(studio.address)
    studio.wait()
    return 0
