"""Packages that are imported when needed."""

from importlib import import_module
from typing import Any

from .errors import MissingPackageError


def package(module: str, name: str, purpose: str, extra: str) -> Any:
    """A module of an optional package, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError(
            f"{purpose} needs the package {name}, which is not installed",
            f'pip install "dynamis[{extra}]"   (or: pip install {name})',
        ) from None
