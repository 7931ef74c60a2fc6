"""Object code on disk, so that a second process need not compile.

An entry is a header, the digest of the code, and the code; it is written to a temporary name and
moved into place, so any number of processes may start at once. A damaged entry is thrown away. A
folder that belongs to someone else, or that others may write to, is not used: its code would run.
"""

import hashlib
import os
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path

from ..errors import DynamisWarning

HEADER = b"dynamis object 1\n"
VARIABLE = "DYNAMIS_CACHE"
MOST = 2000  # entries kept
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


def refusal(path: Path) -> str | None:
    """Why a folder may not be used, if so."""
    if not hasattr(os, "getuid"):
        return None
    info = path.stat()
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
        why = refusal(path)
    except (OSError, RuntimeError) as error:
        why, path = str(error), folder()
    if why is None:
        return path
    _warn(str(path), why)
    return None


@cache
def _warn(path: str, why: str) -> None:
    """Once per process."""
    warnings.warn(
        f"compiled code is not cached in {path}: {why}. Set {VARIABLE} to a folder of your own, "
        "or to 'off'.",
        DynamisWarning,
        stacklevel=2,
    )


def read(key: str) -> bytes | None:
    """The code stored under a key, if it is there and whole."""
    path = usable()
    if path is None:
        return None
    entry = path / f"{key}.o"
    try:
        data = entry.read_bytes()
    except OSError:
        return None
    code = data[len(HEADER) + 65 :]
    digest = data[len(HEADER) : len(HEADER) + 64]
    if data.startswith(HEADER) and digest == hashlib.sha256(code).hexdigest().encode():
        return code
    entry.unlink(missing_ok=True)
    return None


def write(key: str, code: bytes) -> None:
    """Store code under a key; a full or read-only disk only costs the next process time."""
    path = usable()
    if path is None:
        return
    data = HEADER + hashlib.sha256(code).hexdigest().encode() + b"\n" + code
    try:
        handle, name = tempfile.mkstemp(dir=path, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path / f"{key}.o")
        _prune()
    except OSError:
        return


def _prune() -> None:
    """Throw the oldest half away when there are too many."""
    found = entries()
    if len(found) > MOST:
        for entry in sorted(found, key=lambda e: e.stat().st_mtime)[: len(found) // 2]:
            entry.unlink(missing_ok=True)


def entries() -> list[Path]:
    """Everything stored."""
    path = folder()
    return sorted(path.glob("*.o")) if path is not None and path.is_dir() else []


def clear() -> int:
    """Throw every entry away; returns how many there were."""
    found = entries()
    for entry in found:
        entry.unlink(missing_ok=True)
    return len(found)
