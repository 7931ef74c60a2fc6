"""The command line: one file per command, imported when it is called.

Data goes to stdout, talk to stderr. Exit codes: 0 fine, 1 something was found, 2 wrong input.
"""

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import NamedTuple

from .. import __version__
from ..errors import DynamisError, OptionError, did_you_mean

FINE, FOUND, WRONG, INTERRUPTED = 0, 1, 2, 130
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of a disk that takes no more


class Command(NamedTuple):
    """Where a command lives, and what it does in one line."""

    module: str
    summary: str


COMMANDS = {
    "robots": Command("robots", "list the robots of the catalogue"),
    "show": Command("show", "print what a robot is: geometry, bodies, friction, drives"),
    "check": Command("check", "look for mistakes in a robot's description"),
    "agree": Command("agree", "compare our methods with each other and with other engines"),
    "equations": Command("equations", "derive the equations of motion step by step"),
    "simulate": Command("simulate", "let a robot fall, or move it under a controller"),
    "plant": Command("plant", "simulate a robot in real time for a controller that is a program"),
    "excite": Command("excite", "design a motion that tells a robot's parameters best"),
    "identify": Command("identify", "find a robot's parameters from logs of its motion"),
    "export": Command("export", "write kernels as C that compiles and tests itself"),
    "bench": Command("bench", "measure speed next to other engines"),
    "cache": Command("cache", "show or empty the compiled code kept on disk"),
    "completion": Command("completion", "print what bash, zsh or fish need to complete commands"),
    "studio": Command("studio", "see, edit, move and simulate a robot in the browser"),
    "demo": Command(
        "demo", "the whole story on the PUMA 560: model, identification, controllers, C"
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is returned."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(words)
        sys.stdout.flush()
    except DynamisError as error:
        from .printing import in_terminal

        print(f"error: {in_terminal(str(error))}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough, as in `dynamis robots | head`
        _forget_stdout()
        return FINE
    except OSError as error:
        if error.errno not in FULL:
            raise
        _forget_stdout()
        print(f"error: cannot write: {error.strerror}", file=sys.stderr)
        return WRONG
    return code


def _forget_stdout() -> None:
    """What is still to be written goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return FINE
    if words[0] == "--version":
        print(f"dynamis {__version__}")
        return FINE
    name, *rest = words
    if name not in COMMANDS:
        raise OptionError(f"command {name!r} does not exist", did_you_mean(name, COMMANDS))
    import tyro

    from .arguments import joined, options, quiet

    run = import_module(f".{COMMANDS[name].module}", __name__).run
    known = options(run)
    _check_options(rest, known)
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.DisallowNone)
    return tyro.cli(quiet(run), prog=f"dynamis {name}", args=joined(rest, known), config=config)


def _check_options(words: Sequence[str], known: Iterable[str]) -> None:
    """Refuse an option that does not exist, with the one that was meant."""
    for word in words:
        given = word.partition("=")[0].replace("_", "-")
        if given.startswith("--") and given not in known:
            raise OptionError(f"option {given!r} does not exist", did_you_mean(given, known))


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {command.summary}" for name, command in COMMANDS.items()]
    return "\n".join(
        [
            "usage: dynamis COMMAND [options]",
            "",
            "From a robot arm's DH table or URDF to its equations, numbers and controller.",
            "",
            "commands:",
            *lines,
            "",
            "`dynamis COMMAND --help` has examples. ROBOT is a name of the catalogue or a path",
            "to a .toml or .urdf file. Every command takes --json.",
        ]
    )
