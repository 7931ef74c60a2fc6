"""`dynamis completion`: completion scripts for commands, options and robots."""

import inspect
from typing import Annotated, Any, Literal, get_args, get_origin

from tyro.conf import Positional

from .. import templates
from ..model.catalogue import names
from ..progress import said
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
        said()
        print(text, end="")
    return 0


def script(shell: str) -> str:
    """The completion script: cases of options by command, and the commands that take a robot."""
    from . import COMMANDS, run_of

    runs = {name: run_of(name) for name in COMMANDS}
    typed = {name: arguments.options(command) for name, command in runs.items()}
    known = {name: list(options) for name, options in typed.items()}
    words = {(n, o): _words(hint) for n, options in typed.items() for o, hint in options.items()}
    chosen = {place: " ".join(found) for place, found in words.items() if found}
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
              + (f" -xa '{chosen[n, x]}'" if (n, x) in chosen else "")
              for n, o in known.items() for x in o),
        ],
    }  # fmt: skip
    offered = {
        "bash": 'COMPREPLY=($(compgen -W "{}" -- "$word")); return ;;',
        "zsh": "compadd -- {}; return ;;",
        "fish": "",
    }[shell]
    choices = [f'        "{n} {x}") {offered.format(w)}' for (n, x), w in chosen.items()]
    return templates.filled(
        __package__,
        f"completion.{shell}",
        COMMANDS=" ".join(known),
        DESCRIBED=" ".join(f"'{n}:{a}'" for n, a in about.items()),
        CASES="\n".join(cases[shell]),
        CHOICES="\n".join(choices),
        TAKERS=(" " if shell == "fish" else "|").join(takers),
        ROBOTS=" ".join(names()),
    )


def _words(hint: Any) -> tuple[str, ...]:
    """The words that the value of an option may be; none if it may be anything."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return next((found for part in get_args(hint) if (found := _words(part))), ())
