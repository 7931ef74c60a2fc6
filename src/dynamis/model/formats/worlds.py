"""Worlds in TOML files: a row [[obstacle]] for each shape, with its `kind` and its fields.

[[obstacle]]
kind = "plane"                # plane, box, sphere or capsule
normal = [0, 0, 1]
offset = 0.0
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any

from ...arguments import checked, choice, path_of
from ...errors import FileError, ModelError, shown
from ...files import write
from ..schema import keys, schema
from ..world import Box, Capsule, Obstacle, Plane, Sphere, World, obstacles
from .files import decoded, parsed_toml, toml_lines
from .tables import (
    SCHEMA,
    changed,
    check_count,
    check_keys,
    located,
    read_bytes,
    row_from_keys,
)

KINDS: Mapping[str, type[Obstacle]] = {
    "plane": Plane, "box": Box, "sphere": Sphere, "capsule": Capsule,
}  # fmt: skip
EXPECTED = 'expected rows [[obstacle]] with kind = "plane", "box", "sphere" or "capsule"'


@checked
def load_world(path: str | Path) -> list[Any]:
    """The obstacles of a .toml file with rows [[obstacle]]."""
    where = path_of(path)
    with located(str(where)):
        if where.suffix.lower() != ".toml":
            raise FileError(f"has suffix {where.suffix!r}, expected a world in a .toml file")
        return world_from_table(parsed_toml(decoded(read_bytes(where))))


@checked
def save_world(world: World, path: str | Path) -> None:
    """Write obstacles to a .toml file, which `load_world` reads."""
    where = path_of(path)
    if where.suffix.lower() != ".toml":
        raise FileError(f"{where} has suffix {where.suffix!r}, expected a file that ends in .toml")
    words = {kind: word for word, kind in KINDS.items()}
    rows = [
        {"kind": words[type(x)]} | changed(replace(x, name=name))  # type: ignore[type-var]
        for name, x in obstacles(world).items()
    ]
    head = {"schema": SCHEMA} if rows else {"schema": SCHEMA, "obstacle": []}
    blocks = [toml_lines(head), *("[[obstacle]]\n" + toml_lines(x) for x in rows)]
    write(where, "\n".join(blocks).encode("utf-8"))


def world_from_table(table: Mapping[str, Any]) -> list[Any]:
    """The obstacles of a file's table."""
    if "link" in table and "convention" in table:
        raise FileError(f"is a robot, {EXPECTED}", "dy.load reads robots")
    check_keys(table, ("schema", "obstacle"), "the file")
    number = table.get("schema", SCHEMA)
    if isinstance(number, bool) or number != SCHEMA:
        raise FileError(f"schema is {shown(number)}, this version of dynamis reads {SCHEMA}")
    rows = table.get("obstacle")
    if not isinstance(rows, list):
        raise FileError(f"obstacle is {shown(rows)}, {EXPECTED}")
    check_count(len(rows), "obstacle")
    found = []
    for i, row in enumerate(rows, 1):
        with located(f"obstacle {i}"):
            found.append(_obstacle(row))
    obstacles(found)  # names that come twice are refused
    return found


def _obstacle(row: Any) -> Obstacle:
    given = check_keys(row, (*_every_key(), "kind"), "the obstacle", {"kind", "name"})
    if "kind" not in given:
        raise ModelError(f"the obstacle has no kind, expected kind = one of {', '.join(KINDS)}")
    kind = KINDS[choice(given.pop("kind"), "obstacle.kind", KINDS)]
    check_keys(given, keys(kind), f"the {kind.__name__.lower()}", {"name"})
    needed = [schema(kind)[x.name].key for x in fields(kind) if x.default is MISSING]  # type: ignore[arg-type]
    for key in needed:
        if key not in given:
            what = f"the {kind.__name__.lower()} has no {key}"
            raise ModelError(f"{what}, expected {', '.join(keys(kind))}")
    return row_from_keys(kind, given)


def _every_key() -> list[str]:
    return list(dict.fromkeys(key for kind in KINDS.values() for key in keys(kind)))
