"""`dynamis completion`: what a shell needs to complete commands, options and robots."""

import inspect
from importlib import import_module
from typing import Annotated, Literal

from tyro.conf import Positional

from . import arguments
from .arguments import Json
from .printing import data_json

Shell = Annotated[Literal["bash", "zsh", "fish"], Positional]

BASH = """# bash completion of dynamis: source <(dynamis completion bash)
_dynamis() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{commands}" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
        *) words="" ;;
    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
        *)
            COMPREPLY=($(compgen -f -- "$word"))
            case "${{COMP_WORDS[1]}}" in
                {takers}) COMPREPLY+=($(compgen -W "{robots}" -- "$word")) ;;
            esac
            ;;
    esac
}}
complete -o filenames -F _dynamis dynamis
"""
ZSH = """#compdef dynamis
# zsh completion of dynamis: source <(dynamis completion zsh), after compinit
_dynamis() {{
    local -a known
    if (( CURRENT == 2 )); then
        known=({described})
        _describe command known
        return
    fi
    case "${{words[2]}}" in
{cases}
        *) known=() ;;
    esac
    if [[ "$PREFIX" == -* ]]; then
        compadd -- $known
        return
    fi
    case "${{words[2]}}" in
        {takers}) compadd -- {robots} ;;
    esac
    _files
}}
compdef _dynamis dynamis
"""


def run(shell: Shell, *, json: Json = False) -> int:
    """Print a completion script for a shell.

    For example:

      source <(dynamis completion bash)      # in ~/.bashrc
      source <(dynamis completion zsh)       # in ~/.zshrc, after compinit
      dynamis completion fish > ~/.config/fish/completions/dynamis.fish

    Args:
        shell: Which one.
    """
    text = {"bash": bash, "zsh": zsh, "fish": fish}[shell]()
    if json:
        data_json({"shell": shell, "script": text})
    else:
        print(text, end="")
    return 0


def options() -> dict[str, list[str]]:
    """Every command and its options."""
    from . import COMMANDS

    found = {}
    for name, command in COMMANDS.items():
        run = import_module(f".{command.module}", __package__).run
        found[name] = list(arguments.options(run))
    return found


def _takers() -> list[str]:
    """Commands that take a robot."""
    from . import COMMANDS

    found = []
    for name, command in COMMANDS.items():
        run = import_module(f".{command.module}", __package__).run
        if any(p in inspect.signature(run).parameters for p in ("robot", "robots")):
            found.append(name)
    return found


def _robots() -> list[str]:
    from ..model.catalogue import names

    return list(names())


def bash() -> str:
    """For bash."""
    known = options()
    cases = "\n".join(f'        {n}) words="{" ".join(o)}" ;;' for n, o in known.items())
    return BASH.format(
        commands=" ".join(known),
        cases=cases,
        takers="|".join(_takers()),
        robots=" ".join(_robots()),
    )


def zsh() -> str:
    """For zsh."""
    from . import COMMANDS

    known = options()
    cases = "\n".join(f"        {n}) known=({' '.join(o)}) ;;" for n, o in known.items())
    described = " ".join(f"'{n}:{_quoted(c.summary)}'" for n, c in COMMANDS.items())
    return ZSH.format(
        described=described, cases=cases, takers="|".join(_takers()), robots=" ".join(_robots())
    )


def fish() -> str:
    """For fish."""
    from . import COMMANDS

    lines = ["# fish completion of dynamis", "complete -c dynamis -f -n __fish_use_subcommand"]
    lines += [
        f"complete -c dynamis -n __fish_use_subcommand -a {n} -d '{_quoted(c.summary)}'"
        for n, c in COMMANDS.items()
    ]
    for name, known in options().items():
        seen = f"'__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c dynamis -n {seen} -l {o.removeprefix('--')}" for o in known]
    takers = " ".join(_takers())
    lines.append(
        f"complete -c dynamis -n '__fish_seen_subcommand_from {takers}' -a '{' '.join(_robots())}'"
    )
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("'", "").replace(":", ",")
