"""Arguments that several commands share."""

from typing import Annotated

from tyro.conf import Positional, arg

RobotName = Annotated[
    str,
    Positional,
    arg(metavar="ROBOT", help="Catalogue name, or path to a .toml or .urdf file."),
]
RobotNames = Annotated[
    tuple[str, ...],
    Positional,
    arg(
        metavar="[ROBOT ...]",
        help="Catalogue names, or paths to .toml or .urdf files.",
        help_behavior_hint="",
    ),
]
Json = Annotated[
    bool,
    arg(help="Print JSON on stdout instead of tables.", help_behavior_hint=""),
]
