"""The bytes of a robot file, and errors that say which file and where in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import DynamisError, FileError

LARGEST = 10_000_000  # bytes; a robot is a few kilobytes, meshes are never read
MOST_ROWS = 1000  # links or frames of one robot


def read_bytes(path: Path) -> bytes:
    """The content of a regular file of sensible size."""
    with located(str(path)):
        try:
            status = path.stat()
        except FileNotFoundError:
            raise FileError("there is no such file", f"looked in {path.parent.resolve()}") from None
        except (OSError, ValueError) as error:
            raise FileError(f"cannot be opened: {error}") from None
        if path.is_dir():
            raise FileError("is a directory, expected a .toml or .urdf file")
        if not path.is_file():
            raise FileError("is not a regular file, expected a .toml or .urdf file")
        if status.st_size > LARGEST:
            raise FileError(
                f"has {status.st_size} bytes, expected at most {LARGEST}",
                "a robot description holds numbers only; meshes stay in files of their own",
            )
        try:
            return path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}") from None


def check_count(count: int, what: str, most: int = MOST_ROWS) -> None:
    """Refuse more links (or frames, or joints) than a robot has."""
    if count > most:
        raise FileError(f"has {count} {what}s, expected at most {most}")


def plain_message(error: DynamisError) -> str:
    """The message of an error without its hint."""
    return str(error).removesuffix(f"\nhint: {error.hint}")


@contextmanager
def located(where: str) -> Iterator[None]:
    """Any dynamis error raised inside becomes a FileError that starts with `where`."""
    try:
        yield
    except DynamisError as error:
        raise FileError(f"{where}: {plain_message(error)}", error.hint) from error
