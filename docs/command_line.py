"""The page of the command line, from what every command says of itself."""

import contextlib
import io
import os

from dynamis.cli import COMMANDS, main

HEAD = """# Command line

`dynamis COMMAND [options]`. ROBOT is a name of the catalogue or a path to a .toml, .urdf, .sdf, MJCF (.xml) or, with `--run-xacro`, .xacro file. Data goes to
stdout, talk to stderr; exit code 0 is fine, 1 something was found, 2 wrong input. Every command takes `--json`.

| command | what it does |
|---|---|
"""


def said(*words: str) -> str:
    """What a command prints."""
    os.environ |= {"COLUMNS": "88", "NO_COLOR": "1"}
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        main(words)
    return text.getvalue().strip("\n")


def page() -> str:
    """The whole page."""
    rows = "".join(f"| [`{name}`](#{name}) | {text} |\n" for name, text in COMMANDS.items())
    parts = [f"## {name}\n\n```text\n{said(name, '--help')}\n```\n" for name in COMMANDS]
    return HEAD + rows + "\n" + "\n".join(parts)
