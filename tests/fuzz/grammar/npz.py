"""Changes of .npz: members of an archive, each a header and data."""

import io
import re
import zipfile
from random import Random

import numpy as np

from .plain import WORDS, cut, flip, word

DTYPES = (
    *(
        "<f8",
        ">f8",
        "<f4",
        "<f2",
        "<i8",
        "<i1",
        "<u8",
        "|b1",
        "<c16",
        "|S5",
        "<U3",
        "<M8[ns]",
        "<m8[s]",
    ),
    *(
        "|V16",
        "|O",
        "<f16",
        "<M8",
        "<M8[25s]",
        "<M8[fs]",
        "x",
        "",
        "<f8,<i4",
        "(3,)f8",
        "<f99",
        "|S0",
    ),
)
SHAPES = (
    *(
        "()",
        "(0,)",
        "(20,)",
        "(20, 2)",
        "(2, 20)",
        "(20, 2, 1)",
        "(0, 5)",
        "(1,)",
        "(-1,)",
        "(20, 0)",
    ),
    *(
        "(4611686018427387904,)",
        "(100000000,)",
        "(10000, 10000)",
        "(2**63,)",
        "(True,)",
        "[20]",
        "20",
    ),
    *(
        f"({'1, ' * 70})",
        "('a',)",
        "(1e3,)",
        f"({'(' * 60}{')' * 60},)",
        "(None,)",
        "(20, 2" + "0" * 80,
    ),
)

LARGEST = 2_000_000  # numbers of an array that is made longer


def member(data: bytes, rng: Random) -> bytes:
    """A member changed inside, renamed, doubled, taken out, or made of something else."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(x.file_size for x in archive.infolist()) > LARGEST:  # a bomb: its bytes change
                return flip(data, rng)
            members = [(x.filename, archive.read(x)) for x in archive.infolist()]
    except Exception:  # broken already: its bytes change
        return flip(data, rng)
    if not members:
        return data
    k = rng.randrange(len(members))
    name, inner = members[k]
    new = rng.choice((header, header, header, values, values, renamed, foreign))
    if rng.random() < 0.1:
        del members[k]
    elif rng.random() < 0.1:
        members.insert(k, (name, inner))
    elif new is renamed:
        other = rng.choice((*WORDS, "q", "t", "tau", "qd", "q1", "a/b", "../../q")) or "q"
        members[k] = (f"{other}.npy", inner)
    else:
        members[k] = (name, new(inner, rng))
    return _zipped(members, rng)


def renamed(inner: bytes, rng: Random) -> bytes:
    """The member itself; its name changes."""
    return inner


def _zipped(members: list[tuple[str, bytes]], rng: Random) -> bytes:
    out = io.BytesIO()
    kind = rng.choice(
        (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
    )
    with zipfile.ZipFile(out, "w") as archive:
        for name, inner in members:
            word = name.encode("utf-8", "replace").decode().split("\0")[0] or "x"
            info = zipfile.ZipInfo(word)  # its fixed date keeps the file a function of its number
            info.compress_type = kind
            if info.filename in archive.NameToInfo:  # doubled on purpose, without a warning
                del archive.NameToInfo[info.filename]
            archive.writestr(info, inner)
    return out.getvalue()


def header(inner: bytes, rng: Random) -> bytes:
    """The text that says type and shape, with its length mended or not."""
    end = inner.find(b"\n") + 1
    text = inner[10:end].decode("latin-1")
    choice = rng.randrange(5)
    if choice == 0:
        text = re.sub(r"'descr': [^,]*", f"'descr': '{rng.choice(DTYPES)}'", text)
    elif choice == 1:
        text = re.sub(r"'shape': \([^)]*\)", f"'shape': {rng.choice(SHAPES)}", text)
    elif choice == 2:
        text = text.replace("False", rng.choice(("True", "1", "None", "x()", "'C'")))
    elif choice == 3:
        text = text + " " * rng.choice((1, 9999, 50_000)) + "\n"
    else:
        text = word(text, rng)
    head = text.encode("latin-1", "replace")
    size = len(head) if rng.random() < 0.8 else rng.choice((0, 1, 65535))
    version = inner[6:8] if rng.random() < 0.9 else rng.choice((b"\2\0", b"\3\0", b"\4\0", b"\0\0"))
    return inner[:6] + version + min(size, 65535).to_bytes(2, "little") + head + inner[end:]


def values(inner: bytes, rng: Random) -> bytes:
    """Numbers replaced by extreme ones, or the data cut."""
    try:
        array = np.load(io.BytesIO(inner), allow_pickle=False)
        flat = array.astype(np.float64).reshape(-1)
    except Exception:
        return cut(inner, rng)
    extremes = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0, 1e18, 1e9, -1.0)
    for _ in range(rng.choice((1, 3, len(flat))) if len(flat) else 0):
        flat[rng.randrange(len(flat))] = rng.choice(extremes)
    size = rng.choice((1, 1, 1, 2, 10_000 if rng.random() < 0.1 else 3))
    size = max(1, min(size, LARGEST // max(1, len(flat))))
    big = (
        np.tile(flat, size).reshape(size * array.shape[0], *array.shape[1:]) if array.ndim else flat
    )
    dtype = rng.choice(("<f8", "<f8", "<f4", "<i8", "<u8", "<i2", ">f8", "<M8[ns]", "<f2", "|b1"))
    return npy(_cast(big, dtype))


def _cast(array: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(all="ignore"):
        return array.astype(np.int64).astype(dtype) if "M8" in dtype else array.astype(dtype)


def foreign(inner: bytes, rng: Random) -> bytes:
    """No array at all: a pickle that would run code, text, an archive, nothing, a long run of zeros."""
    bomb = (
        b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 2), }"
    )
    rows = rng.choice((1000, 100_000))
    bomb = (bomb % rows).ljust(127) + b"\n" + bytes(16 * rows)
    pickle = b"cos\nmkdir\n(S'pickled'\ntR."
    kept = inner[: inner.find(b"\n") + 1].replace(b"<f8'", b"|O' ")
    return rng.choice(
        (pickle, kept + pickle, b"1,2\n3,4\n", b"", inner[6:], bomb, b"PK\5\6" + bytes(18))
    )


def npy(array: np.ndarray) -> bytes:
    """An array as a member holds it."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=False)
    return out.getvalue()
