"""`dynamis dh`: the Denavit-Hartenberg procedure step by step."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tyro.conf import Positional, arg

from ...errors import OptionError
from ...files import checked_path
from ...model.formats.axes import is_typed
from ..arguments import Json, RunXacro, listed
from ..printing import data_json, raw, wrote

if TYPE_CHECKING:
    from ...frame_assignment.steps import DhSteps

SOURCE = (
    "Catalogue name, robot file, file of joint axes (.axes, .txt, .toml), axes in quotes, or -."
)
Source = Annotated[str, Positional, arg(metavar="ROBOT_OR_FILE", help=SOURCE)]
Frames = Annotated[str | None, arg(metavar="NUMBERS", help_behavior_hint="")]
PoseText = Annotated[str | None, arg(metavar="NUMBERS", help_behavior_hint="")]
STDIN = "-"


def run(
    source: Source, *,
    convention: Literal["standard", "modified"] | None = None,
    base: PoseText = None, tool: PoseText = None,
    flip: Frames = None, parallel: Literal["previous", "joint"] = "previous",
    letters: Literal["numbered", "by-place"] | None = None,
    numbering: Literal["dh", "sixteen"] = "dh", language: Literal["en", "es"] = "en",
    output: Path | None = None, run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Place Denavit-Hartenberg frames on a robot's joint axes step by step, DH1 to DH14.

    A file of axes has a line for every joint: joint, a point of its axis, its direction, as in
    "revolute 0 0 0.4  0 0 1". The same lines may be typed in quotes with semicolons between them,
    or come from standard input (-). Printed as text unless --output is given.

    For example:

      dynamis dh kr16 --letters by-place --output kr16.html
      dynamis dh arm.axes --convention modified
      dynamis dh "revolute 0 0 0 0 0 1; revolute 0.5 0 0 0 0 1; tool 0.9 0 0"
      dynamis dh arm.urdf --language es --output arm.tex

    Args:
        convention: standard or modified (Craig's); by default a robot's own, else standard.
        base: Pose of the base of axes: x y z, or x y z roll pitch yaw.
        tool: Pose of the tool of axes at q = 0: x y z, or x y z roll pitch yaw.
        flip: Frames of axes whose x is turned round, such as 2 3.
        parallel: Origins between parallel axes: where the previous d is 0, or next to the point
            given for the next joint.
        letters: Letters for lengths: l1, l2, ... (numbered) or d1, a2, ... (by-place).
        numbering: dh (14 steps) or sixteen.
        language: Of the text, English or Spanish.
        output: Write a page with drawings (.html), LaTeX with drawings beside it (.tex), Markdown
            (.md) or text (.txt).
    """
    from ...frame_assignment.steps import SUFFIXES, dh_steps

    target = None if output is None else checked_path(output, SUFFIXES, "steps")
    text = sys.stdin.read() if source == STDIN else source
    if source == STDIN and not is_typed(text):
        raise OptionError("standard input has no axes, expected lines of joint, point, direction")
    if run_xacro:
        from ...robot import load

        text = load(source, run_xacro=True)
    found = dh_steps(
        text,
        convention,
        base=_pose(base, "base"),
        tool=_pose(tool, "tool"),
        flip=_frames(flip),
        parallel=parallel,
        letters=letters,
        numbering=numbering,
        language=language,
    )
    if target is not None:
        found.save(target)
    if json:
        data_json(_facts(found))
    elif target is None:
        raw(found.text())
    wrote(target)
    return 0


def _pose(given: str | None, name: str) -> Any:
    """A pose from three or six numbers."""
    if given is None:
        return None
    expected = "x y z, or x y z roll pitch yaw"
    numbers = listed(given, expected, name)
    if len(numbers) not in (3, 6):
        raise OptionError(f"{name} is {given!r}, expected {expected}")
    return {"xyz": numbers[:3], "rpy": numbers[3:] or [0.0, 0.0, 0.0]}


def _frames(given: str | None) -> tuple[int, ...]:
    if given is None:
        return ()
    found = listed(given, "numbers of frames such as 2 3", "flip")
    if not all(x.is_integer() for x in found):
        raise OptionError(f"flip is {given!r}, expected numbers of frames such as 2 3")
    return tuple(map(int, found))


def _facts(steps: "DhSteps") -> dict[str, Any]:
    """The table and the steps as data."""
    table = steps.robot.dh(steps.convention)
    rows = [{k: _plain(v) for k, v in row._asdict().items()} for row in table.rows]
    bars = steps.construction.bars[1 : len(rows)]
    pairs = [{"case": x.case, "start": x.start, "end": x.end, "x": x.x} for x in bars]
    told = [{**asdict(x), "label": x.label, "items": [str(y) for y in x.items]} for x in steps]
    return {
        "robot": steps.robot.name,
        "convention": steps.convention,
        "letters": dict(steps.values),
        "table": rows,
        "common_normals": pairs,
        "steps": told,
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else str(value)
