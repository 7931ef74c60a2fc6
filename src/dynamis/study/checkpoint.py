"""The folder in which a study keeps what it has: one file, written whole or not at all.

`study.npz` holds arrays only: a digest of the study, the summary of the blocks that are done from
the first on, and the summaries of later blocks. Nothing in it is executed.
"""

import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import FileError, OptionError
from ..files import whole
from .summary import Summary

NAME = "study.npz"
MOST = 2**31  # bytes of one array


class Progress(NamedTuple):
    """What is done: blocks 0 .. `upto` - 1 in one summary, some later ones each in their own."""

    upto: int
    total: Summary | None
    later: dict[int, Summary]


def write(folder: Path, digest: str, proof: str, done: Progress) -> None:
    """Replace the file in the folder."""
    arrays = {"digest": np.array(digest), "proof": np.array(proof), "upto": np.int64(done.upto)}
    if done.total is not None:
        arrays |= {f"total:{k}": v for k, v in done.total.arrays.items()}
    for block, summary in done.later.items():
        arrays |= {f"{block}:{k}": v for k, v in summary.arrays.items()}
    with whole(folder / NAME) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)


def opened(folder: Path, digest: str) -> tuple[Progress, str]:
    """What the folder holds of this study, and the proof of its first block; it is made if new."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {str(folder)!r}: {error.strerror}") from None
    path = folder / NAME
    if not path.exists():
        return Progress(0, None, {}), ""
    arrays = _arrays(path)
    if str(arrays.get("digest")) != digest:
        raise OptionError(
            f"{str(path)!r} belongs to another study: model, options, law or samples differ",
            "choose another folder, or delete that file to begin anew",
        )
    parts: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        part, colon, key = name.partition(":")
        if colon:
            parts.setdefault(part, {})[key] = array
    total = parts.pop("total", None)
    later = {int(k): Summary(v) for k, v in parts.items() if k.isdecimal()}
    upto = int(arrays["upto"])
    return Progress(upto, None if total is None else Summary(total), later), str(arrays["proof"])


def _arrays(path: Path) -> dict[str, np.ndarray]:
    damaged = f"{str(path)!r} is damaged or no checkpoint"
    hint = "delete it to begin anew, or choose another folder"
    try:
        with np.load(path, allow_pickle=False) as file:
            sizes = [info.file_size for info in file.zip.infolist()]
            if sum(sizes) > MOST:
                raise FileError(damaged, hint)
            return {name: file[name] for name in file.files}
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"{damaged}: {error}", hint) from None
