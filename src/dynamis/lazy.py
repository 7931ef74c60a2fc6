"""What is imported when it is first used, and the lock under which that happens."""

import functools
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .errors import MissingPackageError

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """`cached_property` without a lock, as Python has it since 3.12."""

        def __init__(self, function: Any):
            super().__init__(function)
            self.lock = nullcontext()


__all__ = [
    "LOCK", "MADE_ONCE", "cached_property", "callable_package", "install_command", "installed",
    "later", "missing_package", "once", "package", "public_dir",
]  # fmt: skip

MADE_ONCE = "_made_once"  # attribute that holds what an object decides
LOCK = RLock()  # LLVM, CasADi and parts of this package are loaded and used under it: a fork waits

if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(
        before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release
    )


def package(module: str, name: str, purpose: str, extra: str, instead: str = "") -> Any:
    """A module of an optional package, or an error that says how to get it, or do without."""
    try:
        return import_module(module)
    except ImportError:
        raise missing_package(name, purpose, extra, instead) from None


def missing_package(name: str, purpose: str, extra: str, instead: str = "") -> MissingPackageError:
    """The error of a package that is not installed, with the commands that install it."""
    hint = f"{install_command(extra)}   (or: pip install {name})"
    return MissingPackageError(
        f"{purpose} needs the package {name}, which is not installed",
        f"{hint}; {instead}" if instead else hint,
    )


def install_command(extra: str) -> str:
    """The command that installs an extra, by the way in which this package was installed.

    From a folder, a file or an address: from there again. Without a note of these: the packages of
    the extra by name, since this one may be on no registry.
    """
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    own = __name__.partition(".")[0]
    try:
        found = distribution(own)
    except PackageNotFoundError:  # run from its source
        return f'pip install -e "{Path(__file__).parents[2]}[{extra}]"'
    note = json.loads(found.read_text("direct_url.json") or "{}")
    url, subfolder = note.get("url", ""), note.get("subdirectory")
    path = url2pathname(urlsplit(url).path)
    if url.startswith("file:") and Path(path).exists() and not subfolder:
        flag = "-e " if note.get("dir_info", {}).get("editable") else ""
        return f'pip install {flag}"{path}[{extra}]"'
    if url and not url.startswith("file:"):
        version = note.get("vcs_info", {})
        revision = version.get("requested_revision")
        address = f"{version['vcs']}+{url}" if version else url
        address += f"@{revision}" if revision else ""
        address += f"#subdirectory={subfolder}" if subfolder else ""
        return f'pip install "{own}[{extra}] @ {address}"'
    return " ".join(["pip install", *(f'"{x}"' for x in _required(found.requires or [], extra))])


def _required(lines: Sequence[str], extra: str) -> Iterator[str]:
    """Requirements of an extra, from lines of the package's metadata; extras it names resolved."""
    own = __name__.partition(".")[0]
    for line in lines:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        if f'extra == "{extra}"' not in marker.replace("'", '"'):
            continue
        if requirement.startswith(f"{own}["):
            for other in requirement.partition("[")[2].rstrip("]").split(","):
                yield from _required(lines, other.strip())
        else:
            yield requirement


def installed(module: str) -> bool:
    """Whether an optional package can be imported."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def once(owner: Any, what: Hashable, made: Callable[[], Any]) -> Any:
    """What a robot or a model decides, made once: neither changes."""
    found = vars(owner).setdefault(MADE_ONCE, {})
    if what not in found:
        found[what] = made()
    return found[what]


def later(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package: `where` says which of its modules holds a name.

    `dir` lists these names too, before they are imported.
    """

    def find(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{where[name]}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    vars(sys.modules[package])["__dir__"] = public_dir(package, where)
    return find


def public_dir(module: str, names: Iterable[str] = ()) -> Callable[[], list[str]]:
    """The `__dir__` of a module: these names and its `__all__`, without what it imports."""
    own = vars(sys.modules[module])

    def listed() -> list[str]:
        special = (name for name in own if name.startswith("__"))
        return sorted({*names, *own.get("__all__", ()), *special})

    return listed


def callable_package(package: str, module: str, name: str) -> None:
    """Make a folder callable that shares its name with a function in it, as in `dy.identify(...)`.

    It then does not matter which of the two `dynamis.identify` is.
    """

    def function() -> Callable[..., Any]:
        return getattr(import_module(f".{module}", package), name)

    class Package(ModuleType):
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            return function()(*args, **keywords)

        @property
        def __wrapped__(self) -> Callable[..., Any]:
            return function()

    sys.modules[package].__class__ = Package
    vars(sys.modules[package]).setdefault("__dir__", public_dir(package))
