"""`dynamis completion`: completion scripts for commands, options and robots."""

import inspect
from typing import Annotated, Literal

from tyro.conf import Positional

from .. import templates
from ..model.catalogue import names
from . import arguments
from .arguments import Json
from .printing import data_json

Shell = Annotated[Literal["bash", "zsh", "fish"], Positional]


def run(shell: Shell, *, json: Json = False) -> int:
    """Print a completion script for a shell.

    For example:

      source <(dynamis completion bash)      # in ~/.bashrc
      source <(dynamis completion zsh)       # in ~/.zshrc, after compinit
      dynamis completion fish > ~/.config/fish/completions/dynamis.fish

    Args:
        shell: bash, zsh or fish.
    """
    text = script(shell)
    if json:
        data_json({"shell": shell, "script": text})
    else:
        print(text, end="")
    return 0


def script(shell: str) -> str:
    """The completion script: cases of options by command, and the commands that take a robot."""
    from . import COMMANDS, run_of

    runs = {name: run_of(name) for name in COMMANDS}
    known = {name: list(arguments.options(command)) for name, command in runs.items()}
    given = {n: inspect.signature(r).parameters for n, r in runs.items()}
    takers = [n for n, parameters in given.items() if {"robot", "robots"} & {*parameters}]
    about = {n: text.replace("'", "").replace(":", ",") for n, text in COMMANDS.items()}
    cases = {
        "bash": [f'        {n}) words="{" ".join(o)}" ;;' for n, o in known.items()],
        "zsh": [f"        {n}) known=({' '.join(o)}) ;;" for n, o in known.items()],
        "fish": [
            *(f"complete -c dynamis -n __fish_use_subcommand -a {n} -d '{a}'"
              for n, a in about.items()),
            *(f"complete -c dynamis -n '__fish_seen_subcommand_from {n}' -l {x.removeprefix('--')}"
              for n, o in known.items() for x in o),
        ],
    }  # fmt: skip
    return templates.filled(
        __package__,
        f"completion.{shell}",
        COMMANDS=" ".join(known),
        DESCRIBED=" ".join(f"'{n}:{a}'" for n, a in about.items()),
        CASES="\n".join(cases[shell]),
        TAKERS=(" " if shell == "fish" else "|").join(takers),
        ROBOTS=" ".join(names()),
    )
