"""A log as a file that `read_log` reads back; written whole or not at all."""

import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import FileError, OptionError
from .log import Log

SUFFIXES = (".csv", ".npz")


def save(log: Log, path: Path) -> Path:
    """Write t, q, qd, qdd and tau, as many as there are."""
    if path.suffix not in SUFFIXES:
        raise OptionError(f"{path.name!r} ends in {path.suffix!r}, expected .csv or .npz")
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("xb") as file:
            _write(log, file, path.suffix)
        part.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return path


def _write(log: Log, file: BinaryIO, suffix: str) -> None:
    arrays = {name: getattr(log, name) for name in ("q", "qd", "qdd", "tau")}
    arrays = {name: array for name, array in arrays.items() if array is not None}
    if suffix == ".npz":
        np.savez(file, t=log.t, **arrays)
        return
    names = ["t", *(f"{name}{i + 1}" for name in arrays for i in range(log.n))]
    data = np.column_stack([log.t, *arrays.values()])
    np.savetxt(file, data, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
