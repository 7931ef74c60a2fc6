"""Parameters of tests, some of them only in `make test-thorough`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def thorough_but(quick: Collection[Any], values: Iterable[Any]) -> list[Any]:
    """Values to parametrize with: those of `quick` always, the others in the thorough tests."""
    return [
        pytest.param(
            *(x if isinstance(x, tuple) else (x,)),
            marks=() if x in quick else pytest.mark.thorough,
        )
        for x in values
    ]
