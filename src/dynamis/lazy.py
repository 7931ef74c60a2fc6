"""What is imported when it is first used, and the lock under which that happens."""

import functools
import os
import sys
from collections.abc import Callable, Hashable, Mapping
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
    "LOCK", "MADE_ONCE", "cached_property", "callable_package", "installed", "later", "once",
    "package",
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
        hint = f'pip install "dynamis[{extra}]"   (or: pip install {name})'
        raise MissingPackageError(
            f"{purpose} needs the package {name}, which is not installed",
            f"{hint}; {instead}" if instead else hint,
        ) from None


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

    own = vars(sys.modules[package])
    own["__dir__"] = lambda: sorted({*where, *(x for x in own if x.startswith("__"))})
    return find


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
