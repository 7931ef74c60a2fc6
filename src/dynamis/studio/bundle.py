"""Things to take home, as bytes: files are written to a private folder and read back."""

import io
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import DynamisWarning


@contextmanager
def noticing() -> Iterator[list[str]]:
    """What dynamis warns of in the block: it belongs on the page, not on the terminal."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", DynamisWarning)
        yield notes
    notes += [str(w.message) for w in found if issubclass(w.category, DynamisWarning)]


def one_file(name: str, write: Callable[[Path], Any]) -> bytes:
    """What `write(path)` leaves at a path of that name."""
    with tempfile.TemporaryDirectory(prefix="dynamis-") as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def zipped(name: str, write: Callable[[Path], Any]) -> bytes:
    """The files that `write(folder)` leaves, as an archive with one folder of that name."""
    with tempfile.TemporaryDirectory(prefix="dynamis-") as parent:
        folder = Path(parent) / name
        write(folder)
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, str(path.relative_to(parent)))
        return memory.getvalue()
