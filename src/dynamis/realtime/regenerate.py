"""The script beside generated files that writes them again: every number of the call, exactly."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .. import control, templates
from ..control.controller import Controller
from ..control.law import Law
from ..digest import as_defined
from ..export.c_function import remarks
from ..export.export import robot_file
from .reference_file import reference_text

SCRIPT = "regenerate.py"


OPTIONS = (
    "sample_time", "velocity", "velocity_filter", "limit", "safe", "safe_damping", "ramp", "latch",
    "jump",
)  # fmt: skip


def options_of(law: Law) -> dict[str, Any]:
    """What `export_controller` was told about the law, but for its reference."""
    return {name: getattr(law, name) for name in OPTIONS}


def again(law: Law) -> str:
    """How the files are made again, in a line."""
    if repeatable(law):
        return f"python {SCRIPT}"
    return "dy.export_controller(robot, controller, directory, ...), with your own classes"


def repeatable(law: Law) -> bool:
    """Whether controller and trajectory are the package's own, and so can be written down."""
    kind = type(law.controller)
    if not dataclasses.is_dataclass(kind):
        return False
    ours = getattr(control, kind.__name__, None) is kind and as_defined(law.controller)
    inside = law.reference is None or reference_text(law.reference) is not None
    values = [value for name, value in fields(law.controller).items() if name != "model"]
    values += options_of(law).values()
    arms = [law.robot, getattr(law.controller, "model", None)]
    inside = inside and not any(arm.model.own_laws for arm in arms if arm is not None)
    return ours and inside and all(spelt(value) is not None for value in values)


def fields(block: Any) -> dict[str, Any]:
    """What a controller or an observer was made with."""
    return {field.name: getattr(block, field.name) for field in dataclasses.fields(block)}


def ingredients(
    law: Law, stem: str, options: Mapping[str, Any], notes: Sequence[str], board: bool = False
) -> dict[str, str]:
    """File name -> text: robot, model, trajectory, and the script; each says whence it is.

    `board`: a board lies beside them.
    """
    files = {f"{stem}_robot.toml": robot_file(law.robot.model, notes)}
    model = law.controller.model
    if model is not None and model is not law.robot:
        files[f"{stem}_model.toml"] = robot_file(model.model, notes)
    if not repeatable(law):
        return files
    if law.reference is not None:
        files[f"{stem}_reference.json"] = reference_text(law.reference, notes) or ""
    return {**files, SCRIPT: _script(law, stem, files, options, notes, board)}


def _script(
    law: Law, stem: str, files: Mapping[str, str], options: Mapping[str, Any],
    notes: Sequence[str], board: bool,
) -> str:  # fmt: skip
    from .. import __version__

    given = {name: spelt(value) for name, value in fields(law.controller).items()}
    if "model" in given:
        given["model"] = "model"
    model = "None" if law.controller.model is None else "robot"
    if f"{stem}_model.toml" in files:
        model = f'dy.load(here / "{stem}_model.toml")'
    told = {name: spelt(value) for name, value in options.items()}
    return templates.filled(
        __package__,
        "regenerate.py.in",
        REMARKS=remarks(notes),
        VERSION=__version__,
        STEM=stem,
        MODEL=model,
        INSIDE=law.reference is not None,
        BOARD=board,
        KIND=type(law.controller).__name__,
        GIVEN="\n".join(f"    {name}={word}," for name, word in given.items()),
        TOLD="\n".join(f"    {name}={word}," for name, word in told.items()),
    )


def _spelt_controller(law: Controller) -> str | None:
    """A controller of this package within another; None with a model, or of a user's class."""
    kind = type(law)
    ours = getattr(control, kind.__name__, None) is kind and as_defined(law)
    if not ours or law.model is not None or not dataclasses.is_dataclass(law):
        return None
    words = {name: spelt(value) for name, value in fields(law).items()}
    if None in words.values():
        return None
    return f"dy.control.{kind.__name__}({', '.join(f'{k}={v}' for k, v in words.items())})"


def spelt(value: Any) -> str | None:
    """A plain value as Python reads it, with every digit; None for what is not plain."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, (str, int)):
        return ascii(str(value)) if isinstance(value, str) else repr(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{float(value)}")'
    if isinstance(value, Controller):
        return _spelt_controller(value)
    if isinstance(value, (list, tuple)):
        words = [spelt(v) for v in value]
        if any(word is None for word in words):
            return None
        inside = ", ".join(map(str, words))
        comma = "," if len(words) == 1 else ""
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{comma})"
    return None
