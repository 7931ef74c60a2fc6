"""Changes of meshes: lines and numbers of text, counts and corners of binary STL."""

import struct
from random import Random

from .plain import BLOCK_COUNTS, NUMBERS, text_change

RECORD, HEAD = 50, 84  # bytes of a triangle, and before the first


def line(text: str, rng: Random) -> str:
    """Lines taken out, repeated, moved; a number of one becomes another."""
    rows = text.splitlines(keepends=True)
    if not rows:
        return text
    k, choice = rng.randrange(len(rows)), rng.randrange(4)
    if choice == 0:
        del rows[k]
    elif choice == 1:
        rows[k:k] = [rows[k]] * rng.choice(BLOCK_COUNTS)
    elif choice == 2:
        rng.shuffle(rows)
    else:
        words = rows[k].split()
        if words:
            words[rng.randrange(len(words))] = rng.choice(
                (*NUMBERS, "0", "-1", "9999", "1/2/3", "/")
            )
        rows[k] = " ".join(words) + "\n"
    return "".join(rows)


def triangles(data: bytes, rng: Random) -> bytes:
    """Another count, corners that are anything, records that are short or many."""
    count = max((len(data) - HEAD) // RECORD, 0)
    choice = rng.randrange(4)
    if choice == 0 or not count:
        return data[:80] + struct.pack("<I", rng.choice((0, 1, count + 1, 2**32 - 1))) + data[84:]
    k = HEAD + RECORD * rng.randrange(count)
    if choice == 1:
        values = [
            rng.choice((0.0, 1e38, -1e38, float("nan"), float("inf"), 1e-40)) for _ in range(9)
        ]
        return data[: k + 12] + struct.pack("<9f", *values) + data[k + 48 :]
    times = rng.choice((0, 2, 1000))
    body = data[HEAD:k] + data[k : k + RECORD] * times + data[k + RECORD :]
    return data[:80] + struct.pack("<I", len(body) // RECORD) + body


OBJ = (text_change(line),)
STL = (triangles, text_change(line))
