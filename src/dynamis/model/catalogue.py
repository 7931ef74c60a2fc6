"""The robots that come with the package, one TOML file each in `robots/`."""

from importlib.resources import files
from pathlib import Path

from ..errors import FileError, did_you_mean

FOLDER = "dynamis.model.robots"


def names() -> tuple[str, ...]:
    """Names of the robots, in alphabetical order."""
    found = (Path(entry.name) for entry in files(FOLDER).iterdir())
    return tuple(sorted(entry.stem for entry in found if entry.suffix == ".toml"))


def path(name: str) -> Path:
    """The file of one robot."""
    known = names()
    if name not in known:
        raise FileError(f"there is no robot {name!r} in the catalogue", did_you_mean(name, known))
    return Path(str(files(FOLDER) / f"{name}.toml"))
