"""Folders that share their name with the one function they are for: `dy.simulate(...)`."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def callable_package(name: str, function: Callable[..., Any]) -> None:
    """Make the package `name` callable, so that it does not matter which of the two was found."""

    class Package(ModuleType):
        __call__ = staticmethod(function)

    sys.modules[name].__class__ = Package
