"""`dynamis cache`: the cache of compiled code on disk."""

from ..compile import cache
from ..errors import counted
from .arguments import Json
from .printing import data, data_json


def run(*, clear: bool = False, json: Json = False) -> int:
    """Show folder and size of the cache of compiled code, or empty it.

    The environment variable DYNAMIS_CACHE sets another folder, or `off`.

    For example:

      dynamis cache
      dynamis cache --clear
      DYNAMIS_CACHE=off dynamis demo

    Args:
        clear: Remove every entry.
    """
    removed = cache.clear() if clear else None
    folder, entries = cache.folder(), cache.entries()
    size = sum(entry.stat().st_size for entry in entries)
    if json:
        where = None if folder is None else str(folder)
        data_json({"folder": where, "entries": len(entries), "bytes": size, "removed": removed})
        return 0
    if folder is None:
        data("the cache is off")
    elif removed is not None:
        data(f"{removed} entries removed from {folder}")
    else:
        data(f"{counted(len(entries), 'entry')}, {size / 1e6:.1f} MB in {folder}")
    return 0
