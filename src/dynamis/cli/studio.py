"""`dynamis studio`: the graphical user interface in the browser."""

import sys
from typing import Annotated

from tyro.conf import Positional, arg

from ..progress import said
from ..robot import load
from .arguments import FILES, Json, RunXacro
from .printing import data_json, talk

RobotOrNone = Annotated[
    str,
    Positional,
    arg(metavar="[ROBOT]", help=f"Catalogue name, or path to a {FILES} file."),
]


def run(
    robot: RobotOrNone = "puma560",
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    open: bool = False,
    run_xacro: RunXacro = False,
    json: Json = False,
) -> int:
    """View, edit, move and simulate a robot in the browser, until interrupted.

    It is accessible only from this machine unless --host is given; the address contains a token.

    For example:

      dynamis studio
      dynamis studio arm.urdf --open
      dynamis studio panda --port 0 --json
      dynamis studio --host 0.0.0.0

    Args:
        host: Address to listen on; 0.0.0.0 for all interfaces.
        port: TCP port; 0 for any free one.
        open: Open the address in this machine's browser.
    """
    from ..studio import Studio

    studio = Studio(load(robot, run_xacro=True) if run_xacro else robot, host, port)
    if json:
        data_json({"address": studio.address})
    else:
        said()
        print(studio.address)
    sys.stdout.flush()
    talk(f"showing {studio.robot.name}; Ctrl+C ends the studio")
    if host in ("0.0.0.0", "::"):
        talk("from other machines: this address with the host name or IP address of this machine")
    if open:
        import webbrowser

        webbrowser.open(studio.address)
    studio.wait()
    return 0
