"""Files that are written whole or not at all."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..arguments import path_of, shown
from ..errors import FileError, OptionError


def checked_path(path: Any, suffixes: Iterable[str], what: str) -> Path:
    """The path of a file to be written, if its suffix is known and its folder is there."""
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"path is {shown(path)}, expected where to write the {what}")
    target = path_of(path)
    known = sorted(suffixes)
    if target.suffix.lower() not in known:
        given = f"suffix {target.suffix!r}" if target.suffix else "no suffix"
        raise OptionError(
            f"path {str(target)!r} has {given}, expected one of {', '.join(known)}",
            f"the suffix decides how the {what} is written",
        )
    if not target.parent.is_dir():
        raise FileError(
            f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}",
            "create the folder first",
        )
    if target.is_dir():
        raise FileError(f"cannot write {str(target)!r}: it is a folder")
    return target


@contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A temporary file beside `target` that takes its place at the end, if the end is reached."""
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}-", suffix=target.suffix, dir=target.parent
        )
    except OSError as error:
        raise FileError(f"cannot write {str(target)!r}: {error.strerror}") from None
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o666 & ~_umask())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
