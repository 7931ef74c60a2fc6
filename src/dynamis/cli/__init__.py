"""The command line: one file per command, imported when it is called.

Data goes to stdout, messages to stderr. Exit codes: 0 success, 1 negative result, 2 wrong input.
"""

import errno
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from io import TextIOWrapper
from typing import Any

from .. import __version__
from ..arguments import one_of
from ..errors import DynamisError, DynamisWarning
from ..progress import command

SUCCESS, WRONG_INPUT, INTERRUPTED = 0, 2, 130
DISK_ERRORS = (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG, errno.EIO)

# command -> summary; the module of that name (_ for -) has its `run`: here, or in one of FOLDERS
COMMANDS = {
    "robots": "list the robots of the catalogue",
    "show": "print a robot: geometry, masses and inertias, friction, drives, limits",
    "check": "check a robot's description for errors",
    "agree": "verify the dynamics: all algorithms, Pinocchio, MuJoCo, Robotics Toolbox",
    "dh": "place Denavit-Hartenberg frames step by step, from joint axes to the table",
    "equations": "derive the equations of motion step by step",
    "simulate": "simulate a robot, free or under a controller",
    "study": "Monte Carlo simulation: errors and torques of many arms that differ",
    "plant": "simulate a robot in real time behind a UDP port, for a controller in C",
    "excite": "design an exciting trajectory for parameter identification",
    "identify": "identify a robot's parameters from logs",
    "payload": "identify the payload at the tool from a log",
    "calibrate": "calibrate a robot's geometry from points, poses or sockets",
    "drive-gains": "identify torque per current (N m/A) from logs without and with a load",
    "league": "benchmark of the estimators on data sets, by errors on unseen motions",
    "export": "export functions or a controller: C, C++, MATLAB, CasADi, FMI, ROS 2",
    "bench": "measure speed, compared with Pinocchio, MuJoCo, Robotics Toolbox",
    "cache": "show or empty the cache of compiled code",
    "exercise": "exercises with numbers for every student, and their answers checked",
    "completion": "print the completion script for bash, zsh or fish",
    "studio": "view, edit, move and simulate a robot in the browser",
    "demo": "demonstration on the PUMA 560, from DH table to controller in C",
}
FOLDERS = {"dh": "teaching", "calibrate": "measurement"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is returned."""
    words = list(sys.argv[1:] if argv is None else argv)
    if isinstance(sys.stdout, TextIOWrapper):  # a code page of Windows does not have every letter
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with _plain_warnings():
            code = _run(words)
        sys.stdout.flush()
    except DynamisError as error:
        from .printing import in_terminal  # rich, which --help does not need

        print(f"error: {in_terminal(str(error))}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader closed the pipe, as in `dynamis robots | head`
        _discard_stdout()
        return SUCCESS
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        _discard_stdout()
        print(f"error: cannot write: {error.strerror}", file=sys.stderr)
        return WRONG_INPUT
    return code


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings of ours as one line of text, without the place in Python that gave them."""
    usual = warnings.formatwarning

    def plain(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> str:
        if not issubclass(category, DynamisWarning):
            return usual(message, category, *place, **more)
        from .printing import in_terminal

        return f"warning: {in_terminal(str(message))}\n"

    warnings.formatwarning = plain
    try:
        yield
    finally:
        warnings.formatwarning = usual


def _discard_stdout() -> None:
    """Send what is still buffered to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_help())
        return SUCCESS
    if words[0] == "--version":
        print(f"dynamis {__version__}")
        return SUCCESS
    name, *rest = words
    one_of(name, COMMANDS, f"command {name!r} does not exist")
    asked = {"-h", "--help"} & {*rest}
    with nullcontext() if asked else command(f"dynamis {name}"):
        from .arguments import check_options, joined, options, parsed, wrapped_help

        run = run_of(name)
        known = options(run)
        check_options(rest, known)
        with wrapped_help() if asked else nullcontext():
            chosen = parsed(run, name, joined(rest, known))
        return chosen()


def run_of(name: str) -> Callable[..., int]:
    """The function of a command."""
    folder = f".{FOLDERS[name]}" if name in FOLDERS else ""
    return import_module(f"{folder}.{name.replace('-', '_')}", __name__).run


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = "\n".join(f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items())
    return f"""usage: dynamis COMMAND [options]

From a robot arm's DH table or URDF to its equations, numbers and controller.

commands:
{lines}

`dynamis COMMAND --help` has examples. ROBOT is a name of the catalogue or a path
to a .toml, .urdf, .sdf, MJCF (.xml) or, with --run-xacro, .xacro file. Every command
takes --json. `dynamis show planar-2link --save arm.toml` writes a file to start an arm
of your own from."""
