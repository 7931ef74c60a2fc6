"""The folder in which a study keeps what it has: one file, written whole or not at all.

`study.npz` holds arrays only: digests of what decides the study, the summary of the blocks that are
done from the first on, and those of later blocks. Nothing in it is executed.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..digest import digest_of
from ..errors import FileError, OptionError
from ..files import whole
from .case import Case
from .summary import MOST_FAILED, WORST, Summary, Values, summed

NAME = "study.npz"
HINT = "delete it to begin anew, or choose another folder"
# arrays whose length differs from block to block: along which axis, at most how long, like which
LENGTHS: Mapping[str, tuple[int, int | None, str]] = {
    "failed_at": (0, MOST_FAILED, "reasons"),
    "reasons": (0, MOST_FAILED, "failed_at"),
    "worst_at": (1, WORST, "worst"),
    "worst": (1, WORST, "worst_at"),
    "bins": (0, None, "counts"),
    "counts": (0, None, "bins"),
}


class Progress(NamedTuple):
    """What is done: blocks 0 .. `upto` - 1 in one summary, some later ones each in their own."""

    upto: int
    total: Summary | None
    later: dict[int, Summary]


def write(folder: Path, identity: Mapping[str, str], done: Progress) -> None:
    """Replace the file in the folder; `identity` are digests of what decides the study, by name."""
    arrays: dict[str, Any] = {"identity": np.array(json.dumps(identity))}
    arrays["upto"] = np.array(done.upto)
    parts = dict[Any, Summary](done.later)
    if done.total is not None:
        parts["total"] = done.total
    for part, summary in parts.items():
        arrays |= {f"{part}:{k}": np.asarray(v) for k, v in summary.arrays.items()}
    with whole(folder / NAME) as partial, partial.open("wb") as file:
        np.savez(file, **arrays, seal=np.array(_seal(arrays)))


def opened(folder: Path, identity: Mapping[str, str], case: Case) -> Progress:
    """What the folder holds of this study; it is made if there is none."""
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
    except OSError as error:
        raise FileError(f"cannot use the folder {str(folder)!r}: {error.strerror}") from None
    if new:
        return Progress(0, None, {})
    try:
        arrays = _arrays(path)
        theirs = json.loads(str(arrays["identity"]))
        differ = [name for name in identity if theirs.get(name) != identity[name]]
        done = None if differ else _progress(arrays, case)
    except Exception as error:  # whatever a damaged file does to a reader
        why = f"{type(error).__name__}: {error}"
        raise FileError(f"{str(path)!r} is damaged or no checkpoint: {why}", HINT) from None
    if done is None:
        raise OptionError(
            f"{str(path)!r} is of another study: it differs in {', '.join(differ)}", HINT
        )
    return done


def _seal(arrays: Mapping[str, Any]) -> str:
    """Digest of all arrays of a file."""
    return digest_of(sorted(arrays.items()))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """All arrays of the file, if they are as they were written."""
    if not path.is_file():
        raise ValueError("not a file")
    with zipfile.ZipFile(path) as file:  # nothing in it is larger than the file is
        sizes = [info.file_size for info in file.infolist()]
        if sum(sizes) > path.stat().st_size:
            raise ValueError(f"arrays of {sum(sizes)} bytes in a smaller file")
    with np.load(path, allow_pickle=False) as arrays:
        found = {name: arrays[name] for name in arrays.files}
    if str(found.pop("seal")) != _seal(found):
        raise ValueError("its digest is another")
    return found


def _progress(arrays: Mapping[str, np.ndarray], case: Case) -> Progress:
    parts: dict[str, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        part, colon, key = name.partition(":")
        if colon:
            parts.setdefault(part, {})[key] = array
    upto, total = int(arrays["upto"]), parts.pop("total", None)
    later = {int(block): Summary(found) for block, found in parts.items()}
    if not 0 <= upto <= case.blocks or (total is None) != (upto == 0):
        raise ValueError(f"{upto} blocks of {case.blocks}")
    if any(not upto <= block < case.blocks for block in later):
        raise ValueError("blocks that the study does not have")
    done = Progress(upto, None if total is None else Summary(total), later)
    like = _empty(case)
    if done.total is not None:
        _refuse_other(done.total, like, min(upto * case.block, case.samples))
    for block, summary in later.items():
        _refuse_other(summary, like, case.span(block)[1])
    return done


def _empty(case: Case) -> Summary:
    """The summary of no samples: what arrays there are."""
    draw = case.draw(0, 1).part(slice(0, 0))
    none = {name: np.zeros((0, k)) for name, k in case.columns.items()}
    return summed(draw.index, draw.factors, Values(none, []))


def _refuse_other(summary: Summary, like: Summary, samples: int) -> None:
    """Refuse a summary that is none of so many samples of this study."""
    found = summary.arrays
    if found.keys() != like.arrays.keys():
        raise ValueError("other arrays than a summary has")
    for name, array in found.items():
        expected = np.asarray(like[name])
        shape, most, beside = list(expected.shape), None, name
        start, slash, end = name.rpartition("/")
        if end in LENGTHS:
            axis, most, beside = LENGTHS[end]
            beside = start + slash + beside
            if array.ndim == len(shape):
                shape[axis] = array.shape[axis]
                fits = array.shape[axis] == found[beside].shape[axis]
                if not fits or (most is not None and array.shape[axis] > most):
                    raise ValueError(f"{name} with shape {array.shape}")
        if array.shape != tuple(shape) or array.dtype != expected.dtype:
            raise ValueError(f"{name} with shape {array.shape} of {array.dtype}")
    if summary.samples != samples or not 0 <= summary.failed <= samples:
        raise ValueError(f"{summary.samples} samples instead of {samples}")
