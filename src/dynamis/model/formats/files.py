"""Robots from names and files, and back into files."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...arguments import is_word, path_of
from ...errors import FileError, did_you_mean, shown
from ...files import write
from .. import catalogue
from ..model import Model
from ..pose import Pose
from .tables import located
from .toml import read_toml, toml_text

SUFFIXES = ".toml, .urdf, .xml"


def load_model(
    source: str | Path, tip: str | None = None, lock: Mapping[str, Any] | None = None
) -> Model:
    """The model of a catalogue name, or of a .toml or .urdf file.

    `tip` names the link or frame that becomes the tool; `lock` fixes joints of a URDF at values.
    """
    path = _path(source)
    if lock is not None and not isinstance(lock, Mapping):
        raise FileError(
            f"lock is {shown(lock)}, expected a value per joint name: {{'finger': 0.0}}"
        )
    if path.suffix.lower() not in READERS:
        where = "is a directory" if path.is_dir() else f"has suffix {path.suffix!r}"
        hint = "run `xacro in.xacro > out.urdf` first" if path.suffix == ".xacro" else _beside(path)
        raise FileError(f"{path} {where}, expected a file that ends in {SUFFIXES}", hint)
    return READERS[path.suffix.lower()](path, tip, lock)


def _path(source: Any) -> Path:
    """Where the description is: a catalogue name first, then a path."""
    if isinstance(source, os.PathLike):
        return path_of(source, "source")
    if not isinstance(source, str) or not source or "\0" in source:
        raise FileError(
            f"{shown(source)} was given, expected a catalogue name or a path to {SUFFIXES}"
        )
    known = catalogue.names()
    if source in known:
        return catalogue.path(source)
    path = path_of(source, "source")
    looks_like_a_path = path.suffix.lower() in (*READERS, ".xacro") or len(path.parts) > 1
    if looks_like_a_path or os.path.lexists(source):
        return path
    raise FileError(
        f"{shown(source)} is neither a robot of the catalogue nor a file",
        _beside(path) or did_you_mean(source, known),
    )


def _beside(path: Path) -> str | None:
    """A hint at the file that has this name and a suffix."""
    found = next((x for x in READERS if Path(f"{path}{x}").is_file()), None)
    return found and f"did you mean '{path}{found}'?"


def _read_toml(path: Path, tip: str | None, lock: Mapping[str, Any] | None) -> Model:
    if lock:
        raise FileError(
            f"{path}: lock was given, but only the joints of a URDF can be locked",
            "save the robot as .urdf and load that with lock",
        )
    model = read_toml(path)
    with located(str(path)):
        return model if tip is None else with_tip(model, tip)


def with_tip(model: Model, tip: str) -> Model:
    """The model with its tool at the frame of a link, or at a named frame."""
    if is_word(tip, (model.tool_name,)):
        return model
    frames = {name: (name, Pose()) for name in model.link_names}
    frames |= {f.name: (f.link, f.pose) for f in model.frames if f.link is not None}
    if not is_word(tip, frames):
        raise FileError(
            f"tip {shown(tip)} is not a link or a frame that moves", did_you_mean(tip, frames)
        )
    if model.payload is not None:
        raise FileError(
            f"tip {tip!r} would move the payload, which is held by {model.tool_name!r}",
            "take the payload out of the file first",
        )
    link, place = frames[tip]
    return replace(model, tool_link=link, tool=place, tool_name=tip)


def save_model(model: Model, path: str | Path) -> None:
    """Write a model to a .toml or .urdf file, whole or not at all."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise FileError(f"{path!r} was given, expected the path of a file ending in {SUFFIXES}")
    path = path_of(path)
    if path.suffix.lower() not in WRITERS:
        raise FileError(
            f"{path} has suffix {path.suffix!r}, expected a file that ends in {SUFFIXES}"
        )
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}, expected an existing one")
    if path.is_dir():
        raise FileError(f"{path} is a directory, expected the name of a file")
    with located(str(path)):
        data = WRITERS[path.suffix.lower()](model).encode("utf-8")
    write(path, data)


def _read_urdf(*arguments: Any, **options: Any) -> Model:
    from .urdf import read_urdf  # a TOML file needs none of it

    return read_urdf(*arguments, **options)


def _urdf_text(model: Model) -> str:
    from .urdf import urdf_text

    return urdf_text(model)


READERS: Mapping[str, Callable[..., Model]] = {
    ".toml": _read_toml,
    ".urdf": _read_urdf,
    ".xml": _read_urdf,
}
WRITERS: Mapping[str, Callable[[Model], str]] = {
    ".toml": toml_text,
    ".urdf": _urdf_text,
    ".xml": _urdf_text,
}
