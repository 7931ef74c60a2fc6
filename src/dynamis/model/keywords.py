"""Constructors that answer a misspelt keyword with the one that was meant."""

from dataclasses import fields
from functools import wraps
from typing import Any, TypeVar

from ..errors import OptionError, did_you_mean

T = TypeVar("T", bound=type)


def strict(cls: T) -> T:
    """A dataclass whose constructor names an unknown keyword and those that exist.

    A class may first put keywords in order by `_flat(given)`.
    """
    plain = cls.__init__
    known = [f.name for f in fields(cls)]
    flat = getattr(cls, "_flat", dict)

    @wraps(plain)
    def __init__(self: Any, *arguments: Any, **given: Any) -> None:  # noqa: N807
        given = flat(given)
        unknown = next((name for name in given if name not in known), None)
        if unknown is not None:
            raise OptionError(
                f"{cls.__name__} has no keyword {unknown!r}", did_you_mean(unknown, known)
            )
        plain(self, *arguments, **given)

    cls.__init__ = __init__  # type: ignore[misc]
    return cls
