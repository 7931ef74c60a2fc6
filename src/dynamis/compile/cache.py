"""Object code on disk, so that a second process need not compile.

An entry is a header, the digest of its name and of the code, and the code; it is written to a
temporary name and moved into place, so any number of processes may start at once. An entry that is
damaged, bears another's name, is a link or belongs to someone else is as good as none. A folder
that belongs to someone else, or that others may write to, is not used: its code would run.
"""

import hashlib
import os
import stat
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..errors import warn

HEADER = b"dynamis object 2\n"
VARIABLE = "DYNAMIS_CACHE"
MOST = 2000  # entries kept
CODE, SOURCES, PARTIAL = ".o", ".sources", ".tmp"  # kinds of files
LEFT = 3600.0  # seconds after which a partial file was left by a process that died
OFF = ("off", "0", "no", "none", "")


def folder() -> Path | None:
    """Where entries live; None if the cache is turned off by DYNAMIS_CACHE=off."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return None if given.lower() in OFF else Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "dynamis" / "cache" if base else None
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dynamis"


def refusal(info: os.stat_result) -> str | None:
    """Why a folder or a file may not be used, if so."""
    if not hasattr(os, "getuid"):
        return None
    if info.st_uid != os.getuid():
        return f"it belongs to user {info.st_uid}"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "others may write to it"
    return None


def usable() -> Path | None:
    """The cache folder, made if need be; None (with a warning) if it must not be used."""
    try:
        path = folder()
        if path is None:
            return None
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        why = refusal(path.stat())
    except (OSError, RuntimeError) as error:
        why, path = str(error), folder()
    if why is None:
        return path
    _warn(str(path), why)
    return None


@cache
def _warn(path: str, why: str) -> None:
    """Once per process."""
    warn(
        f"compiled code is not cached in {path}: {why}. Set {VARIABLE} to a folder of your own, "
        "or to 'off'."
    )


def read(key: str, kind: str = CODE) -> bytes | None:
    """What is stored under a key, if it is there, ours and whole."""
    path = usable()
    if path is None:
        return None
    try:
        data = _own(path / (key + kind))
    except OSError:
        return None
    start = len(HEADER) + 65
    code = data[start:]
    return code if data[:start] == _head(key + kind, code) else None


def _own(entry: Path) -> bytes:
    """The bytes of a plain file that only we can have written; a link is not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(entry, flags | getattr(os, "O_BINARY", 0)), "rb") as file:  # noqa: PTH123
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode) or refusal(info) is not None:
            raise PermissionError(f"{entry} is not ours")
        return file.read()


def _head(name: str, code: bytes) -> bytes:
    """What stands before the code: it fits this code under this name and no other."""
    digest = hashlib.sha256(f"{name}\n".encode() + code).hexdigest()
    return HEADER + digest.encode() + b"\n"


def write(key: str, code: bytes, kind: str = CODE) -> None:
    """Store code under a key; a full or read-only disk only costs the next process time."""
    path = usable()
    if path is None:
        return
    try:
        handle, name = tempfile.mkstemp(dir=path, suffix=PARTIAL)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_head(key + kind, code) + code)
        Path(name).replace(path / (key + kind))
        _prune()
    except OSError:
        return
    finally:
        _remove([Path(name)])


def _remove(files: list[Path]) -> int:
    """Throw files away; returns how many there were. One that will not go stays."""
    count = 0
    for file in files:
        with suppress(OSError):
            file.unlink()
            count += 1
    return count


def _prune() -> None:
    """Throw away what died processes left, and the oldest half when there are too many."""
    old = time.time() - LEFT
    _remove([file for file in _files(PARTIAL) if file.stat().st_mtime < old])
    found = entries()
    if len(found) > MOST:
        _remove(sorted(found, key=lambda e: e.stat().st_mtime)[: len(found) // 2])
        _remove(_files(SOURCES))


def _files(kind: str) -> list[Path]:
    path = folder()
    return sorted(path.glob(f"*{kind}")) if path is not None and path.is_dir() else []


def entries() -> list[Path]:
    """All code that is stored."""
    return _files(CODE)


def clear() -> int:
    """Throw every entry away; returns how many there were."""
    _remove(_files(SOURCES) + _files(PARTIAL))
    return _remove(entries())
