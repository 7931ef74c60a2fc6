"""Mutations that know the grammar of a format: a file from seeds, determined by its number.

Text formats are changed by tokens (numbers, words, lines, sections, elements, cells) and by depth,
size and encoding; archives are taken apart, changed inside and packed again, so that the change
lies behind the checksums; and everything is changed by bits and bytes.
"""

from functools import partial
from random import Random

from .grammar.axes import AXES
from .grammar.csv import CSV
from .grammar.mat import variable
from .grammar.meshes import OBJ, STL
from .grammar.npz import member
from .grammar.plain import BYTES, MOST, TEXT, Change
from .grammar.recordings import database, message, rosbag, table
from .grammar.toml import TOML
from .grammar.xml import MJCF, SDF, URDF
from .readers import seeds


def mutated(reader: str, seed: int, number: int) -> bytes:
    """File `number` of a run with this seed."""
    rng = Random(f"{reader} {seed} {number}")
    return changed(reader, rng.choice(seeds(reader)), rng)


def changed(reader: str, data: bytes, rng: Random) -> bytes:
    """These bytes with one to about six changes."""
    while True:
        family = rng.choices(FAMILIES[reader], WEIGHTS[reader])[0]
        new = rng.choice(family)(data, rng)
        data = new if len(new) <= MOST else data
        if rng.random() < 0.5:
            return data


def splice(reader: str, data: bytes, rng: Random) -> bytes:
    """The head of one file and the tail of another."""
    other = rng.choice(seeds(reader))
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


OWN: dict[str, tuple[Change, ...]] = {
    "toml": TOML,
    "urdf": URDF,
    "sdf": SDF,
    "mjcf": MJCF,
    "csv": CSV,
    "points": CSV,
    "observations": CSV,
    "sockets": CSV,
    "npz": (member,),
    "mat": (variable,),
    "parquet": (table,),
    "mcap": (message,),
    "db3": (database,),
    "bag": (rosbag,),
    "league": TOML,
    "board": TOML,
    "world": TOML,
    "stl": STL,
    "obj": OBJ,
    "axes": AXES,
    "axes_toml": TOML,
}
BINARY = ("npz", "mat", "parquet", "mcap", "db3", "bag")
FAMILIES = {
    reader: (own, BYTES if reader in BINARY else TEXT, (*BYTES, partial(splice, reader)))
    for reader, own in OWN.items()
}
WEIGHTS = {reader: (6, 2, 2) if reader in BINARY else (5, 4, 1) for reader in OWN}
