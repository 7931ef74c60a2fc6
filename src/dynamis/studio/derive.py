"""The equations of a robot as HTML, made in a process of its own: one that can be stopped.

    python -m dynamis.studio.derive < question.json > answer.json

Derivations hold the interpreter for as long as they last, which may be minutes; the studio
starts this, and ends it when the time is up or nobody waits any more.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import DynamisError, OptionError
from ..model.toml import toml_text
from ..robot import Robot, load

SHOWS = ("equations", "derivation", "entry", "counts")
PATIENCE = 60.0  # s


@dataclass(frozen=True)
class Question:
    """What to derive: `show` is one of SHOWS; `entry` is a quantity, `i`, `j` count from 0."""

    robot: str  # TOML
    show: str
    method: str = "lagrange-euler"
    entry: str = "M"
    i: int = 0
    j: int = 0
    page: bool = False  # a page of its own instead of a piece of one

    @classmethod
    def of(cls, robot: Robot, show: str, **options: Any) -> "Question":
        """The question for a robot."""
        return cls(toml_text(robot.model), show, **options)


def asked(question: Question, gone: threading.Event, patience: float = PATIENCE) -> str:
    """The answer, from another process; ends with `gone`, or when patience does."""
    folder = Path(__file__).parents[2]
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given:
        given.write(json.dumps(asdict(question)).encode())
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dynamis.studio.derive"],
            stdin=given,
            stdout=said,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        try:
            _wait(process, gone, patience)
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        text = said.read()
    if process.returncode != 0:
        raise OptionError("the derivation did not end well", "choose one entry instead")
    answer = json.loads(text)
    if "error" in answer:
        raise OptionError(answer["error"], answer.get("hint"))
    return answer["html"]


def _wait(process: subprocess.Popen, gone: threading.Event, patience: float) -> None:
    end = time.monotonic() + patience
    while process.poll() is None:
        if gone.wait(0.05):
            raise OptionError("nobody waits for it any more")
        if time.monotonic() > end:
            raise OptionError(
                f"it takes longer than {patience:g} s",
                "choose one entry, or derive it with robot.equations()",
            )


def answered(question: Question) -> str:
    """The answer, here and now."""
    from . import formulas

    with tempfile.TemporaryDirectory(prefix="dynamis-") as folder:
        path = Path(folder) / "robot.toml"
        path.write_text(question.robot, encoding="utf-8")
        robot = load(path)
    if question.show == "counts":
        return formulas.counts(robot)
    if question.show not in SHOWS:
        raise OptionError(f"there is nothing to show as {question.show!r}")
    found = robot.equations(question.method)
    if question.show == "derivation":
        return formulas.derivation(found, question.page)
    if question.show == "entry":
        return formulas.entry(found, question.entry, question.i, question.j)
    return formulas.closed(found)


def main() -> None:
    """Read a question, write its answer."""
    warnings.simplefilter("ignore")
    try:
        answer = {"html": answered(Question(**json.load(sys.stdin)))}
    except DynamisError as error:
        text, _, hint = str(error).partition("\nhint: ")
        answer = {"error": text, "hint": hint or None}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
