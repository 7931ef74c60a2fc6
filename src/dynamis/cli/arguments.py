"""Arguments that several commands share, and the options of a command."""

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

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


def options(run: Callable[..., int]) -> dict[str, Any]:
    """Every option of a command as it is typed, and the type of its value."""
    hints = get_type_hints(run, include_extras=True)
    named = inspect.signature(run).parameters.values()
    only = [p.name for p in named if p.kind is p.KEYWORD_ONLY]
    return {"--help": bool} | {f"--{_spelt(name, hints[name])}": hints[name] for name in only}


def _spelt(name: str, hint: Any) -> str:
    """The name of an option: its own, unless its annotation gives another."""
    if get_origin(hint) is Annotated:
        for note in get_args(hint)[1:]:
            if getattr(note, "name", None):
                return note.name
    return name.replace("_", "-")


def quiet(run: Callable[..., int]) -> Callable[..., int]:
    """The same command, whose help is silent about defaults that say nothing: None and False."""

    @functools.wraps(run)
    def command(*arguments: Any, **named: Any) -> int:
        return run(*arguments, **named)

    signature, nothing = inspect.signature(run), arg(help_behavior_hint="")
    command.__annotations__ = get_type_hints(run, include_extras=True)
    for name, parameter in signature.parameters.items():
        if parameter.default is None or parameter.default is False:
            command.__annotations__[name] = Annotated[command.__annotations__[name], nothing]
    command.__dict__ |= {"__signature__": signature}
    del command.__wrapped__  # tyro would look at that one
    return command
