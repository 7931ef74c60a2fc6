"""A run as a file of columns t, q1.., qd1.., tau1...; written whole or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, OptionError

SUFFIXES = (".csv", ".npz")


def save(run: Any, path: Path, measured: bool = False) -> Path:
    """Write a run (or what its sensors gave)."""
    if path.suffix not in SUFFIXES:
        raise OptionError(f"{path.name!r} ends in {path.suffix!r}, expected .csv or .npz")
    if run.q.ndim != 2:
        raise OptionError(f"run holds an ensemble {run.q.shape[:-2]}, expected one arm to save")
    if measured and run.measured is None:
        raise OptionError("this run had no sensors to read", "give simulate a controller")
    source = run.measured if measured else run
    data = np.column_stack([source.t, source.q, source.qd, source.tau])
    n = source.q.shape[1]
    names = ["t", *(f"{kind}{i + 1}" for kind in ("q", "qd", "tau") for i in range(n))]
    handle, temporary = _temporary(path)
    try:
        with os.fdopen(handle, "wb") as file:
            if path.suffix == ".csv":
                np.savetxt(
                    file, data, delimiter=",", header=",".join(names), comments="", fmt="%.17g"
                )
            else:
                np.savez(file, t=source.t, q=source.q, qd=source.qd, tau=source.tau)
        Path(temporary).chmod(0o666 & ~_umask())  # a temporary file is private
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _temporary(path: Path) -> tuple[int, str]:
    try:
        return tempfile.mkstemp(dir=path.parent, suffix=".part")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error}") from None
