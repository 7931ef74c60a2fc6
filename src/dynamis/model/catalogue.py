"""The robots that come with the package, one TOML file each in `robots/`."""

from importlib.resources import files
from pathlib import Path

from ..arguments import one_of
from ..errors import FileError

FOLDER = "dynamis.model.robots"


def names() -> tuple[str, ...]:
    """Names of the robots, in alphabetical order."""
    found = (Path(entry.name) for entry in files(FOLDER).iterdir())
    return tuple(sorted(entry.stem for entry in found if entry.suffix == ".toml"))


def path(name: str) -> Path:
    """The file of one robot."""
    one_of(name, names(), f"there is no robot {name!r} in the catalogue", FileError)
    return Path(str(files(FOLDER) / f"{name}.toml"))
